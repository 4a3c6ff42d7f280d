//go:build linux

package e2e

import (
	"io"
	"strings"
	"testing"
)

func TestWithoutAPublicAddressTheJobIsDoneByAsking(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	s := startService(t, desk.env(), serviceOptions{redirects: []string{"http://127.0.0.1/oauth/callback"}})
	o := newOffice(t, desk, s, nil)
	o.setup("--tunnel", "none", "--redirect", "loopback")
	o.serve()
	o.mustLogin()
	st := o.until("the limit is told", func(s status) bool { return s.issue("no-tunnel") != "" })
	if st.Tunnel.Kind != "none" || st.Tunnel.State != "off" || st.Endpoint.ID != "" {
		t.Errorf("without a tunnel: %+v", st)
	}
	o.works(false)
	if n := len(s.endpoints()); n != 0 {
		t.Errorf("%d endpoints are registered", n)
	}
	o.must("logout")
}

func TestAPastedAddressSignsIn(t *testing.T) {
	t.Parallel()
	const nobody = "https://office.example.com/signed-in"
	desk := newDesktop(t)
	s := startService(t, desk.env(), serviceOptions{redirects: []string{nobody}})
	o := newOffice(t, desk, s, nil)
	o.setup("--tunnel", "none", "--redirect", "paste", "--redirect-uri", nobody)
	for _, beside := range []bool{false, true} {
		if beside {
			o.serve()
		}
		p := o.begin("login", "--no-browser")
		_, end, err := newVisitor(nil, nobody).signIn(t.Context(), "http"+p.line("http"), olivia, true)
		if err != nil {
			t.Fatal(err)
		}
		// A wrong address is told and waited out.
		wrong := strings.Replace(end.String(), "state=", "state=x", 1)
		for _, line := range []string{"what is this", wrong, end.String()} {
			if _, err := io.WriteString(p.in, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if code := p.wait(); code != 0 || strings.Count(p.stderr.String(), "countersign: ") != 2 {
			t.Errorf("login ended with %d: %s", code, p.stderr)
		}
		if s := o.status(); !s.SignedIn || s.Account.Email != olivia {
			t.Errorf("after pasting: %+v", s)
		}
		o.must("logout")
	}
}
