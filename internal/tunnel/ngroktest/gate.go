package ngroktest

import (
	"net"
	"sync"
)

// gate lets every connection of an edge stop at once, as if the network had gone without a word.
type gate struct {
	mu      sync.Mutex
	passing chan struct{} // closed while traffic passes; nil counts as shut until the first open
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passing == nil {
		g.passing = make(chan struct{})
	}
	select {
	case <-g.passing:
	default:
		close(g.passing)
	}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing = make(chan struct{})
}

func (g *gate) wait(closed <-chan struct{}) error {
	g.mu.Lock()
	passing := g.passing
	g.mu.Unlock()
	select {
	case <-passing:
		return nil
	case <-closed:
		return net.ErrClosed
	}
}

// gatedConn reads and writes only while its gate is open; the other end sees neither data nor FIN meanwhile.
type gatedConn struct {
	net.Conn
	gate   *gate
	once   sync.Once
	closed chan struct{}
}

func newGatedConn(conn net.Conn, g *gate) *gatedConn {
	return &gatedConn{Conn: conn, gate: g, closed: make(chan struct{})}
}

func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// Checked after the read as well: one that was already waiting must not deliver what arrived in the silence.
	if gateErr := c.gate.wait(c.closed); gateErr != nil {
		return 0, gateErr
	}
	return n, err
}

func (c *gatedConn) Write(p []byte) (int, error) {
	if err := c.gate.wait(c.closed); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close ends the connection with a reset, as a killed process or a rebooted router would.
func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Conn.Close()
}
