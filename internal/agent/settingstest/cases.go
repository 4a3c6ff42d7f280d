// Package settingstest holds what the settings accept and refuse, field by field, for the tests of all who take settings:
// the agent, the commands and the window. It must not judge anything itself.
package settingstest

import (
	"path/filepath"
	"strconv"
	"strings"

	"countersign/internal/agent"
)

// Secret is in every value that holds a password. Nobody may repeat it.
const Secret = "s3cr3tpassw0rd"

// Case is one value of one field, as a person types it.
type Case struct {
	Field  string
	Flag   string // of countersign setup; "" where it has none
	Value  string
	Kept   string     // how it is kept when it is right
	Code   agent.Code // what is wrong with it; "" when it is right
	Around string     // the tunnel it goes with, "" for ngrok
}

// Name is fit for a subtest.
func (c Case) Name() string {
	return c.Field + " " + strings.NewReplacer("/", "_", "\n", "_").Replace(strconv.Quote(c.Value))
}

// Wrong says whether the value is to be refused.
func (c Case) Wrong() bool { return c.Code != "" }

// Settings are good settings into which the value goes. folder is where documents go.
func (c Case) Settings(folder string) agent.Settings {
	s := agent.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com/api/v1", "office"
	s.Redirect, s.SaveTo = agent.RedirectLocalhost, folder
	switch agent.TunnelKind(c.Around) {
	case agent.TunnelExternal:
		s.Tunnel, s.PublicURL, s.Listen = agent.TunnelExternal, "https://office.example.com", "127.0.0.1:8080"
	case agent.TunnelNone:
		s.Tunnel = agent.TunnelNone
	}
	return s
}

// With is Settings with the value.
func (c Case) With(folder string) agent.Settings {
	s := c.Settings(folder)
	switch at := c.At(&s).(type) {
	case *string:
		*at = c.Value
	case *agent.RedirectKind:
		*at = agent.RedirectKind(c.Value)
	case *agent.TunnelKind:
		*at = agent.TunnelKind(c.Value)
	case *agent.NotifyKind:
		*at = agent.NotifyKind(c.Value)
	case *[]string:
		*at = []string{c.Value}
	case *int:
		*at, _ = strconv.Atoi(c.Value)
	}
	return s
}

// At is the field of s.
func (c Case) At(s *agent.Settings) any {
	return map[string]any{
		agent.FieldAuthURL: &s.AuthURL, agent.FieldBaseURL: &s.BaseURL, agent.FieldClientID: &s.ClientID, agent.FieldScopes: &s.Scopes,
		agent.FieldHeader: &s.SignatureHeader, agent.FieldRedirect: &s.Redirect, agent.FieldRedirectURI: &s.RedirectURI,
		agent.FieldTunnel: &s.Tunnel, agent.FieldNgrokDomain: &s.NgrokDomain, agent.FieldNgrokConnect: &s.NgrokConnectURL,
		agent.FieldNgrokCA: &s.NgrokCA, agent.FieldPublicURL: &s.PublicURL, agent.FieldListen: &s.Listen, agent.FieldSaveTo: &s.SaveTo,
		agent.FieldTemplate: &s.NameTemplate, agent.FieldNotify: &s.Notify, agent.FieldQuietFrom: &s.QuietFrom, agent.FieldQuietTo: &s.QuietTo,
		agent.FieldKeepEvents: &s.KeepEvents, agent.FieldTheme: &s.Theme, agent.FieldLanguage: &s.Language,
	}[c.Field]
}

// Is is the field of s as a text.
func (c Case) Is(s agent.Settings) string {
	switch at := c.At(&s).(type) {
	case *string:
		return *at
	case *agent.RedirectKind:
		return string(*at)
	case *agent.TunnelKind:
		return string(*at)
	case *agent.NotifyKind:
		return string(*at)
	case *[]string:
		return strings.Join(*at, " ")
	case *int:
		return strconv.Itoa(*at)
	}
	return ""
}

// Cases are values of every field; folder is an absolute path.
func Cases(folder string) (all []Case) {
	field, flag, around := "", "", ""
	good := func(value, kept string) { all = append(all, Case{field, flag, value, kept, "", around}) }
	same := func(values ...string) {
		for _, v := range values {
			good(v, v)
		}
	}
	bad := func(code agent.Code, values ...string) {
		for _, v := range values {
			all = append(all, Case{field, flag, v, "", code, around})
		}
	}
	password := "https://ana:" + Secret + "@sign.example.com"

	for _, f := range []struct{ field, flag string }{{agent.FieldAuthURL, "--auth-url"}, {agent.FieldBaseURL, "--base-url"}} {
		field, flag = f.field, f.flag
		same("https://sign.example.com", "https://sign.example.com/api/v1", "https://sign.example.com:8443", "http://127.0.0.1:80", "http://localhost", "https://[::1]:8443", "https://büro.example")
		good("https://sign.example.com/", "https://sign.example.com")
		good("  HTTPS://Sign.Example.COM/API/ ", "https://sign.example.com/API")
		bad(agent.CodeMissing, "", "  ")
		bad(agent.CodeInsecure, "http://sign.example.com", "sign.example.com", "ftp://sign.example.com")
		bad(agent.CodeCredentials, password, "https://ana@sign.example.com")
		bad(agent.CodeExtra, "https://sign.example.com?a=b", "https://sign.example.com/#x", "https://sign.example.com/?")
		bad(agent.CodeForm, "https://", "https:sign.example.com", "https://sign.example.com:99999", "https://sign.example.com:0", "https://sign example.com", "https://sign..example.com", "https://sign.example.com/a b")
	}
	field, flag = agent.FieldClientID, "--client-id"
	same("office", "8d1f-44", "büro 1")
	good(" office\n", "office")
	bad(agent.CodeMissing, "", " ")
	bad(agent.CodeCharacters, "off\nice", "a\x00b")

	field, flag = agent.FieldScopes, "--scope"
	same("openid", "openid profile offline_access organization")
	good("  openid   profile ", "openid profile")
	good("", strings.Join(agent.DefaultSettings().Scopes, " "))
	bad(agent.CodeCharacters, `"openid"`, "openid prófile")

	field, flag = agent.FieldHeader, "--signature-header"
	same("X-Service-Signature", "X~Sig", "x_sig.1")
	good(" X-Sig ", "X-Sig")
	good("", agent.DefaultSettings().SignatureHeader)
	bad(agent.CodeCharacters, "X Sig", "X-Sig:", "Überschrift")

	field, flag = agent.FieldRedirect, "--redirect"
	same("localhost", "loopback", "tunnel", "paste")
	bad(agent.CodeChoice, "browser")
	around = "none"
	same("localhost")
	bad(agent.CodeConflict, "tunnel")
	around = ""

	field, flag = agent.FieldRedirectURI, "--redirect-uri"
	same("", "https://office.example.com/oauth/callback", "https://Office.example.com/Back/", "https://office.example.com/back?x=1", "http://127.0.0.1:8765/back")
	good(" https://office.example.com/back ", "https://office.example.com/back")
	bad(agent.CodeInsecure, "http://office.example.com/back", "myapp:back", "office.example.com/back")
	bad(agent.CodeCredentials, password+"/back")
	bad(agent.CodeExtra, "https://office.example.com/back#x")
	bad(agent.CodeForm, "https:///back", "https://office.example.com:99999/back")

	field, flag = agent.FieldTunnel, "--tunnel"
	same("ngrok", "none")
	bad(agent.CodeChoice, "wormhole")

	field, flag = agent.FieldNgrokDomain, "--ngrok-domain"
	same("", "office.ngrok.app", "sign.office-1.example")
	for _, v := range []string{"https://office.ngrok.app", "https://Office.ngrok.app/", " office.NGROK.app ", "office.ngrok.app.", "http://office.ngrok.app"} {
		good(v, "office.ngrok.app")
	}
	bad(agent.CodeForm, "office.ngrok.app/path", "office", "office.ngrok.app:443", "office ngrok.app", "10.0.0.1", "ana:"+Secret+"@office.ngrok.app", password)

	field, flag = agent.FieldNgrokConnect, "--ngrok-connect-url"
	same("", "connect.example.com:443", "10.0.0.1:4443", "[::1]:443")
	good(" https://Connect.example.com:443/ ", "connect.example.com:443")
	bad(agent.CodeForm, "connect.example.com", "connect.example.com:99999", ":443", "connect.example.com:https", "ana:"+Secret+"@connect.example.com:443")

	field, flag = agent.FieldNgrokCA, "" // the command makes every path a full one
	same("", filepath.Join(folder, "ca.pem"))
	bad(agent.CodePath, "ca.pem", filepath.Join("certificates", "ca.pem"))

	around = "external"
	field, flag = agent.FieldPublicURL, "--public-url"
	same("https://office.example.com", "https://office.example.com/hooks", "https://office.example.com/hooks/", "https://office.example.com:8443")
	good(" https://Office.example.com/ ", "https://office.example.com")
	bad(agent.CodeMissing, "")
	bad(agent.CodeInsecure, "http://office.example.com", "http://localhost", "office.example.com")
	bad(agent.CodeCredentials, password)
	bad(agent.CodeExtra, "https://office.example.com?x", "https://office.example.com#x")
	bad(agent.CodeForm, "https://office.example.com:99999", "https://")

	field, flag = agent.FieldListen, "--listen"
	same("127.0.0.1:8080", ":8080", "[::1]:8080", "localhost:1", "0.0.0.0:65535")
	good(" LOCALHOST:8080 ", "localhost:8080")
	good("http://127.0.0.1:8080/", "127.0.0.1:8080")
	bad(agent.CodeMissing, "")
	bad(agent.CodeForm, "127.0.0.1", "8080", "127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1:-1", "127.0.0.1:http", "a b:8080", "ana:"+Secret+"@localhost:80")
	around = ""

	field, flag = agent.FieldSaveTo, "--save-to"
	same(filepath.Join(folder, "Signed"))
	good(" "+filepath.Join(folder, "Signed")+string(filepath.Separator), filepath.Join(folder, "Signed"))
	flag = "" // the command makes every path a full one
	bad(agent.CodeMissing, "", " ")
	bad(agent.CodePath, "Signed", filepath.Join(".", "a", "b"))

	field, flag = agent.FieldTemplate, "--name-template"
	same("{date} {package}", "{month}/{package} - {document}")
	good(" {package} ", "{package}")
	good(" ", agent.DefaultSettings().NameTemplate)
	bad(agent.CodeForm, "{package", "package}", "{nothing}", "../{package}", "{package}//{document}")

	flag = ""
	field = agent.FieldNotify
	same("each", "executed", "none")
	bad(agent.CodeChoice, "all")
	field = agent.FieldKeepEvents
	flag = "--keep-events"
	same("1", "90", "3650")
	bad(agent.CodeRange, "-1", "3651")
	flag = ""
	field = agent.FieldTheme
	same("", "light", "dark")
	bad(agent.CodeChoice, "pink")
	field = agent.FieldLanguage
	same("", "en", "fr", "de", "es")
	bad(agent.CodeChoice, "tlh", "EN")
	field = agent.FieldQuietFrom // alone, so that the other one is missing
	same("")
	bad(agent.CodeForm, "ten", "25:00", "22")
	return all
}
