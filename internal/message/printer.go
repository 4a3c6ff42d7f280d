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

// Printer puts messages into the words of one language. It is safe for concurrent use.
type Printer struct {
	words   *i18n.Localizer
	numbers *numbers.Printer
}

// Languages are the codes that there are words for.
func Languages() (codes []string) {
	entries, err := assets.Messages.ReadDir("messages")
	if err != nil {
		panic(err) // the words travel in the program
	}
	for _, e := range entries {
		codes = append(codes, strings.TrimSuffix(e.Name(), ".json"))
	}
	return codes
}

// The ids of what is put around arguments.
const (
	quoted    = "form.name"
	megabytes = "form.megabytes"
	untitled  = "form.untitled"
	unknown   = "form.unknown"
	day       = "form.day"
	month     = "form.month-" // and its number
)

// NewPrinter is the printer of a language, such as "de". It fails for one without words in assets/messages.
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

// English is the printer of the commands and of the log.
var English = sync.OnceValue(func() *Printer {
	p, err := NewPrinter("en")
	if err != nil {
		panic(err) // the words travel in the program, and a test reads them
	}
	return p
})

// Text is m in one line, empty for nothing. A message that is not in the catalogue, because another version wrote it, says
// so.
func (p *Printer) Text(m Message) string { return strings.ReplaceAll(p.lines(m), "\n", " ") }

// Lines is m in two: what happened, as a headline, and what else there is to say, such as what to do about it.
func (p *Printer) Lines(m Message) (what, next string) {
	what, next, _ = strings.Cut(p.lines(m), "\n")
	return what, strings.ReplaceAll(next, "\n", " ")
}

// lines is m with line ends behind the headline, and between messages that follow each other.
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

// briefs are what lines of a package's history say of it, by the message that also names it.
var briefs = map[string]string{"package.sent-to": "sent-to", "package.package-sent": "sent", "package.signed": "signed", "package.someone-signed": "someone",
	"package.signed-document": "signed-document", "package.someone-signed-document": "someone-signed-document", "package.everyone-signed": "executed",
	"package.everyone-signed-document": "document-called", "package.everyone-signed-a-document": "document", "package.declined": "declined",
	"package.expired": "expired", "folder.saved": "saved", "withdrawal.withdrawn": "withdrawn"}

// Brief is m for where the package's name stands already: "Ana Ruiz signed", not "Ana Ruiz signed “Lease”.". It is Text where
// there is nothing briefer.
func (p *Printer) Brief(m Message) string {
	values := m.values()
	if called := cmp.Or(values["Document"].Name, values["File"].Name); called != nil {
		values["Title"] = value{Text: path.Base(*called)}
	}
	return cmp.Or(p.say("history.history-"+briefs[m.id], values), p.Text(m))
}

// say is a text of the catalogue with its arguments filled in, empty where there is none.
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

// localize returns nothing where there are no words. Where a form is missing (French and Spanish have one for whole
// millions), the library takes the form "other" and reports it all the same.
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

// day is a date in the language's words; what is none stays as it is.
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
