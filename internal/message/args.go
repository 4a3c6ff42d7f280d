package message

import (
	"strings"
	"unicode/utf8"
)

// Arg is an argument of a message; its name is the placeholder in the text.
type Arg struct {
	name  string
	value value
}

// value is an argument's value. Exactly one field is set, which determines the kind. A Text may be empty.
type value struct {
	Text    string   `json:"text,omitzero"`
	Name    *string  `json:"name,omitzero"`
	Package *string  `json:"package,omitzero"`
	Names   []string `json:"names,omitzero"`
	Count   *int64   `json:"count,omitzero"`
	Number  *int64   `json:"number,omitzero"`
	Bytes   *int64   `json:"bytes,omitzero"`
	Day     string   `json:"day,omitzero"`     // as time.DateOnly
	Message *Message `json:"message,omitzero"` // one of several consecutive messages, see Then
}

// maxText limits an argument, in characters: whoever names a package decides how long its name is.
const maxText = 200

// Text is shown as it is: a person's name, an address, a code.
func Text(name, text string) Arg { return Arg{name, value{Text: OneLine(text, 2*maxText)}} }

// Said quotes somebody else's sentence, such as a reason that the service gives.
func Said(name, words string) Arg {
	a := Text(name, words)
	if last, _ := utf8.DecodeLastRuneInString(a.value.Text); !strings.ContainsRune(".!?…", last) {
		a.value.Text += "."
	}
	return a
}

// Name is the name of a file, a folder or a package; it is shown in the language's quotation marks.
func Name(name, called string) Arg {
	called = OneLine(called, maxText)
	return Arg{name, value{Name: &called}}
}

// Package is Name for a package, which may be untitled.
func Package(name, called string) Arg {
	called = OneLine(called, maxText)
	return Arg{name, value{Package: &called}}
}

// Names are several names in a list, without quotation marks.
func Names(name string, called []string) Arg {
	list := make([]string, len(called))
	for i, c := range called {
		list[i] = OneLine(c, maxText)
	}
	return Arg{name, value{Names: list}}
}

// Count is a number that selects the plural form. A message has at most one.
func Count(name string, n int) Arg { n64 := int64(n); return Arg{name, value{Count: &n64}} }

// Number is a number that does not affect the plural form.
func Number(name string, n int) Arg { n64 := int64(n); return Arg{name, value{Number: &n64}} }

// Bytes is a size, shown as "3 MB".
func Bytes(name string, n int64) Arg { return Arg{name, value{Bytes: &n}} }

// Day is a date with its year, given as "2026-11-22".
func Day(name, date string) Arg { return Arg{name, value{Day: OneLine(date, maxText)}} }
