package settings

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/widgets"
)

// form is the fields. It turns settings into what is shown and back, and knows nothing of saving.
type form struct {
	content fyne.CanvasObject
	fields  map[string]*widgets.Field

	auth, base, client, scopes, header *widgets.Entry
	redirectURI                        *widgets.Entry
	domain, connect, ca                *widgets.Entry
	public, listen                     *widgets.Entry
	folder, template                   *widgets.Entry
	clientSecret, ngrokToken           *widgets.Entry
	clientField, ngrokField            *widgets.Field
	redirect, tunnel                   *choice
	cac, master                        *widget.Check
	ngrokPart, externalPart, nonePart  *fyne.Container
}

// choice is a selection of which each text stands for a value.
type choice struct {
	*widget.Select
	values []string
}

func newChoice(values, texts []string, changed func()) *choice {
	return &choice{widget.NewSelect(texts, func(string) { changed() }), values}
}

func (c *choice) value() string {
	if i := c.SelectedIndex(); i >= 0 {
		return c.values[i]
	}
	return ""
}

func (c *choice) show(value string) {
	if i := slices.Index(c.values, value); i >= 0 {
		c.Selected = c.Options[i]
	} else {
		c.Selected = ""
	}
	c.Refresh()
}

func newForm(changed, pickFolder func()) *form {
	f := &form{fields: map[string]*widgets.Field{}}
	entry := func(placeholder string) *widgets.Entry { return widgets.NewEntry(placeholder) }
	f.auth, f.base = entry("https://sign.example.com"), entry("https://sign.example.com/api/v1")
	f.client, f.scopes, f.header = entry(""), entry("openid profile offline_access organization"), entry("X-Service-Signature")
	f.redirectURI, f.domain, f.connect, f.ca = entry(lang.L("as it follows from the choice above")), entry("office.ngrok.app"), entry(""), entry("")
	f.public, f.listen = entry("https://sign.office.example"), entry("127.0.0.1:8080")
	f.folder, f.template = entry(""), entry("")
	f.clientSecret, f.ngrokToken = widgets.NewSecret(), widgets.NewSecret()
	f.redirect = newChoice(
		[]string{string(agent.RedirectTunnel), string(agent.RedirectLocalhost), string(agent.RedirectLoopback), string(agent.RedirectPaste)},
		[]string{lang.L("Through the office's public address"), lang.L("To this computer, https://localhost"),
			lang.L("To this computer, http://127.0.0.1"), lang.L("By pasting the address")}, changed)
	f.tunnel = newChoice(
		[]string{string(agent.TunnelNgrok), string(agent.TunnelExternal), string(agent.TunnelNone), string(agent.TunnelLoopback)},
		[]string{lang.L("An ngrok address"), lang.L("Our own reverse proxy"), lang.L("None: ask from time to time"), lang.L("This computer only (demo)")}, changed)
	f.cac = widget.NewCheck(lang.L("Also save the certificate of each document"), func(bool) { changed() })
	f.master = widget.NewCheck(lang.L("Also save the master file of each package"), func(bool) { changed() })
	for _, e := range append(f.entries(), f.clientSecret, f.ngrokToken) {
		e.OnChanged = func(string) { changed() }
	}
	f.build(pickFolder)
	return f
}

func (f *form) build(pickFolder func()) {
	field := func(key, name string, input fyne.CanvasObject, hint string) fyne.CanvasObject {
		f.fields[key] = widgets.NewField(name, input, hint)
		return f.fields[key]
	}
	f.clientField = widgets.NewField(lang.L("Client secret"), f.clientSecret, "")
	f.ngrokField = widgets.NewField(lang.L("ngrok authtoken"), f.ngrokToken, "")
	two := func(a, b fyne.CanvasObject) fyne.CanvasObject { return widgets.Halves(a, b) }
	saving := part(lang.L("Signed documents"),
		field(fieldFolder, lang.L("Folder"), widgets.Across(nil, f.folder, folderButton(pickFolder)), ""),
		field(fieldTemplate, lang.L("Name of a saved file"), f.template, ""), widgets.Stack(0, f.cac, f.master))
	service := part(lang.L("Signing service"),
		two(field(fieldAuth, lang.L("Address for signing in"), f.auth, ""), field(fieldBase, lang.L("Address of the service"), f.base, "")),
		two(field(fieldClient, lang.L("Client id"), f.client, ""), f.clientField),
		two(field(fieldScopes, lang.L("Scopes"), f.scopes, ""), field(fieldHeader, lang.L("Header that carries the signature"), f.header, "")))
	signin := part(lang.L("Signing in"),
		two(widgets.NewField(lang.L("How the browser comes back"), f.redirect.Select, ""),
			field(fieldRedirect, lang.L("Registered return address"), f.redirectURI, "")))
	f.ngrokPart = widgets.Stack(12,
		two(field(fieldDomain, lang.L("The office's domain"), f.domain, ""), f.ngrokField),
		two(field(fieldConnect, lang.L("Other ngrok server (optional)"), f.connect, ""), widgets.NewField(lang.L("Its certificate file (optional)"), f.ca, "")))
	f.externalPart = widgets.Stack(12, two(field(fieldPublic, lang.L("Public address"), f.public, ""), field(fieldListen, lang.L("Where the proxy sends to"), f.listen, "")))
	f.nonePart = widgets.Stack(0, widgets.NewCaption(lang.L("News of signatures arrives later: Countersign asks the service from time to time.")))
	address := part(lang.L("Public address"),
		widgets.NewField(lang.L("How the service reaches this computer"), f.tunnel.Select, ""), f.ngrokPart, f.externalPart, f.nonePart)
	f.content = widgets.Stack(16, saving, service, signin, address, widgets.Spacer())
}

func part(title string, objects ...fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Stack(8, widgets.NewTitle(title), widgets.Card(widgets.Stack(12, objects...)))
}

// entries are all fields of one line that are not secret.
func (f *form) entries() []*widgets.Entry {
	return []*widgets.Entry{f.auth, f.base, f.client, f.scopes, f.header, f.redirectURI, f.domain, f.connect, f.ca,
		f.public, f.listen, f.folder, f.template}
}

// adapt shows the fields that go with the chosen kind of address.
func (f *form) adapt() {
	kind := agent.TunnelKind(f.tunnel.value())
	for part, shown := range map[*fyne.Container]bool{f.ngrokPart: kind == agent.TunnelNgrok,
		f.externalPart: kind == agent.TunnelExternal, f.nonePart: kind == agent.TunnelNone} {
		if part.Visible() != shown {
			part.Hidden = !shown
			f.content.Refresh()
		}
	}
}

func (f *form) show(s agent.Settings) {
	texts := []string{s.AuthURL, s.BaseURL, s.ClientID, strings.Join(s.Scopes, " "), s.SignatureHeader, s.RedirectURI,
		s.NgrokDomain, s.NgrokConnectURL, s.NgrokCA, s.PublicURL, s.Listen, s.SaveTo, s.NameTemplate}
	for i, e := range f.entries() {
		e.SetText(texts[i])
	}
	f.redirect.show(string(s.Redirect))
	f.tunnel.show(string(s.Tunnel))
	f.cac.SetChecked(s.SaveCAC)
	f.master.SetChecked(s.SaveMaster)
}

// settings is what is shown. kept supplies what the form has no field for, and what is not chosen.
func (f *form) settings(kept agent.Settings) agent.Settings {
	s := kept
	into := []*string{&s.AuthURL, &s.BaseURL, &s.ClientID, new(string), &s.SignatureHeader, &s.RedirectURI,
		&s.NgrokDomain, &s.NgrokConnectURL, &s.NgrokCA, &s.PublicURL, &s.Listen, &s.SaveTo, &s.NameTemplate}
	for i, e := range f.entries() {
		*into[i] = strings.TrimSpace(e.Text)
	}
	s.Scopes = strings.Fields(f.scopes.Text)
	if v := f.redirect.value(); v != "" {
		s.Redirect = agent.RedirectKind(v)
	}
	if v := f.tunnel.value(); v != "" {
		s.Tunnel = agent.TunnelKind(v)
	}
	s.SaveCAC, s.SaveMaster = f.cac.Checked, f.master.Checked
	return s
}

func (f *form) secrets() agent.Secrets {
	return agent.Secrets{ClientSecret: strings.TrimSpace(f.clientSecret.Text), NgrokAuthtoken: strings.TrimSpace(f.ngrokToken.Text)}
}

func (f *form) clearSecrets() {
	f.clientSecret.SetText("")
	f.ngrokToken.SetText("")
}

func (f *form) showSecrets(client, ngrok bool) {
	for field, has := range map[*widgets.Field]bool{f.clientField: client, f.ngrokField: ngrok} {
		if has {
			field.Hint(lang.L("Kept in the keyring. Type to replace it."))
		} else {
			field.Hint(lang.L("Not set."))
		}
	}
}

func (f *form) showWrong(wrong map[string]string) {
	for key, field := range f.fields {
		if field.IsWrong() || wrong[key] != "" {
			field.Wrong(wrong[key])
		}
	}
}
