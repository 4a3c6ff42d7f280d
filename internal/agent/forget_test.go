package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/agent/hotfolder"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"
)

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
