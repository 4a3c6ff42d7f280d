package inbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// bareHandler is the baseline: net/http and an HMAC, without any of the promises.
var bareHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	claimed, _ := base64.StdEncoding.DecodeString(r.Header.Get(hookHeader))
	mac := hmac.New(sha256.New, []byte(hookSecret))
	io.WriteString(mac, hookURL)
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), claimed) {
		w.WriteHeader(http.StatusUnauthorized)
	}
})

// BenchmarkAgainstTheFloor sends the same requests over loopback to the bare handler and to an inbox.
func BenchmarkAgainstTheFloor(b *testing.B) {
	in := receiver(Options{Keys: oneKey, Store: new(shelf).store})
	good := sign(hookURL, hookSecret, eventBody)
	for _, traffic := range []struct{ name, body, signature string }{
		{"accepted", eventBody, good},
		{"unsigned", eventBody, ""},
		{"forged", eventBody, sign(hookURL, "other", eventBody)},
		{"oversized", strings.Repeat("x", 2<<20), good},
	} {
		for _, target := range []struct {
			name    string
			handler http.Handler
		}{{"floor", bareHandler}, {"inbox", in}} {
			b.Run(fmt.Sprintf("%s/%s", traffic.name, target.name), func(b *testing.B) {
				server := httptest.NewServer(target.handler)
				defer server.Close()
				client := server.Client()
				b.ReportAllocs()
				for b.Loop() {
					r := request(b, server.URL, traffic.body)
					if traffic.signature != "" {
						r.Header.Set(hookHeader, traffic.signature)
					}
					res, err := client.Do(r)
					if err != nil {
						continue // refused unread, and reset while it was being sent
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
		}
	}
}
