package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/proof"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

func TestADamagedDataFileIsSetAsideToldAndRebuilt(t *testing.T) {
	damages := map[string]func(t *testing.T, path string){
		"overwritten": func(t *testing.T, path string) {
			noErr(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 10_000), 0o600))
		},
		"missing": func(t *testing.T, path string) {
			noErr(t, os.Remove(path))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			executed := o.send()
			signAll(o, executed)
			o.eventually("saved", func() bool { return saved(o, executed) })
			open := o.send()
			o.stop()
			waits := filepath.Join(locations.Outbox(o.data), "of-a-draft-that-waited")
			noErr(t, os.WriteFile(waits, []byte("%PDF-"), 0o600))
			damage(t, locations.State(o.data))
			o.open()
			o.run()
			if o.issue("data-restored") == nil {
				t.Errorf("health: %+v", o.Status().Health)
			}
			if s := o.Settings(); s.SaveTo != o.folder || !o.Status().SignedIn {
				t.Errorf("settings: %+v, status: %+v", s, o.Status())
			}
			if set, _, _ := o.HasSecrets(); !set {
				t.Error("the client secret is lost")
			}
			o.eventually("packages are read again", func() bool {
				p := o.Status().Packages
				return p.Total == 2 && p.Saved == 1
			})
			signAll(o, open)
			o.eventually("work goes on", func() bool { return o.Status().Packages.Saved == 2 })
			if got := o.files(); len(got) != 2 {
				t.Errorf("files: %q", got)
			}
			if kept, err := filepath.Glob(filepath.Join(locations.Outbox(o.data)+".lost-*", filepath.Base(waits))); err != nil || len(kept) != 1 {
				t.Errorf("the copies of a draft that waited: %q, %v", kept, err)
			}
			aside, err := filepath.Glob(locations.State(o.data) + ".damaged-*")
			if err != nil || (len(aside) == 1) != (name != "missing") {
				t.Errorf("set aside: %q, %v", aside, err)
			}
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noErr(t, err)
	return b
}

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
		time.Sleep(loop.UnusablePause + time.Hour)
		for _, x := range must(a.Activity(1000)) {
			if strings.Contains(x.Text.String(), "cannot be used") && x.Kind == "problem" {
				lines--
			}
		}
		if lines != 0 {
			t.Errorf("%d lines more when it has been tried again", -lines)
		}
	})
}

// inFile changes a data file that is not open.
func inFile(t *testing.T, file string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	noErr(t, err)
	noErr(t, errors.Join(db.Update(change), db.Close()))
}

func TestWhoseSealsAreBelievedOutlivesALostState(t *testing.T) {
	a := openSignedIn(t, Params{}, "https://sign.test", nil)
	p := a.p
	noErr(t, a.TrustSeals(&x509.Certificate{Raw: []byte("a certificate")}))
	noErr(t, errors.Join(a.Close(), os.Remove(locations.State(p.DataDir))))
	b, err := Open(t.Context(), p)
	noErr(t, err)
	if kept, _, err := data.Doc[[][]byte](b.Data, proof.DocTrusted); err != nil || len(kept) != 1 || string(kept[0]) != "a certificate" {
		t.Errorf("believed are those of %q, %v", kept, err)
	}
	noErr(t, b.Close())
}

func TestADocumentThatCannotBeReadKeepsNothingFromStarting(t *testing.T) {
	for _, value := range []string{`{"cut":`, `[[]]`, `7`} {
		t.Run(value, func(t *testing.T) {
			a := openSignedIn(t, Params{}, "https://sign.test", nil)
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
			noErr(t, b.Close())
		})
	}
}

// ringOf is a keyring that can be locked, and whose key can be taken away.
type ringOf struct {
	mu     sync.Mutex
	keeper secret.Keeper
	locked bool
	reason secret.Reason // why it is out of reach; locked when empty
}

func (r *ringOf) Load(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, r.outOfReach()
	}
	return r.keeper.Load(ctx)
}

func (r *ringOf) Create(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.Key{}, r.outOfReach()
	}
	return r.keeper.Create(ctx)
}

// outOfReach is what it says while it is locked. mu is held.
func (r *ringOf) outOfReach() error {
	return &secret.UnavailableError{Reason: cmp.Or(r.reason, secret.Locked)}
}

// turn locks or unlocks it.
func (r *ringOf) turn(locked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = locked
}

// TestUnlockIsOfferedOnlyWhereThereIsSomethingToUnlock also presses what is offered: first in vain, then once the keyring
// is there.
func TestUnlockIsOfferedOnlyWhereThereIsSomethingToUnlock(t *testing.T) {
	for reason, want := range map[secret.Reason]Action{secret.Locked: ActUnlock, secret.NoBus: ActRetry} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			ring := &ringOf{keeper: secret.Memory(), locked: true, reason: reason}
			a := openWith(t, Params{Keeper: ring})
			issues := must(a.Status()).Health
			if len(issues) == 0 || issues[0].ID != "keyring" || issues[0].Action != want {
				t.Fatalf("offered: %+v, want %q", issues, want)
			}
			if err := a.Act(t.Context(), issues[0]); err == nil {
				t.Error("pressed in vain, and nobody is told")
			}
			ring.turn(false)
			noErr(t, a.Act(t.Context(), issues[0]))
			if left := must(a.Status()).Health; slices.ContainsFunc(left, func(i Issue) bool { return i.ID == "keyring" }) {
				t.Errorf("it is there again, but health is %+v", left)
			}
		})
	}
}
