package compose

import (
	"net/mail"
	"strings"

	"countersign/internal/office"
)

// addresses reads people from text as mail programs copy it: "Ana Ruiz <ana@example.com>", "Ruiz, Ana <ana@…>", several
// of them separated by commas, semicolons or lines, with or without names. Text that is not wholly made of addresses
// gives nothing.
func addresses(text string) (people []office.Signer) {
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

func address(piece string) (office.Signer, bool) {
	name, email, named := strings.Cut(piece, "<")
	if !named {
		return office.Signer{Email: piece}, isAddress(piece)
	}
	email, rest, closed := strings.Cut(email, ">")
	email = strings.TrimSpace(email)
	if !closed || strings.TrimSpace(rest) != "" || !isAddress(email) {
		return office.Signer{}, false
	}
	signer := splitName(strings.Trim(strings.TrimSpace(name), `"'“”`))
	signer.Email = email
	return signer, true
}

// splitName splits a name in two: "Ruiz, Ana" at its comma, else the last word is the last name.
func splitName(name string) (s office.Signer) {
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

// isAddress accepts a plain address with a dot in its domain, no display name and no comment (RFC 5322, 3.4.1).
func isAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text {
		return false
	}
	_, domain, _ := strings.Cut(text, "@")
	return strings.Contains(strings.Trim(domain, "."), ".")
}
