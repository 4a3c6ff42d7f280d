package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// FuzzRecords reads files that are sealed as they should be and hold anything.
func FuzzRecords(f *testing.F) {
	f.Add("package", []byte(`{"id":"a","draft_id":"../x"}`), true)
	f.Add("draft", []byte(`{"id":"6f1e3a52-8c11-4d2a-9a55-0d6c9f3e7b10","state":"queued","files":[{"copy":"../../id","path":"/etc/passwd"}]}`), true)
	f.Add("folder", []byte(`{"path":"/x","signers":[{"email":"a@b.example"}]}`), true)
	f.Add("bytes", []byte(`{"name":"../x","size":3}`), false)
	f.Add("job", []byte(`{"package_id":"a","folder":"/autostart","target":"x.desktop"}`), false)
	settings, err := json.Marshal(theOffice().Settings)
	noErr(f, err)
	f.Fuzz(func(t *testing.T, kind string, value []byte, end bool) {
		var file bytes.Buffer
		w, err := Write(&file, safe.Secret{1}, Header{Kind: Move})
		noErr(t, err)
		noErr(t, w.Put(store.Record{Kind: kindSettings, JSON: settings}))
		if w.Put(store.Record{Kind: store.Kind(kind), JSON: value}) != nil {
			return // no JSON
		}
		if end {
			noErr(t, w.Close())
		}
		o := Office{}
		m := &moving{Office: &o, now: time.Now(), needed: map[string]Document{}, ids: map[string]bool{}, here: map[string]string{}}
		_, _, err = Read(&file, safe.Secret{1}, Move, Reading{Record: m.record})
		if err == nil {
			err = m.finish()
		}
		if err != nil {
			return
		}
		if !end || len(o.Settings.CopyTo)+len(o.Settings.BlindCopyTo) > 0 || o.Settings.NgrokCA != "" || o.Settings.BesideOriginal {
			t.Errorf("believed %+v", o.Settings)
		}
		for _, d := range o.Drafts {
			for _, f := range d.Files {
				t.Errorf("a file whose bytes are not in the file: %+v", f)
			}
		}
		for _, d := range o.Folders {
			if !d.Paused {
				t.Errorf("a folder sends: %+v", d)
			}
		}
		for _, p := range o.Packages {
			if p.Withdrawal.Pending() || p.Planned && !p.Saved || p.State == office.PackageState("x") && p.ID == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}

// A file decides how much of it is left out.
func TestWhatIsLeftOutIsSaidOnceAndWithinBounds(t *testing.T) {
	o := Office{Header: Header{Made: time.Now()}, Settings: theOffice().Settings}
	for n := range 300 {
		d := office.Draft{ID: uuid.NewString(), Name: fmt.Sprint(n / 2), State: office.DraftHeld, Files: []office.DraftFile{{}}}
		o.Drafts = append(o.Drafts, d)
	}
	var file bytes.Buffer
	noErr(t, WriteMove(&file, safe.NewSealer("password 10"), o, nil))
	got, err := ReadMove(&file, "password 10", time.Now(), "")
	noErr(t, err)
	if len(got.LeftOut) != mostLeftOut || got.LeftOut[0] == got.LeftOut[1] {
		t.Errorf("%d lines, %v first", len(got.LeftOut), got.LeftOut[:2])
	}
}

// What comes back signed goes to the folder that the document came from, which has another id on this computer.
func TestAPackageKnowsItsWatchedFolderOnTheNewComputer(t *testing.T) {
	o := Office{Header: Header{Made: time.Now()}, Settings: theOffice().Settings}
	o.Folders = []office.HotFolder{{ID: "f1", Path: "/srv/send", Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}}}
	o.Packages = []office.Package{{ID: "by-id", Service: "s", Folder: "f1"}, {ID: "by-tag", Service: "s", Folder: office.TagAt("s", "f1")}, {ID: "of-none", Folder: "f2"}}
	var file bytes.Buffer
	noErr(t, WriteMove(&file, safe.NewSealer("password 10"), o, nil))
	got, err := ReadMove(&file, "password 10", time.Now(), "")
	noErr(t, err)
	if len(got.Folders) != 1 || len(got.Packages) != 3 {
		t.Fatalf("%+v, left out %v", got, got.LeftOut)
	}
	id := got.Folders[0].ID
	if id == "f1" || got.Packages[0].Folder != id || got.Packages[1].Folder != id || got.Packages[2].Folder != "" {
		t.Errorf("the folder is %s, the packages are %+v", id, got.Packages)
	}
}
