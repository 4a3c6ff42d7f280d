package packages

import (
	"cmp"
	"context"
	"crypto/x509"
	"path/filepath"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
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
	told, altered := p.altered()
	for _, f := range files {
		alike[i18n.SealWord(f.Seal)]++
		if line := s.matchOf(p, f); line != nil && (f != told || f.Match.Text() != p.row.Problem) { // the head says it
			lines = append(lines, line)
		}
	}
	for i, f := range files {
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
		mark := sealMark(f.Seal)
		if altered >= 0 && mark == theme.MarkSealed { // what is wrong is green nowhere
			mark = theme.MarkLater
		}
		lines = append(lines, verdict(mark, said, func() { s.tellSeals(files, i) }))
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

// tellSeals shows what the seals of a package's files mean, of one at a time, beginning with that at an index: who sealed it and when.
// It offers to trust an unknown authority.
func (s *Screen) tellSeals(files []office.File, at int) {
	var pop *widgets.PopUp
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
	}
	leave, trust := widgets.NewButton(lang.L("Close"), func() { pop.Close() }), widgets.NewButton(lang.L("Trust this seal…"), nil)
	about := widgets.Stack(16)
	tell := func(f office.File) {
		trust.Hidden = f.Seal.State != office.SealStranger
		trust.OnTapped = func() {
			pop.Close()
			s.trustSeal(f)
		}
		widgets.Remake(about, s.aboutSeal(f.Seal)...)
	}
	choice := widgets.NewSelect(names, nil)
	choice.SetSelectedIndex(at)
	choice.OnChanged = func(string) { tell(files[choice.SelectedIndex()]) }
	tell(files[at])
	page := widgets.Stack(16, choice, about, widgets.Row(8, layout.NewSpacer(), leave, trust))
	pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, page), fyne.NewSize(480, 0), leave, nil)
}

func (s *Screen) aboutSeal(seal office.Seal) []fyne.CanvasObject {
	undated := seal
	if seal.State != office.SealStamped {
		undated.At = time.Time{}
	}
	means, more := i18n.Words().Lines(cmp.Or(undated.Text(), message.SealNone()))
	verdict := widgets.NewFullHeading(means)
	verdict.Most = 0 // its end says the most
	facts := widgets.Stack(4)
	add := func(name, value string) {
		if value != "" {
			facts.Add(widgets.Across(widgets.Column(150, widgets.NewProse(name)), widgets.NewParagraph(value), nil))
		}
	}
	add(lang.L("Certificate issued by"), seal.Issuer)
	add(lang.L("Sealed on"), i18n.Exactly(s.env.Now(), seal.At))
	if !seal.At.IsZero() {
		add(lang.L("Time confirmed by"), seal.Stamped)
	}
	page := []fyne.CanvasObject{widgets.Beside(widgets.Mark(24, widget.NewIcon(sealMark(seal).Resource())), verdict), facts}
	for _, text := range []string{more, i18n.Message(seal.Revocation())} {
		if text != "" {
			page = append(page, widgets.NewProse(text))
		}
	}
	return page
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
