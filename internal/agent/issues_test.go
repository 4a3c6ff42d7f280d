package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestThatABackupWasRestoredIsSaidUntilSomebodyHasReadIt(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	o.loseData()
	o.open()
	said := o.issue(IssueRestored)
	if said == nil {
		t.Fatalf("not said at all: %+v", o.Status().Health)
	}
	for range 2 {
		o.stop()
		o.open()
		if now := o.issue(IssueRestored); now == nil || now.Message != said.Message || now.Action != ActDismiss {
			t.Fatalf("after a restart: %+v", now)
		}
	}
	noErr(t, o.Act(t.Context(), *said))
	for range 2 {
		if now := o.issue(IssueRestored); now != nil {
			t.Errorf("said to somebody who has read it: %+v", now)
		}
		o.stop()
		o.open()
	}
}

// opened writes down what is opened for whoever presses on a notification.
type opened struct {
	mu      sync.Mutex
	notices []office.Notice
	files   []string
}

func (x *opened) last() office.Notice {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.notices[len(x.notices)-1]
}

func (x *opened) take() (files []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	files, x.files = x.files, nil
	return files
}

// opening is an office whose desktop writes down what it shows and opens.
func opening(t *testing.T, change func(*Params)) (o *testOffice, x *opened) {
	t.Helper()
	x = &opened{}
	return newOfficeWith(t, func(p *Params) {
		quick(p)
		change(p)
		p.Windowed = true
		raise := p.Notify
		p.Notify = func(n office.Notice) error {
			x.mu.Lock()
			x.notices = append(x.notices, n)
			x.mu.Unlock()
			return raise(n)
		}
		p.OpenSaved = func(path string, inFolder bool, token string) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			how := "open "
			if inFolder {
				how = "folder "
			}
			x.files = append(x.files, how+filepath.Base(path)+" "+token)
			return nil
		}
	}, sandbox.Options{}), x
}

func TestAPressOpensWhatWasSavedAndNothingElse(t *testing.T) {
	o, x := opening(t, func(*Params) {})
	changes, stop := o.Watch()
	defer stop()
	id := o.send()
	noErr(t, o.service.SignAll(id))
	o.eventually("people are told", func() bool { return o.count(everyone) == 1 })
	said := x.last()
	var deeds []office.Action
	for _, b := range said.Buttons {
		deeds = append(deeds, b.Action)
	}
	if want := []office.Action{office.ActionShow, office.ActionOpen, office.ActionFolder}; said.About != office.PackageSubject(id) || !slices.Equal(deeds, want) {
		t.Fatalf("%+v offers %q", said, deeds)
	}
	shown := func() office.Subject {
		for c := range changes {
			if s, asked := c.Shows(); asked {
				return s
			}
		}
		return "nothing"
	}
	press := func(about office.Subject, deed office.Action) {
		o.Click(office.Click{About: about, Action: deed, Token: "t"})
	}
	press(said.About, office.ActionOpen)
	press(said.About, office.ActionFolder)
	expect(t, x.take(), []string{"open Offer - Offer 2026-118.pdf t", "folder Offer - Offer 2026-118.pdf t"}, "opened %q")
	press(said.About, office.ActionShow)
	expect(t, shown(), said.About, "shown %q")
	for _, strange := range []office.Subject{"", "package/", "package/unknown", "problem/folder", "/etc/passwd", "package/../../etc/passwd"} {
		press(strange, office.ActionOpen)
		if got := shown(); got != strange || len(x.take()) > 0 {
			t.Errorf("a press on %q shows %q", strange, got)
		}
	}
	press(said.About, "run")

	// What has taken the file's name since is not ours.
	file := filepath.Join(o.Settings().SaveTo, "Offer - Offer 2026-118.pdf")
	noErr(t, os.Remove(file))
	noErr(t, os.Symlink("/bin/sh", file))
	press(said.About, office.ActionOpen)
	expect(t, shown(), said.About, "instead, %q is shown")
	if got := x.take(); len(got) > 0 {
		t.Errorf("opened %s", strings.Join(got, ", "))
	}
}

// sending adds a folder that sends to a whole office.
func sending(t *testing.T) (o *testOffice, x *opened, f office.HotFolder) {
	t.Helper()
	o, x = opening(t, func(p *Params) {
		readDocuments(p)
		p.Pace.Still, p.Pace.Look = 50*time.Millisecond, 100*time.Millisecond
	})
	f = must(o.PutHotFolder(office.HotFolder{Path: filepath.Join(t.TempDir(), "Scans"), Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}}))
	return o, x, f
}

func TestAPressOnWhatWasNotSentOpensItsFolder(t *testing.T) {
	o, x, f := sending(t)
	noErr(t, os.WriteFile(filepath.Join(f.Path, "film.mov"), []byte("film"), 0o644))
	o.eventually("people are told", func() bool { return len(o.notifications()) == 1 })
	said := x.last()
	if said.About != office.HotFolderSubject(f.ID) || len(said.Buttons) != 2 || said.Buttons[0].Action != office.ActionShow || said.Buttons[1].Action != office.ActionFolder {
		t.Errorf("%+v", said)
	}
	o.Click(office.Click{About: said.About, Action: office.ActionFolder})
	expect(t, x.take(), []string{"open " + office.HotProblems + " "}, "opened %q")
	noErr(t, os.RemoveAll(filepath.Join(f.Path, office.HotProblems)))
	for _, about := range []office.Subject{said.About, office.HotFolderSubject("../.."), office.HotFolderSubject("")} {
		if o.Click(office.Click{About: about, Action: office.ActionFolder}); len(x.take()) != 0 {
			t.Errorf("%s opened something", about)
		}
	}
}

func TestFoldersThatSendOutliveALostState(t *testing.T) {
	o, _, f := sending(t)
	o.stop()
	noErr(t, os.Remove(filepath.Join(o.data, "state.db")))
	o.open()
	rows, err := o.HotFolders()
	if err != nil || !slices.ContainsFunc(rows, func(r office.HotFolderRow) bool { return r.Path == f.Path && len(r.Signers) == 1 }) {
		t.Errorf("%+v, %v", rows, err)
	}
}
