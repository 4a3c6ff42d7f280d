package terminal

import (
	"strings"

	"countersign/internal/message"

	"github.com/mattn/go-runewidth"
)

// wantsColour is what the person says (no-color.org) and the terminal (terminfo(5)).
func wantsColour(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// Tint is a colour of a terminal (ECMA-48, SGR). It repeats what a word beside it says, and never says it alone.
type Tint string

const (
	noTint Tint = ""
	Bold   Tint = "1"
	Dim    Tint = "2"
	Red    Tint = "31"
	Green  Tint = "32"
	Yellow Tint = "33"
)

// Cell is a text in a colour: one field of a table, or a part of a line.
type Cell struct {
	Text string
	Tint Tint
}

// paint is c, of which nothing but the colour does anything to a terminal.
func (w *Writer) paint(c Cell) string {
	if !w.colour || c.Tint == noTint || c.Text == "" {
		return c.Text
	}
	return "\x1b[" + string(c.Tint) + "m" + c.Text + "\x1b[0m"
}

// Parts prints one line of several parts.
func (w *Writer) Parts(parts ...Cell) error {
	var b strings.Builder
	for _, c := range parts {
		c.Text = line(c.Text)
		b.WriteString(w.paint(c))
	}
	return w.put(b.String() + "\n")
}

// Row prints fields with tabs between them, for other programs to read.
func (w *Writer) Row(fields ...string) error {
	for i, f := range fields {
		fields[i] = message.OneLine(f, longest)
	}
	return w.put(strings.Join(fields, "\t") + "\n")
}

// Column is how a column of a table is shown on a terminal.
type Column struct {
	Head  string
	Least int // it is cut down to so many columns of the terminal at most; 0 for one that is shown whole or not at all
	Spare int // the higher, the sooner it is left out where there is no room; 0 for one that is always there
}

// gap is what is between columns.
const gap = 2

// Table prints rows: on a terminal in columns that fit its width, elsewhere whole, with tabs between them and without
// headings, so that it stays the same.
func (w *Writer) Table(columns []Column, rows [][]Cell) error {
	if w.width == 0 {
		for _, row := range rows {
			texts := make([]string, len(row))
			for i, c := range row {
				texts[i] = c.Text
			}
			if err := w.Row(texts...); err != nil {
				return err
			}
		}
		return nil
	}
	heads := make([]Cell, len(columns))
	for i, c := range columns {
		heads[i] = Cell{c.Head, Bold}
	}
	all := append([][]Cell{heads}, rows...)
	for _, row := range all {
		for i := range row {
			row[i].Text = message.OneLine(row[i].Text, longest)
		}
	}
	widths := fit(columns, all, w.width)
	for _, row := range all {
		if err := w.put(w.row(row, widths) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// row is one row, without blanks at its end.
func (w *Writer) row(row []Cell, widths []int) string {
	var b strings.Builder
	blanks := 0
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		text := cut(c.Text, widths[i])
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(w.paint(Cell{text, c.Tint}))
			blanks = 0
		}
		blanks += widths[i] - columnsOf(text) + gap
	}
	return b.String()
}

// fit gives each column its width, 0 to those that are left out.
func fit(columns []Column, rows [][]Cell, width int) []int {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], columnsOf(c.Text))
		}
	}
	for {
		over := -width - gap
		widest, sparest := -1, -1
		for i, w := range widths {
			if w == 0 {
				continue
			}
			over += w + gap
			if columns[i].Least > 0 && w > columns[i].Least && (widest < 0 || w > widths[widest]) {
				widest = i
			}
			if columns[i].Spare > 0 && (sparest < 0 || columns[i].Spare > columns[sparest].Spare) {
				sparest = i
			}
		}
		switch {
		case over <= 0:
			return widths
		case widest >= 0:
			widths[widest]--
		case sparest >= 0:
			widths[sparest] = 0
		default:
			return widths
		}
	}
}

// narrow counts a character of which a font may have two widths as one column, as terminals outside East Asia do.
var narrow = &runewidth.Condition{}

// columnsOf is how many columns of a terminal text takes.
func columnsOf(text string) int { return narrow.StringWidth(text) }

// cut is text in so many columns at most; "…" shows that there is more.
func cut(text string, most int) string {
	if columnsOf(text) <= most {
		return text
	}
	return narrow.Truncate(text, most, "…")
}
