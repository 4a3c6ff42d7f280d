package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"countersign/internal/office"
)

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
