// Package update learns whether there is a newer version of the program and fetches it: from an address, and signed with a
// key, that whoever makes the releases builds in.
//
// At the address lies a small manifest (see Manifest), and at the same address with ".minisig" behind it its signature, as
// minisign(1) makes it: Ed25519. The files of the release lie beside the manifest.
//
// It promises that nothing counts before its signature fits: of what lies at the address, and of whoever is on the way, it
// believes nothing else, not even a length. A manifest counts until it expires. A file counts when its length and its SHA-256
// are those of the manifest. Whatever comes is bounded, in bytes and in time, and comes by https alone.
//
// It must not know which versions were known before (agent/updates, which refuses to go back), nor when anybody asks.
package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"

	"countersign/internal/message"
	"countersign/internal/private"
)

// silence is how long a server may say nothing in the middle of a file.
const silence = time.Minute

// Download fetches a file of the release into folder, which is made anew, beside what else is kept, and holds nothing else
// afterwards. A program takes libraries from the folder it is started from, so one that others can write to is refused. Progress,
// which may be nil, is told how many bytes are there. What is not whole is removed.
func (u *Client) Download(ctx context.Context, f File, folder string, progress func(got int64)) (path string, err error) {
	if err := Clear(folder); err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Clear(folder))
		}
	}()
	switch err := private.NewFolder(folder); {
	case errors.Is(err, private.ErrStaysOpen), errors.Is(err, fs.ErrExist): // somebody was quicker
		return "", message.Error(message.UpdateNotPrivate(), err)
	case err != nil:
		return "", message.Error(message.UpdateNotKept(), err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(silence, func() { stop(errors.New("the server fell silent")) })
	defer watch.Stop()
	body, err := u.open(ctx, u.address.ResolveReference(&url.URL{Path: f.Name}))
	if err != nil {
		return "", err
	}
	defer body.Close()
	path = filepath.Join(folder, f.Name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	read := &counted{from: body, tell: func(got int64) {
		watch.Reset(silence)
		if progress != nil {
			progress(min(got, f.Size))
		}
	}}
	_, errCopy := io.Copy(file, io.LimitReader(read, f.Size+1))
	errClose := file.Close()
	switch {
	case read.err != nil:
		return "", unreachable(errors.Join(read.err, context.Cause(ctx)))
	case errCopy != nil, errClose != nil:
		return "", message.Error(message.UpdateNotKept(), errors.Join(errCopy, errClose))
	}
	return path, Verify(path, f)
}

// Verify reports whether the file at path is the one that the manifest names: by length and SHA-256.
func Verify(path string, f File) error {
	file, err := Hold(path, f)
	if err != nil {
		return err
	}
	return file.Close()
}

// Hold opens the file at path when it is the one that the manifest names. On Windows nobody can change, rename or remove it until
// it is closed, and Windows moves no folder in which a file is open.
func Hold(path string, f File) (*os.File, error) {
	file, err := hold(path)
	if err != nil {
		return nil, message.Error(message.UpdateDamaged(), fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, f.Size+1))
	want, errWant := hex.DecodeString(f.SHA256)
	if err != nil || errWant != nil || n != f.Size || !bytes.Equal(sum.Sum(nil), want) {
		file.Close()
		return nil, message.Error(message.UpdateDamaged(), errors.Join(ErrDamaged, err))
	}
	return file, nil
}

// Clear removes what was fetched into folder, and folder. What another program still holds, such as an installer that has
// just started this one, is an error.
func Clear(folder string) error { return os.RemoveAll(folder) }

// counted tells how much was read, and keeps why reading ended.
type counted struct {
	from io.Reader
	tell func(got int64)
	got  int64
	err  error // but io.EOF
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.from.Read(p)
	if c.got += int64(n); n > 0 {
		c.tell(c.got)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// Product is what a manifest is for. A key that signs other things, too, signs none of them into this program.
const Product = "countersign"

// Manifest says which version is the newest, and what its files are. Its JSON lies at the address of a Source.
type Manifest struct {
	Product string    `json:"product"`
	Version string    `json:"version"` // as semver.org has it, without a v: "1.2.0", "1.3.0-rc.1"
	Signed  time.Time `json:"signed"`
	Expires time.Time `json:"expires"`        // from then on it is not believed: it could be kept back from newer ones
	Page    string    `json:"page,omitempty"` // an https address where people get the program by hand
	Files   []File    `json:"files"`
}

// File is one of the files of a release. There may be systems, processors and kinds that this version does not know.
type File struct {
	System string `json:"system"` // as GOOS
	Arch   string `json:"arch"`   // as GOARCH
	Kind   string `json:"kind"`
	Name   string `json:"name"` // beside the manifest
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal digits
}

// Kinds of files.
const (
	Installer = "installer" // for Windows
	Deb       = "deb"
	RPM       = "rpm"
	Tar       = "tar"
	Server    = "server" // the program without its window, one file
)

func (m Manifest) File(system, arch, kind string) (f File, known bool) {
	for _, f := range m.Files {
		if f.System == system && f.Arch == arch && f.Kind == kind {
			return f, true
		}
	}
	return File{}, false
}

// Bounds of what a manifest says.
const (
	maxFiles   = 100
	maxFile    = 1 << 30
	maxPage    = 500
	maxWord    = 40
	maxForward = 800 * 24 * time.Hour // from its signature to its expiry
)

// fileName is a name that is nothing but a name, on any system and in any address.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,120}[A-Za-z0-9]$`)

// parse reads a manifest that is signed. What it does not know it leaves alone; what can only be a mistake is an error.
func parse(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, err
	}
	return m, m.Check()
}

// Check says what a manifest must not say, whoever signs it.
func (m Manifest) Check() error {
	switch {
	case m.Product != Product:
		return fmt.Errorf("it is for %q", m.Product)
	case !IsVersion(m.Version):
		return fmt.Errorf("%q is no version", m.Version)
	case m.Signed.IsZero(), !m.Expires.After(m.Signed), m.Expires.Sub(m.Signed) > maxForward:
		return errors.New("it has no time in which it counts")
	case m.Page != "" && !isPage(m.Page):
		return errors.New("its page is no https address")
	case len(m.Files) > maxFiles:
		return errors.New("it has too many files")
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case f.System == "" || len(f.System) > maxWord, f.Arch == "" || len(f.Arch) > maxWord, f.Kind == "" || len(f.Kind) > maxWord:
			return errors.New("a file is for no system")
		case !fileName.MatchString(f.Name):
			return fmt.Errorf("%q is no name of a file", f.Name)
		case f.Size <= 0 || f.Size > maxFile:
			return fmt.Errorf("%s cannot have %d bytes", f.Name, f.Size)
		case err != nil || len(sum) != 32:
			return fmt.Errorf("%s has no SHA-256", f.Name)
		}
	}
	return nil
}

func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(address) <= maxPage
}

// Bounds of what is fetched.
const (
	maxManifest  = 256 << 10
	maxSignature = 4 << 10
	askLimit     = 30 * time.Second // manifest and signature together
)

// The kinds of what can go wrong; each error carries what people are told of it.
var (
	ErrUnreachable = errors.New("no manifest came")
	ErrNotSigned   = errors.New("the manifest is not signed with a known key")
	ErrExpired     = errors.New("the manifest has expired")
	ErrMalformed   = errors.New("the manifest is signed, and says what it must not")
	ErrDamaged     = errors.New("the file is not the one in the manifest")
)

// Source is what is built into a program: where its releases are announced, and the public keys (minisign's, base64) of
// which one must have signed. The zero Source is that of a program nobody announces releases of.
type Source struct {
	Address string
	Keys    []string
}

// ParseSource reads what the linker has set: an address, and keys with commas or spaces in between.
func ParseSource(address, keys string) Source {
	return Source{Address: strings.TrimSpace(address), Keys: strings.FieldsFunc(keys, func(r rune) bool { return r == ',' || r == ' ' })}
}

// Client asks a Source. Safe for concurrent use.
type Client struct {
	address *url.URL
	keys    []minisign.PublicKey
	http    *http.Client
}

// New returns a client that goes through c's transport; nil is http.DefaultClient. It returns nil and no error for the zero
// Source, and an error for one that could never be believed.
func New(s Source, c *http.Client) (*Client, error) {
	if s.Address == "" {
		return nil, nil
	}
	address, err := url.Parse(s.Address)
	if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil || strings.HasSuffix(address.Path, "/") {
		return nil, fmt.Errorf("%q is no https address of a file", s.Address)
	}
	if len(s.Keys) == 0 {
		return nil, errors.New("there is an address for updates, and no key")
	}
	u := &Client{address: address}
	for _, text := range s.Keys {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%q is no public key of minisign: %w", text, err)
		}
		u.keys = append(u.keys, key)
	}
	if c == nil {
		c = http.DefaultClient
	}
	// No time-out for a whole answer: a large file takes as long as the network needs.
	u.http = &http.Client{Transport: c.Transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Scheme != "https" {
			return errors.New("a redirect away from https")
		}
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	return u, nil
}

// Latest fetches the manifest, and returns it when it is signed and not expired.
func (u *Client) Latest(ctx context.Context, now time.Time) (Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	beside := *u.address
	beside.Path, beside.RawPath = beside.Path+".minisig", ""
	signature, err := u.fetch(ctx, &beside, maxSignature)
	if err != nil {
		return Manifest{}, err
	}
	text, err := u.fetch(ctx, u.address, maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	return u.read(text, signature, now)
}

func (u *Client) read(text, signature []byte, now time.Time) (Manifest, error) {
	if !u.signed(text, signature) {
		return Manifest{}, message.Error(message.UpdateNotSigned(), ErrNotSigned)
	}
	m, err := parse(text)
	if err != nil {
		return Manifest{}, message.Error(message.UpdateNotSigned(), fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	if !now.Before(m.Expires) {
		return Manifest{}, message.Error(message.UpdateExpired(), ErrExpired)
	}
	return m, nil
}

func (u *Client) signed(text, signature []byte) bool {
	for _, key := range u.keys {
		if minisign.Verify(key, text, signature) {
			return true
		}
	}
	return false
}

func (u *Client) fetch(ctx context.Context, address *url.URL, limit int64) ([]byte, error) {
	body, err := u.open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case int64(len(content)) > limit:
		return nil, unreachable(errors.New("it does not end"))
	}
	return content, nil
}

func (u *Client) open(ctx context.Context, address *url.URL) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, unreachable(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // a length is that of the file
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := u.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, unreachable(errors.New(resp.Status))
	}
	return resp.Body, nil
}

func unreachable(cause error) error {
	return message.Error(message.UpdateUnreachable(), fmt.Errorf("%w: %w", ErrUnreachable, cause))
}

// Address is where a file of the release lies.
func (u *Client) Address(f File) string {
	return u.address.ResolveReference(&url.URL{Path: f.Name}).String()
}

// maxVersion is longer than any version that people say.
const maxVersion = 64

// IsVersion reports whether v is a version that can be compared: three numbers, and perhaps what comes before a release
// (https://semver.org, without its build metadata, which does not compare).
func IsVersion(v string) bool {
	return len(v) <= maxVersion && semver.IsValid("v"+v) && semver.Canonical("v"+v) == "v"+v
}

// Plain is the version in what a program says of itself, "1.2.0 (0a1b2c3d4e5f)"; empty when there is none, as in a build
// that is no release.
func Plain(said string) string {
	v, _, _ := strings.Cut(said, " ")
	if v = strings.TrimPrefix(v, "v"); !IsVersion(v) {
		return ""
	}
	return v
}

// Newer reports whether version a comes after b. What is no version comes before every one.
func Newer(a, b string) bool { return semver.Compare("v"+a, "v"+b) > 0 }
