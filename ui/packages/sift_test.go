package packages

import (
	"testing"

	"countersign/ui/officetest"
)

func TestTabsAndSearchLeaveWhatBelongsThere(t *testing.T) {
	rows := indexed(officetest.Busy().Rows)
	for _, c := range []struct {
		name   string
		tab    int
		search string
		want   string
	}{
		{"waiting", tabWaiting, "", "p2 p1"},
		{"done", tabDone, "", "p3 p4"},
		{"problems", tabProblems, "", ""},
		{"all, also the withdrawn", tabAll, "", "p2 p3 p1 p4 p5"},
		{"a person", tabAll, "åkesson", "p1"},
		{"any case", tabAll, "ÅKESSON", "p1"},
		{"an address", tabAll, "ana.ruiz@", "p1"},
		{"a document", tabAll, "house rules", "p1"},
		{"words in any order", tabAll, "weber lease", "p1"},
		{"nothing", tabAll, "xyz", ""},
	} {
		shown, _ := sift(rows, c.tab, c.search)
		got := ""
		for i, r := range shown {
			if i > 0 {
				got += " "
			}
			got += r.row.ID
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, counts := sift(rows, tabWaiting, ""); counts != [4]int{2, 2, 0, 5} {
		t.Errorf("counts %v", counts)
	}
}
