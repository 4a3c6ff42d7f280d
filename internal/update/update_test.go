package update_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/message"
	"countersign/internal/trytest"
	"countersign/internal/update"

	"aead.dev/minisign"
	"go.uber.org/goleak"
)

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const installer = "Countersign-1.2.0-setup.exe"

// place is where releases are announced: a web server with a manifest, its signature and a file.
type place struct {
	*httptest.Server
	plain    *httptest.Server // the same without TLS
	key      minisign.PrivateKey
	public   string
	manifest update.Manifest
	file     []byte
	text     []byte // the manifest as it is served; made of manifest when nil
	sealed   []byte // its signature, likewise
	serve    map[string]http.HandlerFunc
}

func newKey(t *testing.T) (private minisign.PrivateKey, public string) {
	t.Helper()
	pub, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := must(pub.MarshalText())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return private, lines[len(lines)-1]
}

func newPlace(t *testing.T) *place {
	p := &place{file: bytes.Repeat([]byte("MZ setup "), 5000), serve: map[string]http.HandlerFunc{}}
	p.key, p.public = newKey(t)
	sum := sha256.Sum256(p.file)
	p.manifest = update.Manifest{Product: update.Product, Version: "1.2.0", Signed: now.Add(-time.Hour), Expires: now.Add(90 * 24 * time.Hour),
		Page: "https://example.com/get", Files: []update.File{{System: "windows", Arch: "amd64", Kind: update.Installer, Name: installer,
			Size: int64(len(p.file)), SHA256: hex.EncodeToString(sum[:])}}}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.Close)
	p.plain = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.plain.Close)
	return p
}

func (p *place) answer(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/release/")
	if serve := p.serve[name]; serve != nil {
		serve(w, r)
		return
	}
	text := p.text
	if text == nil {
		text, _ = json.Marshal(p.manifest)
	}
	switch name {
	case "countersign.json":
		w.Write(text)
	case "countersign.json.minisig":
		if p.sealed != nil {
			w.Write(p.sealed)
			return
		}
		w.Write(minisign.Sign(p.key, text))
	case installer:
		w.Write(p.file)
	default:
		http.NotFound(w, r)
	}
}

func (p *place) source(keys ...string) update.Source {
	return update.Source{Address: p.URL + "/release/countersign.json", Keys: append(keys, p.public)}
}

func (p *place) client(t *testing.T, keys ...string) *update.Client {
	t.Helper()
	c := must(update.New(p.source(keys...), p.Client()))
	return c
}

// moved serves the manifest under another name, too.
func (p *place) moved() {
	seal(p)
	p.serve["/moved/countersign.json"] = func(w http.ResponseWriter, _ *http.Request) { w.Write(p.text) }
}

func html(w http.ResponseWriter, _ *http.Request) {
	io.WriteString(w, "<!DOCTYPE html><title>Hotel</title><p>Sign in to use the network.")
}

// endless never stops, and says nothing of its length.
func endless(w http.ResponseWriter, r *http.Request) {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// cut says that it is longer than it is.
func cut(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:len(content)/2])
	}
}

// short ends early and says nothing of its length.
func short(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.Write(content[:len(content)/2])
	}
}

func TestASignedManifestSaysWhatIsTheNewestVersion(t *testing.T) {
	p := newPlace(t)
	_, unused := newKey(t)
	m, err := p.client(t, unused).Latest(t.Context(), now) // one of several keys will do
	if err != nil || m.Version != "1.2.0" {
		t.Fatalf("%+v, %v", m, err)
	}
	f, known := m.File("windows", "amd64", update.Installer)
	if !known || f.Name != installer {
		t.Errorf("%+v", f)
	}
	for _, wrong := range [][3]string{{"windows", "arm64", update.Installer}, {"linux", "amd64", update.Installer}, {"windows", "amd64", update.Deb}} {
		if f, known := m.File(wrong[0], wrong[1], wrong[2]); known {
			t.Errorf("%v is served with %s", wrong, f.Name)
		}
	}
}

func TestEveryForgedManifestIsRefused(t *testing.T) {
	stranger, _ := newKey(t)
	for name, c := range map[string]struct {
		do   func(*place)
		want error
	}{
		"no signature":             {func(p *place) { p.serve["countersign.json.minisig"] = http.NotFound }, update.ErrUnreachable},
		"an empty signature":       {func(p *place) { p.sealed = []byte{} }, update.ErrNotSigned},
		"another's key":            {func(p *place) { p.key = stranger }, update.ErrNotSigned},
		"altered":                  {func(p *place) { seal(p); p.text = bytes.Replace(p.text, []byte("1.2.0"), []byte("1.2.9"), 1) }, update.ErrNotSigned},
		"cut short":                {func(p *place) { seal(p); p.text = p.text[:len(p.text)-1] }, update.ErrNotSigned},
		"something behind it":      {func(p *place) { seal(p); p.text = append(p.text, ' ') }, update.ErrNotSigned},
		"a signature of something": {func(p *place) { p.sealed = minisign.Sign(p.key, []byte("else")) }, update.ErrNotSigned},
		"HTML everywhere": {func(p *place) {
			p.serve["countersign.json"], p.serve["countersign.json.minisig"] = html, html
		}, update.ErrNotSigned},
		"HTML for the manifest": {func(p *place) { p.serve["countersign.json"] = html }, update.ErrNotSigned},
		"an endless manifest":   {func(p *place) { p.serve["countersign.json"] = endless }, update.ErrUnreachable},
		"an endless signature":  {func(p *place) { p.serve["countersign.json.minisig"] = endless }, update.ErrUnreachable},
		"an error":              {func(p *place) { p.serve["countersign.json"] = status(500) }, update.ErrUnreachable},
		"nothing new":           {func(p *place) { p.serve["countersign.json"] = status(304) }, update.ErrUnreachable},
		"expired":               {func(p *place) { p.manifest.Expires = now }, update.ErrExpired},
		"another product's":     {func(p *place) { p.manifest.Product = "another" }, update.ErrMalformed},
		"no version":            {func(p *place) { p.manifest.Version = "" }, update.ErrMalformed},
		"words for a version":   {func(p *place) { p.manifest.Version = "newest" }, update.ErrMalformed},
		"a version in two":      {func(p *place) { p.manifest.Version = "1.2" }, update.ErrMalformed},
		"a version with a v":    {func(p *place) { p.manifest.Version = "v1.2.0" }, update.ErrMalformed},
		"a version and a line":  {func(p *place) { p.manifest.Version = "1.2.0\nrun this" }, update.ErrMalformed},
		"a version like a path": {func(p *place) { p.manifest.Version = "1.2.0-../../x" }, update.ErrMalformed},
		"a huge version":        {func(p *place) { p.manifest.Version = strings.Repeat("9", 70) + ".0.0" }, update.ErrMalformed},
		"no JSON":               {func(p *place) { p.text = []byte("{"); p.sealed = minisign.Sign(p.key, p.text) }, update.ErrMalformed},
		"for ever":              {func(p *place) { p.manifest.Expires = now.AddDate(50, 0, 0) }, update.ErrMalformed},
		"expired before signed": {func(p *place) { p.manifest.Expires = p.manifest.Signed.Add(-1) }, update.ErrMalformed},
		"a page without https":  {func(p *place) { p.manifest.Page = "http://example.com" }, update.ErrMalformed},
		"a page that runs":      {func(p *place) { p.manifest.Page = "file:///bin/sh" }, update.ErrMalformed},
		"a file outside":        {func(p *place) { p.manifest.Files[0].Name = "../setup.exe" }, update.ErrMalformed},
		"a file elsewhere":      {func(p *place) { p.manifest.Files[0].Name = "https://example.com/setup.exe" }, update.ErrMalformed},
		"a file of Windows":     {func(p *place) { p.manifest.Files[0].Name = `a\b.exe` }, update.ErrMalformed},
		"a file with a stream":  {func(p *place) { p.manifest.Files[0].Name = "setup.exe:x" }, update.ErrMalformed},
		"a file for nobody":     {func(p *place) { p.manifest.Files[0].System = "" }, update.ErrMalformed},
		"a file of nothing":     {func(p *place) { p.manifest.Files[0].Size = 0 }, update.ErrMalformed},
		"a file below nothing":  {func(p *place) { p.manifest.Files[0].Size = -1 }, update.ErrMalformed},
		"a huge file":           {func(p *place) { p.manifest.Files[0].Size = 1 << 62 }, update.ErrMalformed},
		"a number too large": {func(p *place) {
			seal(p)
			p.text = bytes.Replace(p.text, fmt.Appendf(nil, `"size":%d`, len(p.file)), []byte(`"size":1e400`), 1)
			p.sealed = minisign.Sign(p.key, p.text)
		}, update.ErrMalformed},
		"no hash":     {func(p *place) { p.manifest.Files[0].SHA256 = "" }, update.ErrMalformed},
		"half a hash": {func(p *place) { p.manifest.Files[0].SHA256 = p.manifest.Files[0].SHA256[:32] }, update.ErrMalformed},
		"many files":  {func(p *place) { p.manifest.Files = make([]update.File, 1000) }, update.ErrMalformed},
		"a way to http": {func(p *place) {
			p.serve["countersign.json"] = redirect(p.plain.URL + "/moved/countersign.json")
			p.moved()
		}, update.ErrUnreachable},
		"a ring of ways": {func(p *place) { p.serve["countersign.json"] = redirect(p.URL + "/release/countersign.json") }, update.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.do(p)
			m, err := p.client(t, p.public).Latest(t.Context(), now)
			if !errors.Is(err, c.want) || m.Version != "" {
				t.Errorf("%+v, %v", m, err)
			}
			if text, ok := message.Of(err); !ok || strings.Contains(text.String(), p.URL) {
				t.Errorf("people are told %q", text)
			}
		})
	}
}

// seal fixes the manifest and its signature as they are now.
func seal(p *place) {
	p.text, _ = json.Marshal(p.manifest)
	p.sealed = minisign.Sign(p.key, p.text)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestAReleaseMayMoveAsLongAsItStaysWithHTTPS(t *testing.T) {
	p := newPlace(t)
	p.serve["countersign.json"] = redirect(p.URL + "/moved/countersign.json")
	p.moved()
	if m, err := p.client(t).Latest(t.Context(), now); err != nil || m.Version != "1.2.0" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestAWrongClockRefusesOnlyForAsLongAsItIsWrong(t *testing.T) {
	p := newPlace(t)
	c := p.client(t)
	for _, wrong := range []time.Time{now.AddDate(30, 0, 0), now.AddDate(1, 0, 0)} {
		if _, err := c.Latest(t.Context(), wrong); !errors.Is(err, update.ErrExpired) {
			t.Errorf("in %d: %v", wrong.Year(), err)
		}
	}
	for _, right := range []time.Time{now, now.AddDate(-10, 0, 0), {}} {
		if _, err := c.Latest(t.Context(), right); err != nil {
			t.Errorf("in %d: %v", right.Year(), err)
		}
	}
}

func TestTheFileOfTheManifestIsFetched(t *testing.T) {
	p := newPlace(t)
	folder := filepath.Join(t.TempDir(), "update")
	noErr(t, os.MkdirAll(filepath.Join(folder, "old"), 0o700))
	var told int64
	path := must(p.client(t).Download(t.Context(), p.manifest.Files[0], folder, func(got int64) { told = got }))
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, p.file) || told != int64(len(p.file)) {
		t.Errorf("%d bytes, told %d: %v", len(got), told, err)
	}
	if list, _ := os.ReadDir(folder); len(list) != 1 {
		t.Errorf("left-overs: %v", list)
	}
	if err := update.Verify(path, p.manifest.Files[0]); err != nil {
		t.Error(err)
	}
	noErr(t, os.WriteFile(path, bytes.Replace(p.file, []byte("setup"), []byte("Setup"), 1), 0o600))
	if err := update.Verify(path, p.manifest.Files[0]); !errors.Is(err, update.ErrDamaged) {
		t.Errorf("an altered file counts: %v", err)
	}
	if err := update.Clear(folder); err != nil {
		t.Error(err)
	}
}

func TestEveryWrongFileIsRefusedAndRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(*place) http.HandlerFunc
		want  error
	}{
		"cut":               {func(p *place) http.HandlerFunc { return cut(p.file) }, update.ErrUnreachable},
		"cut, of no length": {func(p *place) http.HandlerFunc { return short(p.file) }, update.ErrDamaged},
		"another":           {func(p *place) http.HandlerFunc { return body(bytes.ToLower(p.file)) }, update.ErrDamaged},
		"empty":             {func(p *place) http.HandlerFunc { return body(nil) }, update.ErrDamaged},
		"longer":            {func(p *place) http.HandlerFunc { return body(append(p.file[:len(p.file):len(p.file)], '!')) }, update.ErrDamaged},
		"endless":           {func(p *place) http.HandlerFunc { return endless }, update.ErrDamaged},
		"HTML":              {func(p *place) http.HandlerFunc { return html }, update.ErrDamaged},
		"missing":           {func(p *place) http.HandlerFunc { return http.NotFound }, update.ErrUnreachable},
		"by http": {func(p *place) http.HandlerFunc {
			p.serve["/moved/x"] = body(p.file)
			return redirect(p.plain.URL + "/moved/x")
		}, update.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.serve[installer] = c.serve(p)
			folder := filepath.Join(t.TempDir(), "update")
			_, err := p.client(t).Download(t.Context(), p.manifest.Files[0], folder, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			if _, ok := message.Of(err); !ok {
				t.Error("people are told nothing")
			}
			if _, err := os.Lstat(folder); !os.IsNotExist(err) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
}

func body(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(content) }
}

// silentAfter is a network on which a server says a little and then nothing.
type silentAfter string

func (s silentAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: &silentBody{strings.NewReader(string(s)), r.Context()}, Request: r}, nil
}

type silentBody struct {
	*strings.Reader
	ctx context.Context
}

func (b *silentBody) Read(p []byte) (int, error) {
	if b.Len() > 0 {
		return b.Reader.Read(p)
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *silentBody) Close() error { return nil }

func TestAServerThatFallsSilentIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, public := newKey(t)
		c := must(update.New(update.Source{Address: "https://example.com/countersign.json", Keys: []string{public}}, &http.Client{Transport: silentAfter("MZ")}))
		began := time.Now()
		if _, err := c.Latest(t.Context(), now); !errors.Is(err, update.ErrUnreachable) || time.Since(began) > time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		began = time.Now()
		f := update.File{Name: "x.exe", Size: 1000, SHA256: strings.Repeat("00", 32)}
		if _, err := c.Download(t.Context(), f, filepath.Join(t.TempDir(), "u"), nil); !errors.Is(err, update.ErrUnreachable) || time.Since(began) > 2*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestWhatCouldNeverBeBelievedIsNoSource(t *testing.T) {
	_, key := newKey(t)
	if c, err := update.New(update.Source{}, nil); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
	for name, s := range map[string]update.Source{
		"http":      {Address: "http://example.com/c.json", Keys: []string{key}},
		"a folder":  {Address: "https://example.com/", Keys: []string{key}},
		"a file":    {Address: "/etc/passwd", Keys: []string{key}},
		"no key":    {Address: "https://example.com/c.json"},
		"no key's":  {Address: "https://example.com/c.json", Keys: []string{"abc"}},
		"a person":  {Address: "https://me:you@example.com/c.json", Keys: []string{key}},
		"an ending": {Address: "https:///c.json", Keys: []string{key}},
	} {
		if c, err := update.New(s, nil); err == nil {
			t.Errorf("%s: %v", name, c)
		}
	}
	if s := update.ParseSource(" https://example.com/c.json\n", "a, b  c"); s.Address != "https://example.com/c.json" || len(s.Keys) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestVersionsAreComparedAsTheyAreCounted(t *testing.T) {
	in := []string{"0.9.9", "1.0.0-alpha", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.10", "1.2.0", "10.0.0", "99999999999999999999999.0.0"}
	for i := range in {
		for j := range in {
			if got := update.Newer(in[i], in[j]); got != (i > j) {
				t.Errorf("%s after %s: %v", in[i], in[j], got)
			}
		}
	}
	for said, want := range map[string]string{
		"1.2.0": "1.2.0", "v1.2.0": "1.2.0", "1.2.0 (0a1b2c3d4e5f)": "1.2.0", "dev": "", "": "", "0a1b2c3": "", "1.2": "", "1.2.0+x": "", "1.2.0-3-g0a1b2c3-dirty": "1.2.0-3-g0a1b2c3-dirty",
	} {
		if got := update.Plain(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}
