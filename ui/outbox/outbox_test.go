package outbox

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// The service may have said that it is overloaded, or the draft is of the time before a restore: no connection was lost.
func TestADraftThatWasNotConfirmedSaysWhatIsKnownOfIt(t *testing.T) {
	for problem, want := range map[message.Message]string{
		message.OutcomeUnknown("Offer"): "The service did not confirm",
		message.DraftOfBefore():         "This may have been sent already",
		{}:                              "The service did not confirm",
	} {
		d := office.Draft{State: office.DraftUnknown, Name: "Offer", Problem: problem}
		if _, said := State(time.Time{}, d); !strings.HasPrefix(said, want) {
			t.Errorf("it says %q", said)
		}
	}
}

func TestOnlyWhatWasLeftBehindIsCalledThat(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	d := office.Draft{State: office.DraftHeld, Created: now}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{widgets.GracePeriod - 1, "not sent yet"},
		{widgets.GracePeriod, "Not sent: Countersign was closed while you could still undo."},
	} {
		if _, said := State(now.Add(c.after), d); said != c.want {
			t.Errorf("%v after it was kept it says %q", c.after, said)
		}
	}
}
