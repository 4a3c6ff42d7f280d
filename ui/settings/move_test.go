package settings

import (
	"context"
	"testing"

	"countersign/internal/agent"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/system"
)

func TestAnOfficeMovesWithAPasswordThatWasTypedTwice(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	m := s.move
	for _, c := range []struct{ password, again string }{{"", ""}, {"short", "short"}, {"long enough 1", "long enough 2"}} {
		m.password.SetText(c.password)
		m.again.SetText(c.again)
		m.press()
		b.Settle()
		if !m.first.IsWrong() && !m.second.IsWrong() {
			t.Errorf("%q and %q are taken", c.password, c.again)
		}
	}
	m.password.SetText("long enough 1")
	m.again.SetText("long enough 1")
	i18n.Use("de")
	t.Cleanup(func() { i18n.Use("en") })
	var name string
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		name = d.Name
		return nil, nil
	}
	m.press()
	b.Settle()
	if name != "Umzug des Büros.countersign" {
		t.Errorf("the file is to be called %q", name)
	}
	i18n.Use("en")
	m.write("/moving.countersign", m.password.Text)
	b.Settle()
	if o.MovedTo != "/moving.countersign" || m.password.Text != "" || m.again.Text != "" || !m.saying.Visible() {
		t.Errorf("moved to %q, said %q", o.MovedTo, m.said.Text)
	}
	moved := o.State
	moved.Health = []agent.Issue{{ID: "moved", Severity: agent.Problem, Action: agent.ActTakeBack}}
	s.ShowStatus(moved)
	if !m.saying.Visible() {
		t.Error("while the office is away, the file is to be taken to the new computer")
	}
	s.ShowStatus(o.State)
	if m.saying.Visible() {
		t.Errorf("the office was taken back, and the settings say %q", m.said.Text)
	}
}
