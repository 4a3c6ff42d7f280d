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

// MaxName is how long a name may be, in characters: whoever names a package or signs it decides how long a name is.
const MaxName = 200

// untitled is what files are called of a package of which only the id is known.
const untitled = "Untitled package"

// DisplayName is how people know the package, or "" when only its id is known.
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

// DisplayName is how people know the document, or "".
func (d Document) DisplayName() string { return cmp.Or(d.Name, d.FileName) }

// DisplayName is how people know a signer: by name, else by e-mail address.
func (s Signer) DisplayName() string { return cmp.Or(s.fullName(), s.Email) }

func (s Signer) fullName() string { return strings.TrimSpace(s.FirstName + " " + s.LastName) }

// DocumentName is how people know p's document with that id, or "".
func (p Package) DocumentName(id string) string {
	for _, d := range p.Documents {
		if d.ID == id {
			return d.DisplayName()
		}
	}
	return ""
}

// SignerName is how people know the signer with that id, or "" when nobody does.
func (p Package) SignerName(id string) string {
	i := p.SignerIndex(id)
	if i < 0 || id == "" {
		return ""
	}
	return p.Signers[i].DisplayName()
}

// cleanNames makes every text in p that came from outside fit to be shown anywhere.
func (p *Package) cleanNames() {
	texts := []*string{&p.Name, &p.Reference}
	// The slices may be shared with a draft, whose texts are the person's own.
	p.Signers, p.Documents = slices.Clone(p.Signers), slices.Clone(p.Documents)
	for i := range p.Signers {
		s := &p.Signers[i]
		texts = append(texts, &s.FirstName, &s.LastName, &s.Email)
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		texts = append(texts, &d.Name, &d.FileName)
	}
	for _, t := range texts {
		*t = message.OneLine(*t, MaxName)
	}
}

// FileName makes a safe name of a file of what people call something.
func FileName(called string) string {
	return filename.File(strings.NewReplacer("/", "-", `\`, "-").Replace(called))
}

// Placeholders lists what a pattern of file names may hold, with braces, in the order to show it to people.
func Placeholders() []string { return filename.Placeholders() }

// FileTemplate is how files are named; one that is not understood any more gives way to the default.
func (s Settings) FileTemplate() filename.Template {
	t, err := filename.Parse(s.NameTemplate)
	if err != nil {
		t, _ = filename.Parse(filename.DefaultTemplate)
	}
	return t
}

// FileFields are what the name of a file of d is made of; word is what its kind is called there.
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

// HasExternalData reports whether the service or a person gave any: null is none.
func HasExternalData(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// ExternalMembers are the members of external data, nil where it has none. Some services hand it back as a string that holds the JSON.
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

// ReferenceIn is the caller's own word for p, from its external data, which may be that word.
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

// TagAt stands for an id of this computer's at a service: the same there, and another one at every other service, for nothing of
// one service is to reach another. An empty id has an empty tag.
func TagAt(service, id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id + "\n" + service))
	return hex.EncodeToString(sum[:8])
}
