package settings

import (
	"context"
	"crypto/x509"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// Seals are the authorities that the office trusts for digital seals.
type Seals interface {
	TrustedSeals() ([]*x509.Certificate, error)
	TrustSeals(...*x509.Certificate) error
	DistrustSeals(...*x509.Certificate) error
	Authorities(ctx context.Context, path string) ([]*x509.Certificate, error)
}

// mostSeals are listed individually: a country's list names hundreds.
const mostSeals = 8

// seals is the section that shows and changes them.
type seals struct {
	screen  *Screen
	reader  *async.Reader[[]*x509.Certificate]
	list    *fyne.Container
	content fyne.CanvasObject
}

func newSeals(s *Screen) *seals {
	x := &seals{screen: s, list: widgets.Stack(4)}
	x.reader = async.NewReader(s.env.Work, func(context.Context) ([]*x509.Certificate, error) { return s.office.TrustedSeals() }, x.show)
	x.content = widgets.Section(lang.L("Digital seals"), 12,
		widgets.NewProse(lang.L("Countersign trusts seals from authorities that this computer knows. Add others from a certificate or an EU country’s trusted list.")),
		x.list, widgets.Row(0, widgets.NewButton(lang.L("Add from a file…"), x.add)))
	return x
}

func (x *seals) show(all []*x509.Certificate, err error) {
	if err != nil {
		widgets.Remake(x.list, widgets.Failure(i18n.Error(err), x.reader.Ask))
		return
	}
	var rows []fyne.CanvasObject
	for _, c := range all[:min(len(all), mostSeals)] {
		rows = append(rows, x.row(i18n.Authority(c), c))
	}
	if more := len(all) - mostSeals; more > 0 {
		rows = append(rows, x.row(lang.N("and {{.PluralCount}} more", more), all...))
	}
	widgets.Remake(x.list, rows...)
	widgets.Show(x.list, len(rows) > 0)
}

// row names a trusted authority, with a button that removes it.
func (x *seals) row(name string, which ...*x509.Certificate) fyne.CanvasObject {
	remove := lang.L("Remove")
	if len(which) > 1 {
		remove = lang.L("Remove all")
	}
	return widgets.Across(nil, widgets.NewFullName(name), widgets.NewButton(remove, func() {
		widgets.Ask(x.screen.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Stop trusting these seals?"),
			Text:  lang.L("Countersign will then no longer rely on documents that they vouch for.") + "\n\n" + i18n.Authorities(which, mostSeals, nil),
			Safe:  lang.L("Cancel"), Do: remove, OnDo: func() { x.change(func() error { return x.screen.office.DistrustSeals(which...) }) },
		})
	}))
}

func (x *seals) change(do func() error) {
	x.screen.env.Attempt(func(context.Context) error { return do() }, x.reader.Ask)
}

// add asks for a file, and whether to trust the authorities it names.
func (x *seals) add() {
	d := x.screen.env
	browse.One(d, lang.L("Add from a file…"), lang.L("Certificates"), []string{".pem", ".crt", ".cer", ".xml"}, func(path string) {
		env.Get(d, func(ctx context.Context) ([]*x509.Certificate, error) { return x.screen.office.Authorities(ctx, path) }, func(all []*x509.Certificate) {
			widgets.Ask(d.Window.Canvas(), widgets.Question{
				Title: lang.L("Trust these seals?"),
				Text:  i18n.Relying(all, mostSeals),
				Safe:  lang.L("Cancel"), Do: lang.L("Trust"), OnDo: func() { x.change(func() error { return x.screen.office.TrustSeals(all...) }) },
			})
		})
	})
}
