package cli

import (
	"testing"

	"countersign/internal/message"
)

func TestNotificationsSpeakTheLanguageOfTheWindowAndEnglishWithoutOne(t *testing.T) {
	german, err := message.NewPrinter("de")
	must(t, err)
	for _, c := range []struct {
		name     string
		words    func() *message.Printer
		windowed bool
		want     *message.Printer
	}{
		{"a window", func() *message.Printer { return german }, true, german},
		{"serve", func() *message.Printer { return german }, false, nil},
		{"a window that speaks nothing else", nil, true, nil},
	} {
		r := &run{program: Program{Words: c.words}, windowed: c.windowed}
		var got *message.Printer // of nil, the agent speaks English
		if words := r.words(); words != nil {
			got = words()
		}
		if got != c.want {
			t.Errorf("%s: %p, want %p", c.name, got, c.want)
		}
	}
}
