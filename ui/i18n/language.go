package i18n

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"fyne.io/fyne/v2/lang"
	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
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
		if said, ok := chosen.Load().say(text, nil, data); ok {
			return said
		}
		return localize(text, data...)
	}
	lang.N = func(text string, count int, data ...any) string {
		if len(data) == 0 {
			data = []any{V{"PluralCount": count}}
		}
		if said, ok := chosen.Load().say(text, count, data); ok {
			return said
		}
		return plurals(text, count, data...)
	}
	lang.X = func(key, fallback string, data ...any) string {
		if said, ok := chosen.Load().say(key, nil, data); ok {
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
	texts    *goi18n.Localizer
	messages *message.Printer
	numbers  *numbers.Printer
}

func load(code string) (*catalogue, error) {
	data, err := assets.Translations.ReadFile("translations/" + code + ".json")
	if err != nil {
		return nil, err
	}
	return parse(code, data)
}

// parse reads translations as Fyne's lang has them.
func parse(code string, translations []byte) (*catalogue, error) {
	tag, err := language.Parse(code)
	if err != nil {
		return nil, fmt.Errorf("read the language %q: %w", code, err)
	}
	bundle := goi18n.NewBundle(tag)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	if _, err := bundle.ParseMessageFileBytes(translations, code+".json"); err != nil {
		return nil, fmt.Errorf("read the translations of %q: %w", code, err)
	}
	c := &catalogue{tag: tag, texts: goi18n.NewLocalizer(bundle, code), numbers: numbers.NewPrinter(tag)}
	c.messages, err = message.NewPrinter(code)
	return c, err
}

// say returns a text with its values filled in, each as it is, whatever it contains; a whole number gets its separators.
// count, which may be nil, decides about the plural form.
func (c *catalogue) say(key string, count any, data []any) (said string, ok bool) {
	if c == nil {
		return "", false
	}
	config := goi18n.LocalizeConfig{MessageID: key, PluralCount: count}
	if len(data) > 0 {
		config.TemplateData = data[0]
	}
	if ours, is := config.TemplateData.(V); is {
		values := maps.Clone(ours)
		for name, value := range values {
			switch value.(type) {
			case int, int64:
				values[name] = c.numbers.Sprintf("%d", value)
			}
		}
		config.TemplateData = values
	}
	// Where a form is missing (French and Spanish have one for whole millions), the library takes the form "other" and
	// reports it all the same.
	said, _ = c.texts.Localize(&config)
	return said, said != ""
}
