package outbox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/screentest"
	"countersign/ui/theme"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// The service may have said that it is overloaded, or the draft is of the time before a restore: no connection was lost.
func TestADraftThatWasNotConfirmedSaysWhatIsKnownOfIt(t *testing.T) {
	for problem, want := range map[message.Message]string{
		message.OutcomeUnknown("Offer"): "The service did not confirm",
		message.DraftOfBefore():         "This may have been sent already",
		{}:                              "The service did not confirm",
	} {
		d := office.Draft{State: office.DraftUnknown, Name: "Offer", Delivery: office.Delivery{Problem: problem}}
		if _, said := State(d); !strings.HasPrefix(said, want) {
			t.Errorf("it says %q", said)
		}
	}
}

func TestAnActionForSomeSaysForHowMany(t *testing.T) {
	for name, want := range map[string]string{"Send": "Send (2)", "Withdraw…": "Withdraw (2)…", "Zurückziehen …": "Zurückziehen (2) …"} {
		actions := Partly([]Action{{Name: name, N: 2}, {Name: name, N: 3}, {Name: name}}, 3)
		if got := []string{actions[0].Name, actions[1].Name, actions[2].Name}; !slices.Equal(got, []string{want, name, name}) {
			t.Errorf("they are called %q", got)
		}
	}
}

func TestWhatCanStillBeUndoneIsNotCalledSent(t *testing.T) {
	decided := office.Delivery{Decision: office.Decision{Send: true, At: time.Now()}}
	for want, drafts := range map[string][]office.Draft{"": {{State: office.DraftHeld}},
		"Sending…": {{State: office.DraftHeld, Delivery: decided}, {State: office.DraftFailed, Delivery: decided}}} {
		for _, d := range drafts {
			if mark, said := State(d); mark != theme.MarkLater || said != want {
				t.Errorf("%+v: it says %q", d, said)
			}
		}
	}
}
