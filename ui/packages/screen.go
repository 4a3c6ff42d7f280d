// Package packages is the screen that shows what was sent, what is waiting and what came back. It reads packages from the office,
// opens saved files, and passes on what people want done with a package; it decides nothing itself.
//
// The list holds one light line for each package, possibly tens of thousands; only the chosen package is read in full. Reading both,
// and drawing pages, happens off the UI goroutine.
package packages

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type Office interface {
	Packages
	Withdrawals
	Seals
	outbox.Office

	Drafts() ([]office.Draft, error)
	HotFolders() ([]office.HotFolderRow, error)
	DraftPage(ctx context.Context, f office.DraftFile, width int) (image.Image, error)
	Original(f office.DraftFile) (path string, err error)
	Settings() office.Settings
	Preview(ctx context.Context, path string, width int) (image.Image, error)
}

type Packages interface {
	LinesSince(version uint64) (office.Lines, error)
	Held() (map[string]bool, error) // ids of the packages whose files wait for a folder that takes none
	Package(id string) (row office.PackageRow, known bool, err error)
	DraftOf(packageID string) (d office.Draft, known bool, err error)
	SaveAgain(packageID string) error
	Export(ctx context.Context, packageIDs []string, folder string) (office.Exported, error)
	Archive(packageID string, archived bool) (changed bool, err error)
	NoteLetter(packageID, address string) error
	CheckNow() error
	EditPage(ctx context.Context, packageID string) (string, error)
	SignerPage(ctx context.Context, packageID, signerID string) (string, error)
	LinksOffered() bool
}

// Withdrawals reports the progress of packages being withdrawn.
type Withdrawals interface {
	Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error)
	KeepPackage(id string) (inTime bool, err error)
	LetWithdrawalGo(id string) error
	CanWithdraw() bool
}

// Screen is the packages screen. Only the UI goroutine may call its methods.
type Screen struct {
	env     *env.Env
	office  Office
	reader  *async.Reader[news]
	content *fyne.Container
	pair    *widgets.Pair     // list and chosen package
	both    fyne.CanvasObject // the pair's content
	first   fyne.CanvasObject // replaces both while there are no packages

	packageList
	packageFilter
	marking
	packageDetail

	halted  string            // why no draft is sent; empty if nothing prevents it
	folder  string            // where files are saved
	folders map[string]string // paths of hot folders by id

	resting bool // the window is closed
	asks    int  // how often something that opens was asked for; see last

	retell func() // tells an open question what is known by now; nil for none

	OnListed func() // called when packages are new or changed; may be nil

	where *widgets.Line
	check *widgets.Line // when everything was last checked

	checked    time.Time // likewise, before the person asked for it
	wantsCheck bool      // the person has asked, and does not know the outcome yet
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o}
	s.all, s.pictures, s.held = newIndex(time.Time{}, 0, newestFirst, nil, nil), map[string]image.Image{}, heldKeys
	s.made.Store(&making{})
	s.unsaved.Store(new(unsaved))
	s.sending, s.lost = map[string]office.SendState{}, map[string]bool{}
	order := lastOrder()
	s.order.Store(&order)
	s.reader = async.NewReader(d.Work, s.read, s.fill)
	s.records = async.NewReader(d.Work, func(context.Context) (record, error) { return s.recordOf(*s.recordID.Load()), nil }, func(p record, _ error) {
		if p.row.ID == s.chosen {
			if _, lost := p.strays(); lost != s.lost[p.row.ID] {
				s.lost[p.row.ID] = lost
				s.list.Refresh()
			}
			s.show(p)
		}
	})
	s.search = widgets.NewEntry(lang.L("Search by name, signer or file"))
	s.search.SetIcon(fynetheme.SearchIcon())
	s.search.OnChanged = func(string) { s.refilter() }
	s.search.OnEscape = s.leaveSearch
	s.search.OnSubmitted = func(string) { s.enterList() }
	s.search.OnKey = s.moveFromSearch
	s.tabs = widgets.NewTabs(s.tabNames(), func(int) { s.refilter() })
	s.tabs.OnDown = s.enterList
	s.list = widgets.NewList(s.rows,
		func() fyne.CanvasObject { return newItem() },
		func(id int, o fyne.CanvasObject) {
			r, i := s.at(id), o.(*item)
			r.lost = s.lost[r.line.ID]
			i.show(s.env.Now(), s.all.days, r, s.all.order, s.twin(id))
			i.Mark(s.marked[r.line.ID], len(s.several()) > 0)
		})
	s.list.Says = func() string { return lang.L("Packages") }
	s.list.OnSelected = s.chose
	s.list.OnEnter = s.open
	s.list.OnPress = func() { s.pair.Open(len(s.marked) == 0) }
	s.list.OnEscape = s.unmark
	s.list.OnAll = s.markAll
	s.list.OnMenu = s.askMenu
	s.list.HideSeparators = true
	s.side = container.NewStack()
	s.detail = container.NewStack()
	s.sheet = widgets.NewVScroll(layout.NewSpacer())
	s.where = widgets.NewCaption("")
	s.where.Colour = theme.Ink
	icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.FolderOpenIcon(), theme.Ink))
	openFolder := widgets.NewTappable(widgets.PadHV(4, 6, widgets.Across(icon, s.where, nil)), s.OpenFolder)
	openFolder.Lines = []*widgets.Line{s.where}
	s.check = widgets.NewCaption(lang.L("Check now"))
	s.check.Shorten, s.check.Colour = false, theme.Ink
	again := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.ViewRefreshIcon(), theme.Ink))
	checkNow := widgets.NewTappable(widgets.PadHV(4, 6, widgets.Across(again, s.check, nil)), s.CheckNow)
	foot := widgets.On(theme.Paper, widgets.PadHV(8, 4, widgets.Across(nil, openFolder, checkNow)))
	s.filterBy = widgets.NewButtonWithIcon("", theme.Icon("filter", theme.Text), s.askFilter).Quiet()
	s.filterBy.Tip = lang.L("Filter and sort")
	s.words = widgets.Flow(6)
	s.chips = widgets.PadHV(12, 4, s.words)
	head := widgets.Stack(4, widgets.PadHV(12, 0, widgets.Across(nil, s.search, s.filterBy)), widgets.PadHV(5, 0, s.tabs), s.chips)
	side := widgets.On(theme.Surface, widgets.Frame(widgets.PadHV(0, 8, head), widgets.Stack(0, widget.NewSeparator(), foot), nil, s.side))
	s.pair = widgets.NewPair(420, side, widgets.On(theme.Paper, s.detail), lang.L("Packages"), s.Leave)
	s.both, s.first = s.pair.Content, s.welcome()
	s.content = container.NewStack(s.both)
	s.showNarrowing()
	s.refilter()
	s.awaitMidnight()
	s.tick()
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the packages again, off the UI goroutine. The choice and both scroll positions stay.
func (s *Screen) Reload() { s.reader.Ask() }

// ReloadThen calls then once what the office has now is listed.
func (s *Screen) ReloadThen(then func()) { s.reader.AskThen(then) }

// Continue takes over the view of an earlier screen of the same office after the window's language changed.
func (s *Screen) Continue(old *Screen) {
	if !old.loaded {
		return
	}
	top, hidden := old.list.Top()
	s.all, s.found, s.folder, s.loaded, s.pictures = old.all, nil, old.folder, true, old.pictures
	s.chosen, s.wanted, s.record, s.search.Text = old.chosen, old.wanted, old.record, old.search.Text
	s.where.Set(folderText(s.folder))
	s.tabs.Choose(old.tabs.Chosen())
	s.narrowed = old.narrowed
	s.showNarrowing()
	s.filter()
	s.list.Renew(s.rowOf(s.chosen), top, hidden, s.parts()...)
	s.draw(true)
	s.sheet.Offset = old.sheet.Offset
}

func (s *Screen) Find() {
	s.pair.Open(false)
	if s.content.Objects[0] == s.both {
		widgets.Focus(s.env.Window.Canvas(), s.search)
	}
}

// Show chooses a single package, in whatever tab it is, even before it is listed.
func (s *Screen) Show(id string) {
	s.wanted, s.chosen, s.before = id, id, ""
	s.clearMarks()
	s.from = ""
	s.pair.Open(true)
	s.widen()
	s.reveal()
	s.refilter()
	s.readRecord()
}

// reveal selects a tab that shows the wanted package, once it is listed.
func (s *Screen) reveal() {
	r, known := s.headOfID(s.wanted)
	if place, listed := s.all.places[s.wanted]; listed {
		r, known = s.all.listed(place), true
	}
	if !known {
		return
	}
	s.wanted = ""
	if !r.in(s.tabs.Chosen()) {
		s.tabs.Choose(r.tab())
	}
}

func (s *Screen) Chosen() string { return s.chosen }

func (s *Screen) OpenFolder() {
	if s.folder == "" {
		s.env.Go.ShowSettings()
		return
	}
	s.env.OpenFile(s.folder)
}

func (l *packageList) rows() int { return len(l.heads) + len(l.shown) }

// CheckNow checks everything with the service. If that cannot be reached, ShowStatus says so.
func (s *Screen) CheckNow() {
	s.wantsCheck = true
	s.env.Attempt(func(context.Context) error { return s.office.CheckNow() }, nil)
}

// cause returns the first sentence about an issue; empty if there is none.
func cause(issues []agent.Issue, id string) string {
	at := slices.IndexFunc(issues, func(i agent.Issue) bool { return i.ID == id })
	if at < 0 {
		return ""
	}
	text, _ := i18n.Words().Lines(issues[at].Message)
	return text
}

// ShowStatus shows when everything was last checked, or that it is being checked now, and what keeps documents from being saved.
func (s *Screen) ShowStatus(status agent.Status) {
	text := lang.L("Check now")
	switch last := status.Checked; {
	case status.Checking:
		text = lang.L("Checking…")
	case !last.IsZero():
		text = lang.L("checked {{.When}}", i18n.V{"When": i18n.Clock(s.env.Now(), last)})
	}
	switch silent := cause(status.Health, agent.IssueService); {
	case !s.wantsCheck || status.Checking:
	case !status.SignedIn || !status.Checked.Equal(s.checked):
		s.wantsCheck = false
	case silent != "":
		s.wantsCheck = false
		s.env.Notice(silent)
	}
	if !s.wantsCheck {
		s.checked = status.Checked
	}
	if halted := outbox.Halted(status.Health); halted != s.halted {
		s.halted = halted
		s.draw(false)
	}
	u := unsaved{why: cause(status.Health, agent.IssueData)}
	if u.all = u.why != ""; !u.all {
		u.why = cause(status.Health, agent.IssueFolder)
	}
	if old := s.unsaved.Load(); u.why != old.why || u.all != old.all {
		s.unsaved.Store(&u)
		s.Reload()
	}
	if s.check.Text != text {
		s.check.Set(text)
		s.content.Refresh()
	}
	if s.loaded && s.made.Load().day != dayNumber(s.env.Now()) { // the computer slept through midnight
		s.Reload()
	}
}

func (l *packageList) at(row int) listed {
	if row < len(l.heads) {
		return l.heads[row]
	}
	return l.all.listed(l.shown[l.rows()-1-row])
}

func (s *Screen) leaveSearch() {
	if s.search.Text != "" {
		s.search.SetText("")
		return
	}
	s.enterList()
}

func (s *Screen) enterList() {
	widgets.Focus(s.env.Window.Canvas(), s.list)
	if s.rows() > 0 && s.list.At() < 0 {
		s.list.Select(0)
	}
}

// moveFromSearch moves the choice while the search keeps the focus.
func (s *Screen) moveFromSearch(e *fyne.KeyEvent) bool {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyPageUp, fyne.KeyPageDown:
		s.list.TypedKey(e)
		return true
	}
	return false
}

// Leave returns to the list if the package replaced it in a narrow window.
func (s *Screen) Leave() {
	s.pair.Open(false)
	s.FocusList()
}

// FocusList focuses the list without changing it, or the search if the list is empty.
func (s *Screen) FocusList() {
	if s.rows() == 0 {
		s.Find()
		return
	}
	widgets.Focus(s.env.Window.Canvas(), s.list)
}

// open opens the chosen package's first saved file. Without one it focuses the actions; Escape returns to the list.
func (s *Screen) open() {
	_, head := s.headOfID(s.chosen)
	if s.record.row.ID != s.chosen && !head {
		return // still being read
	}
	if s.pair.Open(true) {
		return
	}
	if saved := s.record.saved(); !head && len(saved) > 0 {
		if s.record.several() {
			s.openFolders([]string{s.chosen})
		} else {
			s.env.OpenFile(saved[0].Path)
		}
		return
	}
	if first := widgets.FirstIn(s.detail); first != nil {
		widgets.Focus(s.env.Window.Canvas(), first)
	}
}

func (s *Screen) tabNames() []string {
	return []string{lang.L("Waiting"), lang.L("Done"), lang.L("All"), lang.L("Due"), lang.L("Problems"), lang.L("Withdrawn ones"), lang.L("Archived")}
}

// tabTexts returns the tab names with their counts.
func (s *Screen) tabTexts() []string {
	texts := s.tabNames()
	for i, n := range s.counts {
		if n > 0 {
			texts[i] = fmt.Sprintf("%s %d", texts[i], n)
		}
	}
	return texts
}

// foundIn returns a tab with matches if the chosen one has none; otherwise -1.
func (s *Screen) foundIn() int {
	for _, tab := range []int{tabAll, tabArchived} {
		if tab != s.tabs.Chosen() && s.counts[tab] > 0 {
			return tab
		}
	}
	return -1
}

func (s *Screen) nothing() fyne.CanvasObject {
	icon, glass := theme.MarkSigned.Resource(), fynetheme.NewColoredResource(fynetheme.SearchIcon(), theme.Secondary)
	here, sought := s.tabNames()[s.tabs.Chosen()], s.search.Typed() != ""
	switch elsewhere := s.foundIn(); {
	case !s.loaded:
		return layout.NewSpacer()
	case elsewhere >= 0 && sought:
		return widgets.Empty(glass, lang.L("Nothing found for “{{.Text}}” in “{{.Tab}}”.", i18n.V{"Text": s.search.Text, "Tab": here}),
			lang.L("Show what was found"), func() { s.tabs.Choose(elsewhere) })
	case elsewhere >= 0 && s.isNarrowed():
		return widgets.Empty(glass, lang.L("Nothing in “{{.Tab}}” matches the filter.", i18n.V{"Tab": here}),
			lang.L("Show what was found"), func() { s.tabs.Choose(elsewhere) })
	case s.isNarrowed() && !sought:
		return widgets.Empty(glass, lang.L("Nothing matches the filter."), lang.L("Clear filter"), s.widen)
	case sought:
		return widgets.Empty(glass, lang.L("Nothing found for “{{.Text}}”.", i18n.V{"Text": s.search.Text}),
			lang.L("Clear search"), func() { s.search.SetText("") })
	case s.counts[tabProblems] > 0 && s.tabs.Chosen() < tabProblems: // not all is well
		return widgets.Empty(theme.MarkProblem.Resource(), lang.N("{{.PluralCount}} packages need your attention.", s.counts[tabProblems]),
			lang.L("Show problems"), func() { s.tabs.Choose(tabProblems) })
	case s.tabs.Chosen() == tabProblems:
		return widgets.Empty(icon, lang.L("No package has a problem."), "", nil)
	case s.tabs.Chosen() == tabWithdrawn:
		return widgets.Empty(theme.MarkEnded.Resource(), lang.L("Nothing was withdrawn."), "", nil)
	case s.tabs.Chosen() == tabDue:
		return widgets.Empty(icon, lang.L("Nothing is due soon."), "", nil)
	case s.tabs.Chosen() == tabArchived:
		return widgets.Empty(theme.MarkLater.Resource(), lang.L("Nothing is archived."), "", nil)
	case s.tabs.Chosen() == tabWaiting:
		return widgets.Empty(icon, lang.L("Nothing is waiting for a signature."), lang.L("New package"), s.env.Go.ShowCompose)
	case slices.ContainsFunc(s.all.rows, func(r row) bool { return r.archived && tabOf(r.stage) == tabDone }):
		return widgets.Empty(theme.MarkLater.Resource(), lang.L("All signed packages are archived."), "", nil)
	default:
		return widgets.Empty(theme.MarkLater.Resource(), lang.L("No package is fully signed yet."), "", nil)
	}
}

// waysOf returns the ways to a signer's page: a link to pass on, at this desk, or by letter.
func (s *Screen) waysOf(row office.PackageRow, signer office.Signer) []outbox.Action {
	ways := []outbox.Action{
		{Name: lang.L("Copy link"), Icon: fynetheme.ContentCopyIcon(), Do: func() {
			s.withLink(row, signer, func(address string) {
				s.env.Copy(address)
				s.env.Notice(lang.L("Link to the signing page copied: {{.Who}}. It is valid for a short time only.", i18n.V{"Who": i18n.Name(signer)}))
			})
		}},
		{Name: lang.L("Sign here…"), Icon: fynetheme.ComputerIcon(), Do: func() { s.withLink(row, signer, s.env.OpenAddress) }},
	}
	if next := row.Next(); signer.Email != "" && (len(next) != 1 || next[0].ID != signer.ID) { // otherwise the package's own action does it
		ways = append(ways, outbox.Action{Name: lang.L("Remind"), Icon: fynetheme.MailComposeIcon(), Do: func() {
			s.withLink(row, signer, func(address string) { s.write(letter{signer, []ask{{row, address}}}) })
		}})
	}
	return ways
}

// withLink requests the address of a signer's page and passes it on. It is short-lived and lets anyone who has it sign, so it is
// requested only when used and never stored.
func (s *Screen) withLink(row office.PackageRow, signer office.Signer, use func(address string)) {
	s.withPage(row.ID, func(ctx context.Context) (string, error) { return s.office.SignerPage(ctx, row.ID, signer.ID) }, use)
}

// withPage requests the address of one of the service's pages about a package and passes it on; a second press meanwhile does
// nothing.
func (s *Screen) withPage(id string, ask func(context.Context) (string, error), use func(address string)) {
	if s.asking {
		return
	}
	s.asking = true
	async.Then(s.env.Work, ask, func(address string, err error) {
		s.asking = false
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			s.redraw(id) // it may have no links
			s.env.Notice(i18n.Error(err))
		default:
			use(address)
		}
	})
}

// letter is one mail to a person about all packages that wait for them.
type letter struct {
	to   office.Signer
	asks []ask
}

// names returns the names of its packages.
func (l letter) names() string {
	var names []string
	for _, a := range l.asks {
		names = append(names, a.row.DisplayName())
	}
	return strings.Join(names, ", ")
}

// ask requests a signature for one package, with the address of its page; empty if the service provides none.
type ask struct {
	row     office.PackageRow
	address string
}

// mail returns a letter's mailto address and its text, in the recipient's language if known.
func (s *Screen) mail(l letter) (address, body string) {
	words, now := i18n.WordsFor(l.to.Locale), s.env.Now()
	text := []string{words.Text(message.LetterGreeting(i18n.Name(l.to)))}
	linked := false
	for _, a := range l.asks {
		name := a.row.DisplayName()
		asks := message.LetterAsks(name)
		if part, _ := a.row.StatusOf(l.to); part == office.SignerLater {
			asks = message.LetterLater(name)
		} else if a.address == "" {
			asks = message.LetterReminds(name)
		}
		if text = append(text, words.Text(asks)); a.address != "" {
			text, linked = append(text, a.address), true
		}
		if a.row.Due.After(now) {
			text = append(text, words.Text(office.DueText(name, now, a.row.Due)))
		}
	}
	if linked {
		text = append(text, words.Text(message.LetterPersonal()))
	}
	body = strings.Join(text, "\n\n") + "\n"
	return env.Mailto(l.to.Email, words.Text(message.LetterSubject(l.names())), body), body
}

// write opens the letters in the mail program, or copies them if there is none.
func (s *Screen) write(letters ...letter) {
	var copied []string
	opened := 0
	for _, l := range letters {
		mail, body := s.mail(l)
		s.env.Browse(mail, func(err error) {
			if err != nil {
				copied = append(copied, l.to.Email+"\n\n"+body)
				s.env.Copy(strings.Join(copied, "\n\n"))
				s.env.Notice(lang.N("No mail program could be opened. {{.PluralCount}} e-mails were copied: paste them where you write e-mails.", len(copied)))
				return
			}
			if opened++; opened == len(letters) { // the program itself may be slow
				s.env.Notice(lang.N("{{.PluralCount}} e-mails were opened in your mail program. You send them.", opened))
			}
			s.env.Attempt(func(context.Context) (err error) {
				for _, a := range l.asks {
					err = errors.Join(err, s.office.NoteLetter(a.row.ID, l.to.Email))
				}
				return err
			}, nil)
		})
	}
}

// mostLetters is how many mails are opened at once without asking.
const mostLetters = 3

// remind opens one mail for each person whose turn it is, about all their packages.
func (s *Screen) remind(ids []string) {
	if s.asking {
		return
	}
	s.asking = true
	wanted, links := s.last(), s.office.LinksOffered()
	async.Then(s.env.Work, func(ctx context.Context) ([]letter, error) { return s.letters(ctx, ids, links) }, func(letters []letter, err error) {
		s.asking = false
		send := func() { s.write(letters...) }
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			s.env.Notice(i18n.Error(err))
		case len(letters) == 0:
			s.env.Notice(lang.L("No e-mail address is known of those who are next."))
		case len(letters) > mostLetters && !wanted(): // the question would be taken for one about something else
		case len(letters) > mostLetters:
			text := []string{lang.L("Your mail program opens one e-mail for each person. You send them."), ""}
			for _, l := range letters[:min(len(letters), mostAsked)] {
				who := i18n.Name(l.to)
				if len(ids) > 1 { // otherwise it is the package beside the question
					who += ": " + l.names()
				}
				text = append(text, who)
			}
			if more := len(letters) - mostAsked; more > 0 {
				text = append(text, lang.N("and {{.PluralCount}} more", more))
			}
			widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.N("Remind {{.PluralCount}} people?", len(letters)),
				Text: strings.Join(text, "\n"), Safe: lang.L("Cancel"), Do: lang.L("Open e-mails"), OnDo: send})
		default:
			send()
		}
	})
}

// letters returns one letter for each person the packages wait for, with links if wanted and available. It runs off the UI
// goroutine.
func (s *Screen) letters(ctx context.Context, ids []string, links bool) (list []letter, err error) {
	for _, id := range ids {
		row, known, err := s.office.Package(id)
		if err != nil {
			return nil, err
		}
		for _, signer := range row.Next() {
			if !known || signer.Email == "" || !row.StillSigns(signer) {
				continue
			}
			a := ask{row: row}
			if links && signer.ID != "" {
				if a.address, err = s.office.SignerPage(ctx, id, signer.ID); ctx.Err() != nil {
					return nil, ctx.Err()
				}
				links = links && err == nil // the letter is useful without links, too
			}
			same := func(l letter) bool { return strings.EqualFold(l.to.Email, signer.Email) }
			if at := slices.IndexFunc(list, same); at >= 0 {
				list[at].asks = append(list[at].asks, a)
			} else {
				list = append(list, letter{signer, []ask{a}})
			}
		}
	}
	return list, nil
}

// Stuck describes the listed packages that cannot be completed: declined or expired.
type Stuck struct {
	First office.PackageLine // the newest
	Count int
}

func (s *Screen) Stuck() (now Stuck) {
	left := s.all.counts[tabProblems]                   // called on every change, with up to 50,000 others
	for place, r := range slices.Backward(s.all.rows) { // newest first
		if left == 0 {
			break
		}
		if r.tab() != tabProblems {
			continue
		}
		left--
		l := s.all.line(int32(place))
		if over := l.Status(); over != office.StatusDeclined && over != office.StatusExpired {
			continue
		}
		if now.Count++; now.Count == 1 {
			now.First = l
		}
	}
	return now
}

// ForOK returns the rows of what a watched folder asks about, newest first; of all folders for an empty id.
func (s *Screen) ForOK(folder string) (ids []string) {
	for _, r := range s.drafts {
		if r.draft.AsksOK() && (folder == "" || r.draft.Folder == folder) {
			ids = append(ids, r.line.ID)
		}
	}
	return ids
}

// ShowForOK shows them, marked for a common OK.
func (s *Screen) ShowForOK(folder string) {
	switch ids := s.ForOK(folder); len(ids) {
	case 0:
	case 1:
		s.Show(ids[0])
	default:
		s.ShowSeveral(ids)
	}
}

// Problems counts what is listed under that tab when nothing is sought: what needs somebody.
func (s *Screen) Problems() int {
	n := s.all.counts[tabProblems]
	for _, r := range s.drafts {
		if r.tab() == tabProblems {
			n++
		}
	}
	return n
}

// ShowStuck shows the one stuck package, or the tab with all of them.
func (s *Screen) ShowStuck() {
	if now := s.Stuck(); now.Count == 1 {
		s.Show(now.First.ID)
		return
	}
	s.ShowProblems()
}

// ShowProblems shows everything that is wrong.
func (s *Screen) ShowProblems() {
	s.widen()
	s.tabs.Choose(tabProblems)
}
