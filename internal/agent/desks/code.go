package desks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/desk"
	"countersign/internal/message"
	"countersign/internal/nearby"
	"countersign/internal/office"
	"countersign/internal/safe"
)

// An invitation by a code: scrypt derives from the code a key that the hub admits as a guest, whose hash is the name under which the
// hub is found, and the key that seals the invitation. So nobody without the code finds or gets anything, and a hub without it does
// not answer. With 60 bits it can neither be guessed nor recovered from recorded traffic.

var (
	codeTime  = 10 * time.Minute
	findTime  = 5 * time.Second
	startTime = 5 * time.Second // for a hub that is just starting
)

const (
	maxInvitation = 64 << 10 // bytes

	codeLength  = 12                                 // letters of five bits
	codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's alphabet: without I, L, O and U
)

func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	c := base32.NewEncoding(codeLetters).EncodeToString(b[:])
	return c[:4] + "-" + c[4:8] + "-" + c[8:codeLength]
}

// plainCode normalizes a typed code.
func plainCode(typed string) (string, error) {
	c := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
	if len(c) != codeLength || strings.Trim(c, codeLetters) != "" {
		return "", message.Error(message.CodeForm(), nil)
	}
	return c, nil
}

// keys returns what is derived from a code.
func keys(typed string) (seed, key string, secret safe.Secret, err error) {
	code, err := plainCode(typed)
	if err != nil {
		return seed, key, secret, err
	}
	guest, secret, err := safe.Password(code).Stretch("countersign invitation")
	if err == nil {
		seed, key, err = desk.KeyOf(guest)
	}
	return seed, key, secret, err
}

// offer is an invitation waiting for somebody with its code.
type offer struct {
	sealed []byte
	once   bool
	asker  string // with once: the computer that got it, and gets it again until it confirms
	end    context.CancelCauseFunc
}

// asker identifies this computer until the program ends.
var asker = rand.Text()

var errTaken = errors.New("it was taken")

// Offer makes a code, passes it to tell, and gives the invitation to whoever enters it: once, whereupon it returns without an error,
// or to everybody until ctx or its time ends.
func (r *Service) Offer(ctx context.Context, invitation []byte, once bool, tell func(code string) error) error {
	x := r.running()
	for end := r.Now().Add(startTime); x == nil && r.Settings().OfficeListen != "" && r.Now().Before(end) && loop.Sleep(ctx, 100*time.Millisecond); {
		x = r.running()
	}
	if x == nil || x.hub == nil {
		return message.Error(message.CodeNotOffered(), nil)
	}
	code := newCode()
	_, key, secret, err := keys(code)
	if err != nil {
		return err
	}
	var sealed bytes.Buffer
	w, err := safe.Seal(&sealed, secret)
	if err == nil {
		_, err = w.Write(invitation)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	timed, stop := context.WithTimeoutCause(ctx, codeTime, message.Error(message.CodeExpired(), nil))
	defer stop()
	open, end := context.WithCancelCause(timed)
	var answering sync.WaitGroup
	defer answering.Wait()
	defer end(nil)
	r.mu.Lock()
	r.offers[key] = &offer{sealed: sealed.Bytes(), once: once, end: end}
	r.mu.Unlock()
	defer r.withdraw(ctx, key)
	at := x.hub.Address()
	if at == nil { // stopped meanwhile
		return message.Error(message.CodeNotOffered(), nil)
	}
	if err := x.hub.Admit(key); err != nil {
		return err
	}
	answering.Go(func() {
		if err := nearby.Answer(open, desk.Token(key), place(at)); err != nil {
			r.Log.Warn("nobody finds this computer on the network by itself", "err", err)
		}
	})
	if err := tell(code); err != nil {
		return err
	}
	<-open.Done()
	if err := context.Cause(open); !errors.Is(err, errTaken) {
		return err
	}
	return nil
}

// place returns the address at which others reach the listener.
func place(listens net.Addr) netip.AddrPort {
	at, _ := netip.ParseAddrPort(listens.String()) // always a TCP address
	return at
}

// withdraw ends an offer, leaving a moment to a guest who is just receiving it.
func (r *Service) withdraw(ctx context.Context, key string) {
	r.mu.Lock()
	delete(r.offers, key)
	r.mu.Unlock()
	for end := r.Now().Add(5 * time.Second); ; {
		x := r.running()
		if x == nil || x.hub == nil {
			return
		}
		if !x.hub.Connected(key) || r.Now().After(end) || !loop.Sleep(ctx, 50*time.Millisecond) {
			x.hub.Remove(key)
			return
		}
	}
}

func (r *Service) guests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.offers))
}

// handOut answers a caller that is no desk: a guest with a code, or a removed desk. An invitation for one computer is for the first
// that asks, which may ask again because the answer may be lost.
func (r *Service) handOut(key string, q desk.Question) (a desk.Answer, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.offers[key]
	if o == nil || o.once && (len(q.Asker) != len(asker) || o.asker != "" && o.asker != q.Asker) {
		return a, desk.ErrRemoved
	}
	if o.asker = q.Asker; o.once && q.Got {
		delete(r.offers, key)
		o.end(errTaken)
	}
	return desk.Answer{Sealed: o.sealed}, nil
}

// Fetch gets the invitation that a hub offers by a code. It looks for the hub on the local network unless at says where it is.
func Fetch(ctx context.Context, code, at string) (invitation []byte, err error) {
	seed, key, secret, err := keys(code)
	if err != nil {
		return nil, err
	}
	get := func(server string) bool {
		invitation, err = fetch(ctx, desk.Way{Servers: server, Seed: seed, Guest: true}, secret)
		return err == nil
	}
	if at = strings.TrimPrefix(strings.TrimSpace(at), "nats://"); at != "" {
		if _, _, bad := net.SplitHostPort(at); bad != nil {
			at = net.JoinHostPort(at, office.HubPort)
		}
		get("nats://" + at)
	} else {
		finding, cancel := context.WithTimeout(ctx, findTime)
		defer cancel()
		err = message.Error(message.CodeNotFound(), nil)
		if nowhere := nearby.Find(finding, desk.Token(key), func(at netip.AddrPort) bool { return get("nats://" + at.String()) }); nowhere != nil {
			err = errors.Join(err, nowhere)
		}
	}
	switch _, said := message.Of(err); {
	case err == nil, said, ctx.Err() != nil:
		return invitation, err
	case errors.Is(err, desk.ErrRemoved):
		return nil, message.Error(message.CodeUnknown(), err)
	}
	return nil, message.Error(message.CodeNotReached(), err)
}

func fetch(ctx context.Context, w desk.Way, secret safe.Secret) ([]byte, error) {
	conn, err := desk.Connect(ctx, w)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	a, err := conn.Ask(ctx, desk.Question{Asker: asker})
	if err != nil {
		return nil, err
	}
	r, err := safe.Open(bytes.NewReader(a.Sealed), secret)
	if err != nil {
		return nil, err
	}
	invitation, err := io.ReadAll(io.LimitReader(r, maxInvitation))
	if err == nil {
		_, _ = conn.Ask(ctx, desk.Question{Asker: asker, Got: true}) // if this is lost, the code expires by itself
	}
	return invitation, err
}
