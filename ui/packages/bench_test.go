package packages

import (
	"testing"

	"fyne.io/fyne/v2"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// bench is the screen on its bench.
type bench struct {
	*screentest.Bench
	screen *Screen
}

func newBench(t testing.TB, office *officetest.Office) *bench {
	t.Helper()
	b := &bench{Bench: screentest.New(t, office)}
	b.screen = New(b.Env, b.Office)
	b.Open(b.screen, fyne.NewSize(900, 600))
	return b
}

// showing is a bench on which a package is chosen.
func showing(t testing.TB, office *officetest.Office, id string) *bench {
	t.Helper()
	b := newBench(t, office)
	b.show(id)
	return b
}

// show chooses a package.
func (b *bench) show(id string) {
	b.screen.Show(id)
	b.Settle()
}

// turn chooses a tab.
func (b *bench) turn(tab int) {
	b.screen.tabs.Choose(tab)
	b.Settle()
}
