// Package desk is a connection to the office's stream of events: that of the hub, which publishes, and that of the other desks,
// which read and acknowledge. The stream is in a hub of this office (package hub) or in a cluster of NATS servers.
//
// What it promises: an event is in a stream at most once, as long as the stream keeps it; what Publish returned for is on the
// server's disk; an event is acknowledged after the caller has it on its own, never before; a server that does not have the
// pinned key is told nothing.
//
// What it must not know: what an event means, who is a desk, and when to try again. The stream is a pipe that may be lost and
// filled again, also with numbers that were used before.
package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// ErrRemoved means that the server does not know this desk's key.
var ErrRemoved = errors.New("the office does not know this desk")

// ErrOther means that another server answers than the one that was pinned.
var ErrOther = errors.New("another server answers")

// Way is how a stream is reached.
type Way struct {
	Servers string // nats://host:port, with commas in between
	Pin     string // of the server's certificate, see Pin; empty for one that the system trusts
	Guest   bool   // any certificate will do: what the server says proves itself
	Seed    string // this desk's own key
	// Local is a server in this process, in place of Servers.
	Local nats.InProcessConnProvider
	// Dial is the way out; nil is the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Pin is the fingerprint of a certificate's key.
func Pin(publicKeyInfo []byte) string {
	sum := sha256.Sum256(publicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// NewKey makes the key of a desk.
func NewKey() (seed, public string, err error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return KeyOf(raw)
}

// KeyOf is the key that follows from a secret.
func KeyOf(secret [32]byte) (seed, public string, err error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, secret[:])
	if err != nil {
		return "", "", err
	}
	b, err1 := pair.Seed()
	public, err2 := pair.PublicKey()
	return string(b), public, errors.Join(err1, err2)
}

// Public is the public half of a key.
func Public(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// IsKey reports whether s can be a desk's public key.
func IsKey(s string) bool { return nkeys.IsValidPublicUserKey(s) }

const (
	connectTime = 5 * time.Second
	answerTime  = 5 * time.Second
	ackWait     = 10 * time.Second // for what was given out and is neither acknowledged nor refused
	inFlight    = 32               // messages: they wait here while their time to be acknowledged runs
	prefix      = "HUBJS"
	requests    = "office.desk." // and the public key of the desk that asks
)

// Conn is a connection. It does not come back by itself: whoever made it is told by Closed, and makes another one.
type Conn struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	key    string
	closed <-chan struct{}

	answering sync.WaitGroup
}

// Connect connects to the first server that lets it in. The error is ErrRemoved, ErrOther, or what keeps the way closed: what a server
// said of this desk counts more than that others, such as further addresses of the same hub, are out of reach.
func Connect(ctx context.Context, w Way) (c *Conn, err error) {
	for server := range strings.SplitSeq(w.Servers, ",") {
		c, err1 := connect(ctx, w, server)
		if err1 == nil || ctx.Err() != nil {
			return c, err1
		}
		if err == nil || errors.Is(err1, ErrRemoved) || errors.Is(err1, ErrOther) && !errors.Is(err, ErrRemoved) {
			err = err1
		}
	}
	return nil, err
}

func connect(ctx context.Context, w Way, server string) (*Conn, error) {
	pair, err := nkeys.FromSeed([]byte(w.Seed))
	if err != nil {
		return nil, ErrRemoved
	}
	key, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	closed, foreign := make(chan struct{}), false
	options := []nats.Option{
		nats.Name("desk"), nats.Nkey(key, pair.Sign), nats.CustomInboxPrefix("_INBOX_" + key), nats.NoReconnect(), nats.Timeout(connectTime),
		nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2), nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	switch {
	case w.Local != nil:
		options = append(options, nats.InProcessServer(w.Local))
	case w.Pin == "" && !w.Guest:
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	default:
		options = append(options, nats.TLSHandshakeFirst(), nats.Secure(&tls.Config{
			MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // the pin decides, on every connection
			VerifyConnection: func(s tls.ConnectionState) error {
				if w.Guest || len(s.PeerCertificates) > 0 && subtle.ConstantTimeCompare([]byte(Pin(s.PeerCertificates[0].RawSubjectPublicKeyInfo)), []byte(w.Pin)) == 1 {
					return nil
				}
				foreign = true
				return ErrOther
			},
		}))
	}
	if w.Local == nil {
		d := dialer{ctx: ctx, dial: w.Dial}
		if d.dial == nil {
			d.dial = (&net.Dialer{}).DialContext
		}
		defer d.connected()
		options = append(options, nats.SetCustomDialer(&d), nats.SkipHostLookup()) // which would not end with ctx
	}
	nc, err := nats.Connect(server, options...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, ErrRemoved
	case err != nil && foreign:
		return nil, ErrOther
	case err != nil:
		return nil, err
	}
	c := &Conn{nc: nc, key: key, closed: closed}
	if c.js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// dialer makes a connection that ends with ctx until it is connected: a server may take it and say nothing.
type dialer struct {
	ctx  context.Context
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	stop func() bool
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, connectTime)
	defer cancel()
	c, err := d.dial(ctx, network, address)
	if err == nil {
		d.stop = context.AfterFunc(d.ctx, func() { c.Close() })
	}
	return c, err
}

func (d *dialer) connected() {
	if d.stop != nil {
		d.stop()
	}
}

// Closed is closed when the connection has ended.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Close ends the connection, and waits for that and for the answer that is being given.
func (c *Conn) Close() {
	c.nc.Close()
	<-c.closed
	c.answering.Wait()
}

// Removed reports whether the server has ended the connection because it knows the key no more.
func (c *Conn) Removed() bool { return errors.Is(c.nc.LastError(), nats.ErrAuthorization) }

// Event is one verified notification, as it came.
type Event struct {
	ID        string `json:"id"`
	Body      []byte `json:"body"` // never empty: an empty message would end a delivery
	URL       string `json:"url,omitempty"`
	Signature string `json:"signature,omitempty"`
	Service   string `json:"service,omitempty"`
}

// Token is what an event is called in a stream.
func Token(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// Stream is a stream as the hub wants it.
type Stream struct {
	Epoch    int // which hub: each new one counts on, and the highest counts
	Age      time.Duration
	Bytes    int64
	Replicas int
}

// streamName begins the names of streams.
const streamName = "OFFICE_"

// StreamName is what the stream of an epoch is called.
func StreamName(epoch int) string { return fmt.Sprint(streamName, epoch) }

func (s Stream) subject(token string) string { return fmt.Sprintf("ev.%d.%s", s.Epoch, token) }

// ErrFenced means that there is a stream of a later hub.
var ErrFenced = errors.New("another computer is the hub now")

// Prepare makes the stream, or has it be as s says. It is lost or new when it has fewer events than were published.
func (c *Conn) Prepare(ctx context.Context, s Stream) error {
	earlier, err := c.earlier(ctx, s)
	if err != nil {
		return err
	}
	for _, name := range earlier { // of which each holds room; the last one may still be read by desks that have not met this hub
		if err := c.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	_, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: StreamName(s.Epoch), Subjects: []string{s.subject("*")}, Storage: jetstream.FileStorage, Replicas: max(s.Replicas, 1),
		MaxAge: s.Age, MaxBytes: s.Bytes, MaxMsgsPerSubject: 1, DenyDelete: true,
	})
	return err
}

// earlier are the streams of hubs before the last one, or ErrFenced.
func (c *Conn) earlier(ctx context.Context, s Stream) (list []string, err error) {
	names := c.js.StreamNames(ctx)
	for name := range names.Name() {
		number, ours := strings.CutPrefix(name, streamName)
		epoch, err := strconv.Atoi(number)
		switch {
		case !ours || err != nil || StreamName(epoch) != name: // the office's own
		case epoch > s.Epoch:
			return nil, ErrFenced
		case epoch < s.Epoch-1:
			list = append(list, name)
		}
	}
	return list, names.Err()
}

// Current fails when there is a later hub.
func (c *Conn) Current(ctx context.Context, s Stream) error {
	_, err := c.earlier(ctx, s)
	return err
}

// Tokens are those of the events that the stream has.
func (c *Conn) Tokens(ctx context.Context, s Stream) (map[string]bool, error) {
	stream, err := c.js.Stream(ctx, StreamName(s.Epoch))
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.subject("*")))
	if err != nil {
		return nil, err
	}
	have := make(map[string]bool, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		have[subject[strings.LastIndexByte(subject, '.')+1:]] = true
	}
	return have, nil
}

// wrongLast is the server's code for a subject that has a message already.
const wrongLast = 10071

// ErrUnfit means that an event is in no stream, now or later: it is empty, or larger than the server takes.
var ErrUnfit = errors.New("the event does not fit into a stream")

// Publish puts an event into the stream, unless it is there already. It fails with ErrUnfit for what never gets there.
func (c *Conn) Publish(ctx context.Context, s Stream, e Event) error {
	if len(e.Body) == 0 {
		return ErrUnfit
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m := nats.NewMsg(s.subject(Token(e.ID)))
	m.Data = e.Body
	for name, value := range map[string]string{"Address": e.URL, "Signature": e.Signature, "Service": e.Service} {
		m.Header.Set(name, url.QueryEscape(value))
	}
	_, err := c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0))
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == wrongLast:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return ErrUnfit
	}
	return err
}

// Follow has the desk with that key be given whatever is published from since on, until Forget. It goes on where it was.
func (c *Conn) Follow(ctx context.Context, s Stream, key string, since time.Time) error {
	name := StreamName(s.Epoch)
	info, err := c.js.Consumer(ctx, name, key)
	if err == nil {
		stream, err := c.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		if info.CachedInfo().Delivered.Stream <= stream.CachedInfo().State.LastSeq {
			return nil
		}
		if err := c.Forget(ctx, s, key); err != nil { // the stream was cut, and would say nothing until it is as long again
			return err
		}
	} else if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	_, err = c.js.CreateConsumer(ctx, name, jetstream.ConsumerConfig{
		Durable: key, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: 4 * inFlight,
	})
	return err
}

// Forget is the end of Follow.
func (c *Conn) Forget(ctx context.Context, s Stream, key string) error {
	err := c.js.DeleteConsumer(ctx, StreamName(s.Epoch), key)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return err
}

// Waiting is how many events wait for a desk, and when it last acknowledged one; zero for never.
func (c *Conn) Waiting(ctx context.Context, s Stream, key string) (events int, last time.Time, err error) {
	consumer, err := c.js.Consumer(ctx, StreamName(s.Epoch), key)
	if err != nil {
		return 0, last, err
	}
	info := consumer.CachedInfo()
	if info.AckFloor.Last != nil {
		last = *info.AckFloor.Last
	}
	return int(info.NumPending) + info.NumAckPending, last, nil
}

// Question is what a desk asks the hub.
type Question struct {
	Person string `json:"person,omitempty"` // who works there
	Events bool   `json:"events,omitempty"` // a page of what the hub has stored, newest first, beginning behind Before
	Before string `json:"before,omitempty"`
}

// Answer is what the hub says.
type Answer struct {
	Epoch   int       `json:"epoch"`
	Since   time.Time `json:"since,omitzero"`    // since when events reach the hub, by its clock; zero while they do not
	Removed bool      `json:"removed,omitempty"` // the desk that asks is none of the hub's; the rest is empty
	Desks   []Member  `json:"desks,omitempty"`
	Moved   *Place    `json:"moved,omitempty"`  // the hub is there now
	Sealed  []byte    `json:"sealed,omitempty"` // an invitation, for who asks with the key of its code; the rest is empty
	Events  []Event   `json:"events,omitempty"`
	Next    string    `json:"next,omitempty"` // where the next page begins; empty behind the last one
}

// Member is a desk of the hub, or the hub itself.
type Member struct {
	Name string    `json:"name"`
	Key  string    `json:"key"` // its public one
	Made time.Time `json:"made,omitzero"`
}

// Place is where a hub is reached, as in Way.
type Place struct {
	Servers string `json:"servers"`
	Pin     string `json:"pin"`
}

// maxQuestions is how many questions of one desk wait for their answer: a further one is dropped, so that none keeps others waiting.
const maxQuestions = 4

// Answers has the hub answer desks until the connection ends, one question after the other.
func (c *Conn) Answers(answer func(key string, q Question) (Answer, error)) error {
	var mu sync.Mutex
	waiting := map[string]int{}
	line := make(chan *nats.Msg, 1024)
	_, err := c.nc.Subscribe(requests+"*", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if waiting[m.Subject] < maxQuestions && len(line) < cap(line) {
			waiting[m.Subject]++
			line <- m
		}
	})
	if err != nil {
		return err
	}
	c.answering.Go(func() {
		for {
			select {
			case <-c.closed:
				return
			case m := <-line:
				reply(m, answer)
				mu.Lock()
				if waiting[m.Subject]--; waiting[m.Subject] == 0 {
					delete(waiting, m.Subject)
				}
				mu.Unlock()
			}
		}
	})
	return c.nc.FlushTimeout(answerTime)
}

// reply answers, or not: then the desk asks again.
func reply(m *nats.Msg, answer func(key string, q Question) (Answer, error)) {
	var q Question
	if json.Unmarshal(m.Data, &q) != nil {
		return
	}
	a, err := answer(strings.TrimPrefix(m.Subject, requests), q)
	if errors.Is(err, ErrRemoved) {
		a, err = Answer{Removed: true}, nil
	}
	if err != nil {
		return
	}
	if b, err := json.Marshal(a); err == nil {
		_ = m.Respond(b)
	}
}

// Ask asks the hub. It fails with ErrRemoved when the hub does not know this desk.
func (c *Conn) Ask(ctx context.Context, q Question) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	b, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	m, err := c.nc.RequestWithContext(ctx, requests+c.key, b)
	if err != nil {
		return a, err
	}
	if err = json.Unmarshal(m.Data, &a); err == nil && a.Removed {
		err = ErrRemoved
	}
	return a, err
}

// Mark is up to where a desk has acknowledged. Kept with its events, it tells whether they are all still there: what the server has been
// told beyond it is of a time that a restored desk knows nothing of.
type Mark struct {
	Reader time.Time `json:"reader"` // when that was made by which it reads: another one has been told other things
	Acked  uint64    `json:"acked"`  // deliveries
}

// Reader is what a desk reads by, as the server has it.
type Reader struct {
	Made             time.Time
	Floor, Delivered jetstream.SequenceInfo // up to where all is acknowledged, and given out
	Pending          int                    // are given out and not acknowledged
}

// Delivery is an event that is given out.
type Delivery struct {
	Event
	At       jetstream.SequencePair
	Again    bool
	Ack, Nak func() error
}

// Receive hands every event of the stream to take, one after the other, and acknowledges it once take has returned without an
// error. Before one that others should have come before, and where the server was told more than had, it calls missed. Both are given what
// had is then. It returns when the connection or ctx ends, or one of them fails; what was not acknowledged comes again.
func (c *Conn) Receive(ctx context.Context, epoch int, had Mark, take func(Event, Mark) error, missed func(Mark) error) error {
	js, err := jetstream.NewWithAPIPrefix(c.nc, prefix)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asking, cancel := context.WithTimeout(ctx, answerTime)
	consumer, err := js.Consumer(asking, StreamName(epoch), c.key)
	cancel()
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	var messages jetstream.MessagesContext
	return Read(ctx, Reader{info.Created, info.AckFloor, info.Delivered, info.NumAckPending}, had, func() (d Delivery, err error) {
		if messages == nil {
			if messages, err = consumer.Messages(jetstream.PullMaxMessages(inFlight)); err != nil {
				return d, err
			}
			context.AfterFunc(ctx, messages.Stop)
		}
		m, err := messages.Next()
		if err != nil {
			return d, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return d, err
		}
		return Delivery{Event: event(m), At: meta.Sequence, Again: meta.NumDelivered > 1, Ack: m.Ack, Nak: m.Nak}, nil
	}, take, missed)
}

// Read is Receive, whatever gives the events out.
func Read(ctx context.Context, r Reader, had Mark, next func() (Delivery, error), take func(Event, Mark) error, missed func(Mark) error) error {
	last, has := r.Delivered.Stream, Mark{r.Made, r.Floor.Consumer}
	lacks := r.Floor.Stream > 0 && last-r.Floor.Stream > uint64(r.Pending) // found missing before, and perhaps not asked for; or acknowledged out of order
	if had.Reader.Equal(has.Reader) {
		lacks = lacks || has.Acked > had.Acked
	} else {
		lacks = lacks || has.Acked > 0 || !had.Reader.IsZero()
	}
	if lacks {
		if err := missed(has); err != nil {
			return err
		}
	}
	for {
		d, err := next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.At.Stream > last+1 && last > 0 {
			if err := missed(has); err != nil {
				return err
			}
		}
		if !d.Again || d.At.Stream > last {
			last = d.At.Stream // which may be lower than before: a damaged stream uses numbers again
		}
		has.Acked = d.At.Consumer
		if err := take(d.Event, has); err != nil {
			_ = d.Nak() // else it comes again after ackWait
			return err
		}
		if err := d.Ack(); err != nil {
			return err
		}
	}
}

func event(m jetstream.Msg) Event {
	value := func(name string) string {
		v, _ := url.QueryUnescape(m.Headers().Get(name)) // empty for what is none
		return v
	}
	return Event{Body: m.Data(), URL: value("Address"), Signature: value("Signature"), Service: value("Service")}
}
