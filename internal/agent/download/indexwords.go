package download

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

// indexWords are how an index is written in the language of an office. One that was begun in another keeps its own.
type indexWords struct {
	*message.Printer
	comma byte
}

// printers are those of all languages.
var printers = sync.OnceValue(func() map[string]*message.Printer {
	all := map[string]*message.Printer{}
	for _, code := range message.Languages() {
		p, err := message.NewPrinter(code)
		if err != nil {
			panic(err) // the words travel in the program, and a test reads them
		}
		all[code] = p
	}
	return all
})

func (r *Service) indexWords(s office.Settings) indexWords {
	code := cmp.Or(s.Language, r.deps.Language(), "en")
	p, known := printers()[code]
	if !known {
		p, code = printers()["en"], "en"
	}
	return indexWords{p, office.Comma(code)}
}

// titles are those of the columns but the last, which archive knows.
func (w indexWords) titles() (list []string) {
	for _, m := range []message.Message{message.IndexSaved(), message.IndexPackage(), message.IndexPeople(), message.IndexSent(),
		message.IndexSigned(), message.IndexNumber(), message.IndexFile()} {
		list = append(list, w.Text(m))
	}
	return list
}

// line is a file's.
func (w indexWords) line(p office.Package, j office.Job, path, sum string) []string {
	var people []string
	for _, s := range p.Signers {
		who := strings.NewReplacer(",", " ", ";", " ").Replace(s.DisplayName())
		if when := w.when(p.SignedAt(s.ID)); when != "" {
			who += " (" + when + ")"
		}
		people = append(people, who)
	}
	return []string{w.when(office.When{Time: j.Done, By: j.Found}), office.Cell(p.DisplayName()), office.Cell(strings.Join(people, " / ")), w.when(p.Sent()),
		w.when(p.Executed), office.Cell(j.PackageID), path, sum}
}

// when is a time in a cell; empty where it is not known.
func (w indexWords) when(at office.When) string {
	text := indexTime(at.Time)
	if at.By {
		text = w.Text(message.ByTime(text))
	}
	return text
}

// indexTime is a time of this computer's zone as a spreadsheet of every language reads it.
func indexTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}
