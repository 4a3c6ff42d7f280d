//go:build linux

package e2e

import (
	"io"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

func TestWithoutAPublicAddressTheJobIsDoneByAsking(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{Redirects: []string{"http://127.0.0.1/oauth/callback"}})
	o := harness.NewOffice(t, desk, s, nil)
	o.Setup("--tunnel", "none", "--redirect", "loopback")
	o.Serve()
	o.MustLogin()
	st := o.Until("the limit is told", func(s harness.Status) bool { return s.Issue("no-tunnel") != "" })
	if st.Tunnel.Kind != "none" || st.Tunnel.State != "off" || st.Endpoint.ID != "" {
		t.Errorf("without a tunnel: %+v", st)
	}
	works(o, false)
	if n := len(s.Endpoints()); n != 0 {
		t.Errorf("%d endpoints are registered", n)
	}
	o.Must("logout")
}

func TestAPastedAddressSignsIn(t *testing.T) {
	t.Parallel()
	const nobody = "https://office.example.com/signed-in"
	desk := harness.NewDesktop(t)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{Redirects: []string{nobody}})
	o := harness.NewOffice(t, desk, s, nil)
	o.Setup("--tunnel", "none", "--redirect", "paste", "--redirect-uri", nobody)
	for _, beside := range []bool{false, true} {
		if beside {
			o.Serve()
		}
		p := o.Begin("login", "--no-browser")
		_, end, err := harness.NewVisitor(nil, nobody).SignIn(t.Context(), "http"+p.Line("http"), harness.Olivia, true)
		harness.Must(t, err)
		// A wrong address is told and waited out.
		wrong := strings.Replace(end.String(), "state=", "state=x", 1)
		for _, line := range []string{"what is this", wrong, end.String()} {
			if _, err := io.WriteString(p.In, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if code := p.Wait(); code != 0 || strings.Count(p.Stderr.String(), "countersign: ") != 2 {
			t.Errorf("login ended with %d: %s", code, p.Stderr)
		}
		if s := o.Status(); !s.SignedIn || s.Account.Email != harness.Olivia {
			t.Errorf("after pasting: %+v", s)
		}
		o.Must("logout")
	}
}
