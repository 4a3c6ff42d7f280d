package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

func TestEachOfTheServicesAddressesIsTried(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory()})
	noErr(t, err)
	defer a.Close()
	service, err := sandbox.Start(sandbox.Options{Clients: []sandbox.Client{sandbox.DemoClient()}})
	noErr(t, err)
	defer service.Close()
	answering := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	blank := answering(http.NotFound)
	page := answering(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><p>Welcome"))
	})
	elsewhere := answering(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com", http.StatusFound)
	})
	ill := answering(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		auth, base string
		want       []string // the fields that are wrong
		text       string
	}{
		"both right":        {service.URL(), service.URL(), nil, ""},
		"with the prefix":   {service.URL(), service.URL() + "/api/v1", nil, ""},
		"nothing there":     {service.URL(), gone.URL, []string{"base_url"}, "Nothing answers at the service address."},
		"another server":    {service.URL(), blank, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"a web application": {service.URL(), page, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"a redirect":        {service.URL(), elsewhere, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"out of order":      {service.URL(), ill, []string{"base_url"}, "The service address answers, but the service has a technical problem."},
		"no sign-in":        {blank, service.URL(), []string{"auth_url"}, "The sign-in address answers, but not as a signing service."},
		"no sign-in server": {gone.URL, service.URL(), []string{"auth_url"}, "Nothing answers at the sign-in address."},
		"neither":           {gone.URL, gone.URL, []string{"auth_url", "base_url"}, "Nothing answers at the service address."},
	} {
		t.Run(name, func(t *testing.T) {
			s := office.DefaultSettings()
			s.AuthURL, s.BaseURL = c.auth, c.base
			for _, s.ClientID = range []string{"", sandbox.DemoClient().ID} { // the client ID may come later
				var config *ConfigError
				err := a.TestService(t.Context(), s)
				var got []string
				if errors.As(err, &config) {
					for _, f := range config.Fields {
						got = append(got, f.Field)
					}
				}
				if !slices.Equal(got, c.want) || (err == nil) != (c.want == nil) || !strings.Contains(Message(err).String(), c.text) {
					t.Errorf("client %q: %v: %v", s.ClientID, got, err)
				}
				if strings.Contains(Message(err).String(), "Settings") {
					t.Errorf("points to Settings: %v", err)
				}
			}
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL = service.URL(), gone.URL
	if err := a.TestService(stopped, s); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	s.Tunnel, s.PublicURL, s.Listen = office.TunnelExternal, gone.URL, "127.0.0.1:0"
	if _, err := a.TestTunnel(stopped, s, office.Secrets{}); err == nil {
		t.Error("a stopped test found something")
	}
}
