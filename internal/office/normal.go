package office

import (
	"path/filepath"
	"strings"
	"time"
)

// clockForm is how quiet hours are written.
const clockForm = "15:04"

// Normal returns the settings as they are kept: what means the same is written the same (spaces around, a slash at the
// end, the case of a host, https:// before a domain), and what was left empty has its default. The return address stays
// as it was registered but for spaces around it: services compare it letter by letter.
func (s Settings) Normal() Settings {
	for _, p := range []*string{&s.AuthURL, &s.BaseURL, &s.ClientID, &s.SignatureHeader, &s.RedirectURI, &s.NgrokCA, &s.PublicURL,
		&s.Listen, &s.SaveTo, &s.NameTemplate} {
		*p = strings.TrimSpace(*p)
	}
	s.Scopes = strings.Fields(strings.Join(s.Scopes, " "))
	s.AuthURL, s.BaseURL = strings.TrimRight(plainHost(s.AuthURL), "/"), strings.TrimRight(plainHost(s.BaseURL), "/")
	s.PublicURL = plainHost(s.PublicURL)
	if root := strings.TrimSuffix(s.PublicURL, "/"); strings.Count(root, "/") == 2 { // a path's own slash stays
		s.PublicURL = root
	}
	s.NgrokDomain = strings.TrimSuffix(bareHost(s.NgrokDomain), ".")
	s.NgrokConnectURL = bareHost(s.NgrokConnectURL)
	s.Listen = bareHost(s.Listen)
	if s.SaveTo != "" {
		s.SaveTo = filepath.Clean(s.SaveTo)
	}
	s.CopyTo, s.BlindCopyTo = writtenPeople(s.CopyTo), writtenPeople(s.BlindCopyTo)
	s.QuietFrom, s.QuietTo = timeOfDay(s.QuietFrom), timeOfDay(s.QuietTo)
	return s.complete()
}

// Normal returns the secrets without the line ends that are pasted with them.
func (s Secrets) Normal() Secrets {
	return Secrets{strings.TrimSpace(s.ClientSecret), strings.TrimSpace(s.NgrokAuthtoken)}
}

// plainHost writes the scheme and the host of an address in small letters, and a host in another script in its ASCII form. One with
// a user name is left as it is.
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

// timeOfDay writes a time with two digits for the hour; what is none stays as it is.
func timeOfDay(s string) string {
	s = strings.TrimSpace(s)
	t, err := time.Parse(clockForm, s)
	if err != nil {
		return s
	}
	return t.Format(clockForm)
}
