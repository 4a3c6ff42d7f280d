// Package desk connects to the office's stream of events. The hub publishes to it; the other desks read it and acknowledge.
// The stream is in a hub of this office (package hub) or in a cluster of NATS servers.
//
// What it promises: an event is in a stream at most once, as long as the stream keeps it; when Publish returns nil, the
// event is on the server's disk; an event is acknowledged only after the caller has stored it; nothing is told to a server
// that does not have the pinned key.
//
// What it must not know: what an event means, who is a desk, and when to try again. The stream is only a pipe: it may be
// lost and filled again, and may then reuse sequence numbers.
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

// ErrOther means that a server other than the pinned one answered.
var ErrOther = errors.New("another server answers")

// Way says how to reach a stream.
type Way struct {
	Servers string // nats://host:port, separated by commas
	Pin     string // of the server's certificate, see Pin; empty for one that the system trusts
	Guest   bool   // accepts any certificate: what the server says is verified by other means
	Seed    string // this desk's own key
	// Local is a server in this process, instead of Servers.
	Local nats.InProcessConnProvider
	// Dial connects to the network; nil is the system's dialer.
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

// KeyOf derives a key pair from a secret.
func KeyOf(secret [32]byte) (seed, public string, err error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, secret[:])
	if err != nil {
		return "", "", err
	}
	b, err1 := pair.Seed()
	public, err2 := pair.PublicKey()
	return string(b), public, errors.Join(err1, err2)
}

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
	ackWait     = 10 * time.Second // for what was delivered and neither acknowledged nor refused
	inFlight    = 32               // messages: they wait here while their ackWait runs
	prefix      = "HUBJS"
	requests    = "office.desk." // followed by the public key of the desk that asks
)

// Conn is a connection. It does not reconnect by itself: its owner watches Closed and makes a new one.
type Conn struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	key    string
	closed <-chan struct{}

	answering sync.WaitGroup
}

// Connect connects to the first server that accepts it. The error is ErrRemoved, ErrOther, or what prevents the connection:
// what a server said about this desk takes precedence over other addresses (of the same hub, for example) being unreachable.
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
			MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // the pin is checked instead, on every connection
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
		options = append(options, nats.SetCustomDialer(&d), nats.SkipHostLookup()) // host lookup would not end with ctx
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

// dialer bounds a connection by ctx until NATS is connected: a server may accept the connection and then say nothing.
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

// Close closes the connection, and waits until it is closed and the answer in progress has been given.
func (c *Conn) Close() {
	c.nc.Close()
	<-c.closed
	c.answering.Wait()
}

// Removed reports whether the server ended the connection because it no longer knows the key.
func (c *Conn) Removed() bool { return errors.Is(c.nc.LastError(), nats.ErrAuthorization) }

// Event is one verified notification, as it arrived.
type Event struct {
	ID        string `json:"id"`
	Body      []byte `json:"body"` // never empty: an empty message would end a delivery
	URL       string `json:"url,omitempty"`
	Signature string `json:"signature,omitempty"`
	Service   string `json:"service,omitempty"`
}

// Token is the name of an event in a stream.
func Token(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// Stream describes a stream as the hub wants it.
type Stream struct {
	Epoch    int // number of the hub: each new hub increments it, and the highest one counts
	Age      time.Duration
	Bytes    int64
	Replicas int
}

// streamName is the prefix of streams' names.
const streamName = "OFFICE_"

func StreamName(epoch int) string { return fmt.Sprint(streamName, epoch) }

func (s Stream) subject(token string) string { return fmt.Sprintf("ev.%d.%s", s.Epoch, token) }

// MaxHubs is how many hubs one may have missed. A number that is higher than that must be a fault: if it were believed, no other
// hub would ever count again.
const MaxHubs = 1000

// Fenced is the error for later hubs that have a stream; its value is the number of the last one.
type Fenced int

func (Fenced) Error() string { return "another computer is the hub now" }

// Prepare creates the stream or updates its settings. A stream that holds fewer events than were published is new or was
// lost.
func (c *Conn) Prepare(ctx context.Context, s Stream) error {
	earlier, err := c.earlier(ctx, s)
	if err != nil {
		return err
	}
	for _, name := range earlier { // each reserves disk space; the previous hub's stream stays for desks that have not met this hub yet
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

// earlier returns the streams of all hubs before the previous one, or Fenced.
func (c *Conn) earlier(ctx context.Context, s Stream) (list []string, err error) {
	last := s.Epoch
	names := c.js.StreamNames(ctx)
	for name := range names.Name() {
		number, ours := strings.CutPrefix(name, streamName)
		epoch, err := strconv.Atoi(number)
		switch {
		case !ours || err != nil || StreamName(epoch) != name: // another stream of the office's server
		case epoch > s.Epoch && epoch-s.Epoch < MaxHubs: // desks believe a number that continues from it
			last = max(last, epoch)
		case epoch < s.Epoch-1:
			list = append(list, name)
		}
	}
	if last > s.Epoch {
		return nil, Fenced(last)
	}
	return list, names.Err()
}

// Current fails if there is a later hub.
func (c *Conn) Current(ctx context.Context, s Stream) error {
	_, err := c.earlier(ctx, s)
	return err
}

// Tokens are the names of the events in the stream.
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

// wrongLast is the server's error code for a subject that already has a message.
const wrongLast = 10071

// ErrUnfit means that no stream will ever take an event: it is empty, or larger than the server allows.
var ErrUnfit = errors.New("the event does not fit into a stream")

// Publish puts an event into the stream unless it is there already. It fails with ErrUnfit for one that no stream can take.
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

// Follow makes the server keep, for the desk with that key, everything published from since on, until Forget. If the desk
// already follows, it continues where it was.
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
		if err := c.Forget(ctx, s, key); err != nil { // the stream was truncated, and this consumer would get nothing until it is as long again
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

// Forget undoes Follow.
func (c *Conn) Forget(ctx context.Context, s Stream, key string) error {
	err := c.js.DeleteConsumer(ctx, StreamName(s.Epoch), key)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return err
}

func (c *Conn) Following(ctx context.Context, s Stream) (keys []string, err error) {
	stream, err := c.js.Stream(ctx, StreamName(s.Epoch))
	if err != nil {
		return nil, err
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if IsKey(name) { // others are of the office's server
			keys = append(keys, name)
		}
	}
	return keys, names.Err()
}

// Waiting returns how many events wait for a desk, and when it last acknowledged one; zero for never.
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

// Question is a desk's request to the hub.
type Question struct {
	Person string `json:"person,omitempty"` // who works there
	Met    int    `json:"met,omitempty"`    // the latest hub that the desk has met
	Events bool   `json:"events,omitempty"` // asks for a page of the events the hub has stored, newest first, starting after Before
	Before string `json:"before,omitempty"`
	Asker  string `json:"asker,omitempty"` // of a code: the computer that types it, by a word of its own
	Got    bool   `json:"got,omitempty"`   // it has what the code is for
}

// Answer is the hub's reply.
type Answer struct {
	Epoch   int       `json:"epoch"`
	Since   time.Time `json:"since,omitzero"`    // since when the hub receives events, by its clock; zero while it does not
	Removed bool      `json:"removed,omitempty"` // the hub does not know the desk that asks; the rest is empty
	Desks   []Member  `json:"desks,omitempty"`
	Moved   *Place    `json:"moved,omitempty"`  // where the hub is now
	Sealed  []byte    `json:"sealed,omitempty"` // an invitation, for a desk that asks with the key of its code; the rest is empty
	Events  []Event   `json:"events,omitempty"`
	Next    string    `json:"next,omitempty"` // where the next page begins; empty after the last one
}

// Member is a desk of the hub, or the hub itself.
type Member struct {
	Name string    `json:"name"`
	Key  string    `json:"key"` // public
	Made time.Time `json:"made,omitzero"`
}

// Place says how to reach a hub, as Way does.
type Place struct {
	Servers string `json:"servers"`
	Pin     string `json:"pin"`
}

// maxQuestions is how many questions of one desk may wait for an answer. Further ones are dropped, so that no desk keeps the
// others waiting.
const maxQuestions = 4

// Answers makes the hub answer the desks, one question at a time, until the connection ends.
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

// reply sends the answer. If it sends none, the desk asks again.
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

// Mark is the position up to which a desk has acknowledged. It is stored together with the desk's events, and so shows
// whether they are all still there: after a restore, the server has acknowledgements beyond it that the desk knows nothing
// of.
type Mark struct {
	Reader time.Time `json:"reader"` // when the server's consumer was created: a different one has its own positions
	Acked  uint64    `json:"acked"`  // deliveries
}

// Reader is the state of a desk's consumer on the server.
type Reader struct {
	Made             time.Time
	Floor, Delivered jetstream.SequenceInfo // positions up to which everything is acknowledged, and delivered
	Pending          int                    // delivered and not acknowledged
}

type Delivery struct {
	Event
	At       jetstream.SequencePair
	Again    bool
	Ack, Nak func() error
}

// Receive passes every event of the stream to take, one after the other, and acknowledges it once take has returned nil. It
// calls missed before an event that does not follow the previous one, and when the server has more acknowledgements than
// had. Both functions get the mark as of then. Receive returns when the connection or ctx ends, or when either function
// fails; what was not acknowledged is delivered again.
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

// Read is Receive over any source of deliveries.
func Read(ctx context.Context, r Reader, had Mark, next func() (Delivery, error), take func(Event, Mark) error, missed func(Mark) error) error {
	last, has := r.Delivered.Stream, Mark{r.Made, r.Floor.Consumer}
	lacks := r.Floor.Stream > 0 && last-r.Floor.Stream > uint64(r.Pending) // a gap was found before and perhaps not asked for, or acknowledgements came out of order
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
			last = d.At.Stream // may be lower than before: a damaged stream reuses numbers
		}
		has.Acked = d.At.Consumer
		if err := take(d.Event, has); err != nil {
			_ = d.Nak() // otherwise it is delivered again only after ackWait
			return err
		}
		if err := d.Ack(); err != nil {
			return err
		}
	}
}

func event(m jetstream.Msg) Event {
	value := func(name string) string {
		v, _ := url.QueryUnescape(m.Headers().Get(name)) // empty if it cannot be decoded
		return v
	}
	return Event{Body: m.Data(), URL: value("Address"), Signature: value("Signature"), Service: value("Service")}
}
