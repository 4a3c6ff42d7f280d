//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestManySendsAtOnceAreEachSentOnce sends from many processes at once, where none runs and beside one: each is told the
// truth, and no package is there twice.
func TestManySendsAtOnceAreEachSentOnce(t *testing.T) {
	t.Parallel()
	const each = 8
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()

	// The running program sends for all of them, and renews once for all of them.
	asked := tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "beside", each)
	if n := tokens(o) - asked; n != 1 {
		t.Errorf("beside the program %d tokens were asked for, want one for all", n)
	}
	o.Stop()

	// An access token is never kept, so whichever process sends for itself, or for those that find it, renews once.
	asked = tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "alone", each)
	if n := tokens(o) - asked; n < 1 || n > each {
		t.Errorf("alone %d tokens were asked for by %d processes", n, each)
	}

	// Started together with the program, they find it, wait for it or are waited for.
	asked = tokens(o)
	o.Running = o.Begin("serve")
	sendsAtOnce(o, "starting", each)
	o.Answers()
	st := o.Until("all are known", func(s harness.Status) bool { return s.Packages.Total == 3*each })
	if !st.SignedIn || st.Outbox != (struct{ Pending, Unknown, Failed int }{}) {
		t.Errorf("at the end: %+v", st)
	}
	if n := tokens(o) - asked; n < 1 || n > each+1 {
		t.Errorf("with the program starting %d tokens were asked for by %d processes", n, each+1)
	}
}

// tokens is how often the service was asked for tokens.
func tokens(o *harness.Office) int { return len(o.Service.Requests("/connect/token")) }

func sendsAtOnce(o *harness.Office, how string, n int) {
	o.T.Helper()
	var all []*harness.Process
	for i := range n {
		all = append(all, o.Begin("send", harness.Sample(o.T, "Offer 2026-118"), "--name", fmt.Sprintf("%s %d", how, i), "--to", ana))
	}
	for i, p := range all {
		name := fmt.Sprintf("%s %d", how, i)
		if code := p.Wait(); code != 0 {
			o.T.Errorf("%s ended with %d: %s", name, code, p.Stderr)
			continue
		}
		if id := o.Service.Named(name).ID; strings.TrimSpace(p.Stdout.String()) != "Sent. Package "+id {
			o.T.Errorf("%s says %q, and is %s", name, p.Stdout, id)
		}
	}
	if made := len(o.Service.Packages()); made%n != 0 {
		o.T.Errorf("after %s the service has %d packages", how, made)
	}
}

// TestTwoStartsLeaveOne starts the program many times at once, on a data folder that is new and on one that is not.
func TestTwoStartsLeaveOne(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	for range 3 {
		const starts = 4
		ended := make(chan *harness.Process, starts)
		var all []*harness.Process
		for range starts {
			p := o.Begin("serve")
			all = append(all, p)
			go func() {
				<-p.Ended
				ended <- p
			}()
		}
		for range starts - 1 {
			p := <-ended
			if code := p.Wait(); code != 1 || !strings.Contains(p.Stderr.String(), "already running") {
				t.Errorf("a further start ended with %d: %s", code, p.Stderr)
			}
		}
		for _, p := range all {
			select {
			case <-p.Ended:
			default:
				o.Running = p
			}
		}
		o.Answers()
		o.Setup()
		if st := o.Status(); st.Issue("setup") != "" {
			t.Errorf("the one that is left was not set up: %+v", st.Health)
		}
		o.Stop()
	}
}
