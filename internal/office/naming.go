package office

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// MaxName is the maximum length of a name, in characters: whoever names a package or signs it decides how long a name is.
const MaxName = 200

// MaxReason is the maximum length of the reason for which somebody declined to sign or withdrew a package, in characters: it is to
// be read to its end.
const MaxReason = 4000

// untitled names the files of a package of which only the id is known.
const untitled = "Untitled package"

// DisplayName is the package's name for people, or "" if only its id is known.
func (p Package) DisplayName() string {
	if p.Name != "" {
		return p.Name
	}
	for _, d := range p.Documents {
		if n := d.DisplayName(); n != "" {
			return n
		}
	}
	return ""
}

// DisplayName is the document's name for people, or "".
func (d Document) DisplayName() string { return cmp.Or(d.Name, d.FileName) }

// DisplayName is the signer's name for people, or else the e-mail address.
func (s Signer) DisplayName() string { return cmp.Or(s.fullName(), s.Email) }

func (s Signer) fullName() string { return strings.TrimSpace(s.FirstName + " " + s.LastName) }

// DocumentName is the name for people of p's document with that id, or "".
func (p Package) DocumentName(id string) string {
	for _, d := range p.Documents {
		if d.ID == id {
			return d.DisplayName()
		}
	}
	return ""
}

// SignerName is the name for people of the signer with that id, or "" if unknown.
func (p Package) SignerName(id string) string {
	for _, s := range slices.Concat(p.Signers, p.Former) {
		if s.ID == id && id != "" {
			return s.DisplayName()
		}
	}
	return ""
}

// cleanNames makes every text in p that came from outside safe to show anywhere.
func (p *Package) cleanNames() {
	texts := []*string{&p.Name, &p.Reference}
	// The slices may be shared with a draft, which must keep the texts as the person typed them.
	p.Signers, p.Former, p.Documents = slices.Clone(p.Signers), slices.Clone(p.Former), slices.Clone(p.Documents)
	for _, people := range [][]Signer{p.Signers, p.Former} {
		for i := range people {
			s := &people[i]
			texts = append(texts, &s.FirstName, &s.LastName, &s.Email)
		}
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		texts = append(texts, &d.Name, &d.FileName)
	}
	for _, t := range texts {
		*t = message.OneLine(*t, MaxName)
	}
}

// FileName makes a safe file name from a name for people.
func FileName(called string) string {
	return filename.File(strings.NewReplacer("/", "-", `\`, "-").Replace(called))
}

// Placeholders lists what a pattern of file names may contain, with braces, in display order.
func Placeholders() []string { return filename.Placeholders() }

// FileTemplate says how to name files; a template that is no longer valid is replaced by the default.
func (s Settings) FileTemplate() filename.Template {
	t, err := filename.Parse(s.NameTemplate)
	if err != nil {
		t, _ = filename.Parse(filename.DefaultTemplate)
	}
	return t
}

// FileFields are the values for the name of a file of d; word is the name of its kind.
func (p Package) FileFields(d Document, kind FileKind, word string) filename.Fields {
	signer := ""
	if len(p.Signers) > 0 {
		signer = p.Signers[0].fullName()
	}
	return filename.Fields{
		Date: p.Executed.Local(), Package: cmp.Or(p.DisplayName(), untitled), Document: d.DisplayName(), Signer: signer,
		Reference: p.Reference, Kind: kind, Word: word,
	}
}

// HasExternalData reports whether the service or a person supplied any; null does not count.
func HasExternalData(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// ExternalMembers are the members of external data, nil if it has none. Some services return it as a string that contains
// the JSON.
func ExternalMembers(data json.RawMessage) (members map[string]json.RawMessage) {
	var inner string
	if json.Unmarshal(data, &inner) == nil {
		data = json.RawMessage(inner)
	}
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	return members
}

// ReferenceIn is the caller's own reference for p, from its external data, which may be just that string.
func ReferenceIn(external json.RawMessage) string {
	members := ExternalMembers(external)
	if members == nil {
		members = map[string]json.RawMessage{"value": external}
	}
	for _, name := range []string{"reference", "value"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// TagAt hides an id of this computer from a service: the tag is always the same at one service and different at every other,
// because nothing from one service may reach another. An empty id has an empty tag.
func TagAt(service, id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id + "\n" + service))
	return hex.EncodeToString(sum[:8])
}
