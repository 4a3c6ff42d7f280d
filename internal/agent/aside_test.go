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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
)

// oddIDs are identifiers that cannot be part of a path.
var oddIDs = []string{"a/b", "../../etc", "..", "%2F", "a?b", "a#b", `a\b`, "a b", "a\x00b", "line\nfeed", strings.Repeat("a", 10_000)}

// receive stores an event as the inbox does.
func receive(t *testing.T, a *Agent, fields map[string]string) {
	t.Helper()
	body, err := json.Marshal(fields)
	noErr(t, err)
	e, err := esign.ParseEvent(body)
	noErr(t, err)
	err = a.Data.Update(func(tx *store.Tx) error {
		_, err := tx.AddEvent(office.Event{ID: e.EventID, Action: e.Action, PackageID: e.PackageID, Time: e.Time, Received: a.Now(), Body: body})
		return err
	})
	noErr(t, err)
	a.packages.WakeEvents()
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
		var begun atomic.Bool
		answered := func(path string) string {
			if !begun.Load() {
				return ""
			}
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
		a, c, stop := quietOffice(t, 0, func(p *Params) {
			p.HTTP.Transport.(*canned).say = answered
			p.Notify = func(n office.Notice) error {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, n.Title+" "+n.Body)
				return nil
			}
		})
		defer stop()
		time.Sleep(time.Second)
		begun.Store(true)
		for i, id := range oddIDs {
			receive(t, a, map[string]string{"action": "package_executed", "eventId": fmt.Sprint("p", i), "packageId": id})
			receive(t, a, map[string]string{"action": "document_signed", "eventId": fmt.Sprint("d", i), "packageId": "mixed", "documentId": id, "signerId": id})
		}
		receive(t, a, map[string]string{"action": "package_executed", "eventId": "e1", "packageId": "mixed"})
		receive(t, a, map[string]string{"action": "package_executed", "eventId": "e2", "packageId": "odd"})
		a.packages.Sweep("test")
		time.Sleep(5 * time.Minute)

		s := must(a.Status())
		if s.Events.Pending != 0 || s.Events.Problems != 2*len(oddIDs) {
			t.Errorf("events: %+v", s.Events)
		}
		for _, i := range s.Health {
			if strings.HasPrefix(i.ID, "internal-") || i.ID == "aside" {
				t.Errorf("health: %+v", i)
			}
		}
		mixed, _, _ := a.Package("mixed")
		if mixed.FilesDone != 1 || mixed.FilesTotal != len(documents) || mixed.Saved || mixed.Problem.IsZero() {
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
		for _, x := range must(a.Activity(1000)) {
			if strings.Contains(x.Text.String(), "cannot be used") && x.Kind == "problem" {
				lines++
			}
		}
		time.Sleep(48 * time.Hour)
		for _, x := range must(a.Activity(1000)) {
			if strings.Contains(x.Text.String(), "cannot be used") && x.Kind == "problem" {
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
		in := func(do func(tx *store.Tx) error) func() error { return func() error { return a.Data.Update(do) } }
		for key, do := range map[string]func() error{
			"package a": in(func(tx *store.Tx) error { return tx.PutPackage(office.Package{}) }),
			"draft b": in(func(tx *store.Tx) error {
				return tx.PutDraft(office.Draft{ID: "b", ExternalData: json.RawMessage("{")})
			}),
			"file b": in(func(tx *store.Tx) error { return tx.PutJob(office.Job{PackageID: "none"}) }),
			"file c": func() error { panic("a bug") },
		} {
			if err := a.One(t.Context(), key, do); err != nil || !a.LeftAlone(key) {
				t.Errorf("%s: %v, left alone %v", key, err, a.LeftAlone(key))
			}
		}
		for _, err := range []error{os.ErrPermission, context.Canceled, &esign.Error{Kind: esign.Network}, errUnchanged} {
			for what, do := range map[string]func() error{
				"said": func() error { return err }, "said of a change": in(func(*store.Tx) error { return err }),
			} {
				if got := a.One(t.Context(), "draft c", do); !errors.Is(got, err) || a.LeftAlone("draft c") {
					t.Errorf("%v, %s, is taken for the object's: %v", err, what, got)
				}
			}
		}
		if !a.Health.Has(health.RecordsPutOff) {
			t.Errorf("nobody was told: %+v", a.Health.List())
		}
		time.Sleep(loop.QuarantinePause + 2*time.Minute)
		if a.LeftAlone("package a") || a.Health.Has(health.RecordsPutOff) {
			t.Errorf("still left alone: %+v", a.Health.List())
		}
	})
}

func TestAPackageWhoseRecordCannotBeReadIsReadFromTheServiceAndHoldsUpNoOther(t *testing.T) {
	for name, lost := range map[string]bool{"its record": false, "all that is known of it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, c, stop := quietOffice(t, 3)
				time.Sleep(time.Minute)
				stopped := a.p
				stop()
				if c.count("/packages/p1/status") == 0 {
					t.Error("it was not known")
				}
				spoilRecord(t, locations.State(stopped.DataDir), `"id":"p1"`, lost)
				service := &canned{}
				stopped.HTTP = &http.Client{Transport: service}
				b, err := Open(t.Context(), stopped)
				noErr(t, err)
				running, end := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() { b.Run(running) })
				time.Sleep(time.Minute)
				receive(t, b, map[string]string{"action": "package_executed", "eventId": "e1", "packageId": "p1"})
				receive(t, b, map[string]string{"action": "package_executed", "eventId": "e2", "packageId": "p2"})
				time.Sleep(time.Minute)
				if service.count("/packages/p0/status") == 0 || service.count("/packages/p2/status") == 0 {
					t.Error("not every other package was asked about")
				}
				if asked := service.count("/packages/p1/status") > 0; asked == lost {
					t.Errorf("it was asked about: %v", asked)
				}
				if e := must(b.Status()).Events; e.Pending != 0 || (e.Problems == 1) != lost {
					t.Errorf("events: %+v", e)
				}
				if b.Health.Has(health.RecordsUnreadable) != lost || b.Health.Has(health.DataNotWritten) || b.Health.Has(health.Stopped("reconcile")) || b.Health.Has(health.Stopped("events")) {
					t.Errorf("health: %+v", b.Health.List())
				}
				if p := b.packageOrZero("p1"); !lost && (p.State != office.PackageExecuted || p.Checked.IsZero()) {
					t.Errorf("it was not read from the service: %+v", p)
				}
				if n := len(must(b.Lines())); n != 3 && !lost || n < 2 {
					t.Errorf("%d packages are listed", n)
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
		})
	}
}

// spoilRecord makes the package unreadable in whose record that stands, and its line, too, if it is to be lost.
func spoilRecord(t *testing.T, file, part string, lost bool) {
	t.Helper()
	inFile(t, file, func(tx *bolt.Tx) error {
		packages := tx.Bucket([]byte("packages"))
		c := packages.Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			if !strings.Contains(string(value), part) {
				continue
			}
			if key = bytes.Clone(key); lost {
				if err := tx.Bucket([]byte("package_lines")).Put(key, nil); err != nil {
					return err
				}
			}
			return packages.Put(key, value[:len(value)/2])
		}
		return errors.New("no such record")
	})
}

// inFile changes a data file that is not open.
func inFile(t *testing.T, file string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	noErr(t, err)
	noErr(t, errors.Join(db.Update(change), db.Close()))
}

func TestADocumentThatCannotBeReadKeepsNothingFromStarting(t *testing.T) {
	for _, value := range []string{`{"cut":`, `[[]]`, `7`} {
		t.Run(value, func(t *testing.T) {
			a := signedInOffice(t)
			before, account, p := a.Settings(), must(a.Status()).Account, a.p
			noErr(t, a.Data.Update(func(tx *store.Tx) error {
				return errors.Join(tx.PutDoc("tally", map[string]int{"rejected": 7}), tx.PutDoc("paused", [2]time.Time{}), tx.PutDoc("problems told", nil), tx.PutDoc("endpoint-lost", time.Now()),
					tx.PutDoc("listed", nil), tx.PutDoc("people", nil), tx.PutDoc("form", nil))
			}))
			noErr(t, a.Close())
			inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) (err error) {
				docs := tx.Bucket([]byte("docs"))
				var names [][]byte
				docs.ForEach(func(name, _ []byte) error { names = append(names, bytes.Clone(name)); return nil })
				for _, name := range names {
					err = errors.Join(err, docs.Put(name, []byte(value)))
				}
				return err
			})
			b, err := Open(t.Context(), p)
			noErr(t, err)
			if s := must(b.Status()); b.Settings().SaveTo != before.SaveTo || b.Settings().ClientID != before.ClientID || !s.SignedIn || s.Account != account {
				t.Errorf("settings %+v, status %+v", b.Settings(), s)
			}
			if !b.Health.Has(health.RecordsUnreadable) || b.Health.Has(health.DataNotWritten) || b.Health.Has(health.DataRestored) {
				t.Errorf("health: %+v", b.Health.List())
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// signedInOffice is an office that was signed in and is not running.
func signedInOffice(t *testing.T) *Agent {
	t.Helper()
	p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
	a, err := Open(t.Context(), p)
	noErr(t, err)
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID, s.SaveTo = "https://sign.test", "https://sign.test", "office", t.TempDir()
	s.Tunnel, s.Redirect, s.RedirectURI = office.TunnelNone, office.RedirectPaste, "https://localhost/oauth/callback"
	acc := account.Record{SignedIn: true, Since: time.Now(), Scopes: []string{"organization"}}
	acc.Email = "olivia@example.com"
	err = a.account.Vault().Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(s)): []byte("r")}, func(tx *store.Tx) error {
		return tx.PutDoc(account.DocOf(issuer.Of(s)), acc)
	})
	noErr(t, errors.Join(err, a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"})))
	return a
}
