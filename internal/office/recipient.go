package office

import (
	"cmp"
	"slices"
	"strings"

	"countersign/internal/message"
)

// Recipient is one person who gets a copy of a package and does not sign it.
type Recipient struct {
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
	Blind     bool   `json:"blind,omitempty"` // the others are not shown that this person gets one (BCC)
}

// Person is r without how r gets the copy.
func (r Recipient) Person() Signer {
	return Signer{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email}
}

// DisplayName is how people know r: by name, else by e-mail address.
func (r Recipient) DisplayName() string { return r.Person().DisplayName() }

// Address is r as it is written: "Ana Ruiz <ana@example.com>", or the address alone.
func (r Recipient) Address() string { return Written(r.Person()) }

// Same reports whether both are the same address; services do not tell them apart by case.
func (r Recipient) Same(email string) bool { return strings.EqualFold(r.Email, email) }

// CopyTo makes recipients of people.
func CopyTo(people []Signer, blind bool) (list []Recipient) {
	for _, p := range people {
		list = append(list, Recipient{p.FirstName, p.LastName, p.Email, blind})
	}
	return list
}

// CheckCopies is the one judgement of who gets a copy of what the signers sign: for each recipient what is wrong, "" for
// nothing. Signing and getting a copy exclude each other, and nobody gets two (service-facts.md, 10). Whatever the case of
// the letters, it is the same address.
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

// Wrong is what people are told of a code of CheckCopies.
func (r Recipient) Wrong(code Code) message.Message {
	switch code {
	case CodeSigns:
		return message.CopySigns(r.DisplayName())
	case CodeTwice:
		return message.CopyTwice(r.DisplayName())
	}
	return message.CopyAddress(r.DisplayName())
}

// StandingCopies are those of the standing recipients who get a copy of what signers sign, beside own. Whoever signs, is named
// already, or is taken off (noCopy are addresses), gets none.
func StandingCopies(standing, own []Recipient, signers []Signer, noCopy []string) (list []Recipient) {
	for i, code := range CheckCopies(slices.Concat(own, standing), signers)[len(own):] {
		if code == "" && !slices.ContainsFunc(noCopy, standing[i].Same) {
			list = append(list, standing[i])
		}
	}
	return list
}

// OwnRecipients are those of d who get a copy beside the standing recipients of the settings.
func (d Draft) OwnRecipients() []Recipient {
	return slices.DeleteFunc(slices.Clone(d.Recipients), func(r Recipient) bool { return slices.ContainsFunc(d.Standing, r.Same) })
}

// CopyStanding has the standing recipients of the settings, as they are now, get a copy of d, and no others that were there
// as such.
func (d *Draft) CopyStanding(standing []Recipient) {
	own := d.OwnRecipients()
	d.Recipients, d.Standing = own, nil
	for _, r := range StandingCopies(standing, own, d.Signers, d.NoCopy) {
		d.Recipients, d.Standing = append(d.Recipients, r), append(d.Standing, r.Email)
	}
}

// Standing are those who get a copy of every package that is sent from here.
func (s Settings) Standing() []Recipient {
	return append(standing(s.CopyTo, false), standing(s.BlindCopyTo, true)...)
}

func standing(written []string, blind bool) (list []Recipient) {
	for _, text := range written {
		people := ReadPeople(text)
		if len(people) == 0 {
			people = []Signer{{Email: text}} // which Check refuses
		}
		list = append(list, CopyTo(people, blind)...)
	}
	return list
}

// checkCopies judges the standing recipients, field by field.
func (s Settings) checkCopies(say func(field string, code Code)) {
	codes := CheckCopies(s.Standing(), nil)
	open := len(standing(s.CopyTo, false))
	say(FieldCopyTo, cmp.Or(codes[:open]...))
	say(FieldBlindCopyTo, cmp.Or(codes[open:]...))
}

// writtenPeople is a list of people as it is kept: one a line, written one way.
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
