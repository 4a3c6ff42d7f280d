package desks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/desk"
	stream "countersign/internal/hub"
	"countersign/internal/inbox"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

var noErr = trytest.NoErr

func TestMain(m *testing.M) {
	onLoopback()
	askEvery, lookAfter = 200*time.Millisecond, 200*time.Millisecond
	goleak.VerifyTestMain(m)
}

// computer is one of the office, with the data that outlives its program.
type computer struct {
	*Service
	t        testing.TB
	settings atomic.Pointer[office.Settings]
	hears    atomic.Pointer[time.Time]
	full     atomic.Bool // its disk
	returned atomic.Int64
	inbox    *inbox.Inbox
	added    atomic.Pointer[func(id string)] // called with each new event; nil for nobody
	stop     func()
}

const (
	hookURL    = "https://office.example.com"
	hookSecret = "secret"
)

func newComputer(t testing.TB, s office.TunnelSettings) *computer {
	c := &computer{t: t}
	c.settings.Store(&office.Settings{TunnelSettings: s})
	c.hears.Store(new(time.Now()))
	tools := looptest.Base(t, func() {})
	tools.Pace.Retry = 20 * time.Millisecond
	c.Service = New(tools, Deps{
		Stream: NATS(), Folder: t.TempDir(), Settings: func() office.Settings { return *c.settings.Load() }, Vault: looptest.NewVault(tools.Data),
		Person: func() string { return "ana@example.com" }, Hears: func() time.Time { return *c.hears.Load() }, Dial: (&net.Dialer{}).DialContext,
		Take: func(ctx context.Context, url, service, signature string, body []byte) error {
			return c.inbox.Take(ctx, inbox.Key{URL: url, Service: service}, signature, body)
		},
		Returned: func() { c.returned.Add(1) }, Changed: func() {},
		Adopt: func(_ context.Context, servers, pin string) error {
			c.set(func(s *office.TunnelSettings) { s.Office, s.OfficePin = servers, pin })
			return nil
		},
	})
	c.inbox = inbox.New(inbox.Options{
		Keys: func() []inbox.Key { return []inbox.Key{{URL: hookURL, Secret: hookSecret, Service: "s"}} }, Header: func() string { return "Signature" }, Store: c.keep,
	})
	noErr(t, c.Load())
	c.start()
	return c
}

func (c *computer) deaf() bool {
	since, _ := c.ListeningSince()
	return since.IsZero()
}

// keep stores an event, as package webhook does.
func (c *computer) keep(_ context.Context, in inbox.Received) (added bool, err error) {
	if c.full.Load() {
		return false, errors.New("no space left on device")
	}
	err = c.Data.UpdateFirst(func(tx *store.Tx) (err error) {
		added, err = tx.AddEvent(office.Event{ID: in.ID, Body: in.Body, URL: in.URL, Service: in.Service, Signature: in.Signature})
		return err
	})
	if added {
		c.Stored(in.ID)
		if f := c.added.Load(); f != nil {
			(*f)(in.ID)
		}
	}
	return added, err
}

func (c *computer) store(id string) error {
	return c.Take(c.t.Context(), hookURL, "s", "", fmt.Appendf(nil, `{"eventId":%q}`, id))
}

func (c *computer) start() { c.stop = looptest.Run(c.t, c.Run) }

func (c *computer) set(change func(*office.TunnelSettings)) {
	s := *c.settings.Load()
	change(&s.TunnelSettings)
	c.settings.Store(&s)
	c.Wake()
}

// has are the events that a computer has stored, sorted by id.
func (c *computer) has() string {
	c.t.Helper()
	events, err := data.Read(c.Data, "", func(tx *store.Tx) ([]office.Event, error) { e, _, err := tx.Events("", 10000); return e, err })
	noErr(c.t, err)
	var list []string
	for _, e := range events {
		list = append(list, e.ID)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (c *computer) gets(want string) {
	c.t.Helper()
	eventually(c.t, want+" at a desk", func() bool { return c.has() == want })
}

func (c *computer) says(s health.State, want string) {
	c.t.Helper()
	eventually(c.t, want, func() bool {
		return slices.ContainsFunc(c.Health.List(), func(i health.Issue) bool { return i.ID == s.ID && strings.Contains(i.Text(), want) })
	})
}

func (c *computer) listens() {
	c.t.Helper()
	eventually(c.t, "the desk hears", func() bool { return !c.deaf() && !c.Health.Has(health.HubAway) })
}

func free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	defer l.Close()
	return l.Addr().String()
}

func newHub(t testing.TB) (hub *computer, at string) {
	at = free(t)
	return newComputer(t, office.TunnelSettings{Tunnel: office.TunnelExternal, OfficeListen: at}), at
}

func (c *computer) invite(name string) *computer {
	c.t.Helper()
	v, err := c.Invite(c.t.Context(), office.DeskInvite{Name: name})
	noErr(c.t, err)
	d := newComputer(c.t, office.TunnelSettings{Tunnel: office.TunnelOffice, Office: "nats://" + v.Servers, OfficePin: v.Pin})
	noErr(c.t, d.Vault.Put(map[string][]byte{issuer.DeskKey.Of(issuer.Desks): []byte(v.Key)}))
	d.Reopen()
	return d
}

func TestEventsReachEveryDeskWhateverBecomesOfTheStream(t *testing.T) {
	hub, at := newHub(t)
	noErr(t, hub.store("before"))
	one, two := hub.invite("one"), hub.invite("two")
	one.listens()
	two.listens()
	noErr(t, hub.store("a"))
	one.gets("a before")
	two.stop()
	noErr(t, hub.store("b"))
	one.gets("a b before")

	// The stream is lost while the hub is off, with what one desk has not seen.
	hub.stop()
	one.says(health.HubAway, "cannot be reached")
	if !one.deaf() {
		t.Error("a desk without a hub hears")
	}
	noErr(t, os.RemoveAll(filepath.Join(hub.Folder, "jetstream")))
	noErr(t, hub.store("c"))
	taken, err := net.Listen("tcp", at)
	noErr(t, err)
	hub.start()
	hub.says(health.HubFails, "cannot be shared")
	taken.Close()
	two.start()
	for _, d := range []*computer{one, two} {
		d.gets("a b before c")
		d.listens()
	}
	eventually(t, "all is well at the hub", func() bool { return !hub.Health.Has(health.HubFails) })

	// A desk's disk is full for a while, and the hub deaf.
	one.full.Store(true)
	noErr(t, hub.store("d"))
	two.gets("a b before c d")
	one.full.Store(false)
	one.gets("a b before c d")
	if one.returned.Load() == 0 {
		t.Error("a desk that heard nothing for a while does not ask what it missed")
	}
}

// disk is what a computer whose program does not run has on its disk.
type disk struct {
	state  []byte
	folder string
	kept   map[string][]byte
}

func (c *computer) disk() disk {
	c.t.Helper()
	d := disk{folder: filepath.Join(c.t.TempDir(), "copy"), kept: maps.Clone(c.Vault.(*looptest.Vault).Kept)}
	state, err := os.ReadFile(c.Data.Store.Path())
	noErr(c.t, errors.Join(err, os.CopyFS(d.folder, os.DirFS(c.Folder))))
	d.state = state
	return d
}

// restoresData puts back the data of a computer whose program does not run.
func (c *computer) restoresData(d disk) {
	c.t.Helper()
	noErr(c.t, errors.Join(c.Data.Close(), os.WriteFile(c.Data.Store.Path(), d.state, 0o600)))
	st, _, err := data.Open(c.Data.Store.Path(), c.Log, time.Now, c.Health)
	noErr(c.t, err)
	c.t.Cleanup(func() { st.Close() })
	v := c.Vault.(*looptest.Vault)
	c.Data, v.Data, v.Kept = st, st, maps.Clone(d.kept)
	noErr(c.t, c.Load())
}

// restoresStream puts back the stream alone; a disk without one takes it away.
func (c *computer) restoresStream(d disk) {
	c.t.Helper()
	noErr(c.t, os.RemoveAll(c.Folder))
	if d.folder != "" {
		noErr(c.t, os.CopyFS(c.Folder, os.DirFS(d.folder)))
	}
}

// A hub comes back with less than it had, as from an old copy of its folder, and its desks have gone on. The numbers of what it has
// forgotten are given to new events.
func TestAHubThatIsOlderThanItsDesksLosesAndRepeatsNothing(t *testing.T) {
	for what, c := range map[string]struct {
		back func(hub *computer, old disk)
		away string // what a desk gets in the end that was away meanwhile
	}{
		"all of it is old":                     {func(hub *computer, old disk) { hub.restoresData(old); hub.restoresStream(old) }, "a b e f g h"}, // c and d, the service tells
		"the data is old":                      {func(hub *computer, old disk) { hub.restoresData(old) }, "a b c d e f g h"},
		"the stream is old":                    {func(hub *computer, old disk) { hub.restoresStream(old) }, "a b c d e f g h"},
		"the stream is gone":                   {func(hub *computer, _ disk) { hub.restoresStream(disk{}) }, "a b c d e f g h"},
		"the stream is gone, and the data old": {func(hub *computer, old disk) { hub.restoresData(old); hub.restoresStream(disk{}) }, "a b e f g h"},
	} {
		t.Run(what, func(t *testing.T) {
			hub, _ := newHub(t)
			near, away := hub.invite("near"), hub.invite("away")
			noErr(t, errors.Join(hub.store("a"), hub.store("b")))
			near.gets("a b")
			away.gets("a b")
			hub.stop()
			old := hub.disk()
			hub.start()
			away.stop()
			noErr(t, errors.Join(hub.store("c"), hub.store("d")))
			near.gets("a b c d")
			hub.stop()
			c.back(hub, old)
			hub.start()
			noErr(t, hub.store("e"))
			near.gets("a b c d e")
			away.start()
			noErr(t, errors.Join(hub.store("f"), hub.store("g"), hub.store("h")))
			near.gets("a b c d e f g h")
			away.gets(c.away)
			near.listens()
			away.listens()
		})
	}
}

// The hub's folder was copied to a second computer, by mistake, so that each of them counts on from the same number.
func TestTwoHubsOfOneKindLoseNothing(t *testing.T) {
	hub, first := newHub(t)
	twin, second := newHub(t)
	twin.stop()
	d := hub.invite("one")
	noErr(t, hub.store("a"))
	d.gets("a")
	d.set(func(s *office.TunnelSettings) { s.Office = "nats://" + first + ",nats://" + second })
	hub.stop()
	at := hub.disk()
	twin.restoresData(at)
	twin.restoresStream(at)
	for _, x := range []struct {
		hub *computer
		now string
	}{{twin, "b"}, {twin, "c"}, {hub, "d"}, {twin, "e"}, {hub, "f"}, {hub, "g"}} {
		x.hub.start()
		noErr(t, x.hub.store(x.now))
		eventually(t, x.now+" at a desk", func() bool { return strings.HasSuffix(d.has(), x.now) })
		d.listens()
		x.hub.stop()
	}
	d.gets("a b c d e f g")
}

// What a desk reads the stream by is lost while the hub runs, as an administrator of a cluster may do it.
func TestWhatADeskReadsByIsMadeAnewWhileTheHubRuns(t *testing.T) {
	hub, _ := newHub(t)
	d := hub.invite("one")
	noErr(t, hub.store("a"))
	d.gets("a")
	x := hub.running()
	noErr(t, x.conn.Forget(t.Context(), x.stream, hub.desks.Get()[0].Key))
	noErr(t, hub.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(office.Event{ID: "empty"}); return err }))
	hub.Stored("empty") // which fits into no stream, and holds up nothing
	noErr(t, hub.store("b"))
	eventually(t, "b at a desk", func() bool { return d.has() == "a b" })
}

func TestARemovedDeskIsOutAtOnceAndStaysOut(t *testing.T) {
	hub, _ := newHub(t)
	d := hub.invite("one")
	d.listens()
	if _, err := hub.Invite(t.Context(), office.DeskInvite{Name: "ONE"}); err == nil {
		t.Error("there are two of one name")
	}
	eventually(t, "the hub knows who works there", func() bool {
		rows := hub.List(t.Context())
		return len(rows) == 1 && rows[0].Person == "ana@example.com" && rows[0].Connected && !rows[0].Seen.IsZero()
	})
	if _, err := hub.Invite(t.Context(), office.DeskInvite{Name: "One", Again: true}); err != nil || hub.List(t.Context())[0].Connected {
		t.Errorf("invited again, what it was given before opens something: %v", err)
	}
	d.says(health.DeskUnwelcome, "does not know this one")
	noErr(t, hub.Remove(t.Context(), "One"))
	noErr(t, hub.store("a"))
	hub.stop()
	noErr(t, hub.Load())
	hub.start()
	eventually(t, "the hub works", func() bool { return hub.running() != nil })
	d.Reopen()
	time.Sleep(100 * time.Millisecond)
	if d.has() != "" || len(hub.List(t.Context())) != 0 {
		t.Errorf("it got %q", d.has())
	}
	if err := hub.Remove(t.Context(), "One"); err == nil {
		t.Error("it is removed twice")
	}
}

func TestADeskThatIsRemovedWhileTheHubStartsOrLooksAroundIsOut(t *testing.T) {
	hub, _ := newHub(t)
	eventually(t, "the hub works", func() bool { return hub.running() != nil })
	opens := map[string]func() bool{}
	for _, name := range []string{"one", "two"} {
		v, err := hub.Invite(t.Context(), office.DeskInvite{Name: name})
		noErr(t, err)
		opens[name] = func() bool {
			conn, err := hub.Stream.Connect(t.Context(), desk.Way{Servers: "nats://" + v.Servers, Pin: v.Pin, Seed: v.Key, Dial: hub.Dial})
			if err == nil {
				conn.Close()
			}
			return err == nil
		}
	}
	if !opens["one"]() || !opens["two"]() {
		t.Fatal("a desk is not admitted")
	}
	before := hub.desks.Get()
	hub.stop()
	serve := hub.Stream.Serve
	hub.Stream.Serve = func(c stream.Config) (Server, error) {
		s, err := serve(c)
		noErr(t, hub.Remove(t.Context(), "one"))
		return s, err
	}
	hub.start()
	eventually(t, "the hub works", func() bool { return hub.running() != nil })
	eventually(t, "who was removed at the start is out", func() bool { return !opens["one"]() })
	noErr(t, hub.Remove(t.Context(), "two"))
	for _, d := range before { // from a list that was read earlier
		noErr(t, hub.welcome(t.Context(), hub.running(), d))
	}
	if opens["one"]() || opens["two"]() {
		t.Error("who was removed is admitted again")
	}
}

func TestADeskThatIsRemovedWhileTheHubIsAwayReadsNoMore(t *testing.T) {
	hub, _ := newHub(t)
	hub.invite("one").listens()
	hub.invite("two").listens()
	hub.stop()
	noErr(t, hub.Remove(t.Context(), "one"))
	hub.start()
	eventually(t, "one of them follows", func() bool {
		x := hub.running()
		if x == nil {
			return false
		}
		keys, err := x.conn.Following(t.Context(), x.stream)
		return err == nil && slices.Equal(keys, []string{hub.desks.Get()[0].Key})
	})
}

func TestADeskTakesThePlaceOfTheHub(t *testing.T) {
	old, _ := newHub(t)
	next, other := old.invite("next"), old.invite("other")
	next.listens()
	other.listens()
	noErr(t, old.store("a"))
	next.gets("a")
	other.gets("a")
	for _, d := range []*computer{next, other} {
		eventually(t, "the desks know each other", func() bool { return len(d.desks.Get()) == 3 })
	}
	old.stop()

	// It is gone. What it stored and did not hand on is the service's to tell again.
	at := free(t)
	next.set(func(s *office.TunnelSettings) {
		*s = office.TunnelSettings{Tunnel: office.TunnelExternal, OfficeListen: at}
	})
	eventually(t, "the new hub works", func() bool { return next.running() != nil })
	if rows := next.List(t.Context()); len(rows) != 2 {
		t.Errorf("it has the desks %+v", rows)
	}
	if _, epoch, err := next.Hub(); epoch != 2 || err != nil {
		t.Errorf("it is hub %d, %v", epoch, err)
	}
	v, err := next.Place("")
	if err != nil || v.Key != "" {
		t.Fatalf("%+v, %v", v, err)
	}
	other.set(func(s *office.TunnelSettings) { s.Office, s.OfficePin = "nats://"+v.Servers, v.Pin })
	noErr(t, next.store("b"))
	other.gets("a b")
	other.listens()

	// The old one comes back, as if nothing had happened, and whoever goes back to it is not heard.
	back := other.settings.Load().TunnelSettings
	old.start()
	eventually(t, "the old hub works", func() bool { return old.running() != nil })
	before, err := old.Place("")
	noErr(t, err)
	other.set(func(s *office.TunnelSettings) { s.Office, s.OfficePin = "nats://"+before.Servers, before.Pin })
	other.says(health.DeskUnwelcome, "main computer that was replaced")

	// Which of the two is right, people say there: that one counts on.
	old.says(health.HubReplaced, "became the main one after this")
	noErr(t, old.BeAgain())
	other.listens()
	other.set(func(s *office.TunnelSettings) { *s = back })
	next.says(health.HubReplaced, "became the main one after this")
	noErr(t, next.BeAgain())
	other.listens()

	// It is told where the hub is now, and becomes a desk; one that is still with it is told so by it.
	late := old.invite("late")
	late.listens()
	noErr(t, next.change(func(list []office.Desk) ([]office.Desk, error) {
		return append(list, old.desks.Get()[2]), nil
	}))
	next.Reopen()
	old.set(func(s *office.TunnelSettings) {
		*s = office.TunnelSettings{Tunnel: office.TunnelOffice, Office: "nats://" + v.Servers, OfficePin: v.Pin}
	})
	noErr(t, next.store("c"))
	old.gets("a b c")
	late.gets("c")
}

func TestADeskSaysThatTheHubHearsNothing(t *testing.T) {
	hub, _ := newHub(t)
	hub.hears.Store(new(time.Time{}))
	d := hub.invite("one")
	d.says(health.HubAway, "receives no events")
	if !d.deaf() {
		t.Error("it counts as one that hears")
	}
	hub.hears.Store(new(time.Now()))
	d.Reopen()
	d.listens()
	before := d.returned.Load()
	hub.hears.Store(new(time.Now().Add(time.Second))) // it was deaf for a moment, between two questions
	eventually(t, "what happened meanwhile is asked for", func() bool { return d.returned.Load() > before })
	d.set(func(s *office.TunnelSettings) { *s = office.TunnelSettings{Tunnel: office.TunnelNone} })
	eventually(t, "it is no desk any more", func() bool { return d.deaf() && len(d.Health.List()) == 0 })
}

// What a hub says of its desks is let in should this computer take its place: one key that is none would keep it from being the hub.
func TestOnlyWhatCanBeADeskIsKept(t *testing.T) {
	_, key, err := desk.NewKey()
	noErr(t, err)
	list := members(desk.Answer{Desks: []desk.Member{
		{Name: "\x1b[2J" + strings.Repeat("x", 1<<20), Key: key}, {Name: "no key", Key: "*"}, {Name: "\n", Key: key},
	}})
	if len(list) != 1 || list[0].Key != key || len([]rune(list[0].Name)) > office.MaxDeskName || strings.Contains(list[0].Name, "\x1b") {
		t.Errorf("%.200v", list)
	}
}
