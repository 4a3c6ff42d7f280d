//go:build linux

package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// besiegedMemory is how much more memory the program may take while strangers do what they can, in KiB.
const besiegedMemory = 48 << 10

// idleConnections are at most how many more the program itself keeps after work: to the service, and to the desktop. They
// end by themselves, and have two goroutines each. A siege that left its own behind would leave hundreds.
const idleConnections = 12

// TestStrangersCostLittleAndKeepNobodyOut besieges the listener in every way at once while a package is signed.
func TestStrangersCostLittleAndKeepNobodyOut(t *testing.T) {
	o := harness.UsualOffice(t, harness.NewDesktop(t)) // not beside other tests: it measures
	o.More = []string{"GOTRACEBACK=all"}
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()
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
	<-time.After(max(0, 10*time.Second-through)) // the siege goes on long enough to run into every time limit
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

// everyWay lets in everybody who means ill.
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

// siegeLease sends a package, lets everybody sign, and returns all there are.
func siegeLease(o *harness.Office) []harness.Pack {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", "Besieged", "--to", ana, "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("Besieged").ID)
	return o.Service.Packages()
}

// TestSignedNonsenseIsKeptAndHurtsNobody posts bodies that are authentic and as odd as JSON can be.
func TestSignedNonsenseIsKeptAndHurtsNobody(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	wire := newTap(t, o.Service)
	o.Setup("--base-url", wire.url)
	o.Serve()
	o.MustLogin()
	o.Registered()
	key := wire.registration()
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
	before := o.Running.Costs()
	for _, b := range bodies {
		if got := post(o, []byte(b), http.Header{"X-Service-Signature": {signature(key, []byte(b))}}); got != http.StatusOK {
			t.Errorf("%.60q was answered %d", b, got)
		}
	}
	harness.Suffered.Add(harness.Hostile, len(bodies))
	st := o.Until("all of it is stored and dealt with", func(s harness.Status) bool { return s.Events.Received == len(bodies) && s.Events.Pending == 0 })
	if st.Events.Problems == 0 || st.Events.Rejected != 0 {
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
	toldOnce(o, false, offer) // nor does the end tell of anything
	for _, n := range o.Desk.Notes.List() {
		if !strings.Contains(n.Title, quoted(offer.Name)) {
			t.Errorf("told of something else than the one true package: %q", n)
		}
	}
	o.Serve()
	o.Until("it is all there after a restart", func(s harness.Status) bool { return s.Events.Received >= len(bodies) && s.SignedIn })
}

// TestStrangersWhoDawdleKeepNobodyOut has strangers begin bodies that they never send, again as soon as they lose their
// place, and nothing else that would have them thrown out.
func TestStrangersWhoDawdleKeepNobodyOut(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()
	s := harness.Besiege(t, o)
	defer s.End()
	begun := "POST /webhook HTTP/1.1\r\nHost: " + s.Host + "\r\nX-Service-Signature: " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\r\n"
	s.Crowd(150, time.Millisecond, func(int) { s.Dawdle(begun + "Content-Length: 1000\r\n\r\n{") })
	harness.Eventually(t, "the strangers are there", func() bool { return harness.ConnectionsAt(t, o.Front.Inside) > 100 })
	siegeLease(o)
	harness.Eventually(t, "every event gets through", o.Service.AllDelivered)
	o.Until("every event is stored", func(s harness.Status) bool {
		return s.Events.Received == len(o.Service.Events()) && s.Events.Pending == 0
	})
}
