package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/esign"
	"countersign/internal/inbox"
	"countersign/internal/locations"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
)

// oddIDs are identifiers that cannot be part of a path.
var oddIDs = []string{"a/b", "../../etc", "..", "%2F", "a?b", "a#b", `a\b`, "a b", "a\x00b", "line\nfeed", strings.Repeat("a", 10_000)}

// receive stores an event as the inbox does.
func receive(t *testing.T, a *Agent, fields map[string]string) {
	t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	e, err := esign.ParseEvent(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.storeEvent(t.Context(), inbox.Received{ID: e.EventID, Event: e, Parsed: true, Body: body, At: a.now()}); err != nil {
		t.Fatal(err)
	}
	poke(a.rings.events)
}

func TestAnIDThatCannotBeUsedHoldsNothingUp(t *testing.T) {
	documents := []map[string]string{{"documentId": "good"}}
	var listed []map[string]string
	for i, id := range oddIDs {
		documents = append(documents, map[string]string{"documentId": id, "name": fmt.Sprint("Odd ", i)})
		listed = append(listed, map[string]string{"packageId": id, "state": "open"})
	}
	listed = append(listed, map[string]string{"packageId": "listed", "state": "open"})
	answers := map[string]any{
		"/packages/mixed/status": map[string]any{"packageId": "mixed", "name": "Mixed", "state": "executed", "documents": documents},
		"/packages/odd/status":   map[string]any{"packageId": "odd", "name": "Odd", "state": "executed", "documents": documents[1:]},
		"/packages/list":         map[string]any{"items": listed, "total": len(listed)},
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		a, c, stop := quietOffice(t, 0, func(p *Params) {
			p.Notify = func(title, body string) error {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, title+" "+body)
				return nil
			}
		})
		defer stop()
		time.Sleep(time.Second)
		c.say = func(path string) string {
			if strings.HasSuffix(path, "/download") {
				return "%PDF-1.7\n%%EOF\n"
			}
			for end, answer := range answers {
				if strings.HasSuffix(path, end) {
					b, _ := json.Marshal(answer)
					return string(b)
				}
			}
			return ""
		}
		for i, id := range oddIDs {
			receive(t, a, map[string]string{"action": "package_executed", "eventId": fmt.Sprint("p", i), "packageId": id})
			receive(t, a, map[string]string{"action": "document_signed", "eventId": fmt.Sprint("d", i), "packageId": "mixed", "documentId": id, "signerId": id})
		}
		receive(t, a, map[string]string{"action": "package_executed", "eventId": "e1", "packageId": "mixed"})
		receive(t, a, map[string]string{"action": "package_executed", "eventId": "e2", "packageId": "odd"})
		a.reconcileSoon("test")
		time.Sleep(5 * time.Minute)

		s := a.Status()
		if s.Events.Pending != 0 || s.Events.Problems != 2*len(oddIDs) {
			t.Errorf("events: %+v", s.Events)
		}
		for _, i := range s.Health {
			if strings.HasPrefix(i.ID, "internal-") || i.ID == "aside" {
				t.Errorf("health: %+v", i)
			}
		}
		mixed, _ := a.Package("mixed")
		if mixed.FilesDone != 1 || mixed.FilesTotal != len(documents) || mixed.Saved || mixed.Problem == "" {
			t.Errorf("%d of %d files, saved %v, problem %q", mixed.FilesDone, mixed.FilesTotal, mixed.Saved, mixed.Problem)
		}
		if c.count("/packages/listed/status") == 0 {
			t.Error("the package after the odd ones of the list is not known")
		}
		mu.Lock()
		all := strings.Join(told, "\n")
		mu.Unlock()
		if strings.Count(all, "“Mixed”") != 1 || strings.Count(all, "“Odd”. None of its files") != 1 {
			t.Errorf("told: %s", all)
		}
		var lines int
		for _, x := range a.Activity(1000) {
			if strings.Contains(x.Text, "cannot be used") && x.Kind == "problem" {
				lines++
			}
		}
		time.Sleep(48 * time.Hour)
		for _, x := range a.Activity(1000) {
			if strings.Contains(x.Text, "cannot be used") && x.Kind == "problem" {
				lines--
			}
		}
		if lines != 0 {
			t.Errorf("%d lines more after two days", -lines)
		}
	})
}

func TestAnObjectThatCannotBeWorkedOnIsLeftAloneAndTheRestIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		in := func(do func(tx *store.Tx) error) func() error { return func() error { return a.st.Update(do) } }
		for key, do := range map[string]func() error{
			"package a": in(func(tx *store.Tx) error { return tx.PutPackage(store.Package{}) }),
			"draft b":   in(func(tx *store.Tx) error { return tx.PutDraft(store.Draft{ID: "b", ExternalData: json.RawMessage("{")}) }),
			"file b":    in(func(tx *store.Tx) error { return tx.PutJob(store.Job{PackageID: "none"}) }),
			"file c":    func() error { panic("a bug") },
		} {
			if err := a.one(t.Context(), key, do); err != nil || !a.leftAlone(key) {
				t.Errorf("%s: %v, left alone %v", key, err, a.leftAlone(key))
			}
		}
		for _, err := range []error{os.ErrPermission, context.Canceled, &esign.Error{Kind: esign.Network}, errMoved, errDecided} {
			for what, do := range map[string]func() error{
				"said": func() error { return err }, "said of a change": in(func(*store.Tx) error { return err }),
			} {
				if got := a.one(t.Context(), "draft c", do); !errors.Is(got, err) || a.leftAlone("draft c") {
					t.Errorf("%v, %s, is taken for the object's: %v", err, what, got)
				}
			}
		}
		if !a.health.has("aside") {
			t.Errorf("nobody was told: %+v", a.health.list())
		}
		time.Sleep(asidePause + 2*time.Minute)
		if a.leftAlone("package a") || a.health.has("aside") {
			t.Errorf("still left alone: %+v", a.health.list())
		}
	})
}

func TestAPackageWhoseRecordCannotBeReadHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 3)
		time.Sleep(time.Minute)
		stopped := a.p
		stop()
		spoilRecord(t, locations.State(stopped.DataDir), `"id":"p1"`)
		c2 := &canned{}
		stopped.HTTP = &http.Client{Transport: c2}
		b, err := Open(t.Context(), stopped)
		if err != nil {
			t.Fatal(err)
		}
		running, end := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { b.Run(running) })
		time.Sleep(time.Minute)
		receive(t, b, map[string]string{"action": "package_executed", "eventId": "e1", "packageId": "p1"})
		receive(t, b, map[string]string{"action": "package_executed", "eventId": "e2", "packageId": "p2"})
		time.Sleep(time.Minute)
		if c.count("/packages/p1/status") == 0 || c2.count("/packages/p0/status") == 0 || c2.count("/packages/p2/status") == 0 {
			t.Error("not every other package was asked about")
		}
		if e := b.Status().Events; e.Pending != 0 || e.Problems != 1 {
			t.Errorf("events: %+v", e)
		}
		if !b.health.has("records") || b.health.has("data") || b.health.has("internal-reconcile") || b.health.has("internal-events") {
			t.Errorf("health: %+v", b.health.list())
		}
		end()
		done.Wait()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if aside, _ := filepath.Glob(locations.State(stopped.DataDir) + ".damaged*"); len(aside) > 0 {
			t.Errorf("the whole file was set aside: %v", aside)
		}
	})
}

// spoilRecord makes the package unreadable in whose record that stands.
func spoilRecord(t *testing.T, file, part string) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		packages := tx.Bucket([]byte("packages"))
		c := packages.Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			if strings.Contains(string(value), part) {
				return packages.Put(bytes.Clone(key), value[:len(value)/2])
			}
		}
		return errors.New("no such record")
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
