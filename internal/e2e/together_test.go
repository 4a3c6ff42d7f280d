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

	// The running program sends for all of them, and renews once for all of them.
	asked := o.tokens()
	o.service.tell("POST", "/tokens/expire", nil, nil)
	o.sendsAtOnce("beside", each)
	if n := o.tokens() - asked; n != 1 {
		t.Errorf("beside the program %d tokens were asked for, want one for all", n)
	}
	o.stop()

	// An access token is never kept, so whichever process sends for itself, or for those that find it, renews once.
	asked = o.tokens()
	o.service.tell("POST", "/tokens/expire", nil, nil)
	o.sendsAtOnce("alone", each)
	if n := o.tokens() - asked; n < 1 || n > each {
		t.Errorf("alone %d tokens were asked for by %d processes", n, each)
	}

	// Started together with the program, they find it, wait for it or are waited for.
	asked = o.tokens()
	o.running = o.begin("serve")
	o.sendsAtOnce("starting", each)
	o.answers()
	st := o.until("all are known", func(s status) bool { return s.Packages.Total == 3*each })
	if !st.SignedIn || st.Outbox != (struct{ Pending, Unknown, Failed int }{}) {
		t.Errorf("at the end: %+v", st)
	}
	if n := o.tokens() - asked; n < 1 || n > each+1 {
		t.Errorf("with the program starting %d tokens were asked for by %d processes", n, each+1)
	}
}

// tokens is how often the service was asked for tokens.
func (o *office) tokens() int { return len(o.service.requests("/connect/token")) }

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
