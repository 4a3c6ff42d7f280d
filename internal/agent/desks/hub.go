package desks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/desk"
	"countersign/internal/hub"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What a stream keeps, and how far back it is refilled, so that expired events do not return.
const (
	streamAge   = 60 * 24 * time.Hour
	streamBytes = 1 << 30
	refillAge   = 30 * 24 * time.Hour
	replicas    = 3 // in the office's own cluster

	pageSize  = 25        // events of up to 1 MiB each
	answerMax = 128 << 10 // bytes of bodies in an answer, so that it arrives in time over a slow line
)

// lookAfter is how often the hub checks that all is well.
var lookAfter = time.Minute // tests check more often

// identity is what identifies this computer as a hub.
type identity struct {
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
	Seed        string `json:"seed"` // key of its own connection, with which it becomes a desk of a hub that replaces it
	Epoch       int    `json:"epoch"`
}

type live struct {
	hub    Server // nil if the stream is in a cluster
	conn   Conn
	stream desk.Stream
	given  []string // the keys that hub has admitted from its start
}

// identity returns the stored identity, or makes one. A computer that has since been a desk of another hub counts as a new hub.
func (r *Service) identity() (id identity, err error) {
	r.identifying.Lock()
	defer r.identifying.Unlock()
	name := issuer.HubKey.Of(issuer.Desks)
	kept, err := r.Vault.Get(name)
	if err != nil {
		return id, err
	}
	met, err := r.epoch()
	if err != nil {
		return id, err
	}
	if kept != nil {
		if err := json.Unmarshal(kept, &id); err != nil {
			return id, err
		}
		if id.Epoch >= met {
			return id, nil
		}
	} else if id, err = newIdentity(r.Now()); err != nil {
		return id, err
	}
	own, err := r.Vault.Get(issuer.DeskKey.Of(issuer.Desks))
	if err != nil {
		return id, err
	}
	if own != nil { // it was a desk: keep its key, by which it is known if it becomes one again
		id.Seed = string(own)
	}
	id.Epoch = met + 1
	b, err := json.Marshal(id)
	if err != nil {
		return id, err
	}
	return id, r.Vault.Put(map[string][]byte{name: b}, func(tx *store.Tx) error { return tx.PutDoc(docEpoch, id.Epoch) })
}

// Hub returns this computer's public key as the hub, and its number among the office's successive hubs.
func (r *Service) Hub() (key string, epoch int, err error) {
	id, err := r.identity()
	if err == nil {
		key, err = desk.Public(id.Seed)
	}
	return key, id.Epoch, err
}

func newIdentity(now time.Time) (id identity, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return id, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(50, 0, 0)} // only the pin counts
	id.Certificate, err = x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err == nil {
		id.Key, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err == nil {
		id.Seed, _, err = desk.NewKey()
	}
	return id, err
}

func (id identity) pair() (tls.Certificate, error) {
	key, err := x509.ParsePKCS8PrivateKey(id.Key)
	return tls.Certificate{Certificate: [][]byte{id.Certificate}, PrivateKey: key}, err
}

func (id identity) pin() (string, error) {
	c, err := x509.ParseCertificate(id.Certificate)
	if err != nil {
		return "", err
	}
	return desk.Pin(c.RawSubjectPublicKeyInfo), nil
}

// beHub passes events on until ctx ends or the stream becomes unusable.
func (r *Service) beHub(ctx context.Context, s office.Settings) error {
	r.Health.Clear(health.HubAway)
	id, err := r.identity()
	if err != nil {
		return err
	}
	if err := r.leaveOutMyself(); err != nil {
		return err
	}
	x, err := r.open(ctx, s, id)
	if err != nil {
		return err
	}
	defer x.close()
	r.mu.Lock()
	r.live, r.queue = x, nil // events stored from now on are queued; fill finds earlier ones
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.live, r.queue = nil, nil
		r.mu.Unlock()
	}()
	for _, key := range x.given { // removed since
		if !r.isDesk(key) && !slices.Contains(r.guests(), key) {
			r.shutOut(ctx, key)
		}
	}
	for _, d := range r.desks.Get() {
		if err := r.welcome(ctx, x, d); err != nil {
			return err
		}
	}
	if err := x.conn.Answers(func(key string, q desk.Question) (desk.Answer, error) { return r.answer(id, key, q) }); err != nil {
		return err
	}
	if err := r.fill(ctx, x); err != nil {
		return err
	}
	r.Health.Clear(health.HubFails)
	var looked time.Time
	return loop.Repeat(ctx, r.ring, func(ctx context.Context) (time.Duration, error) {
		select {
		case <-x.conn.Closed():
			return 0, errors.New("the connection ended")
		default:
		}
		if err := r.publishQueue(ctx, x); err != nil || ctx.Err() != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		now := r.Now()
		if wait := lookAfter - now.Sub(looked); wait > 0 && wait <= lookAfter {
			return wait, nil
		}
		looked = now
		var err error
		if x.hub != nil {
			err = x.hub.Trouble()
		} else {
			err = x.conn.Current(ctx, x.stream) // another hub may have taken over
		}
		for _, d := range r.desks.Get() {
			err = errors.Join(err, r.welcome(ctx, x, d)) // it, or the stream, which is then refilled, may be lost
		}
		following, unread := x.conn.Following(ctx, x.stream)
		for _, key := range following {
			if !r.isDesk(key) { // removed while the server could not be reached
				r.shutOut(ctx, key)
			}
		}
		return lookAfter, errors.Join(err, unread)
	})
}

func (r *Service) open(ctx context.Context, s office.Settings, id identity) (*live, error) {
	way := desk.Way{Servers: s.Office, Pin: s.OfficePin, Seed: id.Seed, Dial: r.Dial}
	x := &live{stream: desk.Stream{Epoch: id.Epoch, Age: streamAge, Bytes: streamBytes, Replicas: replicas}}
	if s.OfficeListen != "" {
		own, err1 := desk.Public(id.Seed)
		cert, err2 := id.pair()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		x.given = r.guests()
		for _, d := range r.desks.Get() {
			x.given = append(x.given, d.Key)
		}
		var err error
		x.hub, err = r.Stream.Serve(hub.Config{
			Folder: r.Folder, Listen: s.OfficeListen, Certificate: cert, Stream: desk.StreamName(id.Epoch), Own: own, Desks: x.given, Log: r.Log,
		})
		if err != nil {
			return nil, err
		}
		way, x.stream.Replicas = desk.Way{Local: x.hub, Seed: id.Seed}, 1
	}
	conn, err := r.Stream.Connect(ctx, way)
	if err == nil {
		x.conn = conn
		err = conn.Prepare(ctx, x.stream)
	}
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *live) close() {
	if x.conn != nil {
		x.conn.Close()
	}
	if x.hub != nil {
		x.hub.Close()
	}
}

func (r *Service) isDesk(key string) bool {
	return slices.ContainsFunc(r.desks.Get(), func(d office.Desk) bool { return d.Key == key })
}

// welcome admits a desk, unless it has been removed. It gets what is published from its invitation on.
func (r *Service) welcome(ctx context.Context, x *live, d office.Desk) error {
	r.entry.Lock()
	defer r.entry.Unlock()
	if !desk.IsKey(d.Key) || !r.isDesk(d.Key) { // an invalid key admits nobody
		return nil
	}
	if x.hub != nil {
		if err := x.hub.Admit(d.Key); err != nil {
			return err
		}
	}
	return x.conn.Follow(ctx, x.stream, d.Key, d.Made)
}

// leaveOutMyself removes this computer from the desks, among which it is if it was one.
func (r *Service) leaveOutMyself() error {
	seed, err := r.seed()
	if err != nil {
		return err
	}
	own, err := desk.Public(seed)
	me := func(d office.Desk) bool { return d.Key == own }
	if err != nil || !slices.ContainsFunc(r.desks.Get(), me) {
		return err
	}
	return r.change(func(list []office.Desk) ([]office.Desk, error) { return slices.DeleteFunc(list, me), nil })
}

// Stored is called for each event that was stored.
func (r *Service) Stored(eventID string) {
	r.mu.Lock()
	if r.live != nil {
		r.queue = append(r.queue, eventID)
	}
	r.mu.Unlock()
	loop.Wake(r.ring)
}

// publishQueue publishes newly stored events. If interrupted, fill finds the rest once the stream is usable again.
func (r *Service) publishQueue(ctx context.Context, x *live) error {
	for ctx.Err() == nil {
		r.mu.Lock()
		ids := r.queue
		r.queue = nil
		r.mu.Unlock()
		if len(ids) == 0 {
			return nil
		}
		if err := r.publish(ctx, x, ids); err != nil {
			return err
		}
	}
	return nil
}

func (r *Service) publish(ctx context.Context, x *live, ids []string) error {
	for _, id := range ids {
		e, err := data.Read(r.Data, "an event", func(tx *store.Tx) (office.Event, error) { e, _, err := tx.Event(id); return e, err })
		if err != nil && !store.OfOneRecord(err) {
			return err
		}
		if e.ID == "" {
			continue // unreadable, or deleted meanwhile
		}
		err = x.conn.Publish(ctx, x.stream, handed(e))
		if errors.Is(err, desk.ErrUnfit) {
			r.Log.Warn("an event is not handed on to the other desks", "event", e.ID, "err", err)
			continue
		}
		if err != nil {
			return err
		}
		r.Crash("event handed on")
	}
	return nil
}

func handed(e office.Event) desk.Event {
	return desk.Event{ID: e.ID, Body: e.Body, URL: e.URL, Signature: e.Signature, Service: e.Service}
}

// fill publishes what is in the store but not in the stream, which may be new, or have lost something.
func (r *Service) fill(ctx context.Context, x *live) error {
	have, err := x.conn.Tokens(ctx, x.stream)
	if err != nil {
		return err
	}
	var missing []string // newest first
	for cursor := office.Cursor(""); ; {
		var page []office.Event
		if page, cursor, err = r.page(cursor, pageSize); err != nil {
			return err
		}
		for _, e := range page {
			if !have[desk.Token(e.ID)] && r.Now().Sub(e.Received) < refillAge {
				missing = append(missing, e.ID)
			}
		}
		if cursor == "" || ctx.Err() != nil {
			break
		}
	}
	if len(missing) > 0 {
		r.Log.Info("events are handed on that the stream does not have", "events", len(missing))
	}
	slices.Reverse(missing)
	return r.publish(ctx, x, missing)
}

func (r *Service) page(before office.Cursor, limit int) (page []office.Event, next office.Cursor, err error) {
	page, err = data.Read(r.Data, "the events", func(tx *store.Tx) (page []office.Event, err error) {
		page, next, err = tx.Events(before, limit)
		return page, err
	})
	return page, next, err
}

func (r *Service) answer(id identity, key string, q desk.Question) (a desk.Answer, err error) {
	list := r.desks.Get()
	at := slices.IndexFunc(list, func(d office.Desk) bool { return d.Key == key })
	if at < 0 {
		return r.handOut(key, q)
	}
	if q.Met > id.Epoch && q.Met < id.Epoch+desk.MaxHubs { // desks believe a number that continues from it
		r.meet(q.Met)
	}
	now := r.Now()
	r.mu.Lock()
	often := now.Sub(r.seen[key]).Abs() < askEvery/2 // then skip the write
	r.seen[key] = now
	r.mu.Unlock()
	if person := message.OneLine(q.Person, 200); person != "" && person != list[at].Person && !often {
		err = r.change(func(list []office.Desk) ([]office.Desk, error) {
			for i := range list {
				if list[i].Key == key {
					list[i].Person = person
				}
			}
			return list, nil
		})
	}
	a = desk.Answer{Epoch: id.Epoch, Since: r.Hears()}
	if q.Events {
		a.Events, a.Next, err = r.stored(office.Cursor(q.Before))
		return a, err
	}
	r.mu.Lock()
	a.Moved = r.moved
	r.mu.Unlock()
	own, err2 := desk.Public(id.Seed)
	host, _ := os.Hostname() // empty without a name
	a.Desks = []desk.Member{{Name: host, Key: own}}
	for _, d := range list {
		a.Desks = append(a.Desks, desk.Member{Name: d.Name, Key: d.Key, Made: d.Made})
	}
	return a, errors.Join(err, err2)
}

// tellMoved keeps answering the desks, after this hub has become a desk itself, until each has asked once more and learned where the
// hub is now.
func (r *Service) tellMoved(ctx context.Context, now office.Settings) {
	if r.running() == nil || now.Tunnel != office.TunnelOffice {
		return
	}
	tell := func(where *desk.Place) {
		r.mu.Lock()
		r.moved = where
		r.mu.Unlock()
	}
	tell(&desk.Place{Servers: now.Office, Pin: now.OfficePin})
	defer tell(nil)
	for end := r.Now().Add(tellTime); r.Now().Before(end) && loop.Sleep(ctx, 100*time.Millisecond); {
		if !slices.ContainsFunc(r.List(ctx), func(d office.DeskRow) bool { return d.Connected }) {
			return
		}
	}
}

// stored returns a page of stored events, as much as fits into an answer.
func (r *Service) stored(before office.Cursor) (list []desk.Event, next string, err error) {
	for limit := pageSize; ; limit = max(1, limit/4) {
		page, cursor, err := r.page(before, limit)
		if err != nil {
			return nil, "", err
		}
		size := 0
		list = list[:0]
		for _, e := range page {
			size += len(e.Body)
			list = append(list, handed(e))
		}
		if size <= answerMax || limit == 1 {
			return list, string(cursor), nil
		}
	}
}

// change changes the list of desks, on disk first.
func (r *Service) change(to func([]office.Desk) ([]office.Desk, error)) error {
	err := r.desks.Change(func(list []office.Desk) ([]office.Desk, error) {
		list, err := to(slices.Clone(list))
		if err != nil {
			return nil, err
		}
		return list, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(Doc, list) })
	})
	if err == nil {
		r.Changed()
		r.Signal(office.SettingsChanged)
	}
	return err
}

// Invitation is what another computer needs to become a desk of this hub.
type Invitation struct {
	Servers, Pin string
	Key          string // of that desk only
}

// Invite creates a desk and returns what its computer needs. If a desk is invited again, its former key gives no access once Invite
// returns. servers is where it reaches the hub; empty for this computer's own addresses.
func (r *Service) Invite(ctx context.Context, q office.DeskInvite) (v Invitation, err error) {
	s, name := r.Settings(), strings.TrimSpace(q.Name)
	if !s.IsHub() {
		return v, message.Error(message.NotTheHub(), nil)
	}
	if name == "" || utf8.RuneCountInString(name) > office.MaxDeskName || strings.ContainsFunc(name, unicode.IsControl) {
		return v, message.Error(message.DeskNameForm(), nil)
	}
	if v, err = r.place(s, q.Servers); err != nil {
		return v, err
	}
	seed, key, err := desk.NewKey()
	if err != nil {
		return v, err
	}
	d, former := office.Desk{Name: name, Key: key, Made: r.Now().UTC()}, ""
	err = r.change(func(list []office.Desk) ([]office.Desk, error) {
		at := slices.IndexFunc(list, func(x office.Desk) bool { return strings.EqualFold(x.Name, name) })
		switch {
		case at < 0:
			return append(list, d), nil
		case !q.Again:
			return nil, message.Error(message.DeskNameTwice(), nil)
		}
		former, list[at] = list[at].Key, d
		return list, nil
	})
	if err != nil {
		return v, err
	}
	if former != "" {
		r.shutOut(ctx, former)
	}
	if x := r.running(); x != nil {
		if err := r.welcome(ctx, x, d); err != nil {
			r.Reopen() // to retry it
		}
	}
	r.Record(office.Activity{Kind: office.ActivityDesk, Text: message.DeskInvited(name)})
	v.Key = seed
	return v, nil
}

// Place returns where desks reach this hub, for those that already have a key.
func (r *Service) Place(servers string) (Invitation, error) {
	s := r.Settings()
	if !s.IsHub() {
		return Invitation{}, message.Error(message.NotTheHub(), nil)
	}
	return r.place(s, servers)
}

func (r *Service) place(s office.Settings, servers string) (v Invitation, err error) {
	if s.OfficeListen == "" {
		return Invitation{Servers: s.Office, Pin: s.OfficePin}, nil
	}
	id, err := r.identity()
	if err != nil {
		return v, err
	}
	if servers == "" {
		servers = addresses(s.OfficeListen)
	}
	pin, err := id.pin()
	return Invitation{Servers: servers, Pin: pin}, err
}

// addresses returns those at which others may reach the listener.
func addresses(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return net.JoinHostPort(host, port)
	}
	var list []string
	if name, err := os.Hostname(); err == nil {
		list = append(list, net.JoinHostPort(name, port))
	}
	own, _ := net.InterfaceAddrs() // none if unreadable
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			list = append(list, net.JoinHostPort(ip.IP.String(), port))
		}
	}
	return strings.Join(list[:min(len(list), 8)], ",")
}

func (r *Service) running() *live {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live
}

// Remove removes the desk of that name: when it returns, its key gives no access.
func (r *Service) Remove(ctx context.Context, name string) error {
	if !r.Settings().IsHub() {
		return message.Error(message.NotTheHub(), nil)
	}
	var gone office.Desk
	err := r.change(func(list []office.Desk) ([]office.Desk, error) {
		at := slices.IndexFunc(list, func(d office.Desk) bool { return d.Name == name })
		if at < 0 {
			return nil, message.Error(message.DeskUnknown(), nil)
		}
		gone = list[at]
		return slices.Delete(list, at, at+1), nil
	})
	if err != nil {
		return err
	}
	r.shutOut(ctx, gone.Key)
	r.Record(office.Activity{Kind: office.ActivityDesk, Text: message.DeskRemoved(gone.Name)})
	return nil
}

// shutOut revokes the access of a key that no longer belongs to a desk.
func (r *Service) shutOut(ctx context.Context, key string) {
	x := r.running()
	if x == nil {
		return
	}
	r.entry.Lock()
	defer r.entry.Unlock()
	if x.hub != nil {
		x.hub.Remove(key)
	}
	if err := x.conn.Forget(ctx, x.stream, key); err != nil {
		r.Log.Warn("what waits for a desk that was removed stays for now", "err", err)
	}
}

// List returns the desks of this hub; none if it is no hub.
func (r *Service) List(ctx context.Context) (rows []office.DeskRow) {
	x := r.running()
	if x == nil && !r.Settings().IsHub() {
		return nil
	}
	for _, d := range r.desks.Get() {
		row := office.DeskRow{Desk: d}
		if x != nil {
			if x.hub != nil {
				row.Connected = x.hub.Connected(d.Key)
			}
			row.Waiting, row.Seen, _ = x.conn.Waiting(ctx, x.stream, d.Key) // 0 for a desk just invited
		}
		r.mu.Lock()
		if at := r.seen[d.Key]; at.After(row.Seen) {
			row.Seen = at
		}
		r.mu.Unlock()
		if x != nil && x.hub == nil {
			row.Connected = r.Now().Sub(row.Seen).Abs() < 2*askEvery
		}
		rows = append(rows, row)
	}
	return rows
}
