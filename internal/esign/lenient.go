package esign

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The types in this file decode whatever the service might write for a value. They never fail, because one odd field must
// not hide the rest of an answer.

// text is a string, the digits of a number, or "" for anything else.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case isPlain(b):
		*t = text(b[1 : len(b)-1])
	case json.Unmarshal(b, &s) == nil:
		*t = text(s)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*t = text(b)
	default:
		*t = ""
	}
	return nil
}

// isPlain reports whether b is a JSON string without escapes: nearly all are, and a list has thousands.
func isPlain(b []byte) bool {
	end := len(b) - 1
	if end < 1 || b[0] != '"' || b[end] != '"' {
		return false
	}
	for _, c := range b[1:end] {
		if c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// state is the name of a state, normalized to lower case without surrounding space.
type state string

func (s *state) UnmarshalJSON(b []byte) error {
	var t text
	t.UnmarshalJSON(b)
	*s = state(strings.ToLower(strings.TrimSpace(string(t))))
	return nil
}

// flag is true for true, "true", 1 and "1".
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true", "1":
		*f = true
	default:
		*f = false
	}
	return nil
}

// number is an integer, also written as a string or with a fraction; anything else is 0.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || f < -1<<31 || f > 1<<31 {
		f = 0
	}
	*n = number(f)
	return nil
}

// list is an array, or a single object instead of an array of one. Elements that are not objects are dropped.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, r := range elements(b) {
		var v T
		if len(r) > 0 && r[0] == '{' && json.Unmarshal(r, &v) == nil {
			*l = append(*l, v)
		}
	}
	return nil
}

// elements returns the elements of an array, or b itself.
func elements(b []byte) (raw []json.RawMessage) {
	if json.Unmarshal(b, &raw) != nil {
		return []json.RawMessage{b}
	}
	return raw
}

// stamp is a point in time, zero if missing or unreadable.
type stamp struct{ time.Time }

func (t *stamp) UnmarshalJSON(b []byte) error {
	var s text
	s.UnmarshalJSON(b)
	t.Time, _ = parseTime(string(s))
	return nil
}

var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
}

// parseTime reads ISO 8601 as services write it: any number of fraction digits after a dot or a comma, a space instead of
// the T, with or without an offset. Without one it is UTC (interface.md, "Events").
func parseTime(s string) (time.Time, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if i := strings.IndexAny(s, ".,"); i >= 0 && (i+1 == len(s) || s[i+1] < '0' || s[i+1] > '9') {
		s = s[:i] + s[i+1:] // a dot with no digits after it
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return t.UTC(), true // a year that JSON can represent
		}
	}
	return time.Time{}, false
}

// rawOrNil is nil for null and absent.
func rawOrNil(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

// unwrap returns the object or array that answer holds under the first matching name, otherwise answer itself.
func unwrap(answer []byte, names ...string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return answer
	}
	for _, name := range names {
		if v := fields[name]; len(v) > 0 && (v[0] == '{' || v[0] == '[') {
			return v
		}
	}
	return answer
}
