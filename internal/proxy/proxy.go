// Package proxy knows the way to an address: straight, or through a proxy of the network that the office has. It dials that
// way.
//
// What names the proxy, the first that has something to say:
//
//  1. the environment: HTTPS_PROXY, else ALL_PROXY, unless NO_PROXY excludes the address (all also in lower case);
//  2. the system: on Windows what WinHTTP says (a fixed proxy with its exceptions, a script, a script found by WPAD), on
//     macOS the network settings, elsewhere the desktop's (the XDG portal, which runs scripts too);
//  3. nothing: the way is straight.
//
// Addresses of this computer are never reached through a proxy. It promises that no text and no error of it holds a
// password, and that whoever is signed in to this computer is never signed in to a proxy, or to where its script lies: the
// network may have named both. It must not know who is called, nor why.
package proxy

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Source is what has named the way.
type Source string

const (
	Nothing     Source = ""            // nobody has: the way is straight
	Here        Source = "here"        // the address is on this computer
	Environment Source = "environment" // HTTPS_PROXY, ALL_PROXY, NO_PROXY
	System      Source = "system"      // a fixed proxy, with its exceptions
	Script      Source = "script"      // a script (PAC) whose address is set
	Detected    Source = "detected"    // a script that the network has offered (WPAD)
	Unread      Source = "unread"      // a script that cannot be run here, or does not end: the way is taken to be straight
)

// Answer is how to get to an address.
type Answer struct {
	// Ways are to be tried in order; nil stands for the straight one. There is always one. The schemes are http, https and
	// socks5. A user and a password may be in them: for people there is Name.
	Ways   []*url.URL
	Source Source
}

var straight = []*url.URL{nil}

// First is the proxy that is tried first; nil for none.
func (a Answer) First() *url.URL {
	if len(a.Ways) == 0 {
		return nil
	}
	return a.Ways[0]
}

// Name is the proxy that is tried first as host:port, without a password; empty for none.
func (a Answer) Name() string {
	if p := a.First(); p != nil {
		return hostPort(p)
	}
	return ""
}

const (
	// keepTime is how long an answer of the system is believed while the network stays the same.
	keepTime = 2 * time.Minute
	// askTime bounds a question to the system: looking for a script (WPAD) and fetching it take seconds.
	askTime = 15 * time.Second
	// maxWays bounds what a script may have tried.
	maxWays = 16
)

// Finder finds ways and dials them. The zero value asks the environment alone. All methods are safe for concurrent use.
type Finder struct {
	// Ask is what the system says about the way to a URL; nil when there is no system to ask. It may block for askTime.
	Ask func(ctx context.Context, to *url.URL) (Answer, error)

	asking   singleflight.Group
	patience time.Duration // silentFor when it is 0

	mu   sync.Mutex
	kept map[string]answerKept // by host:port
}

type answerKept struct {
	Answer
	at      time.Time
	network string // see network
}

// OfSystem is a Finder that also asks the system.
func OfSystem() *Finder { return &Finder{Ask: askSystem} }

// Find says how to get to a TLS server at hostport. An error means that a setting cannot be understood: it is an *Error.
// When the system does not answer, the way is straight.
func (f *Finder) Find(ctx context.Context, hostport string) (Answer, error) {
	to := &url.URL{Scheme: "https", Host: strings.TrimSuffix(hostport, ":443"), Path: "/"}
	if IsHere(to.Hostname()) {
		return Answer{straight, Here}, nil
	}
	answer, decided, err := fromEnvironment(to)
	if decided || err != nil || f.Ask == nil {
		return answer, err
	}
	now := network()
	f.mu.Lock()
	kept, known := f.kept[hostport]
	f.mu.Unlock()
	if known && kept.network == now && time.Since(kept.at) < keepTime {
		return kept.Answer, nil
	}
	asked := f.asking.DoChan(hostport, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		answer, err := f.Ask(ctx, to)
		if err != nil || len(answer.Ways) == 0 {
			answer = Answer{straight, answer.Source}
		}
		answer.Ways = answer.Ways[:min(len(answer.Ways), maxWays)]
		f.keep(hostport, answerKept{answer, time.Now(), now})
		return answer, nil
	})
	select {
	case r := <-asked:
		return r.Val.(Answer), nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

func (f *Finder) keep(hostport string, a answerKept) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil || len(f.kept) > 256 { // an office asks for a handful
		f.kept = map[string]answerKept{}
	}
	f.kept[hostport] = a
}

// Forget has the system asked anew: the network may be another one, or a way did not lead anywhere.
func (f *Finder) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = nil
}

// forget is Forget for one address.
func (f *Finder) forget(hostport string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kept, hostport)
}

// prefer tries from now on that way first, because those before it lead nowhere. Several may say so at the same time.
func (f *Finder) prefer(hostport string, way *url.URL) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, known := f.kept[hostport]
	if i := slices.Index(kept.Ways, way); known && i > 0 {
		kept.Ways = slices.Concat(kept.Ways[i:], kept.Ways[:i])
		f.kept[hostport] = kept
	}
}

// IsHere is true for addresses of this computer.
func IsHere(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// network tells one network from another: which addresses this computer has.
func network() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, a := range addresses {
		b.WriteString(a.String())
		b.WriteByte(' ')
	}
	return b.String()
}

// hostPort is where a proxy listens.
func hostPort(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080"}[proxy.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}
