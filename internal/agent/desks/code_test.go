package desks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/desk"
	"countersign/internal/message"
	"countersign/internal/nearby"
	"countersign/internal/safe"
	"countersign/internal/trytest"
)

// onLoopback keeps what is asked of the network on this computer, and has codes cost nothing.
func onLoopback() {
	safe.Work = 1
	nearby.Interfaces = func() (list []net.Interface, err error) {
		all, err := net.Interfaces()
		for _, i := range all {
			if i.Flags&net.FlagLoopback != 0 {
				list = append(list, i)
			}
		}
		return list, err
	}
}

// offering has the hub offer an invitation, and returns its code.
func (c *computer) offering(ctx context.Context, invitation string, once bool) (code string, over chan error) {
	c.t.Helper()
	told, over := make(chan string, 1), make(chan error, 1)
	go func() {
		over <- c.Offer(ctx, []byte(invitation), once, func(code string) error { told <- code; return nil })
	}()
	select {
	case code = <-told:
	case err := <-over:
		c.t.Fatal(err)
	}
	return code, over
}

func fails(t *testing.T, what string, err error, with message.Message) {
	t.Helper()
	if got, _ := message.Of(err); got != with {
		t.Errorf("%s: %v, want %v", what, err, with)
	}
}

func TestAnInvitationIsGivenOnceToWhoKnowsItsCode(t *testing.T) {
	hub, at := newHub(t)
	eventually(t, "the hub works", func() bool { return hub.running() != nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, over := hub.offering(ctx, "for one", true)
	other, _ := hub.offering(ctx, "for another", true)

	// Whoever answers without knowing the code is passed over.
	_, key, _, err := keys(code)
	noErr(t, err)
	false1, where := newHub(t)
	var b bytes.Buffer
	w, err := safe.Seal(&b, safe.Secret{})
	noErr(t, err)
	noErr(t, w.Close())
	eventually(t, "the false hub works", func() bool { return false1.running() != nil })
	false1.offers[key] = &offer{sealed: b.Bytes()}
	noErr(t, false1.running().hub.Admit(key))
	lying := make(chan error, 1)
	go func() { lying <- nearby.Answer(ctx, desk.Token(key), netip.MustParseAddrPort(where)) }()
	_, err = Fetch(t.Context(), code, where)
	fails(t, "a false hub", err, message.CodeNotReached())

	// An answer that is lost is given again, to the same computer alone.
	seed, _, _, err := keys(code)
	noErr(t, err)
	asks := func(as string) error {
		conn, err := desk.Connect(t.Context(), desk.Way{Servers: "nats://" + at, Seed: seed, Guest: true})
		noErr(t, err)
		defer conn.Close()
		_, err = conn.Ask(t.Context(), desk.Question{Asker: as})
		return err
	}
	noErr(t, asks(asker))
	for _, as := range []string{rand.Text(), ""} {
		if err := asks(as); !errors.Is(err, desk.ErrRemoved) {
			t.Errorf("another computer with the code: %v", err)
		}
	}

	got, err := Fetch(t.Context(), strings.ToLower(strings.NewReplacer("-", " ", "0", "o", "1", "l").Replace(code)), "")
	if string(got) != "for one" || err != nil {
		t.Fatalf("it got %q, %v", got, err)
	}
	noErr(t, <-over)
	_, err = Fetch(t.Context(), code, "nats://"+at)
	fails(t, "a code that was used", err, message.CodeUnknown())
	if got, err := Fetch(t.Context(), other, at); string(got) != "for another" || err != nil {
		t.Errorf("beside it: %q, %v", got, err)
	}

	cancel()
	noErr(t, <-lying)
	findTime = 100 * time.Millisecond
	defer func() { findTime = 5 * time.Second }()
	_, err = Fetch(t.Context(), newCode(), "")
	fails(t, "a wrong code", err, message.CodeNotFound())
	_, err = Fetch(t.Context(), code, free(t))
	fails(t, "an address where nobody is", err, message.CodeNotReached())
	for _, typed := range []string{"", "ABCD-EFGH-JKM", "ABCD-EFGH-JKMNP", "ABCD-EFGH-JKMU"} {
		_, err = Fetch(t.Context(), typed, at)
		fails(t, typed, err, message.CodeForm())
	}
}

func TestAnOfferEnds(t *testing.T) {
	hub, at := newHub(t)
	eventually(t, "the hub works", func() bool { return hub.running() != nil })
	ctx, cancel := context.WithCancel(t.Context())
	code, over := hub.offering(ctx, "for all", false)
	hub.Reopen() // what is offered outlives a new start of the server
	for range 2 {
		eventually(t, "it is given to everybody", func() bool {
			got, err := Fetch(t.Context(), code, at)
			return string(got) == "for all" && err == nil
		})
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err := Fetch(t.Context(), code, at)
	fails(t, "a code that was taken back", err, message.CodeUnknown())

	codeTime = 10 * time.Millisecond
	defer func() { codeTime = 10 * time.Minute }()
	_, over = hub.offering(t.Context(), "for one", true)
	fails(t, "time", <-over, message.CodeExpired())
	hub.stop()
	startTime = 0
	defer func() { startTime = 5 * time.Second }()
	fails(t, "no hub", hub.Offer(t.Context(), nil, true, nil), message.CodeNotOffered())
}

// BenchmarkDesks has the service call the hub and measures how long an event takes from the call to the inbox of the last of 50 desks,
// or of one, the floor: as many as -benchtime says, as fast as the hub answers them on eight connections, and before that at most 200,
// one each 10 ms. All of it is in this process: the server with its stream and the hub's data on the disk, and for each desk a
// connection and data of its own, those in memory, because each computer has its own disk.
func BenchmarkDesks(b *testing.B) {
	for _, desks := range []int{1, 50} {
		b.Run(fmt.Sprint(desks), func(b *testing.B) {
			measure(b, "paced", desks, min(b.N, 200), 1, 10*time.Millisecond)
			measure(b, "burst", desks, b.N, 8, 0)
		})
	}
}

func measure(b *testing.B, what string, desks, events, connections int, pause time.Duration) {
	askEvery = time.Minute
	memory := os.Getenv("TMPDIR")
	noErr(b, os.Setenv("TMPDIR", b.TempDir()))
	hub, _ := newHub(b)
	noErr(b, os.Setenv("TMPDIR", memory))
	front := httptest.NewServer(hub.inbox)
	defer front.Close()
	front.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = connections
	at, took := make([]time.Time, events), make([]time.Duration, events)
	left := make([]atomic.Int64, events)
	open, over := atomic.Int64{}, make(chan struct{})
	open.Store(int64(events))
	arrived := func(id string) {
		n := trytest.Must(strconv.Atoi(id)) - 1
		if left[n].Add(1) == int64(desks) {
			if took[n] = time.Since(at[n]); open.Add(-1) == 0 {
				close(over)
			}
		}
	}
	var all []*computer
	for n := range desks {
		d := hub.invite(fmt.Sprint(n))
		d.added.Store(&arrived)
		all = append(all, d)
	}
	for _, d := range all {
		d.listens()
	}
	began := time.Now()
	var calls sync.WaitGroup
	for first := range connections {
		calls.Go(func() {
			for n := first; n < events; n += connections {
				body := fmt.Appendf(nil, `{"eventId":"%d","action":"document_signed","more":%q}`, n+1, strings.Repeat("x", 1400))
				sum := hmac.New(sha256.New, []byte(hookSecret))
				sum.Write(append([]byte(hookURL), body...))
				r := trytest.Must(http.NewRequest(http.MethodPost, front.URL, bytes.NewReader(body)))
				r.Header.Set("Signature", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
				at[n] = time.Now()
				answer := trytest.Must(front.Client().Do(r))
				if answer.Body.Close(); answer.StatusCode != http.StatusOK {
					b.Errorf("event %d is answered %d", n, answer.StatusCode)
				}
				time.Sleep(pause)
			}
		})
	}
	calls.Wait()
	answered := time.Since(began)
	<-over
	b.ReportMetric(float64(time.Since(began).Milliseconds()), what+"-all-ms")
	b.ReportMetric(float64(answered.Milliseconds()), what+"-answered-ms")
	slices.Sort(took)
	b.ReportMetric(float64(took[events/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[events*99/100].Microseconds())/1000, what+"-p99-ms")
	for _, d := range append(all, hub) {
		d.stop()
	}
}
