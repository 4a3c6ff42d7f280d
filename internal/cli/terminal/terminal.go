// Package terminal is the only way in which commands print for people: to a terminal, or wherever their output leads. It
// promises that text from outside (the service, a file, a path) appears as text: it removes whatever a terminal would
// interpret as a command, or display in another order than it is written. Only this package emits colours and cursor
// movements. It knows nothing about the office.
package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/internal/message"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// Writer prints for people. Safe for concurrent use; the zero value is not usable.
type Writer struct {
	to     io.Writer
	width  int // in columns; 0 if it is not a terminal
	colour bool

	mu     sync.Mutex
	passes int // columns of the line that Progress currently shows
}

// New returns a writer to a stream: a terminal, which has a width and perhaps colours, or a file or pipe for programs.
func New(to io.Writer) *Writer {
	f, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &Writer{to: to}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return Sized(to, width, wantsColour(os.Getenv) && showsColour(f))
}

// Sized returns a writer to a terminal with that many columns.
func Sized(to io.Writer, width int, colour bool) *Writer {
	return &Writer{to: to, width: width, colour: colour}
}

// ErrUnwritable is in each error of a Writer: its stream takes no more, as a file on a full disk.
var ErrUnwritable = errors.New("the output could not be written")

// Wide reports whether the output goes to a terminal, for people, rather than to a program.
func (w *Writer) Wide() bool { return w.width > 0 }

// longest is the maximum length of a line in characters: enough for a sign-in address, or a problem with two paths.
const longest = 8000

// line makes text safe to print, in one line.
func line(text string) string { return message.Shorten(message.Plain(text), longest) }

// Line prints one line, whatever its arguments contain.
func (w *Writer) Line(format string, args ...any) error {
	return w.put(line(fmt.Sprintf(format, args...)) + "\n")
}

// Prompt prints a question after which the answer is typed.
func (w *Writer) Prompt(question string) error { return w.put(line(question)) }

// Write prints text that has lines of its own, such as a help text.
func (w *Writer) Write(p []byte) (int, error) {
	var lines []string
	for text := range strings.SplitSeq(string(p), "\n") {
		var cells []string
		for cell := range strings.SplitSeq(text, "\t") {
			cells = append(cells, message.Plain(cell))
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	return len(p), w.put(strings.Join(lines, "\n"))
}

// Progress replaces the last progress text; "" removes it. It shows nothing if the output is not a terminal.
func (w *Writer) Progress(text string) error {
	if w.width == 0 {
		return nil
	}
	text = cut(line(text), w.width-1)
	w.mu.Lock()
	before := w.passes
	w.passes = columnsOf(text)
	w.mu.Unlock()
	if before == 0 && text == "" {
		return nil
	}
	blank := strings.Repeat(" ", max(0, before-columnsOf(text)))
	return w.put("\r" + text + blank + map[bool]string{true: "\r"}[text == ""])
}

// put writes text that is already harmless.
func (w *Writer) put(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := io.WriteString(w.to, text); err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return nil
}

// wantsColour combines the person's preference (no-color.org) and the terminal's ability (terminfo(5)).
func wantsColour(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// Tint is a terminal colour (ECMA-48, SGR). It only repeats what a word beside it says.
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

// paint is c with its colour; the text itself is made harmless.
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

// Column says how a terminal shows a column of a table.
type Column struct {
	Head  string
	Least int // the minimum width to which it may be cut; 0 if it must be shown whole or not at all
	Spare int // columns with higher values are dropped first if there is no room; 0 for never
}

const gap = 2

// Table prints rows: on a terminal in columns that fit its width; otherwise in full, tab-separated and without headings, so
// that programs can rely on the format.
func (w *Writer) Table(columns []Column, rows [][]Cell) error {
	for _, row := range rows {
		for i := range row {
			row[i].Text = message.OneLine(row[i].Text, longest)
		}
	}
	if w.width == 0 {
		for _, row := range rows {
			texts := make([]string, len(row))
			for i, c := range row {
				texts[i] = c.Text
			}
			if err := w.put(strings.Join(texts, "\t") + "\n"); err != nil {
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
	widths := fit(columns, all, w.width)
	for _, row := range all {
		if err := w.put(w.row(row, widths) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

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

// fit determines the width of each column, 0 for those that are dropped.
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

// narrow counts characters of ambiguous width as one column, as terminals outside East Asia do.
var narrow = &runewidth.Condition{}

// columnsOf is the width of text in columns of a terminal.
func columnsOf(text string) int { return narrow.StringWidth(text) }

// cut shortens text to that many columns; "…" shows that there is more.
func cut(text string, most int) string {
	if columnsOf(text) <= most {
		return text
	}
	return narrow.Truncate(text, most, "…")
}

// JSON prints v for programs. Nothing in it can affect a terminal: invisible characters are written as escapes, which mean
// the same (RFC 8259, 7).
func (w *Writer) JSON(v any) error { return w.json(v, "  ") }

// JSONLine prints v as JSON does, in one line.
func (w *Writer) JSONLine(v any) error { return w.json(v, "") }

func (w *Writer) json(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return w.put(string(visible(b.Bytes())))
}

// visible escapes all invisible characters in JSON.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf && r != 0x7f, !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp): // encoding/json has escaped the rest of ASCII
			out = append(out, text[:size]...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return out
}
