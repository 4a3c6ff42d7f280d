package packages

import (
	"cmp"
	"context"
	"crypto/x509"
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Seals checks the digital seals of saved documents and writes proofs.
type Seals interface {
	Differences
	// Prove writes a new file that proves a package to people without this program.
	Prove(ctx context.Context, packageID, path string, replace bool) error
	// SealAuthority returns the certificate that vouches for a saved document's seal.
	SealAuthority(ctx context.Context, path string) (*x509.Certificate, error)
	// TrustSeals trusts the seals that the certificates vouch for.
	TrustSeals(...*x509.Certificate) error
}

// sealsOf sums up the seals of a package's files and whether the files are what was sent, one line per finding; pressing it shows
// the details. Files without a finding get no line. It returns nil if nothing was examined.
func (s *Screen) sealsOf(p record) fyne.CanvasObject {
	var lines []fyne.CanvasObject
	alike := map[string]int{}
	files := slices.DeleteFunc(slices.Clone(p.row.Files), p.astray) // what was found of them no longer counts
	for _, f := range files {
		alike[i18n.SealWord(f.Seal)]++
		if line := s.matchOf(p, f); line != nil {
			lines = append(lines, line)
		}
	}
	for _, f := range files {
		word := i18n.SealWord(f.Seal)
		said := word
		switch {
		case word == "" || alike[word] == 0:
			continue
		case f.Seal.Wrong():
			said = filepath.Base(f.Path) + ": " + word
		case alike[word] > 1:
			said += " · " + lang.N("{{.PluralCount}} files", alike[word])
		}
		alike[word] = 0
		lines = append(lines, verdict(sealMark(f.Seal), said, func() { s.tellSeal(f) }))
	}
	if len(lines) == 0 {
		return nil
	}
	return widgets.Stack(2, lines...)
}

func sealMark(s office.Seal) theme.Mark {
	switch {
	case s.Wrong():
		return theme.MarkProblem
	case s.State == office.SealIntact:
		return theme.MarkSealed
	}
	return theme.MarkLater
}

// tellSeal shows what a file's seal means, who sealed it and when, and offers to trust an unknown authority.
func (s *Screen) tellSeal(f office.File) {
	means, more := i18n.Words().Lines(f.Seal.Text())
	verdict := widgets.NewFullHeading(means)
	verdict.Most = 0 // its end says the most
	says := widgets.Stack(4, verdict, widgets.NewFullCaption(filepath.Base(f.Path)))
	facts := widgets.Stack(4)
	add := func(name, value string) {
		if value != "" {
			facts.Add(widgets.Across(widgets.Column(130, widgets.NewProse(name)), widgets.NewParagraph(value), nil))
		}
	}
	add(lang.L("Certificate issued by"), f.Seal.Issuer)
	if !f.Seal.At.IsZero() {
		add(lang.L("Sealed on"), f.Seal.At.Local().Format("2006-01-02 15:04:05 MST"))
		add(lang.L("Time confirmed by"), f.Seal.Stamped)
	}
	var pop *widgets.PopUp
	leave := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	buttons := widgets.Row(8, layout.NewSpacer(), leave)
	if f.Seal.State == office.SealStranger {
		buttons.Add(widgets.NewButton(lang.L("Trust this seal…"), func() {
			pop.Close()
			s.trustSeal(f)
		}))
	}
	page := widgets.Stack(16, widgets.Beside(widgets.Mark(24, widget.NewIcon(sealMark(f.Seal).Resource())), says), facts)
	for _, text := range []string{more, i18n.Message(f.Seal.Revocation())} {
		if text != "" {
			page.Add(widgets.NewProse(text))
		}
	}
	page.Add(buttons)
	pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, page), fyne.NewSize(480, 0), leave, nil)
}

// trustSeal asks whether to trust the authority behind a file's seal.
func (s *Screen) trustSeal(f office.File) {
	env.Get(s.env, func(ctx context.Context) (*x509.Certificate, error) { return s.office.SealAuthority(ctx, f.Path) }, func(c *x509.Certificate) {
		widgets.Ask(s.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Trust these seals?"),
			Text:  i18n.Relying([]*x509.Certificate{c}, 1),
			Safe:  lang.L("Cancel"), Do: lang.L("Trust"), OnDo: func() {
				s.env.Attempt(func(context.Context) error { return s.office.TrustSeals(c) }, nil)
			},
		})
	})
}

// askProof asks where to save, proposing a name derived from the package's, and writes the proof there.
func (s *Screen) askProof(id, called string) {
	name := office.FileName(lang.L("Proof of {{.Package}}", i18n.V{"Package": cmp.Or(called, id)}) + ".zip")
	browse.Save(s.env, lang.L("Save proof…"), name, func(path string, replace bool) {
		s.env.Do(func(ctx context.Context) error { return s.office.Prove(ctx, id, path, replace) }, func() {
			s.env.Notice(lang.L("“{{.File}}” was saved.", i18n.V{"File": filepath.Base(path)}))
		})
	})
}
