package agent

import (
	"context"
	"sync"
	"testing"

	"countersign/internal/sandbox"
	"countersign/internal/store"
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
