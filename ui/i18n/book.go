package i18n

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"countersign/assets"
)

// book is the phrasebook of one language: what the packages below the window say in English, and what that is called
// there. Its keys are English sentences, one each, with {{.Name}} where a value stands:
//
//   - {{.N}} and {{.M}} stand for whole numbers only, so that "1 document" and "{{.N}} documents" are told apart;
//   - {{.Phrase}} stands for something that is itself in the book, or several such things joined by commas and "and";
//   - every other name stands for any text, which is passed on as it is.
//
// A text of several sentences is translated one by one. A name in quotation marks is taken as a whole, whatever is in
// it, and gets the quotation marks of the language. A book is safe for concurrent use.
type book struct {
	patterns []*pattern // those with the most literal text first
	exact    map[string]string
	marks    [2]string // quotation marks

	mu   sync.Mutex
	said map[string]string
}

// remembered is how many translated texts a book keeps; then it begins anew.
const remembered = 4096

// and joins the last two of several phrases in the packages below.
const and = " and "

// loadBook reads the phrasebook of a language, nil for English, which needs none.
func loadBook(code string) (*book, error) {
	if code == "en" {
		return nil, nil
	}
	data, err := assets.Sentences.ReadFile("sentences/" + code + ".json")
	if err != nil {
		return nil, err
	}
	phrases := map[string]string{}
	if err := json.Unmarshal(data, &phrases); err != nil {
		return nil, fmt.Errorf("read the sentences of %q: %w", code, err)
	}
	marks := map[string][2]string{"de": {"„", "“"}, "fr": {"«\u00a0", "\u00a0»"}, "es": {"«", "»"}}[code]
	return newBook(phrases, marks)
}

func newBook(phrases map[string]string, marks [2]string) (*book, error) {
	b := &book{exact: map[string]string{}, marks: marks, said: map[string]string{}}
	for english, text := range phrases {
		p, err := compile(english, text)
		if err != nil {
			return nil, err
		}
		if len(p.names) == 0 {
			b.exact[english] = text
			continue
		}
		b.patterns = append(b.patterns, p)
	}
	slices.SortFunc(b.patterns, func(a, b *pattern) int {
		if a.weight != b.weight {
			return b.weight - a.weight
		}
		return strings.Compare(a.english, b.english)
	})
	return b, nil
}

// say translates a text.
func (b *book) say(english string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if said, ok := b.said[english]; ok {
		return said
	}
	said := b.translate(english)
	if len(b.said) >= remembered {
		clear(b.said)
	}
	b.said[english] = said
	return said
}

func (b *book) translate(english string) string {
	text, names, ok := fold(english)
	if !ok {
		return english
	}
	var out strings.Builder
	for parts := split(text); len(parts) > 0; {
		said, used := b.next(parts)
		for _, r := range said {
			if i := int(r - folded); i >= 0 && i < len(names) {
				out.WriteString(b.name(names[i]))
			} else {
				out.WriteRune(r)
			}
		}
		parts = parts[used:]
	}
	return out.String()
}

// next translates the first of the parts, or the first few together where a value has a full stop in it ("Dr. Ruiz
// signed …"), which is so when none of them is known by itself. It returns how many it took.
func (b *book) next(parts []string) (said string, used int) {
	if said, ok := b.part(parts[0]); ok {
		return said, 1
	}
	joined := parts[0]
	for i := 1; i < min(len(parts), 4); i++ {
		if _, ok := b.part(parts[i]); ok {
			break
		}
		joined += parts[i]
		if said, ok := b.part(joined); ok {
			return said, i + 1
		}
	}
	return parts[0], 1
}

// part translates one sentence and keeps the space around it.
func (b *book) part(text string) (said string, ok bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return text, false
	}
	said, ok = b.match(trimmed)
	if !ok && !strings.HasSuffix(trimmed, ".") { // cut short in its last name, for a notification
		said, ok = b.match(trimmed + ".")
		said = strings.TrimSuffix(said, ".")
	}
	if !ok {
		return text, false
	}
	before, after, _ := strings.Cut(text, trimmed)
	return before + said + after, true
}

func (b *book) match(sentence string) (said string, ok bool) {
	said, ok = b.exact[sentence]
	for i := 0; !ok && i < len(b.patterns); i++ {
		said, ok = b.patterns[i].say(sentence, b.phrase)
	}
	return said, ok
}

// phrase translates the value of a {{.Phrase}}.
func (b *book) phrase(value string) string {
	if said, ok := b.exact[value]; ok {
		return said
	}
	for _, joint := range []string{and, ", "} {
		for i := 0; ; i += len(joint) {
			at := strings.Index(value[i:], joint)
			if at < 0 {
				break
			}
			i += at
			if first, ok := b.exact[value[:i]]; ok {
				return first + strings.Replace(joint, "and", b.exact["and"], 1) + b.phrase(value[i+len(joint):])
			}
		}
	}
	return value
}

// name is a name in quotation marks, in those of the language. What stands between them is passed on, except what the
// agent calls a package that has no name.
func (b *book) name(quoted string) string {
	inner, ok := unquote(quoted)
	if !ok {
		return quoted
	}
	if said, ok := b.exact[inner]; ok && unicode.IsUpper([]rune(inner)[0]) && !strings.HasSuffix(inner, ".") {
		inner = said
	}
	return b.marks[0] + inner + b.marks[1]
}
