package packages

import (
	"strings"

	"countersign/internal/agent"
	"countersign/ui/words"
)

// The tabs, in their order.
const (
	tabWaiting = iota
	tabDone
	tabProblems
	tabAll
)

// listed is a package with what never changes while it is listed: its place and its text for the search.
type listed struct {
	row  agent.PackageRow
	text string // lower case
}

// indexed prepares packages for search. It runs off the window's goroutine, so that a key stroke only compares.
func indexed(rows []agent.PackageRow) []listed {
	all := make([]listed, len(rows))
	var b strings.Builder
	for i, row := range rows {
		b.Reset()
		b.WriteString(row.Name)
		for _, s := range row.Signers {
			b.WriteString("\n" + s.FirstName + " " + s.LastName + "\n" + s.Email)
		}
		for _, d := range row.Documents {
			b.WriteString("\n" + d.Name + "\n" + d.FileName)
		}
		all[i] = listed{row, strings.ToLower(b.String())}
	}
	return all
}

// sift returns what belongs into a tab and has all words of the search, and how many match in every tab.
func sift(rows []listed, tab int, search string) (shown []listed, counts [4]int) {
	wanted := strings.Fields(strings.ToLower(search))
	for _, r := range rows {
		if !matches(r.text, wanted) {
			continue
		}
		for t := range counts {
			if !inTab(t, r.row) {
				continue
			}
			counts[t]++
			if t == tab {
				shown = append(shown, r)
			}
		}
	}
	return shown, counts
}

func matches(text string, wanted []string) bool {
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func inTab(tab int, row agent.PackageRow) bool {
	switch standing := words.StandingOf(row); tab {
	case tabWaiting:
		return standing == words.Open
	case tabDone:
		return standing == words.Saving || standing == words.Saved
	case tabProblems:
		return standing == words.Wrong
	default:
		return true
	}
}
