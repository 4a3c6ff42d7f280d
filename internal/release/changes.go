package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// changes is what is new in p, in one paragraph.
func (p product) changes() (string, error) {
	changes, err := os.ReadFile(filepath.Join(p.root, "assets", "docs", "changes.md"))
	if err != nil {
		return "", err
	}
	return changesIn(string(changes), p.version)
}

// changesIn is what changes.md says of a version, without its markup; of one that it does not name, the newest entry, for
// that is what a build between releases is.
func changesIn(changes, version string) (string, error) {
	_, list, found := strings.Cut(changes, "# Changes\n")
	if !found {
		return "", errors.New("changes.md does not begin with # Changes")
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
		return "", errors.New("changes.md has no entry such as **1.2.0.** What is new")
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
