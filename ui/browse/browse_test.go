package browse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

type bench struct {
	*screentest.Bench
	opener *widgets.Button // has the focus before
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{screentest.New(t, officetest.Busy()), widgets.NewButton("open", nil)}
	b.Show(b.opener, screentest.Big)
	b.Window.Canvas().Focus(b.opener)
	b.Window.Canvas().SetOnTypedKey(func(e *fyne.KeyEvent) {
		if e.Name == fyne.KeyEscape {
			widgets.CloseTop(b.Window.Canvas())
		}
	})
	return b
}

func (b *bench) press(keys ...fyne.KeyName) {
	for _, key := range keys {
		b.Window.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: key})
		b.Settle()
	}
}

func (b *bench) closed(t *testing.T) {
	t.Helper()
	if b.Window.Canvas().Overlays().Top() != nil || b.Window.Canvas().Focused() != fyne.Focusable(b.opener) {
		t.Errorf("afterwards the focus is at %v, and %v covers the window", b.Window.Canvas().Focused(), b.Window.Canvas().Overlays().Top())
	}
}

// folder makes a folder with two documents, another folder with one, and what is not listed.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "zoning"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.pdf", "A.DOCX", "program.exe", ".hidden.pdf", "zoning/plan.pdf"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSeveralFilesAreChosenByKeys(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	var got []string
	open := func() {
		got = nil
		Files(b.Env, dir, func(paths []string) {
			for _, p := range paths {
				got = append(got, filepath.Base(p))
			}
		})
		b.Settle()
	}
	open()
	// zoning, A.DOCX, b.pdf
	b.press(fyne.KeyReturn, fyne.KeySpace, fyne.KeyBackspace) // into the folder, its plan, and back
	b.press(fyne.KeyEnd, fyne.KeySpace, fyne.KeyUp, fyne.KeySpace, fyne.KeySpace, fyne.KeyReturn)
	if fmt.Sprint(got) != "[plan.pdf b.pdf]" {
		t.Errorf("got %s", got)
	}
	b.closed(t)
	open()
	b.press(fyne.KeyEnd, fyne.KeyUp, fyne.KeyReturn)
	if fmt.Sprint(got) != "[A.DOCX]" {
		t.Errorf("with nothing chosen, Enter takes the line: %s", got)
	}
	open()
	b.press(fyne.KeyEscape)
	if len(got) != 0 {
		t.Error("Escape takes nothing")
	}
	b.closed(t)
}

func TestTabGoesThroughThePickerAsItIsRead(t *testing.T) {
	b := newBench(t)
	p := pick(b.Env, system.FileDialog{Kind: system.OpenFiles, Folder: folder(t)}, nil)
	b.Settle()
	var stops []fyne.Focusable
	for range 4 {
		stops = append(stops, b.Window.Canvas().Focused())
		b.Window.Canvas().FocusNext()
	}
	if cancel, is := stops[1].(*widgets.Button); stops[0] != fyne.Focusable(p.list) || !is || cancel.Text != "Cancel" || stops[2] != fyne.Focusable(p.path) {
		t.Errorf("Tab goes from the list to %T, %T and %T", stops[1], stops[2], stops[3])
	}
}

func TestAFolderIsChosenAlsoOneThatIsNotThereYet(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	got := ""
	open := func(at string) *picker {
		d := pick(b.Env, system.FileDialog{Kind: system.OpenFolder, Folder: at}, func(paths []string) { got = paths[0] })
		b.Settle()
		return d
	}
	d := open(filepath.Join(dir, "new", "Signed"))
	if d.folder != dir || d.path.Text != filepath.Join(dir, "new", "Signed") || len(d.entries) != 1 || d.why.Said() == "" {
		t.Errorf("it lists %s with %d lines, the path is %s, said %q", d.folder, len(d.entries), d.path.Text, d.why.Said())
	}
	d.add.OnTapped()
	if got != filepath.Join(dir, "new", "Signed") {
		t.Errorf("got %s", got)
	}
	b.closed(t)
	d = open(dir)
	b.press(fyne.KeyReturn) // opens zoning
	d.add.OnTapped()
	if got != filepath.Join(dir, "zoning") {
		t.Errorf("got %s", got)
	}
	if err := os.Mkdir(filepath.Join(dir, "zoning", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d = open(dir); d.list.At() >= 0 {
		t.Error("a folder is lit that the button does not take")
	}
	row := newFileRow(d)
	row.show(0)
	for range 2 { // a double click
		row.Tapped(&fyne.PointEvent{})
		b.Settle()
	}
	if at := filepath.Join(dir, "zoning"); d.path.Text != at {
		t.Errorf("after a double click on zoning the path is %s", d.path.Text)
	}
	d.leave()
	t.Setenv("HOME", dir)
	d = open(filepath.Join("~", "zoning"))
	if at := filepath.Join(dir, "zoning"); d.folder != at || d.path.Text != at {
		t.Errorf("it lists %s, the path is %s", d.folder, d.path.Text)
	}
	d = open(dir)
	d.path.SetText("Signed")
	d.add.OnTapped()
	if !d.why.IsWrong() {
		t.Error("a path that begins nowhere is refused")
	}
}

// saving shows our dialog for a name in a folder, and says what it took.
func (b *bench) saving(q system.FileDialog) (s *saver, took func() string) {
	got := ""
	q.Accept = "Save"
	s = saveAs(b.Env, q, func(path string, replace bool) { got = fmt.Sprint(path, " ", replace) })
	b.Settle()
	return s, func() string { s.accept(); b.Settle(); return got }
}

func TestNoFileIsOverwritten(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	fresh, took := b.saving(system.FileDialog{Name: "b.pdf", New: true, Folder: dir})
	for range 2 {
		if got := took(); got != "" || fresh.save.Text != "Save" || !fresh.named.IsWrong() {
			t.Fatalf("took %s, which is there already; the button says %q", got, fresh.save.Text)
		}
	}
	b.press(fyne.KeyEscape)
	b.closed(t)
	d, took := b.saving(system.FileDialog{Name: "b.pdf", Folder: dir})
	for _, odd := range []string{"Lease 2026/11", `2026\11`, "../c"} {
		d.name.SetText(odd)
		if got := took(); got != "" || !d.named.IsWrong() {
			t.Errorf("of %s took %s", odd, got)
		}
	}
	d.name.SetText("c")
	stick := filepath.Join(dir, "stick")
	d.folder.SetText(stick)
	if got := took(); got != "" || !d.within.IsWrong() {
		t.Fatalf("took %s, which is not in a folder", got)
	}
	if err := os.Mkdir(stick, 0o700); err != nil {
		t.Fatal(err)
	}
	screentest.Equal(t, "took", took(), filepath.Join(stick, "c.pdf")+" false")
	b.closed(t)
	d, _ = b.saving(system.FileDialog{Name: "d.pdf"})
	screentest.Equal(t, "the next one is proposed in", d.folder.Text, stick)
}

func TestAFileIsReplacedOnlyByTheButtonThatSaysSo(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	d, took := b.saving(system.FileDialog{Name: "b.pdf", Folder: dir})
	b.press(fyne.KeyReturn, fyne.KeyReturn)
	if b.Window.Canvas().Overlays().Top() == nil || d.save.Text != "Replace" {
		t.Fatalf("Enter took it, and the button says %q", d.save.Text)
	}
	d.name.SetText("a.pdf")
	screentest.Equal(t, "for another name the button says", d.save.Text, "Save")
	d.name.SetText("b.PDF")
	d.name.SetText("b")
	for range 2 { // a double press
		screentest.Equal(t, "the first press took", took(), "")
	}
	b.Pass()
	screentest.Equal(t, "the button took", took(), filepath.Join(dir, "b.pdf")+" true")
}

// A folder on the network may answer only when the second after which Replace counts is over.
func TestASlowFolderChangesNothingAboutWhatWasPressed(t *testing.T) {
	for name, press := range map[string]func(*saver){"a double press": (*saver).accept, "Enter": func(s *saver) { s.name.OnSubmitted("") }} {
		b := newBench(t)
		d, _ := b.saving(system.FileDialog{Name: "b.pdf", Folder: folder(t)})
		d.take = func(path string, _ bool) { t.Errorf("%s replaced %s", name, path) }
		for range 2 {
			press(d)
			over := b.Later
			b.Later = nil
			for _, f := range over {
				f()
			}
			b.Settle()
		}
	}
}

func TestTheSecondOfOneFileIsNotThatOfTheNext(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	d, took := b.saving(system.FileDialog{Name: "b.pdf", Folder: dir})
	took()
	over := b.Later
	d.name.SetText("c.pdf")
	if err := os.WriteFile(filepath.Join(dir, "c.pdf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	took()
	for _, f := range over {
		f()
	}
	screentest.Equal(t, "took", took(), "")
}

func TestADoublePressSavesOnce(t *testing.T) {
	b := newBench(t)
	taken := 0
	d, _ := b.saving(system.FileDialog{Name: "new.pdf", Folder: folder(t)})
	d.take = func(string, bool) { taken++ }
	d.accept()
	d.accept()
	b.Settle()
	screentest.Equal(t, "it is saved so many times", taken, 1)
}

func TestNothingIsSavedAfterSavingWasLeftOrTheNameChanged(t *testing.T) {
	for name, change := range map[string]func(*bench, *saver){
		"Escape": func(b *bench, _ *saver) { b.press(fyne.KeyEscape) },
		"a key":  func(_ *bench, s *saver) { s.name.SetText("newer.pdf") },
	} {
		b := newBench(t)
		d, _ := b.saving(system.FileDialog{Name: "new.pdf", Folder: folder(t)})
		d.take = func(path string, _ bool) { t.Errorf("after %s, %s is saved", name, path) }
		d.accept()
		change(b, d)
		b.Settle()
	}
}

// What is typed over the name, which is marked, replaces it.
func TestAFolderForAFileIsChosenInItsOwnDialog(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	d, took := b.saving(system.FileDialog{Name: "b.pdf", Folder: dir})
	b.Window.Canvas().Focused().TypedRune('x')
	b.Press(screentest.Top(b.Window), "Choose…")
	b.press(fyne.KeyReturn) // opens zoning
	b.Press(screentest.Top(b.Window), "Choose this folder")
	screentest.Equal(t, "the folder is", d.folder.Text, filepath.Join(dir, "zoning"))
	screentest.Equal(t, "took", took(), filepath.Join(dir, "zoning", "x.pdf")+" false")
	b.closed(t)
}

// What is typed at the list is the path, and confirming takes it: the folder is listed, the file is chosen.
func TestATypedPathIsTaken(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	var got []string
	p := pick(b.Env, system.FileDialog{Kind: system.OpenFiles, Kinds: []system.FileKind{{Endings: endings}}}, func(paths []string) { got = paths })
	b.Settle()
	for _, r := range filepath.Join(dir, "zoning") {
		b.Window.Canvas().Focused().TypedRune(r)
	}
	if b.Window.Canvas().Focused() != fyne.Focusable(p.path) || p.add.Disabled() {
		t.Fatalf("the focus is on %T", b.Window.Canvas().Focused())
	}
	p.accept()
	b.Settle()
	if p.folder != filepath.Join(dir, "zoning") || len(got) > 0 {
		t.Errorf("it lists %s and took %q", p.folder, got)
	}
	want := filepath.Join(dir, "b.pdf")
	p.path.SetText(want)
	p.accept()
	b.Settle()
	p.accept()
	screentest.Equal(t, "taken", got, []string{want})
}

func TestAnEmptyFolderSaysSo(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	p := pick(b.Env, system.FileDialog{Kind: system.OpenFiles, Folder: filepath.Join(dir, "zoning"), Kinds: []system.FileKind{{Endings: []string{".docx"}}}}, nil)
	b.Settle()
	if !p.none.Visible() || !strings.Contains(screentest.Text(p.none), "There are no files of this type in this folder.") {
		t.Errorf("of a folder without documents it says %q", screentest.Text(p.none))
	}
	p.up()
	b.Settle()
	if p.none.Visible() || len(p.entries) != 2 {
		t.Errorf("it says so of a folder with %d entries", len(p.entries))
	}
}

func TestAFolderThatIsGoneSaysSo(t *testing.T) {
	b := newBench(t)
	d := pick(b.Env, system.FileDialog{Kind: system.OpenFiles, Folder: filepath.Join(t.TempDir(), "gone"), Kinds: []system.FileKind{{Endings: endings}}}, nil)
	b.Settle()
	if !d.why.IsWrong() {
		t.Error("it says nothing")
	}
}

func TestTheButtonOfTheFolderAboveIsLevelWithThePath(t *testing.T) {
	b := newBench(t)
	p := pick(b.Env, system.FileDialog{Kind: system.OpenFolder, Folder: folder(t)}, nil)
	b.Settle()
	var up *widgets.Button
	for _, o := range test.LaidOutObjects(p.pop) {
		if button, is := o.(*widgets.Button); is && button.Tip == "The folder above" {
			up = button
		}
	}
	if up == nil {
		t.Fatal("there is no such button")
	}
	middle := func(o fyne.CanvasObject) float32 {
		return b.App.Driver().AbsolutePositionForObject(o).Y + o.Size().Height/2
	}
	if by := middle(up) - middle(p.path); by < -1 || by > 1 {
		t.Errorf("it is off by %v", by)
	}
}

// desktop is a desktop with a file dialog of its own, in which the test chooses.
type desktop struct {
	asked  chan system.FileDialog
	answer chan answer
	left   chan struct{} // closed when the program took the dialog away
}

type answer struct {
	paths []string
	err   error
}

// withDesktop gives the bench a desktop.
func (b *bench) withDesktop() *desktop {
	d := &desktop{make(chan system.FileDialog, 9), make(chan answer), make(chan struct{})}
	b.System.OnChoose = func(ctx context.Context, q system.FileDialog) ([]string, error) {
		d.asked <- q
		select {
		case a := <-d.answer:
			return a.paths, a.err
		case <-ctx.Done():
			close(d.left)
			return nil, ctx.Err()
		}
	}
	return d
}

func TestTheDesktopsDialogIsAskedFirst(t *testing.T) {
	b := newBench(t)
	d := b.withDesktop()
	got := ""
	one := func(path string) { got = path }
	for name, c := range map[string]struct {
		ask   func()
		kind  system.DialogKind
		paths []string
		want  string
	}{
		"files":    {func() { Files(b.Env, "/home", func(paths []string) { got = fmt.Sprint(paths) }) }, system.OpenFiles, []string{"/a b.pdf", "/ö.pdf"}, "[/a b.pdf /ö.pdf]"},
		"a folder": {func() { Folder(b.Env, "/home", one) }, system.OpenFolder, []string{"/signed"}, "/signed"},
		"one file": {func() { One(b.Env, "Open", "Settings", []string{".countersign"}, one) }, system.OpenFile, []string{"/Office.countersign"}, "/Office.countersign"},
		"a name": {func() {
			Save(b.Env, "Export", "x.csv", func(path string, replace bool) { got = fmt.Sprint(path, replace) })
		},
			system.SaveFile, []string{"/x.csv"}, "/x.csvtrue"},
		"another ending": {func() {
			Save(b.Env, "Proof", "x.zip", func(path string, replace bool) { got = fmt.Sprint(path, replace) })
		},
			system.SaveFile, []string{"/x.pdf"}, "/x.pdf.zipfalse"},
		"cancelled":        {func() { Files(b.Env, "", func(paths []string) { t.Errorf("took %q", paths) }) }, system.OpenFiles, nil, ""},
		"a folder not set": {func() { Folder(b.Env, "", func(path string) { t.Errorf("took %q", path) }) }, system.OpenFolder, nil, ""},
	} {
		got = ""
		c.ask()
		if q := <-d.asked; q.Kind != c.kind || q.Title == "" {
			t.Errorf("%s: asked for %+v", name, q)
		}
		d.answer <- answer{c.paths, nil}
		b.Settle()
		if got != c.want {
			t.Errorf("%s: took %q, want %q", name, got, c.want)
		}
		b.closed(t)
	}
}

// TestNothingElseIsPressedWhileTheDesktopAsks: some desktops let the person go on in the window below their dialog.
func TestNothingElseIsPressedWhileTheDesktopAsks(t *testing.T) {
	b := newBench(t)
	d := b.withDesktop()
	b.opener.OnTapped = func() { Files(b.Env, "", func([]string) {}) }
	press := func() { test.TapCanvas(b.Window.Canvas(), fyne.NewPos(20, 20)) }
	press()
	<-d.asked
	if over, focused := b.Window.Canvas().Overlays().Top(), b.Window.Canvas().Focused(); over == nil || focused != nil {
		t.Fatalf("%v covers the window, and the keyboard is at %v", over, focused)
	}
	press()
	d.answer <- answer{}
	b.Settle()
	if over := b.Window.Canvas().Overlays().Top(); over != nil || len(d.asked) != 0 {
		t.Errorf("afterwards %v covers the window, and %d other dialogs were asked for", over, len(d.asked))
	}
}

func TestLeavingThePanelLeavesTheDialog(t *testing.T) {
	for name, leave := range map[string]func(*bench){
		"Escape": func(b *bench) { widgets.CloseTop(b.Window.Canvas()) },
		"Cancel": func(b *bench) {
			for _, o := range test.LaidOutObjects(b.Window.Canvas().Overlays().Top()) {
				if button, ok := o.(*widgets.Button); ok && button.Text == "Cancel" {
					button.OnTapped()
				}
			}
		},
	} {
		b := newBench(t)
		d := b.withDesktop()
		Files(b.Env, "", func(paths []string) { t.Errorf("%s took %q", name, paths) })
		<-d.asked
		leave(b)
		<-d.left
		b.Settle()
		b.closed(t)
	}
}

// What the person has chosen in the moment of leaving is left, too.
func TestAnAnswerAfterLeavingChangesNothing(t *testing.T) {
	b := newBench(t)
	d := b.withDesktop()
	Files(b.Env, "", func(paths []string) { t.Errorf("took %q", paths) })
	<-d.asked
	d.answer <- answer{[]string{"/a.pdf"}, nil}
	b.Wait()
	widgets.CloseTop(b.Window.Canvas())
	b.Settle()
	b.closed(t)
}

func TestOursOpensNothingAfterLeaving(t *testing.T) {
	b := newBench(t)
	dir := folder(t)
	p := pick(b.Env, system.FileDialog{Kind: system.OpenFile, Kinds: []system.FileKind{{Endings: endings}}}, func(paths []string) { t.Errorf("took %q", paths) })
	b.Settle()
	p.open(filepath.Join(dir, "zoning"))
	p.open(dir) // at last
	b.Settle()
	screentest.Equal(t, "shown", p.folder, dir)
	p.open(filepath.Join(dir, "b.pdf"))
	p.leave()
	b.Settle()
	b.closed(t)
}

func TestWithoutADesktopsDialogOursAsks(t *testing.T) {
	dir := folder(t)
	for name, err := range map[string]error{"none": system.ErrNoDialog, "it ended": fmt.Errorf("%w: the portal ended", system.ErrNoDialog)} {
		b := newBench(t)
		d := b.withDesktop()
		got := ""
		Files(b.Env, dir, func(paths []string) { got = fmt.Sprint(paths) })
		<-d.asked
		d.answer <- answer{nil, err}
		b.Settle()
		b.press(fyne.KeyEnd, fyne.KeySpace, fyne.KeyReturn)
		if want := "[" + filepath.Join(dir, "b.pdf") + "]"; got != want {
			t.Errorf("%s: took %s, want %s", name, got, want)
		}
		b.closed(t)
	}
}
