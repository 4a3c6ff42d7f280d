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
	s.CopyDiagnostics()
	b.Settle()
	if len(b.Copied) != 1 || b.Copied[0] != b.Office.Diagnostics() || !s.Copied() {
		t.Errorf("copied %q", b.Copied)
	}
}

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	b, s := shown(t)
	b.Looks("help", "light", screentest.Big, 1)
	s.CopyDiagnostics()
	b.Settle()
	b.Looks("help-dark", "dark", screentest.Small, 1)
}
