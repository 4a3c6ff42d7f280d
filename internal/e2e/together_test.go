//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestManySendsAtOnceAreEachSentOnce sends from many processes at once, where none runs and beside one: each is told the
// truth, and no package is there twice.
func TestManySendsAtOnceAreEachSentOnce(t *testing.T) {
	t.Parallel()
	const each = 8
	o := usualOffice(t, newDesktop(t))
	o.setup()
	o.serve()
	o.mustLogin()
	o.registered()
	o.service.tell("POST", "/tokens/expire", nil, nil)
	o.sendsAtOnce("beside", each)
	o.stop()
	o.service.tell("POST", "/tokens/expire", nil, nil)
	o.sendsAtOnce("alone", each)

	// Started together with the program, they find it, wait for it or are waited for.
	o.running = o.begin("serve")
	o.sendsAtOnce("starting", each)
	o.answers()
	st := o.until("all are known", func(s status) bool { return s.Packages.Total == 3*each })
	if !st.SignedIn || st.Outbox != (struct{ Pending, Unknown, Failed int }{}) {
		t.Errorf("at the end: %+v", st)
	}
	// Each process and each expiry renews once: the sign-in, one beside, one for each process alone, and the last start.
	if n := len(o.service.requests("/connect/token")); n > 1+1+each+1+each {
		t.Errorf("%d tokens were asked for", n)
	}
}

func (o *office) sendsAtOnce(how string, n int) {
	o.t.Helper()
	var all []*process
	for i := range n {
		all = append(all, o.begin("send", sample(o.t, "Offer 2026-118"), "--name", fmt.Sprintf("%s %d", how, i), "--to", ana))
	}
	for i, p := range all {
		name := fmt.Sprintf("%s %d", how, i)
		if code := p.wait(); code != 0 {
			o.t.Errorf("%s ended with %d: %s", name, code, p.stderr)
			continue
		}
		if id := o.service.named(name).ID; strings.TrimSpace(p.stdout.String()) != "Sent. Package "+id {
			o.t.Errorf("%s says %q, and is %s", name, p.stdout, id)
		}
	}
	if made := len(o.service.packages()); made%n != 0 {
		o.t.Errorf("after %s the service has %d packages", how, made)
	}
}

// TestTwoStartsLeaveOne starts the program many times at once, on a data folder that is new and on one that is not.
func TestTwoStartsLeaveOne(t *testing.T) {
	t.Parallel()
	o := usualOffice(t, newDesktop(t))
	for range 3 {
		const starts = 4
		ended := make(chan *process, starts)
		var all []*process
		for range starts {
			p := o.begin("serve")
			all = append(all, p)
			go func() {
				<-p.ended
				ended <- p
			}()
		}
		for range starts - 1 {
			p := <-ended
			if code := p.wait(); code != 1 || !strings.Contains(p.stderr.String(), "already running") {
				t.Errorf("a further start ended with %d: %s", code, p.stderr)
			}
		}
		for _, p := range all {
			select {
			case <-p.ended:
			default:
				o.running = p
			}
		}
		o.answers()
		o.setup()
		if st := o.status(); st.issue("setup") != "" {
			t.Errorf("the one that is left was not set up: %+v", st.Health)
		}
		o.stop()
	}
}
