package widgets

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
)

// Marks that show nothing and are read from the left, and from the right.
const (
	fromLeft  = "\u200e"
	fromRight = "\u200f"
)

// inPlace is a line of text as Fyne has to be given it. Fyne puts what is read from the left and from the right beside each
// other in the order in which it is said; but among Hebrew and Arabic words the number that is said after them stands to the
// left of them (Unicode annex 9, rule L2).
func inPlace(line string) string {
	if !strings.ContainsFunc(line, func(r rune) bool { return classOf(r) == bidi.R || classOf(r) == bidi.AL }) {
		return line
	}
	var p bidi.Paragraph
	_, err := p.SetString(line, bidi.DefaultDirection(bidi.LeftToRight))
	order, mixed := p.Order()
	if err != nil || mixed != nil {
		return line
	}
	var placed, span []string // span: what is read from the right as a whole, the numbers in it included
	end := func() {
		slices.Reverse(span)
		placed, span = append(placed, span...), nil
	}
	for i := range order.NumRuns() {
		run := order.Run(i)
		text := run.String()
		if run.Direction() == bidi.RightToLeft {
			span = append(span, fromRight+text+fromRight)
			continue
		}
		if n := number(text); len(span) > 0 && n > 0 {
			span = append(span, fromLeft+text[:n]+fromLeft)
			text = text[n:]
		}
		if text != "" {
			end()
			placed = append(placed, text)
		}
	}
	end()
	return strings.Join(placed, "")
}

// number is how long the number is with which a text begins: digits, and what may stand between two of them.
func number(text string) (end int) {
	for at, r := range text {
		switch classOf(r) {
		case bidi.EN, bidi.AN, bidi.ET:
			end = at + utf8.RuneLen(r)
		case bidi.ES, bidi.CS:
		default:
			return end
		}
	}
	return end
}

func classOf(r rune) bidi.Class {
	p, _ := bidi.LookupRune(r)
	return p.Class()
}
