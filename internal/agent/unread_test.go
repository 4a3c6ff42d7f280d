package agent

import (
	"testing"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/sandbox"
)

func TestThatABackupWasRestoredIsSaidUntilSomebodyHasReadIt(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	o.loseData()
	o.open()
	said := o.issue(IssueRestored)
	if said == nil {
		t.Fatalf("not said at all: %+v", o.Status().Health)
	}
	for range 2 {
		o.stop()
		o.open()
		if now := o.issue(IssueRestored); now == nil || now.Message != said.Message || now.Action != ActDismiss {
			t.Fatalf("after a restart: %+v", now)
		}
	}
	noErr(t, o.Act(t.Context(), *said))
	for range 2 {
		if now := o.issue(IssueRestored); now != nil {
			t.Errorf("said to somebody who has read it: %+v", now)
		}
		o.stop()
		o.open()
	}
}

// Somebody may read a notice while it changes.
func TestReadingWhatWasSaidBeforeEndsNothingNew(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.tellUntilRead(health.DataRestored, message.DataWasMissing())
	before := o.issue(IssueRestored)
	o.tellUntilRead(health.DataRestored, message.DataRestored())
	noErr(t, o.Act(t.Context(), *before))
	o.restart()
	if now := o.issue(IssueRestored); now == nil || now.Message != message.DataRestored() {
		t.Errorf("%+v", now)
	}
}
