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
	desk := newDesktop(t)
	f, address := newFront(t), freeAddress(t)
	x := newSpy(t, address)
	s := startService(t, desk.env(), serviceOptions{
		secret: "canary-client-secret-93417", redirects: []string{f.url + "/oauth/callback"},
		flags: []string{"--trust", f.authority.file, "--listen", address, "--address", x.url},
	})
	o := newOffice(t, desk, s, f)
	const ngrokToken = "canary-authtoken-60252"
	x.note("client secret", s.secret)
	x.note("authtoken", ngrokToken)
	o.global = append(o.global, "--debug")
	o.secrets = append(o.secrets, "NGROK_AUTHTOKEN="+ngrokToken)
	o.setup()
	o.more = []string{"GOTRACEBACK=all"}
	o.serve()
	o.more = nil

	w := &wiretap{office: o, spy: x, seen: map[string][]byte{}}
	w.signsIn()
	w.works()
	w.goesWrong()
	w.dies()
	w.isSilent()
}

// wiretap collects all that the program of an office gives away.
type wiretap struct {
	*office
	spy  *spy
	seen map[string][]byte // by where
}

func (w *wiretap) keep(where string, b []byte) { w.seen[where] = append(w.seen[where], b...) }

// run runs a command and keeps what it says.
func (w *wiretap) run(command string, args ...string) result {
	w.t.Helper()
	r := w.command(command, args...)
	w.keep("what "+command+" says", []byte(r.stdout+r.stderr))
	return r
}

// signsIn signs in with the secrets in the environment, as README.md has people export them, and the browser that the
// command opens must not inherit.
func (w *wiretap) signsIn() {
	w.t.Helper()
	bin := shortDir(w.t)
	given := filepath.Join(bin, "given")
	script := strings.ReplaceAll(opener, "FILE", given)
	for _, name := range []string{"xdg-open", "gio", "sensible-browser"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	w.more = append(slices.Clone(w.secrets), "PATH="+bin+":"+os.Getenv("PATH"))
	p := w.begin("login")
	w.more = nil
	var open []byte
	eventually(w.t, "the browser is opened", func() bool {
		var err error
		open, err = os.ReadFile(given)
		return err == nil
	})
	w.keep("what the browser was given", open)
	authorize, _, _ := strings.Cut(string(open), "\n")
	page, end, err := newVisitor(w.front.authority).signIn(w.t.Context(), authorize, olivia, true)
	if err != nil {
		w.t.Fatalf("walk the sign-in: %v", err)
	}
	if code := p.wait(); code != 0 {
		w.t.Fatalf("login ended with %d: %s", code, p.stderr)
	}
	w.keep("what login says", []byte(p.stdout.String()+p.stderr.String()))
	w.keep("the page a sign-in ends on", []byte(page))
	// The address the browser ends on is where a code belongs; coming back to it must not show it again.
	again, _, err := newVisitor(w.front.authority).do(w.t.Context(), "GET", end.String(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keep("the page of a sign-in that is over", []byte(again))
	w.registered()
}

// works sends, receives and saves, with a renewal in between.
func (w *wiretap) works() {
	w.t.Helper()
	lease := w.sendLease()
	w.service.tell("POST", "/tokens/expire", nil, nil)
	offer := w.sendOffer()
	w.service.signAll(lease.ID)
	w.service.signAll(offer.ID)
	w.until("both packages are saved", func(s status) bool { return s.Packages.Saved == 2 })
	eventually(w.t, "every event is delivered", w.service.allDelivered)
	w.run("status")
	w.run("status", "--json")
	for what, args := range map[string]string{"command line": "cmdline", "environment": "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.running.cmd.Process.Pid, args))
		if err != nil {
			w.t.Fatal(err)
		}
		w.keep("the program's "+what, b)
	}
}

// goesWrong brings about the errors that have to do with secrets, and keeps how they are told.
func (w *wiretap) goesWrong() {
	w.t.Helper()
	s := w.service
	forged := event(nil)
	if got := w.post(forged, map[string][]string{"X-Service-Signature": {"bm90IHRoZSByaWdodCBvbmU="}}); got != 401 {
		w.t.Errorf("a forged event was answered %d", got)
	}
	s.misbehave(map[string]any{"path": "/packages/add", "status": 400, "body": `{"error":"package_invalid","message":"No."}`, "times": 1})
	s.misbehave(map[string]any{"path": "/connect/token", "lose_answer": true, "times": 1})
	s.tell("POST", "/tokens/expire", nil, nil)
	if r := w.run("send", sample(w.t, "Offer 2026-118"), "--name", "Blocked", "--to", ana); r.code != 1 {
		w.t.Errorf("a refused package: %+v", r)
	}
	s.tell("POST", "/tokens/revoke", map[string]any{}, nil)
	s.tell("POST", "/tokens/expire", nil, nil)
	p := w.begin("send", sample(w.t, "Offer 2026-118"), "--name", "Signed out", "--to", ana)
	w.until("the end of the sign-in is told", func(s status) bool { return !s.SignedIn })
	p.stop()
	w.keep("what an interrupted send says", []byte(p.stdout.String()+p.stderr.String()))
	w.run("status", "--json")
	w.mustLogin()
	w.registered()
	// The draft goes out now. What the service reports of it has to be kept before nobody listens any more.
	w.until("what waited has been sent", func(s status) bool { return s.Outbox.Pending+s.Outbox.Unknown == 0 })
	eventually(w.t, "every event is delivered", w.service.allDelivered)
	w.run("logout")
	w.mustLogin()
	w.registered()
}

// dies has the program write down all its goroutines, as after a crash.
func (w *wiretap) dies() {
	w.t.Helper()
	w.running.quit()
	dump := w.running.stderr.String()
	if !strings.Contains(dump, "goroutine ") {
		w.t.Errorf("there is no dump: %.200s", dump)
	}
	w.keep("a crash's output", []byte(dump))
	w.serve()
	w.run("status", "--json")
	w.stop()
	w.keep("what serve says", []byte(w.running.stdout.String()+w.running.stderr.String()))
}

// isSilent looks for every secret in everything.
func (w *wiretap) isSilent() {
	w.t.Helper()
	for _, n := range w.desk.notes.list() {
		w.keep("a notification", []byte(n.Title+"\n"+n.Body+"\n"))
	}
	for where, dir := range map[string]string{"the data folder": w.data, "the home folder": w.desk.home} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			w.keep(where+"'s "+e.Name(), b)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	secrets := w.spy.secrets()
	found := map[string]bool{}
	for _, what := range secrets {
		found[what] = true
	}
	for _, what := range []string{"client secret", "authtoken", "access token", "refresh token", "id_token", "code", "verifier", "endpoint secret"} {
		if !found[what] {
			w.t.Errorf("no %s has passed, so looking for it proves nothing", what)
		}
	}
	for where, b := range w.seen {
		for secret, what := range secrets {
			if holds(b, secret) {
				w.t.Errorf("the %s is in %s", what, where)
			}
		}
	}
	w.keepsBodies()
}

// keepsBodies checks that what the service reports stays in the state, which is what it was reported for: it keeps
// events until they are understood. Finding it there shows that the search works.
func (w *wiretap) keepsBodies() {
	w.t.Helper()
	var all []struct{ Body string }
	w.service.tell("GET", "/events", nil, &all)
	for _, e := range all {
		var fields map[string]any
		if err := json.Unmarshal([]byte(e.Body), &fields); err != nil {
			w.t.Fatal(err)
		}
		for where, b := range w.seen {
			if in := holds(b, e.Body); in != (where == "the data folder's state.db") {
				w.t.Errorf("the body of %v is in %s: %t", fields["action"], where, in)
			}
		}
	}
}
