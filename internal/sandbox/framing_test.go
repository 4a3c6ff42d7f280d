package sandbox

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestDownloadsThatEndInTheMiddle(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("concurrent", 1, "Ana")
	must(t, r.s.SignAll(p.PackageID))
	path := "/api/v1/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download"
	whole := r.get(path)
	n := len(whole.body)
	for _, tt := range []struct {
		name    string
		fault   Fault
		want    int
		length  int64
		chunked bool
		closes  bool
	}{
		{"as it is framed", Fault{EndAfter: 500}, 500, 500, false, false},
		{"with a length", Fault{EndAfter: -10, Framing: FramingLength}, n - 10, int64(n - 10), false, false},
		{"in chunks", Fault{EndAfter: 500, Framing: FramingChunks}, 500, -1, true, false},
		{"by closing", Fault{EndAfter: 500, Framing: FramingClose}, 500, -1, false, true},
		{"whole, by closing", Fault{Framing: FramingClose}, n, -1, false, true},
		{"past the end", Fault{EndAfter: int64(n) + 1}, n, int64(n), false, false},
		{"before the beginning", Fault{EndAfter: -int64(n) - 1, Framing: FramingChunks}, 0, -1, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fault.Path, tt.fault.Times = "*/executed/download", 1
			r.s.Inject(tt.fault)
			a := r.get(path, "Accept-Encoding", "identity")
			wantStatus(t, a, http.StatusOK)
			if string(a.body) != string(whole.body[:tt.want]) || a.ContentLength != tt.length || slices.Contains(a.TransferEncoding, "chunked") != tt.chunked || a.Close != tt.closes {
				t.Errorf("%d bytes, length %d, encoding %v, closes %t", len(a.body), a.ContentLength, a.TransferEncoding, a.Close)
			}
		})
	}
	r.s.Inject(Fault{Path: "*/executed/download", Times: 1, Gzip: true})
	a := r.get(path, "Accept-Encoding", "identity")
	z, err := gzip.NewReader(strings.NewReader(string(a.body)))
	must(t, err)
	if got, err := io.ReadAll(z); err != nil || string(got) != string(whole.body) || a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("compressed: %d bytes, %v", len(got), err)
	}
	r.s.Inject(Fault{Path: "*/executed/download", Times: 1, Range: "bytes=0-99"})
	if a := r.get(path); a.StatusCode != http.StatusPartialContent || len(a.body) != 100 {
		t.Errorf("a part: %d, %d bytes", a.StatusCode, len(a.body))
	}
	if a := r.get(path); string(a.body) != string(whole.body) {
		t.Errorf("afterwards: %d bytes", len(a.body))
	}
}
