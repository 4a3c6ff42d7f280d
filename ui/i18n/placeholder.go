package i18n

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
)

// A pattern that names files has placeholders such as {package}. The settings, the commands and the files of
// administrators hold the English ones; the window shows those of its language, and takes those of every language.

// braces is a placeholder with what stands in it.
var braces = regexp.MustCompile(`\{([^{}]*)\}`)

// Pattern is a pattern, or a text about one, with its placeholders in the language of the window.
func Pattern(canonical string) string {
	return replaced(canonical, func(name string) (string, bool) {
		if !known(name) {
			return "", false
		}
		return lang.X("placeholder."+name, name), true
	})
}

// CanonicalPattern is a pattern as it is kept. A placeholder that is none stays as it was typed.
func CanonicalPattern(typed string) string {
	return replaced(typed, func(name string) (string, bool) {
		canonical, ok := placeholders()[strings.ToLower(strings.TrimSpace(name))]
		return canonical, ok
	})
}

// Placeholders lists what a pattern may hold, in the language of the window.
func Placeholders() string { return Pattern(strings.Join(office.Placeholders(), " ")) }

func replaced(text string, name func(string) (string, bool)) string {
	return braces.ReplaceAllStringFunc(text, func(hole string) string {
		if other, ok := name(hole[1 : len(hole)-1]); ok {
			return "{" + other + "}"
		}
		return hole
	})
}

// known says whether a name is a canonical one; it needs no language, and many are asked about at the start.
func known(name string) bool { return slices.Contains(office.Placeholders(), "{"+name+"}") }

// placeholders are the canonical names by those of all languages, in small letters.
var placeholders = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, code := range Languages() {
		for canonical, name := range placeholdersOf(code) {
			all[strings.ToLower(name)] = canonical
		}
	}
	for _, canonical := range office.Placeholders() {
		canonical = strings.Trim(canonical, "{}")
		all[canonical] = canonical // English is taken in every language
	}
	return all
})

// placeholdersOf are the names of a language, by the canonical ones.
func placeholdersOf(code string) map[string]string {
	c, err := load(code)
	if err != nil {
		slog.Error("the placeholders cannot be read", "language", code, "err", err) // a test reads them
	}
	names := map[string]string{}
	for _, canonical := range office.Placeholders() {
		canonical = strings.Trim(canonical, "{}")
		if name, ok := c.say("placeholder."+canonical, nil, nil); ok {
			names[canonical] = name
		}
	}
	return names
}
