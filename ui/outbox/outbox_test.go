package outbox

import (
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

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
