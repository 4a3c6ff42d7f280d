package office

import "countersign/internal/archive"

// The settings and secrets that can be wrong, called as in the JSON of Settings.
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
	FieldSaveTo       = "save_to"
	FieldTemplate     = "name_template"
	FieldNotify       = "notify"
	FieldQuietFrom    = "quiet_from"
	FieldQuietTo      = "quiet_to"
	FieldKeepEvents   = "keep_events_days"
	FieldTheme        = "theme"
	FieldLanguage     = "language"
)

// Code says what is wrong with a field. Codes do not change.
type Code string

const (
	CodeMissing     Code = "missing"
	CodeForm        Code = "form"        // not what belongs here: no address, no host and port, no pattern, no time
	CodeInsecure    Code = "insecure"    // does not begin with https://
	CodeCredentials Code = "credentials" // holds a user name or a password
	CodeExtra       Code = "extra"       // goes on behind a question mark or a number sign
	CodeCharacters  Code = "characters"  // holds what cannot be part of it
	CodeChoice      Code = "choice"      // is none of those there are
	CodeConflict    Code = "conflict"    // does not go with another setting
	CodePath        Code = "path"        // is no full path
	CodeRange       Code = "range"       // is too small or too large
	CodeNotMade     Code = "not_made"    // the folder cannot be made
	CodeNotWritable Code = "not_writable"
	CodeNoService   Code = "no_service" // no signing service answers there
)

// FieldError says what is wrong with one setting. Field is its JSON name, Text one sentence for people, which never
// repeats what was typed: it could hold a password.
type FieldError struct {
	Field string
	Code  Code
	Text  string
}

func (e FieldError) Error() string { return e.Text }

// findingTexts are what people read: by field and code, and under "" for the codes of a field that have no text of their own.
var findingTexts = map[string]map[Code]string{
	FieldAuthURL: {CodeMissing: "The sign-in address is missing.",
		CodeInsecure: "The sign-in address must start with https://.",
		"":           "The sign-in address needs the form https://sign.example.com, without a password, a question mark or a number sign."},
	FieldBaseURL: {CodeMissing: "The service address is missing.",
		CodeInsecure: "The service address must start with https://.",
		"":           "The service address needs the form https://sign.example.com, without a password, a question mark or a number sign."},
	FieldClientID: {CodeMissing: "The client ID is missing. The signing service gives it out together with the client secret.",
		"": "The client ID contains a character that cannot be part of it."},
	FieldClientSecret: {"": "The client secret contains a character that cannot be part of it."},
	FieldScopes:       {"": "One of the scopes contains a character that is not allowed."},
	FieldHeader:       {"": "The name of the signature header is not a header name."},
	FieldRedirect: {CodeConflict: "Without a public address the browser cannot return through it; choose localhost or paste.",
		"": "For the return from the browser, choose tunnel, localhost, loopback or paste."},
	FieldRedirectURI: {CodeMissing: "To paste the address, enter the return address registered with the service.",
		CodeInsecure: "The return address must start with https://.",
		"":           "The return address needs the form https://office.example.com/oauth/callback, without a password or a number sign."},
	FieldTunnel:       {"": "For the public address, choose ngrok, external or none."},
	FieldNgrokDomain:  {"": "The ngrok domain needs the form office.ngrok.app."},
	FieldNgrokToken:   {"": "The ngrok authtoken contains a character that cannot be part of it."},
	FieldNgrokConnect: {"": "The ngrok server needs the form host:port."},
	FieldNgrokCA:      {"": "The certificate file for ngrok needs its full path."},
	FieldPublicURL: {CodeMissing: "The public address is missing.",
		CodeInsecure: "The public address must start with https://.",
		"":           "The public address needs the form https://sign.example.com, without a password, a question mark or a number sign."},
	FieldListen: {"": "The address to listen on needs the form 127.0.0.1:8080."},
	FieldSaveTo: {CodeMissing: "The folder for signed documents is not chosen yet.",
		CodePath:        "The folder for signed documents needs its full path.",
		CodeNotMade:     "The folder for signed documents cannot be created. Choose another one.",
		CodeNotWritable: "Files cannot be saved in the folder for signed documents. Choose another one."},
	FieldNotify:     {"": "For notifications, choose each, executed or none."},
	FieldQuietFrom:  {"": "Quiet hours need a time such as 22:00."},
	FieldQuietTo:    {"": "Quiet hours need a time such as 22:00."},
	FieldKeepEvents: {"": "The contents of events can be kept for 1 to 3650 days."},
	FieldTheme:      {"": "For the theme, choose light, dark or nothing."},
	FieldLanguage:   {"": "For the language, choose en, fr, de, es or nothing."},
}

// finding is what is wrong with field.
func Finding(field string, code Code) FieldError {
	text, own := findingTexts[field][code]
	if !own {
		text = findingTexts[field][""]
	}
	return FieldError{field, code, text}
}

// templateFinding is finding for the name pattern, whose parser says best what is wrong.
func TemplateFinding(err error) FieldError {
	return FieldError{FieldTemplate, CodeForm, archive.Sentence(err)}
}
