package packages

import (
	"cmp"
	"context"
	"path/filepath"
	"reflect"
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
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type packageList struct {
	all     *index
	found   []int32                 // places in all that match filter and search; nil while unknown
	sought  string                  // the search text for found
	shown   []int32                 // those in the tab, in reverse list order
	tab     int                     // the tab for shown
	match   counts                  // found per tab
	drafts  []listed                // drafts waiting to be sent, newest first
	heads   []listed                // the drafts that match tab and search; shown above the packages
	counts  counts                  // match plus the drafts
	chosen  string                  // id of what is shown; its row may have left the tab, or have ended
	lost    map[string]bool         // packages with missing saved files
	wanted  string                  // chosen before it was listed: select its tab once it is
	before  string                  // the choice before search or tab hid its row
	loaded  bool                    // read at least once: before that, an empty list means nothing
	version atomic.Uint64           // of the data in all; 0 until it is prepared
	made    atomic.Pointer[making]  // the conditions all was made for
	unsaved atomic.Pointer[unsaved] // as last told, without those held
	list    *widgets.List
	side    *fyne.Container // the list, or why it is empty
}

type news struct {
	all     *index // nil if only the following are new or changed
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
	days, made, unsaved := settings.SoonDays(), *s.made.Load(), *s.unsaved.Load()
	var err4 error
	if unsaved.why != "" && !unsaved.all {
		unsaved.held, err4 = s.office.Held()
	}
	if old := made.unsaved; old == nil || !reflect.DeepEqual(*old, unsaved) {
		made.unsaved = &unsaved
	}
	if *s.made.Load() != (making{dayNumber(now), days, order, made.unsaved}) {
		version = 0
	}
	lines, err2 := s.office.LinesSince(version)
	folders, err3 := s.office.HotFolders()
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return news{}, err
	}
	var drafts []listed
	for _, d := range slices.Backward(waiting) {
		drafts = append(drafts, draftRow(d))
	}
	n := news{version: lines.Version, drafts: drafts, folder: settings.SaveTo, folders: map[string]string{}}
	for _, f := range folders {
		n.folders[f.ID] = f.Path
	}
	if lines.All {
		n.all = newIndex(now, days, order, made.unsaved, lines.Lines)
	} else {
		n.changed = lines.Lines
	}
	return n, nil
}

// making is what an index depends on: day and setting decide what is due soon.
type making struct {
	day     int64
	days    int // how long before its due date a package counts as due soon
	order   order
	unsaved *unsaved
}

func dayNumber(t time.Time) int64 { return int64(t.Year())*1000 + int64(t.YearDay()) }

// awaitMidnight reloads when a day begins. A computer asleep at midnight reloads with the next event.
func (s *Screen) awaitMidnight() {
	now := s.env.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
	s.env.Later(midnight.Sub(now)+time.Second, func() {
		s.Reload()
		s.awaitMidnight()
	})
}

// tick keeps the rows' ages true while nothing happens.
func (s *Screen) tick() {
	s.env.Later(time.Minute, func() {
		if !s.resting {
			s.list.Refresh()
		}
		s.tick()
	})
}

// fill shows what was read. The row at the upper edge stays in place, unless it is the first, where people look at the newest. If
// reading fails, the old list stays and health explains; without one, the screen shows the error.
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
	began := len(s.all.rows)+len(s.drafts) == 0
	anchor, top, hidden := s.anchor()
	above := 0 // rows between upper edge and anchor
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
	if began {
		s.refilter() // shows the first row
	} else {
		s.settle(anchor, above, top, hidden)
	}
	_, listed := s.all.places[s.chosen]
	if _, waits := s.headOfID(s.chosen); s.chosen != "" && !listed && !waits {
		s.follow(s.chosen, n.changed)
	}
	if s.retell != nil {
		s.retell()
	}
}

// follow chooses the package that became of the chosen draft, if it is one of those that have changed.
func (s *Screen) follow(row string, changed []office.PackedLine) {
	env.Get(s.env, func(context.Context) (id string, err error) {
		for _, l := range changed {
			line, _ := l.Unpack()
			if d, known, err := s.office.DraftOf(line.ID); err != nil || known && outbox.RowID(d.ID) == row {
				return line.ID, err
			}
		}
		return "", nil
	}, func(id string) {
		if id != "" && s.chosen == row {
			s.Show(id)
		}
	})
}

// resorted returns the anchor for a new sort order: the chosen row if visible, otherwise the top of the list.
func (l *packageList) resorted(top int) (anchor string, newTop, above int) {
	row := l.rowOf(l.chosen)
	if row < top || row > l.list.Bottom() {
		return "", 0, 0
	}
	return l.chosen, top, row - top
}

func (s *Screen) replace(all *index, version uint64) {
	s.all, s.found = all, nil
	s.made.Store(&making{dayNumber(all.at), all.days, all.order, all.unsaved})
	s.version.Store(version)
	if s.resting {
		all.texts = new(folded) // sorting may have filled them
	} else {
		s.prepare()
	}
}

// prepare readies the index for searching. Until it is done, changes are not added to the index.
func (s *Screen) prepare() {
	all, texts, version := s.all, s.all.texts, s.version.Swap(0)
	async.Try(s.env.Work, func(context.Context) error { texts.prepare(all); return nil }, func(error) {
		if s.all == all && all.texts == texts {
			s.version.Store(version)
		}
	})
}

// Rest frees memory that is not needed while the window is closed. The list keeps following the office.
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

// change updates the index with new and changed packages. The list is then filtered again, which takes no longer than a key in the
// search.
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

// anchor returns the row at the upper edge, unless it is the first, and the scroll position.
func (l *packageList) anchor() (id string, top int, hidden float32) {
	top, hidden = l.list.Top()
	if top > 0 && top < l.rows() {
		id = l.at(top).line.ID
	}
	return id, top, hidden
}

// settle applies tab and search to changed packages. The anchor, which may be empty, stays that many rows below the upper edge.
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
	s.list.Renew(s.rowOf(s.chosen), top, hidden, s.parts()...)
	s.readRecord()
}

func folderText(folder string) string {
	if folder == "" {
		return lang.L("No folder is chosen yet")
	}
	return filepath.Base(folder) // the full path shows when the folder is opened
}

// refilter applies tab and search after the person changed them, and keeps the choice if possible.
func (s *Screen) refilter() {
	s.filter()
	s.keepOrChooseFirst()
	row := s.rowOf(s.chosen)
	s.list.Renew(row, 0, 0, s.parts()...)
	s.list.ScrollTo(row)
	s.readRecord()
}

// filter finds the matching packages. A search that extends the last one looks only at its results.
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

// present finds the drafts and packages of the tab and counts both.
func (s *Screen) present() {
	s.counts, s.group = s.match, nil
	s.heads = s.headsOf(s.sought, s.headWish(), s.tab, &s.counts)
	s.tabs.Hold(s.sought != "")
	for _, tab := range []int{tabDue, tabProblems, tabWithdrawn, tabArchived} {
		s.tabs.Offer(tab, s.counts[tab] > 0 || s.tabs.Chosen() == tab)
	}
	s.tabs.Label(s.tabTexts())
	if s.tabs.MinSize().Height != s.tabs.Size().Height { // they take more or fewer lines
		s.content.Refresh()
	}
	if s.rows() == 0 {
		widgets.Remake(s.side, s.nothing())
	} else if len(s.side.Objects) == 0 || s.side.Objects[0] != s.list {
		widgets.Remake(s.side, s.list)
	}
}

// parts returns the list's heads: the drafts, then today's packages, this week's and so on if the list is sorted by time.
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
			return lang.L("Outbox")
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

// keepOrChooseFirst is called when a person changed search, tab or filter: it keeps the choice, or shows the first row in its place
// until another change brings it back. Whatever happens by itself changes no choice, except that a draft's becomes its package's: what
// leaves the tab stays shown, and nothing takes the place of what ends, as its buttons would come under the mouse.
func (l *packageList) keepOrChooseFirst() {
	if l.before != "" && l.rowOf(l.before) >= 0 {
		l.chosen, l.before = l.before, ""
		return
	}
	if l.rowOf(l.chosen) >= 0 || l.wanted != "" && l.chosen == l.wanted {
		return
	}
	l.before = cmp.Or(l.before, l.chosen)
	l.chosen = ""
	if l.rows() > 0 {
		l.chosen = l.at(0).line.ID
	}
}

// rowOf returns the row of an id in the list, or -1 if filtered out.
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

// mostReference is how many letters of a reference a row shows: the next signer matters more.
const mostReference = 12

// manySigners is the number above which the arc around a row's disc says too little.
const manySigners = 5

// item is a row of the list: whom the package waits for, or its state, beside its name and details.
type item struct {
	widgets.ListRow
	who                         *widgets.Avatar
	name, line, when, reference *widgets.Line
	calendar                    *widget.Icon    // marks the time as a due date, possibly overdue
	due                         *fyne.Container // holds it, hidden without a due date
}

func newItem() *item {
	i := &item{who: widgets.NewAvatar("", theme.MarkLater), name: widgets.NewTitle(""), line: widgets.NewCaption(""),
		when: widgets.NewCaption("").Whole(), reference: widgets.NewCaption("").Whole(), calendar: widget.NewIcon(nil)}
	i.line.Begins = true // it begins with the next signer
	i.Lines = []*widgets.Line{i.name, i.line}
	i.due = widgets.Mark(14, i.calendar)
	i.Content = widgets.PadHV(10, 8, widgets.Across(i.who, widgets.Stack(3,
		widgets.Across(nil, i.name, widgets.Across(i.due, i.when, nil)),
		widgets.Across(nil, i.line, i.reference)), nil))
	i.ExtendBaseWidget(i)
	return i
}

// nearby is how many rows up and down count as near: nobody sees both of two rows farther apart.
const nearby = 15

// twin reports whether a nearby row has the same name and reference.
func (l *packageList) twin(row int) bool {
	own := l.at(row).line
	for i := max(0, row-nearby); i <= min(row+nearby, l.rows()-1); i++ {
		if other := l.at(i).line; i != row && other.Name == own.Name && other.Reference() == own.Reference() {
			return true
		}
	}
	return false
}

// show shows a row; a package due within days is due soon. A twin shows its creation time instead of the reference.
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

// showWhen shows the due date if it matters more or is sorted by, otherwise the age, with a tooltip in words.
func (i *item) showWhen(now time.Time, days int, r listed, o order) {
	text, colour := i18n.Due(now, r.line.Due, days, r.stage)
	if text == "" && o == byDue && !r.line.Due.IsZero() {
		text, colour = i18n.DueDate(now, r.line.Due), theme.Secondary
	}
	i.More, i.due.Hidden = text, text == "" // without it, the name has its place
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

// who returns the first signer whose turn it is; empty for none.
func (r listed) who() string {
	if next := i18n.NextOf(r.line); r.draft == nil && r.stage == i18n.Open && !r.line.Withdrawing && len(next) > 0 {
		return next[0]
	}
	return ""
}

// done returns the signed share of a waiting package.
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
	case r.line.Withdrawing, r.stage == i18n.Saved && r.line.Astray:
		return theme.MarkEnded
	case r.stage == i18n.Saved && r.line.Sealed:
		return theme.MarkSealed
	}
	return r.stage.Mark()
}

// textOf says how far a package is and who signs it, which tells packages of the same name apart.
func textOf(now time.Time, days int, r listed) string {
	if r.draft != nil {
		_, text := outbox.State(*r.draft)
		return strings.Trim(named(r.draft.Signers)+" · "+sentence(text), " ·")
	}
	said := []string{i18n.Line(r.line)}
	if r.lost {
		said[0] = lang.L("saved files missing or changed")
	}
	open := r.stage == i18n.Open
	if late := i18n.Lateness(now, r.line.Due, days); late != "" && open {
		said = []string{late, said[0]} // colouring the date alone would not be enough
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

// sentence capitalizes the first letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
