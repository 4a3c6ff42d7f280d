package hub_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/desk"
	"countersign/internal/hub"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var stream = desk.Stream{Epoch: 1, Age: time.Hour, Bytes: 64 << 20}

// office is a hub with its own connection.
type office struct {
	t       *testing.T
	folder  string
	cert    tls.Certificate
	seed    string
	at, pin string
	hub     *hub.Hub
	own     *desk.Conn
	said    atomic.Int64 // lines of the log

	slog.Handler
}

func (o *office) Enabled(context.Context, slog.Level) bool  { return true }
func (o *office) Handle(context.Context, slog.Record) error { o.said.Add(1); return nil }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newOffice(t *testing.T) *office {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der := must(x509.CreateCertificate(rand.Reader, of, of, key.Public(), key))
	seed, _, err := desk.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, folder: t.TempDir(), seed: seed, at: "127.0.0.1:0", cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
	o.pin = desk.Pin(must(x509.ParseCertificate(der)).RawSubjectPublicKeyInfo)
	o.start()
	t.Cleanup(o.stop)
	return o
}

func (o *office) start() {
	o.t.Helper()
	var err error
	o.hub, err = hub.Start(hub.Config{
		Folder: o.folder, Listen: o.at, Certificate: o.cert, Stream: desk.StreamName(1), Own: must(desk.Public(o.seed)), Log: slog.New(o),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.at = o.hub.Address().String()
	o.own = must(desk.Connect(context.Background(), desk.Way{Local: o.hub, Seed: o.seed}))
	if err := o.own.Prepare(o.t.Context(), stream); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) stop() {
	o.own.Close()
	o.hub.Close()
}

// invite admits a desk.
func (o *office) invite() (w desk.Way, key string) {
	o.t.Helper()
	seed, key, err := desk.NewKey()
	if err = errors.Join(err, o.hub.Admit(key), o.own.Follow(o.t.Context(), stream, key, time.Now().Add(-time.Minute))); err != nil {
		o.t.Fatal(err)
	}
	return desk.Way{Servers: "nats://" + o.at, Pin: o.pin, Seed: seed}, key
}

func (o *office) publish(from, to int) {
	o.t.Helper()
	for i := from; i < to; i++ {
		if err := o.own.Publish(o.t.Context(), stream, desk.Event{ID: fmt.Sprint(i), Body: []byte(fmt.Sprint(i)), Service: "a b", URL: "https://x/ü"}); err != nil {
			o.t.Fatal(err)
		}
	}
}

// marks are the marks stored by desks, by key.
var marks = map[string]desk.Mark{}

// receive collects bodies, and "missed" for each reported gap, until there are n, or briefly if n is 0.
func receive(t *testing.T, w desk.Way, n int) (got []string) {
	t.Helper()
	c := must(desk.Connect(context.Background(), w))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 300 * time.Millisecond, false: 10 * time.Second}[n == 0])
	defer cancel()
	err := c.Receive(ctx, 1, marks[w.Seed], func(e desk.Event, is desk.Mark) error {
		marks[w.Seed] = is
		if e.Service != "a b" || e.URL != "https://x/ü" {
			t.Errorf("%+v", e)
		}
		if got = append(got, string(e.Body)); len(got) == n {
			time.AfterFunc(200*time.Millisecond, cancel)
		}
		return nil
	}, func(desk.Mark) error { got = append(got, "missed"); return nil })
	if ctx.Err() == nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryDeskGetsEveryEventOnceAlsoAfterAStart(t *testing.T) {
	o := newOffice(t)
	one, _ := o.invite()
	two, _ := o.invite()
	o.publish(0, 5)
	o.publish(0, 5) // publishing again changes nothing
	for _, w := range []desk.Way{one, two} {
		if got := receive(t, w, 5); strings.Join(got, " ") != "0 1 2 3 4" {
			t.Errorf("%v", got)
		}
	}
	o.stop()
	o.start()
	for _, w := range []desk.Way{one, two} {
		if err := o.hub.Admit(must(desk.Public(w.Seed))); err != nil {
			t.Fatal(err)
		}
	}
	o.publish(3, 7)
	before := marks[one.Seed]
	if got := receive(t, one, 2); strings.Join(got, " ") != "5 6" {
		t.Errorf("%v", got)
	}
	marks[one.Seed] = before // as if a backup had been restored
	o.publish(7, 8)
	if got := receive(t, one, 2); strings.Join(got, " ") != "missed 7" {
		t.Errorf("a desk that was restored: %v", got)
	}
	if have := must(o.own.Tokens(t.Context(), stream)); len(have) != 8 || !have[desk.Token("6")] {
		t.Errorf("%v", have)
	}
}

func TestStrangersLearnNothingAndARemovedDeskIsCutOff(t *testing.T) {
	o := newOffice(t)
	w, key := o.invite()
	stranger := w
	stranger.Seed, _, _ = desk.NewKey()
	if _, err := desk.Connect(context.Background(), stranger); !errors.Is(err, desk.ErrRemoved) {
		t.Errorf("a stranger: %v", err)
	}
	other := w
	other.Pin = desk.Pin([]byte("another"))
	if _, err := desk.Connect(context.Background(), other); !errors.Is(err, desk.ErrOther) {
		t.Errorf("another server: %v", err)
	}
	own := w
	own.Seed = o.seed // only this process may use the hub's own key
	if _, err := desk.Connect(context.Background(), own); !errors.Is(err, desk.ErrRemoved) {
		t.Errorf("the hub's key from outside: %v", err)
	}
	plain := must(net.Dial("tcp", o.at))
	defer plain.Close()
	_ = plain.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := plain.Read(make([]byte, 100)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("without TLS the server says %d bytes (%v)", n, err)
	}

	c := must(desk.Connect(context.Background(), w))
	if !o.hub.Connected(key) {
		t.Error("it is not seen")
	}
	o.hub.Remove(key)
	select {
	case <-c.Closed():
	case <-time.After(5 * time.Second):
		t.Error("it is still connected")
	}
	if _, err := desk.Connect(context.Background(), w); !errors.Is(err, desk.ErrRemoved) || o.hub.Connected(key) {
		t.Errorf("after it was removed: %v", err)
	}
	if err := o.hub.Admit(key); err != nil {
		t.Fatal(err)
	}
	must(desk.Connect(context.Background(), w)).Close()
}

// Permissions do not cover the reply of a request, so an answerer could write where a desk must not.
func TestADeskCanDoNothingButReadItsOwn(t *testing.T) {
	o := newOffice(t)
	w, key := o.invite()
	victim, other := o.invite()
	o.publish(0, 3)
	pair := must(nkeys.FromSeed([]byte(w.Seed)))
	nc := must(nats.Connect("tls://"+o.at, nats.Nkey(key, pair.Sign), nats.TLSHandshakeFirst(), nats.NoReconnect(), nats.CustomInboxPrefix("_INBOX_"+key),
		nats.Secure(&tls.Config{InsecureSkipVerify: true}), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))
	defer nc.Close()
	name := desk.StreamName(1)
	next, info, ack := "CONSUMER.MSG.NEXT."+name+".", "CONSUMER.INFO."+name+".", "$JS.ACK."+name+"."+key+".1.1.1.1.0"
	for _, reply := range []string{
		"ev.1.x", "$JS.API.STREAM.PURGE." + name, "$JS.API.STREAM.DELETE." + name, "$JS.API.CONSUMER.DELETE." + name + "." + other,
		"$JS.API." + next + other, "HUBJS." + next + other, "office.desk." + other, "$JS.ACK." + name + "." + other + ".1.1.1.1.0",
	} {
		for _, to := range []string{"HUBJS." + info + key, ack, "office.desk." + key, "HUBJS." + next + key} {
			body := ""
			if strings.Contains(to, "NEXT") {
				body = `{"batch":1,"no_wait":true}`
			}
			if err := nc.PublishRequest(to, reply, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		_ = nc.PublishRequest(reply, "_INBOX_"+key+".x", nil)
	}
	for _, direct := range []string{"$JS.API." + info + other, "HUBJS." + info + other, "$JS.API.INFO", "HUBJS.STREAM.INFO." + name} {
		if m, err := nc.Request(direct, nil, 100*time.Millisecond); err == nil {
			t.Errorf("%s was answered: %s", direct, m.Data)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Log(err) // may be refused by now
	}
	time.Sleep(100 * time.Millisecond)
	if have := must(o.own.Tokens(t.Context(), stream)); len(have) != 3 {
		t.Errorf("the stream has %v", have)
	}
	if got := receive(t, victim, 3); strings.Join(got, " ") != "0 1 2" {
		t.Errorf("the other desk got %v", got)
	}
}

func TestWhatWasDroppedIsMissed(t *testing.T) {
	o := newOffice(t)
	w, _ := o.invite()
	o.publish(0, 2)
	receive(t, w, 2)
	small := stream
	small.Bytes = 200
	o.publish(2, 6)
	if err := o.own.Prepare(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	c := must(desk.Connect(context.Background(), w))
	defer c.Close()
	missed := 0
	enough := errors.New("enough")
	err := c.Receive(t.Context(), 1, marks[w.Seed], func(desk.Event, desk.Mark) error { return enough }, func(desk.Mark) error { missed++; return nil })
	if missed != 1 || !errors.Is(err, enough) {
		t.Errorf("missed %d times, %v", missed, err)
	}
}

func TestAStreamThatIsGoneIsMadeAnewAndAnEarlierHubIsFenced(t *testing.T) {
	o := newOffice(t)
	w, key := o.invite()
	o.publish(0, 3)
	receive(t, w, 3)
	o.stop()
	if err := os.RemoveAll(filepath.Join(o.folder, "jetstream")); err != nil {
		t.Fatal(err)
	}
	o.start()
	if err := errors.Join(o.hub.Admit(key), o.own.Follow(t.Context(), stream, key, time.Now().Add(-time.Minute))); err != nil {
		t.Fatal(err)
	}
	o.publish(0, 4)
	if got := receive(t, w, 5); strings.Join(got, " ") != "missed 0 1 2 3" { // the desk recognises three of them by their ids
		t.Errorf("%v", got)
	}
	later := stream
	later.Epoch = 2
	if err := o.own.Prepare(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if err := o.own.Prepare(t.Context(), stream); !errors.Is(err, desk.Fenced(2)) {
		t.Errorf("the hub before: %v", err)
	}
}

// Further, unreachable addresses of a hub hide neither its answer nor the end of the program.
func TestAConnectionSaysWhatTheHubSaidAndEndsWithItsContext(t *testing.T) {
	o := newOffice(t)
	w, key := o.invite()
	o.hub.Remove(key)
	hangs := must(net.Listen("tcp", "127.0.0.1:0")) // accepts connections, and says nothing
	defer hangs.Close()
	closed := must(net.Listen("tcp", "127.0.0.1:0"))
	closed.Close()
	w.Servers = "nats://" + closed.Addr().String() + "," + w.Servers + ",nats://" + closed.Addr().String()
	if _, err := desk.Connect(t.Context(), w); !errors.Is(err, desk.ErrRemoved) {
		t.Errorf("a desk that was removed: %v", err)
	}
	w.Servers = "nats://" + hangs.Addr().String() + ",nats://" + hangs.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := desk.Connect(ctx, w); err == nil || time.Since(began) > 3*time.Second {
		t.Errorf("it took %v, %v", time.Since(began), err)
	}
}

// Two computers with the same invitation would share its events: each would lack the other's.
func TestADeskHasOneConnection(t *testing.T) {
	o := newOffice(t)
	w, _ := o.invite()
	before := must(desk.Connect(t.Context(), w))
	defer before.Close()
	o.publish(0, 2)
	if got := receive(t, w, 2); len(got) != 2 {
		t.Errorf("%v", got)
	}
	select {
	case <-before.Closed():
	case <-time.After(5 * time.Second):
		t.Error("the one before is still connected")
	}
}

func TestStrangersDoNotFillTheLog(t *testing.T) {
	o := newOffice(t)
	for range 30 {
		c := must(tls.Dial("tcp", o.at, &tls.Config{InsecureSkipVerify: true}))
		must(fmt.Fprintf(c, "CONNECT {\"nkey\":\"nobody\"}\r\nPING\r\n"))
		_, _ = io.Copy(io.Discard, c) // until it is refused
		c.Close()
	}
	if n := o.said.Load(); n == 0 || n > 10 {
		t.Errorf("%d lines", n)
	}
}

func TestStreamsOfHubsLongGoneMakeRoom(t *testing.T) {
	o := newOffice(t)
	for epoch := 2; epoch < 8; epoch++ {
		if err := o.own.Prepare(t.Context(), desk.Stream{Epoch: epoch, Age: time.Hour, Bytes: 1 << 30}); err != nil {
			t.Fatalf("hub %d: %v", epoch, err)
		}
	}
	if err := o.own.Prepare(t.Context(), stream); !errors.Is(err, desk.Fenced(7)) {
		t.Errorf("there are the hubs 6 and 7: %v", err)
	}
	absurd := stream
	absurd.Epoch += desk.MaxHubs
	// NATS removes the folder of an account's last stream late, maybe when the next one is being made: a hub tries again.
	for _, s := range []desk.Stream{absurd, stream} {
		err := o.own.Prepare(t.Context(), s)
		for tries := 1; err != nil && tries < 10 && !errors.Is(err, desk.Fenced(absurd.Epoch)); tries++ {
			time.Sleep(100 * time.Millisecond)
			err = o.own.Prepare(t.Context(), s)
		}
		if err != nil {
			t.Errorf("hub %d is believed: %v", absurd.Epoch, err)
		}
	}
}

// A desk that asks continuously does not keep others waiting.
func TestOneDeskKeepsNoOtherWaiting(t *testing.T) {
	o := newOffice(t)
	one, key := o.invite()
	two, _ := o.invite()
	if err := o.own.Answers(func(string, desk.Question) (desk.Answer, error) {
		time.Sleep(10 * time.Millisecond)
		return desk.Answer{Epoch: 1}, nil
	}); err != nil {
		t.Fatal(err)
	}
	pair := must(nkeys.FromSeed([]byte(one.Seed)))
	nc := must(nats.Connect("tls://"+o.at, nats.Nkey(key, pair.Sign), nats.TLSHandshakeFirst(), nats.NoReconnect(), nats.Secure(&tls.Config{InsecureSkipVerify: true})))
	defer nc.Close()
	for range 2000 {
		if err := nc.PublishRequest("office.desk."+key, "_INBOX_"+key+".x", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	c := must(desk.Connect(t.Context(), two))
	defer c.Close()
	if a, err := c.Ask(t.Context(), desk.Question{}); err != nil || a.Epoch != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}
