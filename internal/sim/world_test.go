package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"countersign/internal/agent"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

const (
	officeURL  = "https://office.test" // the public address of the office ...
	secondURL  = "https://second.test" // ... and its alternative address
	officePort = "127.0.0.1:8090"      // where its proxy forwards to
	returnURL  = officeURL + "/oauth/callback"
	epoch      = 26*365*24*time.Hour + 61*24*time.Hour // a bubble begins in the year 2000; the office lives now
)

// world is the agent and everything around it. One goroutine plays it: that of run.
type world struct {
	seed  uint64
	dir   string
	net   *network
	wire  *wire
	model *model
	trace *trace

	services []*service
	current  int // index of the service in the settings

	clockMu sync.Mutex
	slept   time.Duration  // by which time has advanced without the timers
	wrong   time.Duration  // error of the computer's clock
	jumped  time.Time      // when it was last set, in virtual time
	dates   map[int64]bool // days since 1970 that this computer's clock has shown ...
	date    int64          // ... and the last of them

	keyring       *keyring
	computer      int // number of earlier computers
	host          *host
	offline       bool
	taken         bool         // another desk has the endpoint
	holding       bool         // a service holds its events back
	lost          bool         // this computer has reported that once, rightly or not
	lapsed        bool         // the service has ended the sign-in
	mayBeOut      bool         // there is a reason why nobody may be signed in
	startedLocked bool         // the keyring was locked when the program started, and the program has not read the key since
	mounted       bool         // the disk is its own, and can be full ...
	full          bool         // ... and is
	flaky         atomic.Int64 // every nth access of the program to its data fails; 0 for none ...
	accesses      atomic.Int64 // ... counted here
	passing       atomic.Bool  // time is passing: only the program accesses its data
	office        *agent.Agent
	living        context.Context // of the program
	stop          context.CancelFunc
	running       sync.WaitGroup // of the agent
	people        sync.WaitGroup // for those who wait for the agent
	starts        int
	tidyAt        uint64    // see tidy
	stirred       time.Time // when the world was last disturbed; see calmSince
	duties        duties

	settings office.Settings
	sends    int
	chosen   map[string]bool // folders that people chose since their drive was removed
	renames  int
	due      []errand      // scheduled events
	crashes  chan struct{} // signals that the program was killed at a point of its work, or told to end
	crashMu  sync.Mutex
	armed    string        // after this point ...
	passes   int           // ... was passed so many times ...
	happens  func()        // ... call this
	left     *remains      // what the kill left
	quitting bool          // the program was told to end
	stranger *stranger     // a colleague with another program
	streams  *streams      // between the office's computers ...
	desks    []*otherDesk  // ... of which these get the events from the first
	forgets  bool          // whoever changes the settings enters no secret
	pressed  time.Duration // how long the next sending can be undone; 0 leaves it to chance
}

// errand is a scheduled event.
type errand struct {
	at   time.Time
	what func()
}

// later schedules what after d.
func (w *world) later(d time.Duration, what func()) {
	w.due = append(w.due, errand{time.Now().Add(d), what})
}

// sleep lets virtual time pass, with the scheduled events.
func (w *world) sleep(d time.Duration) {
	until := time.Now().Add(d)
	for {
		next := w.duties.next(until)
		first := -1
		for i, e := range w.due {
			if e.at.Before(next) {
				next, first = e.at, i
			}
		}
		w.tidy()
		timer := time.NewTimer(time.Until(next))
		w.passing.Store(true)
		select {
		case <-timer.C:
		case <-w.crashes:
			timer.Stop()
			synctest.Wait()
			w.passing.Store(false)
			w.bury()
			continue
		}
		synctest.Wait()
		w.passing.Store(false)
		if first < 0 {
			if w.model.lookAtDuties(); next.Before(until) {
				continue
			}
			return
		}
		e := w.due[first]
		w.due = slices.Delete(w.due, first, first+1)
		w.stirred = time.Now()
		e.what()
		synctest.Wait()
		w.model.health.lookAtHealth() // problems until now may be gone when the step begins
	}
}

type service struct {
	*sandbox.Server
	name   string
	url    string
	client sandbox.Client
	dir    string
}

// now is the service's time.
func (w *world) now() time.Time {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	return time.Now().Add(epoch + w.slept)
}

// clock is the computer's time.
func (w *world) clock() time.Time {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	now := time.Now().Add(epoch + w.slept + w.wrong)
	if date := now.Unix() / (24 * 60 * 60); date != w.date {
		w.date, w.dates[date] = date, true
	}
	return now
}

// shown is how many dates the computer's clock has shown.
func (w *world) shown() int {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	return len(w.dates)
}

// newWorld makes a world in dir with an office that is set up and signed in.
func newWorld(seed uint64, dir string) (*world, error) {
	w := &world{seed: seed, dir: dir, tidyAt: mostGarbage, net: newNetwork(), keyring: newKeyring(), trace: newTrace(dir), crashes: make(chan struct{}, 1), chosen: map[string]bool{}, dates: map[int64]bool{}}
	w.wire = newWire(w)
	w.streams = &streams{w: w, servers: map[string]*streamServer{}, kept: map[string]map[int]*stream{}}
	w.model = newModel(w)
	w.stranger = newStranger(w)
	for i, name := range []string{"north", "south"} {
		s, err := w.startService(i, name)
		if err != nil {
			return nil, err
		}
		w.services = append(w.services, s)
		w.model.secrets.add(s.client.Secret)
		w.model.apart.owner[s.client.Secret] = s.url[len("http://"):]
	}
	if err := w.startProxy(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.disk(), 0o700); err != nil {
		return w, err
	}
	w.mounted = mount(w.disk())
	w.settings = office.DefaultSettings()
	w.settings.AuthURL, w.settings.BaseURL, w.settings.ClientID = w.services[0].url, w.services[0].url, w.services[0].client.ID
	w.settings.Tunnel, w.settings.PublicURL, w.settings.Listen = office.TunnelExternal, officeURL, officePort
	w.settings.Redirect = office.RedirectTunnel
	w.settings.SaveTo = filepath.Join(w.disk(), "folder 1")
	if keyed(seed, "template").IntN(2) == 0 {
		w.settings.NameTemplate, w.settings.Index = "{document}", true // as many offices have
	}
	return w, w.begin()
}

func (w *world) startService(i int, name string) (*service, error) {
	s := &service{name: name, url: fmt.Sprintf("http://127.0.0.1:%d", 9001+i), dir: filepath.Join(w.dir, name)}
	l, err := w.net.listen(nil, s.url[len("http://"):])
	if err != nil {
		return nil, err
	}
	s.client = sandbox.Client{ID: "office-" + name, Secret: "secret-of-" + name, Name: "Countersign", Redirects: []string{returnURL, secondURL + "/oauth/callback"}}
	if err := copyKey(s.dir, i); err != nil {
		return nil, err
	}
	s.Server, err = sandbox.Start(sandbox.Options{
		Dir: s.dir, Listener: l, PublicURL: s.url, Users: peopleOf(i), AutoConsent: true, Now: w.now,
		Clients: []sandbox.Client{s.client, {ID: strangerID, Secret: "secret of the colleague", Name: "Other", Redirects: []string{strangerReturn}}},
		Delivery: sandbox.DeliveryOptions{
			Dial:     func(ctx context.Context, _, address string) (net.Conn, error) { return w.net.dial(ctx, nil, address) },
			RetryMax: 30 * time.Minute, // nobody listens for many hours of a year
		},
	})
	return s, err
}

// peopleOf are the users of a service, in an organization of their own.
func peopleOf(i int) []sandbox.User {
	id := func(n int) string { return fmt.Sprintf("0000000%d-0000-4000-8000-%012d", i+1, n) }
	return []sandbox.User{
		{Email: "olivia@example.com", FirstName: "Olivia", LastName: "Office", OrganizationID: id(1), MemberID: id(2), Admin: true},
		{Email: "max@example.com", FirstName: "Max", LastName: "Member", OrganizationID: id(1), MemberID: id(3)},
	}
}

// begin sets the office up on a new computer and signs in.
func (w *world) begin() error {
	w.chosen[w.settings.SaveTo] = true
	if err := os.MkdirAll(w.settings.SaveTo, 0o700); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	if err := w.office.Configure(context.Background(), w.settings, w.secrets()); err != nil {
		return err
	}
	w.run()
	return w.signIn()
}

func (w *world) secrets() office.Secrets {
	if w.forgets {
		return office.Secrets{}
	}
	return office.Secrets{ClientSecret: w.services[w.current].client.Secret}
}

func (w *world) disk() string { return filepath.Join(w.dir, "computer") }

func (w *world) dataDir() string { return filepath.Join(w.disk(), fmt.Sprintf("data %d", w.computer)) }

// open opens the program without running it yet.
func (w *world) open() error {
	w.starts++
	w.startedLocked = w.keyring.state() != nil
	h := &host{off: w.offline}
	a, err := w.program(h, w.dataDir(), w.keyring)
	if err != nil {
		return fmt.Errorf("the program does not start: %w", err)
	}
	a.Data.Store.Fault = w.access
	w.office, w.host = a, h
	return nil
}

var errUnread = errors.New("the disk gives nothing back")

// access fails now and then if the disk is flaky.
func (w *world) access() error {
	if every := w.flaky.Load(); every > 0 && w.passing.Load() && w.accesses.Add(1)%every == 0 {
		return errUnread
	}
	return nil
}

func (w *world) program(h *host, dataDir string, keys *keyring) (*agent.Agent, error) {
	client := esign.NewHTTPClient(func(ctx context.Context, _, address string) (net.Conn, error) { return w.net.dial(ctx, h, address) })
	client.Transport = w.wire.of(h, client.Transport.(*http.Transport))
	return agent.Open(context.Background(), agent.Params{
		DataDir: dataDir, Keeper: keys, Version: "simulated", HTTP: client, Now: w.clock,
		Jitter:   func() float64 { return keyed(w.seed, "jitter", time.Now().UnixNano()).Float64() },
		OpenPort: func(_ context.Context, _, address string) (net.Listener, error) { return w.net.listen(h, address) },
		Desktop: agent.Desktop{Notify: func(n office.Notice) error {
			switch {
			case h != w.host: // another computer has its own people
				for _, d := range w.desks {
					d.told(h, n)
				}
			case !h.gone():
				w.model.news.told(n)
			case !h.buried():
				w.model.news.lost(n)
			}
			return nil
		}},
		Stream:       w.streams.through(h),
		Crash:        func(point string) { w.passed(h, point) },
		FolderEvents: func(func()) hotfolder.Events { return deaf{} },
		Log:          w.trace.log(func(line string) { w.model.overhears("the log", line); w.model.health.hears(h, line) }),
	})
}

func (h *host) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

func (h *host) buried() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dug
}

// bury records that what the process still does is undone.
func (h *host) bury() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dug = true
}

func (w *world) run() {
	ctx, stop := context.WithCancel(context.Background())
	a := w.office
	w.living, w.stop = ctx, stop
	w.running.Go(func() { a.Run(ctx) })
	synctest.Wait()
}

// folders are all folders to which documents were ever saved.
func (w *world) folders() []string {
	all, _ := filepath.Glob(filepath.Join(w.disk(), "folder *"))
	return all
}

// written are the folders to which the program writes besides its own.
func (w *world) written() []string {
	scans, _ := filepath.Glob(w.scans("*"))
	return append(w.folders(), scans...)
}

// must returns a value that can always be read.
func must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}

// document is a PDF that differs from every other one, but only after everything its table has offsets for.
func document(sent, part int) []byte {
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"+
		"3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>>\nendobj\nxref\n0 4\n0000000000 65535 f \n"+
		"0000000009 00000 n \n0000000054 00000 n \n0000000105 00000 n \ntrailer\n<</Size 4/Root 1 0 R>>\n"+
		"%% contract %d part %d\nstartxref\n184\n%%%%EOF\n", sent, part)
}

// madeIn is the folder created by made, for TestMain to remove.
var madeIn string

// made are folders of services that already have a key: making one takes longer than a simulated week. The key is short, so
// that signing the thousands of tokens of a life takes a sixth of the time.
var made = sync.OnceValues(func() (string, error) {
	base, err := os.MkdirTemp("", "countersign-sim-keys-")
	if err != nil {
		return "", err
	}
	madeIn = base
	for i := range 2 {
		dir := filepath.Join(base, fmt.Sprint(i))
		s, err := sandbox.Start(sandbox.Options{Dir: dir, KeyBits: 1024, Users: peopleOf(i)})
		if err != nil {
			return "", err
		}
		// The first request for the key creates it.
		answer, err := http.Get(s.URL() + "/.well-known/jwks")
		if err != nil {
			return "", err
		}
		answer.Body.Close()
		if err := s.Close(); err != nil {
			return "", err
		}
	}
	return base, nil
})

// copyKey creates the folder of the nth service, with a key.
func copyKey(dir string, n int) error {
	base, err := made()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return copyFile(filepath.Join(base, fmt.Sprint(n), "sandbox.db"), filepath.Join(dir, "sandbox.db"))
}
