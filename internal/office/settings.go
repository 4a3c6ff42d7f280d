// Package office defines the office's records and the rules for them: packages and the people who sign them, drafts, saved
// files, and settings with the one check for them. It does no I/O and stores nothing; the store stores the records, the
// agent works with them, and the window and the commands show them.
package office

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// TunnelKind is a way to get a public address.
type TunnelKind string

// RedirectKind is a way for the sign-in to return.
type RedirectKind string

const (
	TunnelNgrok    TunnelKind = "ngrok"
	TunnelExternal TunnelKind = "external" // the office's own reverse proxy
	TunnelLoopback TunnelKind = "loopback" // the demo: an HTTPS address reachable only from this computer
	TunnelOffice   TunnelKind = "office"   // events come from another desk, which has the address
	TunnelNone     TunnelKind = "none"     // only polling

	RedirectTunnel    RedirectKind = "tunnel"
	RedirectLocalhost RedirectKind = "localhost" // https://localhost:PORT, with our own certificate
	RedirectLoopback  RedirectKind = "loopback"  // http://127.0.0.1:PORT (RFC 8252)
	RedirectPaste     RedirectKind = "paste"

	NotifyEach     NotifyKind = "each"     // each signature and each finished package
	NotifyExecuted NotifyKind = "executed" // finished packages only
	NotifyNone     NotifyKind = "none"
)

// NotifyKind says what people are notified of.
type NotifyKind string

// Settings are everything an office chooses, except for Secrets.
type Settings struct {
	ServiceSettings
	Redirect    RedirectKind `json:"redirect"`
	RedirectURI string       `json:"redirect_uri,omitempty"` // overrides the address that Redirect implies
	TunnelSettings
	SaveSettings

	// CopyTo and BlindCopyTo get a copy of every package sent from here; each is written as "Ana Ruiz <ana@example.com>".
	CopyTo      []string `json:"copy_to,omitempty"`
	BlindCopyTo []string `json:"blind_copy_to,omitempty"`

	NotifySettings
	ProofSettings
	KeepEvents   int  `json:"keep_events_days,omitempty"` // how many days the contents of handled events are kept, 1 to 3650
	CheckUpdates bool `json:"check_updates,omitempty"`    // checks once a day for a newer version of the program
	LookSettings
}

// ServiceSettings are the signing service that an office uses.
type ServiceSettings struct {
	AuthURL         string   `json:"auth_url"`
	BaseURL         string   `json:"base_url"`
	ClientID        string   `json:"client_id"`
	Scopes          []string `json:"scopes"`
	SignatureHeader string   `json:"signature_header"`
}

// TunnelSettings determine how the service reaches this computer.
type TunnelSettings struct {
	Tunnel          TunnelKind `json:"tunnel"`
	NgrokDomain     string     `json:"ngrok_domain,omitempty"`
	NgrokConnectURL string     `json:"ngrok_connect_url,omitempty"` // host:port
	NgrokCA         string     `json:"ngrok_ca,omitempty"`          // PEM file
	PublicURL       string     `json:"public_url,omitempty"`        // external
	Listen          string     `json:"listen,omitempty"`            // external: host:port

	// Office is where the office's desks connect, as nats://host:port separated by commas: with TunnelOffice the hub,
	// otherwise a cluster to which this computer publishes its events.
	Office       string `json:"office,omitempty"`
	OfficePin    string `json:"office_pin,omitempty"`    // of the certificate there; empty for one the system trusts
	OfficeListen string `json:"office_listen,omitempty"` // host:port on which this computer is the hub for other desks; empty for none
}

// SaveSettings determine where signed documents are saved, which ones, and under which names.
type SaveSettings struct {
	SaveTo       string `json:"save_to"`
	NameTemplate string `json:"name_template"`
	SaveCAC      bool   `json:"save_cac"`
	SaveMaster   bool   `json:"save_masterfile"`
	// BesideOriginal saves the documents of a package made here beside the first file it was sent from.
	BesideOriginal bool `json:"beside_original,omitempty"`
	// Index keeps a list of all saved files in SaveTo. It is off by default: other programs watch such folders and import
	// whatever appears there, and everybody who can read the list sees who signed what.
	Index bool `json:"index,omitempty"`
	// SavedElsewhere leaves saving signed documents to another desk, such as the hub, which saves them into the shared
	// folder.
	SavedElsewhere bool `json:"saved_elsewhere,omitempty"`
}

// ProofSettings determine what is done to make documents and the record trustworthy.
type ProofSettings struct {
	StampURL     string `json:"stamp_url,omitempty"`        // of an authority that time-stamps the record once a day (RFC 3161); empty for none
	MirrorRecord bool   `json:"mirror_record,omitempty"`    // keeps a copy of the record in SaveTo
	CheckFiles   int    `json:"check_files_days,omitempty"` // interval in days for checking all saved files; 0 for never
	KeepYears    string `json:"keep_years,omitempty"`       // how many years signed papers are kept, see ParseRetention
}

// NotifySettings determine what people are notified of, and when.
type NotifySettings struct {
	Notify    NotifyKind `json:"notify,omitempty"`
	Mine      bool       `json:"notify_mine,omitempty"` // only for packages sent from here or by this account
	DueDays   int        `json:"due_days,omitempty"`    // how many days before the due date people are reminded, once; NoDueDays for never
	QuietFrom string     `json:"quiet_from,omitempty"`  // "22:00" local time; no notifications from then ...
	QuietTo   string     `json:"quiet_to,omitempty"`    // ... until then; both empty for no quiet hours
}

// LookSettings determine how the program looks.
type LookSettings struct {
	Theme    string `json:"theme,omitempty"`     // "" follows the system, light, dark
	Contrast string `json:"contrast,omitempty"`  // "" follows the system, high, normal
	TextSize int    `json:"text_size,omitempty"` // in percent: one of TextSizes; 0 follows the system
	Motion   string `json:"motion,omitempty"`    // "" follows the system, reduced, full
	Language string `json:"language,omitempty"`  // "" follows the system, or en, fr, de, es
}

// Secrets are what an office must not reveal. When saving, an empty field means "leave as it is".
type Secrets struct {
	ClientSecret   string
	NgrokAuthtoken string
	DeskKey        string // this desk's own key, for the hub
}

// DefaultSettings are the settings of an office that has not chosen anything yet.
func DefaultSettings() Settings {
	return Settings{
		ServiceSettings: ServiceSettings{Scopes: []string{"profile", "openid", "offline_access", "organization"}, SignatureHeader: "X-Service-Signature"},
		Redirect:        RedirectTunnel,
		TunnelSettings:  TunnelSettings{Tunnel: TunnelNgrok},
		SaveSettings:    SaveSettings{NameTemplate: filename.DefaultTemplate},
		NotifySettings:  NotifySettings{Notify: NotifyEach, DueDays: DueDays},
		KeepEvents:      KeepEventsDays,
	}
}

// complete replaces empty settings by their defaults.
func (s Settings) complete() Settings {
	d := DefaultSettings()
	if len(s.Scopes) == 0 {
		s.Scopes = d.Scopes
	}
	s.SignatureHeader = cmp.Or(s.SignatureHeader, d.SignatureHeader)
	s.Redirect, s.Tunnel = cmp.Or(s.Redirect, d.Redirect), cmp.Or(s.Tunnel, d.Tunnel)
	s.NameTemplate, s.Notify = cmp.Or(s.NameTemplate, d.NameTemplate), cmp.Or(s.Notify, d.Notify)
	s.DueDays, s.KeepEvents = cmp.Or(s.DueDays, d.DueDays), cmp.Or(s.KeepEvents, d.KeepEvents)
	return s
}

// Configured reports whether the signing service is known: without it nobody can sign in.
func (s Settings) Configured() bool { return s.AuthURL != "" && s.BaseURL != "" && s.ClientID != "" }

// QuietAt reports whether t lies in the quiet hours, which may include midnight.
func (s Settings) QuietAt(t time.Time) bool {
	from, err1 := time.Parse("15:04", s.QuietFrom)
	to, err2 := time.Parse("15:04", s.QuietTo)
	if err1 != nil || err2 != nil {
		return false
	}
	minute := func(t time.Time) int { return 60*t.Hour() + t.Minute() }
	now, begin, end := minute(t), minute(from), minute(to)
	if begin <= end {
		return begin <= now && now < end
	}
	return now >= begin || now < end
}

// TextSizes are the text sizes that people can choose, in percent.
func TextSizes() []int { return []int{100, 125, 150, 200} }

// clockForm is the format of quiet hours.
const clockForm = "15:04"

// Normal returns the settings as they are stored: equivalent values are written the same way (surrounding spaces, a trailing
// slash, the case of a host, https:// before a domain), and empty ones get their default. The return address only loses
// surrounding spaces: services compare it letter by letter.
func (s Settings) Normal() Settings {
	for _, p := range []*string{&s.AuthURL, &s.BaseURL, &s.ClientID, &s.SignatureHeader, &s.RedirectURI, &s.NgrokCA, &s.PublicURL, &s.StampURL,
		&s.Listen, &s.SaveTo, &s.NameTemplate} {
		*p = strings.TrimSpace(*p)
	}
	s.Scopes = strings.Fields(strings.Join(s.Scopes, " "))
	s.AuthURL, s.BaseURL = strings.TrimRight(plainHost(s.AuthURL), "/"), strings.TrimRight(plainHost(s.BaseURL), "/")
	s.PublicURL = plainHost(s.PublicURL)
	if root := strings.TrimSuffix(s.PublicURL, "/"); strings.Count(root, "/") == 2 { // a slash that belongs to a path stays
		s.PublicURL = root
	}
	s.NgrokDomain = strings.TrimSuffix(bareHost(s.NgrokDomain), ".")
	s.NgrokConnectURL = bareHost(s.NgrokConnectURL)
	s.Listen, s.OfficeListen = bareHost(s.Listen), bareHost(s.OfficeListen)
	s.Office, s.OfficePin = officeServers(s.Office), strings.TrimSpace(s.OfficePin)
	if s.SaveTo != "" {
		s.SaveTo = filepath.Clean(s.SaveTo)
	}
	s.CopyTo, s.BlindCopyTo = writtenPeople(s.CopyTo), writtenPeople(s.BlindCopyTo)
	s.QuietFrom, s.QuietTo = timeOfDay(s.QuietFrom), timeOfDay(s.QuietTo)
	return s.complete()
}

// Normal returns the secrets without line ends that were pasted with them.
func (s Secrets) Normal() Secrets {
	return Secrets{strings.TrimSpace(s.ClientSecret), strings.TrimSpace(s.NgrokAuthtoken), strings.TrimSpace(s.DeskKey)}
}

// plainHost writes the scheme and the host of an address in lower case, and a host in another script in its ASCII form. An
// address with a user name stays as it is.
func plainHost(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	if !ok || strings.Contains(host, "@") {
		return address
	}
	return strings.ToLower(scheme) + "://" + asciiHost(strings.ToLower(host)) + rest[len(host):]
}

// bareHost is a host that may have been pasted as an address.
func bareHost(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, scheme := range []string{"https://", "http://"} {
		s = strings.TrimPrefix(s, scheme)
	}
	return asciiHost(strings.TrimRight(s, "/"))
}

// officeServers normalizes addresses of NATS servers, which may lack the scheme.
func officeServers(s string) string {
	list := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for i, at := range list {
		at = strings.ToLower(strings.TrimRight(at, "/"))
		if !strings.Contains(at, "://") {
			at = "nats://" + at
		}
		list[i] = at
	}
	return strings.Join(list, ",")
}

// HasAddress reports whether the service can reach this computer directly.
func (s TunnelSettings) HasAddress() bool { return s.Tunnel != TunnelNone && s.Tunnel != TunnelOffice }

// IsHub reports whether this computer passes its events on to other desks.
func (s TunnelSettings) IsHub() bool {
	return s.Tunnel != TunnelOffice && s.OfficeListen+s.Office != ""
}

// HubName returns the first address of the hub that a desk connects to.
func (s TunnelSettings) HubName() string {
	first, _, _ := strings.Cut(s.Office, ",")
	return strings.TrimPrefix(first, "nats://")
}

// timeOfDay writes a time with two digits for the hour; anything else stays as it is.
func timeOfDay(s string) string {
	s = strings.TrimSpace(s)
	t, err := time.Parse(clockForm, s)
	if err != nil {
		return s
	}
	return t.Format(clockForm)
}

// Rules are settings determined by the computer's administrator: fixed ones, and defaults for a new office. The zero value
// has none. Rules are immutable.
type Rules struct {
	fixed, defaults []rule
	Wrong           []string // names of unusable rules, in order
}

type rule struct {
	name  string // JSON name in Settings
	at    []int  // index of the field
	value reflect.Value
}

// NewRules reads settings by their JSON names. Values are strings, booleans, numbers or lists; other ways of writing them,
// as in a registry or by hand, are accepted, too.
func NewRules(fixed, defaults map[string]any) (r Rules) {
	r.fixed, r.defaults = r.understand(fixed), r.understand(defaults)
	return r
}

func (r *Rules) understand(values map[string]any) (list []rule) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		x, known := ruleOf(name, values[name])
		if !known || !x.usable() {
			r.Wrong = append(r.Wrong, name)
			continue
		}
		list = append(list, x)
	}
	return list
}

func ruleOf(name string, v any) (rule, bool) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Anonymous || tag != name {
			continue
		}
		to := reflect.New(f.Type).Elem()
		ok := fill(to, v)
		if name == FieldDueDays && ok && to.Int() == 0 {
			to.SetInt(NoDueDays) // 0 means not chosen
		}
		return rule{name, f.Index, to}, ok
	}
	return rule{}, false
}

// fill stores v in a setting, however it was written.
func fill(to reflect.Value, v any) bool {
	text := strings.TrimSpace(fmt.Sprint(v))
	switch to.Kind() {
	case reflect.String:
		s, is := v.(string)
		to.SetString(strings.TrimSpace(s))
		return is
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		to.SetBool(on)
		return err == nil
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 32)
		to.SetInt(n)
		return err == nil
	case reflect.Slice:
		return fillList(to, v)
	}
	return false
}

func fillList(to reflect.Value, v any) bool {
	switch v := v.(type) {
	case string:
		to.Set(reflect.ValueOf([]string{v}))
		return true
	case []string:
		to.Set(reflect.ValueOf(slices.Clone(v)))
		return true
	case []any:
		list := []string{}
		for _, e := range v {
			s, is := e.(string)
			if !is {
				return false
			}
			list = append(list, s)
		}
		to.Set(reflect.ValueOf(list))
		return true
	}
	return false
}

// usable reports whether the value by itself is valid; settings that it needs may still be missing.
func (x rule) usable() bool {
	s := DefaultSettings()
	x.into(&s)
	return !slices.ContainsFunc(s.Check(), func(f FieldError) bool {
		return f.Field == x.name && f.Code != CodeConflict && f.Code != CodeMissing
	})
}

func (x rule) into(s *Settings) { reflect.ValueOf(s).Elem().FieldByIndex(x.at).Set(x.value) }

// Into applies the rules to s. An office that has not chosen its service yet also gets the defaults.
func (r Rules) Into(s Settings) Settings {
	if len(r.fixed)+len(r.defaults) == 0 {
		return s
	}
	if !s.Configured() {
		plain := reflect.ValueOf(Settings{}.Normal())
		for _, x := range r.defaults {
			if now := reflect.ValueOf(s).FieldByIndex(x.at); now.IsZero() || reflect.DeepEqual(now.Interface(), plain.FieldByIndex(x.at).Interface()) {
				x.into(&s)
			}
		}
	}
	for _, x := range r.fixed {
		x.into(&s)
	}
	return s.Normal()
}

// Fixed reports whether only the administrator can change the setting.
func (r Rules) Fixed(name string) bool {
	return slices.ContainsFunc(r.fixed, func(x rule) bool { return x.name == name })
}

// Broken returns the settings of s that differ from fixed values.
func (r Rules) Broken(s Settings) (bad []FieldError) {
	is, must := reflect.ValueOf(s.Normal()), reflect.ValueOf(r.Into(s))
	for _, x := range r.fixed {
		if !reflect.DeepEqual(is.FieldByIndex(x.at).Interface(), must.FieldByIndex(x.at).Interface()) {
			bad = append(bad, FieldError{x.name, CodeFixed, message.FixedSetting(x.name)})
		}
	}
	return bad
}
