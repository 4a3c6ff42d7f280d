package settings

import (
	"testing"

	"countersign/ui/officetest"
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
	m.write("/moving.countersign", m.password.Text)
	b.Settle()
	if o.MovedTo != "/moving.countersign" || m.password.Text != "" || m.again.Text != "" || !m.saying.Visible() {
		t.Errorf("moved to %q, said %q", o.MovedTo, m.said.Text)
	}
}
