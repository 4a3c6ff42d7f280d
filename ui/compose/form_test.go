package compose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/outbox"
	"countersign/ui/widgets"
)

func TestAHalfFilledFormIsThereAgainAtTheNextStart(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("Lease.pdf", "Rules.pdf")
	b.screen.docs[1].draft = "refused-before"
	b.screen.Fill(office.NewPackage{Message: "hello", Signers: []office.Signer{{Email: "half@"}, jan}, Sequential: true, ExternalData: externalData("K-7")})
	b.screen.each.Choose(1)
	b.screen.due.SetText("+6")

	next := newBench(t, b.Office)
	if got, want := next.screen.form(), b.screen.form(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if next.screen.due.Text != "27 Nov 2026" || next.screen.name.Text != "Lease" || next.screen.bar.send.Text != "Send 2 packages to 2 people" {
		t.Errorf("the due date reads %q, the name %q, the button %q", next.screen.due.Text, next.screen.name.Text, next.screen.bar.send.Text)
	}
	next.screen.removeDocument(next.screen.docs[0])
	if next.screen.name.Text != "Rules" {
		t.Error("a name that was proposed is still one that nobody typed")
	}
	next.screen.name.SetText("My own")
	next.screen.due.SetText("some day")
	if last := newBench(t, b.Office); last.screen.name.Text != "My own" || last.screen.due.Text != "some day" {
		t.Errorf("got %q, %q", last.screen.name.Text, last.screen.due.Text)
	}
}

func TestADayIsTheSameDayInAnotherLanguage(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	b := newBench(t, officetest.Busy())
	b.screen.due.SetText("3/1/2027") // in March, for Americans
	i18n.Use("fr")
	if other := newBench(t, b.Office); other.screen.due.Text != "01/03/2027" {
		t.Errorf("got %q", other.screen.due.Text)
	}
}

func TestAFileThatIsGoneAtTheNextStartSaysSo(t *testing.T) {
	o := officetest.Busy()
	o.Typed = office.Form{Files: []office.FormFile{{Path: "/x/gone.pdf"}}}
	o.OnInspect = func(path string) agent.FileInfo {
		return agent.FileInfo{Path: path, Name: "gone.pdf", Problem: message.FileMayNotBeRead("gone.pdf")}
	}
	b := newBench(t, o)
	if !b.screen.docs[0].say.Visible() || !strings.Contains(b.screen.docs[0].say.Text, "could not be read") {
		t.Errorf("said %q", b.screen.docs[0].say.Text)
	}
}

// What waits to be sent is a draft of the office: the form would send it once more after a restart.
func TestWhatIsBeingSentIsNotKeptAsTypedAsWell(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Patient = true
	b.add("a.pdf")
	b.screen.Fill(filled(ana))
	b.send()
	if !b.Office.Form().Empty() || b.screen.Waiting() {
		t.Errorf("while it can be undone there is %+v", b.Office.Form())
	}
	b.Deeds[0].Undone()
	b.Until(func() bool { return b.screen.run == nil })
	b.Settle()
	if got := b.Office.Form(); len(got.Files) != 1 || len(got.Signers) != 1 || len(b.Office.Cancelled) != 1 || len(b.Office.Sent) != 0 {
		t.Errorf("after Undo there is %+v, taken back %q", got, b.Office.Cancelled)
	}
	b.send()
	b.Office.Pass()
	b.Until(func() bool { return b.screen.run == nil })
	b.Settle()
	if len(b.Office.Sent) != 1 || !b.Office.Form().Empty() {
		t.Errorf("sent %d; typed is %+v", len(b.Office.Sent), b.Office.Form())
	}
}

// Programs hand out temporary files and remove them at once; the computer may be started anew before anybody presses Send.
func TestATemporaryFileIsKeptWithTheForm(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Arriving = t.TempDir()
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	for range 2 { // what is added once more is the same document
		if err := os.WriteFile(path, []byte("%PDF-1.7"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.screen.Add([]string{path})
		b.Settle()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again := newBench(t, b.Office) // after another start
	files := again.screen.draft().Files
	if len(files) != 1 || files[0] == path || again.names()[0] != "Offer.pdf" {
		t.Fatalf("the form has %q", files)
	}
	if bytes, err := os.ReadFile(files[0]); err != nil || string(bytes) != "%PDF-1.7" {
		t.Errorf("kept is %q, %v", bytes, err)
	}
}

func TestClearEmptiesTheFormAndCanBeUndone(t *testing.T) {
	b := newBench(t, officetest.Busy())
	if b.screen.clearing.Visible() || b.screen.Waiting() {
		t.Error("there is nothing to clear yet")
	}
	waits := false
	b.screen.OnWaiting = func(w bool) { waits = w }
	b.add("a.pdf", "b.pdf")
	b.screen.Fill(office.NewPackage{Message: "hello", Signers: []office.Signer{ana, jan}, Sequential: true, ExternalData: externalData("K-7")})
	b.screen.due.SetText("12/31/2026")
	before := b.screen.form()
	if !b.screen.clearing.Visible() || !waits {
		t.Error("what is typed can be cleared, and the sidebar says that it waits")
	}
	b.screen.clearing.OnTapped()
	if !b.screen.form().Empty() || len(b.screen.people) != 1 || !b.Office.Form().Empty() || waits || b.screen.clearing.Visible() {
		t.Errorf("left %+v", b.screen.form())
	}
	b.Deeds[0].Undone()
	b.Settle()
	if got := b.screen.form(); !reflect.DeepEqual(got, before) {
		t.Errorf("undone, there is %+v, want %+v", got, before)
	}
	b.screen.Clear()
	b.screen.Fill(filled(jan))
	b.Deeds[1].Undone()
	if b.Window.Canvas().Overlays().Top() == nil || len(b.screen.docs) != 0 {
		t.Error("Undo asks before it takes the place of something typed since")
	}
}

func TestWhatCannotBeSentIsRemovedAtOnce(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.add("Lease Sonnenweg 4.pdf")
	if b.screen.sweep.Visible() {
		t.Error("all of it can be sent")
	}
	b.add("Offer.pdf", "Empty.pdf", "House rules.docx")
	if !b.screen.sweep.Visible() {
		t.Fatal("it is not offered")
	}
	b.screen.sweep.OnTapped()
	if got := fmt.Sprint(b.names()); got != "[Lease Sonnenweg 4.pdf House rules.docx]" || b.screen.sweep.Visible() {
		t.Errorf("left %s", got)
	}
}

// drawer is a folder with documents and what is none.
func drawer(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADroppedFolderMeansItsFiles(t *testing.T) {
	b := newBench(t, officetest.Busy())
	dir := drawer(t, "b.pdf", "A.docx", "notes.exe", ".hidden.pdf", "older/c.pdf")
	b.screen.Add([]string{"/x/first.pdf", dir, filepath.Join(dir, "notes.exe")})
	b.Settle()
	if got := fmt.Sprint(b.names()); got != "[first.pdf A.docx b.pdf notes.exe]" {
		t.Errorf("got %s", got)
	}
	empty := drawer(t, "older/c.pdf")
	b.screen.Add([]string{empty})
	b.Settle()
	want := fmt.Sprintf("No document in “%s” can be sent. Documents in its subfolders are not added.", filepath.Base(empty))
	if len(b.screen.docs) != 4 || !slices.Contains(b.Notices, want) {
		t.Errorf("%d documents; said %q", len(b.screen.docs), b.Notices)
	}
}

func TestAFolderWithManyDocumentsIsAskedAbout(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var names []string
	for i := range manyFiles + 1 {
		names = append(names, fmt.Sprintf("%02d.pdf", i))
	}
	b.screen.Add([]string{drawer(t, names...)})
	b.Settle()
	if len(b.screen.docs) != 0 || b.Window.Canvas().Overlays().Top() == nil {
		t.Fatalf("%d documents were added unasked", len(b.screen.docs))
	}
	widgets.CloseAll(b.Window.Canvas())
	if len(b.screen.docs) != 0 {
		t.Error("to leave is to add nothing")
	}
}

func TestWhatTheOfficeGoesOnTryingSaysSo(t *testing.T) {
	d := office.Draft{State: office.DraftQueued, Problem: message.ServiceUnreachable()}
	if _, got := outbox.State(d); got != d.Problem.String()+" Your package will be sent automatically." {
		t.Errorf("said %q", got)
	}
}

func TestEnterGoesFromFieldToFieldAndRemovesNobody(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("tenant")
	for _, text := range []string{"Jan", "Weber", "jan.weber@example.com", "Ana", "Ruiz", "ana.ruiz@example.com"} {
		b.write(text)
		b.key(fyne.KeyReturn)
	}
	if got := b.screen.signers(); len(got) != 2 || got[0].Email != jan.Email || got[1].Email != ana.Email {
		t.Fatalf("the signers are %+v", got)
	}
	if b.focused() != fyne.Focusable(b.screen.addPerson) {
		t.Errorf("Enter came from the last signer to %T", b.focused())
	}
	fields := b.screen.basis.originals[0].entries
	b.Window.Canvas().Focus(fields[0])
	b.key(fyne.KeyReturn)
	if b.focused() != fyne.Focusable(fields[1]) {
		t.Error("Enter should come to the next field of the template")
	}
	b.screen.copies.add()
	b.write("office@example.com")
	b.key(fyne.KeyReturn)
	if b.focused() != fyne.Focusable(b.screen.message) {
		t.Errorf("Enter came from a copy to %T", b.focused())
	}
	b.Window.Canvas().Focus(b.screen.due)
	b.key(fyne.KeyReturn)
	b.key(fyne.KeyReturn)
	if b.focused() != fyne.Focusable(b.screen.bar.send) {
		t.Errorf("Enter came from the last field to %T", b.focused())
	}
}
