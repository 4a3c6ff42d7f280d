package about

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/fasttest"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

func shown(t *testing.T) (*screentest.Bench, *Screen) {
	t.Helper()
	b := screentest.New(t, officetest.Busy())
	s := New(b.Env, b.Office)
	b.Open(s, screentest.Big)
	return b, s
}

func TestDiagnosticsAreCopiedAndThatIsSaid(t *testing.T) {
	b, s := shown(t)
	press := func() {
		b.Tap(s.diagnostics.Button)
	}
	press()
	if len(b.Copied) != 1 || b.Copied[0] != b.Office.Diagnostics(t.Context()) || s.diagnostics.Said.Text == "" {
		t.Errorf("copied %q, said %q", b.Copied, s.diagnostics.Said.Text)
	}
	press()
	b.Later[0]()
	if s.diagnostics.Said.Text == "" {
		t.Error("what was said anew stays for its own time")
	}
	b.Later[1]()
	if s.diagnostics.Said.Text != "" {
		t.Errorf("it says %q for ever", s.diagnostics.Said.Text)
	}
}

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	b, s := shown(t)
	b.Looks("help", "light", screentest.Big, 1)
	b.Tap(s.diagnostics.Button)
	b.Looks("help-dark", "dark", screentest.Small, 1)
}

func TestEveryKeyIsListedBesideWhatItDoes(t *testing.T) {
	for _, language := range i18n.Languages() {
		screentest.Speak(t, language)
		b, s := shown(t)
		b.Window.Resize(screentest.Small)
		place := fyne.CurrentApp().Driver().AbsolutePositionForObject
		var lines []*widgets.Line
		does := map[string]*widgets.Prose{}
		for _, o := range test.LaidOutObjects(s.Content()) {
			switch o := o.(type) {
			case *widgets.Line:
				lines = append(lines, o)
			case *widgets.Prose:
				does[o.Text] = o
			}
		}
		for _, group := range keys.Groups() {
			for _, e := range group.Entries {
				text := does[e.Does]
				if text == nil {
					t.Errorf("%s: %q is not listed", language, e.Does)
					continue
				}
				var names []string // that begin in the line of the text, after it
				end := place(text).X + text.Size().Width
				for _, l := range lines {
					begin := place(l)
					if !l.Bold && begin.Y+l.Size().Height > place(text).Y && begin.Y < place(text).Y+text.Size().Height && begin.X >= end && begin.X < end+140 {
						names = append(names, l.Text)
					}
				}
				screentest.Equal(t, language+": the keys beside "+e.Does, strings.Join(names, "+"), e.Binding.Name())
			}
		}
	}
}

func TestDocumentsAreVerified(t *testing.T) {
	b, s := shown(t)
	s.Verify([]string{"/a/Lease.pdf", "/a/Rent.pdf"})
	b.Pass()
	var said []string
	for _, o := range test.LaidOutObjects(b.Window.Canvas().Overlays().Top()) {
		if text, ok := o.(*widgets.Prose); ok {
			said = append(said, text.Text)
		}
	}
	all := strings.Join(said, "\n")
	if strings.Index(all, "Rent.pdf") > strings.Index(all, "Lease.pdf") {
		t.Errorf("what is wrong comes first:\n%s", all)
	}
	for _, want := range []string{"Lease.pdf", "Exactly the document that was saved", "Rent.pdf", "this one is different"} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
}
