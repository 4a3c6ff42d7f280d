package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// dispatcher delivers events. The queue in memory mirrors the deliveries in the database that are not done; mu
// guards it. Each of the workers takes one entry at a time, so with one worker events arrive in order as long as
// the receiver answers; one that fails steps aside for its back-off and does not hold up the others.
type dispatcher struct {
	s      *Server
	http   *http.Client
	signal chan struct{} // has room for one: there may be something to do

	mu          sync.Mutex
	queue       []pending
	held        bool
	disturbance Disturbance
}

func newDispatcher(s *Server) (*dispatcher, error) {
	d := &dispatcher{s: s, signal: make(chan struct{}, 1), http: deliveryClient(s.opt)}
	if err := d.load(); err != nil {
		return nil, fmt.Errorf("reading the events that wait: %w", err)
	}
	return d, nil
}

// deliveryClient follows no redirect.
func deliveryClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.DeliverTimeout}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if via, ok := o.DeliverVia[addr]; ok {
				addr = via
			}
			return dialer.DialContext(ctx, network, addr)
		},
		Proxy: func(r *http.Request) (*url.URL, error) {
			if _, ok := o.DeliverVia[hostPort(r.URL)]; ok {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: o.DeliverWorkers,
		IdleConnTimeout:     30 * time.Second,
		TLSClientConfig:     &tls.Config{RootCAs: o.DeliverCAs, MinVersion: tls.VersionTLS12},
	}
	if o.DeliverDial != nil {
		transport.DialContext, transport.DialTLSContext = o.DeliverDial, o.DeliverDial
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       o.DeliverTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func hostPort(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

func (d *dispatcher) start() {
	for range d.s.opt.DeliverWorkers {
		d.s.workers.Go(func() { d.run(d.s.ctx) })
	}
}

func (d *dispatcher) wake() {
	select {
	case d.signal <- struct{}{}:
	default:
	}
}

func (d *dispatcher) push(items ...pending) {
	d.mu.Lock()
	d.queue = append(d.queue, items...)
	d.mu.Unlock()
	d.wake()
}

func (d *dispatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		item, wait := d.take(time.Now())
		if wait == 0 {
			d.wake() // for the other workers
			d.attempt(ctx, item)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-d.signal:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// take removes the next entry that is due, or says how long there is none.
func (d *dispatcher) take(now time.Time) (pending, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := time.Hour
	if d.held {
		return pending{}, wait
	}
	var due []int
	for i, p := range d.queue {
		if left := p.next.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		due = append(due, i)
		if !d.disturbance.Reorder {
			break
		}
	}
	if len(due) == 0 {
		return pending{}, wait
	}
	i := due[chance().IntN(len(due))]
	p := d.queue[i]
	d.queue = append(d.queue[:i], d.queue[i+1:]...)
	return p, 0
}

// attempt sends one event once, to the endpoint as it is registered at this moment.
func (d *dispatcher) attempt(ctx context.Context, p pending) {
	var item delivery
	var to endpoint
	err := d.s.db.View(func(tx *bolt.Tx) (err error) {
		if item, err = get[delivery](tx, bucketDeliveries, deliveryKey(p.seq)); err != nil {
			return err
		}
		to, err = get[endpoint](tx, bucketEndpoints, endpointKey(item.OrganizationID, item.ClientID))
		return err
	})
	status, problem := 0, ""
	if err == nil {
		status, err = d.send(ctx, to.URL, to.Secret, item.Body, nil)
	}
	if ctx.Err() != nil {
		return // stopped, not failed: the database still has it
	}
	if err == nil && (status < 200 || status > 299) {
		problem = fmt.Sprintf("The endpoint answered %d.", status)
	}
	gone := errors.Is(err, errNotFound)
	switch {
	case gone:
		problem = "No endpoint is registered any more."
	case err != nil:
		problem = err.Error()
	}
	again, next, err := d.record(p.seq, status, problem, gone)
	if err != nil {
		d.s.log.Error("recording a delivery failed", "event", item.EventID, "error", err)
		again, next = true, time.Now().Add(d.s.opt.RetryFirst)
	}
	d.s.log.Debug("event sent", "event", item.EventID, "action", item.Action, "status", status, "problem", problem)
	if again {
		d.push(pending{seq: p.seq, next: next})
	}
}

// send posts a body with its signature. Headers replace the ones that would be sent; an empty one removes it.
func (d *dispatcher) send(ctx context.Context, address, secret string, body []byte, headers map[string]string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("addressing the endpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "signing-service-sandbox")
	req.Header.Set(d.s.opt.SignatureHeader, sign(address, secret, body))
	for name, value := range headers {
		req.Header.Del(name)
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("sending to the endpoint: %w", err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // lets the connection be used again
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

// sign is interface.md, webhook authentication 3: HMAC-SHA256 over the endpoint's URL and the raw body, keyed with
// the secret's own bytes, in base64.
func sign(address, secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(address))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
