//go:build !race

package tunnel_test

import (
	"testing"
	"time"

	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

// The SDK itself races when a session dies before its first heartbeat (ngrok.md, 7), as short ones may.
func TestASilentNetworkIsNoticed(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	config := through(e)
	config.HeartbeatInterval, config.HeartbeatTolerance = 300*time.Millisecond, 500*time.Millisecond
	r := run(t, tunnel.Ngrok(config), hello)
	r.up()
	scene{t, e}.await(func(c ngroktest.Counts) bool { return c.Heartbeats > 1 })
	e.Silence()
	began := time.Now()
	s := r.until("the loss", func(s tunnel.State) bool { return s.Phase != tunnel.Up })
	if kindOf(s.Err) != tunnel.Network || time.Since(began) > 10*time.Second {
		t.Errorf("after %v it reported %+v", time.Since(began), s)
	}
	e.Speak()
	r.up()
	fetch(t, e.Client(), public+"/")
}
