package i18n

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"

	"fyne.io/fyne/v2/lang"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	numbers "golang.org/x/text/message"

	"countersign/assets"
	"countersign/internal/message"
)

// Languages are the languages that can be chosen, as in agent.Settings, without "" for that of the system.
func Languages() []string { return []string{"en", "fr", "de", "es"} }

// LanguageName is what a language is called by those who speak it.
func LanguageName(code string) string {
	return map[string]string{"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español"}[code]
}

// chosen is the language in use; nil before the first Use.
var chosen atomic.Pointer[catalogue]

// Code is the language in use, such as "de"; empty before the first Use. It may be called from any goroutine.
func Code() string {
	if c := chosen.Load(); c != nil {
		return c.tag.String()
	}
	return ""
}

// system is the one of our languages that Fyne took from the system: it says so itself, in a text that all of them have.
// Fyne's own lookups follow the system alone.
var system = func() string { return "en" }

// hook puts the choice in front of Fyne's lookups, once, before anything is said. They are variables, which Fyne's own
// widgets use, too.
var hook = sync.OnceFunc(func() {
	localize, plurals, keyed := lang.L, lang.N, lang.X
	system = func() string { return keyed("language.code", "en") }
	lang.L = func(text string, data ...any) string {
		if said, ok := chosen.Load().say(text, plural.Other, data); ok {
			return said
		}
		return localize(text, data...)
	}
	lang.N = func(text string, count int, data ...any) string {
		c := chosen.Load()
		if len(data) == 0 {
			data = []any{V{"PluralCount": Number(count)}}
		}
		if said, ok := c.say(text, c.form(count), data); ok {
			return said
		}
		return plurals(text, count, data...)
	}
	lang.X = func(key, fallback string, data ...any) string {
		if said, ok := chosen.Load().say(key, plural.Other, data); ok {
			return said
		}
		return keyed(key, fallback, data...)
	}
})

// Use makes all texts from now on those of a language, or of the system's for "". A text that is already shown stays
// as it is. The first call must come after Load and before anybody else speaks; later ones may come from any
// goroutine. A language that is not known is the system's.
func Use(code string) {
	hook()
	if !slices.Contains(Languages(), code) {
		code = system()
	}
	c, err := load(code)
	if err != nil {
		slog.Error("the language cannot be used", "language", code, "err", err)
		c = nil
	}
	chosen.Store(c)
}

// catalogue is the texts of one language. A nil catalogue knows none. It does not change.
type catalogue struct {
	tag      language.Tag
	texts    map[string]map[plural.Form]string
	messages *message.Printer
	numbers  *numbers.Printer
}

func load(code string) (*catalogue, error) {
	tag, err := language.Parse(code)
	if err != nil {
		return nil, fmt.Errorf("read the language %q: %w", code, err)
	}
	data, err := assets.Translations.ReadFile("translations/" + code + ".json")
	if err != nil {
		return nil, err
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read the translations of %q: %w", code, err)
	}
	c := &catalogue{tag: tag, texts: map[string]map[plural.Form]string{}, numbers: numbers.NewPrinter(tag)}
	if c.messages, err = message.NewPrinter(code); err != nil {
		return nil, err
	}
	for key, value := range raw {
		if c.texts[key], err = forms(value); err != nil {
			return nil, fmt.Errorf("read the translation of %q: %w", key, err)
		}
	}
	return c, nil
}

// forms reads a translation: a text, or an object of texts by plural form as Fyne's lang has it.
func forms(value json.RawMessage) (map[plural.Form]string, error) {
	var one string
	if err := json.Unmarshal(value, &one); err == nil {
		return map[plural.Form]string{plural.Other: one}, nil
	}
	var many map[string]string
	if err := json.Unmarshal(value, &many); err != nil {
		return nil, err
	}
	all := map[plural.Form]string{}
	for name, form := range map[string]plural.Form{"zero": plural.Zero, "one": plural.One, "two": plural.Two,
		"few": plural.Few, "many": plural.Many, "other": plural.Other} {
		if text, ok := many[name]; ok {
			all[form] = text
		}
	}
	return all, nil
}

// form is the plural form of a whole number.
func (c *catalogue) form(count int) plural.Form {
	if c == nil {
		return plural.Other
	}
	return plural.Cardinal.MatchPlural(c.tag, count, 0, 0, 0, 0)
}

// say returns a text in its form, with its values filled in.
func (c *catalogue) say(key string, form plural.Form, data []any) (said string, ok bool) {
	if c == nil {
		return "", false
	}
	text, ok := c.texts[key][form]
	if !ok {
		if text, ok = c.texts[key][plural.Other]; !ok {
			return "", false
		}
	}
	if !strings.Contains(text, "{{") {
		return text, true
	}
	if len(data) > 0 {
		if values, simple := data[0].(V); simple {
			return c.fill(text, values), true
		}
	}
	t, err := template.New("").Parse(text)
	if err != nil {
		return "", false
	}
	var values any
	if len(data) > 0 {
		values = data[0]
	}
	var out strings.Builder
	if err := t.Execute(&out, values); err != nil {
		return "", false
	}
	return out.String(), true
}

// placeholder is where a value stands in a text.
var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// fill puts the values into a text, each as it is, whatever it contains; a whole number gets its separators.
func (c *catalogue) fill(text string, values V) string {
	return placeholder.ReplaceAllStringFunc(text, func(hole string) string {
		value, ok := values[hole[len("{{."):len(hole)-len("}}")]]
		if !ok {
			return hole
		}
		switch value.(type) {
		case int, int64:
			return c.numbers.Sprintf("%d", value)
		}
		return fmt.Sprint(value)
	})
}
