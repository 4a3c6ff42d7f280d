package i18n

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2/lang"
	"golang.org/x/text/unicode/bidi"

	"countersign/internal/agent"
	"countersign/internal/message"
)

// Message is what people are told, in the language of the window, in one line. It may be called from any goroutine.
func Message(m message.Message) string { return leftToRight(Words().Text(m)) }

// leftToRight marks a sentence that begins with a name in Arabic or Hebrew as one of our languages. Fyne draws the space
// after the name before it otherwise.
func leftToRight(text string) string {
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.L:
			return text
		case bidi.R, bidi.AL:
			return "\u200e" + text
		}
	}
	return text
}

// Error is what people are told of err, whatever it is.
func Error(err error) string { return Message(agent.Message(err)) }

// Again is what people are told of err, where shown stands already: not the same sentence twice.
func Again(err error, shown string) string {
	if text := Error(err); text != shown {
		return text
	}
	return lang.L("That did not help yet.")
}

// WordsFor is what puts messages into the language of a person, given as "de" or "fr-CA"; Words where that is not known or
// there are no words in it. It may be called from any goroutine.
func WordsFor(locale string) *message.Printer {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(locale)), "_", "-"), "-")
	if code == "" || !slices.Contains(message.Languages(), code) {
		return Words()
	}
	p, err := message.NewPrinter(code)
	if err != nil {
		return Words()
	}
	return p
}

// Words is what puts messages into the language of the window. It may be called from any goroutine.
func Words() *message.Printer {
	if c := chosen.Load(); c != nil {
		return c.messages
	}
	return message.English()
}
