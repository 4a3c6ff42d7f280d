package ngroktest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// stage is where in a session an answer can be a refusal.
type stage string

const (
	atAuth stage = "auth"
	atBind stage = "bind"
)

// Counts are how often things happened since Start, and how many sessions are authenticated now.
type Counts struct {
	Connections int // agent connections accepted, before TLS
	Auths       int // Auth messages, accepted or not
	Binds       int // Bind messages, accepted or not
	Unbinds     int
	Heartbeats  int // echoed
	Requests    int // requests to the public side
	Sessions    int // authenticated and alive now
	Bound       int // addresses bound now
}

// Request is one request to the public side. Bodies and headers are not kept: they can hold secrets.
type Request struct {
	Host   string
	Path   string
	Status int // 0 while it runs
}

// Counts returns the counters as they are now.
func (e *Edge) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.countsLocked()
}

func (e *Edge) countsLocked() Counts {
	c := e.counts
	c.Sessions = len(e.sessions)
	for s := range e.sessions {
		c.Bound += len(s.binds)
	}
	return c
}

// Requests returns the requests to the public side, oldest first.
func (e *Edge) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Wait returns nil as soon as the counters satisfy enough, or an error when ctx ends first.
func (e *Edge) Wait(ctx context.Context, enough func(Counts) bool) error {
	for {
		e.mu.Lock()
		now, changed := e.countsLocked(), e.changed
		e.mu.Unlock()
		if enough(now) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("edge: still %+v: %w", now, ctx.Err())
		}
	}
}

// RejectAuth answers every Auth with the error code (ERR_NGROK_107 is a wrong token); "" accepts again.
func (e *Edge) RejectAuth(code string) { e.reject(atAuth, code) }

// RejectBind answers every Bind with the error code (ERR_NGROK_320 is somebody else's domain); "" accepts again.
func (e *Edge) RejectBind(code string) { e.reject(atBind, code) }

func (e *Edge) reject(at stage, code string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rejection[at] = code
}

// HoldDomain answers the next n Binds of host with ERR_NGROK_334, as if another agent had it; a negative n lasts
// until FreeDomain.
func (e *Edge) HoldDomain(host string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[strings.ToLower(host)] = n
}

// FreeDomain ends HoldDomain.
func (e *Edge) FreeDomain(host string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, strings.ToLower(host))
}

// KillSessions resets every agent connection.
func (e *Edge) KillSessions() {
	e.mu.Lock()
	conns := slices.Collect(maps.Keys(e.opened))
	e.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

// Silence stops all traffic on agent connections, present and new ones, without closing any; Speak continues it.
func (e *Edge) Silence() { e.gate.shut() }

// Speak ends Silence.
func (e *Edge) Speak() { e.gate.open() }

// Refuse closes the agent side's port, so that new connections are refused; sessions stay.
func (e *Edge) Refuse() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener == nil {
		return nil
	}
	err := e.listener.Close()
	e.listener = nil
	return err
}

// Return listens again where Refuse stopped.
func (e *Edge) Return() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener != nil || e.closed {
		return nil
	}
	listener, err := net.Listen("tcp", e.agents)
	if err != nil {
		return fmt.Errorf("edge: listen for agents again: %w", err)
	}
	e.listener = listener
	e.running.Go(func() { e.acceptAgents(listener) })
	return nil
}

// ShowWrongCertificate makes new agent connections meet a certificate of an unknown authority, as on a network that
// opens encrypted connections.
func (e *Edge) ShowWrongCertificate(wrong bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrongCert = wrong
}

// StopTunnel tells the agent that has host bound that this one address is stopped; its session stays. Like Stop, it
// waits while the edge is silent.
func (e *Edge) StopTunnel(host, message, code string) error {
	e.mu.Lock()
	session, bind := e.findLocked(host)
	if session != nil {
		delete(session.binds, bind.id)
		e.bump()
	}
	e.mu.Unlock()
	if session == nil {
		return fmt.Errorf("edge: nobody has %q", host)
	}
	return session.tell(typeStopTunnel, stopTunnel{ID: bind.id, Message: message, ErrorCode: code})
}

// Stop asks every agent to stop itself, as the dashboard's stop button does. The SDK ignores it unless told
// otherwise.
func (e *Edge) Stop() error {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.sessions))
	e.mu.Unlock()
	for _, s := range all {
		if err := s.tell(typeStop, struct{}{}); err != nil {
			return err
		}
	}
	return nil
}
