package office

import (
	"cmp"
	"net/mail"
	"slices"
	"strings"

	"countersign/internal/message"
)

// ReadPeople reads people from text as mail programs copy it: "Ana Ruiz <ana@example.com>", "Ruiz, Ana <ana@…>", several of
// them separated by commas, semicolons or line breaks, with or without names. Text that contains anything else yields
// nothing.
func ReadPeople(text string) (people []Signer) {
	for _, piece := range pieces(text) {
		signer, ok := address(piece)
		if !ok {
			return nil
		}
		people = append(people, signer)
	}
	return people
}

// pieces splits text at semicolons and line breaks, and at commas after an address: a comma before the address belongs to
// the name.
func pieces(text string) (list []string) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";\n\r\t", r) }) {
		begun := ""
		for _, piece := range strings.Split(part, ",") {
			if begun != "" {
				begun += ","
			}
			if begun += piece; strings.Contains(piece, "@") {
				list = append(list, strings.TrimSpace(begun))
				begun = ""
			}
		}
		if begun = strings.TrimSpace(begun); begun != "" {
			list = append(list, begun)
		}
	}
	return list
}

func address(piece string) (Signer, bool) {
	name, email, named := strings.Cut(piece, "<")
	if !named {
		return Signer{Email: piece}, IsAddress(piece)
	}
	email, rest, closed := strings.Cut(email, ">")
	email = strings.TrimSpace(email)
	if !closed || strings.TrimSpace(rest) != "" || !IsAddress(email) {
		return Signer{}, false
	}
	signer := splitName(strings.Trim(strings.TrimSpace(name), `"'“”`))
	signer.Email = email
	return signer, true
}

// splitName splits a name in two: "Ruiz, Ana" at its comma, unless there is an address, otherwise before the last word.
func splitName(name string) (s Signer) {
	if last, first, ok := strings.Cut(name, ","); ok && !strings.Contains(name, "@") {
		s.FirstName, s.LastName = strings.TrimSpace(first), strings.TrimSpace(last)
		return s
	}
	words := strings.Fields(name)
	if len(words) < 2 {
		s.FirstName = name
		return s
	}
	last := len(words) - 1
	s.FirstName, s.LastName = strings.Join(words[:last], " "), words[last]
	return s
}

// IsAddress accepts a plain address with a dot in its domain and without display name or comment (RFC 5322, 3.4.1).
func IsAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text {
		return false
	}
	_, domain, _ := strings.Cut(text, "@")
	return strings.Contains(strings.Trim(domain, "."), ".")
}

// Written is a person in the form that ReadPeople reads: "Ana Ruiz <ana@example.com>", or just the address.
func Written(p Signer) string {
	name := p.fullName()
	if name == "" {
		return p.Email
	}
	if splitName(name).LastName != p.LastName {
		name = p.LastName + ", " + p.FirstName // if the last name has more than one word
	}
	return name + " <" + p.Email + ">"
}

// Recipient is a person who gets a copy of a package and does not sign it.
type Recipient struct {
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
	Blind     bool   `json:"blind,omitempty"` // the others do not see this recipient (BCC)
}

// Person is r as a Signer, without the kind of copy.
func (r Recipient) Person() Signer {
	return Signer{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email}
}

// DisplayName is r's name for people, or else the e-mail address.
func (r Recipient) DisplayName() string { return r.Person().DisplayName() }

// Address is r as "Ana Ruiz <ana@example.com>", or just the address.
func (r Recipient) Address() string { return Written(r.Person()) }

// Same reports whether both addresses are equal, ignoring case, as services do.
func (r Recipient) Same(email string) bool { return strings.EqualFold(r.Email, email) }

func CopyTo(people []Signer, blind bool) (list []Recipient) {
	for _, p := range people {
		list = append(list, Recipient{p.FirstName, p.LastName, p.Email, blind})
	}
	return list
}

// CheckCopies returns for each recipient what is wrong, "" for nothing. A signer cannot also get a copy, and nobody gets two
// (service-facts.md, 10). Addresses are compared ignoring case. No other code checks recipients.
func CheckCopies(recipients []Recipient, signers []Signer) []Code {
	codes := make([]Code, len(recipients))
	for i, r := range recipients {
		switch {
		case r.Email == "":
			codes[i] = CodeMissing
		case !IsAddress(r.Email):
			codes[i] = CodeForm
		case slices.ContainsFunc(signers, func(s Signer) bool { return r.Same(s.Email) }):
			codes[i] = CodeSigns
		case slices.ContainsFunc(recipients[:i], func(before Recipient) bool { return r.Same(before.Email) }):
			codes[i] = CodeTwice
		}
	}
	return codes
}

// Wrong is the message for people of a code of CheckCopies.
func (r Recipient) Wrong(code Code) message.Message {
	switch code {
	case CodeSigns:
		return message.CopySigns(r.DisplayName())
	case CodeTwice:
		return message.CopyTwice(r.DisplayName())
	}
	return message.CopyAddress(r.DisplayName())
}

// DefaultCopies are those default recipients who get a copy of what signers sign, besides own. It leaves out people who
// sign, who are already in own, and whose address is in noCopy.
func DefaultCopies(defaults, own []Recipient, signers []Signer, noCopy []string) (list []Recipient) {
	for i, code := range CheckCopies(slices.Concat(own, defaults), signers)[len(own):] {
		if code == "" && !slices.ContainsFunc(noCopy, defaults[i].Same) {
			list = append(list, defaults[i])
		}
	}
	return list
}

// OwnRecipients are the recipients of d that do not come from the settings.
func (d Draft) OwnRecipients() []Recipient {
	return slices.DeleteFunc(slices.Clone(d.Recipients), func(r Recipient) bool { return slices.ContainsFunc(d.DefaultRecipients, r.Same) })
}

// CopyDefaultRecipients replaces the default recipients of d by the current ones of the settings.
func (d *Draft) CopyDefaultRecipients(defaults []Recipient) {
	own := d.OwnRecipients()
	d.Recipients, d.DefaultRecipients = own, nil
	for _, r := range DefaultCopies(defaults, own, d.Signers, d.NoCopy) {
		d.Recipients, d.DefaultRecipients = append(d.Recipients, r), append(d.DefaultRecipients, r.Email)
	}
}

// DefaultRecipients are the people who get a copy of every package sent from here.
func (s Settings) DefaultRecipients() []Recipient {
	return append(recipientsIn(s.CopyTo, false), recipientsIn(s.BlindCopyTo, true)...)
}

func recipientsIn(written []string, blind bool) (list []Recipient) {
	for _, text := range written {
		people := ReadPeople(text)
		if len(people) == 0 {
			people = []Signer{{Email: text}} // Check will reject it
		}
		list = append(list, CopyTo(people, blind)...)
	}
	return list
}

// checkCopies reports what is wrong with the default recipients, field by field.
func (s Settings) checkCopies(say func(field string, code Code)) {
	codes := CheckCopies(s.DefaultRecipients(), nil)
	open := len(recipientsIn(s.CopyTo, false))
	say(FieldCopyTo, cmp.Or(codes[:open]...))
	say(FieldBlindCopyTo, cmp.Or(codes[open:]...))
}

// writtenPeople normalizes a list of people: one in each element, all in the same form.
func writtenPeople(list []string) (kept []string) {
	for _, text := range list {
		people := ReadPeople(text)
		for _, p := range people {
			kept = append(kept, Written(p))
		}
		if text = strings.TrimSpace(text); len(people) == 0 && text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// Status is the state of a package in terms people understand, whatever the service calls it. The commands print these words
// for programs, so they are stable.
type Status string

const (
	StatusWaiting   Status = "waiting"   // somebody still has to sign
	StatusDone      Status = "done"      // signed by everyone
	StatusDeclined  Status = "declined"  // a signer declined to sign
	StatusExpired   Status = "expired"   // the due date passed first
	StatusWithdrawn Status = "withdrawn" // by the office
	StatusProblem   Status = "problem"   // the service does not show it, or its files cannot be saved
)

// Status is the state of the package. Only this method decides it, for the window and the commands. The service's words for
// its states are in service-facts.md, section 5; unknown ones count as waiting.
func (l PackageLine) Status() Status {
	switch {
	case l.Problem:
		return StatusProblem
	case l.State == PackageExecuted || !l.Executed.IsZero():
		return StatusDone
	case l.State == PackageRescinded:
		return StatusWithdrawn
	case l.Gone:
		return StatusProblem
	case l.State == PackageExpired:
		return StatusExpired
	case l.Refused():
		return StatusDeclined
	}
	return StatusWaiting
}

// Refused reports whether a signer declined, so that nobody can complete the package as it is.
func (l PackageLine) Refused() bool { return l.Declined || l.State == "declined" }

// Status is the state of p, see PackageLine.Status.
func (p Package) Status() Status { return p.Line().Status() }

type SignerStatus string

const (
	SignerSigned   SignerStatus = "signed"
	SignerDeclined SignerStatus = "declined"
	SignerMissed   SignerStatus = "missed" // the package ended without the signature
	SignerNext     SignerStatus = "next"   // it is their turn
	SignerLater    SignerStatus = "later"  // it is not their turn yet
)

// SomeoneDeclined reports whether a signer of p declined, and has not signed after all.
func (p Package) SomeoneDeclined() bool {
	return slices.ContainsFunc(p.Signers, func(s Signer) bool { return !s.Declined.IsZero() && !p.Signed(s) })
}

// StatusOf is the state of a signer of p, and how many documents this person has signed.
func (p Package) StatusOf(signer Signer) (part SignerStatus, signed int) {
	for _, d := range p.Documents {
		if signer.ID != "" && slices.Contains(d.SignedBy, signer.ID) {
			signed++
		}
	}
	switch {
	case p.Signed(signer):
		return SignerSigned, signed
	case !signer.Declined.IsZero():
		return SignerDeclined, signed
	case p.State.Over(), p.Gone, p.State == "declined" && !p.SomeoneDeclined():
		return SignerMissed, signed
	case slices.Contains(p.Next(), signer):
		return SignerNext, signed
	}
	return SignerLater, signed
}

// StillSigns reports whether a signer of p still has something to sign, now or later.
func (p Package) StillSigns(signer Signer) bool {
	part, _ := p.StatusOf(signer)
	return p.Status() == StatusWaiting && p.State.CanBeWithdrawn() && (part == SignerNext || part == SignerLater)
}
