package agent

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// uploaded are the files that the service was given.
func (o *testOffice) uploaded() (files [][]byte) {
	o.t.Helper()
	paths, err := filepath.Glob(filepath.Join(o.serviceDir, "files", "*.pdf"))
	noErr(o.t, err)
	for _, path := range paths {
		files = append(files, mustRead(o.t, path))
	}
	return files
}

// kept are the names of the copies in the data folder.
func (o *testOffice) kept() (names []string) {
	o.t.Helper()
	entries, err := os.ReadDir(locations.Outbox(o.data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// queuedDraft is a draft that waits to be sent, with the copy of its file.
func (o *testOffice) queuedDraft() office.Draft {
	o.t.Helper()
	d, id := o.draft(), uuid.NewString()
	given, copied := mustRead(o.t, d.Files[0]), id+"-1"
	draft := office.Draft{
		ID: id, Name: d.Name, Signers: d.Signers, Sequential: d.Sequential,
		Files: []office.DraftFile{{Path: d.Files[0], Name: filepath.Base(d.Files[0]), Copy: copied, Size: int64(len(given)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(given)), ExternalID: copied}},
		State: office.DraftHeld, Created: o.Now(), Changed: o.Now(), NextTry: o.Now(),
	}
	noErr(o.t, o.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(draft) })) // for which the copy is kept
	noErr(o.t, os.MkdirAll(locations.Outbox(o.data), 0o700))
	noErr(o.t, os.WriteFile(filepath.Join(locations.Outbox(o.data), copied), given, 0o600))
	draft.State = office.DraftQueued
	return draft
}

// keeping is an office whose service keeps what it is given in a folder that the test can look into.
func keeping(t *testing.T, adjust func(*Params)) *testOffice {
	t.Helper()
	dir := t.TempDir()
	o := newOfficeWith(t, func(p *Params) {
		quick(p)
		if adjust != nil {
			adjust(p)
		}
	}, sandbox.Options{Dir: dir})
	o.serviceDir = dir
	return o
}

func TestWhatGoesOutIsWhatWasGivenWhateverBecomesOfTheFile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"edited, of the same length": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, bytes.Replace(b, []byte("%PDF-1."), []byte("%PDF-2."), 1), 0o600)
		},
		"longer": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("\nmore")
			return errors.Join(err, f.Close())
		},
		"deleted": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			fault := o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
			d := o.draft()
			given := mustRead(t, d.Files[0])
			go o.Send(t.Context(), d, nil)
			o.eventually("it waits", func() bool { return o.draftIs(office.DraftQueued) })
			info, err := os.Stat(filepath.Join(locations.Outbox(o.data), o.kept()[0]))
			if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			noErr(t, change(d.Files[0]))
			o.restart()
			o.service.Heal(fault)
			o.eventually("it is sent", func() bool { return o.draftIs(office.DraftSent) })
			for _, got := range o.uploaded() { // twice, when the restart came in between
				if !bytes.Equal(got, given) {
					t.Error("other bytes went out")
				}
			}
			if n := len(o.service.Packages()); n != 1 {
				t.Errorf("%d packages", n)
			}
			o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
		})
	}
}

func TestCopiesStayAsLongAsTheirDraftMayBeSent(t *testing.T) {
	o := keeping(t, nil)
	fault := o.service.Inject(sandbox.Fault{Path: "/packages/add", Status: 403})
	d := o.draft()
	given := mustRead(t, d.Files[0])
	if state, err := o.Send(t.Context(), d, nil); err != nil || state.State != office.DraftFailed {
		t.Fatalf("%+v, %v", state, err)
	}
	noErr(t, os.RemoveAll(filepath.Dir(d.Files[0])))
	o.restart()
	if len(o.kept()) != 1 {
		t.Fatalf("kept: %q", o.kept())
	}

	// Changed and sent in its place, from the copy.
	again, lost, err := o.Again(t.Context(), o.Drafts()[0].ID)
	noErr(t, err)
	if len(lost) != 0 || len(again.Files) != 1 || again.Files[0] == d.Files[0] || !bytes.Equal(mustRead(t, again.Files[0]), given) {
		t.Fatalf("to be changed: %+v, lost %q", again, lost)
	}
	again.Name, again.Replaces = "Offer, second try", []string{o.Drafts()[0].ID}
	if state, err := o.Send(t.Context(), again, nil); err != nil || state.State != office.DraftFailed {
		t.Fatalf("%+v, %v", state, err)
	}
	if all := o.Drafts(); len(all) != 1 || all[0].Name != again.Name {
		t.Errorf("drafts: %+v", all)
	}
	o.eventually("the first copy is gone", func() bool { return len(o.kept()) == 1 })

	o.service.Heal(fault)
	noErr(t, o.Resolve(o.Drafts()[0].ID, true))
	o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 1 })
	for _, got := range o.uploaded() {
		if !bytes.Equal(got, given) {
			t.Error("other bytes went out")
		}
	}
	o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
}

func TestWhatAKillLeavesIsSweptAndNothingElse(t *testing.T) {
	o := keeping(t, nil)
	o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
	go o.Send(t.Context(), o.draft(), nil)
	o.eventually("it waits", func() bool { return o.draftIs(office.DraftQueued) })
	o.stop()
	mine := o.kept()[0]
	for _, left := range []string{"4b3c0000-0000-4000-8000-000000000000-1", ".countersign-0011223344556677-0011223344556677.part", "held-x"} {
		noErr(t, os.WriteFile(filepath.Join(locations.Outbox(o.data), left), []byte("%PDF-"), 0o600))
	}
	o.open()
	o.run()
	o.eventually("swept", func() bool { return len(o.kept()) == 1 })
	if o.kept()[0] != mine {
		t.Errorf("kept: %q", o.kept())
	}
}

// What lies at the path by now is another document.
func TestADraftWithoutItsWholeCopySendsNothing(t *testing.T) {
	for name, lose := range map[string]func(f *office.DraftFile, copied string) error{
		"its copy was let go of":       func(f *office.DraftFile, _ string) error { f.Copy = ""; return nil },
		"its copy is gone":             func(f *office.DraftFile, _ string) error { f.Copy = "another-1"; return nil },
		"its name leads elsewhere":     func(f *office.DraftFile, _ string) error { f.Copy = "../dropped/Lease.pdf"; return nil },
		"nobody knows what it is like": func(f *office.DraftFile, _ string) error { f.SHA256 = ""; return nil },
		"its copy is damaged": func(_ *office.DraftFile, copied string) error {
			b, err := os.ReadFile(copied)
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return os.WriteFile(copied, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			fault := o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
			d := o.draft()
			go o.Send(t.Context(), d, nil)
			o.eventually("it waits", func() bool { return o.draftIs(office.DraftQueued) })
			o.stop() // what was whole and is on its way goes out
			copied := filepath.Join(locations.Outbox(o.data), o.kept()[0])
			noErr(t, os.MkdirAll(locations.Dropped(o.data), 0o700))
			noErr(t, os.WriteFile(filepath.Join(locations.Dropped(o.data), "Lease.pdf"), mustRead(t, d.Files[0]), 0o600))
			o.open()
			noErr(t, o.Data.Update(func(tx *store.Tx) error {
				d := must(tx.Drafts(office.DraftQueued))[0]
				return errors.Join(lose(&d.Files[0], copied), tx.PutDraft(d))
			}))
			o.service.Heal(fault)
			o.run()
			o.eventually("it is refused", func() bool { return o.draftIs(office.DraftFailed) })
			if n := len(o.uploaded()) + len(o.service.Packages()); n != 0 {
				t.Errorf("%d files and packages went out", n)
			}
		})
	}
}

func TestWhatCannotBeTakenIsSaidAndNotStored(t *testing.T) {
	o := keeping(t, nil)
	huge := filepath.Join(t.TempDir(), "Plans.pdf")
	noErr(t, os.WriteFile(huge, []byte("%PDF-1.7"), 0o600))
	noErr(t, os.Truncate(huge, 2_000_000_001)) // it takes no room
	d := o.draft()
	d.Files = []string{huge}
	_, err := o.Send(t.Context(), d, nil)
	if text := Message(err).String(); !strings.Contains(text, "Send fewer or smaller documents.") {
		t.Errorf("%q", text)
	}
	if len(o.Drafts()) != 0 || len(o.kept()) != 0 {
		t.Errorf("drafts: %+v, copies: %q", o.Drafts(), o.kept())
	}
}

// chosen is the template of that name, as the service has it.
func (o *testOffice) chosen(name string) *office.Template {
	o.t.Helper()
	list, err := o.Templates(o.t.Context(), "")
	noErr(o.t, err)
	found := office.NamedTemplate(list, name)
	if len(found) != 1 {
		o.t.Fatalf("%d templates are called %q, of %+v", len(found), name, list)
	}
	return &found[0]
}

func TestTemplatesUsedLastComeFirst(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	names := func(search string) (names []string) {
		list, err := o.Templates(t.Context(), search)
		noErr(t, err)
		for _, x := range list {
			names = append(names, x.Name)
		}
		return names
	}
	if got := names(""); !slices.Equal(got, []string{"Engagement letter", "Lease agreement", "Non-disclosure agreement"}) {
		t.Errorf("before any was used: %q", got)
	}
	if got := names("tena"); !slices.Equal(got, []string{"Lease agreement"}) {
		t.Errorf("by the beginning of a role: %q", got)
	}
	d := office.NewPackage{EmptyFields: true, Template: o.chosen("Non-disclosure agreement")}
	d.Signers = d.Template.Signers()
	d.Signers[0].Email, d.Signers[1].Email = "a@example.com", "b@example.com" // one role, two people
	state, err := o.Send(t.Context(), d, nil)
	if err != nil || state.State != office.DraftSent {
		t.Fatalf("%+v, %v", state, err)
	}
	if got := names(""); got[0] != "Non-disclosure agreement" {
		t.Errorf("after it was used: %q", got)
	}
	p := o.service.Packages()[0]
	if p.Name != "Non-disclosure agreement" || len(p.Signers) != 2 || p.Signers[0].Email != "a@example.com" {
		t.Errorf("the service got %+v", p)
	}
	o.restart()
	o.eventually("signed in again", func() bool { return o.Status().SignedIn })
	if used, err := o.UsedTemplates(9); err != nil || len(used) != 1 || used[0].Name != "Non-disclosure agreement" {
		t.Errorf("used here: %+v, %v", used, err)
	}
	noErr(t, o.service.DeleteTemplate(d.Template.ID))
	o.eventually("the list is read", func() bool { _, err := o.Templates(t.Context(), ""); return err == nil })
	if used, err := o.UsedTemplates(9); err != nil || len(used) != 0 {
		t.Errorf("one that is no more is still offered: %+v, %v", used, err)
	}
}

func TestAPackageFromATemplateIsWhatWasFilledIn(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	lease := o.chosen("Lease agreement")
	if len(lease.Documents) != 2 || len(lease.Documents[0].Fields) != 3 || !lease.Documents[0].Fields[2].Multiline || !lease.Sequential {
		t.Fatalf("%+v", lease)
	}
	lease.Documents[0].Data = map[string]string{"rent": "1,200 €"}
	lease.Documents[1].File = o.sample()
	second := filepath.Join(t.TempDir(), "House rules.pdf") // called like a document of the template
	b, err := os.ReadFile(o.sample())
	noErr(t, err)
	noErr(t, os.WriteFile(second, b, 0o600))
	d := office.NewPackage{Name: "Flat 4", Template: lease, Files: []string{second}, Sequential: true, Recipients: lease.Recipients()}
	d.Signers = lease.Signers()
	d.Signers[0].Email, d.Signers[1].Email = "jan@example.com", "ana@example.com"
	empty := message.TemplateFieldsEmpty([]string{"Address of the flat", "Special agreements"})
	if _, err := o.Send(t.Context(), d, nil); Message(err) != empty || len(o.Drafts()) != 0 {
		t.Errorf("nobody was asked about empty fields: %v", err)
	}
	d.EmptyFields = true
	state, err := o.Send(t.Context(), d, nil)
	if err != nil || state.State != office.DraftSent {
		t.Fatalf("%+v, %v", state, err)
	}
	p := o.service.Packages()[0]
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"Lease agreement", "House rules", "House rules (2)"}) || len(p.Recipients) != 1 {
		t.Errorf("documents %q, recipients %+v", names, p.Recipients)
	}
	o.eventually("all documents are known", func() bool { return len(o.packageOrZero(state.PackageID).Documents) == 3 })
	row, _ := o.Package(state.PackageID)
	if row.Signers[0].Role != "" || row.Signers[0].Email != "jan@example.com" {
		t.Errorf("a role is of the draft alone: %+v", row.Signers)
	}
	noErr(t, o.service.SignAll(state.PackageID))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 })
	if files := o.files(); len(files) != 3 {
		t.Errorf("files %q", files)
	}
	kept, known, err := o.DraftOf(state.PackageID)
	if err != nil || !known || kept.Template == nil || kept.Template.Documents[0].Data["rent"] != "1,200 €" || kept.Files[0].Original != 2 {
		t.Errorf("the draft is kept as %+v, %v", kept, err)
	}
}

func TestATemplateThatIsGoneIsRefusedWithASentence(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	d := office.NewPackage{Name: "Flat", EmptyFields: true, Template: o.chosen("Lease agreement")}
	d.Signers = d.Template.Signers()
	d.Signers[0].Email, d.Signers[1].Email = "jan@example.com", "ana@example.com"
	changed := d
	changed.Signers = slices.Clone(d.Signers)
	changed.Signers[0].RoleID = "another"
	if state, err := o.Send(t.Context(), changed, nil); err != nil || state.State != office.DraftFailed || state.Problem != message.TemplateChanged("Lease agreement") {
		t.Errorf("changed: %+v, %v", state, err)
	}
	noErr(t, o.service.DeleteTemplate(d.Template.ID))
	if state, err := o.Send(t.Context(), d, nil); err != nil || state.State != office.DraftFailed || state.Problem != message.TemplateGone("Lease agreement") {
		t.Errorf("gone: %+v, %v", state, err)
	}
	if n := len(o.service.Packages()); n != 0 {
		t.Errorf("%d packages", n)
	}
}

// A service may have no such call. It is told once, and is no trouble of the service.
func TestAServiceWithoutTemplatesIsNotAskedAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	if !o.TemplatesOffered() {
		t.Error("nobody has asked yet")
	}
	o.service.Inject(sandbox.Fault{Path: "*/templates/list", Status: http.StatusNotFound, Body: "404 page not found"})
	_, err := o.Templates(t.Context(), "")
	if Message(err) != message.TemplatesNotOffered() || o.TemplatesOffered() || len(o.Status().Health) != 0 {
		t.Errorf("%v, offered %v, health %+v", err, o.TemplatesOffered(), o.Status().Health)
	}
	o.service.Heal(0)
	if _, err := o.Templates(t.Context(), ""); err != nil || !o.TemplatesOffered() {
		t.Errorf("when it has them after all: %v, offered %v", err, o.TemplatesOffered())
	}
	o.service.Inject(sandbox.Fault{Path: "*/templates/list", Status: http.StatusForbidden, Times: 1}) // everybody's
	if list, err := o.Templates(t.Context(), ""); err != nil || len(list) != 3 {
		t.Errorf("%d templates, %v", len(list), err)
	}
	noErr(t, o.SignOut(t.Context()))
	if _, err := o.Templates(t.Context(), ""); Message(err) != message.SignInFirst() {
		t.Error(err)
	}
}

// The answer to packages/add is lost, or the program is killed around it: one package, as with any other draft.
func TestAPackageFromATemplateIsMadeOnceWhateverIsLost(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	d := office.NewPackage{Name: "Flat", EmptyFields: true, Template: o.chosen("Lease agreement")}
	d.Template.Documents[1].File = o.sample()
	d.Signers = d.Template.Signers()
	d.Signers[0].Email, d.Signers[1].Email = "jan@example.com", "ana@example.com"
	o.service.Inject(sandbox.Fault{Path: "*/packages/add", LoseAnswer: true, Times: 1})
	if _, err := o.Send(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	o.eventually("it is found among the packages", func() bool { return o.Status().Outbox.Unknown == 0 && len(o.Drafts()) == 0 })
	packages := o.service.Packages()
	if len(packages) != 1 {
		t.Fatalf("%d packages", len(packages))
	}
	row, known := o.Package(packages[0].PackageID)
	if !known || row.Origin != office.MadeHere || !strings.Contains(row.Name, "Flat") {
		t.Errorf("%+v", row)
	}
	if used, err := o.UsedTemplates(9); err != nil || len(used) != 1 {
		t.Errorf("used here: %+v, %v", used, err)
	}
}
