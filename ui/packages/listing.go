package packages

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// news is what Reload reads.
type news struct {
	all     *index // nil when these alone are new or changed:
	changed []office.PackedLine
	version uint64
	drafts  []listed
	folder  string
}

func (s *Screen) read(context.Context) (news, error) {
	waiting, err1 := s.env.Office.Drafts()
	version := s.version.Load()
	now, order, settings := s.env.Now(), *s.order.Load(), s.env.Office.Settings()
	days := settings.SoonDays()
	if *s.made.Load() != (making{dayNumber(now), days, order}) {
		version = 0
	}
	lines, err2 := s.env.Office.LinesSince(version)
	if err := cmp.Or(err1, err2); err != nil {
		return news{}, err
	}
	var drafts []listed
	for _, d := range slices.Backward(waiting) {
		drafts = append(drafts, draftRow(d))
	}
	n := news{version: lines.Version, drafts: drafts, folder: settings.SaveTo}
	if lines.All {
		n.all = newIndexAt(now, days, order, lines.Lines)
	} else {
		n.changed = lines.Lines
	}
	return n, nil
}

// making is what an index was made for: what is due soon is of a day and of the settings, and the order is part of it.
type making struct {
	day   int64
	days  int // before its due date a package is due soon
	order order
}

// isAnotherDay says whether the list was judged on a day that is over.
func (s *Screen) isAnotherDay() bool { return s.made.Load().day != dayNumber(s.env.Now()) }

// dayNumber tells the days of a calendar apart.
func dayNumber(t time.Time) int64 { return int64(t.Year())*1000 + int64(t.YearDay()) }

// awaitMidnight judges the list anew whenever a day begins. A computer that sleeps through that does so once it is told of
// the next thing.
func (s *Screen) awaitMidnight() {
	now := s.env.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
	s.env.Later(midnight.Sub(now)+time.Second, func() {
		s.Reload()
		s.awaitMidnight()
	})
}

// fill shows what was read. The row at the upper edge stays there, unless it is the first: there the newest is what
// people look at. When nothing could be read, what was there stays, and health says why; before, the screen does.
func (s *Screen) fill(n news, err error) {
	if err != nil {
		if !s.loaded {
			widgets.Remake(s.left, widgets.Failure(i18n.Error(err), s.Reload))
		}
		return
	}
	if n.all == nil && s.version.Load() == 0 { // the index is being prepared
		s.Reload()
		return
	}
	anchor, top, hidden := s.anchor()
	above := 0 // rows between the upper edge and the anchor
	if n.all != nil && n.all.order != s.all.order {
		anchor, top, above = s.resorted(top)
	}
	s.drafts, s.folder, s.loaded = n.drafts, n.folder, true
	if n.all != nil {
		s.replace(n.all, n.version)
	} else {
		s.change(n.changed, n.version)
	}
	s.where.Set(folderText(n.folder))
	s.tellStuck(n.all != nil)
	s.reveal()
	s.settle(anchor, above, top, hidden)
}

// resorted is the anchor for another order: the chosen row where it is in sight, or else the top of the list.
func (s *Screen) resorted(top int) (anchor string, newTop, above int) {
	row := s.rowOf(s.chosen)
	if row < top || row > s.list.Bottom() {
		return "", 0, 0
	}
	return s.chosen, top, row - top
}

// replace takes another index.
func (s *Screen) replace(all *index, version uint64) {
	s.all, s.found = all, nil
	s.made.Store(&making{dayNumber(all.at), all.days, all.order})
	s.version.Store(version)
	if s.resting {
		all.texts = new(folded) // its order may have needed them
	} else {
		s.prepare()
	}
}

// prepare makes the index ready before somebody searches. Until then, a change is not worked into it.
func (s *Screen) prepare() {
	all, texts, version := s.all, s.all.texts, s.version.Swap(0)
	async.Try(s.env.Work, func(context.Context) error { texts.prepare(all); return nil }, func(error) {
		if s.all == all && all.texts == texts {
			s.version.Store(version)
		}
	})
}

// Rest lets go of what nobody needs while the window is closed. What is listed goes on to follow the office.
func (s *Screen) Rest() {
	s.resting = true
	s.all.texts = new(folded)
}

// Return ends Rest.
func (s *Screen) Return() {
	if s.resting {
		s.resting = false
		s.prepare()
	}
}

// change works new and changed packages into what is shown, without a look at the others.
func (s *Screen) change(lines []office.PackedLine, version uint64) {
	wanted, wish := strings.Fields(office.Fold(s.sought)), s.wish()
	slices.SortStableFunc(lines, func(a, b office.PackedLine) int { return a.Created().Compare(b.Created()) })
	for _, l := range lines {
		line, _ := l.Unpack()
		if place, known := s.all.places[line.ID]; known {
			s.shown = s.all.without(s.shown, place) // while it still is what it is sorted by
		}
		place, was, known, ok := s.all.put(l)
		if !ok {
			s.version.Store(0)
			s.Reload()
			return
		}
		left := wish(place)
		if s.among != nil {
			s.among = withPlace(s.among, place, left)
		}
		now, fits := s.all.rows[place].sorted, left && s.all.has(place, wanted)
		if _, found := slices.BinarySearch(s.found, place); found && known {
			s.match.add(was, -1)
		}
		if fits {
			s.match.add(now, 1)
		}
		s.found = withPlace(s.found, place, fits)
		if fits && now.in(s.tab) {
			s.shown = s.all.with(s.shown, place)
		}
	}
	s.version.Store(version)
}

// withPlace is places, which ascend, with or without one of them.
func withPlace(places []int32, place int32, with bool) []int32 {
	i, there := slices.BinarySearch(places, place)
	switch {
	case with && !there:
		return slices.Insert(places, i, place)
	case !with && there:
		return slices.Delete(places, i, i+1)
	}
	return places
}

// relist shows the rows anew after those above the packages have changed.
func (s *Screen) relist() {
	anchor, top, hidden := s.anchor()
	s.settle(anchor, 0, top, hidden)
}

// anchor is the row at the upper edge, unless it is the first, and how the list is scrolled.
func (s *Screen) anchor() (id string, top int, hidden float32) {
	top, hidden = s.list.Top()
	if top > 0 && top < s.rows() {
		id = s.at(top).line.ID
	}
	return id, top, hidden
}

// settle applies the tab and the search to packages that have changed. The anchor, which may be empty, stays so many rows
// below the upper edge.
func (s *Screen) settle(anchor string, above, top int, hidden float32) {
	if s.found == nil || s.tab != s.tabs.Chosen() || s.sought != s.search.Text {
		s.filter()
	} else {
		s.present()
	}
	if anchor != "" {
		if row := s.rowOf(anchor); row >= 0 {
			top = max(0, row-above)
		}
	}
	s.keepOrChooseFirst(false)
	s.list.Renew(s.rowOf(s.chosen), top, hidden)
	s.readRecord()
}

func folderText(folder string) string {
	if folder == "" {
		return lang.L("No folder is chosen yet")
	}
	return filepath.Base(folder) // where it is, the folder shows that opens
}

// refilter applies tab and search after the person changed them, keeps the choice where it can, and shows the result.
func (s *Screen) refilter() {
	s.filter()
	s.keepOrChooseFirst(true)
	row := s.rowOf(s.chosen)
	s.list.Renew(row, 0, 0)
	s.list.ScrollTo(row)
	s.readRecord()
}

// filter finds what tab and search leave. A search that goes on from the last one looks only at what that one left.
func (s *Screen) filter() {
	text := s.search.Text
	if s.found == nil {
		s.among = nil
		if s.isNarrowed() {
			s.among = s.all.search("", s.wish(), nil)
		}
	}
	if s.found == nil || !strings.HasPrefix(text, s.sought) {
		s.found = s.all.search(text, nil, s.among)
	} else if text != s.sought {
		s.found = s.all.search(text, nil, s.found)
	}
	s.sought, s.tab = text, s.tabs.Chosen()
	s.shown, s.match = s.all.sort(s.found, s.tab)
	s.present()
}

// present puts what stands above the packages before what tab and search leave of them, and counts both.
func (s *Screen) present() {
	s.counts = s.match
	s.heads = s.headsOf(s.sought, s.headWish(), s.tab, &s.counts)
	s.tabs.Offer(tabWithdrawn, s.counts[tabWithdrawn] > 0 || s.tabs.Chosen() == tabWithdrawn)
	s.tabs.Offer(tabDue, s.counts[tabDue] > 0 || s.tabs.Chosen() == tabDue)
	s.tabs.Offer(tabArchived, s.counts[tabArchived] > 0 || s.tabs.Chosen() == tabArchived)
	s.tabs.Keep(tabProblems, s.counts[tabProblems] > 0)
	s.tabs.Label(s.tabTexts())
	if s.rows() == 0 {
		widgets.Remake(s.left, s.nothing())
	} else if len(s.left.Objects) == 0 || s.left.Objects[0] != s.list {
		widgets.Remake(s.left, s.list)
	}
}

// keepOrChooseFirst keeps the choice while its row is listed. A package that leaves the tab by itself, because it was
// signed for example, stays the chosen one; after a change by the person the first of the list is chosen instead.
func (s *Screen) keepOrChooseFirst(byPerson bool) {
	if s.chosen != "" && (!byPerson || s.rowOf(s.chosen) >= 0 || s.chosen == s.wanted) {
		if s.isKnown(s.chosen) || s.chosen == s.wanted {
			return
		}
	}
	s.chosen = ""
	if s.rows() > 0 {
		s.chosen = s.at(0).line.ID
	}
}

// isKnown says whether there is a package, an issue or a draft of that id.
func (s *Screen) isKnown(id string) bool {
	_, listed := s.all.places[id]
	_, head := s.headOfID(id)
	return listed || head
}

// rowOf is the row of an id in the list, -1 when tab and search do not leave it.
func (s *Screen) rowOf(id string) int {
	if row := slices.IndexFunc(s.heads, func(r listed) bool { return r.line.ID == id }); row >= 0 {
		return row
	}
	place, known := s.all.places[id]
	if !known {
		return -1
	}
	row, shown := s.all.find(s.shown, place)
	if !shown {
		return -1
	}
	return s.rows() - 1 - row
}

func (s *Screen) choose(id string) {
	if s.chosen != id {
		s.chosen = id
		s.readRecord()
	}
}
