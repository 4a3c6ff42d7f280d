package settings

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// account says who is signed in. Signing in and out is the window's.
type account struct {
	screen          *Screen
	content         *fyne.Container
	mark            *widget.Icon
	who, of         *widgets.Prose
	in, other, gone *widgets.Button
}

func newAccount(s *Screen) *account {
	a := &account{screen: s, mark: widget.NewIcon(theme.MarkLater.Resource()), who: widgets.NewFullName(""), of: widgets.NewFullCaption("")}
	a.in = widgets.NewButtonWithIcon(lang.L("Sign in"), fynetheme.LoginIcon(), func() { s.env.Go.SignIn("") })
	a.in.Importance = widget.HighImportance
	a.other = widgets.NewButton(lang.L("Sign in with another account"), func() { s.env.Go.SignIn("login") })
	a.gone = widgets.NewButtonWithIcon(lang.L("Sign out"), fynetheme.LogoutIcon(), s.env.Go.SignOut)
	a.content = widgets.Across(a.mark, widgets.Stack(2, a.who, a.of), widgets.Row(8, a.in, a.other, a.gone))
	a.content.Hide() // until it is known
	return a
}

func (a *account) show(s agent.Status) {
	a.content.Show()
	a.in.Hidden = s.SignedIn
	a.other.Hidden, a.gone.Hidden = !s.SignedIn, !s.SignedIn
	a.mark.SetResource(theme.MarkLater.Resource())
	a.who.Text, a.of.Text = lang.L("Not signed in"), lang.L("Documents signed in the meantime are saved after you sign in.")
	if s.SignedIn {
		a.mark.SetResource(theme.MarkSigned.Resource())
		a.who.Text, a.of.Text = lang.L("Signed in"), ""
		if s.Account.Email != "" {
			a.who.Text = lang.L("Signed in as {{.Who}}", i18n.V{"Who": s.Account.Email})
		}
		if s.Account.OrganizationID != "" {
			a.of.Text = lang.L("Organization {{.ID}}", i18n.V{"ID": s.Account.OrganizationID})
		}
	}
	a.content.Refresh()
}
