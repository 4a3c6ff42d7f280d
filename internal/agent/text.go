package agent

import (
	"slices"
	"strings"
	"unicode"

	"countersign/internal/office"
	"countersign/internal/store"
)

// How long texts may be, in characters: whoever names a package or signs it decides how long a name is.
const (
	maxName     = 200
	maxTitle    = 300
	maxBody     = 600
	maxActivity = 1000
)

// oneLine makes a text from outside one line of at most most characters: line ends and odd spaces become spaces;
// control, bidirectional and invisible characters go. What a way to the screen may take for more than text is that
// way's matter (package notify).
func oneLine(s string, most int) string {
	if len(s) <= most && plainText(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case joiner(r):
			return r
		case unicode.Is(unicode.C, r), invisible(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}

// plainText reports whether s is printable ASCII without a space too many.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == strings.TrimSpace(s) && !strings.Contains(s, "  ")
}

// joiner is a character without width that some scripts are written with.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// invisible is a character that shows as nothing, or as a blank, without being a space.
func invisible(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0', '\ufffc', '\ufffd':
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}

// cleanNames makes every text in p that came from outside fit to be shown anywhere.
func cleanNames(p *office.Package) {
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
		*t = oneLine(*t, maxName)
	}
}

// quote sets a name in typographic quotation marks.
func quote(s string) string { return "“" + oneLine(s, maxName) + "”" }

// addActivity adds a line to the activity list, as one line.
func addActivity(tx *store.Tx, x office.Activity) error {
	x.Text = oneLine(x.Text, maxActivity)
	return tx.AddActivity(x)
}
