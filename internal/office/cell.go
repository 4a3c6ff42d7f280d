package office

import "strings"

// Cell is a text from outside as a cell of a table that a spreadsheet reads: on one line, and nothing in it is taken for a
// formula, at the beginning or behind a character at which another spreadsheet would begin the next cell.
func Cell(text string) string {
	var out strings.Builder
	begins := true
	for _, r := range strings.TrimSpace(text) {
		switch r {
		case '\r', '\n', '\t', '\v', '\f', 0:
			r = ' '
		case '=', '+', '-', '@', '＝', '＋', '－', '＠':
			if begins {
				out.WriteByte('\'')
			}
		}
		out.WriteRune(r)
		switch r {
		case ',', ';', '|':
			begins = true
		case ' ', '"', '\'':
		default:
			begins = false
		}
	}
	return out.String()
}

// Comma is what stands between the cells of a table for the Excel of a language: where the comma is in its numbers, the
// semicolon. A first line "sep=;" would say it to every Excel, which then forgets that the file is UTF-8.
func Comma(language string) byte {
	if language == "en" {
		return ','
	}
	return ';'
}
