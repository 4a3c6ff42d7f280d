package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// changes is what is new in p, in one paragraph.
func (p product) changes() (string, error) {
	readme, err := os.ReadFile(filepath.Join(p.root, "README.md"))
	if err != nil {
		return "", err
	}
	return changesIn(string(readme), p.version)
}

// changesIn is what README's changelog says of a version, without its markup; of one that it does not name, the newest entry, for
// that is what a build between releases is.
func changesIn(readme, version string) (string, error) {
	_, list, found := strings.Cut(readme, "\n## Changelog\n")
	if !found {
		return "", errors.New("README.md has no changelog")
	}
	newest := ""
	for entry := range strings.SplitSeq(list, "\n\n") {
		title, text, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(entry), "**"), ".**")
		if !found {
			continue
		}
		text = strings.Join(strings.Fields(text), " ")
		if newest == "" {
			newest = text
		}
		if title == version {
			return text, nil
		}
	}
	if newest == "" {
		return "", errors.New("the changelog in README.md has no entry such as **1.2.0.** What is new")
	}
	return newest, nil
}

// wrapped is text in lines of at most width letters, but for words that are longer.
func wrapped(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
