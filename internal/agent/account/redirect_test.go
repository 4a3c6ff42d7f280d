package account

import (
	"net"
	"net/http"
	"testing"
	"time"

	"countersign/internal/office"
)

// An address without a path is one too (RFC 3986, 6.2.3), and what means something to a router is a path like any other.
func TestTheBrowserReturnsToWhateverAddressIsRegistered(t *testing.T) {
	for path, strange := range map[string]string{
		"": "/favicon.ico", "/": "/favicon.ico", "/back": "/", "/back/": "/back/x", "/{where}": "/there", "/a/{b": "/a/", "/a//b": "/a/b", "/b%20%7B": "/b",
	} {
		t.Run("https://localhost"+path, func(t *testing.T) {
			x := newService(t)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			host := free.Addr().String()
			free.Close()
			s := office.Settings{Redirect: office.RedirectLoopback, RedirectURI: "http://" + host + path}
			back, err := x.openRedirect(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer back.close()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			for address, want := range map[string]int{back.uri + "?state=x&code=y": http.StatusBadRequest, "http://" + host + strange: http.StatusNotFound} {
				resp, err := client.Get(address)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("%s: %s, want %d", address, resp.Status, want)
				}
			}
		})
	}
}
