package packages

import (
	"context"
	"slices"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/ui/widgets"
	"countersign/ui/words"
)

// news is what Reload reads.
type news struct {
	all    *index
	folder string
}

func (s *Screen) read(context.Context) news {
	return news{newIndex(s.desk.Office.Lines()), s.desk.Office.Settings().SaveTo}
}

// fill shows what was read. The row at the upper edge stays there, unless it is the first: there the newest is what
// people look at.
func (s *Screen) fill(n news) {
	top, hidden := s.list.Top()
	anchor := ""
	if top > 0 && top < len(s.shown) {
		anchor = s.at(top).line.ID
	}
	s.all, s.folder, s.found, s.loaded = n.all, n.folder, nil, true
	s.where.Set(folderText(n.folder))
	s.reveal()
	s.sift()
	if anchor != "" {
		if row := s.rowOf(anchor); row >= 0 {
			top = row
		}
	}
	s.keepOrChooseFirst(false)
	s.list.Renew(s.rowOf(s.chosen), top, hidden)
	s.readPaper()
}

func folderText(folder string) string {
	if folder == "" {
		return lang.L("No folder is chosen yet")
	}
	return lang.L("Folder: {{.Folder}}", words.V{"Folder": folder})
}

// filter applies tab and search after the person changed them, keeps the choice where it can, and shows the result.
func (s *Screen) filter() {
	s.sift()
	s.keepOrChooseFirst(true)
	row := s.rowOf(s.chosen)
	s.list.Renew(row, 0, 0)
	s.list.ScrollTo(row)
	s.readPaper()
}

// sift finds what tab and search leave. A search that goes on from the last one looks only at what that one left.
func (s *Screen) sift() {
	text := s.search.Text
	if s.found == nil || !strings.HasPrefix(text, s.sought) {
		s.found = s.all.search(text, nil)
	} else if text != s.sought {
		s.found = s.all.search(text, s.found)
	}
	s.sought = text
	var counts [tabCount]int
	s.shown, counts = s.all.sort(s.found, s.tabs.Chosen())
	for i, text := range s.tabTexts(counts) {
		s.tabs.Label(i, text)
	}
	if len(s.shown) == 0 {
		widgets.Remake(s.left, s.nothing())
	} else if len(s.left.Objects) == 0 || s.left.Objects[0] != s.list {
		widgets.Remake(s.left, s.list)
	}
}

// keepOrChooseFirst keeps the choice while its row is listed. A package that leaves the tab by itself, because it was
// signed for example, stays the chosen one; after a change by the person the first of the list is chosen instead.
func (s *Screen) keepOrChooseFirst(byPerson bool) {
	if s.chosen != "" && (!byPerson || s.rowOf(s.chosen) >= 0 || s.chosen == s.wanted) {
		if _, listed := s.all.places[s.chosen]; listed || s.chosen == s.wanted {
			return
		}
	}
	s.chosen = ""
	if len(s.shown) > 0 {
		s.chosen = s.at(0).line.ID
	}
}

// rowOf is the row of a package in the list, -1 when tab and search do not leave it.
func (s *Screen) rowOf(id string) int {
	place, known := s.all.places[id]
	if !known {
		return -1
	}
	row, shown := slices.BinarySearch(s.shown, place) // places ascend
	if !shown {
		return -1
	}
	return row
}

func (s *Screen) choose(id string) {
	if s.chosen != id {
		s.chosen = id
		s.readPaper()
	}
}
