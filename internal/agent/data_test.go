package agent

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/proof"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
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
			o.sendSigned()
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
			o.signAll(open)
			o.hasSaved(2)
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
	b := must(os.ReadFile(path))
	return b
}

// inFile changes a data file that is not open.
func inFile(t *testing.T, file string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db := must(bolt.Open(file, 0o600, nil))
	noErr(t, errors.Join(db.Update(change), db.Close()))
}

func TestWhoseSealsAreBelievedOutlivesALostState(t *testing.T) {
	a := openSignedIn(t, Params{}, "https://sign.test", nil)
	p := a.p
	noErr(t, a.TrustSeals(&x509.Certificate{Raw: []byte("a certificate")}))
	noErr(t, errors.Join(a.Close(), os.Remove(locations.State(p.DataDir))))
	b := must(Open(t.Context(), p))
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
			b := must(Open(t.Context(), p))
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
	locked secret.Reason // why it is out of reach, or empty
}

func (r *ringOf) Load(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked != "" {
		return secret.Key{}, &secret.UnavailableError{Reason: r.locked}
	}
	return r.keeper.Load(ctx)
}

func (r *ringOf) Create(ctx context.Context) (secret.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked != "" {
		return secret.Key{}, &secret.UnavailableError{Reason: r.locked}
	}
	return r.keeper.Create(ctx)
}

func (r *ringOf) unlock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = ""
}

func TestAKeyringIsAskedAgainWhateverTheButtonIsCalled(t *testing.T) {
	ring := &ringOf{keeper: secret.Memory(), locked: secret.NoBus}
	a := openWith(t, Params{Keeper: ring})
	said := must(a.Status()).Health[0]
	if err := a.Act(t.Context(), said); err == nil || said.Action != ActRetry {
		t.Errorf("pressed in vain, and nobody is told: %+v, %v", said, err)
	}
	ring.unlock()
	noErr(t, a.Act(t.Context(), said))
	if a.Health.Has(health.KeyOutOfReach) {
		t.Errorf("it is there again, but health is %+v", a.Health.List())
	}
}

func TestDataThatCannotBeOpenedIsLeftAloneAndSaidSo(t *testing.T) {
	p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
	a, err := Open(t.Context(), p)
	noErr(t, err)
	if _, err := Open(t.Context(), p); !errors.Is(err, store.ErrInUse) || !strings.Contains(Message(err).String(), "already running") {
		t.Errorf("beside a running one: %v: %s", err, Message(err).String())
	}
	noErr(t, a.Close())
	inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	if _, err = Open(t.Context(), p); !errors.Is(err, store.ErrNewer) || !strings.Contains(Message(err).String(), "newer version") {
		t.Errorf("of a newer version: %v: %s", err, Message(err).String())
	}
	if aside, err := filepath.Glob(locations.State(p.DataDir) + ".*"); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

// An empty list says that there is nothing, which would be a lie about somebody's contracts.
func TestWhatCannotBeReadIsAnErrorForPeople(t *testing.T) {
	a := must(Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"}))
	noErr(t, a.Close()) // nothing can be read from here on
	for name, read := range map[string]func() error{
		"the status":        func() error { _, err := a.Status(); return err },
		"the packages":      func() error { _, err := a.Lines(); return err },
		"a package":         func() error { _, _, err := a.Package("p"); return err },
		"its draft":         func() error { _, _, err := a.DraftOf("p"); return err },
		"a file name":       func() error { _, err := a.PreviewName(a.Settings()); return err },
		"the drafts":        func() error { _, err := a.Drafts(); return err },
		"the people":        func() error { _, err := a.People(); return err },
		"the activity":      func() error { _, err := a.Activity(10); return err },
		"the events":        func() error { _, _, err := a.Events("", 10); return err },
		"the saved files":   func() error { _, err := a.Saved(10); return err },
		"which secrets":     func() error { _, _, err := a.HasSecrets(); return err },
		"what was entered":  func() error { _, _, err := a.FirstRun(); return err },
		"the office's file": func() error { _, err := a.Office(a.Settings()); return err },
	} {
		if m, ok := message.Of(read()); !ok || m != message.Closing() {
			t.Errorf("%s: %v", name, read())
		}
	}
}

func TestOneKindOfOldThingsThatStaysKeepsNoOther(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file in the place of a folder counts as no folder there, so that nothing stays")
	}
	a := openWith(t, Params{})
	noErr(t, os.WriteFile(locations.Dropped(a.p.DataDir), nil, 0o600)) // no folder to look through
	e := office.Event{ID: "e", PackageID: "p", Outcome: office.EventHandled, Received: time.Now(), Body: []byte("{}")}
	noErr(t, a.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(e); return err }))
	noErr(t, a.Data.Update(func(tx *store.Tx) error { return countDays(tx, office.KeepEventsDays+1) }))
	if err := a.forget(t.Context()); err == nil {
		t.Error("nothing stays")
	}
	if list, _, _ := a.Events("", 10); len(list) != 0 {
		t.Error("an old event is kept because what was dropped cannot be looked through")
	}
}

// Years are counted by what a package comes from; nothing but the list changes.
func TestPapersThatMayGoAreListedByTheRuleOfWhatTheyComeFrom(t *testing.T) {
	a := openWith(t, Params{Now: func() time.Time { return time.Date(2040, 6, 1, 0, 0, 0, 0, time.FixedZone("", 3600)) }})
	s := a.Settings()
	s.KeepYears, s.SaveTo = "10; Lease form: 30; Notary: 20; Scans: 6", t.TempDir()
	s.AuthURL, s.BaseURL, s.ClientID, s.Tunnel, s.Redirect = "https://sign.example.com", "https://sign.example.com", "id", office.TunnelNone, office.RedirectPaste
	s.RedirectURI = "https://sign.example.com/back"
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	signedAt := func(at time.Time, id, draft string, folder ...string) {
		noErr(t, a.Data.Update(func(tx *store.Tx) error {
			return tx.PutPackage(office.Package{ID: id, Name: id, State: office.PackageExecuted, Saving: office.Saving{Planned: true, Saved: true}, Created: at,
				Executed: office.When{Time: at}, Source: office.Source{DraftID: draft, Folder: strings.Join(folder, "")}})
		}))
	}
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "d", State: office.DraftSent, Template: &office.Template{Name: "Lease Form"}})
	}))
	signed := func(id, draft string, year int, folder ...string) {
		signedAt(time.Date(year, 3, 1, 0, 0, 0, 0, time.UTC), id, draft, folder...)
	}
	signed("old", "", 2029)
	signedAt(time.Date(2029, 12, 31, 23, 30, 0, 0, time.UTC), "after midnight at New Year", "")
	signed("young", "", 2030)
	signed("leased", "d", 2015)
	signed("leased long ago", "d", 2009)
	signed("of a draft left on another computer", "gone", 2015)
	signed("of a folder watched no more", "", 2015, "gone")
	signed("of a folder watched no more, long ago", "", 2009, "gone")
	for _, name := range []string{"Scans", "Scans/HR"} {
		folder := filepath.Join(s.SaveTo, "..", name)
		noErr(t, os.MkdirAll(folder, 0o700))
		noErr(t, a.Data.Update(func(tx *store.Tx) error {
			var all []office.HotFolder
			_, err := tx.GetDoc(hotfolder.DocFolders, &all)
			return errors.Join(err, tx.PutDoc(hotfolder.DocFolders, append(all, office.HotFolder{ID: name, Path: folder})))
		}))
	}
	signed("of a folder in another one", "", 2033, "Scans/HR")
	var got []string
	for _, p := range must(a.MayGo(office.Query{Sort: office.ByName})) {
		got = append(got, p.Name)
	}
	expect(t, strings.Join(got, ", "), "leased long ago, of a folder in another one, of a folder watched no more, long ago, old", "what may go is %s")
}

// countDays has the store count days on which the program ran.
func countDays(tx *store.Tx, n int) error {
	for i := range n {
		if _, err := tx.CountDay(time.Now().AddDate(0, 0, i+1)); err != nil {
			return err
		}
	}
	return nil
}

func TestWhatWasDroppedStaysWhileADraftThatMayNeedItCannotBeRead(t *testing.T) {
	for name, unreadable := range map[string]bool{"every draft can be read": false, "one cannot": true} {
		t.Run(name, func(t *testing.T) {
			p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
			a := must(Open(t.Context(), p))
			path := must(a.NewDelivery().Take(t.Context(), "Lease.pdf", 1, strings.NewReader("x")))
			noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "d1", State: office.DraftFailed}) }))
			noErr(t, a.Close())
			old := time.Now().Add(-31 * 24 * time.Hour)
			noErr(t, os.Chtimes(filepath.Dir(path), old, old))
			if unreadable {
				inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) error {
					drafts := tx.Bucket([]byte("drafts"))
					row, draft := drafts.Cursor().First()
					return drafts.Put(bytes.Clone(row), draft[:len(draft)/2])
				})
			}
			b := must(Open(t.Context(), p))
			noErr(t, b.forget(t.Context()))
			if _, err := os.Stat(path); (err == nil) != unreadable {
				t.Errorf("it is there: %v", err)
			}
			noErr(t, b.Close())
		})
	}
}
