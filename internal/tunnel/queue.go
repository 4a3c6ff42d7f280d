package tunnel

import "sync"

// event is something that happened to a link.
type event struct {
	kind eventKind
	err  error
	url  string // listening
}

type eventKind int

const (
	dialFailed eventKind = iota // no connection to ngrok or the proxy; the dialer tries again
	missed                      // the session was lost, or a try to open one failed; the SDK tries again
	connected                   // the session is authenticated and its address bound again, if it had one
	listening                   // the address is bound for the first time
	refused                     // the address could not be bound; the agent is of no more use
	ended                       // the listener ended; the agent is of no more use
)

// queue keeps events in order for one reader. add never blocks, as the SDK demands of its event handler.
type queue struct {
	ready chan struct{} // holds a value while there are events

	mu     sync.Mutex
	events []event
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) add(e event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() []event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}
