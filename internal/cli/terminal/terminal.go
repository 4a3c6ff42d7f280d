// Package terminal is the one way from a command to what people read: a terminal, or whatever its output leads to. It
// promises that text from outside (the service, a file, a path) shows as text: whatever a terminal would take for an
// instruction, or would show in another order than it is written, goes. Colours and the place of the cursor are this
// package's own. It knows nothing of the office.
package terminal

import (
	"bytes"
	"encoding/json"
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
	width  int // columns; 0 where it is no terminal
	colour bool

	mu     sync.Mutex
	passes int // columns of the line that Progress shows
}

// New is a writer to a stream: a terminal, which has a width and perhaps colours, or something that other programs read.
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

// Sized is a writer to a terminal of so many columns.
func Sized(to io.Writer, width int, colour bool) *Writer {
	return &Writer{to: to, width: width, colour: colour}
}

// Wide reports whether people see the output on a terminal. Other programs read it where not.
func (w *Writer) Wide() bool { return w.width > 0 }

// longest is how long a line may be, in characters: an address to sign in at, a problem with two paths in it.
const longest = 8000

// line is text as it is printed: in one line.
func line(text string) string { return message.Shorten(message.Plain(text), longest) }

// Line prints one line, whatever is in its arguments.
func (w *Writer) Line(format string, args ...any) error {
	return w.put(line(fmt.Sprintf(format, args...)) + "\n")
}

// Prompt prints a question, behind which the answer is typed.
func (w *Writer) Prompt(question string) error { return w.put(line(question)) }

// Write prints text that has its own lines, such as a help text.
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

// Progress shows a text in the place of the last one; "" removes it. It shows nothing where there is no terminal.
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

// put hands text over that is harmless.
func (w *Writer) put(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.to, text)
	return err
}

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

// JSON prints v for other programs to read. Whatever is in it, a terminal shows it and does nothing else: what is no
// visible character is written as its number, which means the same (RFC 8259, 7).
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

// visible is JSON in which only characters that can be seen stand for themselves.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf && r != 0x7f, !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp): // encoding/json has seen to the rest of ASCII
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
