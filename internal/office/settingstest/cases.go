// Package settingstest lists what the settings accept and refuse, field by field, for the tests of everything that accepts
// settings: the agent, the commands and the window. It must not check anything itself.
package settingstest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"countersign/internal/office"
)

// Secret is part of every value that contains a password. No output may repeat it.
const Secret = "s3cr3tpassw0rd"

// Case is one value of one field, as a person types it.
type Case struct {
	Field  string
	Flag   string // of countersign setup; "" if it has none
	Value  string
	Kept   string      // how a valid value is stored
	Code   office.Code // what is wrong with it; "" if it is valid
	Around string      // the tunnel it belongs to, "" for ngrok
}

// Name is suitable for a subtest.
func (c Case) Name() string {
	return c.Field + " " + strings.NewReplacer("/", "_", "\n", "_").Replace(strconv.Quote(c.Value))
}

// Wrong reports whether the value must be refused.
func (c Case) Wrong() bool { return c.Code != "" }

// Settings are valid settings for the value to be put into. folder is where documents are saved.
func (c Case) Settings(folder string) office.Settings {
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com/api/v1", "office"
	s.Redirect, s.SaveTo = office.RedirectLocalhost, folder
	switch office.TunnelKind(c.Around) {
	case office.TunnelExternal:
		s.Tunnel, s.PublicURL, s.Listen = office.TunnelExternal, "https://office.example.com", "127.0.0.1:8080"
	case office.TunnelNone:
		s.Tunnel = office.TunnelNone
	case office.TunnelOffice:
		s.Tunnel, s.Office = office.TunnelOffice, "nats://10.0.0.1:7422"
	}
	return s
}

// With is Settings including the value.
func (c Case) With(folder string) office.Settings {
	s := c.Settings(folder)
	switch at := c.at(&s); at.Kind() {
	case reflect.Int:
		n, _ := strconv.ParseInt(c.Value, 10, 64)
		at.SetInt(n)
	case reflect.String:
		at.SetString(c.Value)
	default:
		at.Set(reflect.ValueOf([]string{c.Value}))
	}
	return s
}

// at is the field in s, which is stored under the field's name.
func (c Case) at(s *office.Settings) reflect.Value {
	all := reflect.ValueOf(s).Elem()
	for _, f := range reflect.VisibleFields(all.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == c.Field {
			return all.FieldByIndex(f.Index)
		}
	}
	panic("no setting is called " + c.Field)
}

// Is is the field in s as text.
func (c Case) Is(s office.Settings) string {
	at := c.at(&s).Interface()
	if list, ok := at.([]string); ok {
		return strings.Join(list, " ")
	}
	return fmt.Sprint(at)
}

// Cases are values for every field; folder is an absolute path.
func Cases(folder string) (all []Case) {
	field, flag, around := "", "", ""
	good := func(value, kept string) { all = append(all, Case{field, flag, value, kept, "", around}) }
	same := func(values ...string) {
		for _, v := range values {
			good(v, v)
		}
	}
	bad := func(code office.Code, values ...string) {
		for _, v := range values {
			all = append(all, Case{field, flag, v, "", code, around})
		}
	}
	password := "https://ana:" + Secret + "@sign.example.com"

	for _, f := range []struct{ field, flag string }{{office.FieldAuthURL, "--auth-url"}, {office.FieldBaseURL, "--base-url"}} {
		field, flag = f.field, f.flag
		same("https://sign.example.com", "https://sign.example.com/api/v1", "https://sign.example.com:8443", "http://127.0.0.1:80", "http://localhost", "https://[::1]:8443", "https://xn--bro-hoa.example")
		good("https://Büro.example:8443/api", "https://xn--bro-hoa.example:8443/api")
		good("https://sign.example.com/", "https://sign.example.com")
		good("  HTTPS://Sign.Example.COM/API/ ", "https://sign.example.com/API")
		bad(office.CodeMissing, "", "  ")
		bad(office.CodeInsecure, "http://sign.example.com", "sign.example.com", "ftp://sign.example.com")
		bad(office.CodeCredentials, password, "https://ana@sign.example.com")
		bad(office.CodeExtra, "https://sign.example.com?a=b", "https://sign.example.com/#x", "https://sign.example.com/?")
		bad(office.CodeForm, "https://", "https:sign.example.com", "https://sign.example.com:99999", "https://sign.example.com:0", "https://sign example.com", "https://sign..example.com", "https://a\u202eb.example", "https://sign.example.com/a b")
	}
	field, flag = office.FieldClientID, "--client-id"
	same("office", "8d1f-44", "büro 1")
	good(" office\n", "office")
	bad(office.CodeMissing, "", " ")
	bad(office.CodeCharacters, "off\nice", "a\x00b")

	field, flag = office.FieldScopes, "--scope"
	same("openid", "openid profile offline_access organization")
	good("  openid   profile ", "openid profile")
	good("", strings.Join(office.DefaultSettings().Scopes, " "))
	bad(office.CodeCharacters, `"openid"`, "openid prófile")

	field, flag = office.FieldHeader, "--signature-header"
	same("X-Service-Signature", "X~Sig", "x_sig.1")
	good(" X-Sig ", "X-Sig")
	good("", office.DefaultSettings().SignatureHeader)
	bad(office.CodeCharacters, "X Sig", "X-Sig:", "Überschrift", "Host", "trailer", "Transfer-Encoding")

	field, flag = office.FieldRedirect, "--redirect"
	same("localhost", "loopback", "tunnel", "paste")
	bad(office.CodeChoice, "browser")
	around = "none"
	same("localhost")
	bad(office.CodeConflict, "tunnel")
	around = ""

	field, flag = office.FieldRedirectURI, "--redirect-uri"
	same("", "https://office.example.com/oauth/callback", "https://Office.example.com/Back/", "https://office.example.com/back?x=1", "http://127.0.0.1:8765/back")
	good(" https://office.example.com/back ", "https://office.example.com/back")
	bad(office.CodeInsecure, "http://office.example.com/back", "myapp:back", "office.example.com/back")
	bad(office.CodeCredentials, password+"/back")
	bad(office.CodeExtra, "https://office.example.com/back#x")
	bad(office.CodeForm, "https:///back", "https://office.example.com:99999/back")

	field, flag = office.FieldTunnel, "--tunnel"
	same("ngrok", "none")
	bad(office.CodeChoice, "wormhole")

	field, flag = office.FieldNgrokDomain, "--ngrok-domain"
	same("", "office.ngrok.app", "sign.office-1.example")
	for _, v := range []string{"https://office.ngrok.app", "https://Office.ngrok.app/", " office.NGROK.app ", "office.ngrok.app.", "http://office.ngrok.app"} {
		good(v, "office.ngrok.app")
	}
	bad(office.CodeForm, "office.ngrok.app/path", "office", "office.ngrok.app:443", "office ngrok.app", "10.0.0.1", "ana:"+Secret+"@office.ngrok.app", password)

	field, flag = office.FieldNgrokConnect, "--ngrok-connect-url"
	same("", "connect.example.com:443", "10.0.0.1:4443", "[::1]:443")
	good(" https://Connect.example.com:443/ ", "connect.example.com:443")
	bad(office.CodeForm, "connect.example.com", "connect.example.com:99999", ":443", "connect.example.com:https", "ana:"+Secret+"@connect.example.com:443")

	field, flag = office.FieldNgrokCA, "" // the command makes every path absolute
	same("", filepath.Join(folder, "ca.pem"))
	bad(office.CodePath, "ca.pem", filepath.Join("certificates", "ca.pem"))

	around = "external"
	field, flag = office.FieldPublicURL, "--public-url"
	same("https://office.example.com", "https://office.example.com/hooks", "https://office.example.com/hooks/", "https://office.example.com:8443")
	good(" https://Office.example.com/ ", "https://office.example.com")
	bad(office.CodeMissing, "")
	bad(office.CodeInsecure, "http://office.example.com", "http://localhost", "office.example.com")
	bad(office.CodeCredentials, password)
	bad(office.CodeExtra, "https://office.example.com?x", "https://office.example.com#x")
	bad(office.CodeForm, "https://office.example.com:99999", "https://")

	field, flag = office.FieldListen, "--listen"
	same("127.0.0.1:8080", ":8080", "[::1]:8080", "localhost:1", "0.0.0.0:65535")
	good(" LOCALHOST:8080 ", "localhost:8080")
	good("http://127.0.0.1:8080/", "127.0.0.1:8080")
	bad(office.CodeMissing, "")
	bad(office.CodeForm, "127.0.0.1", "8080", "127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1:-1", "127.0.0.1:http", "a b:8080", "ana:"+Secret+"@localhost:80")
	around = ""

	field, flag = office.FieldOfficeListen, "--office-listen"
	same("", ":7422", "10.0.0.1:7422")
	bad(office.CodeForm, "7422", "10.0.0.1", ":99999")
	field, flag = office.FieldOfficePin, "--office-pin"
	same("", strings.Repeat("A", 43))
	bad(office.CodeForm, "AAAA", "%")
	field, flag = office.FieldOffice, "--office"
	same("", "nats://a:4222,nats://b:4222", "tls://office.example.com:7422")
	around = "office"
	good(" Office.example.com:7422, [::1]:7422/", "nats://office.example.com:7422,nats://[::1]:7422")
	bad(office.CodeMissing, "", " ")
	bad(office.CodeForm, "office.example.com", "nats://:7422", "https://office.example.com:7422", "nats://ana:"+Secret+"@a:7422")
	field, flag = office.FieldOfficeListen, "--office-listen"
	bad(office.CodeConflict, ":7422")
	field, flag = office.FieldRedirect, "--redirect"
	bad(office.CodeConflict, "tunnel")
	around = ""

	field, flag = office.FieldSaveTo, "--save-to"
	same(filepath.Join(folder, "Signed"))
	good(" "+filepath.Join(folder, "Signed")+string(filepath.Separator), filepath.Join(folder, "Signed"))
	flag = "" // the command makes every path absolute
	bad(office.CodeMissing, "", " ")
	bad(office.CodePath, "Signed", filepath.Join(".", "a", "b"))

	field, flag = office.FieldTemplate, "--name-template"
	same("{date} {package}", "{month}/{package} - {document}")
	good(" {package} ", "{package}")
	good(" ", office.DefaultSettings().NameTemplate)
	bad(office.CodeForm, "{package", "package}", "{nothing}", "../{package}", "{package}//{document}")

	for _, f := range []struct{ field, flag string }{{office.FieldCopyTo, "--copy-to"}, {office.FieldBlindCopyTo, "--blind-copy-to"}} {
		field, flag = f.field, f.flag
		same("", "office@example.com", "Ana Ruiz <ana@example.com>", "van Dam, Ana <ana@example.com>")
		good(` "Ruiz, Ana"<ana@example.com>;`, "Ana Ruiz <ana@example.com>")
		bad(office.CodeForm, "Ana Ruiz", "ana@example", "Ana <ana@example.com> and others")
		bad(office.CodeTwice, "ana@example.com, Ana Ruiz <ANA@example.com>")
	}

	flag = ""
	field = office.FieldNotify
	same("each", "executed", "none")
	bad(office.CodeChoice, "all")
	field = office.FieldKeepEvents
	flag = "--keep-events"
	same("1", "90", "3650")
	bad(office.CodeRange, "-1", "3651")
	field, flag = office.FieldStampURL, "--stamp-url"
	same("", "https://stamp.example.com/tsa", "http://stamp.example.com", "https://stamp.example.com/tsa?key=1")
	bad(office.CodeForm, "stamp.example.com", "ftp://stamp.example.com", password)
	field, flag = office.FieldCheckFiles, "--check-files"
	same("0", "30", "366")
	bad(office.CodeRange, "-1", "367")
	field, flag = office.FieldKeepYears, "--keep-years"
	same("", "10", "10; Lease: 30")
	bad(office.CodeForm, "ten", "0", "Lease")
	field, flag = office.FieldDueDays, "--due-days"
	same("1", "365")
	bad(office.CodeRange, "-2", "366")
	flag = ""
	field = office.FieldTheme
	same("", "light", "dark")
	bad(office.CodeChoice, "pink")
	field = office.FieldContrast
	same("", "high", "normal")
	bad(office.CodeChoice, "more")
	field = office.FieldTextSize
	same("0", "100", "125", "150", "200")
	bad(office.CodeChoice, "-1", "110", "400")
	field = office.FieldMotion
	same("", "reduced", "full")
	bad(office.CodeChoice, "none")
	field = office.FieldLanguage
	same("", "en", "fr", "de", "es")
	bad(office.CodeChoice, "tlh", "EN")
	field = office.FieldQuietFrom // alone, so that the other one is missing
	same("")
	bad(office.CodeForm, "ten", "25:00", "22")
	return all
}
