package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// dispatcher delivers events. The queue in memory mirrors the unfinished deliveries in the database; mu guards it. Events
// arrive in order as long as the receiver answers; one that fails waits for its back-off without holding up the others.
type dispatcher struct {
	s      *Server
	http   *http.Client
	signal chan struct{} // capacity 1: signals that there may be something to do

	mu          sync.Mutex
	queue       []pending
	held        bool
	disturbance Disturbance
}

const (
	deliverTimeout = 10 * time.Second // for one attempt
	retryFor       = 72 * time.Hour   // events older than this are given up
)

func newDispatcher(s *Server) (*dispatcher, error) {
	d := &dispatcher{s: s, signal: make(chan struct{}, 1), http: deliveryClient(s.opt.Delivery)}
	if err := d.load(); err != nil {
		return nil, fmt.Errorf("reading the events that wait: %w", err)
	}
	return d, nil
}

// deliveryClient follows no redirect.
func deliveryClient(o DeliveryOptions) *http.Client {
	dialer := &net.Dialer{Timeout: deliverTimeout}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if via, ok := o.Via[addr]; ok {
				addr = via
			}
			return dialer.DialContext(ctx, network, addr)
		},
		Proxy: func(r *http.Request) (*url.URL, error) {
			if _, ok := o.Via[hostPort(r.URL)]; ok {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   30 * time.Second,
		TLSClientConfig:   &tls.Config{RootCAs: o.CAs, MinVersion: tls.VersionTLS12},
	}
	if o.Dial != nil {
		transport.DialContext, transport.DialTLSContext = o.Dial, o.Dial
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       deliverTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func hostPort(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
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

// take removes the next entry that is due, or returns how long to wait for one.
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

// attempt sends one event once, to the currently registered endpoint.
func (d *dispatcher) attempt(ctx context.Context, p pending) {
	var item Delivery
	var to endpoint
	err := d.s.db.View(func(tx *bolt.Tx) (err error) {
		if item, err = get[Delivery](tx, bucketDeliveries, deliveryKey(p.seq)); err != nil {
			return err
		}
		to, err = get[endpoint](tx, bucketEndpoints, endpointKey(item.OrganizationID, item.ClientID))
		return err
	})
	status, problem := 0, ""
	if err == nil {
		status, err = d.send(ctx, to.URL, sign(to.URL, to.Secret, item.Body), item.Body)
	}
	if ctx.Err() != nil {
		return // interrupted, not failed: the database still has it
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
		d.s.opt.Log.Error("recording a delivery failed", "event", item.EventID, "error", err)
		again, next = true, time.Now().Add(d.s.opt.Delivery.RetryFirst)
	}
	d.s.opt.Log.Debug("event sent", "event", item.EventID, "action", item.Action, "status", status, "problem", problem)
	if again {
		d.push(pending{seq: p.seq, next: next})
	}
}

// send posts a body with its signature; "" for none.
func (d *dispatcher) send(ctx context.Context, address, signature string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("addressing the endpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "signing-service-sandbox")
	if signature != "" {
		req.Header.Set(d.s.opt.SignatureHeader, signature)
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

// Kinds of events (interface.md, events; service-facts.md section 11.3).
const (
	actionExecuted         = "package_executed"
	actionDocumentExecuted = "document_executed"
	actionSigned           = "document_signed"
	actionAdd              = "package_add"
	actionSent             = "package_sent"
	actionRescinded        = "package_rescinded"
)

// event is one notification: its bytes are generated once and never change, even if it is sent again.
type event struct {
	ID     string
	Action string
	Body   []byte
}

// newEvent writes the body. As in the samples of the service, the order of the properties and the digits of eventTime differ
// from event to event, so that nobody comes to rely on them.
func newEvent(action string, now time.Time, fields object) event {
	id := newID()
	fields["action"], fields["eventId"], fields["eventTime"] = action, id, eventTime(now)
	names := slices.Sorted(maps.Keys(fields))
	chance().Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var b bytes.Buffer
	for i, name := range names {
		b.WriteByte("{,"[min(i, 1)])
		value, _ := fields[name].(json.RawMessage) // the caller's own data, with its white space
		if value == nil {
			value, _ = json.Marshal(fields[name]) // a string or null always encodes
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	b.WriteByte('}')
	return event{ID: id, Action: action, Body: b.Bytes()}
}

// eventTime is an ISO 8601 UTC time stamp with one to seven digits of fraction.
func eventTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05." + strings.Repeat("0", 1+chance().IntN(7)) + "Z")
}

// packageEvents are events about a package as a whole.
func packageEvents(p *pack, now time.Time, kinds ...string) (events []event) {
	for _, kind := range kinds {
		events = append(events, newEvent(kind, now, object{
			"packageId": p.PackageID, "externalData": p.ExternalData,
			"eventOwnerOrganizationId": p.OrganizationID, "eventOwnerMemberId": p.MemberID,
		}))
	}
	return events
}

// documentExecutedEvent has no owner ids (interface.md, payload fields).
func documentExecutedEvent(p *pack, d *document, now time.Time) event {
	return newEvent(actionDocumentExecuted, now, object{"packageId": p.PackageID, "documentId": d.DocumentID, "externalId": d.ExternalID})
}

// signedEvent is for the n-th revision. nextSignerId is null when no signer follows; interface.md does not show it.
func signedEvent(p *pack, d *document, n int, now time.Time) event {
	r := d.Revisions[n]
	return newEvent(actionSigned, now, object{
		"packageId": p.PackageID, "documentId": d.DocumentID, "revisionId": r.RevisionID, "signerId": r.SignerID,
		"nextSignerId": orNil(d.nextSigner(n)), "externalId": d.ExternalID,
		"eventOwnerOrganizationId": p.OrganizationID, "eventOwnerMemberId": p.MemberID,
	})
}

// Delivery is an event for one endpoint. Body is what was or will be sent, byte for byte: it need not be UTF-8.
type Delivery struct {
	Seq            uint64     `json:"seq"`
	EventID        string     `json:"event_id"`
	Action         string     `json:"action"`
	PackageID      string     `json:"package_id"`
	OrganizationID string     `json:"organization_id"`
	ClientID       string     `json:"client_id"`
	Body           []byte     `json:"body"`
	Created        time.Time  `json:"created"`
	Next           time.Time  `json:"next"`      // not before this real time
	Delivered      *time.Time `json:"delivered"` // the first 2xx
	Attempts       int        `json:"attempts"`
	Status         int        `json:"status"`   // of the last answer; 0 if none came
	Problem        string     `json:"problem"`  // of the last attempt; "" after a 2xx
	GivenUp        bool       `json:"given_up"` // too old, or no endpoint is registered any more
}

func deliveryKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, seq))
}

// pending is an entry of the queue in memory.
type pending struct {
	seq  uint64
	next time.Time
}

// Disturbance says how events are delivered from now on.
type Disturbance struct {
	Duplicate int  `json:"duplicate"` // additional copies of every event
	Reorder   bool `json:"reorder"`   // send waiting events in random order
	DelayMS   int  `json:"delay_ms"`  // wait this long before the first attempt
}

// Disturb changes how events are delivered that are not being sent yet. The zero value ends all disturbance.
func (s *Server) Disturb(d Disturbance) {
	s.delivery.mu.Lock()
	s.delivery.disturbance = d
	s.delivery.mu.Unlock()
	s.delivery.wake()
}

// Hold keeps events back until Release.
func (s *Server) Hold() {
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	s.delivery.held = true
}

// Release lets events go: in the order they happened ("" or "fifo"), in "reverse" or in "random" order.
func (s *Server) Release(order string) error {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	switch order {
	case "", "fifo":
	case "reverse":
		slices.Reverse(d.queue)
	case "random":
		chance().Shuffle(len(d.queue), func(i, j int) { d.queue[i], d.queue[j] = d.queue[j], d.queue[i] })
	default:
		return badRequest("admin_invalid_order", "The order must be fifo, reverse or random.")
	}
	d.held = false
	d.wake()
	return nil
}

// Redeliver sends an event again, even if it was delivered.
func (s *Server) Redeliver(eventID string) error {
	var again []uint64
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, d Delivery) error {
			if d.EventID == eventID {
				again = append(again, d.Seq)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if len(again) == 0 {
		return notFound("event")
	}
	for _, seq := range again {
		s.delivery.push(pending{seq: seq, next: time.Now()})
	}
	return nil
}

// Deliveries returns all deliveries, oldest first.
func (s *Server) Deliveries() ([]Delivery, error) {
	all := []Delivery{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, d Delivery) error {
			all = append(all, d)
			return nil
		})
	})
	return all, err
}

// enqueue stores events for every endpoint of the package's organization; they are sent once tx is committed. Without an
// endpoint an event is lost, as it would be at the real service.
func (d *dispatcher) enqueue(tx *bolt.Tx, p *pack, events []event) error {
	var clients []string
	err := each(tx, bucketEndpoints, func(_ string, e endpoint) error {
		if e.OrganizationID == p.OrganizationID {
			clients = append(clients, e.ClientID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	how := d.disturbance
	d.mu.Unlock()
	next := time.Now().Add(time.Duration(how.DelayMS) * time.Millisecond)
	var added []pending
	for _, e := range events {
		for _, client := range clients {
			seq, err := tx.Bucket([]byte(bucketDeliveries)).NextSequence()
			if err != nil {
				return fmt.Errorf("numbering an event: %w", err)
			}
			item := Delivery{Seq: seq, EventID: e.ID, Action: e.Action, PackageID: p.PackageID, OrganizationID: p.OrganizationID, ClientID: client, Body: e.Body, Created: time.Now(), Next: next}
			if err := put(tx, bucketDeliveries, deliveryKey(seq), item); err != nil {
				return err
			}
			for range 1 + how.Duplicate {
				added = append(added, pending{seq: seq, next: next})
			}
		}
	}
	if len(added) > 0 {
		tx.OnCommit(func() { d.push(added...) })
	}
	return nil
}

// load fills the queue with what was not delivered before the last stop.
func (d *dispatcher) load() error {
	return d.s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, item Delivery) error {
			if item.Delivered == nil && !item.GivenUp {
				d.queue = append(d.queue, pending{seq: item.Seq, next: item.Next})
			}
			return nil
		})
	})
}

// record stores the result of an attempt and says whether, and when, there is another.
func (d *dispatcher) record(seq uint64, status int, problem string, gone bool) (again bool, next time.Time, err error) {
	err = d.s.db.Update(func(tx *bolt.Tx) error {
		item, err := get[Delivery](tx, bucketDeliveries, deliveryKey(seq))
		if err != nil {
			return err
		}
		item.Attempts, item.Status, item.Problem = item.Attempts+1, status, problem
		now := time.Now()
		switch {
		case problem == "":
			if item.Delivered == nil {
				item.Delivered = &now
			}
		case item.Delivered != nil: // another copy has arrived: not worth retrying
		case gone, now.Sub(item.Created) > retryFor:
			item.GivenUp = true
		default:
			item.Next = now.Add(d.backoff(item.Attempts))
			again, next = true, item.Next
		}
		return put(tx, bucketDeliveries, deliveryKey(seq), item)
	})
	if errors.Is(err, errNotFound) {
		return false, next, nil
	}
	return again, next, err
}

// backoff doubles from RetryFirst to RetryMax.
func (d *dispatcher) backoff(attempts int) time.Duration {
	wait := d.s.opt.Delivery.RetryFirst
	for range attempts - 1 {
		if wait *= 2; wait >= d.s.opt.Delivery.RetryMax {
			return d.s.opt.Delivery.RetryMax
		}
	}
	return min(wait, d.s.opt.Delivery.RetryMax)
}

// setEndpoint is POST /events/endpoints/set. It replaces the endpoint of the calling client, always with a new secret, and
// names it after the client, whatever name is requested.
func (s *Server) setEndpoint(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	if !who.can("organization") || !who.Admin {
		return nil, forbidden("event_endpoint_not_authorized",
			"Setting the endpoint needs the organization scope and an Organization Administrator.")
	}
	var body struct {
		URL    string `json:"url"`
		Delete bool   `json:"delete"`
	}
	if err := readJSON(w, r, "event_endpoint", &body); err != nil {
		return nil, err
	}
	var e endpoint
	var err error
	if body.Delete {
		e, err = s.deleteEndpoint(who.OrganizationID, who.ClientID)
	} else if !usableEndpoint(body.URL) {
		err = badRequest("event_endpoint_invalid_url", "The url must be a complete HTTPS address.")
	} else {
		e, err = s.replaceEndpoint(who.OrganizationID, who.ClientID, body.URL)
	}
	if err != nil {
		return nil, err
	}
	return object{"endpoint": object{"eventEndpointId": e.EventEndpointID, "name": e.Name, "url": e.URL, "secret": e.Secret}}, nil
}

func usableEndpoint(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == "" && len(address) <= 2048
}

// replaceEndpoint registers url for a client. Setting the same url again updates the record; another url makes a new one.
func (s *Server) replaceEndpoint(organizationID, clientID, address string) (endpoint, error) {
	c, _ := s.client(clientID)
	e := endpoint{
		EventEndpointID: newID(), OrganizationID: organizationID, ClientID: clientID,
		Name: c.Name, URL: address, Secret: newToken(),
	}
	key := endpointKey(organizationID, clientID)
	err := s.db.Update(func(tx *bolt.Tx) error {
		before, err := get[endpoint](tx, bucketEndpoints, key)
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		if before.URL == address {
			e.EventEndpointID = before.EventEndpointID
		}
		return put(tx, bucketEndpoints, key, e)
	})
	return e, err
}

// deleteEndpoint removes a client's endpoint, whatever its address.
func (s *Server) deleteEndpoint(organizationID, clientID string) (endpoint, error) {
	var e endpoint
	key := endpointKey(organizationID, clientID)
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		e, err = get[endpoint](tx, bucketEndpoints, key)
		if errors.Is(err, errNotFound) {
			return notFound("event_endpoint")
		}
		if err != nil {
			return err
		}
		return remove(tx, bucketEndpoints, key)
	})
	return e, err
}

// organizationInfo is /organizations/info: the organization and, with the organization scope, all its members.
func (s *Server) organizationInfo(_ http.ResponseWriter, _ *http.Request, who caller) (any, error) {
	if !who.canUsePackages() {
		return nil, forbidden("organization_not_authorized", "The organization or member scope is needed.")
	}
	members := []object{}
	for _, u := range s.opt.Users {
		if u.OrganizationID == who.OrganizationID && (who.can("organization") || u.MemberID == who.MemberID) {
			members = append(members, object{"memberId": u.MemberID, "email": u.Email, "firstName": u.FirstName, "lastName": u.LastName, "isAdmin": u.Admin})
		}
	}
	return object{"organizationId": who.OrganizationID, "name": "Demo Office", "members": members}, nil
}
