package office

import (
	"countersign/internal/message"
)

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
	FieldCopyTo       = "copy_to"
	FieldBlindCopyTo  = "blind_copy_to"
	FieldNotify       = "notify"
	FieldDueDays      = "due_days"
	FieldQuietFrom    = "quiet_from"
	FieldQuietTo      = "quiet_to"
	FieldKeepEvents   = "keep_events_days"
	FieldTheme        = "theme"
	FieldContrast     = "contrast"
	FieldTextSize     = "text_size"
	FieldMotion       = "motion"
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
	CodeTwice       Code = "twice"      // an address is there already
	CodeSigns       Code = "signs"      // the person signs, and so gets no copy
	CodeFixed       Code = "fixed"      // the administrator of the computer has decided it
	CodeNoService   Code = "no_service" // no signing service answers there
)

// FieldError says what is wrong with one setting. Field is its JSON name, Text what people are told, which never
// repeats what was typed: it could hold a password.
type FieldError struct {
	Field string
	Code  Code
	Text  message.Message
}

func (e FieldError) Error() string { return e.Text.String() }

// Message is what people are told.
func (e FieldError) Message() message.Message { return e.Text }

// findingTexts are what people read: by field and code, and under "" for the codes of a field that have no text of their own.
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
	FieldListen: {"": message.ListenForm()},
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
	FieldTheme:       {"": message.ThemeChoice()},
	FieldContrast:    {"": message.ContrastChoice()},
	FieldTextSize:    {"": message.TextSizeChoice()},
	FieldMotion:      {"": message.MotionChoice()},
	FieldLanguage:    {"": message.LanguageChoice()},
}

// Finding is what is wrong with field.
func Finding(field string, code Code) FieldError {
	text, own := findingTexts[field][code]
	if !own {
		text = findingTexts[field][""]
	}
	return FieldError{field, code, text}
}

// TemplateFinding is Finding for the name pattern, whose parser says best what is wrong.
func TemplateFinding(err error) FieldError {
	return FieldError{FieldTemplate, CodeForm, message.For(err)}
}
