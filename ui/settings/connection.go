package settings

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/checks"
	"countersign/ui/widgets"
)

// connection shows the way to the service and back, as far as it is known, and tries all of it when somebody asks.
type connection struct {
	screen  *Screen
	content fyne.CanvasObject
	reader  *async.Reader[found]
	list    *checks.List
	hosts   *widgets.Prose
	copy    *widgets.CopyButton
	allow   fyne.CanvasObject // the section of the hosts
	try     *widgets.Button
	cancel  context.CancelFunc // ends what is tried; nil while nothing is
	tried   bool               // what is shown was tried, and stays until the page is left
}

// found is what is known without trying.
type found struct {
	checks []office.Check
	hosts  []string
}

func newConnection(s *Screen) *connection {
	c := &connection{screen: s, list: checks.New(s.env.Now), hosts: widgets.NewParagraph("")}
	c.reader = async.NewReader(s.env.Work, func(ctx context.Context) (found, error) {
		return found{s.env.Office.Connection(ctx), s.env.Office.Hosts()}, nil
	}, c.show)
	c.try = widgets.NewButton(lang.L("Try everything"), c.press)
	c.try.Importance = widget.HighImportance
	c.copy = widgets.NewCopyButton(lang.L("Copy"), s.env.Later, func(copied func()) {
		s.env.Copy(c.hosts.Text)
		copied()
	})
	intro := widgets.NewProse(lang.L("How this computer reaches the signing service, and how the service reports signatures to this computer."))
	allow := widgets.NewProse(lang.L("If a firewall or a proxy is in the way, ask your administrator to allow these addresses and not to open their encryption."))
	c.allow = widgets.Section(lang.L("Addresses to allow"), 12, allow, widgets.Across(nil, c.hosts, c.copy))
	c.content = page(
		widgets.Section(lang.L("To the service and back"), 12, widgets.Across(nil, intro, c.try), c.list.Content), c.allow)
	return c
}

// visible says whether the page is the one that is shown.
func (c *connection) visible() bool {
	return c.screen.tabs != nil && c.screen.tabs.Chosen() == tabConnection
}

// enter reads anew what is known: somebody turned to the page.
func (c *connection) enter() {
	if c.cancel == nil {
		c.tried = false
		c.reader.Ask()
	}
}

// reload does so while the page is shown, unless it shows what was tried.
func (c *connection) reload() {
	if c.visible() && c.cancel == nil && !c.tried {
		c.reader.Ask()
	}
}

func (c *connection) show(f found, _ error) {
	if text := strings.Join(f.hosts, "\n"); text != c.hosts.Text {
		c.copy.Forget()
		c.hosts.Set(text)
	}
	widgets.Show(c.allow, len(f.hosts) > 0)
	if c.cancel == nil && !c.tried {
		c.list.Show(f.checks)
	}
}

func (c *connection) press() {
	if c.cancel != nil {
		c.cancel()
		return
	}
	c.try.SetText(lang.L("Stop"))
	work := c.screen.env.Work
	c.cancel = async.Then(work, func(ctx context.Context) ([]office.Check, error) {
		return c.screen.env.Office.TryConnection(ctx, func(steps []office.Check) { work.Do(func() { c.progress(steps) }) }), ctx.Err()
	}, c.ended)
}

func (c *connection) progress(steps []office.Check) {
	if c.cancel != nil {
		c.list.Show(steps)
	}
}

func (c *connection) ended(steps []office.Check, err error) {
	c.cancel = nil
	c.try.SetText(lang.L("Try everything"))
	c.tried = err == nil
	if err != nil {
		c.reader.Ask() // it was stopped
		return
	}
	c.list.Show(steps)
}
