package tunnel

import (
	"context"
	"sync"
	"time"

	"golang.ngrok.com/ngrok/v2"
)

// maxMisses is after how many failed tries in a row an agent is given up for a fresh one. The SDK's waits between
// them are 0.5, 1 and 2 s, which bounds how long its goroutine can outlive the agent.
const maxMisses = 3

// maxTokenMisses is how often ngrok must refuse the authtoken before we believe it.
const maxTokenMisses = 2

// link is one ngrok agent with one listener, used once: the SDK's agents cannot be started again, and a listener that
// ngrok stopped would be bound again beside its successor. The SDK reconnects lost sessions inside a link and keeps
// the URL.
//
// One goroutine (serve) belongs to the link; the SDK's event handler and the dialer only append to the queue, and the
// goroutine that calls watch reads it.
type link struct {
	config NgrokConfig
	queue  *queue
	line   *lifeline
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when serve returned

	mu       sync.Mutex
	listener ngrok.EndpointListener
}

// openLink starts an agent whose connections go to f. The link must be closed.
func openLink(config NgrokConfig, f *feed) (*link, error) {
	l := &link{config: config, queue: newQueue(), done: make(chan struct{})}
	l.line = &lifeline{
		connect: config.dial,
		failed:  func(err error) { l.queue.add(event{kind: dialFailed, err: err}) },
	}
	agent, err := ngrok.NewAgent(l.options()...)
	if err != nil {
		return nil, err
	}
	// The context given to the connecting call is the session's lifetime, so it must neither have a deadline nor end
	// with the caller's: close decides.
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.serve(agent, f)
	return l, nil
}

// options sets the agent up.
func (l *link) options() []ngrok.AgentOption {
	c := l.config
	options := []ngrok.AgentOption{
		ngrok.WithAuthtoken(c.Authtoken),
		ngrok.WithClientInfo("countersign", "1"),
		ngrok.WithLogger(sdkLogger(c.log(), c.secrets())),
		ngrok.WithEventHandler(l.happened),
		ngrok.WithDialer(l.line),
	}
	if c.ConnectURL != "" {
		options = append(options, ngrok.WithAgentConnectURL(c.ConnectURL))
	}
	if c.CAs != nil {
		options = append(options, ngrok.WithAgentConnectCAs(c.CAs))
	}
	if c.HeartbeatInterval > 0 {
		options = append(options, ngrok.WithHeartbeatInterval(c.HeartbeatInterval))
	}
	if c.HeartbeatTolerance > 0 {
		options = append(options, ngrok.WithHeartbeatTolerance(c.HeartbeatTolerance))
	}
	return options
}

// happened is the SDK's event handler. It runs while the agent holds its mutex.
func (l *link) happened(e ngrok.Event) {
	switch e := e.(type) {
	case *ngrok.EventAgentConnectSucceeded:
		l.queue.add(event{kind: connected})
	case *ngrok.EventAgentDisconnected:
		if e.Error != nil && l.ctx.Err() == nil {
			l.queue.add(event{kind: missed, err: e.Error})
		}
	}
}

// serve connects, binds and hands connections on until the SDK's listener ends.
func (l *link) serve(agent ngrok.Agent, f *feed) {
	defer close(l.done)
	var options []ngrok.EndpointOption
	if host := l.config.host(); host != "" {
		options = append(options, ngrok.WithURL("https://"+host))
	}
	listener, err := agent.Listen(l.ctx, options...)
	if err != nil {
		l.queue.add(event{kind: refused, err: err})
		return
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	l.queue.add(event{kind: listening, url: listener.URL().String()})
	for {
		// The SDK blocks for ever behind a connection that nobody accepts, so this goes on until the listener's end.
		conn, err := listener.Accept()
		if err != nil {
			l.queue.add(event{kind: ended, err: err})
			return
		}
		f.push(newStreamConn(conn, stallTime))
	}
}

// watch reports what happens to the link. It returns nil when ctx ends, and an *Error when the link is of no more
// use: a permanent one, or a reason to try with a fresh link.
func (l *link) watch(ctx context.Context, st *states) *Error {
	var (
		url         string // set once bound
		online      bool   // a session is authenticated and bound again
		misses      int    // failed tries in a row
		tokenMisses int
	)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.queue.ready:
		}
		for _, e := range l.queue.take() {
			switch e.kind {
			case dialFailed:
				st.down(l.config.explain(e.err))
			case connected:
				online, misses, tokenMisses = true, 0, 0
				if url != "" {
					st.up(url)
				}
			case listening:
				url = e.url
				if online {
					st.up(url)
				}
			case refused:
				return l.config.explain(e.err)
			case ended:
				return l.config.explainEnd(e.err)
			case missed:
				why := l.config.explain(e.err)
				if online {
					online = false // lost; the SDK dials again without waiting
					st.connecting(why)
					continue
				}
				misses++
				if why.Kind == Token {
					tokenMisses++
				}
				if tokenMisses >= maxTokenMisses {
					return why
				}
				why.permanent = false // not believed yet
				if misses >= maxMisses {
					return why
				}
				st.down(why)
			}
		}
	}
}

// Waits of close; together with the server's shutdown they stay under 5 s.
const (
	unbindTime = 500 * time.Millisecond
	endTime    = time.Second
)

// close gives the address back, ends the session and waits for serve. The SDK may keep a goroutine longer: one that
// waits between two tries (at most 2 s, see maxMisses) or for its next heartbeat; neither can reach the network any
// more.
func (l *link) close() {
	l.mu.Lock()
	listener := l.listener
	l.mu.Unlock()
	if listener != nil {
		// Close asks ngrok and has no time limit of its own; cut ends it on a silent network.
		go listener.Close()
		l.ended(unbindTime)
	}
	l.cancel()
	l.line.cut()
	if !l.ended(endTime) {
		l.config.log().Debug("the ngrok session ends later")
	}
}

func (l *link) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-l.done:
		return true
	case <-timer.C:
		return false
	}
}
