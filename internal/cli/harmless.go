package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/internal/message"
)

// longest is how long a text in one line may be, in characters: a problem with two paths in it.
const longest = 4000

// plain is text that may come from outside, as it can be printed anywhere: in one line, and without what a terminal takes for
// more than text.
func plain(text string) string { return message.OneLine(text, longest) }

// printJSON writes v for other programs to read. Whatever is in it, a terminal shows it and does nothing else: what is no
// visible character is written as its number, which means the same (RFC 8259, 7).
func printJSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// printLine writes v as printJSON does, in one line.
func printLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(visible(b.Bytes()))
	return err
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
