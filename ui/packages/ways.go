package packages

import (
	"context"
	"errors"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// waysOf lead to the page on which a person signs: by a link to send on, at this desk, or in a letter.
func (s *Screen) waysOf(row office.PackageRow, signer office.Signer) fyne.CanvasObject {
	who := i18n.V{"Who": i18n.Name(signer)}
	ways := widgets.Flow(4,
		widgets.NewLink(fynetheme.ContentCopyIcon(), lang.L("Copy link"), func() {
			s.withLink(row, signer, func(address string) {
				s.env.Copy(address)
				s.env.Notice(lang.L("Link to the signing page copied: {{.Who}}", who))
			})
		}),
		widgets.NewLink(fynetheme.ComputerIcon(), lang.L("Sign here…"), func() { s.withLink(row, signer, s.env.OpenAddress) }))
	if signer.Email != "" {
		ways.Add(widgets.NewLink(fynetheme.MailComposeIcon(), lang.L("Write an e-mail"), func() {
			s.withLink(row, signer, func(address string) { s.writeTo(row, signer, address) })
		}))
	}
	for _, way := range ways.Objects {
		way.(*widgets.Press).Lines[0].Shorten = false // they wrap
	}
	return ways
}

// withLink asks for the address of the page on which a person signs, and hands it over. It lives only briefly and lets
// whoever has it sign, so that it is asked for when it is used, and kept nowhere.
func (s *Screen) withLink(row office.PackageRow, signer office.Signer, use func(address string)) {
	if s.asking { // the first press is enough
		return
	}
	s.asking = true
	async.Then(s.env.Work, func(ctx context.Context) (string, error) { return s.env.Office.SignerPage(ctx, row.ID, signer.ID) },
		func(address string, err error) {
			s.asking = false
			switch {
			case errors.Is(err, context.Canceled):
			case err != nil:
				if s.noLinks = s.noLinks || errors.Is(err, agent.ErrNoLinks); s.noLinks {
					s.redraw(row.ID)
				}
				s.env.Notice(i18n.Error(err))
			default:
				use(address)
			}
		})
}

// writeTo begins a letter with the link in the mail program, in the language of the person where that is known.
func (s *Screen) writeTo(row office.PackageRow, signer office.Signer, address string) {
	words := i18n.WordsFor(signer.Locale)
	asks := message.LetterAsks(row.DisplayName())
	if part, _ := row.PartOf(signer); part == office.PartLater {
		asks = message.LetterLater(row.DisplayName())
	}
	text := []string{words.Text(message.LetterGreeting(i18n.Name(signer))), words.Text(asks), address}
	if now := s.env.Now(); row.Due.After(now) {
		text = append(text, words.Text(office.DueText(row.DisplayName(), now, row.Due)))
	}
	text = append(text, words.Text(message.LetterPersonal()))
	letter := env.Mailto(signer.Email, words.Text(message.LetterSubject(row.DisplayName())), strings.Join(text, "\n\n")+"\n")
	s.env.Browse(letter, func(err error) {
		if err != nil {
			s.env.Notice(lang.L("No mail program could be opened. Copy the link instead."))
		}
	})
}
