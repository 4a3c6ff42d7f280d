package tunnel

import (
	"net"
	"sync"
)

// feed is a net.Listener whose connections come from whichever ngrok session is alive. The HTTP server keeps it
// through every reconnect, and closing it never waits for the SDK.
type feed struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newFeed() *feed { return &feed{conns: make(chan net.Conn), done: make(chan struct{})} }

// push hands a connection to the server, or closes it when nobody accepts any more.
func (f *feed) push(conn net.Conn) {
	select {
	case f.conns <- conn:
	case <-f.done:
		conn.Close()
	}
}

// Accept implements net.Listener.
func (f *feed) Accept() (net.Conn, error) {
	select {
	case conn := <-f.conns:
		return conn, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// Addr implements net.Listener.
func (f *feed) Addr() net.Addr { return feedAddr{} }

type feedAddr struct{}

func (feedAddr) Network() string { return "ngrok" }
func (feedAddr) String() string  { return "ngrok" }
