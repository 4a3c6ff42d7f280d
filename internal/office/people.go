package office

import (
	"net/mail"
	"strings"
)

// ReadPeople reads people from text as mail programs copy it: "Ana Ruiz <ana@example.com>", "Ruiz, Ana <ana@…>", several
// of them separated by commas, semicolons or lines, with or without names. Text that is not wholly made of addresses
// gives nothing.
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

// pieces cuts text at semicolons and lines, and at commas that follow an address: one before it belongs to a name.
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

// splitName splits a name in two: "Ruiz, Ana" at its comma, else the last word is the last name.
func splitName(name string) (s Signer) {
	if last, first, ok := strings.Cut(name, ","); ok {
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

// IsAddress accepts a plain address with a dot in its domain, no display name and no comment (RFC 5322, 3.4.1).
func IsAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text {
		return false
	}
	_, domain, _ := strings.Cut(text, "@")
	return strings.Contains(strings.Trim(domain, "."), ".")
}

// Written is a person as ReadPeople reads one: "Ana Ruiz <ana@example.com>", or the address alone.
func Written(p Signer) string {
	name := p.fullName()
	if name == "" {
		return p.Email
	}
	if split := splitName(name); split.FirstName != p.FirstName || split.LastName != p.LastName {
		name = p.LastName + ", " + p.FirstName // where the last name is more than the last word
	}
	return name + " <" + p.Email + ">"
}
