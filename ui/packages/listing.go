package packages

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type packageList struct {
	all     *index
	found   []int32                // places in all that narrowed and the search leave; nil while that is not known
	sought  string                 // the search that left them
	shown   []int32                // what the tab leaves of them; the last one is the newest, the first of the list
	tab     int                    // the tab that left them
	match   counts                 // how much of what the search leaves is in each tab
	drafts  []listed               // what waits to be sent, the newest first
	heads   []listed               // what tab and search leave of them; they stand above the packages
	counts  counts                 // match and what stands above the packages
	chosen  string                 // id of its row
	lost    map[string]bool        // packages of which saved files were looked for, and not found
	wanted  string                 // chosen before it was listed: it goes to a tab that shows it
	left    string                 // a draft that was chosen when it left the outbox
	before  string                 // chosen when a search or a tab hid its row
	loaded  bool                   // the office has told: before, an empty list says nothing
	version atomic.Uint64          // of what all holds, once it is prepared; 0 before
	made    atomic.Pointer[making] // what all was made for
	list    *widgets.List
	side    *fyne.Container // the list, or why there is none
}

type news struct {
	all     *index // nil when these alone are new or changed:
	changed []office.PackedLine
	version uint64
	drafts  []listed
	folder  string
	folders map[string]string
}

func (s *Screen) read(context.Context) (news, error) {
	waiting, err1 := s.office.Drafts()
	version := s.version.Load()
	now, order, settings := s.env.Now(), *s.order.Load(), s.office.Settings()
	days := settings.SoonDays()
	if *s.made.Load() != (making{dayNumber(now), days, order}) {
		version = 0
	}
	lines, err2 := s.office.LinesSince(version)
	folders, err3 := s.office.HotFolders()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return news{}, err
	}
	var drafts []listed
	for _, d := range slices.Backward(waiting) {
		drafts = append(drafts, draftRow(d))
	}
	n := news{version: lines.Version, drafts: drafts, folder: settings.SaveTo, folders: map[string]string{}}
	for _, f := range folders {
		n.folders[f.ID] = filepath.Base(f.Path)
	}
	if lines.All {
		n.all = newIndex(now, days, order, lines.Lines)
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
			widgets.Remake(s.side, widgets.Failure(i18n.Error(err), s.Reload))
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
	s.drafts, s.folder, s.folders, s.loaded = n.drafts, n.folder, n.folders, true
	if n.all != nil {
		s.replace(n.all, n.version)
	} else {
		s.change(n.changed, n.version)
	}
	s.where.Set(folderText(n.folder))
	if s.OnListed != nil {
		s.OnListed()
	}
	s.reveal()
	s.settle(anchor, above, top, hidden)
}

// resorted is the anchor for another order: the chosen row where it is in sight, or else the top of the list.
func (l *packageList) resorted(top int) (anchor string, newTop, above int) {
	row := l.rowOf(l.chosen)
	if row < top || row > l.list.Bottom() {
		return "", 0, 0
	}
	return l.chosen, top, row - top
}

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

func (s *Screen) Return() {
	if s.resting {
		s.resting = false
		s.prepare()
	}
}

// change works new and changed packages into the index. What is left of it is then found anew, which takes no longer than a key in
// the search.
func (s *Screen) change(lines []office.PackedLine, version uint64) {
	slices.SortStableFunc(lines, func(a, b office.PackedLine) int { return a.Created().Compare(b.Created()) })
	s.found = nil
	for _, l := range lines {
		if !s.all.put(l) {
			s.version.Store(0)
			s.Reload()
			return
		}
	}
	s.version.Store(version)
}

// anchor is the row at the upper edge, unless it is the first, and how the list is scrolled.
func (l *packageList) anchor() (id string, top int, hidden float32) {
	top, hidden = l.list.Top()
	if top > 0 && top < l.rows() {
		id = l.at(top).line.ID
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
	s.list.Renew(s.rowOf(s.chosen), top, hidden, s.parts()...)
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
	s.list.Renew(row, 0, 0, s.parts()...)
	s.list.ScrollTo(row)
	s.readRecord()
}

// filter finds what tab and search leave. A search that goes on from the last one looks only at what that one left.
func (s *Screen) filter() {
	text := s.search.Text
	if text != "" && !s.resting {
		s.all.texts.prepare(s.all)
	}
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
	s.tabs.Hold(s.sought != "")
	for _, tab := range []int{tabDue, tabProblems, tabWithdrawn, tabArchived} {
		s.tabs.Offer(tab, s.counts[tab] > 0 || s.tabs.Chosen() == tab)
	}
	s.tabs.Label(s.tabTexts())
	if s.rows() == 0 {
		widgets.Remake(s.side, s.nothing())
	} else if len(s.side.Objects) == 0 || s.side.Objects[0] != s.list {
		widgets.Remake(s.side, s.list)
	}
}

// parts are the heads of the list: what waits to be sent, and the packages of today, of this week and so on, where the list is
// in the order of time.
func (s *Screen) parts() (heads []widgets.Head) {
	var began []time.Time
	periods := []period{today, thisWeek, thisMonth, thisYear}
	for _, p := range periods {
		began = append(began, narrowing{period: p}.query(s.env.Now(), s.days()).Since)
	}
	head := func(row int) string {
		r := s.at(row)
		switch {
		case r.draft != nil:
			return lang.L("Not sent yet")
		case s.all.order.sorts() && len(s.heads) == 0:
			return ""
		case s.all.order.sorts():
			return lang.L("Packages")
		}
		for i, at := range began {
			if !r.line.Created.Before(at) {
				return periods[i].name()
			}
		}
		return r.line.Created.In(s.env.Now().Location()).Format("2006")
	}
	for row := 0; row < s.rows(); {
		text := head(row)
		if text != "" {
			heads = append(heads, widgets.Head{Row: row, Text: text})
		}
		from := row + 1
		row = from + sort.Search(s.rows()-from, func(n int) bool { return head(from+n) != text })
	}
	return heads
}

// keepOrChooseFirst keeps the choice while its row is listed. A package that leaves the tab by itself, because it was
// signed for example, stays the chosen one; after a change by the person the first of the list is chosen instead, until a change
// brings the row back.
func (l *packageList) keepOrChooseFirst(byPerson bool) {
	if byPerson && l.before != "" && l.rowOf(l.before) >= 0 {
		l.chosen, l.before = l.before, ""
		return
	}
	if l.chosen != "" && (!byPerson || l.rowOf(l.chosen) >= 0 || l.chosen == l.wanted) {
		_, listed := l.all.places[l.chosen]
		if _, head := l.headOfID(l.chosen); listed || head || l.chosen == l.wanted {
			return
		}
		l.left = l.chosen
	}
	if byPerson {
		l.before = cmp.Or(l.before, l.chosen)
	}
	l.chosen = ""
	if l.rows() > 0 {
		l.chosen = l.at(0).line.ID
	}
}

// rowOf is the row of an id in the list, -1 when tab and search do not leave it.
func (l *packageList) rowOf(id string) int {
	if row := slices.IndexFunc(l.heads, func(r listed) bool { return r.line.ID == id }); row >= 0 {
		return row
	}
	place, known := l.all.places[id]
	if !known {
		return -1
	}
	row, shown := l.all.find(l.shown, place)
	if !shown {
		return -1
	}
	return l.rows() - 1 - row
}

func (s *Screen) choose(id string) {
	if s.chosen != id {
		s.chosen, s.before = id, ""
		s.readRecord()
	}
}

// mostReference is how many letters of a reference a row shows: who is next matters more.
const mostReference = 12

// manySigners is of how many the arc around the row's disc tells too little.
const manySigners = 5

// item is one row of the list: whom the package waits for, or how it stands, beside its name and what there is to say of it.
type item struct {
	widgets.ListRow
	who                         *widgets.Avatar
	name, line, when, reference *widgets.Line
	calendar                    *widget.Icon // says that when is the due date, or that it has passed
}

func newItem() *item {
	i := &item{who: widgets.NewAvatar("", theme.MarkLater), name: widgets.NewTitle(""), line: widgets.NewCaption(""),
		when: widgets.NewCaption("").Whole(), reference: widgets.NewCaption("").Whole(), calendar: widget.NewIcon(nil)}
	i.line.Begins = true // who is next stands there
	i.Lines = []*widgets.Line{i.name, i.line}
	i.Content = widgets.PadHV(10, 8, widgets.Across(i.who, widgets.Stack(3,
		widgets.Across(nil, i.name, widgets.Across(widgets.Mark(14, i.calendar), i.when, nil)),
		widgets.Across(nil, i.line, i.reference)), nil))
	i.ExtendBaseWidget(i)
	return i
}

// nearby is how many rows up and down another one of the same name is looked for: farther away nobody sees both.
const nearby = 15

// twin reports whether a row near another one has its name and its reference.
func (l *packageList) twin(row int) bool {
	own := l.at(row).line
	for i := max(0, row-nearby); i <= min(row+nearby, l.rows()-1); i++ {
		if other := l.at(i).line; i != row && other.Name == own.Name && other.Reference() == own.Reference() {
			return true
		}
	}
	return false
}

// show shows a row; what is due within days is due soon. A twin says when it was made, in place of its reference.
func (i *item) show(now time.Time, days int, r listed, o order, twin bool) {
	i.name.Text = i18n.Title(r.line.Name)
	i.who.Done = r.done()
	i.who.Set(r.who(), r.mark())
	i.line.Text, i.line.Colour = textOf(now, days, r), theme.Secondary
	if r.stage == i18n.Wrong || r.lost {
		i.line.Colour = theme.Attention
	}
	i.reference.Text = r.line.Reference()
	if short := []rune(i.reference.Text); len(short) > mostReference {
		i.reference.Text = string(short[:mostReference-1]) + "…"
	}
	if twin {
		i.reference.Text = i18n.Clock(now, r.line.Created)
	}
	i.showWhen(now, days, r, o)
	i.Shown()
}

// showWhen shows the age or, in its place, the due date: of the two it is what matters, and what the rows may be sorted by. The
// mouse says it in words.
func (i *item) showWhen(now time.Time, days int, r listed, o order) {
	text, colour := i18n.Due(now, r.line.Due, days, r.stage)
	if text == "" && o == byDue && !r.line.Due.IsZero() {
		text, colour = i18n.DueDate(now, r.line.Due), theme.Secondary
	}
	i.More, i.calendar.Hidden = text, text == ""
	i.when.Text, i.when.Colour = i18n.Age(now, r.line.Created), theme.Secondary
	if text == "" {
		return
	}
	i.when.Text, i.when.Colour = i18n.Date(now, r.line.Due), colour
	icon := fynetheme.CalendarIcon()
	if colour == theme.Attention {
		icon = fynetheme.WarningIcon()
	}
	i.calendar.SetResource(fynetheme.NewColoredResource(icon, colour))
}

// who is the first of those whose turn it is; empty where nobody's is.
func (r listed) who() string {
	if next := i18n.NextOf(r.line); r.draft == nil && r.stage == i18n.Open && !r.line.Withdrawing && len(next) > 0 {
		return next[0]
	}
	return ""
}

// done is how much of a package that waits is signed.
func (r listed) done() float32 {
	if r.stage != i18n.Open || r.line.SignersTotal == 0 {
		return 0
	}
	return float32(r.line.SignersDone) / float32(r.line.SignersTotal)
}

func (r listed) mark() theme.Mark {
	switch {
	case r.draft != nil:
		mark, _ := outbox.State(*r.draft)
		return mark
	case r.lost:
		return theme.MarkProblem
	case r.line.Withdrawing:
		return theme.MarkEnded
	case r.stage == i18n.Saved && r.line.Sealed:
		return theme.MarkSealed
	}
	return r.stage.Mark()
}

// textOf says where a package stands and who signs it: two of the same name are told apart by that.
func textOf(now time.Time, days int, r listed) string {
	if r.draft != nil {
		_, text := outbox.State(*r.draft)
		return sentence(text)
	}
	said := []string{i18n.Line(r.line)}
	if r.lost {
		said[0] = lang.L("Saved files are gone")
	}
	open := r.stage == i18n.Open
	if late := i18n.Lateness(now, r.line.Due, days); late != "" && open {
		said = []string{late, said[0]} // the colour of the date alone would not say it
	}
	switch {
	case open && r.line.SignersTotal > manySigners:
		said = slices.Insert(said, 0, i18n.Progress(r.line.SignersDone, r.line.SignersTotal))
	case (!open || r.line.Next == "") && r.stage != i18n.Wrong && r.line.People != "":
		said = append(said, i18n.Names(i18n.PeopleOf(r.line)))
	}
	if r.line.Origin == office.MadeElsewhere {
		said = append(said, lang.L("created elsewhere"))
	}
	if r.line.Archived {
		said = append(said, lang.L("archived"))
	}
	return sentence(strings.Join(said, " · "))
}

// sentence begins with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
