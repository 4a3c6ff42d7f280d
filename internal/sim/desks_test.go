package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// otherDesk is another computer of the office, which gets the events from the first one, the hub, and saves to a folder of
// its own. It checks that every document is there once, that its people are notified once of each fact, and that it has
// every event that the hub received.
type otherDesk struct {
	w    *world
	at   string // address on which it would be a hub itself
	dir  string // contains all its data
	keys *keyring
	news news

	settings office.Settings
	host     *host
	office   *agent.Agent
	stop     context.CancelFunc
	running  sync.WaitGroup

	since time.Time
	last  string   // the hub's last backup from before it joined
	owed  []string // events it must have
	took  int      // how many of the hub's events are among them
}

const (
	hubAt  = "10.0.0.1:7422"
	deskAt = "10.0.0.2:7422"
	twinAt = "10.0.0.3:7422"

	deskURL  = "https://desk.test"
	deskPort = "127.0.0.1:8091"
)

func (d *otherDesk) data() string   { return filepath.Join(d.dir, "data") }
func (d *otherDesk) folder() string { return filepath.Join(d.dir, "folder") }

// joins makes the office invite a desk, and somebody sign in there.
func (w *world) joins(name string) *otherDesk {
	d := w.newDesk(name, deskAt, newKeyring())
	file, err := w.office.InviteDesk(w.living, office.DeskInvite{Name: name, Servers: hubAt + "," + twinAt, WithSecret: true})
	w.model.holds("a desk can be invited", err)
	d.settings = file.Settings
	d.settings.SaveTo, d.settings.Redirect, d.settings.RedirectURI = d.folder(), office.RedirectPaste, returnURL
	d.settings.SavedElsewhere = keyed(w.seed, "saved elsewhere", name).IntN(3) == 0
	w.desks = append(w.desks, d)
	d.begins(office.Secrets{ClientSecret: w.services[w.current].client.Secret, DeskKey: file.DeskKey})
	d.last = w.lastBackup()
	d.since, d.took = w.now(), len(w.model.stored.acked)
	signedIn := make(chan error, 1)
	w.people.Go(func() {
		signedIn <- d.office.SignIn(w.living, agent.SignInOptions{}, w.browser(d.host, d.office, d.settings))
	})
	w.calmly(2 * time.Minute)
	w.model.holds("somebody can sign in at a desk", <-signedIn)
	return d
}

func (w *world) newDesk(name, at string, keys *keyring) *otherDesk {
	d := &otherDesk{w: w, at: at, dir: filepath.Join(w.dir, name), keys: keys, news: newNews(w.model)}
	w.model.holds("the world cannot write", os.MkdirAll(d.folder(), 0o700))
	return d
}

func (d *otherDesk) begins(s office.Secrets) {
	var err error
	d.host = &host{at: d.at}
	if d.office, err = d.w.program(d.host, d.data(), d.keys); err != nil {
		d.w.model.breaks("the program starts at a desk: %v", err)
		panic(errBrokenOff)
	}
	if s != (office.Secrets{}) {
		d.w.model.holds("a desk can be set up", d.office.Configure(context.Background(), d.settings, s))
	}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	a := d.office
	d.running.Go(func() { a.Run(ctx) })
}

func (d *otherDesk) ends() {
	if d.office == nil {
		return
	}
	d.stop()
	d.running.Wait()
	d.office.Close()
	d.host.kill()
	d.w.wire.idle(d.host)
	d.office = nil
}

// dies kills its program and restarts it.
func (d *otherDesk) dies() {
	kept := d.dir + " as of the kill"
	err := copyTree(d.dir, kept)
	d.host.kill()
	d.host.bury()
	d.ends()
	d.w.model.holds("the world cannot bring back the disk", errors.Join(err, os.RemoveAll(d.dir), os.Rename(kept, d.dir)))
	d.begins(office.Secrets{})
}

// told examines a notification on a host.
func (d *otherDesk) told(h *host, n office.Notice) {
	switch {
	case h != d.host:
	case !h.gone():
		d.news.told(n)
	case !h.buried():
		d.news.lost(n)
	}
}

// note records what the hub received, before the hub forgets it.
func (d *otherDesk) note() {
	d.w.model.mu.Lock()
	defer d.w.model.mu.Unlock()
	acked := d.w.model.stored.acked
	d.owed, d.took = append(d.owed, acked[min(d.took, len(acked)):]...), len(acked)
}

func (d *otherDesk) events(when string) map[string]bool {
	has := map[string]bool{}
	d.w.model.stored.eachEvent(d.office, func(e office.EventRow) {
		if has[e.ID] {
			d.w.model.breaks("an event is shown once: %s is there twice at a desk, %s", e.ID, when)
		}
		has[e.ID] = true
	})
	return has
}

// judge checks that it has everything, once.
func (d *otherDesk) judge(when string) {
	d.note()
	has := d.events(when)
	for _, id := range d.owed {
		if !has[id] {
			d.w.model.breaks("a desk has every event: it lacks %s, %s", id, when)
		}
	}
	d.news.lookAtNews()
	files := map[string]int{}
	for _, e := range must(os.ReadDir(d.folder())) {
		if body := must(os.ReadFile(filepath.Join(d.folder(), e.Name()))); strings.HasSuffix(e.Name(), ".pdf") && !strings.HasPrefix(e.Name(), ".") {
			files[d.w.model.saved.documentOf(body)]++
		}
	}
	for document, n := range files {
		if document == "" || n > 1 {
			d.w.model.breaks("a document is saved once: a desk has %q %d times, %s", document, n, when)
		}
	}
	d.w.model.mu.Lock()
	executed := d.w.model.executed
	d.w.model.mu.Unlock()
	for name, e := range executed {
		for _, document := range e.documents {
			if e.at.After(d.since) && files[document] == 0 != d.settings.SavedElsewhere {
				d.w.model.breaks("what was signed is saved where it is to be: %s of %q is %d times at a desk, %s", document, name, files[document], when)
			}
		}
	}
}

// deskTroubles are disturbances between the office's computers while a package is signed. Each calls signs for that, and
// returns whether people at the desk are notified.
var deskTroubles = map[string]func(w *world, d *otherDesk, signs func()) (told bool){
	"nothing": func(w *world, d *otherDesk, signs func()) bool {
		signs()
		w.calmly(2 * time.Minute)
		return true
	},
	"hub killed": func(w *world, d *otherDesk, signs func()) bool {
		w.at("event handed on", keyed(w.seed, "handed on", w.sends).IntN(2), w.dies)
		signs()
		w.calmly(5 * time.Minute)
		return true
	},
	"hub away": func(w *world, d *otherDesk, signs func()) bool {
		doOffline(w, step{args: []string{"40m"}})
		signs()
		w.calmly(50 * time.Minute)
		return true
	},
	"desk away": func(w *world, d *otherDesk, signs func()) bool {
		d.host.cut(true)
		signs()
		w.calmly(40 * time.Minute)
		d.host.cut(false)
		return true
	},
	"desk killed": func(w *world, d *otherDesk, signs func()) bool {
		signs()
		w.sleep(between(keyed(w.seed, "desk killed", w.sends), time.Millisecond, 2*time.Second))
		d.dies()
		return false // it may have been killed while announcing it
	},
	"stream lost": func(w *world, d *otherDesk, signs func()) bool {
		d.ends()
		signs()
		w.calmly(time.Minute)
		w.stopped()
		w.streams.harm(w.hubFolder(), func(all map[int]*stream) { clear(all) })
		w.start()
		d.begins(office.Secrets{})
		return true
	},
	"numbers used again": func(w *world, d *otherDesk, signs func()) bool {
		signs()
		w.calmly(2 * time.Minute)
		w.stopped()
		w.streams.harm(w.hubFolder(), func(all map[int]*stream) {
			for _, s := range all {
				s.drop(len(s.messages)-2, len(s.messages))
				s.last -= 2
			}
		})
		w.start()
		return true
	},
	"dropped": func(w *world, d *otherDesk, signs func()) bool {
		d.ends()
		signs()
		w.calmly(time.Minute)
		w.streams.harm(w.hubFolder(), func(all map[int]*stream) {
			for _, s := range all {
				s.drop(0, len(s.messages)-1)
			}
		})
		d.begins(office.Secrets{})
		return true
	},
	"desk restored": func(w *world, d *otherDesk, signs func()) bool {
		for len(must(agent.Backups(d.data()))) == 0 {
			w.calmly(time.Hour)
		}
		signs()
		w.calmly(20 * time.Minute)
		d.ends()
		_, err := agent.PrepareRestore(context.Background(), d.keys, d.data(), must(agent.Backups(d.data()))[0].Path)
		w.model.holds("a backup can be restored at a desk", err)
		d.begins(office.Secrets{})
		w.calmly(time.Hour)
		return true // they were notified before
	},
	"hub restored": func(w *world, d *otherDesk, signs func()) bool {
		backup := d.backup()
		signs()
		w.calmly(20 * time.Minute)
		d.note()
		d.took = 0
		w.goesBack(backup)
		w.calmly(time.Hour)
		return true
	},
	"two hubs of one kind": func(_ *world, d *otherDesk, signs func()) bool { return d.tryTwins(signs) },
	"another hub":          func(_ *world, d *otherDesk, signs func()) bool { return d.tryAnother(signs) },
}

// tryTwins restores the hub's last backup on a second computer, by mistake: both are the same hub. The desk, which cannot
// reach the first, connects to the second, which receives no events.
func (d *otherDesk) tryTwins(signs func()) bool {
	w := d.w
	backup := d.backup()
	twin := w.newDesk(fmt.Sprint("twin ", w.sends), twinAt, w.keyring)
	to := filepath.Join(twin.data(), "backups", filepath.Base(backup))
	err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), copyFile(backup, to))
	if err == nil {
		_, err = agent.PrepareRestore(context.Background(), w.keyring, twin.data(), to)
	}
	w.model.holds("a backup can be restored on another computer", err)
	twin.begins(office.Secrets{})
	defer twin.ends()
	w.calmly(2 * time.Minute)
	doOffline(w, step{args: []string{"20m"}})
	w.calmly(10 * time.Minute)
	if w.streams.servers[twinAt] == nil || len(w.streams.servers[twinAt].desks) == 0 {
		w.model.breaks("the world has no second hub")
	}
	signs()
	w.calmly(50 * time.Minute)
	return true
}

// tryAnother makes the desk become the hub while the first still is one. The first becomes a desk of it, and later the hub
// again.
func (d *otherDesk) tryAnother(signs func()) bool {
	w := d.w
	first, own := w.settings, d.settings
	d.settings.Tunnel, d.settings.PublicURL, d.settings.Listen, d.settings.OfficeListen = office.TunnelExternal, deskURL, deskPort, deskAt
	w.taken = true
	d.configures()
	signs()
	w.calmly(20 * time.Minute)
	goes := func(to *agent.Agent, at string) (s office.TunnelSettings) {
		file, err := to.MovedHub(at)
		w.model.holds("a hub says where it is", err)
		return file.Settings.TunnelSettings
	}
	there := goes(d.office, deskAt)
	w.configure(func(s *office.Settings) {
		s.TunnelSettings, s.Redirect, s.RedirectURI = there, office.RedirectPaste, returnURL
	})
	w.calmly(20 * time.Minute)
	d.alike("the first hub is a desk of the second")
	w.configure(func(s *office.Settings) { *s = first })
	w.calmly(2 * time.Minute)
	d.settings = own
	d.settings.TunnelSettings = goes(w.office, hubAt+","+twinAt)
	d.configures()
	w.mend(0)
	w.calmly(2 * time.Minute)
	w.getsEvents()
	return true
}

func (d *otherDesk) configures() {
	d.w.model.holds("a desk can be set up", d.office.Configure(d.w.living, d.settings, office.Secrets{}))
	d.w.calmly(2 * time.Minute)
}

// alike checks that the first computer has every event that this one has.
func (d *otherDesk) alike(when string) {
	theirs := map[string]bool{}
	d.w.model.stored.eachEvent(d.w.office, func(e office.EventRow) { theirs[e.ID] = true })
	for id := range d.events(when) {
		if !theirs[id] {
			d.w.model.breaks("a desk has every event: the first computer lacks %s, %s", id, when)
		}
	}
}

// backup waits until the hub has a backup, perhaps an old one, that knows the desk, and returns its path.
func (d *otherDesk) backup() string {
	if d.w.lastBackup() == d.last {
		d.w.backedUp()
	}
	return d.w.lastBackup()
}

// lastBackup is the path of the hub's last backup; "" for none.
func (w *world) lastBackup() string {
	for _, b := range must(agent.Backups(w.dataDir())) {
		return b.Path
	}
	return ""
}

func (w *world) hubFolder() string { return filepath.Join(w.dataDir(), "desks") }

func TestDesksOfOneOffice(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		steps := []step{{time.Minute, "trial", []string{"desks"}}}
		if o := play(t, seed, steps); len(o.broken) > 0 {
			o.fail(t, seed, steps)
		}
	}
}

// tryDesks lets another desk get its events from the office's computer, with a disturbance between them.
func tryDesks(w *world) {
	if !w.listens() {
		return
	}
	w.wantsNews()
	w.configure(func(s *office.Settings) { s.OfficeListen = hubAt })
	w.calmly(time.Minute)
	d := w.joins(fmt.Sprintf("desk %d", len(w.desks)+1))
	defer func() {
		d.ends()
		w.configure(func(s *office.Settings) { s.OfficeListen = "" })
		w.sleep(time.Minute)
	}()
	names := slices.Sorted(maps.Keys(deskTroubles))
	r := keyed(w.seed, "desks", w.sends)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, what := range names[:4] {
		w.trace.add("between the desks: %s", what)
		p := w.known(1, 0)
		told := deskTroubles[what](w, d, func() { w.signAll(p.Name) })
		w.calmly(20 * time.Minute)
		d.judge("after " + what)
		if told {
			d.news.mustBeTold("finished "+p.Name, "at a desk, after "+what)
		}
		w.model.mustBeSaved(p.Name, "and there are several desks: "+what)
		w.calmly(time.Minute)
	}
}
