package compose

import (
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// bench is the screen on its bench, as wide as the window leaves it beside the sidebar.
type bench struct {
	*screentest.Bench
	screen  *Screen
	sending []office.SendState // as it was told
}

func newBench(t *testing.T, o *officetest.Office) *bench {
	t.Helper()
	b := &bench{Bench: screentest.New(t, o)}
	b.screen = New(b.Env, b.Office)
	b.screen.OnSending = func(state office.SendState) { b.sending = append(b.sending, state) }
	b.screen.List = func(then func()) { then() }
	b.Open(b.screen, big)
	return b
}

// add adds files of some names, which the office finds good, and waits until they were looked at.
func (b *bench) add(names ...string) {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(string(os.PathSeparator), "x", name))
	}
	b.screen.Add(paths)
	b.Settle()
}

func (b *bench) names() (list []string) {
	for _, d := range b.screen.docs {
		list = append(list, d.title())
	}
	return list
}

// send presses the button, and goes on until the office has what was typed.
func (b *bench) send() {
	b.screen.Send()
	b.Until(func() bool { return b.screen.handing == nil })
}

// sent sends, and waits until that has ended.
func (b *bench) sent() {
	b.send()
	b.Settle()
}

// ready is a bench with a document and a signer.
func ready(t *testing.T, office *officetest.Office) *bench {
	t.Helper()
	b := newBench(t, office)
	b.add("a.pdf")
	b.screen.like(filled(ana))
	return b
}

// The keyboard, as the driver hands it on.

func (b *bench) focused() fyne.Focusable { return b.Window.Canvas().Focused() }

func (b *bench) tab(times int) {
	for range times {
		b.Window.Canvas().FocusNext()
	}
}

func (b *bench) write(text string) { test.Type(b.focused(), text) }

func (b *bench) key(key fyne.KeyName) { b.focused().TypedKey(&fyne.KeyEvent{Name: key}) }

func (b *bench) alt(key fyne.KeyName) {
	b.focused().(fyne.Shortcutable).TypedShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierAlt})
}

func (b *bench) paste(text string) {
	b.App.Clipboard().SetContent(text)
	b.focused().(fyne.Shortcutable).TypedShortcut(&fyne.ShortcutPaste{Clipboard: b.App.Clipboard()})
}

var (
	ana = office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}
	jan = office.Signer{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}
)

func filled(signers ...office.Signer) office.NewPackage { return office.NewPackage{Signers: signers} }

// like types a draft beside the documents that are there.
func (s *Screen) like(d office.NewPackage) { s.Fill(s.formOf(d)) }
