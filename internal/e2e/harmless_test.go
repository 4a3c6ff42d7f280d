//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"countersign/internal/e2e/harness"
)

// TestAHostileServiceIsShownHarmlessly has the service call every package, signer and document of another computer of
// the office something long and nasty, which no service lets its own users do.
func TestAHostileServiceIsShownHarmlessly(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.Notes.ReadMarkup()
	o := harness.UsualOffice(t, desk, "--redirect", "http://127.0.0.1/oauth/callback")
	nasty := "$(touch /tmp/never) `x` <b>&\x1b[31m\u202e\n../../" + strings.Repeat("\u0416\u0301<", 5000)
	o.Setup("--base-url", newLiar(t, o.Service, nasty))
	o.Serve()
	o.MustLogin()
	o.Registered()

	other := harness.NewOffice(t, harness.NewDesktop(t), o.Service, nil)
	other.Setup("--tunnel", "none", "--redirect", "loopback")
	other.MustLogin()
	other.Must("send", harness.Sample(t, "Offer 2026-118"), "--name", "Offer", "--to", ana)
	o.Until("the package made elsewhere is known", func(s harness.Status) bool { return s.Packages.Total == 1 })
	o.Service.SignAll(o.Service.Named("Offer").ID)
	o.Until("it is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	harness.Eventually(t, "people are told", func() bool { return len(desk.Notes.List()) == 1 })
	for line := range strings.Lines(o.Must("status")) {
		harmless(t, "status", strings.TrimSpace(line), 1000)
	}
	o.Stop()
	harness.Suffered.Add(harness.Hostile, 1)
	isHarmless(o)
	if n := len(o.Files()); n != 3 {
		t.Errorf("%d files are saved: %q", n, o.Files())
	}
}

// newLiar stands in front of the service's API and gives every name in its answers another value.
func newLiar(t testing.TB, s *harness.Service, name string) (address string) {
	t.Helper()
	to, err := url.Parse(s.URL)
	harness.Must(t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				return nil
			}
			b, err := io.ReadAll(r.Body)
			var all any
			if err == nil && json.Unmarshal(b, &all) == nil {
				rename(all, name)
				b, err = json.Marshal(all)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			r.Header.Del("Content-Length")
			return err
		},
	})
	t.Cleanup(server.Close)
	return server.URL
}

// rename changes every name below v.
func rename(v any, name string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "name", "firstName", "lastName", "fileName", "email", "message", "externalId":
				v[key] = name
			default:
				rename(value, name)
			}
		}
	case []any:
		for _, value := range v {
			rename(value, name)
		}
	}
}

// isHarmless checks all that was shown and saved.
func isHarmless(o *harness.Office) {
	o.T.Helper()
	for _, note := range o.Desk.Notes.List() {
		harmless(o.T, "a notification's title", note.Title, 100)
		harmless(o.T, "a notification's body", note.Body, 2000)
		if strings.ContainsAny(note.Body, "<>") || loneAmpersand.MatchString(note.Body) {
			o.T.Errorf("a notification's body has markup in it: %q", note.Body)
		}
	}
	for _, name := range o.Files() {
		for part := range strings.SplitSeq(name, string(filepath.Separator)) {
			harmlessFileName(o.T, part)
		}
	}
	if names, err := harness.ReadNames(filepath.Dir(o.Folder)); err != nil || len(names) != 2 {
		o.T.Errorf("beside the data and the documents there is something: %q, %v", names, err)
	}
}

var loneAmpersand = regexp.MustCompile(`&($|[^agl#q]|a[^mp]|g[^t]|l[^t])`)

// harmless checks that a text is one line of at most so many characters, none of which does more than be seen.
func harmless(t testing.TB, what, text string, most int) {
	t.Helper()
	if n := len([]rune(text)); n > most {
		t.Errorf("%s is %d characters long: %.60q", what, n, text)
	}
	for _, r := range text {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("%s holds %U: %.80q", what, r, text)
			return
		}
	}
}

// reserved are names that Windows keeps for devices.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)`)

func harmlessFileName(t testing.TB, name string) {
	t.Helper()
	harmless(t, "a file's name", name, 255)
	if len(name) > 255 || strings.ContainsAny(name, `<>:"/\|?*`) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") ||
		strings.HasSuffix(name, " ") || strings.HasPrefix(name, " ") || reserved.MatchString(name) {
		t.Errorf("a file is called %q", name)
	}
}
