package compose

import (
	"fmt"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/ui/officetest"
)

func TestADropLandsWhereItWasSaid(t *testing.T) {
	b := newBench(t, officetest.Busy())
	if place, does, refused := b.screen.Landing(fyne.NewPos(100, 100)); *place != *placeOf(b.screen.target) || does == "" || refused != "" {
		t.Errorf("without documents: %+v, %q, %q", place, does, refused)
	}
	b.add("a.pdf", "b.pdf")
	rows := b.screen.fileBox.Objects
	for _, c := range []struct {
		name string
		at   func() fyne.Position
		want string
	}{
		{"before the second", func() fyne.Position { return placeOf(rows[1]).At.AddXY(20, 4) }, "[a.pdf new.pdf b.pdf]"},
		{"after the first", func() fyne.Position { return placeOf(rows[0]).At.AddXY(20, rows[0].Size().Height-4) }, "[a.pdf new.pdf b.pdf]"},
		{"above all", func() fyne.Position { return fyne.NewPos(placeOf(rows[0]).At.X, 1) }, "[new.pdf a.pdf b.pdf]"},
		{"below all", func() fyne.Position { return placeOf(rows[1]).At.AddXY(20, 300) }, "[a.pdf b.pdf new.pdf]"},
		{"beside them", func() fyne.Position { return placeOf(rows[0]).At.AddXY(rows[0].Size().Width+9, 0) }, "[a.pdf b.pdf new.pdf]"},
		{"nowhere", func() fyne.Position { return fyne.Position{} }, "[a.pdf b.pdf new.pdf]"},
	} {
		at := c.at()
		place, _, _ := b.screen.Landing(at)
		if place.Size.Height != 0 || place.Size.Width == 0 {
			t.Errorf("%s: it would land at %+v", c.name, place)
		}
		b.screen.Drop([]string{"/nowhere/new.pdf"}, at)
		b.Settle()
		if got := fmt.Sprint(b.names()); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		for _, d := range b.screen.docs {
			if d.title() == "new.pdf" {
				b.screen.removeDocument(d)
				break
			}
		}
		b.Settle()
		rows = b.screen.fileBox.Objects
	}
}

func TestNothingCanBeDroppedWhileAPackageIsSent(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("a.pdf")
	b.screen.run = &run{} // as while it is sent
	defer func() { b.screen.run = nil }()
	if _, _, refused := b.screen.Landing(fyne.NewPos(1, 1)); refused == "" {
		t.Error("a drop would be taken")
	}
}
