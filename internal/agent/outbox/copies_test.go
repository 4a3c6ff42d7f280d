package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
)

// given is what newPackage gives, as it stands in an upload.
var given = []byte("\r\n\r\n%PDF-1.7\r\n--")

func TestWhatGoesOutIsWhatWasGivenWhateverBecomesOfTheFile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"edited, of the same length": func(path string) error { return os.WriteFile(path, []byte("%PDF-2.0"), 0o600) },
		"longer":                     func(path string) error { return os.WriteFile(path, []byte("%PDF-1.7\nmore"), 0o600) },
		"deleted":                    os.Remove,
	} {
		r := newService(t, accept)
		d := r.newPackage(t)
		id := must(r.Hold(d))
		held, _, err := r.Data.Draft(id)
		if err != nil || held.State != office.DraftHeld || !held.Stopped {
			t.Errorf("%s: what was stopped is %+v, %v", name, held, err)
		}
		if path, err := r.Original(held.Files[0]); err != nil || path != d.Files[0] {
			t.Errorf("%s: before that, opened is %q, %v", name, path, err)
		}
		noErr(t, change(d.Files[0]))
		if path, err := r.Original(held.Files[0]); path != "" || message.For(err) != message.OriginalChanged("Lease.pdf") {
			t.Errorf("%s: opened is %q, %v", name, path, err)
		}
		noErr(t, r.Resolve(id, true, 0))
		eventually(t, "it is sent", func() bool { return r.service.added() == 1 })
		if got := r.service.sent(); len(got) != 1 || !bytes.Contains(got[0], given) {
			t.Errorf("%s: sent was %q", name, got)
		}
	}
}

func TestARefusedDraftIsChangedFromItsCopyWhichStaysUntilAnotherTakesItsPlace(t *testing.T) {
	r := newService(t, refuse)
	d := r.newPackage(t)
	state := must(r.Send(t.Context(), d, nil))
	noErr(t, os.Remove(d.Files[0]))
	keep := func(_ context.Context, name string, _ int64, from io.Reader) (string, error) {
		path := filepath.Join(t.TempDir(), name)
		b := must(io.ReadAll(from))
		return path, os.WriteFile(path, b, 0o600)
	}
	again, lost, err := r.Again(t.Context(), state.DraftID, keep)
	if err != nil || len(lost) != 0 || len(again.Files) != 1 || again.Files[0] == d.Files[0] {
		t.Fatalf("to be changed: %+v, lost %q, %v", again, lost, err)
	}
	again.Name, again.Replaces = "Lease, second try", []string{state.DraftID}
	state, err = r.Send(t.Context(), again, nil)
	if drafts, err2 := r.Drafts(); err != nil || err2 != nil || len(drafts) != 1 || drafts[0].Name != again.Name {
		t.Errorf("drafts: %+v, %v, %v", drafts, err, err2)
	}
	eventually(t, "the first copy is gone", func() bool { return r.copiesKept() == 1 })
	r.service.answer(accept, nil)
	noErr(t, r.Resolve(state.DraftID, true, 0))
	eventually(t, "it is sent", func() bool { return r.service.added() == 3 })
	for _, got := range r.service.sent() {
		if !bytes.Contains(got, given) {
			t.Errorf("sent was %q", got)
		}
	}
	eventually(t, "the copy is gone", func() bool { return r.copiesKept() == 0 })
}

func TestWhatAKillLeavesIsSweptAndNothingElse(t *testing.T) {
	r := newService(t, accept)
	id := must(r.Hold(r.newPackage(t)))
	back := must(r.Hold(r.newPackage(t)))
	if inTime, err := r.Cancel(back); err != nil || !inTime {
		t.Errorf("taken back: %v, %v", inTime, err)
	}
	r.end()
	for _, left := range []string{"4b3c0000-0000-4000-8000-000000000000-1", ".countersign-0011223344556677-0011223344556677.part", "held-x"} {
		noErr(t, os.WriteFile(filepath.Join(locations.Outbox(r.dir), left), []byte("%PDF-"), 0o600))
	}
	r.sweepCopies()
	if _, err := os.Stat(filepath.Join(locations.Outbox(r.dir), id+"-1")); err != nil || r.copiesKept() != 1 {
		t.Errorf("%d are kept, %v", r.copiesKept(), err)
	}
	if sent, err := os.ReadDir(locations.Sent(r.dir)); err == nil {
		t.Errorf("what was taken back is kept as sent: %v", sent)
	}
}

// What lies at the path by now is another document.
func TestADraftWithoutItsWholeCopySendsNothing(t *testing.T) {
	for name, lose := range map[string]func(f *office.DraftFile, copied string) error{
		"its copy was let go of":       func(f *office.DraftFile, _ string) error { f.Copy = ""; return nil },
		"its copy is gone":             func(_ *office.DraftFile, copied string) error { return os.Remove(copied) },
		"its name leads elsewhere":     func(f *office.DraftFile, _ string) error { f.Copy = "../dropped/Lease.pdf"; return nil },
		"nobody knows what it is like": func(f *office.DraftFile, _ string) error { f.SHA256 = ""; return nil },
		"its copy is damaged":          func(_ *office.DraftFile, copied string) error { return os.WriteFile(copied, []byte("%PDF-1.8"), 0o600) },
	} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		d := r.newPackage(t)
		id := must(r.Hold(d))
		noErr(t, os.MkdirAll(locations.Dropped(r.dir), 0o700))
		noErr(t, os.WriteFile(filepath.Join(locations.Dropped(r.dir), "Lease.pdf"), []byte("%PDF-1.7"), 0o600))
		held, _, err := r.Data.Draft(id)
		noErr(t, err)
		noErr(t, lose(&held.Files[0], filepath.Join(locations.Outbox(r.dir), held.Files[0].Copy)))
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(held) }))
		if file, err := r.OpenSent(held.Files[0]); err == nil {
			t.Errorf("%s: shown is %s", name, file.Name())
		}
		noErr(t, r.Resolve(id, true, 0))
		_, err = r.sendDue(t.Context())
		state, _ := r.draftState(id)
		if err != nil || state.State != office.DraftFailed || state.Problem.IsZero() || len(r.service.sent())+r.service.added() != 0 {
			t.Errorf("%s: %+v, %v; sent was %q", name, state, err, r.service.sent())
		}
	}
}

// A SIGKILL between the record of what was sent and the move of its copy is as if the sweep had not come yet.
func TestWhatWasSentIsKeptUntilItsPackageHasEndedLongAgo(t *testing.T) {
	const keep = 5
	r := newService(t, accept)
	state := must(r.Send(t.Context(), r.newPackage(t), nil))
	r.end() // the test does what it runs
	r.sweepCopies()
	d, _, err := r.DraftOf(state.PackageID)
	noErr(t, err)
	in := func(dir string) bool { _, err := os.Lstat(filepath.Join(dir, d.Files[0].Copy)); return err == nil }
	if in(locations.Outbox(r.dir)) || !in(locations.Sent(r.dir)) {
		t.Fatal("it was not moved")
	}
	file := must(r.OpenSent(d.Files[0]))
	b, err := io.ReadAll(file)
	noErr(t, errors.Join(err, file.Close()))
	expect(t, int64(len(b)), d.Files[0].Size, "it has %d bytes")

	left := filepath.Join(locations.Sent(r.dir), "of-a-draft-that-a-backup-does-not-know-1")
	noErr(t, os.WriteFile(left, []byte("%PDF-"), 0o600))
	day := time.Now()
	work := func(days int) bool {
		for range days {
			day = day.AddDate(0, 0, 1)
			noErr(t, r.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(day); return err }))
		}
		noErr(t, r.ForgetSent(t.Context(), keep))
		return in(locations.Sent(r.dir))
	}
	job := office.Job{PackageID: state.PackageID, DocumentID: "d", Kind: office.FileSigned, Folder: r.dir, Target: "d.pdf"}
	put := func(change func(*office.Package, *office.Job)) {
		t.Helper()
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			p, _, err := tx.Package(state.PackageID)
			_, planned := tx.PlanJob(job)
			change(&p, &job)
			return errors.Join(err, planned, tx.PutPackage(p), tx.PutJob(job))
		}))
	}
	if !work(3 * keep) {
		t.Fatal("it is gone while the package is open")
	}
	put(func(p *office.Package, _ *office.Job) { p.State = office.PackageExpired })
	work(keep)
	put(func(p *office.Package, _ *office.Job) { p.State = office.PackageOpen }) // it was given more time
	if !work(3 * keep) {
		t.Fatal("it is gone while the package is open again")
	}
	put(func(p *office.Package, j *office.Job) {
		p.State, p.Saved, j.State = office.PackageExecuted, true, office.JobDone
	})
	if !work(1) || !work(keep+1) {
		t.Fatal("it is gone before it was compared")
	}
	put(func(_ *office.Package, j *office.Job) { j.Match.State = office.MatchSame })
	if _, err := os.Lstat(left); work(0) || err != nil {
		t.Errorf("it is still there, or what nobody knows is not: %v", err)
	}
	if d, _, err = r.DraftOf(state.PackageID); err != nil || d.Files[0].Copy != "" || d.Files[0].SHA256 == "" {
		t.Errorf("%+v, %v", d.Files[0], err)
	}
	if _, err := r.OpenSent(d.Files[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is opened: %v", err)
	}
	noErr(t, os.Chtimes(left, time.Time{}, time.Now().AddDate(0, 0, -keep-1)))
	work(0)
	if _, err := os.Lstat(left); err == nil {
		t.Error("what nobody knows is still there")
	}
}

// The window shows the sending of a list as one thing, also where a line of it was refused.
func TestTheDiarySaysOfWhichListAPackageIs(t *testing.T) {
	for name, service := range map[string]func(http.ResponseWriter){"sent": accept, "refused": refuse} {
		r := newService(t, service)
		r.end()
		line := r.newPackage(t)
		var common office.Draft
		noErr(t, r.KeepList(t.Context(), line, must(r.Sums(t.Context(), line)), func(_ *store.Tx, d *office.Draft) error { common = *d; return nil }))
		line.Files = nil
		noErr(t, r.FromList(t.Context(), common, "one", line, func(*store.Tx, *office.Draft) error { return nil }))
		must(r.sendDue(t.Context()))
		if told, err := r.Activity(9); err != nil || len(told) != 1 || told[0].List != common.ID || (told[0].PackageID == "") != (name == "refused") {
			t.Errorf("%s: told %+v, %v", name, told, err)
		}
	}
}

// Of a list that is stopped nothing waits any more, from the commit on that stops it; what it cannot commit stops nothing.
func TestNothingOfAListWaitsOnceItIsStopped(t *testing.T) {
	r := newService(t, accept)
	r.end()
	given := r.newPackage(t)
	sums := must(r.Sums(t.Context(), given))
	pages := r.deps.Pages
	r.deps.Pages = func(context.Context, string) (int, error) { return 0, preview.ErrPassword }
	var refused *DraftError
	if err := r.KeepList(t.Context(), given, sums, nil); !errors.As(err, &refused) {
		t.Errorf("of a document with a password: %v", err)
	}
	r.deps.Pages = pages
	var common office.Draft
	noErr(t, r.KeepList(t.Context(), given, sums, func(_ *store.Tx, d *office.Draft) error { common = *d; return nil }))
	noErr(t, r.Data.Store.View(func(tx *store.Tx) (err error) { common, _, err = tx.Draft(common.ID); return err }))
	line := given
	line.Files = nil
	nothing := func(*store.Tx, *office.Draft) error { return nil }
	noErr(t, errors.Join(r.FromList(t.Context(), common, "one", line, nothing), r.FromList(t.Context(), common, "two", line, nothing)))
	common.ID = "another list"
	noErr(t, r.FromList(t.Context(), common, "other", line, nothing))
	states := func() (said string) {
		for _, id := range []string{"one", "two", "other"} {
			d, _, err := r.Data.Draft(id)
			noErr(t, err)
			said += string(d.State) + " "
		}
		return said
	}
	id := ""
	noErr(t, r.Data.Store.View(func(tx *store.Tx) error { d, _, err := tx.Draft("one"); id = d.List; return err }))
	noErr(t, r.Data.Update(func(tx *store.Tx) error { // sent again after an answer that was lost: the service may have it
		d, _, err := tx.Draft("two")
		d.Was = office.DraftUnknown
		return errors.Join(err, tx.PutDraft(d))
	}))
	var unsent []string
	noErr(t, r.Data.Update(func(tx *store.Tx) (err error) { unsent, err = r.TakeBackList(tx, id); return err }))
	if states() != "cancelled cancelled queued " || !slices.Equal(unsent, []string{"one"}) {
		t.Error(states(), unsent)
	}

	stopped := false
	r.deps.Requeued = func(tx *store.Tx, list string) (err error) {
		if unsent = nil; stopped {
			unsent, err = r.TakeBackList(tx, list)
		}
		return err
	}
	for again, want := range map[office.DraftState]string{office.DraftQueued: "other", office.DraftUnknown: ""} {
		for _, stopped = range []bool{false, true} {
			d := office.Draft{ID: "other", List: "another list", State: office.DraftAdding}
			d.Was = again
			noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }))
			noErr(t, r.refused(t.Context(), d, &esign.Error{Kind: esign.TooMany}))
			if state := states(); strings.HasSuffix(state, "queued ") == stopped || stopped && strings.Join(unsent, " ") != want {
				t.Errorf("stopped while it was being sent, %v: %s, %q", stopped, state, unsent)
			}
		}
	}
}

// lease is a template as a person chose it.
func lease() *office.Template {
	return &office.Template{
		ID: "t", Name: "Lease agreement", Sequential: true,
		Documents: []office.TemplateDocument{
			{ID: "t1", Name: "Lease agreement", Fields: []office.TemplateField{{ID: "rent", Name: "Rent"}, {ID: "flat", Name: "Address of the flat"}}},
			{ID: "t2", Name: "House rules", FileName: "rules.pdf"}, {Name: "Keys"}, {ID: "t4", Name: "As it is"},
		},
		Roles:  []office.TemplateRole{{ID: "r1", Role: "Landlord"}, {ID: "r2", Role: "Tenant"}, {ID: "r3", Role: "Tenant"}},
		Copies: []office.TemplateRole{{ID: "c1", Role: "Archive", Email: "archive@example.com"}, {Role: "Broker"}},
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noErr(t, os.WriteFile(path, []byte("%PDF-1.7 "+name), 0o600))
	return path
}

// What the service is sent, what is known of the package, and what is kept of the draft are what a person has filled in.
func TestWhatGoesOutIsWhatWasFilledIn(t *testing.T) {
	due := time.Now().Add(240 * time.Hour).UTC().Truncate(time.Second)
	plain := office.NewPackage{
		Name: " Offer ", Message: "Please sign.", Files: []string{file(t, "Offer.pdf"), file(t, "Annex.docx")}, Sequential: true, Due: due,
		Signers:      []office.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {FirstName: "Ana", Email: "ana@example.com"}},
		Recipients:   []office.Recipient{{FirstName: "Zoë", Email: "zoe@example.com"}, {Email: "max@example.com"}},
		ExternalData: json.RawMessage(`{"case":7}`),
	}
	filled := office.NewPackage{Template: lease(), Files: []string{file(t, "House rules.pdf")}, EmptyFields: true, Recipients: []office.Recipient{
		{FirstName: "Files", Email: "archive@example.com"}, {FirstName: "Bo", Email: "bo@example.com"}, {FirstName: "Cy", Email: "cy@example.com"}}}
	filled.Template.Documents[0].Data = map[string]string{"rent": "1,200 €"}
	filled.Template.Documents[1].Data = map[string]string{"pets": "no"}
	filled.Template.Documents[1].File, filled.Template.Documents[2].File = file(t, "Our rules.pdf"), file(t, "Keys.pdf")
	filled.Signers = filled.Template.Signers()
	for i, email := range []string{"jan@example.com", "ana@example.com", "eva@example.com"} {
		filled.Signers[i].FirstName, filled.Signers[i].Email = strings.TrimSuffix(email, "@example.com"), email
	}
	for name, c := range map[string]struct {
		give    office.NewPackage
		want    []string // of the request
		uploads int
	}{
		"files": {plain, []string{
			"Offer: Please sign. of , Sequential, due " + due.Format("2006-01-02T15:04:05.000Z"), "case 7",
			"signer Jan|Weber|jan@example.com||", "signer Ana||ana@example.com||", "copy Zoë||zoe@example.com||", "copy max||max@example.com||",
			"document f|Offer.pdf|Offer||map[]", "document f|Annex.docx|Annex||map[]",
		}, 2},
		"a template": {filled, []string{
			"Lease agreement:  of t, concurrent, due ", "case 0",
			"signer jan||jan@example.com|Landlord|r1", "signer ana||ana@example.com||r2", "signer eva||eva@example.com||r3",
			"copy Files||archive@example.com||c1", "copy Bo||bo@example.com|Broker|", "copy Cy||cy@example.com||",
			"document |||t1|map[rent:1,200 €]", "document f|Our rules.pdf|House rules|t2|map[pets:no]", "document f|Keys.pdf|Keys||map[]",
			"document f|House rules.pdf|House rules (2)||map[]",
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newService(t, accept)
			var sent []office.SendState
			state, err := r.Send(t.Context(), c.give, func(s office.SendState) { sent = append(sent, s) })
			if err != nil || state.State != office.DraftSent || state.PackageID != "p1" || state.Sent != state.Total || state.Total < 20 {
				t.Fatalf("%+v, %v", state, err)
			}
			if len(sent) < 3 || sent[0].DraftID != state.DraftID || slices.ContainsFunc(sent, func(s office.SendState) bool { return s.Total != state.Total || s.Sent > s.Total }) {
				t.Errorf("told meanwhile: %+v", sent)
			}
			<-r.wakes
			expect(t, len(r.service.sent()), c.uploads, "%d files were sent")
			expect(t, lines(t, r.service.bodies[0]), c.want, "the service got\n%q")
			p, _, err := r.Data.Package("p1")
			noErr(t, err)
			if p.Name+":" != strings.Fields(c.want[0])[0] && p.Name != "Lease agreement" || p.Origin != office.MadeHere || p.State != office.PackageOpen ||
				p.Sequential != c.give.Sequential || !p.Due.Equal(c.give.Due) || len(p.Signers) != len(c.give.Signers) || p.Signers[0].Role != "" ||
				p.NextCheck.IsZero() || len(p.Recipients) != len(c.give.Recipients) || p.History[0].What != office.EntrySent {
				t.Errorf("known of it: %+v", p)
			}
			d, known, err := r.DraftOf("p1")
			if err != nil || !known || d.ID != state.DraftID || len(d.Files) != c.uploads || !reflect.DeepEqual(d.Signers, c.give.Signers) {
				t.Errorf("the draft is kept as %+v, %v, %v", d, known, err)
			}
			keep := func(_ context.Context, name string, _ int64, _ io.Reader) (string, error) { return name, nil }
			again, _, err := r.Again(t.Context(), d.ID, keep)
			if err != nil || again.Template != nil && len(again.Files) != 0 {
				t.Errorf("once more it is %+v, %v", again, err)
			}
		})
	}
}

// lines are what a request for a package says.
func lines(t *testing.T, body []byte) []string {
	t.Helper()
	var q struct {
		Name, Type, Message, TimeSignBy, TemplateID string
		Signers, Recipients                         []struct{ FirstName, LastName, Email, TemplateRole, TemplateSignerID, TemplateRecipientID string }
		Documents                                   []struct {
			FileID, FileName, Name, ExternalID, TemplateDocumentID string
			TemplateData                                           map[string]string
		}
		ExternalData struct{ Case int }
	}
	noErr(t, json.Unmarshal(body, &q))
	list := []string{fmt.Sprintf("%s: %s of %s, %s, due %s", q.Name, q.Message, q.TemplateID, q.Type, q.TimeSignBy), fmt.Sprint("case ", q.ExternalData.Case)}
	for _, x := range q.Signers {
		list = append(list, strings.Join([]string{"signer " + x.FirstName, x.LastName, x.Email, x.TemplateRole, x.TemplateSignerID}, "|"))
	}
	for _, x := range q.Recipients {
		list = append(list, strings.Join([]string{"copy " + x.FirstName, x.LastName, x.Email, x.TemplateRole, x.TemplateRecipientID}, "|"))
	}
	for _, x := range q.Documents {
		list = append(list, fmt.Sprintf("document %s|%s|%s|%s|%v", x.FileID, x.FileName, x.Name, x.TemplateDocumentID, x.TemplateData))
		if (x.FileID == "") != (x.ExternalID == "") {
			t.Errorf("a document that cannot be told from others: %+v", x)
		}
	}
	return list
}

// The service keeps an upload for a day, for the account that made it.
func TestAnUploadIsUsedOnlyWhileTheServiceKeepsItForThisAccount(t *testing.T) {
	for name, c := range map[string]struct {
		ago     time.Duration
		by      string
		state   office.DraftState
		uploads int
	}{
		"a fresh one": {time.Hour, "me", office.DraftQueued, 0}, "an old one": {23 * time.Hour, "me", office.DraftQueued, 1}, "of another account": {time.Hour, "ana", office.DraftQueued, 1},
		"of tomorrow, by a wrong clock": {-48 * time.Hour, "me", office.DraftQueued, 1}, "one that may be what was refused": {time.Hour, "me", office.DraftFailed, 1},
	} {
		r := newService(t, accept)
		r.end()
		id, err := r.Hold(r.newPackage(t))
		noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
		d, _, err := r.Data.Draft(id)
		noErr(t, err)
		d.State = c.state
		d.Files[0].FileID, d.Files[0].Uploaded, d.Files[0].UploadedBy = "before", time.Now().Add(-c.ago), c.by
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }))
		noErr(t, r.Resolve(id, true, 0)) // by a person, where one has to decide
		must(r.sendDue(t.Context()))
		want := map[int]string{0: "before", 1: "f"}[c.uploads]
		if got := lines(t, r.service.bodies[0]); len(r.service.sent()) != c.uploads || !slices.Contains(got, "document "+want+"|Lease.pdf|Lease||map[]") {
			t.Errorf("%s: %d uploads, sent %q", name, len(r.service.sent()), got)
		}
	}
}

func TestATemplateThatIsGoneIsRefusedWithASentence(t *testing.T) {
	for code, want := range map[string]message.Message{
		"template_not_found": message.TemplateGone("Lease agreement"), "PACKAGE_TEMPLATE_NOT_FOUND": message.TemplateGone("Lease agreement"),
		"template_signer_not_found": message.TemplateChanged("Lease agreement"), "template_exception": {}, "file_not_found": {},
	} {
		r := newService(t, answering(http.StatusNotFound, `{"error":"`+code+`","message":"No."}`))
		d := r.newPackage(t)
		d.Template, d.EmptyFields = lease(), true
		state, err := r.Send(t.Context(), d, nil)
		if err != nil || state.State != office.DraftFailed || state.Problem.IsZero() || !want.IsZero() && state.Problem != want || want.IsZero() && state.Problem.ID() == message.TemplateGone("").ID() {
			t.Errorf("%s: %+v, %v", code, state, err)
		}
		eventually(t, code+" is shown", func() bool {
			shown, err := r.Activity(9)
			return err == nil && len(shown) == 1 && strings.Contains(shown[0].Text.String(), state.Problem.String())
		})
	}
	r := newService(t, accept)
	d := r.newPackage(t)
	d.Template = lease()
	d.Template.Documents[0].Data = map[string]string{"rent": "1,200 €"}
	if _, err := r.Send(t.Context(), d, nil); message.For(err) != message.TemplateFieldsEmpty([]string{"Address of the flat"}) || r.service.added() > 0 {
		t.Errorf("nobody was asked about empty fields: %v", err)
	}
}

func TestWhoeverWaitsIsToldWhyItIsNotSentYet(t *testing.T) {
	r := newService(t, turnAway)
	d := r.newPackage(t)
	d.Patience = 20 * time.Millisecond
	state, err := r.Send(t.Context(), d, nil)
	if text := message.For(err).String(); state.State != office.DraftQueued || !strings.Contains(text, "“Lease” is not sent yet") || !strings.Contains(text, state.Problem.String()) || state.Problem.IsZero() {
		t.Errorf("%+v, told %q", state, text)
	}
	client, _, _ := r.deps.Service()
	r.end()
	r.deps.Service = func() (*esign.Client, string, bool) { return client, "", false }
	if _, err := r.Send(t.Context(), d, nil); !strings.Contains(message.For(err).String(), message.NobodySignedIn().String()) {
		t.Errorf("while nobody is signed in: %v", err)
	}
	r.Base.Session, d.Patience = looptest.Session{}, time.Hour
	if _, err := r.Send(t.Context(), d, nil); !strings.Contains(message.For(err).String(), message.NobodySignedIn().String()) {
		t.Errorf("whoever is to sign in first: %v", err)
	}
	drafts, err := r.Drafts() // oldest first
	if err != nil || len(drafts) != 3 || drafts[0].ID != state.DraftID {
		t.Errorf("what waits is %+v, %v", drafts, err)
	}
}

func TestAFileIsLookedAtBeforeItIsSent(t *testing.T) {
	r := newService(t, accept)
	path := file(t, "Lease.PDF")
	huge := file(t, "Plan.pdf")
	noErr(t, os.Truncate(huge, hugeFile+1))
	sealed := file(t, "Sealed.pdf")
	r.deps.Sealed = func(path string) bool { return path == sealed }
	cancelled, cancel := context.WithCancel(t.Context()) // by who does not wait for the outcome
	cancel()
	for name, c := range map[string]struct {
		path             string
		pages            int
		err              error
		problem, warning message.Message
	}{
		"a good one": {path: path, pages: 3}, "a large one": {path: huge, pages: 3, warning: message.FileLarge("Plan.pdf")},
		"a sealed one": {path: sealed, pages: 3, warning: message.FileSealed()},
		"no PDF":       {path: path, err: preview.ErrNotPDF, problem: message.FileNotPDF("Lease.PDF")}, "not to be read here": {path: path, err: errors.New("timeout")},
		"a protected one": {path: path, err: preview.ErrPassword, problem: message.FileProtected("Lease.PDF")},
		"a damaged one":   {path: path, err: preview.ErrUnreadable, warning: message.FileMaybeDamaged("Lease.PDF")},
		"of Word":         {path: file(t, "Lease.docx"), err: preview.ErrNotPDF}, "none": {path: path + "x", problem: message.FileMayNotBeRead("Lease.PDFx")},
	} {
		r.deps.Pages = func(context.Context, string) (int, error) { return c.pages, c.err }
		info := r.Inspect(t.Context(), c.path)
		given := r.newPackage(t)
		given.Files, given.Undo = []string{c.path}, maxUndo
		if _, err := r.Send(cancelled, given, nil); !c.problem.IsZero() && message.For(err) != c.problem || c.problem.IsZero() && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: sent with %v", name, err)
		}
		if info.Pages != c.pages || info.Problem != c.problem || info.Warning != c.warning || info.Name != filepath.Base(c.path) || (info.Size > 0) == (name == "none") {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func TestAFileOfAFolderIsSentOrHeldAsTheFolderSays(t *testing.T) {
	r := newService(t, accept)
	r.end()
	path := file(t, "Lease.pdf")
	open := must(os.Open(path))
	defer open.Close()
	folder := office.HotFolder{ID: "f1", By: "ana", Signers: []office.Signer{{FirstName: "Jan", Email: "jan@example.com"}}}
	noted := ""
	also := func(_ *store.Tx, d *office.Draft) error { noted = d.ID; return nil }
	for _, ask := range []bool{false, true} {
		folder.Ask = ask
		noErr(t, r.FromFolder(t.Context(), folder, open, path, also))
		d, _, err := r.Data.Draft(noted)
		if want := map[bool]office.DraftState{false: office.DraftQueued, true: office.DraftHeld}[ask]; err != nil || d.State != want || d.Folder != "f1" || d.By != "ana" || d.Name != "Lease" {
			t.Errorf("asks %v: %+v, %v", ask, d, err)
		}
	}
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return errors.Join(FileMoved(tx, noted, path, "/elsewhere"), FileMoved(tx, noted, "/unknown", "/x"), FileMoved(tx, "unknown", path, "/x"))
	}))
	moved, _, err := r.Data.Draft(noted)
	noErr(t, err)
	expect(t, moved.Files[0].Path, "/elsewhere", "its file lies at %q")
	for why, want := range map[error]message.Message{preview.ErrUnreadable: message.FileDamaged(), preview.ErrPassword: message.FileProtected("Lease.pdf")} {
		r.deps.Pages = func(context.Context, string) (int, error) { return 0, why }
		if err := r.FromFolder(t.Context(), folder, open, path, also); message.For(err) != want || Passes(err) {
			t.Errorf("%v: %v", why, err)
		}
	}
	for err, want := range map[error]bool{&DraftError{message.FileBusy("x")}: true, &DraftError{message.NoRoomForCopy("x")}: true, &DraftError{message.FileDamaged()}: false, errors.New("x"): false} {
		if Passes(err) != want {
			t.Errorf("%v passes: %v", err, !want)
		}
	}
	drafts := must(r.Drafts())
	expect(t, len(drafts), 2, "%d drafts")
}

func TestAPersonIsAskedOnceAboutAFileThatWasChangedInItsFolder(t *testing.T) {
	x := newService(t, accept)
	x.strayed.Store(true)
	path := file(t, "Lease.pdf")
	open := must(os.Open(path))
	defer open.Close()
	var id string
	also := func(_ *store.Tx, d *office.Draft) error { id = d.ID; return nil }
	noErr(t, x.FromFolder(t.Context(), office.HotFolder{ID: "f", Signers: []office.Signer{{FirstName: "Jan", Email: "jan@example.com"}}}, open, path, also))
	became := func(state office.DraftState) func() bool {
		return func() bool { return must(x.draftState(id)).State == state }
	}
	eventually(t, "it is held", became(office.DraftHeld))
	expect(t, must(x.draftState(id)).Problem, message.FileChangedSince("Lease.pdf"), "it says %v")
	expect(t, len(x.service.sent()), 0, "%d files were uploaded")
	noErr(t, x.Resolve(id, true, 0))
	eventually(t, "it is sent as a person says", became(office.DraftSent))
}

func TestADraftOfAnotherComputerHasItsFilesHere(t *testing.T) {
	d := office.Draft{ID: "d", Template: lease(), Files: []office.DraftFile{{Path: "/there/a.pdf", Name: "a.pdf", Copy: "d-1"}, {Path: "/there/b.pdf", Name: "b.pdf", Copy: "d-2", Original: 4}, {Original: 9}}}
	here := Adopted(d, "/data")
	for i, f := range here.Files[:2] {
		if !strings.HasPrefix(f.Path, locations.Outbox("/data")) || filepath.Base(f.Path) != d.Files[i].Name {
			t.Errorf("%q", f.Path)
		}
	}
	if here.Template.Documents[3].File != here.Files[1].Path || here.Template.Documents[0].File != "" || d.Template.Documents[3].File != "" {
		t.Errorf("%+v", here.Template.Documents)
	}
}

func TestWhatNobodyKnowsOfIsSaid(t *testing.T) {
	r := newService(t, accept)
	r.end()
	client, _, _ := r.deps.Service()
	for _, c := range []struct {
		id, home string
		says     message.Message
	}{
		{"1", "elsewhere", message.OutcomeUnknownElsewhere("Draft 1")}, {"2", client.Home(), message.OutcomeUnknown("Draft 2")}, {"3", client.Home(), message.OutcomesUnknown(2)},
	} {
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			if err := tx.UseService(c.home); err != nil {
				return err
			}
			err := tx.PutDraft(office.Draft{ID: c.id, Name: "Draft " + c.id, State: office.DraftUnknown, Home: office.Home{Service: c.home}})
			return errors.Join(err, tx.UseService(client.Home()))
		}))
		r.TellUnknown()
		if told := r.Health.List(); len(told) != 1 || told[0].ID != health.OutcomeUnknown.ID || told[0].Message != c.says {
			t.Errorf("%s: %+v", c.id, told)
		}
		noErr(t, r.Resolve("unknown", true, 0))
	}
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "4", Name: "Draft 4", State: office.DraftUnknown, Delivery: office.Delivery{Problem: message.DraftOfBefore()}})
	}))
	r.TellUnknown()
	if told := r.Health.List(); len(told) != 1 || told[0].Message != message.Then(message.DraftsOfBefore(1), message.OutcomesUnknown(2)) {
		t.Errorf("with one of before a restore: %+v", told)
	}
	noErr(t, errors.Join(r.Resolve("2", false, 0), r.Resolve("3", false, 0), r.Resolve("4", false, 0)))
	if told := r.Health.List(); len(told) != 1 || told[0].Message != message.OutcomeUnknownElsewhere("Draft 1") {
		t.Errorf("once it was settled: %+v", told)
	}
}

func TestEachDecisionIsDoneAtItsOwnTimeAndOneThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	r := newService(t, accept)
	r.end()
	now := time.Now()
	r.Service.Now = func() time.Time { return now }
	var ids []string
	for _, undo := range []time.Duration{30 * time.Second, 10 * time.Second, 20 * time.Second} {
		d := r.newPackage(t)
		d.Name = ""
		id, err := r.Hold(d)
		noErr(t, errors.Join(err, r.Resolve(id, false, undo)))
		ids = append(ids, id)
	}
	for _, c := range []struct {
		wait, next time.Duration
		done       int
	}{{0, 10 * time.Second, 0}, {15 * time.Second, 5 * time.Second, 1}, {10 * time.Second, 5 * time.Second, 2}, {5 * time.Second, 0, 3}} {
		now = now.Add(c.wait)
		next, err := r.carryOut()
		done := 0
		for _, id := range ids {
			d, _, err := r.Data.Draft(id)
			noErr(t, err)
			if d.State == office.DraftCancelled {
				done++
			}
			expect(t, d.Name, "Lease", "it is called %q")
		}
		if err != nil || next != c.next || done != c.done {
			t.Errorf("after %v: %d done, the next in %v, %v", c.wait, done, next, err)
		}
	}
	id, err := r.Hold(r.newPackage(t))
	noErr(t, errors.Join(err, r.Resolve(id, true, 10*time.Second)))
	r.deps.Service = func() (*esign.Client, string, bool) { return nil, "", false }
	if pause, err := r.sendDue(t.Context()); err != nil || pause != 10*time.Second {
		t.Errorf("what can still be undone is looked at after %v, %v", pause, err)
	}
}

// Its event or the list may tell of it at any time, also while it waits for a person.
func TestADraftWhosePackageIsKnownIsNeverAdded(t *testing.T) {
	for _, state := range []office.DraftState{office.DraftUnknown, office.DraftHeld, office.DraftFailed, office.DraftQueued} {
		for _, claimed := range []bool{true, false} { // or known by its record alone
			r := newService(t, accept)
			r.end()
			id := must(r.Hold(r.newPackage(t)))
			noErr(t, r.Data.Update(func(tx *store.Tx) error {
				d, _, err := tx.Draft(id)
				if d.State = state; state == office.DraftQueued || !claimed {
					d.State, d.NextTry = office.DraftQueued, r.Now()
				}
				p, other := office.Package{ID: "p7", Source: office.Source{DraftID: id}}, office.Package{ID: "p8"}
				if claimed {
					p.DraftID = ""
					tx.PutDraft(d)
					r.Claim(tx, &p, withCorrelation(nil, id))
				}
				tx.PutPackage(p)
				r.Claim(tx, &other, withCorrelation(nil, id)) // which it cannot be, too
				expect(t, other.DraftID, "", "the other is that of draft %q")
				return err
			}))
			if !claimed {
				noErr(t, r.Resolve(id, true, 0))
			}
			must(r.sendDue(t.Context()))
			if d, _, err := r.Data.Draft(id); err != nil || d.State != office.DraftSent || d.PackageID != "p7" || r.service.added() != 0 {
				t.Errorf("%s, claimed %v: %+v, %v, added %d times", state, claimed, d, err, r.service.added())
			}
		}
	}
}
