//go:build linux

package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"

	"countersign/internal/e2e/harness"
	"countersign/internal/locations"
)

// besiegedMemory is how much additional memory the program may use while strangers attack it, in KiB.
const besiegedMemory = 48 << 10

// idleConnections is the maximum number of additional connections that the program itself keeps after work: to the service,
// and to the desktop. They close by themselves, and have two goroutines each. A leak caused by the siege would leave
// hundreds.
const idleConnections = 12

// TestStrangersCostLittleAndKeepNobodyOut attacks the listener in all ways at once while a package is being signed.
func TestStrangersCostLittleAndKeepNobodyOut(t *testing.T) {
	o := harness.UsualOffice(t, harness.NewDesktop(t)) // not parallel with other tests: it measures
	o.More = []string{"GOTRACEBACK=all"}
	o.Ready()
	works(o, false)
	quiet := o.Running.Goroutines()
	o.Serve()
	o.Registered()
	o.Until("everything is at rest", func(s harness.Status) bool { return s.Events.Pending == 0 && s.Saves.Pending == 0 })
	before := o.Running.Costs()

	s := harness.Besiege(t, o)
	everyWay(s)
	most := before
	watch := make(chan struct{})
	s.All.Go(func() {
		defer close(watch)
		for look := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-look.C:
				c := o.Running.Costs()
				most.Memory, most.Files = max(most.Memory, c.Memory), max(most.Files, c.Files)
			case <-s.Ctx.Done():
				look.Stop()
				return
			}
		}
	})
	began := time.Now()
	received := o.Status().Events.Received
	p := siegeLease(o)
	o.Until("the signatures are reported through the crowd", func(st harness.Status) bool { return st.Events.Received > received })
	harness.Eventually(t, "every event gets through", o.Service.AllDelivered)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == s.Packages.Total })
	through := time.Since(began)
	<-time.After(max(0, 10*time.Second-through)) // the siege lasts long enough to reach every time limit
	s.End()
	<-watch
	savedAsServed(o, p...)

	if most.Memory-before.Memory > besiegedMemory {
		t.Errorf("the siege took %d KiB of memory more, %d in all", most.Memory-before.Memory, most.Memory)
	}
	var after harness.Costs
	harness.Eventually(t, "no connection is left", func() bool {
		after = o.Running.Costs()
		return harness.ConnectionsAt(t, o.Front.Inside) == 0
	})
	left := o.Running.Goroutines()
	if after.Files > before.Files+idleConnections || left > quiet+2*idleConnections {
		t.Errorf("after the siege there are %d goroutines and %d open files, without one %d and %d", left, after.Files, quiet, before.Files)
	}
	t.Logf("%d connections and requests; legitimate work took %v; memory %d -> %d -> %d KiB, open files %d -> %d -> %d, goroutines %d and %d",
		s.Made.Load(), through.Round(time.Millisecond), before.Memory, most.Memory, after.Memory, before.Files, most.Files, after.Files, quiet, left)
}

// everyWay starts all kinds of attacks.
func everyWay(s *harness.Siege) {
	wellFormed := base64.StdEncoding.EncodeToString(make([]byte, 32))
	signed := http.Header{"X-Service-Signature": {wellFormed}}
	flood := http.Header{"X-Service-Signature": {wellFormed}}
	for i := range 2000 {
		flood.Set(fmt.Sprintf("X-Flood-%d", i), strings.Repeat("a", 1000))
	}
	begun := "POST /webhook HTTP/1.1\r\nHost: " + s.Host + "\r\nX-Service-Signature: " + wellFormed + "\r\n"
	big := func() io.Reader { return io.LimitReader(harness.Zeros{}, 200<<20) }

	s.Crowd(2000, time.Second, func(int) { s.Dawdle("") })
	s.Crowd(100, time.Second, func(int) { s.Dawdle("POST /webhook HTTP/1.1\r\nHost: ") })
	s.Crowd(50, time.Second, func(int) { s.Drip() })
	s.Crowd(150, time.Second, func(int) { s.Dawdle(begun + "Content-Length: 1000\r\n\r\n{") })
	s.Crowd(20, time.Second, func(int) { s.Dawdle(begun + "Content-Length: 900000\r\n\r\n" + strings.Repeat("a", 100<<10)) })
	s.Crowd(4, 500*time.Millisecond, func(int) { s.Ask("POST", "/webhook", nil, big(), 200<<20) })
	s.Crowd(4, 500*time.Millisecond, func(int) { s.Ask("POST", "/webhook", signed, big(), 200<<20) })
	s.Crowd(4, 500*time.Millisecond, func(int) { s.Ask("POST", "/webhook", signed, big(), -1) })
	s.Crowd(4, 500*time.Millisecond, func(int) { s.Ask("POST", "/oauth/callback", nil, big(), -1) })
	s.Crowd(4, 200*time.Millisecond, func(int) { s.Ask("POST", "/webhook", flood, strings.NewReader("{}"), 2) })
	methods := []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"}
	s.Crowd(len(methods), 200*time.Millisecond, func(n int) { s.Ask(methods[n], "/webhook", nil, nil, 0) })
	paths := []string{
		"/", "/webhook/", "/WEBHOOK", "//webhook", "/webhook%2f", "/../webhook", "/status", "/send", "/debug/pprof/", "/oauth/callback/x",
		"/webhook?" + strings.Repeat("a", 8000), "/oauth/callback?code=a&state=b", "/oauth/callback?error=access_denied",
	}
	s.Crowd(len(paths), 200*time.Millisecond, func(n int) { s.Ask("POST", paths[n], signed, strings.NewReader("{}"), 2) })
	s.Crowd(len(paths), 200*time.Millisecond, func(n int) { s.Ask("GET", paths[n], nil, nil, 0) })
	garbage := []string{"\x00\x01\x02\x03", "GET\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "POST /webhook HTTP/9.9\r\n\r\n",
		begun + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", begun + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		begun + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", begun + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n"}
	s.Crowd(len(garbage), 200*time.Millisecond, func(n int) { s.Dawdle(garbage[n]) })
}

// siegeLease sends a package, lets everybody sign, and returns all packages.
func siegeLease(o *harness.Office) []harness.Pack {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", "Besieged", "--to", ana, "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("Besieged").ID)
	return o.Service.Packages()
}

// TestSignedNonsenseIsKeptAndHurtsNobody posts authentic bodies that are as odd as events and JSON can be, after some that
// are not authentic.
func TestSignedNonsenseIsKeptAndHurtsNobody(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	wire := harness.NewSpy(t, strings.TrimPrefix(o.Service.URL, "http://"))
	o.Ready("--base-url", wire.URL)
	key := wire.Registered()
	id := func(n int) string { return fmt.Sprintf(`"eventId":"00000000-0000-4000-8000-%012d"`, n) }
	bodies := []string{
		"{", "}", "nul", "null", "[]", `""`, "7", "{}{}", "\ufeff{}", "\x00", "{\x00}", `{"action":}`, `{"action":"package_executed",}`, "{'action':'x'}",
		strings.Repeat("[", 1<<20-1), strings.Repeat(`{"a":`, 200000), strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		`{"a":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + `,` + id(1) + `}`,
		`{"action":"package_executed","action":"document_signed",` + id(2) + `,` + id(3) + `,"packageId":"a","packageId":"b"}`,
		`{"ACTION":"package_executed","Action":"x","action":"package_executed",` + id(4) + `}`,
		"{\"action\":\"\xff\xfe\xfd\"," + id(5) + ",\"packageId\":\"\xc3\x28\"}",
		`{"action":"\ud800\udfff\ud800",` + id(6) + `}`,
		`{"action":7,"packageId":{},"eventId":[],"eventTime":true}`,
		`{"action":"package_executed","packageId":"../../etc/passwd",` + id(7) + `}`,
		`{"action":"package_executed","packageId":"` + strings.Repeat("a", 900000) + `",` + id(8) + `}`,
		`{"action":"` + strings.Repeat("x", 500000) + `","packageId":"p",` + id(9) + `}`,
		`{"eventId":"` + strings.Repeat("e", 100000) + `","action":"package_executed"}`,
		`{"eventId":"a\nb\u0000","action":"package_executed","packageId":"\u202e"}`,
		`{"action":"package_executed","eventTime":"9999999999-13-45T99:99:99Z",` + id(10) + `}`,
		`{"action":"package_executed","n":1e999999999,` + id(11) + `}`,
		`{"externalData":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat("}", 5000) + `,"action":"package_executed","packageId":"x",` + id(12) + `}`,
		`{"` + strings.Repeat(`a":1,"`, 100000) + `b":1,` + id(13) + `}`,
	}
	for _, fields := range []map[string]any{{"action": "package_teleported"}, {"shoeSize": 44}, {"eventTime": nil}, {"packageId": nil}} {
		bodies = append(bodies, string(event(fields)))
	}
	forged := event(nil)
	forgeries := map[string][]byte{
		"the body alone": sign("", key.Secret, forged), "another address": sign(key.URL+"/", key.Secret, forged),
		"another secret": sign(key.URL, "not "+key.Secret, forged), "another event": sign(key.URL, key.Secret, event(nil)),
	}
	for over, mac := range forgeries {
		if got := post(o, forged, http.Header{"X-Service-Signature": {base64.StdEncoding.EncodeToString(mac)}}); got != http.StatusUnauthorized {
			t.Errorf("with the signature of %s an event was answered %d", over, got)
		}
	}
	before := o.Running.Costs()
	for _, b := range append(bodies, bodies[len(bodies)-1]) { // one is sent twice
		if got := post(o, []byte(b), http.Header{"X-Service-Signature": {signature(key, []byte(b))}}); got != http.StatusOK {
			t.Errorf("%.60q was answered %d", b, got)
		}
	}
	harness.Suffered.Add(harness.Hostile, len(bodies))
	st := o.Until("all of it is stored and dealt with", func(s harness.Status) bool { return s.Events.Received == len(bodies) && s.Events.Pending == 0 })
	if st.Events.Problems == 0 || st.Events.Rejected != len(forgeries) || st.Events.Duplicates != 1 {
		t.Errorf("afterwards: %+v", st.Events)
	}
	sendOffer(o)
	o.Service.SignAll(o.Service.Named("Offer").ID)
	o.Until("a true package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	after := o.Running.Costs()
	if after.Memory-before.Memory > besiegedMemory {
		t.Errorf("nonsense took %d KiB", after.Memory-before.Memory)
	}
	offer := o.Service.Named("Offer")
	toldOnce(o, false, offer)
	o.Stop()
	toldOnce(o, false, offer) // the end announces nothing either
	for _, n := range o.Desk.Notes.List() {
		if !strings.Contains(n.Title, quoted(offer.Name)) {
			t.Errorf("told of something else than the one true package: %q", n)
		}
	}
	o.Serve()
	o.Until("it is all there after a restart", func(s harness.Status) bool { return s.Events.Received >= len(bodies) && s.SignedIn })
}

// sign is the tests' own implementation of interface.md, webhook authentication 3.
func sign(address, secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(address))
	mac.Write(body)
	return mac.Sum(nil)
}

func signature(r harness.Registration, body []byte) string {
	return base64.StdEncoding.EncodeToString(sign(r.URL, r.Secret, body))
}

// event is a plausible event with its own id.
func event(change map[string]any) []byte {
	fields := map[string]any{
		"action": "package_executed", "packageId": uuid.NewString(), "externalData": nil, "eventId": uuid.NewString(),
		"eventOwnerOrganizationId": uuid.NewString(), "eventOwnerMemberId": uuid.NewString(),
		"eventTime": time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z"),
	}
	maps.Copy(fields, change)
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // all values are plain
	}
	return b
}

// post sends a webhook request to the program's listener, as the proxy in front of it would.
func post(o *harness.Office, body []byte, header http.Header) int {
	o.T.Helper()
	u, err := url.Parse(o.Front.URL)
	harness.Must(o.T, err)
	req, err := http.NewRequestWithContext(o.T.Context(), http.MethodPost, "http://"+o.Front.Inside+"/webhook", bytes.NewReader(body))
	harness.Must(o.T, err)
	req.Host, req.Header = u.Host, header
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil && len(body) > 1<<20 {
		return http.StatusRequestEntityTooLarge // the connection was closed before everything was sent, and the answer lost with it
	}
	if err != nil {
		o.T.Fatalf("post a webhook request: %v", err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// isHarmless checks everything that was shown and saved.
func isHarmless(o *harness.Office) {
	o.T.Helper()
	for _, note := range o.Desk.Notes.List() {
		harmless(o.T, "a notification's title", note.Title, 100)
		harmless(o.T, "a notification's body", note.Body, 2000)
		if strings.ContainsAny(note.Body, "<>") || loneAmpersand.MatchString(note.Body) {
			o.T.Errorf("a notification's body has markup in it: %q", note.Body)
		}
	}
	for _, name := range o.Files() {
		for part := range strings.SplitSeq(name, string(filepath.Separator)) {
			harmlessFileName(o.T, part)
		}
	}
	if names, err := harness.ReadNames(filepath.Dir(o.Folder)); err != nil || len(names) != 2 {
		o.T.Errorf("beside the data and the documents there is something: %q, %v", names, err)
	}
}

var loneAmpersand = regexp.MustCompile(`&($|[^agl#q]|a[^mp]|g[^t]|l[^t])`)

// harmless checks that a text is one line of at most that many characters, all of them merely visible.
func harmless(t testing.TB, what, text string, most int) {
	t.Helper()
	if n := len([]rune(text)); n > most {
		t.Errorf("%s is %d characters long: %.60q", what, n, text)
	}
	for _, r := range text {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("%s holds %U: %.80q", what, r, text)
			return
		}
	}
}

// reserved are names that Windows keeps for devices.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)`)

func harmlessFileName(t testing.TB, name string) {
	t.Helper()
	harmless(t, "a file's name", name, 255)
	if len(name) > 255 || strings.ContainsAny(name, `<>:"/\|?*`) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") ||
		strings.HasSuffix(name, " ") || strings.HasPrefix(name, " ") || reserved.MatchString(name) {
		t.Errorf("a file is called %q", name)
	}
}

// opener stands in for the program that opens the browser, and records its input.
const opener = `#!/bin/sh
{ echo "$@"; cat /proc/$$/environ /proc/$$/cmdline; } > FILE.part
mv FILE.part FILE
`

// TestSecretsAreNowhere does everything that involves secrets, with --debug, and then looks for each of them in everything
// the program has written, shown or passed on.
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

// wiretap collects everything that an office's program emits.
type wiretap struct {
	*harness.Office
	spy  *harness.Spy
	seen map[string][]byte // by source
}

func (w *wiretap) keep(where string, b []byte) { w.seen[where] = append(w.seen[where], b...) }

// run runs a command and records its output.
func (w *wiretap) run(command string, args ...string) harness.Result {
	w.T.Helper()
	r := w.Command(command, args...)
	w.keep("what "+command+" says", []byte(r.Stdout+r.Stderr))
	return r
}

// signsIn signs in with the secrets in environment variables, as README.md tells people to do; the browser that the command
// opens must not inherit them.
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
	// The address on which the browser ends contains the code; opening it again must not show the code.
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

// goesWrong causes the errors that involve secrets, and records how they are reported.
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
	// The draft is sent now. The service's events about it must be stored before the program stops listening.
	w.Until("what waited has been sent", func(s harness.Status) bool { return s.Outbox.Pending+s.Outbox.Unknown == 0 })
	harness.Eventually(w.T, "every event is delivered", w.Service.AllDelivered)
	w.run("logout")
	w.MustLogin()
	w.Registered()
}

// dies makes the program write out all its goroutines, as after a crash.
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

// isSilent looks for every secret in everything collected.
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

// keepsBodies checks that the state keeps the events' bodies until they are processed, which is intended. Finding them shows
// that the search works.
func (w *wiretap) keepsBodies() {
	w.T.Helper()
	var all []struct{ Body []byte }
	w.Service.Tell("GET", "/events", nil, &all)
	for _, e := range all {
		var fields map[string]any
		harness.Must(w.T, json.Unmarshal(e.Body, &fields))
		for where, b := range w.seen {
			if in := harness.Holds(b, string(e.Body)); in != (where == "the data folder's state.db") {
				w.T.Errorf("the body of %v is in %s: %t", fields["action"], where, in)
			}
		}
	}
}

// scopedOffice is an office with other scopes, whose program is running.
func scopedOffice(t testing.TB, scope string) *harness.Office {
	t.Helper()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup("--scope", scope)
	o.Serve()
	return o
}

// works sends a package, lets it be signed and expects its files. Without events the program polls at its own pace, and at
// every start.
func works(o *harness.Office, events bool) {
	o.T.Helper()
	p := sendOffer(o)
	o.Service.SignAll(p.ID)
	if !events {
		o.Stop()
		o.Serve()
	}
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, p)
}

func TestWithoutOpenIDEverythingWorks(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile offline_access organization")
	o.MustLogin()
	o.Registered()
	if s := o.Status(); s.Account.Email != harness.Olivia || len(s.Health) != 0 {
		t.Errorf("without openid the account is asked for: %+v", s)
	}
	works(o, true)
	o.Stop()
	o.Serve()
	o.Until("still signed in", func(s harness.Status) bool { return s.SignedIn && s.Tunnel.State == "up" && len(s.Health) == 0 })
}

func TestASignInThatLastsOnlyAsLongAsTheProgramSaysSo(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid organization")
	if r, _ := o.Login(harness.Olivia, true); r.Code != 0 || !o.Status().SignedIn || !strings.Contains(r.Stderr, "only for a short while") {
		t.Errorf("beside the program login ended with %d: %s", r.Code, r.Stderr)
	}
	o.Stop()
	if r, _ := o.Login(harness.Olivia, true); r.Code != 1 || o.Status().SignedIn || !strings.Contains(r.Stderr, "only until this command ends") {
		t.Errorf("without it login ended with %d: %s", r.Code, r.Stderr)
	}
}

func TestAMemberWorksWithoutEvents(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization member")
	r, page := o.Login(harness.Maxim, true)
	if r.Code != 0 || !strings.Contains(page, harness.Maxim) {
		t.Fatalf("login ended with %d: %s", r.Code, r.Stderr)
	}
	s := o.Until("the limit is told", func(s harness.Status) bool { return s.Issue("endpoint") != "" })
	if text := s.Issue("endpoint"); !strings.Contains(text, "administrator") || s.Endpoint.ID != "" {
		t.Errorf("the limit is told as %q, the endpoint is %+v", text, s.Endpoint)
	}
	works(o, false)
}
