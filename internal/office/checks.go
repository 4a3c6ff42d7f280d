package office

import (
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// KeepEventsDays is how many days the contents of events are kept unless the office chooses otherwise.
const KeepEventsDays = 90

// maxCheckDays is the longest interval, in days, between checks of the saved files.
const maxCheckDays = 366

// maxKeepEvents is ten years.
const maxKeepEvents = 3650

// Check returns what is wrong with each setting that cannot work, at most one finding for a field; s must be Normal. No
// other code checks settings: the window, the commands and Configure use it. It contacts nobody: the folder and the
// addresses may still turn out to be unreachable.
func (s Settings) Check() []FieldError {
	s = s.Normal()
	var bad []FieldError
	say := func(field string, code Code) {
		if code != "" {
			bad = append(bad, Finding(field, code))
		}
	}
	say(FieldAuthURL, webCode(s.AuthURL, loopbackToo))
	say(FieldBaseURL, webCode(s.BaseURL, loopbackToo))
	switch {
	case s.ClientID == "":
		say(FieldClientID, CodeMissing)
	case strings.ContainsFunc(s.ClientID, unicode.IsControl):
		say(FieldClientID, CodeCharacters)
	}
	if slices.ContainsFunc(s.Scopes, func(scope string) bool { return strings.ContainsFunc(scope, notInScope) }) {
		say(FieldScopes, CodeCharacters)
	}
	if strings.ContainsFunc(s.SignatureHeader, notInHeader) || slices.Contains(keptByHTTP, strings.ToLower(s.SignatureHeader)) {
		say(FieldHeader, CodeCharacters)
	}
	s.checkTunnel(say)
	s.checkRedirect(say)
	switch {
	case s.SaveTo == "":
		say(FieldSaveTo, CodeMissing)
	case !filepath.IsAbs(s.SaveTo):
		say(FieldSaveTo, CodePath)
	}
	if _, err := filename.Parse(s.NameTemplate); err != nil {
		bad = append(bad, TemplateFinding(err))
	}
	s.checkCopies(say)
	if !slices.Contains([]NotifyKind{NotifyEach, NotifyExecuted, NotifyNone}, s.Notify) {
		say(FieldNotify, CodeChoice)
	}
	for _, f := range []struct{ field, value string }{{FieldQuietFrom, s.QuietFrom}, {FieldQuietTo, s.QuietTo}} {
		switch _, err := time.Parse(clockForm, f.value); {
		case s.QuietFrom+s.QuietTo == "":
		case f.value == "":
			say(f.field, CodeMissing)
		case err != nil:
			say(f.field, CodeForm)
		}
	}
	if s.DueDays < NoDueDays || s.DueDays > maxRemindDays {
		say(FieldDueDays, CodeRange)
	}
	if s.StampURL != "" && !isStampAddress(s.StampURL) {
		say(FieldStampURL, CodeForm)
	}
	if s.CheckFiles < 0 || s.CheckFiles > maxCheckDays {
		say(FieldCheckFiles, CodeRange)
	}
	if s.KeepEvents < 1 || s.KeepEvents > maxKeepEvents {
		say(FieldKeepEvents, CodeRange)
	}
	if _, ok := ParseRetention(s.KeepYears); !ok {
		say(FieldKeepYears, CodeForm)
	}
	if !slices.Contains([]string{"", "light", "dark"}, s.Theme) {
		say(FieldTheme, CodeChoice)
	}
	if !slices.Contains([]string{"", "high", "normal"}, s.Contrast) {
		say(FieldContrast, CodeChoice)
	}
	if s.TextSize != 0 && !slices.Contains(TextSizes(), s.TextSize) {
		say(FieldTextSize, CodeChoice)
	}
	if !slices.Contains([]string{"", "reduced", "full"}, s.Motion) {
		say(FieldMotion, CodeChoice)
	}
	if !slices.Contains([]string{"", "en", "fr", "de", "es"}, s.Language) {
		say(FieldLanguage, CodeChoice)
	}
	return bad
}

func (s Settings) checkTunnel(say func(field string, code Code)) {
	switch s.Tunnel {
	case TunnelNgrok:
		if s.NgrokDomain != "" && (!isHost(s.NgrokDomain) || !strings.Contains(s.NgrokDomain, ".") || net.ParseIP(s.NgrokDomain) != nil) {
			say(FieldNgrokDomain, CodeForm)
		}
		if host, ok := hostPort(s.NgrokConnectURL); s.NgrokConnectURL != "" && (!ok || host == "") {
			say(FieldNgrokConnect, CodeForm)
		}
		if s.NgrokCA != "" && !filepath.IsAbs(s.NgrokCA) {
			say(FieldNgrokCA, CodePath)
		}
	case TunnelExternal:
		say(FieldPublicURL, webCode(s.PublicURL, httpsAlone))
		if _, ok := hostPort(s.Listen); s.Listen == "" {
			say(FieldListen, CodeMissing)
		} else if !ok {
			say(FieldListen, CodeForm)
		}
	case TunnelOffice:
		if s.Office == "" {
			say(FieldOffice, CodeMissing)
		}
		if s.OfficeListen != "" {
			say(FieldOfficeListen, CodeConflict)
		}
	case TunnelLoopback, TunnelNone:
	default:
		say(FieldTunnel, CodeChoice)
	}
	if s.Office != "" && !isServers(s.Office) {
		say(FieldOffice, CodeForm)
	}
	if b, err := base64.RawURLEncoding.DecodeString(s.OfficePin); err != nil || len(b) != 0 && len(b) != sha256.Size {
		say(FieldOfficePin, CodeForm)
	}
	if _, ok := hostPort(s.OfficeListen); s.OfficeListen != "" && !ok && s.Tunnel != TunnelOffice {
		say(FieldOfficeListen, CodeForm)
	}
}

// isServers accepts addresses of NATS servers separated by commas.
func isServers(s string) bool {
	for at := range strings.SplitSeq(s, ",") {
		scheme, rest, _ := strings.Cut(at, "://")
		if host, ok := hostPort(rest); !ok || host == "" || scheme != "nats" && scheme != "tls" {
			return false
		}
	}
	return true
}

func (s Settings) checkRedirect(say func(field string, code Code)) {
	switch {
	case !slices.Contains([]RedirectKind{RedirectTunnel, RedirectLocalhost, RedirectLoopback, RedirectPaste}, s.Redirect):
		say(FieldRedirect, CodeChoice)
	case s.Redirect == RedirectTunnel && !s.HasAddress():
		say(FieldRedirect, CodeConflict)
	}
	switch {
	case s.RedirectURI != "":
		say(FieldRedirectURI, webCode(s.RedirectURI, loopbackToo, queryToo))
	case s.Redirect == RedirectPaste && !s.HasAddress():
		say(FieldRedirectURI, CodeMissing)
	}
}

// Check returns what is wrong with each secret; s must be Normal.
func (s Secrets) Check() (bad []FieldError) {
	for _, f := range []struct{ field, value string }{{FieldClientSecret, s.ClientSecret}, {FieldNgrokToken, s.NgrokAuthtoken}, {FieldDeskKey, s.DeskKey}} {
		if strings.ContainsFunc(f.value, unicode.IsControl) {
			bad = append(bad, Finding(f.field, CodeCharacters))
		}
	}
	return bad
}

// webRule permits a web address something beyond https without a query.
type webRule int

const (
	httpsAlone  webRule = iota
	loopbackToo         // http on this computer (RFC 8252, 7.3)
	queryToo            // RFC 6749, 3.1.2
)

// webCode says what is wrong with a web address, "" for nothing.
func webCode(address string, allowed ...webRule) Code {
	if address == "" {
		return CodeMissing
	}
	u, err := url.Parse(address)
	if err != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) }) {
		return CodeForm
	}
	local := u.Scheme == "http" && slices.Contains(allowed, loopbackToo) && IsLoopback(u.Hostname())
	switch {
	case u.User != nil:
		return CodeCredentials
	case u.Scheme != "https" && !local:
		return CodeInsecure
	case !isHost(u.Hostname()), strings.HasSuffix(u.Host, ":"), u.Port() != "" && !isPort(u.Port()):
		return CodeForm
	case strings.Contains(address, "#"), strings.Contains(address, "?") && !slices.Contains(allowed, queryToo):
		return CodeExtra
	}
	return ""
}

// isStampAddress also accepts http, which most authorities use: a time stamp proves its own validity.
func isStampAddress(address string) bool {
	rest, plain := strings.CutPrefix(address, "http://")
	if plain {
		address = "https://" + rest
	}
	return webCode(address, queryToo) == ""
}

// IsLoopback reports whether a host is this computer.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// isHost accepts IP addresses and names (RFC 1123, 2.1). Names in other scripts already have their ASCII form, see Normal.
func isHost(host string) bool {
	if net.ParseIP(host) != nil {
		return true
	}
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	return true
}

// hostPort splits host:port. The host may be empty: all addresses of this computer.
func hostPort(s string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(s)
	return host, err == nil && isPort(port) && (host == "" || isHost(host))
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// notInHeader reports whether a rune cannot be part of a header's name (RFC 9110, 5.6.2).
func notInHeader(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// keptByHTTP are the headers that net/http evaluates itself and does not pass on.
var keptByHTTP = []string{"host", "trailer", "transfer-encoding"}

// notInScope reports whether a rune cannot be part of a scope (RFC 6749, 3.3).
func notInScope(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

type CheckResult string

const (
	CheckUnknown  CheckResult = "unknown"   // not tried, or there is nothing to try
	CheckUnderWay CheckResult = "under_way" // in progress
	CheckFine     CheckResult = "fine"
	CheckWrong    CheckResult = "wrong"
)

// Check is one step of the connection to the service and back, with its result. It contains no secret.
type Check struct {
	Step   message.Message // what the step is called
	Result CheckResult
	Found  message.Message // what was found, or what is wrong and what to do about it
	At     time.Time       // since when, or when; zero if that says nothing
	Issue  string          // the related health issue's id; empty if there is none
}

// ConfigError is a rejected configuration. Nothing was changed.
type ConfigError struct{ Fields []FieldError }

func (e *ConfigError) Error() string { return e.Message().String() }

func (e *ConfigError) Message() message.Message {
	texts := make([]message.Message, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Text
	}
	return message.Then(texts...)
}

// The settings and secrets that can be wrong, named as in the JSON of Settings.
const (
	FieldAuthURL      = "auth_url"
	FieldBaseURL      = "base_url"
	FieldClientID     = "client_id"
	FieldClientSecret = "client_secret"
	FieldScopes       = "scopes"
	FieldHeader       = "signature_header"
	FieldRedirect     = "redirect"
	FieldRedirectURI  = "redirect_uri"
	FieldTunnel       = "tunnel"
	FieldNgrokDomain  = "ngrok_domain"
	FieldNgrokToken   = "ngrok_authtoken"
	FieldNgrokConnect = "ngrok_connect_url"
	FieldNgrokCA      = "ngrok_ca"
	FieldPublicURL    = "public_url"
	FieldListen       = "listen"
	FieldOffice       = "office"
	FieldOfficePin    = "office_pin"
	FieldOfficeListen = "office_listen"
	FieldDeskKey      = "desk_key"
	FieldSaveTo       = "save_to"
	FieldTemplate     = "name_template"
	FieldCopyTo       = "copy_to"
	FieldBlindCopyTo  = "blind_copy_to"
	FieldNotify       = "notify"
	FieldDueDays      = "due_days"
	FieldQuietFrom    = "quiet_from"
	FieldQuietTo      = "quiet_to"
	FieldKeepEvents   = "keep_events_days"
	FieldStampURL     = "stamp_url"
	FieldCheckFiles   = "check_files_days"
	FieldKeepYears    = "keep_years"
	FieldTheme        = "theme"
	FieldContrast     = "contrast"
	FieldTextSize     = "text_size"
	FieldMotion       = "motion"
	FieldLanguage     = "language"
)

// Code says what is wrong with a field. Codes are stable.
type Code string

const (
	CodeMissing     Code = "missing"
	CodeForm        Code = "form"        // has the wrong form: no address, no host and port, no pattern, no time
	CodeInsecure    Code = "insecure"    // does not begin with https://
	CodeCredentials Code = "credentials" // contains a user name or a password
	CodeExtra       Code = "extra"       // continues after a question mark or a number sign
	CodeCharacters  Code = "characters"  // contains invalid characters
	CodeChoice      Code = "choice"      // is not one of the choices
	CodeConflict    Code = "conflict"    // conflicts with another setting
	CodePath        Code = "path"        // is not a full path
	CodeRange       Code = "range"       // is too small or too large
	CodeNotMade     Code = "not_made"    // the folder cannot be created
	CodeNotWritable Code = "not_writable"
	CodeTwice       Code = "twice"      // an address is already in the list
	CodeSigns       Code = "signs"      // the person signs, and so gets no copy
	CodeFixed       Code = "fixed"      // the computer's administrator has fixed the setting
	CodeNoService   Code = "no_service" // no signing service answers there
	CodeRefused     Code = "refused"    // the signing service does not accept it
)

// FieldError says what is wrong with one setting. Field is its JSON name. Text, the message for people, never repeats what
// was typed, which could contain a password.
type FieldError struct {
	Field string
	Code  Code
	Text  message.Message
}

func (e FieldError) Error() string { return e.Text.String() }

func (e FieldError) Message() message.Message { return e.Text }

// findingTexts are the messages by field and code; "" has the codes for which a field has no text of its own.
var findingTexts = map[string]map[Code]message.Message{
	FieldAuthURL: {CodeMissing: message.SignInAddressMissing(),
		CodeInsecure: message.SignInAddressInsecure(),
		"":           message.SignInAddressForm()},
	FieldBaseURL: {CodeMissing: message.ServiceAddressMissing(),
		CodeInsecure: message.ServiceAddressInsecure(),
		"":           message.ServiceAddressForm()},
	FieldClientID: {CodeMissing: message.ClientIDMissing(),
		"": message.ClientIDCharacters()},
	FieldClientSecret: {"": message.ClientSecretCharacters()},
	FieldScopes:       {"": message.ScopeForm()},
	FieldHeader:       {"": message.HeaderForm()},
	FieldRedirect: {CodeConflict: message.RedirectNeedsTunnel(),
		"": message.RedirectChoice()},
	FieldRedirectURI: {CodeMissing: message.ReturnAddressMissing(),
		CodeInsecure: message.ReturnAddressInsecure(),
		"":           message.ReturnAddressForm()},
	FieldTunnel:       {"": message.TunnelChoice()},
	FieldNgrokDomain:  {"": message.NgrokDomainForm()},
	FieldNgrokToken:   {"": message.AuthtokenCharacters()},
	FieldNgrokConnect: {"": message.NgrokServerForm()},
	FieldNgrokCA:      {"": message.NgrokCertificatePath()},
	FieldPublicURL: {CodeMissing: message.PublicAddressMissing(),
		CodeInsecure: message.PublicAddressInsecure(),
		"":           message.PublicAddressForm()},
	FieldListen:       {"": message.ListenForm()},
	FieldOffice:       {CodeMissing: message.HubAddressMissing(), "": message.HubAddressForm()},
	FieldOfficePin:    {"": message.DeskKeyForm()},
	FieldOfficeListen: {CodeConflict: message.HubListenConflict(), "": message.HubListenForm()},
	FieldDeskKey:      {"": message.DeskKeyForm()},
	FieldSaveTo: {CodeMissing: message.FolderNotChosen(),
		CodePath:        message.FolderPath(),
		CodeConflict:    message.FolderHoldsData(),
		CodeNotMade:     message.FolderNotMade(),
		CodeNotWritable: message.FolderNotWritable()},
	FieldCopyTo:      {CodeTwice: message.StandingTwice(), "": message.StandingForm()},
	FieldBlindCopyTo: {CodeTwice: message.StandingTwice(), "": message.StandingForm()},
	FieldNotify:      {"": message.NotifyChoice()},
	FieldDueDays:     {"": message.DueDaysRange()},
	FieldQuietFrom:   {"": message.QuietHours()},
	FieldQuietTo:     {"": message.QuietHours()},
	FieldKeepEvents:  {"": message.KeepEventsRange()},
	FieldStampURL:    {"": message.StampAddressForm()},
	FieldCheckFiles:  {"": message.CheckFilesRange()},
	FieldKeepYears:   {"": message.KeepYearsForm()},
	FieldTheme:       {"": message.ThemeChoice()},
	FieldContrast:    {"": message.ContrastChoice()},
	FieldTextSize:    {"": message.TextSizeChoice()},
	FieldMotion:      {"": message.MotionChoice()},
	FieldLanguage:    {"": message.LanguageChoice()},
}

func Finding(field string, code Code) FieldError {
	text, own := findingTexts[field][code]
	if !own {
		text = findingTexts[field][""]
	}
	return FieldError{field, code, text}
}

// TemplateFinding is Finding for the name pattern, whose parser knows best what is wrong.
func TemplateFinding(err error) FieldError {
	return FieldError{FieldTemplate, CodeForm, message.For(err)}
}
