package esign

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// An answer of some kilobytes may hold thousands of documents.
func TestAClientKeepsNothingOfWhatItWasAnswered(t *testing.T) {
	answer := fmt.Sprintf(`{"state":"open","documents":[%s{}]}`, strings.Repeat("{},", 5000))
	c := NewClient(Config{AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "c", HTTP: &http.Client{Transport: saying(answer)}}, &tokens{})
	held := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 20)
	}
	before := held()
	for i := range 400 {
		s, err := c.Status(t.Context(), fmt.Sprint("p", i))
		if err != nil || len(s.Documents) == 0 {
			t.Fatalf("%d documents, %v", len(s.Documents), err)
		}
	}
	if took := held() - before; took > 10 {
		t.Errorf("%d MiB are kept of 400 answers of %d KiB", took, len(answer)>>10)
	}
	runtime.KeepAlive(c)
}

// saying answers everything alike.
type saying string

// RoundTrip is http.RoundTripper's.
func (s saying) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(s))), Request: req}, nil
}
