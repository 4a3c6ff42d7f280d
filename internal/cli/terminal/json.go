package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
