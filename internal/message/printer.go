package message

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	numbers "golang.org/x/text/message"

	"countersign/assets"
)

// Printer prints messages in one language. It is safe for concurrent use.
type Printer struct {
	words   *i18n.Localizer
	numbers *numbers.Printer
}

func Languages() (codes []string) {
	entries, err := assets.Messages.ReadDir("messages")
	if err != nil {
		panic(err) // the texts are embedded in the program
	}
	for _, e := range entries {
		codes = append(codes, strings.TrimSuffix(e.Name(), ".json"))
	}
	return codes
}

// The ids of the texts around arguments.
const (
	quoted    = "form.name"
	megabytes = "form.megabytes"
	untitled  = "form.untitled"
	unknown   = "form.unknown"
	day       = "form.day"
	month     = "form.month-" // followed by the month's number
)

// NewPrinter returns the printer for a language, such as "de". It fails if assets/messages has no such language.
func NewPrinter(code string) (*Printer, error) {
	tag, err := language.Parse(code)
	if err != nil {
		return nil, fmt.Errorf("read the language %q: %w", code, err)
	}
	data, err := assets.Messages.ReadFile("messages/" + code + ".json")
	if err != nil {
		return nil, err
	}
	bundle := i18n.NewBundle(tag)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	if _, err := bundle.ParseMessageFileBytes(data, code+".json"); err != nil {
		return nil, fmt.Errorf("read the messages of %q: %w", code, err)
	}
	return &Printer{words: i18n.NewLocalizer(bundle, code), numbers: numbers.NewPrinter(tag)}, nil
}

// English prints the commands' output and the log.
var English = sync.OnceValue(func() *Printer {
	p, err := NewPrinter("en")
	if err != nil {
		panic(err) // the texts are embedded in the program, and a test reads them
	}
	return p
})

// Text is m in one line, empty for an empty message. If the catalogue lacks the message, because another version wrote it,
// the text says so.
func (p *Printer) Text(m Message) string { return strings.ReplaceAll(p.lines(m), "\n", " ") }

// Lines splits m in two: the headline, which says what happened, and the rest, such as what to do about it.
func (p *Printer) Lines(m Message) (what, next string) {
	what, next, _ = strings.Cut(p.lines(m), "\n")
	return what, strings.ReplaceAll(next, "\n", " ")
}

// lines is m with a line end after the headline, and between consecutive messages.
func (p *Printer) lines(m Message) string {
	switch m.id {
	case "":
		return ""
	case sentences:
		var all []string
		for _, one := range m.inOrder() {
			all = append(all, p.lines(one))
		}
		return strings.Join(all, "\n")
	}
	if text := p.say(m.id, m.values()); text != "" {
		return text
	}
	return p.localize(i18n.LocalizeConfig{MessageID: unknown, TemplateData: map[string]any{"ID": m.id}})
}

// briefs maps messages that name their package to the shorter ones for the package's own history.
var briefs = map[string]string{"package.sent-to": "sent-to", "package.package-sent": "sent", "package.signed": "signed", "package.someone-signed": "someone",
	"package.signed-document": "signed-document", "package.someone-signed-document": "someone-signed-document", "package.everyone-signed": "executed", "package.completed": "completed",
	"package.everyone-signed-document": "document-called", "package.everyone-signed-a-document": "document", "package.declined": "declined",
	"package.expired": "expired", "folder.saved": "saved", "withdrawal.withdrawn": "withdrawn",
	"files.file-lost": "lost", "files.file-not-as-saved": "changed", "files.file-renamed": "renamed",
	"package.package-created": "created", "package.package-sent-to": "sent-names", "withdrawal.withdrew": "withdrew", "withdrawal.withdrawn-saying": "saying"}

// Brief is m for places that already show the package's name: "Ana Ruiz signed" instead of "Ana Ruiz signed “Lease”.". If
// there is no shorter form, it is Text. Consecutive messages are separated by dots.
func (p *Printer) Brief(m Message) string {
	if m.id == sentences {
		var all []string
		for _, one := range m.inOrder() {
			all = append(all, strings.TrimSuffix(p.Brief(one), "."))
		}
		return strings.Join(all, " · ")
	}
	values, brief := m.values(), briefs[m.id]
	if brief == "withdrew" { // by an account of the office, whose domain says nothing
		who, _, _ := strings.Cut(values["Who"].Text, "@")
		values["Who"] = value{Text: who}
	}
	if called := cmp.Or(values["Document"].Name, values["File"].Name); called != nil {
		values["Title"] = value{Text: path.Base(*called)}
	}
	return cmp.Or(p.say("history.history-"+brief, values), p.say("form."+brief, values), p.Text(m))
}

// say is a text of the catalogue with its arguments filled in, empty if there is none.
func (p *Printer) say(id string, args map[string]value) string {
	config := i18n.LocalizeConfig{MessageID: id}
	values := map[string]any{}
	for name, v := range args {
		values[name] = p.value(v)
		if v.Count != nil {
			config.PluralCount = *v.Count
		}
	}
	config.TemplateData = values
	return p.localize(config)
}

// localize returns "" if there is no text. It ignores errors: if a plural form is missing (French and Spanish have one for
// whole millions), the library uses "other" but still reports an error.
func (p *Printer) localize(config i18n.LocalizeConfig) string {
	text, _ := p.words.Localize(&config)
	return text
}

func (p *Printer) value(v value) string {
	switch {
	case v.Name != nil:
		return p.form(quoted, "Name", *v.Name)
	case v.Package != nil:
		called := *v.Package
		if called == "" {
			called = p.localize(i18n.LocalizeConfig{MessageID: untitled})
		}
		return p.form(quoted, "Name", called)
	case v.Names != nil:
		return strings.Join(v.Names, ", ")
	case v.Count != nil:
		return p.numbers.Sprintf("%d", *v.Count)
	case v.Number != nil:
		return p.numbers.Sprintf("%d", *v.Number)
	case v.Bytes != nil:
		return p.form(megabytes, "N", p.numbers.Sprintf("%d", (*v.Bytes+999_999)/1_000_000))
	case v.Day != "":
		return p.day(v.Day)
	}
	return v.Text
}

// day writes a date in the language's words; anything else stays as it is.
func (p *Printer) day(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return p.localize(i18n.LocalizeConfig{MessageID: day, TemplateData: map[string]any{
		"Day": t.Day(), "Month": p.localize(i18n.LocalizeConfig{MessageID: month + strconv.Itoa(int(t.Month()))}), "Year": t.Year(),
	}})
}

func (p *Printer) form(id, name, text string) string {
	return p.localize(i18n.LocalizeConfig{MessageID: id, TemplateData: map[string]any{name: text}})
}
