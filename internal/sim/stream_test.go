package sim

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/desks"
	"countersign/internal/desk"
	"countersign/internal/hub"

	"github.com/nats-io/nats.go/jetstream"
)

// streams stands in for NATS between the office's computers, in virtual time: a real server wakes sixty times a second, and
// the seed would not control its goroutines. It behaves as NATS was observed to (shared/nats.md), including its failures:
// acknowledgements are lost, and the last acknowledged messages are delivered again after a kill; trials lose streams, parts
// of them, and consumers.
type streams struct {
	w *world

	mu      sync.Mutex
	servers map[string]*streamServer
	kept    map[string]map[int]*stream // on the disks of hubs: by folder and epoch
}

type stream struct {
	messages []streamed // by number
	last     uint64
	readers  map[string]*streamReader
	rings    chan struct{} // closed when there is something to deliver
}

type streamed struct {
	desk.Event
	token  string
	number uint64
	at     time.Time
}

// streamReader is a desk's consumer.
type streamReader struct {
	desk.Reader
	since   time.Time
	pending map[uint64]uint64 // number -> delivery
	again   []uint64          // those of them to be delivered again
	acked   []uint64          // the latest acknowledged ones
}

// settle updates the position up to which everything is acknowledged.
func (x *streamReader) settle() {
	x.Floor, x.Pending = x.Delivered, len(x.pending)
	for number, delivery := range x.pending {
		if number <= x.Floor.Stream {
			x.Floor.Stream, x.Floor.Consumer = number-1, min(delivery-1, x.Floor.Consumer)
		}
	}
}

func (s *stream) ring() {
	close(s.rings)
	s.rings = make(chan struct{})
}

type streamServer struct {
	of     *streams
	host   *host
	at     string
	c      hub.Config
	desks  map[string]*streamConn // by key; nil while not connected
	own    *streamConn
	answer func(key string, q desk.Question) (desk.Answer, error)
}

// streamConn is a host's connection to a server.
type streamConn struct {
	*streamServer
	from   *host
	key    string
	once   sync.Once
	closed chan struct{}
}

// through gives a host access to the streams.
func (x *streams) through(h *host) desks.Stream {
	return desks.Stream{
		Connect: func(ctx context.Context, w desk.Way) (desks.Conn, error) {
			c, err := x.connect(ctx, h, w)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Serve: func(c hub.Config) (desks.Server, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			s := &streamServer{of: x, host: h, at: c.Listen, c: c, desks: map[string]*streamConn{}}
			if h.at != "" {
				s.at = h.at
			}
			if was := x.servers[s.at]; was != nil && !was.host.gone() {
				return nil, errors.New("address already in use")
			} else if was != nil {
				was.end(true)
			}
			for _, key := range c.Desks {
				s.desks[key] = nil
			}
			x.servers[s.at] = s
			return s, nil
		},
	}
}

func (x *streams) connect(ctx context.Context, h *host, w desk.Way) (*streamConn, error) {
	if !pause(ctx, between(keyed(x.w.seed, "connect", time.Now().UnixNano()), time.Millisecond, 20*time.Millisecond)) {
		return nil, ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key, err := desk.Public(w.Seed)
	if err != nil {
		return nil, desk.ErrRemoved
	}
	if s, own := w.Local.(*streamServer); own {
		s.own = &streamConn{streamServer: s, from: h, key: key, closed: make(chan struct{})}
		return s.own, nil
	}
	why := error(errors.New("connection refused"))
	for at := range strings.SplitSeq(w.Servers, ",") {
		s := x.servers[strings.TrimPrefix(at, "nats://")]
		if s == nil || s.host.offline() || h.offline() {
			continue
		}
		leaf := must(x509.ParseCertificate(s.c.Certificate.Certificate[0]))
		was, admitted := s.desks[key]
		switch {
		case desk.Pin(leaf.RawSubjectPublicKeyInfo) != w.Pin:
			why = desk.ErrOther
		case !admitted:
			why = desk.ErrRemoved
		default:
			if was != nil {
				was.end()
			}
			s.desks[key] = &streamConn{streamServer: s, from: h, key: key, closed: make(chan struct{})}
			return s.desks[key], nil
		}
	}
	return nil, why
}

// end stops a server; after a kill, the last acknowledgements are lost.
func (s *streamServer) end(killed bool) {
	if s.of.servers[s.at] != s {
		return
	}
	delete(s.of.servers, s.at)
	s.answer = nil
	for _, c := range s.desks {
		if c != nil {
			c.end()
		}
	}
	if s.own != nil {
		s.own.end()
	}
	for _, st := range s.of.kept[s.c.Folder] {
		for _, x := range st.readers {
			for n := keyed(s.of.w.seed, "acknowledged", time.Now().UnixNano()).IntN(4); killed && n > 0 && len(x.acked) > 0; n-- {
				number := x.acked[len(x.acked)-1]
				x.acked = x.acked[:len(x.acked)-1]
				x.pending[number], x.again = x.Delivered.Consumer, append(x.again, number)
			}
			x.settle()
		}
	}
}

func (s *streamServer) Close() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.end(s.host.gone())
}

func (s *streamServer) InProcessConn() (net.Conn, error) { return nil, errors.ErrUnsupported }
func (s *streamServer) Trouble() error                   { return nil }
func (s *streamServer) Address() net.Addr                { return nil } // codes for invitations are not simulated

func (s *streamServer) Admit(key string) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if _, known := s.desks[key]; !known {
		s.desks[key] = nil
	}
	return nil
}

func (s *streamServer) Remove(key string) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if c := s.desks[key]; c != nil {
		c.end()
	}
	delete(s.desks, key)
}

func (s *streamServer) Connected(key string) bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.desks[key] != nil && s.desks[key].lives() == nil
}

func (c *streamConn) end()                    { c.once.Do(func() { close(c.closed) }) }
func (c *streamConn) Closed() <-chan struct{} { return c.closed }

func (c *streamConn) Close() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.end()
}

func (c *streamConn) Removed() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	_, admitted := c.desks[c.key]
	return c.own != c && !admitted
}

// lives fails if the connection does not work.
func (c *streamConn) lives() error {
	select {
	case <-c.closed:
		return errors.New("connection closed")
	default:
	}
	if c.from.gone() || c.host.gone() || c.from != c.host && (c.from.offline() || c.host.offline()) {
		return context.DeadlineExceeded
	}
	return nil
}

// in calls do with a stream.
func (c *streamConn) in(epoch int, do func(*stream) error) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if err := c.lives(); err != nil {
		return err
	}
	s := c.of.kept[c.c.Folder][epoch]
	if s == nil {
		return jetstream.ErrStreamNotFound
	}
	return do(s)
}

func (c *streamConn) Prepare(ctx context.Context, s desk.Stream) error {
	if err := c.Current(ctx, s); err != nil {
		return err
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	all := c.of.kept[c.c.Folder]
	if all == nil {
		all = map[int]*stream{}
		c.of.kept[c.c.Folder] = all
	}
	for epoch := range all {
		if epoch < s.Epoch-1 {
			delete(all, epoch)
		}
	}
	if all[s.Epoch] == nil {
		all[s.Epoch] = &stream{readers: map[string]*streamReader{}, rings: make(chan struct{})}
	}
	return c.lives()
}

func (c *streamConn) Current(_ context.Context, s desk.Stream) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	last := s.Epoch
	for epoch := range c.of.kept[c.c.Folder] {
		last = max(last, epoch)
	}
	if last > s.Epoch {
		return desk.Fenced(last)
	}
	return c.lives()
}

func (c *streamConn) Tokens(_ context.Context, s desk.Stream) (map[string]bool, error) {
	have := map[string]bool{}
	return have, c.in(s.Epoch, func(st *stream) error {
		for _, m := range st.messages {
			have[m.token] = true
		}
		return nil
	})
}

func (c *streamConn) Publish(_ context.Context, s desk.Stream, e desk.Event) error {
	if len(e.Body) == 0 {
		return desk.ErrUnfit
	}
	return c.in(s.Epoch, func(st *stream) error {
		m := streamed{e, desk.Token(e.ID), st.last + 1, c.of.w.clock()}
		m.ID = ""
		if !slices.ContainsFunc(st.messages, func(x streamed) bool { return x.token == m.token }) {
			st.messages, st.last = append(st.messages, m), m.number
			st.ring()
		}
		return nil
	})
}

func (c *streamConn) Follow(_ context.Context, s desk.Stream, key string, since time.Time) error {
	return c.in(s.Epoch, func(st *stream) error {
		if x := st.readers[key]; x == nil || x.Delivered.Stream > st.last {
			st.readers[key] = &streamReader{Reader: desk.Reader{Made: c.of.w.clock()}, since: since, pending: map[uint64]uint64{}}
			st.ring()
		}
		return nil
	})
}

func (c *streamConn) Forget(_ context.Context, s desk.Stream, key string) error {
	return c.in(s.Epoch, func(st *stream) error {
		delete(st.readers, key)
		st.ring()
		return nil
	})
}

func (c *streamConn) Following(_ context.Context, s desk.Stream) (keys []string, err error) {
	err = c.in(s.Epoch, func(st *stream) error {
		keys = slices.Sorted(maps.Keys(st.readers))
		return nil
	})
	return keys, err
}

func (c *streamConn) Waiting(_ context.Context, s desk.Stream, key string) (events int, last time.Time, err error) {
	return events, last, c.in(s.Epoch, func(st *stream) error {
		x := st.readers[key]
		if x == nil {
			return jetstream.ErrConsumerNotFound
		}
		events = len(x.pending) + int(st.last-min(st.last, x.Delivered.Stream))
		return nil
	})
}

func (c *streamConn) Answers(answer func(key string, q desk.Question) (desk.Answer, error)) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answer = answer
	return c.lives()
}

func (c *streamConn) Ask(ctx context.Context, q desk.Question) (a desk.Answer, err error) {
	chance := keyed(c.of.w.seed, "ask", c.key, time.Now().UnixNano())
	look := func() func(string, desk.Question) (desk.Answer, error) {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if err = c.lives(); err == nil && c.answer == nil {
			err = context.DeadlineExceeded
		}
		return c.answer
	}
	for range 2 { // once in each direction
		if !pause(ctx, between(chance, time.Millisecond, 20*time.Millisecond)) {
			return a, ctx.Err()
		}
		answer := look()
		if err != nil {
			pause(ctx, 5*time.Second)
			return a, err
		}
		if a.Epoch == 0 && !a.Removed {
			said, err := answer(c.key, q)
			if errors.Is(err, desk.ErrRemoved) {
				said, err = desk.Answer{Removed: true}, nil
			}
			if err == nil {
				err = json.Unmarshal(must(json.Marshal(said)), &a)
			}
			if err != nil {
				pause(ctx, 5*time.Second)
				return a, err
			}
		}
	}
	if a.Removed {
		err = desk.ErrRemoved
	}
	return a, err
}

func (c *streamConn) Receive(ctx context.Context, epoch int, had desk.Mark, take func(desk.Event, desk.Mark) error, missed func(desk.Mark) error) error {
	var x *streamReader
	var is desk.Reader
	err := c.in(epoch, func(st *stream) error {
		if x = st.readers[c.key]; x == nil {
			return jetstream.ErrConsumerNotFound
		}
		for number := range x.pending { // messages delivered to a connection that is gone
			if !slices.Contains(x.again, number) {
				x.again = append(x.again, number)
			}
		}
		slices.Sort(x.again)
		is = x.Reader
		return nil
	})
	if err != nil {
		return err
	}
	return desk.Read(ctx, is, had, func() (d desk.Delivery, err error) {
		for {
			var rings chan struct{}
			found := false
			err := c.in(epoch, func(st *stream) error {
				if st.readers[c.key] != x {
					return jetstream.ErrConsumerDeleted
				}
				rings = st.rings
				d, found = c.next(st, x)
				return nil
			})
			if found || err != nil {
				return d, err
			}
			select {
			case <-rings:
			case <-c.closed:
			case <-ctx.Done():
				return d, ctx.Err()
			}
		}
	}, take, missed)
}

// next returns the next delivery.
func (c *streamConn) next(st *stream, x *streamReader) (d desk.Delivery, found bool) {
	var m streamed
	for _, m = range st.messages {
		if d.Again = slices.Contains(x.again, m.number); d.Again || m.number > x.Delivered.Stream && !m.at.Before(x.since) {
			found = true
			break
		}
	}
	if !found {
		return d, false
	}
	x.again = slices.DeleteFunc(x.again, func(n uint64) bool { return n <= m.number }) // removed messages are not delivered again
	x.Delivered.Consumer++
	x.Delivered.Stream = max(x.Delivered.Stream, m.number)
	x.pending[m.number] = x.Delivered.Consumer
	maps.DeleteFunc(x.pending, func(n, _ uint64) bool {
		return !slices.ContainsFunc(st.messages, func(m streamed) bool { return m.number == n })
	})
	x.settle()
	d.Event, d.At = m.Event, jetstream.SequencePair{Consumer: x.Delivered.Consumer, Stream: m.number}
	back := func() error {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if _, waits := x.pending[m.number]; waits && c.lives() == nil {
			x.again = append(x.again, m.number)
			st.ring()
		}
		return nil
	}
	d.Nak = back
	d.Ack = func() error {
		if keyed(c.of.w.seed, "acknowledges", c.key, d.At.Consumer).IntN(12) == 0 { // the acknowledgement is lost without an error
			return back()
		}
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if c.lives() == nil {
			delete(x.pending, m.number)
			x.acked = append(x.acked, m.number)
			x.settle()
		}
		return nil
	}
	return d, true
}

// harm manipulates the streams of the hub with that folder.
func (x *streams) harm(folder string, do func(all map[int]*stream)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do(x.kept[folder])
	for _, st := range x.kept[folder] {
		st.ring()
	}
}

// drop removes messages from a stream.
func (s *stream) drop(from, to int) {
	s.messages = slices.Delete(s.messages, min(from, len(s.messages)), min(to, len(s.messages)))
}
