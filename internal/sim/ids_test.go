package sim

import (
	"strings"
	"testing"
)

// idLength is how long an id (a UUID) is.
const idLength = 36

// isID reports whether text is an id.
func isID(text string) bool {
	if len(text) != idLength {
		return false
	}
	for i := range idLength {
		c := text[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// cutID splits text around its first id; ok is false without one. Everything that is said passes through it.
func cutID(text string) (before, id, after string, ok bool) {
	const first = 8 // a dash
	for from := 0; len(text)-from >= idLength; {
		dash := strings.IndexByte(text[from+first:], '-')
		if dash < 0 {
			break
		}
		if from += dash; len(text)-from >= idLength && isID(text[from:from+idLength]) {
			return text[:from], text[from : from+idLength], text[from+idLength:], true
		}
		from++
	}
	return text, "", "", false
}

// allIDs are the ids in text.
func allIDs(text string) (all []string) {
	for {
		_, id, after, ok := cutID(text)
		if !ok {
			return all
		}
		all, text = append(all, id), after
	}
}

// withoutIDs is text with a * for each id.
func withoutIDs(text string) string {
	var b strings.Builder
	for {
		before, _, after, ok := cutID(text)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte('*')
		text = after
	}
}

func TestIDsAreFound(t *testing.T) {
	const one, two = "d13a5cb5-3288-473e-8ac6-df282ec40018", "00000001-0000-4000-8000-000000000001"
	for text, want := range map[string][2]string{
		"":                                      {"", ""},
		"/packages/" + one + "/status":          {"/packages/*/status", one},
		one + two:                               {"**", one + " " + two},
		"a-b-" + one:                            {"a-b-*", one},
		"0123" + one + "4-":                     {"0123*4-", one},
		strings.ToUpper(one):                    {strings.ToUpper(one), ""},
		one[1:]:                                 {one[1:], ""},
		`{"a":"` + one + `","b":"` + two + `"}`: {`{"a":"*","b":"*"}`, one + " " + two},
	} {
		if got := withoutIDs(text); got != want[0] {
			t.Errorf("%q without ids is %q", text, got)
		}
		if got := strings.Join(allIDs(text), " "); got != want[1] {
			t.Errorf("the ids of %q are %q", text, got)
		}
	}
}
