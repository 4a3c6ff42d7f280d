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
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"

	"aead.dev/minisign"
)

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

// read is the manifest in text when its signature fits and it has not expired.
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

// fetch reads what lies at an address, limit bytes at most.
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

// open asks for what lies at an address.
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
