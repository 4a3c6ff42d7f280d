package esign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// apiPrefix is what the authorization guide of interface.md writes before a path, and the webhook guides do not.
const apiPrefix = "/api/v1"

// pathForm is with or without the prefix. The zero value is with: service-facts.md, 1 says every path has it.
type pathForm bool

const (
	prefixed pathForm = false
	bare     pathForm = true
)

func (f pathForm) other() pathForm { return !f }

func (f pathForm) prefix() string {
	if f == bare {
		return ""
	}
	return apiPrefix
}

// errNotServed marks a 404 or 405 that did not come from the API itself. Nothing was done, so that even a POST may go
// to the other form of its path.
var errNotServed = errors.New("the service does not serve this path")

// NotServed reports whether an error says that the service has no such call: a 404 or 405 without the service's own error.
// Nothing was done then, unless somebody in between said so.
func NotServed(err error) bool { return errors.Is(err, errNotServed) }

// NotOffered is NotServed that also takes a 404 or 405 with an error code which names nothing of what was asked for: that is
// how a service with errors of one form for everything says that it has no such path.
func NotOffered(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !e.named
}

// named reports whether an error code is about something in the call's path: package_not_found in /packages/.../status and
// signer_not_found in /packages/.../link/sign/..., but neither not_found nor resource_not_found (service-facts.md, 10).
func (k *call) named(code string) bool {
	thing, _, ok := strings.Cut(strings.ToLower(code), "_")
	return ok && slices.ContainsFunc(strings.Split(k.path, "/"), func(part string) bool {
		return len(thing) > 3 && strings.HasPrefix(part, thing) || len(part) > 3 && strings.HasPrefix(thing, part)
	})
}

// paths remembers, per route, the form that was seen to be served. The zero value knows nothing.
type paths struct {
	mu    sync.Mutex
	known map[string]pathForm
}

// form is the one to try first, and whether it is known to be served.
func (p *paths) form(route string) (form pathForm, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	form, sure = p.known[route]
	return form, sure
}

// formOfOthers is the form for a call that cannot try both: that of the calls that go before it.
func (p *paths) formOfOthers() pathForm {
	for _, route := range []string{uploadRoute, listRoute} {
		if form, sure := p.form(route); sure {
			return form
		}
	}
	return prefixed
}

// learn takes a success, or a refusal that names something in the path, as proof that the form is served. A web page is no
// such answer, and neither is what a gateway, or the service itself, says of every path: who one is, and how often one asks.
func (p *paths) learn(route string, form pathForm, res *http.Response, err error) {
	var e *Error
	switch {
	case err == nil && !isPage(res):
	case errors.As(err, &e) && e.named:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]pathForm{}
	}
	p.known[route] = form
}

// isPage looks whether an answer is a web page. The label does not count: some servers put it on everything, and what stands
// in for a service may put none.
func isPage(res *http.Response) bool {
	const beginning = 256
	r := bufio.NewReaderSize(res.Body, beginning)
	res.Body = struct {
		io.Reader
		io.Closer
	}{r, res.Body}
	head, _ := r.Peek(beginning)
	return looksLikePage(head)
}

// looksLikePage is isPage for the beginning of a body.
func looksLikePage(head []byte) bool {
	head = bytes.TrimLeft(trimBOM(head), " \t\r\n")
	return len(head) > 0 && head[0] == '<'
}
