package browse

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/ui/system"
	"countersign/ui/widgets"
)

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
		"one file": {func() { One(b.Env, "Open", "Settings", ".countersign", one) }, system.OpenFile, []string{"/Office.countersign"}, "/Office.countersign"},
		"a name": {func() {
			Save(b.Env, "Export", "x.csv", func(path string, replace bool) { got = fmt.Sprint(path, replace) })
		},
			system.SaveFile, []string{"/x.csv"}, "/x.csvtrue"},
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
