package cli

import (
	"strings"
	"testing"
)

func TestNotificationsSpeakTheLanguageOfTheWindowAndEnglishWithoutOne(t *testing.T) {
	var raised string
	raise := func(title, body string) error {
		raised = title + "/" + body
		return nil
	}
	for _, c := range []struct {
		name     string
		say      func(string) string
		windowed bool
		want     string
	}{
		{"a window", strings.ToUpper, true, "SIGNED./EVERYONE."},
		{"serve", strings.ToUpper, false, "Signed./Everyone."},
		{"a window that speaks nothing else", nil, true, "Signed./Everyone."},
	} {
		r := &run{program: Program{Say: c.say}, windowed: c.windowed}
		if err := r.notify(raise)("Signed.", "Everyone."); err != nil || raised != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, raised, err, c.want)
		}
	}
}
