package esign

import (
	"net/url"
	"strings"
	"unicode"

	"countersign/internal/message"
)

// ParseCallback reads the address a browser ended on, as a person pastes it: with spaces or line breaks, quotes or
// angle brackets around it, without the scheme, or only from the question mark on. The error never quotes it.
func ParseCallback(pasted string) (url.Values, error) {
	const op = "reading the pasted address"
	s := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, pasted)
	s = strings.Trim(s, "\"'`<>()[]“”„‘’‚«»‹›")
	s = strings.ReplaceAll(s, "&amp;", "&") // copied out of a page's source
	s, _, _ = strings.Cut(s, "#")
	if _, query, ok := strings.Cut(s, "?"); ok {
		s = query
	}
	values, err := url.ParseQuery(strings.TrimPrefix(s, "&"))
	switch {
	case err != nil, !values.Has("code") && !values.Has("error"):
		return nil, invalid(op, message.WrongAddress())
	case !values.Has("state"):
		return nil, invalid(op, message.IncompleteAddress())
	}
	return values, nil
}
