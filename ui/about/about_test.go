package about

import (
	"testing"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestMain(m *testing.M) { screentest.Main(m) }

func shown(t *testing.T) (*screentest.Bench, *Screen) {
	t.Helper()
	b := screentest.New(t, officetest.Busy())
	s := New(b.Env)
	b.Open(s, screentest.Big)
	return b, s
}

func TestDiagnosticsAreCopiedAndThatIsSaid(t *testing.T) {
	b, s := shown(t)
	press := func() {
		s.diagnostics.Button.OnTapped()
		b.Settle()
	}
	press()
	if len(b.Copied) != 1 || b.Copied[0] != b.Office.Diagnostics(t.Context()) || s.diagnostics.Said() == "" {
		t.Errorf("copied %q, said %q", b.Copied, s.diagnostics.Said())
	}
	press()
	b.Later[0]()
	if s.diagnostics.Said() == "" {
		t.Error("what was said anew stays for its own time")
	}
	b.Later[1]()
	if s.diagnostics.Said() != "" {
		t.Errorf("it says %q for ever", s.diagnostics.Said())
	}
}

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	b, s := shown(t)
	b.Looks("help", "light", screentest.Big, 1)
	s.diagnostics.Button.OnTapped()
	b.Settle()
	b.Looks("help-dark", "dark", screentest.Small, 1)
}
