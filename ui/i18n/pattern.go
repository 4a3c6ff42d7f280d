package i18n

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is one English sentence with values in it, and its translation.
type pattern struct {
	english     string
	match       *regexp.Regexp
	names       []string // of the values, in the order of the English
	first, last string   // what the English begins and ends with, to see at once what does not match
	weight      int      // bytes of literal text
	text        string
}

var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// compile reads a key of the phrasebook and its translation, which must name the same values.
func compile(english, text string) (*pattern, error) {
	p := &pattern{english: english, text: text}
	var expr strings.Builder
	expr.WriteString(`(?s)\A`)
	rest := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(english, -1) {
		literal, name := english[rest:at[0]], english[at[2]:at[3]]
		if rest == 0 {
			p.first = literal
		}
		p.weight += len(literal)
		expr.WriteString(regexp.QuoteMeta(literal))
		if name == "N" || name == "M" {
			expr.WriteString(`(\d+)`)
		} else {
			expr.WriteString(`(.+?)`)
		}
		p.names = append(p.names, name)
		rest = at[1]
	}
	p.last = english[rest:]
	p.weight += len(p.last)
	expr.WriteString(regexp.QuoteMeta(p.last) + `\z`)
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(english, found[0]) {
			return nil, fmt.Errorf("the translation of %q has a value %s of its own", english, found[0])
		}
	}
	var err error
	if p.match, err = regexp.Compile(expr.String()); err != nil {
		return nil, fmt.Errorf("read the sentence %q: %w", english, err)
	}
	return p, nil
}

// say returns the translation of a sentence that matches; phrase translates the values that are phrases.
func (p *pattern) say(sentence string, phrase func(string) string) (string, bool) {
	if !strings.HasPrefix(sentence, p.first) || !strings.HasSuffix(sentence, p.last) {
		return "", false
	}
	found := p.match.FindStringSubmatch(sentence)
	if found == nil {
		return "", false
	}
	// One pass over the translation: a value that looks like a placeholder is not filled in itself.
	return placeholder.ReplaceAllStringFunc(p.text, func(hole string) string {
		name := hole[len("{{.") : len(hole)-len("}}")]
		for i, n := range p.names {
			if n == name && name == "Phrase" {
				return phrase(found[i+1])
			} else if n == name {
				return found[i+1]
			}
		}
		return hole
	}), true
}

// folded is the first of the characters that stand for names while a text is translated. They are for private use;
// a text that has some of them already is not translated.
const folded = rune(0xF0000)

// fold puts one character in the place of each name in quotation marks, so that nothing in a name is taken for a
// sentence, a value or a placeholder.
//
// It is not ok where a name has a quotation mark of its own, so that nobody can tell where it ends. A name may lack the
// closing one when the text was cut short, which its end then says: "…".
func fold(text string) (short string, names []string, ok bool) {
	if !utf8.ValidString(text) {
		return "", nil, false
	}
	switch open := strings.Count(text, "“") - strings.Count(text, "”"); {
	case open == 1 && strings.HasSuffix(text, "…"):
	case open != 0:
		return "", nil, false
	}
	var out strings.Builder
	for rest, start := text, true; rest != ""; {
		if end := closing(rest, start); end > 0 {
			out.WriteRune(folded + rune(len(names)))
			names, rest, start = append(names, rest[:end]), rest[end:], false
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		if r >= folded {
			return "", nil, false
		}
		out.WriteRune(r)
		rest, start = rest[size:], r == ' '
	}
	return out.String(), names, true
}

// closing is where the name in quotation marks ends that text begins with, 0 when it begins with none. There may be
// further names in it. The straight ones are those of Go's %q.
func closing(text string, atStart bool) int {
	if atStart && text[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			return len(quoted)
		}
		return 0
	}
	if !strings.HasPrefix(text, "“") {
		return 0
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '“':
			depth++
		case '”':
			if depth--; depth == 0 {
				return i + len("”")
			}
		}
	}
	return len(text) // cut short, see fold
}

// unquote is what stands between the quotation marks; of a name that was cut short, what is left of it.
func unquote(name string) (string, bool) {
	if strings.HasPrefix(name, `"`) {
		inner, err := strconv.Unquote(name)
		return inner, err == nil && inner != ""
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(name, "“"), "”")
	return inner, inner != ""
}

// split cuts a text behind its sentences. Nothing is lost: the parts together are the text.
func split(text string) (parts []string) {
	start, stop := 0, false
	for i, r := range text {
		switch {
		case strings.ContainsRune(".!?…", r):
			stop = true
		case unicode.IsSpace(r) && stop:
			parts, start, stop = append(parts, text[start:i]), i, false
		default:
			stop = false
		}
	}
	return append(parts, text[start:])
}
