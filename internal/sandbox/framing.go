package sandbox

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
)

// Framing is how a misbehaving service or a proxy before it tells where the body of an answer ends.
type Framing string

// Framings of a Fault.
const (
	FramingAsIs   Framing = ""       // as the service does, usually by a length
	FramingLength Framing = "length" // by a length, that of what is sent
	FramingChunks Framing = "chunks" // by a last chunk
	FramingClose  Framing = "close"  // by closing the connection, as HTTP/1.0 does
)

// reframe holds back what is written to *w until the function it returns is called, and then sends what the rule leaves
// of it, framed as the rule wants. A body that is cut off and keeps its framing gets a length that fits.
func reframe(w *http.ResponseWriter, rule Fault) (send func()) {
	held := &heldBack{ResponseWriter: *w, status: http.StatusOK}
	*w = held
	return func() {
		body := cutBody(held.body.Bytes(), rule.EndAfter)
		h := held.Header()
		if rule.Gzip {
			body = gzipped(body)
			h.Set("Content-Encoding", "gzip")
		}
		switch rule.Framing {
		case FramingChunks:
			h.Del("Content-Length")
			held.ResponseWriter.WriteHeader(held.status)
			_ = http.NewResponseController(held.ResponseWriter).Flush()
			_, _ = held.ResponseWriter.Write(body)
		case FramingClose:
			h.Del("Content-Length")
			closing(held, body)
		default:
			h.Set("Content-Length", strconv.Itoa(len(body)))
			held.ResponseWriter.WriteHeader(held.status)
			_, _ = held.ResponseWriter.Write(body)
		}
	}
}

// closing writes the answer as an HTTP/1.0 server does and closes the connection.
func closing(held *heldBack, body []byte) {
	conn, out, err := http.NewResponseController(held.ResponseWriter).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	fmt.Fprintf(out, "HTTP/1.0 %d %s\r\n", held.status, http.StatusText(held.status))
	_ = held.Header().Write(out)
	_, _ = out.WriteString("\r\n")
	_, _ = out.Write(body)
	_ = out.Flush()
}

// cutBody is what a body of EndAfter comes to.
func cutBody(body []byte, after int64) []byte {
	n := int64(len(body))
	switch {
	case after > 0:
		n = min(n, after)
	case after < 0:
		n = max(0, n+after)
	}
	return body[:n]
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// heldBack keeps an answer until it is sent.
type heldBack struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *heldBack) WriteHeader(status int)      { h.status = status }
func (h *heldBack) Write(p []byte) (int, error) { return h.body.Write(p) }
