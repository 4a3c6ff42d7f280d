package compose

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// searchPause is how long a change of the search waits for the next one before the service is asked.
const searchPause = 400 * time.Millisecond

// chooser is the dialog in which a template is chosen. What is typed goes through the templates at hand at once, and to the
// service some moments later, which knows more of them than it shows.
type chooser struct {
	screen *Screen
	pop    *widgets.PopUp
	search *widgets.Entry
	list   *templateList
	body   *fyne.Container
	use    *widgets.Button
	all    []office.Template
	found  map[string]string // template id -> the search that the service found it with
	shown  []office.Template
}

// ChooseTemplate shows the service's templates, from which one can be chosen.
func (s *Screen) ChooseTemplate() {
	if s.run != nil {
		s.env.Notice(lang.L("A package is being sent. Continue when it is done."))
		return
	}
	c := &chooser{screen: s, found: map[string]string{}, body: container.NewStack()}
	c.search = widgets.NewEntry(lang.L("Search templates"))
	c.search.OnChanged = func(string) { c.typed() }
	c.search.OnSubmitted = func(string) { c.choose(c.list.At()) }
	c.search.OnKey = c.key
	c.list = newTemplateList(c)
	c.use = widgets.NewButton(lang.L("Use the template"), func() { c.choose(c.list.At()) })
	c.use.Importance = widget.HighImportance
	head := widgets.Stack(8, widgets.NewHeading(lang.L("From a template")), c.search)
	foot := container.NewHBox(layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), c.leave), c.use)
	canvas := s.env.Window.Canvas()
	content := widgets.Pad(16, widgets.Between(head, widgets.PadHV(0, 8, foot), c.body))
	c.pop = widgets.Open(canvas, content, fyne.NewSize(560, min(520, canvas.Size().Height-32)), c.search, nil)
	c.load()
}

func (c *chooser) leave() { c.pop.Close() }

// load asks the service for all of its templates.
func (c *chooser) load() {
	busy := widget.NewActivity()
	busy.Start()
	c.show(container.NewCenter(busy))
	c.ask("", func(list []office.Template, err error) {
		busy.Stop()
		switch {
		case err != nil && !c.screen.env.Office.TemplatesOffered():
			c.screen.offerTemplates(false)
			c.show(widgets.Empty(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary), i18n.Error(err), "", nil))
		case err != nil:
			c.show(widgets.Failure(i18n.Error(err), c.load))
		default:
			c.all = list
			c.filter()
		}
	})
}

func (c *chooser) ask(search string, then func([]office.Template, error)) {
	async.Then(c.screen.env.Work, func(ctx context.Context) ([]office.Template, error) {
		return c.screen.env.Office.Templates(ctx, search)
	}, then)
}

func (c *chooser) show(content fyne.CanvasObject) {
	c.use.Disable()
	widgets.Remake(c.body, content)
}

// typed goes through what is at hand, and asks the service once nothing more is typed for a moment.
func (c *chooser) typed() {
	c.filter()
	text := strings.TrimSpace(c.search.Text)
	if text == "" || c.all == nil {
		return
	}
	c.screen.env.Later(searchPause, func() {
		if strings.TrimSpace(c.search.Text) != text {
			return
		}
		c.ask(text, func(list []office.Template, err error) {
			if err != nil {
				return // what is at hand is shown
			}
			for _, t := range list {
				c.found[t.ID] = text
				if !slices.ContainsFunc(c.all, func(x office.Template) bool { return x.ID == t.ID }) {
					c.all = append(c.all, t)
				}
			}
			c.filter()
		})
	})
}

// filter shows the templates that the search finds, the first of them chosen.
func (c *chooser) filter() {
	if c.all == nil {
		return
	}
	text := strings.TrimSpace(c.search.Text)
	c.shown = nil
	for _, t := range c.all {
		if t.Mentions(text) || c.found[t.ID] == text {
			c.shown = append(c.shown, t)
		}
	}
	switch {
	case len(c.all) == 0:
		c.show(widgets.Empty(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary), lang.L("There are no templates yet. Make them on the signing service's website."), "", nil))
	case len(c.shown) == 0:
		c.show(widgets.Empty(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary), lang.L("No template matches the search."), "", nil))
	default:
		c.show(c.list)
		c.use.Enable()
		c.list.UnselectAll()
		c.list.Refresh()
		c.list.ScrollToTop()
		c.list.Select(0)
	}
}

// key leads the arrows from the search to the list.
func (c *chooser) key(e *fyne.KeyEvent) bool {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyPageUp, fyne.KeyPageDown:
		if len(c.shown) > 0 {
			c.list.TypedKey(e)
		}
		return true
	}
	return false
}

func (c *chooser) choose(at int) {
	if at < 0 || at >= len(c.shown) || c.use.Disabled() {
		return
	}
	t := c.shown[at]
	c.leave()
	c.screen.UseTemplate(t)
}

// templateList is the chooser's list.
type templateList struct {
	widgets.List
	chooser *chooser
}

func newTemplateList(c *chooser) *templateList {
	l := &templateList{chooser: c}
	l.Length = func() int { return len(c.shown) }
	l.CreateItem = func() fyne.CanvasObject { return newTemplateRow(l) }
	l.UpdateItem = func(at int, o fyne.CanvasObject) { o.(*templateRow).show(at) }
	l.OnSelected = l.Chose
	l.Says = func() string { return lang.L("From a template") }
	l.OnEnter = func() { c.choose(l.At()) }
	l.ExtendBaseWidget(l)
	return l
}

// templateRow is one template; a tap uses it.
type templateRow struct {
	widgets.ListRow
	list       *templateList
	at         int
	name, what *widgets.Line
}

func newTemplateRow(l *templateList) *templateRow {
	r := &templateRow{list: l, name: widgets.NewTitle(""), what: widgets.NewCaption("")}
	r.Lines, r.Content = []*widgets.Line{r.name, r.what}, widgets.PadHV(8, 6, widgets.Stack(2, r.name, r.what))
	r.ExtendBaseWidget(r)
	return r
}

// Tapped is Fyne's.
func (r *templateRow) Tapped(*fyne.PointEvent) {
	r.list.Select(r.at)
	r.list.chooser.choose(r.at)
}

func (r *templateRow) show(at int) {
	t := r.list.chooser.shown[at]
	r.at = at
	r.name.Set(t.Name)
	r.what.Set(templateFacts(t))
	r.Shown()
}

// templateFacts are "For new clients · Client, Lawyer · 2 documents".
func templateFacts(t office.Template) string {
	var facts, roles []string
	if t.Description != "" {
		facts = append(facts, t.Description)
	}
	for _, r := range t.Roles {
		if name := cmp.Or(r.Role, i18n.Name(r.Person())); name != "" && !slices.Contains(roles, name) {
			roles = append(roles, name)
		}
	}
	if len(roles) > 0 {
		facts = append(facts, strings.Join(roles, ", "))
	}
	if len(t.Documents) > 0 {
		facts = append(facts, i18n.Documents(len(t.Documents)))
	}
	return strings.Join(facts, " · ")
}

// FromTemplate begins a package from the template with that id, which is called so, or says why it cannot.
func (s *Screen) FromTemplate(id, name string) {
	if s.run != nil {
		s.env.Notice(lang.L("A package is being sent. Continue when it is done."))
		return
	}
	async.Then(s.env.Work, func(ctx context.Context) ([]office.Template, error) { return s.env.Office.Templates(ctx, "") },
		func(list []office.Template, err error) {
			found := office.NamedTemplate(list, id)
			switch {
			case err != nil:
				s.env.Notice(i18n.Error(err))
			case len(found) == 0:
				s.env.Notice(lang.L("The template “{{.Template}}” no longer exists.", i18n.V{"Template": name}))
				s.ChooseTemplate()
			default:
				s.replace(func() {
					s.clear()
					s.UseTemplate(found[0])
				})
			}
		})
}

// offerTemplates shows the way to the templates, or not where the service has none.
func (s *Screen) offerTemplates(offered bool) {
	s.choose.Hidden = !offered
	s.deeds.Refresh()
}
