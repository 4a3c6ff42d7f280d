// Package terminal is the one way from a command to what people read: a terminal, or whatever its output leads to. It
// promises that text from outside (the service, a file, a path) shows as text: whatever a terminal would take for an
// instruction, or would show in another order than it is written, goes. Colours and the place of the cursor are this
// package's own. It knows nothing of the office.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"countersign/internal/message"

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
