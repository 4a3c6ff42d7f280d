package agent

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// benchService answers from memory what a signing service answers about packages p0, p1 ... that are all executed.
type benchService struct {
	url    string
	client *http.Client
	server *httptest.Server
	pdf    []byte // what each of its documents is
}

// benchFile is the size of a document of some pages.
const benchFile = 200 << 10

func newBenchService() *benchService { return newBenchServiceOf(benchFile) }

// newBenchServiceOf is one whose documents have so many bytes and some more.
func newBenchServiceOf(size int) *benchService {
	pdf := append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("0123456789abcde\n"), size/16)...)
	pdf = append(pdf, "%%EOF\n"...)
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/api/v1"} {
		mux.HandleFunc("GET "+prefix+"/packages/{p}/status", func(w http.ResponseWriter, r *http.Request) {
			p := r.PathValue("p")
			fmt.Fprintf(w, `{"packageId":%q,"state":"executed","isExecuted":true,"documents":[{"documentId":%q,"name":"Contract","isExecuted":true}]}`,
				p, "d"+strings.TrimPrefix(p, "p"))
		})
		mux.HandleFunc("GET "+prefix+"/packages/{p}/documents/{d}/pdf/executed/download", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			w.Header().Set("Content-Length", fmt.Sprint(len(pdf)))
			w.Write(pdf)
		})
		mux.HandleFunc("POST "+prefix+"/packages/list", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"items":[],"total":0}`)
		})
	}
	mux.HandleFunc("POST /connect/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`)
	})
	s := &benchService{server: httptest.NewServer(mux), pdf: pdf}
	s.url = s.server.URL
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	return s
}

// Close ends the service.
func (s *benchService) Close() {
	s.client.CloseIdleConnections()
	s.server.Close()
}

// deliverEvent signs an event of package i, which Ana signs, and hands it to handle.
func deliverEvent(handle http.HandlerFunc, secret, action string, i int) (status int) {
	body := fmt.Appendf(nil, `{"action":%q,"packageId":"p%d","documentId":"d%d","signerId":"ana","externalData":null,"eventId":"00000000-0000-4000-8000-%012d","eventTime":%q}`,
		action, i, i, i, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(benchURL))
	mac.Write(body)
	r := httptest.NewRequest(http.MethodPost, benchURL, bytes.NewReader(body))
	r.Header.Set("X-Service-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	handle(w, r)
	return w.Code
}
