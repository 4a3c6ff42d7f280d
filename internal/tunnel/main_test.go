package tunnel_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's heartbeat looks at its session only when the next beat is due (10 s by default).
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).requester"),
		// The SDK forgets to close the heartbeat of a session that the network ended; it notices by itself when the next
		// beat is overdue (25 s by default).
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).check"),
		// The SDK sleeps between two tries without looking up; see maxMisses for how long at most.
		goleak.IgnoreAnyFunction("golang.ngrok.com/ngrok/v2/internal/tunnel/client.(*reconnectingSession).connect"),
	)
}
