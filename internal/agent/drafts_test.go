package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

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
		State: office.DraftHeld, Created: o.Now(), Changed: o.Now(), Delivery: office.Delivery{NextTry: o.Now()},
	}
	noErr(o.t, o.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(draft) })) // for which the copy is kept
	noErr(o.t, os.MkdirAll(locations.Outbox(o.data), 0o700))
	noErr(o.t, os.WriteFile(filepath.Join(locations.Outbox(o.data), copied), given, 0o600))
	draft.State = office.DraftQueued
	return draft
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
	expect(t, names("tena"), []string{"Lease agreement"}, "by the beginning of a role: %q")
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

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}
