package sim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/synctest"
	"time"
)

// stopped ends the program as its menu does, and waits for it.
func (w *world) stopped() error {
	if w.office == nil {
		return nil
	}
	w.quitting = false
	w.model.window.closes()
	began := time.Now()
	w.stop()
	w.people.Wait()
	w.running.Wait()
	err := w.office.Close()
	if took := time.Since(began); took > 5*time.Second && !w.host.gone() {
		w.model.breaks("the program ends within five seconds, whatever hangs: it took %v", took)
	}
	w.host.kill()
	w.wire.idle(w.host)
	w.office = nil
	return err
}

// remains are what a kill leaves on the disk.
type remains struct {
	folders photo
	data    string
	err     error
}

// kill kills the program at this moment: what it still does afterwards is undone.
func (w *world) kill() {
	if !w.host.gone() { // otherwise a point of its work has just killed it
		w.die(w.host)
	}
	w.bury()
}

// die is the moment of the kill.
func (w *world) die(h *host) {
	if w.full { // the simulation's own copies need room
		fill(w.disk(), false)
	}
	folders, err := photograph(w.written())
	w.left = &remains{folders, w.dataDir() + " as of the kill", errors.Join(err, copyTree(w.dataDir(), w.dataDir()+" as of the kill"))}
	h.kill()
	w.mayBeOut = w.mayBeOut || w.wire.renewing() // with it, the only valid token may be lost
}

// bury ends the rest of a killed process, and restores the disk as it was when it was killed.
func (w *world) bury() {
	if w.office != nil && w.quitting {
		doQuit(w, step{})
		return
	}
	if w.office == nil || w.left == nil {
		return
	}
	left := w.left
	w.left = nil
	w.at("", 0, nil)
	w.host.bury()
	w.stopped() // its result no longer matters
	err := errors.Join(left.err, left.folders.restore(), os.RemoveAll(w.dataDir()), os.Rename(left.data, w.dataDir()))
	w.model.holds("the world cannot bring back the disk", err)
	if w.full {
		fill(w.disk(), true)
	}
	w.start()
}

// at calls what when the program has passed a point of its work that many times, in the middle of it.
func (w *world) at(point string, passes int, what func()) {
	w.crashMu.Lock()
	defer w.crashMu.Unlock()
	w.armed, w.passes, w.happens = point, passes, what
}

// dies kills the program, and quits ends it as its menu does, at a point of its work.
func (w *world) dies() {
	w.die(w.host)
	w.crashes <- struct{}{}
}

func (w *world) quits() {
	w.quitting = true
	w.stop()
	w.crashes <- struct{}{}
}

// passed is called at the points that the program passes in its work.
func (w *world) passed(h *host, point string) {
	w.crashMu.Lock()
	defer w.crashMu.Unlock()
	if h.gone() || h != w.host || w.armed == "" || !strings.HasPrefix(point, w.armed) {
		return
	}
	if w.passes--; w.passes >= 0 {
		return
	}
	w.trace.add("at %q", point)
	w.armed = ""
	w.mayBeOut = w.mayBeOut || strings.HasPrefix(point, "renew") // a token that is not stored yet stays valid at the service for only a minute
	w.happens()
}

func (w *world) start() {
	w.stirred = time.Now()
	err := w.open()
	if err != nil && w.full { // it reports this, and people make room
		w.fill(false)
		err = w.open()
	}
	if err != nil {
		w.model.breaks("the program starts: %v", err)
		return
	}
	w.model.stored.restarted()
	w.run()
	w.owesSweep("the program started")
}

// end ends everything; it is called once.
func (w *world) end() {
	w.stopped()
	for _, d := range w.desks {
		d.ends()
	}
	if w.stranger != nil {
		w.stranger.close()
	}
	for _, s := range w.services {
		s.Close()
	}
	w.wire.close()
	synctest.Wait()
	if w.mounted {
		unmount(w.disk())
	}
}

// stand advances time by d without any timer noticing, as when a computer sleeps.
func (w *world) stand(d time.Duration) {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	w.slept += d
}

// put makes the computer's clock wrong by an additional d.
func (w *world) put(d time.Duration) {
	w.clockMu.Lock()
	defer w.clockMu.Unlock()
	w.wrong += d
	w.jumped = time.Now()
}

// photo is a copy of folders at one moment.
type photo struct{ kept map[string]string } // folder -> its copy

// photograph copies folders. Files that are never written again once they have their names are hard-linked; see stays.
func photograph(folders []string) (photo, error) {
	p := photo{map[string]string{}}
	for _, dir := range folders {
		p.kept[dir] = filepath.Join(filepath.Dir(dir), "photo of "+filepath.Base(dir))
		if err := copyTree(dir, p.kept[dir]); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p photo) restore() error {
	var all error
	for dir, kept := range p.kept {
		all = errors.Join(all, os.RemoveAll(dir), os.Rename(kept, dir))
	}
	return all
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case stays(e.Name()):
			return os.Link(path, target)
		case e.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
}

// stays reports whether nobody writes to a file of that name again: a complete document, or a sealed backup, of which a data
// folder has hundreds.
func stays(name string) bool {
	return strings.HasSuffix(name, ".pdf") && !strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".countersign-backup")
}

func copyFile(from, to string) error {
	body, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, body, 0o600)
}
