package filename

import (
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

// DefaultTemplate is the template of an office that has not chosen one.
const DefaultTemplate = "{package} - {document}"

// MaxDepth limits the subfolders of a template, so that every element of a path keeps a readable length and a sweep knows
// how deep to search.
const MaxDepth = 8

// placeholders are the names that a template may have in braces, in display order.
var placeholders = []string{"date", "month", "year", "package", "document", "signer", "reference", "kind"}

// Placeholders lists what a template may contain, with braces, in display order.
func Placeholders() []string {
	list := make([]string, len(placeholders))
	for i, name := range placeholders {
		list[i] = "{" + name + "}"
	}
	return list
}

// Kind is the kind of a file. Its values are the service's words, and are stored.
type Kind string

const (
	Signed      Kind = "executed"   // the signed document
	Certificate Kind = "cac"        // the certificate that belongs to a document
	Master      Kind = "masterfile" // the whole package in one file
)

// Rank is the position of a kind among the files of a package.
func (k Kind) Rank() int { return slices.Index([]Kind{Signed, Certificate, Master}, k) }

// word is the kind as written in a file name.
func (f Fields) word() string {
	if f.Word != "" {
		return f.Word
	}
	switch f.Kind {
	case Certificate:
		return "certificate"
	case Master:
		return "master file"
	default:
		return "signed"
	}
}

// Fields are the values from which a name is made. Everything but Date and Kind comes from outside and may be hostile.
type Fields struct {
	Date      time.Time // {date} as YYYY-MM-DD in its own location, {month} as YYYY-MM, {year}; empty when zero
	Package   string    // {package}
	Document  string    // {document}, without the extension of its original file (.docx, .pdf)
	Signer    string    // {signer}
	Reference string    // {reference}
	Kind      Kind      // {kind}, or a suffix if the template lacks it
	Word      string    // the name of the kind; English when empty
}

// Template says how to name files. The zero value is [DefaultTemplate]. It is immutable and safe for concurrent use.
type Template struct {
	elements [][]piece // one list of pieces per path element
	kind     bool      // {kind} occurs, so certificates and master files need no suffix
}

// piece is a literal text or, when field is set, a placeholder.
type piece struct {
	literal string
	field   string
}

// Parse reads a template such as "{date}/{package} - {document}". An empty text means [DefaultTemplate]; an extension such
// as ".pdf" is allowed and has no effect.
func Parse(text string) (Template, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = DefaultTemplate
	}
	var t Template
	elements := strings.Split(withoutEnding(text), "/")
	if len(elements) > MaxDepth {
		return Template{}, message.Error(message.PatternTooDeep(MaxDepth-1), nil)
	}
	for _, element := range elements {
		pieces, err := parseElement(element)
		if err != nil {
			return Template{}, err
		}
		t.elements = append(t.elements, pieces)
		t.kind = t.kind || slices.Contains(pieces, piece{field: "kind"})
	}
	return t, nil
}

// parseElement splits one path element into literals and placeholders.
func parseElement(text string) ([]piece, error) {
	switch strings.TrimSpace(text) {
	case "":
		return nil, message.Error(message.PatternEmptyFolder(), nil)
	case ".", "..":
		return nil, message.Error(message.PatternLeavesFolder(text), nil)
	}
	var pieces []piece
	for rest := text; rest != ""; {
		literal, after, opened := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, message.Error(message.PatternNotOpened(), nil)
		}
		if literal != "" {
			pieces = append(pieces, piece{literal: literal})
		}
		if !opened {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, message.Error(message.PatternNotClosed(), nil)
		}
		field := strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(placeholders, field) {
			return nil, message.Error(message.PatternUnknown("{"+name+"}", Placeholders()), nil)
		}
		pieces = append(pieces, piece{field: field})
		rest = next
	}
	return pieces, nil
}

// Name makes the name of a file: a relative path with forward slashes that ends in ".pdf". It is safe on every system and
// leaves room for [Numbered]. If nothing else is left, it is "Document.pdf".
func (t Template) Name(f Fields) string {
	if t.elements == nil {
		t, _ = Parse(DefaultTemplate)
	}
	last := len(t.elements) - 1
	elements := make([]string, len(t.elements))
	for i, pieces := range t.elements {
		elements[i] = harmless(render(pieces, f))
	}
	return assemble(elements[:last], elements[last], t.suffix(f))
}

// suffix distinguishes a certificate or a master file from the document beside it.
func (t Template) suffix(f Fields) string {
	if t.kind || f.Kind != Certificate && f.Kind != Master {
		return ""
	}
	return " - " + flat(f.word())
}

// render fills in one element. If a value is empty, it also drops the separator that would dangle beside it: a master file
// has no document, and "Lease - " is no name. It also avoids "Lease - Lease" for a package named like its document.
func render(pieces []piece, f Fields) string {
	for i := 0; i+2 < len(pieces); i++ {
		if pieces[i].field == "package" && separator(pieces[i+1].literal) && pieces[i+2].field == "document" &&
			strings.EqualFold(f.value("package"), f.value("document")) {
			f.Document = ""
		}
	}
	var out strings.Builder
	missing := false // the last placeholder was empty
	filled := false  // some placeholder before was not
	for i, p := range pieces {
		if p.field == "" {
			if separator(p.literal) && danglesAt(pieces, i, f, missing, filled) {
				continue
			}
			out.WriteString(p.literal)
			continue
		}
		value := f.value(p.field)
		out.WriteString(value)
		missing = value == ""
		filled = filled || !missing
	}
	return out.String()
}

// danglesAt reports whether the separator pieces[i] separates nothing: the value after it is empty, or the one before it is
// and no value came earlier.
func danglesAt(pieces []piece, i int, f Fields, missing, filled bool) bool {
	if i+1 < len(pieces) && f.value(pieces[i+1].field) == "" {
		return true
	}
	return missing && !filled
}

// separator reports whether a literal merely separates two values.
func separator(literal string) bool {
	return strings.Trim(literal, " -_.,;+~\u2013\u2014") == ""
}

// value is a field as text that cannot form a path: see [flat].
func (f Fields) value(field string) string {
	switch field {
	case "date", "month", "year":
		if f.Date.IsZero() {
			return ""
		}
		return f.Date.Format(map[string]string{"date": time.DateOnly, "month": "2006-01", "year": "2006"}[field])
	case "package":
		return flat(withoutEnding(flat(f.Package)))
	case "document":
		return flat(withoutEnding(flat(f.Document)))
	case "signer":
		return flat(f.Signer)
	case "reference":
		return flat(f.Reference)
	case "kind":
		return flat(f.word())
	default:
		return ""
	}
}
