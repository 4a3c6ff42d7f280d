package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// screen is where a command prints: a terminal, which has a width and perhaps colours, or something that other programs
// read.
type screen struct {
	w      io.Writer
	width  int // columns; 0 where it is no terminal
	colour bool
}

// screen is where p's standard output leads.
func (p Program) screen() screen {
	f, ok := p.Stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{w: p.Stdout}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return screen{w: p.Stdout, width: width, colour: wantsColour(os.Getenv) && showsColour(f)}
}

// wantsColour is what the person says (no-color.org) and the terminal (terminfo(5)).
func wantsColour(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// tint is a colour of a terminal (ECMA-48, SGR). It repeats what a word beside it says, and never says it alone.
type tint string

const (
	noTint tint = ""
	bold   tint = "1"
	dim    tint = "2"
	red    tint = "31"
	green  tint = "32"
	yellow tint = "33"
)

// paint is text in a colour, where there are colours.
func (s screen) paint(text string, t tint) string {
	if !s.colour || t == noTint || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// cell is one field of a table.
type cell struct {
	text string
	tint tint
}

// column is how a column of a table is shown on a terminal.
type column struct {
	head  string
	least int // it is cut down to so many columns of the terminal at most; 0 for one that is shown whole or not at all
	spare int // the higher, the sooner it is left out where there is no room; 0 for one that is always there
}

// gap is what is between columns.
const gap = 2

// table prints rows: on a terminal in columns that fit its width, elsewhere whole, with tabs between them and without
// headings, so that it stays the same.
func (s screen) table(columns []column, rows [][]cell) error {
	for _, row := range rows {
		for i := range row {
			row[i].text = plain(row[i].text)
		}
	}
	if s.width == 0 {
		for _, row := range rows {
			texts := make([]string, len(row))
			for i, c := range row {
				texts[i] = c.text
			}
			if _, err := fmt.Fprintln(s.w, strings.Join(texts, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	heads := make([]cell, len(columns))
	for i, c := range columns {
		heads[i] = cell{c.head, bold}
	}
	widths := fit(columns, append([][]cell{heads}, rows...), s.width)
	for _, row := range append([][]cell{heads}, rows...) {
		if _, err := fmt.Fprintln(s.w, s.line(row, widths)); err != nil {
			return err
		}
	}
	return nil
}

// line is one row, without blanks at its end.
func (s screen) line(row []cell, widths []int) string {
	var b strings.Builder
	blanks := 0
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		text := cut(c.text, widths[i])
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(s.paint(text, c.tint))
			blanks = 0
		}
		blanks += widths[i] - columnsOf(text) + gap
	}
	return b.String()
}

// fit gives each column its width, 0 to those that are left out.
func fit(columns []column, rows [][]cell, width int) []int {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], columnsOf(c.text))
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
			if columns[i].least > 0 && w > columns[i].least && (widest < 0 || w > widths[widest]) {
				widest = i
			}
			if columns[i].spare > 0 && (sparest < 0 || columns[i].spare > columns[sparest].spare) {
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
