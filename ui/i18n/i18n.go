// Package i18n puts the office's facts into words: names, times, numbers, states. All go through Fyne's lang, with the English text
// as the key; what the packages below the window tell people are messages, see Message. It formats what it is given and reads
// nothing; its only state is the current language.
package i18n

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	numbers "golang.org/x/text/message"

	"countersign/assets"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Load makes Fyne choose the system's language among ours, and loads the English texts. Those of the current language are looked up
// before Fyne's, see Use, because loading all languages would delay every start.
func Load() error {
	for _, code := range Languages() {
		texts := []byte(`{"language.code": "` + code + `"}`)
		if code == "en" {
			var err error
			if texts, err = assets.Translations.ReadFile("translations/en.json"); err != nil {
				return fmt.Errorf("load the translations: %w", err)
			}
		}
		if err := lang.AddTranslations(fyne.NewStaticResource(code+".json", texts)); err != nil {
			return fmt.Errorf("load the translations of %q: %w", code, err)
		}
	}
	return nil
}

type V map[string]any

// Documents returns "1 document", "2 documents".
func Documents(n int) string { return lang.N("{{.PluralCount}} documents", n) }

// People returns "1 person", "2 people".
func People(n int) string { return lang.N("{{.PluralCount}} people", n) }

// Name returns what to call a signer: the names, or else the e-mail address, or else "Someone". Use it as a label or at the start of
// a sentence, because elsewhere that word would need other forms.
func Name(s office.Signer) string { return cmp.Or(s.DisplayName(), lang.L("Someone")) }

// Names lists people in a few words: "Ana Ruiz", "Ana Ruiz and Jan Weber", "Ana Ruiz and 3 others".
func Names(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	case 2:
		return lang.L("{{.First}} and {{.Second}}", V{"First": names[0], "Second": names[1]})
	default:
		return lang.L("{{.First}} and {{.Count}} others", V{"First": names[0], "Count": len(names) - 1})
	}
}

// Age says how long ago t was, for a narrow column: "now", "5 min", "3 h", "4 d", then the date.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := now.Sub(t); {
	case d < time.Minute:
		return lang.L("now")
	case d < time.Hour:
		return lang.L("{{.N}} min", V{"N": int(d.Minutes())})
	case d < 24*time.Hour:
		return lang.L("{{.N}} h", V{"N": int(d.Hours())})
	case d < 14*24*time.Hour:
		return lang.L("{{.N}} d", V{"N": int(d.Hours() / 24)})
	default:
		return Date(now, t)
	}
}

// Clock writes a time as briefly as is clear: "09:14" today, "Tue 09:14" within a week, otherwise "2 Nov 09:14", in the zone of now.
func Clock(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	clock := t.Format("15:04")
	switch {
	case sameDay(now, t):
		return clock
	case named(now, t):
		return weekday(t) + " " + clock
	case t.Year() == now.Year():
		return Date(now, t) + " " + clock
	default:
		return Date(now, t)
	}
}

// When writes the time at which something happened, like Clock, or by when it had happened.
func When(now time.Time, at office.When) string {
	text := Clock(now, at.Time)
	if at.By && text != "" {
		return Message(message.ByTime(text))
	}
	return text
}

// Since says how long something has been so: "since 09:14", "since Tue 09:14", "since 2 Nov 09:14". Empty if unknown. In some
// languages, a time, a weekday and a date need different words before them.
func Since(now, t time.Time) string {
	when := V{"When": Clock(now, t)}
	switch {
	case t.IsZero():
		return ""
	case sameDay(now, t.In(now.Location())):
		return lang.X("since.time", "since {{.When}}", when)
	case named(now, t):
		return lang.X("since.weekday", "since {{.When}}", when)
	default:
		return lang.X("since.date", "since {{.When}}", when)
	}
}

// named reports whether Clock calls the day of t by its weekday.
func named(now, t time.Time) bool { return now.Sub(t) < 6*24*time.Hour && t.Before(now) }

// Day writes a date with its weekday: "Tue 24 Nov", with the year unless it is the current one.
func Day(now, t time.Time) string {
	return lang.X("date.weekday", "{{.Weekday}} {{.Date}}", V{"Weekday": weekday(t.In(now.Location())), "Date": Date(now, t)})
}

// NamedDay is Day, except that today and yesterday have names.
func NamedDay(now, t time.Time) string {
	t = t.In(now.Location())
	switch {
	case sameDay(now, t):
		return lang.L("Today")
	case sameDay(now.AddDate(0, 0, -1), t):
		return lang.L("Yesterday")
	}
	return Day(now, t)
}

// Date writes a day as briefly as is clear: "24 Nov", with the year unless it is the current one.
func Date(now, t time.Time) string {
	t = t.In(now.Location())
	values := V{"Day": t.Day(), "Month": lang.X("month."+t.Format("Jan"), t.Format("Jan")), "Year": strconv.Itoa(t.Year())}
	if t.Year() != now.Year() {
		return lang.X("date.year", "{{.Day}} {{.Month}} {{.Year}}", values)
	}
	return lang.X("date.day", "{{.Day}} {{.Month}}", values)
}

func weekday(t time.Time) string { return lang.X("weekday."+t.Format("Mon"), t.Format("Mon")) }

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// Languages returns the languages to choose from, as in agent.Settings, without "" for the system's.
func Languages() []string { return []string{"en", "fr", "de", "es"} }

func LanguageName(code string) string {
	return map[string]string{"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español"}[code]
}

// chosen is the current language; nil before the first Use.
var chosen atomic.Pointer[catalogue]

// Code returns the current language, such as "de"; empty before the first Use. It may be called from any goroutine.
func Code() string {
	if c := chosen.Load(); c != nil {
		return c.tag.String()
	}
	return ""
}

// system returns the language that Fyne chose for the system, read from a text that names it in each of our languages. Fyne's own
// lookups always use the system's.
var system = func() string { return "en" }

// hook puts our lookup in front of Fyne's, once, before any text is used. Fyne's lookup functions are variables that its own widgets
// use, too.
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

// Use switches all texts to a language, or to the system's for "" and unknown ones. Texts already on screen do not change. The first
// call must come after Load and before any other use of the package; later ones may come from any goroutine.
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

// catalogue holds the texts of one language and is immutable. A nil catalogue is empty.
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

// say returns a text with its values filled in verbatim; whole numbers get thousands separators. count, which may be nil, selects
// the plural form.
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
	// If a plural form is missing (French and Spanish have one for whole millions), the library uses the form "other" but still
	// returns an error.
	said, _ = c.texts.Localize(&config)
	return said, said != ""
}

// File name patterns have placeholders such as {package}. Settings, commands and administrators' files contain the English names;
// the window shows those of its language and accepts those of all, because the language may change while a pattern is being typed.

// braces matches a placeholder and its content.
var braces = regexp.MustCompile(`\{([^{}]*)\}`)

// Pattern returns a pattern, or a text about one, with placeholders in the window's language.
func Pattern(canonical string) string {
	return replaced(canonical, func(name string) (string, bool) {
		if !known(name) {
			return "", false
		}
		return lang.X("placeholder."+name, name), true
	})
}

// CanonicalPattern returns a pattern as it is stored. Unknown placeholders stay as typed.
func CanonicalPattern(typed string) string {
	return replaced(typed, func(name string) (string, bool) {
		canonical, ok := placeholders()[strings.ToLower(strings.TrimSpace(name))]
		return canonical, ok
	})
}

// Placeholders lists the valid placeholders in the window's language.
func Placeholders() string { return Pattern(strings.Join(office.Placeholders(), " ")) }

func replaced(text string, name func(string) (string, bool)) string {
	return braces.ReplaceAllStringFunc(text, func(hole string) string {
		if other, ok := name(hole[1 : len(hole)-1]); ok {
			return "{" + other + "}"
		}
		return hole
	})
}

// known reports whether a name is canonical. It loads no language, because it is called often during start.
func known(name string) bool { return slices.Contains(office.Placeholders(), "{"+name+"}") }

// placeholders maps the lower-case names of all languages to the canonical ones.
var placeholders = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, code := range Languages() {
		for canonical, name := range placeholdersOf(code) {
			all[strings.ToLower(name)] = canonical
		}
	}
	for _, canonical := range office.Placeholders() {
		canonical = strings.Trim(canonical, "{}")
		all[canonical] = canonical // English is accepted in every language
	}
	return all
})

// placeholdersOf maps the canonical names to those of a language.
func placeholdersOf(code string) map[string]string {
	c, err := load(code)
	if err != nil {
		slog.Error("the placeholders cannot be read", "language", code, "err", err) // cannot happen: a test reads them
	}
	names := map[string]string{}
	for _, canonical := range office.Placeholders() {
		canonical = strings.Trim(canonical, "{}")
		if name, ok := c.say("placeholder."+canonical, nil, nil); ok {
			names[canonical] = name
		}
	}
	return names
}

// Number writes a whole number with the language's thousands separator: "50,000", "50.000".
func Number(n int) string { return numberPrinter().Sprintf("%d", n) }

// Size writes a file size: "840 KB", "2.4 MB", "2,4 Mo".
func Size(bytes int64) string {
	switch {
	case bytes < 1000:
		return lang.L("{{.N}} B", V{"N": bytes})
	case bytes < 1_000_000:
		return lang.L("{{.N}} KB", V{"N": bytes / 1000})
	case bytes < 1_000_000_000:
		return lang.L("{{.N}} MB", V{"N": numberPrinter().Sprintf("%.1f", float64(bytes)/1e6)})
	default:
		return lang.L("{{.N}} GB", V{"N": numberPrinter().Sprintf("%.1f", float64(bytes)/1e9)})
	}
}

func numberPrinter() *numbers.Printer {
	if c := chosen.Load(); c != nil {
		return c.numbers
	}
	return numbers.NewPrinter(language.English)
}
