package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// wire connects the office's program with the services. Each request takes its own time; faults on the way and in gateways
// happen here. It sees everything that is said and tells the model.
type wire struct {
	w *world

	mu         sync.Mutex
	times      map[string]int // number of requests for each thing
	cuts       map[string]int // number of truncated bodies for each path
	requests   int
	deliveries int            // requests made by the service
	tokens     int            // requests for tokens in progress
	lost       int            // failures among them since the last success
	struck     time.Time      // time of the last failure
	hour       map[string]int // number of requests for each thing within the hour ...
	hourOf     hour           // ... which is this one
	faults     []*fault
	open       map[*host]*http.Transport
	servers    []*http.Server // at the public addresses
}

func newWire(w *world) *wire {
	return &wire{w: w, times: map[string]int{}, cuts: map[string]int{}, open: map[*host]*http.Transport{}}
}

// fault is a failure on the way.
type fault struct {
	kind  string
	path  string // prefix of the route, or the whole route with a $ at its end; "" matches all
	left  int    // remaining uses; negative until it is ended
	until time.Time
}

// way is the wire as used by one process.
type way struct {
	*wire
	host *host
	next *http.Transport
}

func (x *wire) of(h *host, next *http.Transport) http.RoundTripper {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open[h] = next
	return way{x, h, next}
}

// idle closes the connections of a process that is gone.
func (x *wire) idle(h *host) {
	x.mu.Lock()
	t := x.open[h]
	delete(x.open, h)
	x.mu.Unlock()
	if t != nil {
		t.CloseIdleConnections()
	}
}

func (x *wire) close() {
	for h := range x.open {
		x.idle(h)
	}
	for _, s := range x.servers {
		s.Close()
	}
}

// count returns the number of requests so far, and of those made by the service.
func (x *wire) count() (requests, deliveries int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.requests, x.deliveries
}

func (x *wire) trouble(f *fault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults = append(x.faults, f)
}

func (x *wire) heal() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults = nil
}

// onceIsNothing are the failures that a renewal survives once, because it is retried immediately.
var onceIsNothing = []string{"lost", "undone", "cut", "short"}

// begin records a request, and returns how often it was made before, and its fault.
func (x *wire) begin(key, route string) (n int, kind string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests++
	n = x.times[key]
	x.times[key]++
	now := time.Now()
	for _, f := range x.faults {
		if f.left == 0 || now.After(f.until) || !strings.HasPrefix(route+"$", f.path) || f.path == "/" && strings.HasPrefix(route, "/.") {
			continue
		}
		if f.left > 0 {
			f.left--
		}
		x.struck = now
		if strings.HasSuffix(route, "/token") { // a renewal whose answer does not come within the grace period ends the sign-in
			x.lost++
			x.w.mayBeOut = x.w.mayBeOut || x.lost > 1 || !slices.Contains(onceIsNothing, f.kind)
		}
		return n, f.kind
	}
	if strings.HasSuffix(route, "/token") {
		x.lost = 0
	}
	return n, ""
}

func (y way) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	key := r.Method + " " + r.URL.Host + path
	asked := time.Now()
	n, kind := y.begin(key, withoutIDs(path))
	chance := keyed(y.w.seed, "wire", key, n)
	var said []byte
	if r.Body != nil && (kind == "twice" || r.ContentLength < 64<<10) {
		var err error
		if said, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(said))
	}
	y.w.model.apart.asked(r, said)
	y.often(y.host, key, thing(said))
	y.w.trace.add("ask %s %s", key, kind)
	if strings.HasSuffix(path, "/token") {
		y.renew(1)
		defer y.renew(-1)
	}
	if !pause(r.Context(), between(chance, 2*time.Millisecond, 60*time.Millisecond)) {
		return nil, r.Context().Err()
	}
	answer, err := y.troubled(r, kind, said, chance.IntN(1<<30))
	if !pause(r.Context(), between(chance, 2*time.Millisecond, 40*time.Millisecond)) && err == nil {
		answer.Body.Close()
		return nil, r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	if kind == "" && answer.StatusCode == http.StatusOK && strings.HasPrefix(path, "/packages/") {
		defer y.w.model.list.answered(path, asked)
	}
	return answer, y.read(r, answer)
}

// mostAnHour is how often the program may request the same thing within an hour, whatever goes wrong. A renewal of the
// sign-in counts as one, but makes four requests if its answer is lost.
const (
	mostAnHour    = 240
	asksOfRenewal = 4
)

var aThing = regexp.MustCompile(`"skip":\d+|"name":"(?:No|Elsewhere) \d+"|% contract -?\d+ part \d+`)

// thing identifies what a request is about if its address does not: the package to add, the file to upload, the page of a
// list. Many waiting drafts are requested one by one.
func thing(said []byte) string { return string(aThing.Find(said)) }

// hour is an hour of one process; another process does not know what was requested before.
type hour struct {
	number  int64
	process *host
}

// often checks that the service is not asked for the same thing again and again.
func (x *wire) often(h *host, key, thing string) {
	x.mu.Lock()
	if of := (hour{x.w.clock().Unix() / 3600, h}); of != x.hourOf || x.hour == nil {
		x.hour, x.hourOf = map[string]int{}, of
	}
	x.hour[key+thing]++
	n := x.hour[key+thing]
	x.mu.Unlock()
	most := mostAnHour
	if strings.HasSuffix(key, "/token") || strings.HasSuffix(key, "/openid-configuration") {
		most *= asksOfRenewal
	}
	if n == most {
		x.w.model.breaks("the service is left in peace: %s was asked %d times within an hour, %s", key, n, thing)
	}
}

// read shows the model an answer if it is short text.
func (y way) read(r *http.Request, answer *http.Response) error {
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	}
	y.w.model.apart.answered(r, answer.StatusCode, body)
	return nil
}

// failing is a body that breaks off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// pause waits in virtual time; it returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// renewing reports whether a renewal of the sign-in is in progress.
func (x *wire) renewing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tokens+x.lost > 0
}

func (x *wire) renew(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tokens += n
}

// startProxy starts the office's own proxy: it receives what is sent to the public address, and loses, duplicates and delays
// it on request.
func (w *world) startProxy() error {
	var ports []net.Listener
	for _, address := range []string{officeURL, secondURL} {
		l, err := w.net.listen(nil, strings.TrimPrefix(address, "https://")+":443")
		if err != nil {
			return err
		}
		ports = append(ports, l)
	}
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.dial(ctx, nil, officePort) },
		DisableKeepAlives: true,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		status, header, answer := w.pass(r, transport, body)
		for name, values := range header {
			rw.Header()[name] = values
		}
		rw.WriteHeader(status)
		rw.Write(answer)
	})}
	desk, err := w.net.listen(nil, "desk.test:443") // another desk of the office, which accepts everything
	if err != nil {
		return err
	}
	toDesk := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.dial(ctx, nil, deskPort) },
		DisableKeepAlives: true,
	}
	other := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil {
			return
		}
		var event struct {
			ID string `json:"eventId"`
		}
		json.Unmarshal(body, &event)
		w.model.stored.delivered(event.ID)
		again := r.Clone(r.Context())
		again.RequestURI, again.URL.Scheme, again.URL.Host, again.Body = "", "http", deskPort, io.NopCloser(bytes.NewReader(body))
		if answer, err := toDesk.RoundTrip(again); err == nil { // otherwise nobody works there at present
			answer.Body.Close()
			rw.WriteHeader(answer.StatusCode)
		}
	})}
	for _, l := range ports {
		go server.Serve(l)
	}
	go other.Serve(desk)
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	w.wire.servers = []*http.Server{server, other}
	return nil
}

func (w *world) pass(r *http.Request, transport *http.Transport, body []byte) (status int, header http.Header, answer []byte) {
	var event struct {
		ID string `json:"eventId"`
	}
	json.Unmarshal(body, &event) // a browser's request is no event
	w.model.stored.delivered(event.ID)
	key := "hook " + r.Method + " " + r.URL.Path + event.ID
	n, kind := w.wire.begin(key, "hook")
	w.wire.mu.Lock()
	w.wire.requests-- // the service's own, not the program's
	w.wire.deliveries++
	w.wire.mu.Unlock()
	chance := keyed(w.seed, key, n)
	pause(r.Context(), between(chance, time.Millisecond, 50*time.Millisecond))
	if draw := chance.IntN(60); kind == "" && event.ID != "" && draw < 2 { // occasionally it misbehaves unprompted
		kind = []string{"hook-twice", "hook-lost"}[draw]
	}
	w.trace.add("%s %s", key, kind)
	bad := http.StatusBadGateway
	once := func() (int, http.Header, []byte) {
		again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+officePort+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			return bad, nil, nil
		}
		again.Header = r.Header.Clone()
		again.Host = r.Host
		got, err := transport.RoundTrip(again)
		if err != nil {
			return bad, nil, nil
		}
		defer got.Body.Close()
		said, err := io.ReadAll(got.Body)
		if err != nil {
			return bad, nil, nil
		}
		if event.ID != "" && got.StatusCode/100 == 2 {
			w.model.stored.acknowledged(event.ID)
		}
		return got.StatusCode, got.Header, said
	}
	switch kind {
	case "hook-lost": // it arrives, but the service gets an error
		once()
		return bad, nil, nil
	case "hook-twice":
		once()
		pause(r.Context(), between(chance, time.Millisecond, time.Second))
	case "hook-dropped":
		return bad, nil, nil
	case "hook-late":
		pause(r.Context(), between(chance, time.Second, 9*time.Second))
	}
	return once()
}

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
