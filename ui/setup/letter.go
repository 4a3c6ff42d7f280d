package setup

import (
	"cmp"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// letter is what an administrator needs to know, as far as the answers tell: exactly what to register, what to send back,
// and how to make the file that answers all of it. It holds no secret.
func (s *Screen) letter() (subject, text string) {
	a := s.answers
	x := s.given()
	subject = lang.L("Countersign: registration with the signing service")
	lines := []string{
		lang.L("I am setting up Countersign, which sends our documents for signature. It must be registered once with the signing service."),
		"",
		lang.L("Register an application with these values:"),
		"• " + lang.L("Signing service: {{.Service}}", i18n.V{"Service": cmp.Or(hosts(x), lang.L("the one our office uses"))}),
		"• " + lang.L("Return address (redirect URI), letter by letter: {{.Address}}", i18n.V{"Address": s.returnAddress()}),
		"• " + lang.L("Scopes: {{.Scopes}}", i18n.V{"Scopes": strings.Join(x.Scopes, " ")}),
		"• " + lang.L("Grant: authorization code with PKCE, and refresh tokens"),
		"",
		lang.L("Send me back:"),
		"• " + lang.L("the client ID"),
		"• " + lang.L("the client secret, in a way that nobody else can read"),
	}
	if x.AuthURL == "" || x.BaseURL == "" {
		lines = append(lines, "• "+lang.L("the sign-in address and the service address"))
	}
	if x.Tunnel == office.TunnelNgrok && a.secrets.NgrokAuthtoken == "" && !s.address.tokenKept {
		lines = append(lines, "• "+lang.L("the authtoken and the domain of our ngrok account"))
	}
	if x.Tunnel == office.TunnelExternal && (x.PublicURL == "" || x.Listen == "") {
		lines = append(lines, "• "+lang.L("the public address of our web server, and where on this computer it sends what arrives"))
	}
	lines = append(lines, "", lang.L("Or make a file that I open with a double click:"), "    "+command(x, s.returnAddress()), "",
		lang.L("The account that signs in should be an administrator of our organization at the signing service. Otherwise signatures arrive later."))
	return subject, strings.Join(lines, "\n")
}

// returnAddress is the one to register, with a stand-in for what is not known yet.
func (s *Screen) returnAddress() string {
	return cmp.Or(s.given().ReturnAddress(), "https://YOUR-NGROK-DOMAIN/oauth/callback")
}

// command makes the file on the administrator's computer. Where it goes, others may read it.
func command(x office.Settings, back string) string {
	words := []string{"countersign", "setup", "--auth-url", cmp.Or(x.AuthURL, "URL"), "--base-url", cmp.Or(x.BaseURL, "URL"), "--client-id", "ID",
		"--tunnel", string(x.Tunnel), "--redirect", string(x.Redirect)}
	switch x.Tunnel {
	case office.TunnelNgrok:
		words = append(words, "--ngrok-domain", cmp.Or(x.NgrokDomain, "DOMAIN"))
	case office.TunnelExternal:
		words = append(words, "--public-url", cmp.Or(x.PublicURL, "URL"), "--listen", cmp.Or(x.Listen, "HOST:PORT"))
	}
	if x.Redirect == office.RedirectPaste {
		words = append(words, "--redirect-uri", back)
	}
	return strings.Join(append(words, "--export", agent.OfficeName), " ")
}

// AskAdministrator shows the letter, to copy or to mail.
func (s *Screen) AskAdministrator() {
	subject, text := s.letter()
	lines := widgets.Stack(2)
	for line := range strings.SplitSeq(text, "\n") {
		lines.Add(widgets.NewParagraph(cmp.Or(strings.TrimSpace(line), " ")))
	}
	trouble := widgets.NewProse("")
	trouble.Colour = theme.Attention
	trouble.Hide()
	var pop *widgets.PopUp
	copyIt := widgets.NewCopyButton(lang.L("Copy"), s.env.Later, func(copied func()) {
		s.env.Copy(text)
		trouble.Hide()
		copied()
	})
	copyIt.Button.Importance = widget.HighImportance
	mail := widgets.NewButtonWithIcon(lang.L("Write an e-mail"), fynetheme.MailComposeIcon(), func() {
		s.env.Browse(env.Mailto("", subject, text), func(err error) {
			if err != nil {
				trouble.Set(lang.L("No mail program could be opened. Copy the text instead."))
				trouble.Show()
			}
		})
	})
	shut := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	foot := widgets.Stack(8, trouble, widgets.Row(8, layout.NewSpacer(), shut, mail, copyIt))
	head := widgets.Stack(8, widgets.NewHeading(lang.L("Ask your administrator")),
		widgets.NewProse(lang.L("This letter contains no secrets. Each step you answer completes it.")))
	content := widgets.Pad(20, container.NewBorder(head, foot, nil, nil,
		widgets.PadHV(0, 12, widgets.Card(widgets.NewVScroll(lines)))))
	room := s.env.Window.Canvas().Size()
	pop = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(min(680, room.Width-48), min(540, room.Height-48)), copyIt.Button, nil)
}
