package office

import (
	"testing"
	"time"
)

func TestASealIsToldInOneLine(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)
	for _, c := range []struct {
		seal Seal
		want string
	}{
		{Seal{}, ""},
		{Seal{State: SealNone}, "It has no digital seal."},
		{Seal{State: SealIntact, Signer: "Signum", At: at}, "Sealed by “Signum” on 2 March 2026, unchanged when checked."},
		{Seal{State: SealIntact, Signer: "Signum"}, "Sealed by “Signum”, unchanged when checked."},
		{Seal{State: SealStranger, Signer: "Signum", At: at},
			"Sealed by “Signum” on 2 March 2026, unchanged when checked. This computer does not know who vouches for that name."},
		{Seal{State: SealChanged, Signer: "Signum"}, "Changed after “Signum” sealed it: do not rely on this document."},
		{Seal{State: SealBroken}, "Its digital seal does not fit: do not rely on this document."},
		{Seal{State: SealUnjudged}, "Its digital seal cannot be checked here."},
	} {
		if got := c.seal.Text().String(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.seal, got, c.want)
		}
	}
}
