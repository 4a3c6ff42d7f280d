package ngroktest

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"golang.ngrok.com/muxado/v2"
)

// session is one agent connection. Its binds belong to the edge's mutex, like everything else that public requests
// and controls look at.
type session struct {
	edge     *Edge
	mux      muxado.TypedStreamSession
	clientID string // set by Auth
	binds    map[string]*bind
}

// bind is one address an agent serves.
type bind struct {
	id   string
	host string // lower case, with the port where the URL has one
}

// serveSession runs an agent's session until its connection ends.
func serveSession(e *Edge, conn net.Conn) {
	s := &session{
		edge:  e,
		mux:   muxado.NewTypedStreamSession(muxado.Server(conn, nil)),
		binds: make(map[string]*bind),
	}
	defer func() {
		e.mu.Lock()
		delete(e.sessions, s)
		e.bump()
		e.mu.Unlock()
		_ = s.mux.Close()
	}()
	for {
		stream, err := s.mux.AcceptTypedStream()
		if err != nil {
			return
		}
		e.running.Go(func() {
			defer stream.Close()
			_ = s.answer(stream) // without one, the agent says what it misses
		})
	}
}

func (s *session) answer(stream muxado.TypedStream) error {
	switch stream.StreamType() {
	case typeHeartbeat:
		return s.echo(stream)
	case typeAuth:
		var request authRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.auth(request))
	case typeBind:
		var request bindRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.bind(request))
	case typeUnbind:
		var request unbindRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.unbind(request))
	case typeSrvInfo:
		return writeJSON(stream, srvInfoResponse{Region: "local"})
	case typePatch:
		return writeJSON(stream, plainResponse{})
	}
	return fmt.Errorf("unknown stream type %d", stream.StreamType())
}

func (s *session) echo(stream muxado.Stream) error {
	var beat [4]byte
	for {
		if _, err := io.ReadFull(stream, beat[:]); err != nil {
			return nil // the session ended
		}
		if _, err := stream.Write(beat[:]); err != nil {
			return nil
		}
		s.edge.mu.Lock()
		s.edge.counts.Heartbeats++
		s.edge.bump()
		s.edge.mu.Unlock()
	}
}

func (s *session) auth(request authRequest) authResponse {
	e := s.edge
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Auths++
	defer e.bump()
	token := request.Extra.Authtoken
	if code := e.rejection[atAuth]; code != "" {
		return authResponse{Error: refusal("The authtoken you specified is refused.\r\nYour authtoken: "+token, code)}
	}
	if token == "" {
		return authResponse{Error: refusal("Usage of ngrok requires a verified account and authtoken.", "ERR_NGROK_4018")}
	}
	if e.opts.Authtoken != "" && token != e.opts.Authtoken {
		// ngrok repeats the token in its answer, which is why clients must not show or log the text as it is.
		return authResponse{Error: refusal("The authtoken you specified is properly formed, but it is invalid.\r\n"+
			"Your authtoken: "+token, "ERR_NGROK_107")}
	}
	s.clientID = cmp.Or(request.ClientID, rand.Text())
	e.sessions[s] = true
	return authResponse{
		Version: "3", ClientID: s.clientID,
		Extra: authExtra{
			Version: "edge", Region: "local", Cookie: "cookie-" + s.clientID,
			AccountName: "Local", PlanName: "Free", AgentSessionID: "ts_" + s.clientID,
		},
	}
}

func (s *session) bind(request bindRequest) bindResponse {
	e := s.edge
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Binds++
	defer e.bump()
	if !e.sessions[s] {
		return bindResponse{Error: "bind before auth"}
	}
	address := e.addressLocked(request)
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return bindResponse{Error: refusal("The address is not an HTTPS address.", "ERR_NGROK_9037")}
	}
	host := strings.ToLower(parsed.Host)
	if code := e.rejection[atBind]; code != "" {
		return bindResponse{Error: refusal("Failed to create an endpoint with the domain "+host+".", code)}
	}
	if e.takenLocked(s, host) {
		return bindResponse{Error: refusal("The endpoint "+address+" is already online.", "ERR_NGROK_334")}
	}
	id, token := cmp.Or(request.ID, rand.Text()), cmp.Or(request.Extra.Token, rand.Text())
	e.tokens[token] = address
	e.authority.allow(parsed.Hostname())
	s.binds[id] = &bind{id: id, host: host}
	return bindResponse{
		ID: id, URL: address, Proto: "https", Opts: bindOptions{URL: address},
		Extra: bindExtra{Token: token, TunnelID: "tn_" + id},
	}
}

// addressLocked is the URL a Bind asks for: by its options, by the token of an earlier bind, or the account's own.
func (e *Edge) addressLocked(request bindRequest) string {
	if request.Opts.URL != "" {
		return request.Opts.URL
	}
	if request.Opts.Domain != "" {
		return "https://" + request.Opts.Domain
	}
	if known, ok := e.tokens[request.Extra.Token]; ok && request.Extra.Token != "" {
		return known
	}
	return "https://" + e.opts.Assigned
}

// takenLocked says whether host belongs to another agent, or is held by a test. A reconnecting agent takes its own
// address over from its earlier session.
func (e *Edge) takenLocked(s *session, host string) bool {
	if n, held := e.held[host]; held && n != 0 {
		e.held[host] = max(n-1, -1)
		return true
	}
	for other := range e.sessions {
		for id, b := range other.binds {
			if b.host != host {
				continue
			}
			if other != s && other.clientID != s.clientID {
				return true
			}
			delete(other.binds, id)
		}
	}
	return false
}

func (s *session) unbind(request unbindRequest) plainResponse {
	s.edge.mu.Lock()
	defer s.edge.mu.Unlock()
	s.edge.counts.Unbinds++
	delete(s.binds, request.ID)
	s.edge.bump()
	return plainResponse{}
}

// tell sends a message that needs no answer. An agent that ends the session because of it may be done before muxado says that it
// was written.
func (s *session) tell(kind muxado.StreamType, message any) error {
	stream, err := s.mux.OpenTypedStream(kind)
	if err != nil {
		return fmt.Errorf("edge: open a stream to the agent: %w", err)
	}
	defer stream.Close()
	err = writeJSON(stream, message)
	if code, _ := muxado.GetError(err); code == muxado.SessionClosed {
		return nil
	}
	return err
}

// open begins a Proxy stream on which the agent answers HTTP/1.1.
func (s *session) open(b *bind, client string) (net.Conn, error) {
	stream, err := s.mux.OpenTypedStream(typeProxy)
	if err != nil {
		return nil, err
	}
	header := proxyHeader{ID: b.id, ClientAddr: client, Proto: "https", EdgeType: "3"}
	if err := writeProxyHeader(stream, header); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}
