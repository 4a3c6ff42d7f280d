package agent

import (
	"context"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
	"countersign/internal/tunnel/ngroktest"
)

func TestTheEndTakesLessThanFiveSecondsWhateverHangs(t *testing.T) {
	hang := func(path string) func(o *testOffice) {
		return func(o *testOffice) { o.service.Inject(sandbox.Fault{Path: path, DelayMS: 60_000}) }
	}
	struck := func(o *testOffice) bool { return o.service.Faults()[0].Applied > 0 }
	tests := map[string]struct {
		before func(o *testOffice)
		begin  func(o *testOffice, id string)
	}{
		"renewal": {hang("/connect/token"), func(o *testOffice, id string) {
			noErr(o.t, o.service.ExpireAccessTokens())
			o.packages.Sweep("test")
		}},
		"status":   {hang("/packages/*/status"), func(o *testOffice, id string) { o.packages.Sweep("test") }},
		"list":     {hang("/packages/list"), func(o *testOffice, id string) { o.packages.Sweep("test") }},
		"download": {hang("/packages/*/download"), signAll},
		"endpoint": {hang("/events/endpoints/set"), func(o *testOffice, id string) {
			noErr(o.t, o.Data.Update(func(tx *store.Tx) error { return tx.PutDoc("endpoint-asking", "asked") }))
			o.webhook.Wake()
		}},
		"upload": {hang("/files/upload"), func(o *testOffice, id string) { o.sendLater() }},
		"add":    {hang("/packages/add"), func(o *testOffice, id string) { o.sendLater() }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, sandbox.Options{})
			id := o.send()
			test.before(o)
			test.begin(o, id)
			o.eventually("it hangs", func() bool { return struck(o) })
			o.endsSoon()
		})
	}
}

// sendLater begins to send and does not wait.
func (o *testOffice) sendLater() {
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	sending.Go(func() { o.Send(ctx, o.draft(), nil) })
	o.t.Cleanup(func() {
		cancel()
		sending.Wait()
	})
}

func TestTheEndDoesNotWaitForADesktopThatHangs(t *testing.T) {
	release := make(chan struct{})
	hangs := make(chan struct{}, 1)
	o := newOfficeWith(t, func(p *Params) {
		quick(p)
		p.Notify = func(office.Notice) error {
			select {
			case hangs <- struct{}{}:
			default:
			}
			<-release
			return nil
		}
	}, sandbox.Options{})
	defer close(release)
	o.stop()
	o.open()
	o.run()
	o.announcer.Announce(office.Fact{Title: message.Signed("One", "Lease")})
	<-hangs
	o.announcer.Announce(office.Fact{Title: message.Signed("Two", "Lease")})
	o.endsSoon()
}

func TestTheEndDoesNotWaitForATunnelThatDialsAgain(t *testing.T) {
	e, err := ngroktest.Start(ngroktest.Options{})
	noErr(t, err)
	t.Cleanup(func() { e.Close() })
	ca := filepath.Join(t.TempDir(), "ca.pem")
	noErr(t, os.WriteFile(ca, e.Authority().PEM(), 0o600))
	if block, _ := pem.Decode(e.Authority().PEM()); block == nil {
		t.Fatal("no certificate")
	}
	o := newOffice(t, sandbox.Options{})
	s := o.Settings()
	s.Tunnel, s.NgrokDomain, s.NgrokConnectURL, s.NgrokCA = office.TunnelNgrok, "office.ngrok.test", e.ConnectAddr(), ca
	noErr(t, o.Configure(t.Context(), s, office.Secrets{NgrokAuthtoken: "2abcTOKEN"}))
	o.eventually("the address is open", func() bool {
		st := o.Status().Tunnel
		return st.State == "up" && st.URL == "https://office.ngrok.test"
	})
	noErr(t, e.Refuse())
	e.KillSessions()
	o.eventually("it dials again", func() bool { return o.Status().Tunnel.State == "down" })
	o.endsSoon()
}

func TestWhatIsCommittedAsToldIsToldBeforeTheEnd(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	o.stop()
	o.open()
	var running sync.WaitGroup
	a := o.Agent
	running.Go(func() { a.Run(ctx) })
	o.stop = func() { cancel(); running.Wait(); a.Close() }
	for range 3 { // the third is held back by the pause for more
		o.announcer.Announce(office.Fact{Title: message.Signed("Told", "Lease"), CaughtUp: true})
	}
	cancel()
	running.Wait()
	if n := o.count("Told"); n != 3 {
		t.Errorf("told %d times: %q", n, o.notifications())
	}
}

func TestACleanStopInTheMiddleOfEverythingIsContinued(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.service.PadDownloads(4 << 20)
	var ids []string
	for range 6 {
		ids = append(ids, o.send())
	}
	for i, id := range ids {
		signAll(o, id)
		if i%2 == 1 {
			o.restart()
		}
	}
	for range 3 {
		o.restart()
	}
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == len(ids) })
	o.eventually("events are handled", func() bool { return o.Status().Events.Pending == 0 })
	if got := o.files(); len(got) != len(ids) {
		t.Errorf("files: %q", got)
	}
	if n := len(o.service.Packages()); n != len(ids) {
		t.Errorf("%d packages", n)
	}
}
