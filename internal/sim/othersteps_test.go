package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// turn is a signature that somebody can make now.
type turn struct{ pack, name, signer, who string }

func (s *service) turns() (all []turn) {
	for _, p := range s.Packages() {
		for _, signer := range p.Signers {
			if signer.Turn {
				all = append(all, turn{p.PackageID, p.Name, signer.SignerID, signer.Name})
			}
		}
	}
	return all
}

// turnOf is the first signature that somebody can make now of that package at the service in use, if there is one.
func (w *world) turnOf(name string) (t turn, more bool) {
	for _, t := range w.services[w.current].turns() {
		if t.name == name {
			return t, true
		}
	}
	return t, false
}

// doSign makes the nth of the possible signatures.
func doSign(w *world, s step) {
	// People sign at any service, mostly at the one in use.
	service := w.services[w.current]
	if other := w.services[1-w.current]; s.number(0)%7 == 0 && len(other.turns()) > 0 {
		service = other
	}
	turns := service.turns()
	if len(turns) == 0 {
		return
	}
	t := turns[s.number(0)%len(turns)]
	w.sign(service, t)
}

// sign makes a possible signature.
func (w *world) sign(s *service, t turn) (ok bool) {
	w.model.news.happens(s, office.FactSigned, "signed "+t.who+" "+t.name, t)
	if err := s.Sign(t.pack, t.signer); err != nil {
		w.model.breaks("the world cannot sign: %v", err)
		return false
	}
	w.model.signed(s, t)
	return true
}

func doDecline(w *world, s step) {
	turns := w.services[w.current].turns()
	if len(turns) == 0 {
		return
	}
	w.decline(w.services[w.current], turns[s.number(0)%len(turns)])
}

// decline makes somebody decline whose turn it is.
func (w *world) decline(s *service, t turn) {
	w.model.news.happens(s, office.FactDeclined, "declined "+t.who+" "+t.name, t)
	w.model.holds("the world cannot decline", s.Decline(t.pack, t.signer, "Clause 4"))
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.did["declined "+t.who+" "+t.name]++
}

// doDesk lets another desk of the office take over the endpoint, or delete it.
func doDesk(w *world, s step) {
	address := "https://desk.test/webhook"
	if s.word(0) == "deletes" {
		if len(w.services[w.current].EndpointURLs()) == 0 {
			return
		}
		address = ""
	}
	w.taken = true
	w.model.holds("the world cannot take the endpoint", w.services[w.current].ReplaceEndpoint(address))
}

// doForge lets a stranger send an event about something that did not happen.
func doForge(w *world, s step) {
	f := sandbox.Forgery{Action: "package_executed", Signature: s.word(0)}
	if s.word(0) == "garbage" {
		f.Body, f.Signature = "{", "wrong"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if !slices.Contains(w.services[w.current].EndpointURLs(), w.settings.PublicURL+"/webhook") {
		return
	}
	if status, err := w.services[w.current].Forge(ctx, f); err == nil && status/100 == 2 {
		w.model.breaks("nobody gets in: a forged event was answered %d", status)
	}
}

func doRevoke(w *world, s step) {
	service := w.services[w.current]
	err := service.ExpireAccessTokens()
	if s.word(0) == "refresh" {
		w.lapsed, w.mayBeOut = true, true
		err = service.RevokeRefreshTokens()
	}
	w.model.holds("the world cannot revoke", err)
}

func doTrouble(w *world, s step) {
	w.wire.trouble(&fault{kind: s.word(0), path: s.word(1), left: s.number(2), until: time.Now().Add(s.span(3))})
}

func doHook(w *world, s step) {
	w.wire.trouble(&fault{kind: s.word(0), path: "hook", left: s.number(1), until: time.Now().Add(24 * time.Hour)})
}

// doDisturb changes how the service delivers its events.
func doDisturb(w *world, s step) {
	service := w.services[w.current]
	switch s.number(0) % 3 {
	case 0:
		service.Disturb(sandbox.Disturbance{Duplicate: 1})
	case 1:
		service.Disturb(sandbox.Disturbance{Reorder: true, DelayMS: 5000})
	case 2:
		service.Hold()
		w.holding = true
		w.later(3*time.Hour, func() {
			w.holding = false
			service.Release("random")
		})
		return
	}
	w.later(5*time.Hour, func() { service.Disturb(sandbox.Disturbance{}) })
}

// doList changes how the service answers list requests.
func doList(w *world, s step) {
	service := w.services[w.current]
	service.SetListHabits([]sandbox.ListHabits{{}, {Order: "oldest"}, {Order: "random"}, {MostTake: 3}, {NoSkip: true}, {Shift: 2}}[s.number(0)%6])
	w.later(8*time.Hour, func() { service.SetListHabits(sandbox.ListHabits{}) })
}

func doOffline(w *world, s step) {
	w.mayBeOut = w.mayBeOut || w.wire.renewing()
	w.host.cut(true)
	w.offline = true
	w.later(s.span(0), w.online)
}

func (w *world) online() {
	w.offline = false
	w.host.cut(false)
}

func doLock(w *world, s step) {
	w.keyring.lock(true)
	k := w.keyring
	w.later(s.span(0), func() { k.lock(false) })
}

// doUnplug removes the drive with the folder for a while.
func doUnplug(w *world, s step) {
	w.model.saved.lookAtFolders()
	folder := w.settings.SaveTo
	aside := filepath.Join(w.disk(), "unplugged "+filepath.Base(folder))
	if os.Rename(folder, aside) != nil {
		return
	}
	w.model.saved.unplugged(folder, aside)
	delete(w.chosen, folder)
	w.later(s.span(0), func() {
		if _, err := os.Stat(folder); err == nil && !w.chosen[folder] {
			w.model.breaks("a folder that is away is not made anew: %s", folder)
		}
		w.model.holds("the world cannot plug the drive in", w.join(aside, folder))
		w.model.saved.plugged(folder, aside)
	})
}

// doFill fills the computer's disk for a while.
func doFill(w *world, s step) {
	if !w.mounted || w.full {
		return
	}
	w.fill(true)
	w.later(s.span(0), func() { w.fill(false) })
}

func (w *world) fill(full bool) {
	if w.full == full {
		return
	}
	w.model.holds("the world cannot fill the disk", fill(w.disk(), full))
	w.full, w.mayBeOut, w.stirred = full, true, time.Now() // a renewal that cannot be stored is lost with the process
}

// doFlaky makes every nth access of the program to its data fail for a while: unread data must not count as absent, and
// unwritten data not as written.
func doFlaky(w *world, s step) {
	w.flaky.Store(int64(s.number(0)))
	w.mayBeOut, w.stirred = true, time.Now() // a renewal that cannot be stored is lost with the process
	w.later(s.span(1), func() { w.flaky.Store(0) })
}

// doClock sets the computer's clock wrong, and right again later.
func doClock(w *world, s step) {
	by := s.span(0)
	w.put(by)
	w.later(s.span(1), func() { w.put(-by) })
}

// doSleep lets the computer sleep: time passes, and its connections do not survive.
func doSleep(w *world, s step) {
	w.mayBeOut = w.mayBeOut || w.wire.renewing()
	w.host.cut(true)
	w.stand(s.span(0))
	w.host.cut(w.offline)
	w.owesSweep("the computer woke up")
}

func doCrash(w *world, s step) {
	what := w.dies
	if s.word(2) == "quit" {
		what = w.quits
	}
	w.at(crashPoints[s.number(0)%len(crashPoints)], s.number(1), what)
}

func doQuit(w *world, s step) {
	if err := w.stopped(); err != nil && !w.full && w.flaky.Load() == 0 {
		w.model.breaks("the program ends: %v", err)
	}
	w.sleep(s.span(0))
	w.start()
}

// join brings a folder back. If people had it created anew meanwhile, its contents are added to that.
func (w *world) join(aside, folder string) error {
	if os.Rename(aside, folder) == nil {
		return nil
	}
	w.model.saved.lookAtFolders()
	for path, f := range w.model.saved.files { // whoever saved meanwhile could not know of these
		if filepath.Dir(path) == folder {
			w.model.saved.brought[f.document] = true
		}
	}
	entries, err := os.ReadDir(aside)
	for _, e := range entries {
		from, to := filepath.Join(aside, e.Name()), filepath.Join(folder, e.Name())
		if _, there := os.Lstat(to); there == nil {
			w.renames++
			to = filepath.Join(folder, fmt.Sprintf("from the drive %d%s", w.renames, filepath.Ext(e.Name()))) // a new name, because the original may be of maximum length
			if f, known := w.model.saved.files[from]; known {
				w.model.saved.unfiled(from)
				w.model.saved.filed(to, f)
			}
		}
		err = errors.Join(err, os.Rename(from, to))
	}
	return errors.Join(err, os.Remove(aside))
}
