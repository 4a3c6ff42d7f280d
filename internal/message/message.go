// Package message defines what Countersign tells people: health, activity, problems of drafts and files, notifications, and
// errors that reach a person. A Message is an id with typed arguments. It is stored and passed on as such, and a Printer
// puts it into words at the edge: the window in its language, the commands and the log in English. So rewording a sentence
// changes no stored data, and only this package and assets/messages know the sentences.
//
// To add a message:
//
//  1. Write its text in each assets/messages/LANGUAGE.json: "folder.disk-full": "The disk with {{.Folder}} is full." An
//     argument called Folder is a name and gets quotation marks, N is a count; assets/gen/messages.go lists them all. Break
//     the line (\n) after the first sentence, the headline.
//  2. With a count, write plural forms: {"one": "{{.N}} file", "other": "{{.N}} files"}; "one" contains the number, too,
//     because in French it is also the form for 0. A "description" is for translators and for the function's comment.
//  3. Run go generate ./assets: it writes func DiskFull(folder string) Message. The part after the dot is unique.
//  4. Where something goes wrong: return message.Error(message.DiskFull(name), err). The caller keeps what it needs
//     with errors.Is and errors.As; the edge asks For(err).
//  5. Run go test ./internal/message: it finds missing texts, lost arguments and unused messages.
//
// Whole messages may follow each other (Then); parts of a sentence are never put together. Ids must not change once there is
// released data; the text may at any time. Everything here is safe for concurrent use and does no I/O.
package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Message is something to tell people. The zero value is empty. Messages can be compared with ==: they are equal if they
// have the same id and arguments. A message is made by a function of this package, or read from JSON.
type Message struct {
	id   string
	args string // JSON of map[string]value with sorted keys; empty without arguments
}

// sentences is the id of several consecutive messages; they are its arguments 0, 1, 2...
const sentences = "sentences"

// of makes a message. Only catalogue.go calls it.
func of(id string, args ...Arg) Message {
	m := Message{id: id}
	if len(args) == 0 {
		return m
	}
	values := map[string]value{}
	for _, a := range args {
		values[a.name] = a.value
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // cannot fail: only texts and numbers
	}
	m.args = string(b)
	return m
}

// Then joins consecutive messages, skipping empty ones. Each is a whole sentence or more.
func Then(all ...Message) Message {
	var list []Message
	for _, m := range all {
		if m.id == sentences {
			list = append(list, m.inOrder()...)
		} else if !m.IsZero() {
			list = append(list, m)
		}
	}
	switch len(list) {
	case 0:
		return Message{}
	case 1:
		return list[0]
	}
	var args []Arg
	for i, m := range list {
		args = append(args, Arg{fmt.Sprint(i), value{Message: &m}})
	}
	return of(sentences, args...)
}

// ID is the message's id in the catalogue, such as "file.too-large"; for several consecutive messages, that of the first. It
// is for tests, and for deciding what to show with a message; people read Text.
func (m Message) ID() string {
	if m.id == sentences {
		return m.inOrder()[0].id
	}
	return m.id
}

// IsZero reports whether m is empty. Fields of records have the JSON option omitzero.
func (m Message) IsZero() bool { return m == Message{} }

// String is m in English, for the log and the commands.
func (m Message) String() string { return English().Text(m) }

func (m Message) values() (values map[string]value) {
	if m.args == "" || json.Unmarshal([]byte(m.args), &values) != nil {
		return nil
	}
	return values
}

// inOrder are the consecutive messages in m.
func (m Message) inOrder() (list []Message) {
	values := m.values()
	for i := range len(values) {
		if v := values[fmt.Sprint(i)]; v.Message != nil {
			list = append(list, *v.Message)
		}
	}
	if len(list) == 0 {
		list = []Message{{id: sentences + " without any"}}
	}
	return list
}

type written struct {
	ID   string           `json:"id"`
	Args map[string]value `json:"args,omitempty"`
}

// MarshalJSON writes {"id": ..., "args": {name: {kind: value}}}, and null for an empty message.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(written{m.id, m.values()})
}

func (m *Message) UnmarshalJSON(data []byte) error {
	*m = Message{}
	if string(data) == "null" {
		return nil
	}
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	var args []Arg
	for name, v := range w.Args {
		args = append(args, Arg{name, v})
	}
	*m = of(w.ID, args...)
	return nil
}

// Error is an error that people see as m. Its cause may be nil. Its own text is m in English followed by the cause: for the
// log, never for people.
func Error(m Message, cause error) error { return &told{m, cause} }

type told struct {
	message Message
	cause   error
}

func (e *told) Error() string {
	if e.cause == nil {
		return e.message.String()
	}
	if m, ok := Of(e.cause); ok && m == e.message {
		return e.cause.Error()
	}
	return e.message.String() + " (" + e.cause.Error() + ")"
}

func (e *told) Unwrap() error    { return e.cause }
func (e *told) Message() Message { return e.message }

// Of returns the message for people of err: that of the outermost error in its chain with a method Message() Message. Code
// that knows better what the person was doing wraps the error in one with its own message.
func Of(err error) (m Message, ok bool) {
	var e interface{ Message() Message }
	if !errors.As(err, &e) {
		return Message{}, false
	}
	return e.Message(), true
}

// For is Of, with Unexpected if err has no message. It is empty for nil.
func For(err error) Message {
	if err == nil {
		return Message{}
	}
	if m, ok := Of(err); ok {
		return m
	}
	return Unexpected()
}

// SameCause reports whether a and b say that the same has happened, or both that there may be no internet connection.
func SameCause(a, b Message) bool {
	happened, _ := English().Lines(a)
	also, _ := English().Lines(b)
	return happened == also || offline(a) && offline(b)
}

func offline(m Message) bool {
	_, check := English().Lines(ServiceSilent())
	_, next := English().Lines(m)
	return strings.HasPrefix(next, check)
}

// OneLine turns text from outside into one line of at most most characters: line ends and odd spaces become spaces; control,
// bidirectional and invisible characters are removed. Escaping whatever a particular output interprets is up to that output
// (package notify).
func OneLine(s string, most int) string {
	if len(s) <= most && plainText(s) {
		return s
	}
	return Shorten(strings.Join(strings.Fields(Plain(s)), " "), most)
}

// Plain is OneLine without collapsing blanks or cutting.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case joiner(r):
			return r
		case unicode.Is(unicode.C, r), invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// Shorten cuts s to at most most runes including a final "…", and only between characters as a reader sees them (Unicode
// annex 29).
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	end, left := 0, most-1
	for character := graphemes.FromString(s); character.Next(); end = character.End() {
		if left -= utf8.RuneCountInString(character.Value()); left < 0 {
			break
		}
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// plainText reports whether s is printable ASCII without superfluous spaces.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == strings.TrimSpace(s) && !strings.Contains(s, "  ")
}

// joiner reports whether r is a zero-width joiner, which some scripts need.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// invisible reports whether r shows as nothing, or as a blank without being a space.
func invisible(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0', '\ufffc', '\ufffd':
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}
