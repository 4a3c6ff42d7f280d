package tunnel

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// crowd bounds the connections of a server. When it is full, the newcomer gets in and the connection that has gone
// longest without a step (first byte, request begun, request answered) is closed: clients that send slowly cannot
// keep others out, they only lose their own place. Its methods may be called from any goroutine.
type crowd struct {
	max int

	mu      sync.Mutex
	members map[*member]bool
}

func newCrowd(limit int) *crowd { return &crowd{max: limit, members: make(map[*member]bool)} }

// member is a connection in the crowd.
type member struct {
	net.Conn
	crowd *crowd
	// Both belong to the crowd's mutex.
	step   time.Time
	silent bool // has not sent a byte
}

// Close leaves the crowd and closes the connection.
func (m *member) Close() error {
	m.crowd.mu.Lock()
	delete(m.crowd.members, m)
	m.crowd.mu.Unlock()
	return m.Conn.Close()
}

// listener returns l with every accepted connection in the crowd.
func (c *crowd) listener(l net.Listener) net.Listener { return crowdListener{l, c} }

type crowdListener struct {
	net.Listener
	crowd *crowd
}

func (l crowdListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.crowd.join(conn), nil
}

func (c *crowd) join(conn net.Conn) net.Conn {
	m := &member{Conn: conn, crowd: c, step: time.Now(), silent: true}
	c.mu.Lock()
	var slowest *member
	if len(c.members) >= c.max {
		for other := range c.members {
			if slowest == nil || other.step.Before(slowest.step) {
				slowest = other
			}
		}
		delete(c.members, slowest)
	}
	c.members[m] = true
	c.mu.Unlock()
	if slowest != nil {
		slowest.Close()
	}
	return m
}

// moved is the server's ConnState hook.
func (c *crowd) moved(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	m, ok := conn.(*member)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.step = time.Now()
	m.silent = state == http.StateNew
}

// dismissSilent closes the connections on which nothing was ever sent.
func (c *crowd) dismissSilent() {
	c.mu.Lock()
	var silent []*member
	for m := range c.members {
		if m.silent {
			silent = append(silent, m)
		}
	}
	c.mu.Unlock()
	for _, m := range silent {
		m.Close()
	}
}
