package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// sending adds a folder that sends to a whole office.
func sending(t *testing.T, change ...func(*office.HotFolder)) (*testOffice, office.HotFolder) {
	t.Helper()
	o := newOfficeWith(t, func(p *Params) {
		quick(p)
		readDocuments(p)
		p.Pace.Still, p.Pace.Look = 50*time.Millisecond, 100*time.Millisecond
	}, sandbox.Options{Users: append(sandbox.DemoUsers(), sandbox.User{Email: "second@example.com", FirstName: "Second", Admin: true})})
	f := office.HotFolder{Path: filepath.Join(t.TempDir(), "Scans"), Name: "Scan {document}", DueDays: 14,
		Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}, {FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}}}
	for _, c := range change {
		c(&f)
	}
	f, err := o.PutHotFolder(f)
	noErr(t, err)
	return o, f
}

func (o *testOffice) drop(f office.HotFolder, name string, bytes []byte) {
	o.t.Helper()
	noErr(o.t, os.WriteFile(filepath.Join(f.Path, name), bytes, 0o644))
}

func TestAPressOnWhatWasNotSentOpensItsFolder(t *testing.T) {
	var x opened
	o, f := sending(t)
	before := o.adjust
	o.adjust = func(p *Params) {
		before(p)
		p.Windowed = true
		p.Notify = func(n office.Notice) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.notices = append(x.notices, n)
			return nil
		}
		p.OpenSaved = func(path string, inFolder bool, _ string) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.files = append(x.files, path)
			return nil
		}
	}
	o.restart()
	o.drop(f, "film.mov", []byte("film"))
	o.eventually("people are told", func() bool { x.mu.Lock(); defer x.mu.Unlock(); return len(x.notices) == 1 })
	said := x.last()
	if said.About != office.HotFolderSubject(f.ID) || len(said.Buttons) != 2 || said.Buttons[0].Action != office.ActionShow || said.Buttons[1].Action != office.ActionFolder {
		t.Errorf("%+v", said)
	}
	o.Click(office.Click{About: said.About, Action: office.ActionFolder})
	if opened := x.take(); len(opened) != 1 || opened[0] != filepath.Join(f.Path, office.HotProblems) {
		t.Errorf("opened %q", opened)
	}
	noErr(t, os.RemoveAll(filepath.Join(f.Path, office.HotProblems)))
	for _, about := range []office.Subject{said.About, office.HotFolderSubject("../.."), office.HotFolderSubject("")} {
		if o.Click(office.Click{About: about, Action: office.ActionFolder}); len(x.take()) != 0 {
			t.Errorf("%s opened something", about)
		}
	}
}

func TestFoldersThatSendOutliveALostState(t *testing.T) {
	o, f := sending(t)
	o.stop()
	noErr(t, os.Remove(filepath.Join(o.data, "state.db")))
	o.open()
	rows, err := o.HotFolders()
	if err != nil || !slices.ContainsFunc(rows, func(r office.HotFolderRow) bool { return r.Path == f.Path && len(r.Signers) == 2 }) {
		t.Errorf("%+v, %v", rows, err)
	}
}
