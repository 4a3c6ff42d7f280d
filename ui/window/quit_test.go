package window

import (
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

func TestQuittingAsksWhereSomethingWouldBeLeftUndone(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*bench)
		asks  string // empty where it quits at once
	}{
		"nothing waits": {func(*bench) {}, ""},
		"a package is not sent yet": {func(b *bench) {
			b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = []office.Draft{{ID: "d", State: office.DraftQueued}} })
		}, "1 package has not been sent yet."},
		"a package waits for a person": {func(b *bench) {
			b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
				o.Waiting = []office.Draft{{ID: "d", State: office.DraftFailed}, {ID: "e", State: office.DraftHeld}}
			})
		}, ""},
		"what was asked for can be undone": {func(b *bench) {
			b.window.soon(env.Undoable{Says: func(int) string { return "Sending" }, Undone: func() {}})
		}, "will be done when you start Countersign again."},
	} {
		b := newBench(t, officetest.Busy())
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = nil })
		c.begin(b)
		b.Settle()
		b.window.askToQuit()
		b.Settle()
		if c.asks == "" {
			if b.quits != 1 || b.asks() != "" {
				t.Errorf("%s: quit %d times, asked %q", name, b.quits, b.asks())
			}
			continue
		}
		if b.quits != 0 || !strings.Contains(b.asks(), c.asks) {
			t.Fatalf("%s: quit %d times, asked %q", name, b.quits, b.asks())
		}
		widgets.CloseTop(b.window.window.Canvas()) // Escape
		b.window.askToQuit()
		b.Settle()
		b.window.askToQuit() // who asks once more means it
		b.Settle()
		if b.quits != 1 {
			t.Errorf("%s: asked twice, it quit %d times", name, b.quits)
		}
		b.window.grace.Undo()
	}
}
