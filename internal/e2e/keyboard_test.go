//go:build linux

package e2e

import (
	"slices"
	"testing"
)

// keys presses keys in the window, as a person does who has no mouse.
func (w *window) keys(names ...string) {
	w.d.t.Helper()
	if _, err := w.d.run("xdotool", append([]string{"key", "--clearmodifiers", "--delay", "60"}, names...)...); err != nil {
		w.d.t.Fatalf("press %q: %v", names, err)
	}
}

func (w *window) types(text string) {
	w.d.t.Helper()
	if _, err := w.d.run("xdotool", "type", "--clearmodifiers", "--delay", "40", text); err != nil {
		w.d.t.Fatalf("type %q: %v", text, err)
	}
}

// TestDroppedFilesAreSentByKeysAlone takes a file that another program drops and one that a second start hands over,
// and needs nothing but the keyboard from there to the package in the service.
func TestDroppedFilesAreSentByKeysAlone(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	desk.startDisplay()
	o := usualOffice(t, desk)
	o.setup()
	o.open()
	w := desk.window("Countersign")
	w.drawn()
	o.mustLogin()
	o.registered()

	before := w.still()
	desk.dragger().drop(w.id, sample(t, "Mandate Keller"))
	dropped := w.changesFrom(before)
	second := start(t, desk.env(), program, append(o.global, sample(t, "Offer 2026-118"))...)
	if code := second.wait(); code != 0 {
		t.Fatalf("the second start ended with %d: %s", code, second.stderr)
	}
	w.changesFrom(dropped)
	w.still() // both are looked at

	if _, err := desk.run("xdotool", "windowactivate", "--sync", w.id); err != nil {
		t.Fatal(err)
	}
	w.keys("ctrl+n") // the cursor is where work goes on: at the first person
	w.types("Ana")
	w.keys("Tab")
	w.types("Ruiz")
	w.keys("Tab")
	w.types("ana.ruiz@example.com")
	w.keys("Return") // goes on, and sends nothing
	w.keys("ctrl+Return")
	if s, err := o.ask(); err != nil || s.Packages.Total+s.Outbox.Pending > 0 {
		t.Errorf("it is sent before it can be taken back: %+v, %v", s, err)
	}

	o.until("the service has the package", func(s status) bool { return s.Packages.Total == 1 && s.Outbox.Pending == 0 })
	p := o.service.named("Mandate Keller")
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"Mandate Keller", "Offer 2026-118"}) || len(p.Signers) != 1 {
		t.Errorf("the service got %+v", p)
	}
}
