//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
	"countersign/internal/locations"
)

// opener stands in for the program that shows the browser, and writes down what it was given.
const opener = `#!/bin/sh
{ echo "$@"; cat /proc/$$/environ /proc/$$/cmdline; } > FILE.part
mv FILE.part FILE
`

// TestSecretsAreNowhere does everything there is to do with secrets, at --debug, and then looks for each of them in
// whatever the program has written, shown or handed on.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	f, address := harness.NewFront(t), harness.FreeAddress(t)
	x := harness.NewSpy(t, address)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
		Secret: "canary-client-secret-93417", Redirects: []string{f.URL + "/oauth/callback"},
		Flags: []string{"--trust", f.Authority.File, "--listen", address, "--address", x.URL},
	})
	o := harness.NewOffice(t, desk, s, f)
	const ngrokToken = "canary-authtoken-60252"
	x.Note("client secret", s.Secret)
	x.Note("authtoken", ngrokToken)
	o.Global = append(o.Global, "--debug")
	o.Secrets = append(o.Secrets, "NGROK_AUTHTOKEN="+ngrokToken)
	o.Setup()
	o.More = []string{"GOTRACEBACK=all"}
	o.Serve()
	o.More = nil

	w := &wiretap{Office: o, spy: x, seen: map[string][]byte{}}
	w.signsIn()
	w.works()
	w.goesWrong()
	w.dies()
	w.isSilent()
}

// wiretap collects all that the program of an office gives away.
type wiretap struct {
	*harness.Office
	spy  *harness.Spy
	seen map[string][]byte // by where
}

func (w *wiretap) keep(where string, b []byte) { w.seen[where] = append(w.seen[where], b...) }

// run runs a command and keeps what it says.
func (w *wiretap) run(command string, args ...string) harness.Result {
	w.T.Helper()
	r := w.Command(command, args...)
	w.keep("what "+command+" says", []byte(r.Stdout+r.Stderr))
	return r
}

// signsIn signs in with the secrets in the environment, as README.md has people export them, and the browser that the
// command opens must not inherit.
func (w *wiretap) signsIn() {
	w.T.Helper()
	bin := harness.ShortDir(w.T)
	given := filepath.Join(bin, "given")
	script := strings.ReplaceAll(opener, "FILE", given)
	for _, name := range []string{"xdg-open", "gio", "sensible-browser"} {
		harness.Must(w.T, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	w.More = append(slices.Clone(w.Secrets), "PATH="+bin+":"+os.Getenv("PATH"))
	p := w.Begin("login")
	w.More = nil
	var open []byte
	harness.Eventually(w.T, "the browser is opened", func() bool {
		var err error
		open, err = os.ReadFile(given)
		return err == nil
	})
	w.keep("what the browser was given", open)
	authorize, _, _ := strings.Cut(string(open), "\n")
	page, end, err := harness.NewVisitor(w.Front.Authority).SignIn(w.T.Context(), authorize, harness.Olivia, true)
	if err != nil {
		w.T.Fatalf("walk the sign-in: %v", err)
	}
	if code := p.Wait(); code != 0 {
		w.T.Fatalf("login ended with %d: %s", code, p.Stderr)
	}
	w.keep("what login says", []byte(p.Stdout.String()+p.Stderr.String()))
	w.keep("the page a sign-in ends on", []byte(page))
	// The address the browser ends on is where a code belongs; coming back to it must not show it again.
	again, _, err := harness.NewVisitor(w.Front.Authority).Do(w.T.Context(), "GET", end.String(), nil)
	harness.Must(w.T, err)
	w.keep("the page of a sign-in that is over", []byte(again))
	w.Registered()
}

// works sends, receives and saves, with a renewal in between.
func (w *wiretap) works() {
	w.T.Helper()
	lease := sendLease(w.Office)
	w.Service.Tell("POST", "/tokens/expire", nil, nil)
	offer := sendOffer(w.Office)
	w.Service.SignAll(lease.ID)
	w.Service.SignAll(offer.ID)
	w.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	harness.Eventually(w.T, "every event is delivered", w.Service.AllDelivered)
	w.run("status")
	w.run("status", "--json")
	for what, args := range map[string]string{"command line": "cmdline", "environment": "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.Running.Cmd.Process.Pid, args))
		harness.Must(w.T, err)
		w.keep("the program's "+what, b)
	}
}

// goesWrong brings about the errors that have to do with secrets, and keeps how they are told.
func (w *wiretap) goesWrong() {
	w.T.Helper()
	s := w.Service
	forged := event(nil)
	if got := post(w.Office, forged, map[string][]string{"X-Service-Signature": {"bm90IHRoZSByaWdodCBvbmU="}}); got != 401 {
		w.T.Errorf("a forged event was answered %d", got)
	}
	s.Misbehave(map[string]any{"path": "/packages/add", "status": 400, "body": `{"error":"package_invalid","message":"No."}`, "times": 1})
	s.Misbehave(map[string]any{"path": "/connect/token", "lose_answer": true, "times": 1})
	s.Tell("POST", "/tokens/expire", nil, nil)
	if r := w.run("send", harness.Sample(w.T, "Offer 2026-118"), "--name", "Blocked", "--to", ana); r.Code != 1 {
		w.T.Errorf("a refused package: %+v", r)
	}
	s.Tell("POST", "/tokens/revoke", map[string]any{}, nil)
	s.Tell("POST", "/tokens/expire", nil, nil)
	p := w.Begin("send", harness.Sample(w.T, "Offer 2026-118"), "--name", "Signed out", "--to", ana)
	w.Until("the end of the sign-in is told", func(s harness.Status) bool { return !s.SignedIn })
	p.Stop()
	w.keep("what an interrupted send says", []byte(p.Stdout.String()+p.Stderr.String()))
	w.run("status", "--json")
	w.MustLogin()
	w.Registered()
	// The draft goes out now. What the service reports of it has to be kept before nobody listens any more.
	w.Until("what waited has been sent", func(s harness.Status) bool { return s.Outbox.Pending+s.Outbox.Unknown == 0 })
	harness.Eventually(w.T, "every event is delivered", w.Service.AllDelivered)
	w.run("logout")
	w.MustLogin()
	w.Registered()
}

// dies has the program write down all its goroutines, as after a crash.
func (w *wiretap) dies() {
	w.T.Helper()
	w.Running.Quit()
	dump := w.Running.Stderr.String()
	if !strings.Contains(dump, "goroutine ") {
		w.T.Errorf("there is no dump: %.200s", dump)
	}
	w.keep("a crash's output", []byte(dump))
	w.Serve()
	if log, err := os.ReadFile(locations.Log(w.Data)); err != nil || !strings.Contains(string(log), "a fault ended the program") || !strings.Contains(string(log), "goroutine ") {
		w.T.Errorf("the log does not have what the crash left: %v", err)
	}
	w.run("status", "--json")
	w.Stop()
	w.keep("what serve says", []byte(w.Running.Stdout.String()+w.Running.Stderr.String()))
}

// isSilent looks for every secret in everything.
func (w *wiretap) isSilent() {
	w.T.Helper()
	for _, n := range w.Desk.Notes.List() {
		w.keep("a notification", []byte(n.Title+"\n"+n.Body+"\n"))
	}
	for where, dir := range map[string]string{"the data folder": w.Data, "the home folder": w.Desk.Home} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			w.keep(where+"'s "+e.Name(), b)
			return err
		})
		harness.Must(w.T, err)
	}
	secrets := w.spy.Secrets()
	found := map[string]bool{}
	for _, what := range secrets {
		found[what] = true
	}
	for _, what := range []string{"client secret", "authtoken", "access token", "refresh token", "id_token", "code", "verifier", "endpoint secret"} {
		if !found[what] {
			w.T.Errorf("no %s has passed, so looking for it proves nothing", what)
		}
	}
	for where, b := range w.seen {
		for secret, what := range secrets {
			if harness.Holds(b, secret) {
				w.T.Errorf("the %s is in %s", what, where)
			}
		}
	}
	w.keepsBodies()
}

// keepsBodies checks that what the service reports stays in the state, which is what it was reported for: it keeps
// events until they are understood. Finding it there shows that the search works.
func (w *wiretap) keepsBodies() {
	w.T.Helper()
	var all []struct{ Body string }
	w.Service.Tell("GET", "/events", nil, &all)
	for _, e := range all {
		var fields map[string]any
		harness.Must(w.T, json.Unmarshal([]byte(e.Body), &fields))
		for where, b := range w.seen {
			if in := harness.Holds(b, e.Body); in != (where == "the data folder's state.db") {
				w.T.Errorf("the body of %v is in %s: %t", fields["action"], where, in)
			}
		}
	}
}
