package env

import (
	"net/url"
	"strings"
)

// Mailto is the address of a letter to write in the mail program (RFC 6068), to somebody or, where to is empty, to nobody
// yet. Spaces and line ends are escaped, not written as a form does.
func Mailto(to, subject, text string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	to = strings.ReplaceAll(escape(to), "%40", "@")
	return "mailto:" + to + "?subject=" + escape(subject) + "&body=" + escape(strings.ReplaceAll(text, "\n", "\r\n"))
}
