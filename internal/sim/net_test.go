package sim

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// network is all network connections of the simulation: they are in-memory pipes, so that virtual time advances while a
// goroutine waits for one.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

func newNetwork() *network { return &network{listeners: map[string]*listener{}} }

// listen opens a port for h. A nil host is one that never fails.
func (n *network) listen(h *host, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	l := &listener{n: n, host: h, address: address, conns: make(chan net.Conn), done: make(chan struct{})}
	n.listeners[address] = l
	if h != nil && !h.keep(l) {
		delete(n.listeners, address)
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRNOTAVAIL}
	}
	return l, nil
}

// dial connects h to the listener at address.
func (n *network) dial(ctx context.Context, h *host, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	if h != nil && h.offline() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH}
	}
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil || l.host != nil && l.host.offline() {
		return nil, refused
	}
	near, far := net.Pipe()
	for _, end := range []struct {
		host *host
		conn *net.Conn
	}{{h, &near}, {l.host, &far}} {
		if end.host != nil && !end.host.keep(*end.conn) {
			near.Close()
			far.Close()
			return nil, refused
		}
	}
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		near.Close()
		return nil, refused
	case <-ctx.Done():
		near.Close()
		return nil, ctx.Err()
	}
}

// listener implements net.Listener.
type listener struct {
	n       *network
	host    *host
	address string
	conns   chan net.Conn
	once    sync.Once
	done    chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.n.mu.Lock()
		defer l.n.mu.Unlock()
		if l.n.listeners[l.address] == l {
			delete(l.n.listeners, l.address)
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// closer is a connection or a port of a host.
type closer interface{ Close() error }

// host is a computer's network connection during the life of one process.
type host struct {
	mu   sync.Mutex
	dead bool // the process is gone, for ever ...
	dug  bool // ... and what it still does is undone
	off  bool // the network is down
	open []closer
	at   string // where it serves other desks, overriding its settings; "" for no override
}

func (h *host) offline() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead || h.off
}

// keep registers what a cut must close. It returns false if there is no network, which ports do not need.
func (h *host) keep(c closer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, port := c.(*listener)
	if h.dead || h.off && !port {
		return false
	}
	if len(h.open) > 256 {
		h.open = slices.DeleteFunc(h.open, func(c closer) bool { p, ok := c.(net.Conn); return ok && closed(p) })
	}
	h.open = append(h.open, c)
	return true
}

// closed reports whether this end of a pipe is closed.
func closed(c net.Conn) bool { return c.SetDeadline(time.Time{}) != nil }

// cut closes every connection, and takes the network down or up.
func (h *host) cut(off bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off = off
	h.open = slices.DeleteFunc(h.open, func(c closer) bool {
		if _, port := c.(*listener); port {
			return false
		}
		c.Close()
		return true
	})
}

// kill closes everything for ever.
func (h *host) kill() {
	h.mu.Lock()
	open := h.open
	h.dead, h.open = true, nil
	h.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}
