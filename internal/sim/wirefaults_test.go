package sim

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// troubles are the kinds of faults on the wire, each with the part of the service it may affect; "" is any.
var troubles = map[string]func(y way, r *http.Request, said []byte, draw int) (*http.Response, error){
	// The connection fails before or after the work is done.
	"refused": func(way, *http.Request, []byte, int) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	},
	"lost": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		if err := swallow(y.next.RoundTrip(r)); err != nil {
			return nil, err
		}
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	},
	"silent": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		if draw%2 == 0 { // the work is done, but the answer is lost
			if err := swallow(y.next.RoundTrip(r)); err != nil {
				return nil, err
			}
		}
		if !pause(r.Context(), 30*time.Second) {
			return nil, r.Context().Err()
		}
		return nil, errors.New("net/http: timeout awaiting response headers")
	},
	"hanging": func(_ way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		pause(r.Context(), time.Hour)
		return nil, cmp.Or(r.Context().Err(), io.ErrUnexpectedEOF)
	},
	"late": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		if !pause(r.Context(), time.Duration(draw%25_000)*time.Millisecond) {
			return nil, r.Context().Err()
		}
		return y.next.RoundTrip(r)
	},
	"twice": func(y way, r *http.Request, said []byte, _ int) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/packages/add") { // a second package could not be told from one requested twice
			return y.next.RoundTrip(r)
		}
		again := r.Clone(r.Context())
		if r.Body != nil {
			again.Body = io.NopCloser(bytes.NewReader(said))
		}
		if err := swallow(y.next.RoundTrip(r)); err != nil {
			return nil, err
		}
		return y.next.RoundTrip(again)
	},
	// Somebody else answers, before or after the work is done.
	"wrong": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		return canned(r, []int{500, 502, 503, 504, 404, 408, 400, 409}[draw%8], "application/json", `{"error":"service_exception_simulated","message":"Simulated."}`), nil
	},
	"undone": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		if err := swallow(y.next.RoundTrip(r)); err != nil {
			return nil, err
		}
		return canned(r, []int{500, 502, 504}[draw%3], "text/html", "<html><body>Bad gateway</body></html>"), nil
	},
	"busy": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		answer := canned(r, 429, "application/json", `{"error":"too_many_requests","message":"Simulated."}`)
		answer.Header.Set("Retry-After", strconv.Itoa(1+draw%900))
		return answer, nil
	},
	"forbidden": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		return canned(r, []int{403, 404}[draw%2], "application/json", `{"error":"package_not_authorized","message":"Simulated."}`), nil
	},
	"portal": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return canned(r, 200, "text/html", "<!doctype html><html><title>Hotel</title><body>Accept our terms</body></html>"), nil
	},
	"redirect": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		answer := canned(r, []int{301, 302, 303, 307, 308}[draw%5], "text/html", "moved")
		answer.Header.Set("Location", "https://portal.test/login")
		return answer, nil
	},
	// What arrives is incomplete, or only looks complete.
	"cut": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return shortened(y, r, io.ErrUnexpectedEOF)
	},
	"short": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return shortened(y, r, io.EOF)
	},
	// The authorization server answers oddly.
	"oddtoken": func(y way, r *http.Request, _ []byte, draw int) (*http.Response, error) {
		return reworded(y, r, func(text string) string {
			switch draw % 5 {
			case 0:
				return strings.Replace(text, `"expires_in":1800`, `"expires_in":"1800"`, 1)
			case 1:
				return strings.Replace(text, `"expires_in":1800`, `"expires_in":0`, 1)
			case 2:
				return strings.Replace(text, `"token_type":"Bearer"`, `"token_type":"bearer"`, 1)
			case 3:
				return "\xef\xbb\xbf" + text
			}
			return strings.Replace(text, `"expires_in":1800`, `"expires_in":1e12`, 1)
		})
	},
	// The service does not say whose turn it is, when listed things happened, or which document is which.
	"turnless": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return reworded(y, r, func(text string) string { return aTurn.ReplaceAllString(text, "") })
	},
	"timeless": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return reworded(y, r, func(text string) string { return aTime.ReplaceAllString(text, "$1:null") })
	},
	"idless": func(y way, r *http.Request, _ []byte, _ int) (*http.Response, error) {
		return reworded(y, r, func(text string) string { return aDocumentID.ReplaceAllString(text, "$1:null") })
	},
}

var (
	aTurn       = regexp.MustCompile(`"(?:isNext|next)":(?:true|false),`)
	aTime       = regexp.MustCompile(`("time[A-Z]\w+"):"[^"]*"`)
	aDocumentID = regexp.MustCompile(`("documentId"):"[^"]*"`)
)

// reworded is an answer with modified text.
func reworded(y way, r *http.Request, words func(string) string) (*http.Response, error) {
	answer, err := y.next.RoundTrip(r)
	if err != nil || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	text := words(string(body))
	answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return answer, nil
}

// troubled is the disturbed answer.
func (y way) troubled(r *http.Request, kind string, said []byte, draw int) (*http.Response, error) {
	if f := troubles[kind]; f != nil {
		return f(y, r, said, draw)
	}
	return y.next.RoundTrip(r)
}

func swallow(answer *http.Response, err error) error {
	if err == nil {
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	return err
}

// Bodies are cut at one of this many positions, relative to their length, so that a body a byte longer is cut at the same
// one.
const (
	cutParts = 1000
	cutStep  = 389 // distance from one cut of a body to the next, prime to cutParts: so each position occurs once
)

// cutAt is where to cut the body at path: never where it was cut before. A document of unknown length that arrives twice
// with the same bytes counts as complete, and chance would cut these small ones twice at the same byte.
func (x *wire) cutAt(path string) (part int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.cuts[path]
	x.cuts[path]++
	return (keyed(x.w.seed, "cut", path).IntN(cutParts) + n*cutStep) % cutParts
}

// shortened truncates a body, with or without an error.
func shortened(y way, r *http.Request, end error) (*http.Response, error) {
	answer, err := y.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	whole := len(bytes.TrimRight(body, "\r\n")) // the line end at the end of a document is not essential
	if err != nil || whole == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	at := whole * y.cutAt(r.URL.Path) / cutParts
	y.w.trace.line(false, "  %s ends after %d of %d bytes", r.URL.Path, at, len(body))
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:at]), failing{end}))
	if end == io.EOF {
		answer.ContentLength = -1
		answer.Header.Del("Content-Length")
	}
	return answer, nil
}

func canned(r *http.Request, status int, kind, body string) *http.Response {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}
