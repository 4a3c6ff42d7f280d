package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/office"
)

// deaf is a file watcher that reports no changes, as on a share. Waiting for real ones would block virtual time.
type deaf struct{}

func (deaf) Set([]string) {}
func (deaf) Close()       {}

// scans is a watched folder, by its number.
func (w *world) scans(number string) string { return filepath.Join(w.disk(), "scans "+number) }

// sendsFrom adds watched folders while play runs, and removes them again.
func (w *world) sendsFrom(many int, ask bool, play func(f []office.HotFolder)) {
	var all []office.HotFolder
	for n := range many {
		f, err := w.office.PutHotFolder(office.HotFolder{Path: w.scans(fmt.Sprint(n + 1)), Signers: signers[:1], Ask: ask})
		if err != nil {
			w.model.breaks("a folder can send: %v", err)
			return
		}
		all = append(all, f)
	}
	play(all)
	for _, f := range all {
		_, err := w.office.RemoveHotFolder(f.ID)
		w.model.holds("a folder need not send any more", err)
	}
	w.calmly(time.Minute)
	for _, f := range all {
		w.model.holds("the world cannot clear away", os.RemoveAll(f.Path))
	}
}

// drop puts a file into a watched folder, and returns its package's name.
func (w *world) drop(folder string) (name string) {
	w.sends++
	name = fmt.Sprintf("No %d", w.sends)
	w.write(filepath.Join(folder, name+".pdf"), document(w.sends, 0))
	w.model.sent.promised(office.NewPackage{Name: name, Files: []string{name + ".pdf"}, Signers: signers[:1]}, w.computer, w.current)
	return name
}

// write writes a file as somebody else.
func (w *world) write(path string, body []byte) {
	w.model.holds("the world cannot write", os.MkdirAll(filepath.Dir(path), 0o700))
	w.model.holds("the world cannot write", os.WriteFile(path, body, 0o600))
}

// tryScans puts files into a watched folder, with and without the program being killed or ended meanwhile: each becomes one
// package, whose signed documents are returned beside it.
func tryScans(w *world) {
	doChoose(w, step{args: []string{"certificates"}}) // so that two files come back
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		for _, point := range []string{"", "folder recorded", "folder moved", "folder drafted", "folder copied", "quit folder moved", "quit folder returned"} {
			what := w.dies
			at, quit := strings.CutPrefix(point, "quit ")
			if quit {
				what = w.quits
			}
			w.at(at, 0, what)
			w.scan(f[0].Path, point)
			w.at("", 0, nil)
		}
	})
}

// scan puts one file into a folder, and lets everybody sign it.
func (w *world) scan(folder, when string) {
	name := w.drop(folder)
	w.calmly(10 * time.Minute)
	if _, sent := w.atService(name); !sent {
		w.model.breaks("what lies in a folder that sends goes out: %q did not within ten minutes (%s)", name, when)
		return
	}
	w.comesBack(folder, name, when)
}

// comesBack lets everybody sign what came from a folder, and checks that the signed documents are returned there.
func (w *world) comesBack(folder, name, when string) {
	w.signAll(name)
	w.calmly(20 * time.Minute)
	w.model.mustBeSaved(name, "and came from a folder that sends")
	w.model.mustBeBeside(folder, name, when)
}

// mustBeBeside checks that the files of a package are in the folder it was sent from, each once.
func (m *model) mustBeBeside(folder, name, when string) {
	found := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(folder, office.HotSigned, "*"))
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), ".") {
			m.breaks("nothing half is left: %s", file)
		} else if body, err := os.ReadFile(file); err == nil {
			found[m.saved.documentOf(body)]++
		}
	}
	for _, document := range m.wishes.owedFiles(m.executed[name]) {
		if found[document] != 1 && document != m.executed[name].master {
			m.breaks("what came from a folder that sends lies there signed: %s of %q does %d times (%s)", document, name, found[document], when)
		}
	}
}

// private is a stranger's file in a watched folder, which must not be sent.
const private = 2_000_000

// tryLinks lets somebody put links and files where the program creates things in one of two watched folders: nothing leads
// out of that one, and the other keeps working.
func tryLinks(w *world) {
	secret := filepath.Join(w.disk(), "private", "No.pdf")
	w.write(secret, document(private, 0))
	w.sendsFrom(2, false, func(f []office.HotFolder) {
		for _, place := range []string{office.HotSigned, office.HotSent, office.HotWaiting} {
			name := w.drop(f[0].Path)
			w.calmly(10 * time.Minute)
			where := filepath.Join(f[0].Path, place)
			aside := filepath.Join(f[0].Path, "aside of "+place)
			os.Rename(where, aside)
			if err := os.Symlink(filepath.Dir(secret), where); err != nil {
				return // a system without links
			}
			w.signAll(name)
			w.drop(f[0].Path)
			w.scan(f[1].Path, "the other one's "+place+" is a link")
			os.Remove(where)
			os.Rename(aside, where)
			w.comesBack(f[0].Path, name, place+" is no link any more")
		}
		w.at("folder moved", 0, func() {
			waiting, _ := filepath.Glob(filepath.Join(f[0].Path, office.HotWaiting, "*", "*.pdf"))
			for _, path := range waiting {
				os.Remove(path)
				os.Symlink(secret, path)
			}
		})
		w.write(filepath.Join(f[0].Path, "Swapped.pdf"), document(private+1, 0))
		w.calmly(10 * time.Minute)
		w.at("", 0, nil)
	})
	inside, err := os.ReadDir(filepath.Dir(secret))
	if body, rerr := os.ReadFile(secret); err != nil || rerr != nil || len(inside) != 1 || !slices.Equal(body, document(private, 0)) {
		w.model.breaks("nothing leaves the folder: %v and %v are where another writer's link led", inside, rerr)
	}
	os.RemoveAll(filepath.Dir(secret))
}

// tryDropped lets the same file appear again within moments. If its program merely wrote it twice, nothing happens; but if
// the folder's signers were corrected meanwhile, or the package was withdrawn, people see what becomes of it, once.
func tryDropped(w *world) {
	for _, between := range []string{"nothing", "corrected", "withdrawn"} {
		w.sendsFrom(1, false, func(all []office.HotFolder) {
			f := all[0]
			name := w.drop(f.Path)
			body := document(w.sends, 0)
			var p string
			for range 30 {
				w.calmly(2 * time.Second)
				if there, sent := w.atService(name); sent && w.model.news.knows(there.PackageID, name) {
					p = there.PackageID
					break
				}
			}
			if p == "" {
				return
			}
			want := 1
			switch between {
			case "corrected":
				want, f.Signers = 2, signers[1:2]
				_, err := w.office.PutHotFolder(f)
				w.model.holds("a folder can send to others", err)
			case "withdrawn":
				want = 2
				there, _ := w.atService(name)
				w.withdraw(there)
				w.calmly(20 * time.Second)
			}
			w.model.sent.may[name] = want
			w.write(filepath.Join(f.Path, name+".pdf"), body)
			w.calmly(10 * time.Minute)
			if seen := w.outcomes(f.Path, name); seen != want {
				w.model.breaks("what lies in a folder that sends is seen by people: %q appeared twice (%s in between), and %d are sent, held or refused", name, between, seen)
			}
			for _, d := range must(w.office.Drafts()) {
				if d.Name == name {
					w.office.Cancel(d.ID)
				}
			}
			for _, p := range w.services[w.current].Packages() {
				if p.Name == name && p.State == "open" {
					w.model.withdrawn.mayWithdraw(p.PackageID)
					w.services[w.current].Rescind(p.PackageID, "A trial", false)
				}
			}
			w.calmly(time.Minute)
		})
	}
}

// outcomes counts the files of that name that people see as sent, waiting in the outbox, or a problem.
func (w *world) outcomes(folder, name string) (n int) {
	for _, p := range w.services[w.current].Packages() {
		if p.Name == name {
			n++
		}
	}
	for _, d := range must(w.office.Drafts()) {
		if d.Name == name && d.State != office.DraftSent && d.State != office.DraftCancelled {
			n++
		}
	}
	texts, _ := filepath.Glob(filepath.Join(folder, office.HotProblems, name+"*.txt"))
	return n + len(texts)
}

// tryExtended lets a package expire, and be signed after its sender has extended it: it is saved like any other.
func tryExtended(w *world) {
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		name := w.drop(f[0].Path)
		w.calmly(10 * time.Minute)
		p, sent := w.atService(name)
		for _, by := range []time.Duration{10 * time.Minute, 48 * time.Hour} {
			if !sent {
				return
			}
			w.model.holds("the world cannot extend", w.services[w.current].Extend(p.PackageID, w.now().Add(by)))
			w.checkNow()
			w.calmly(50 * time.Minute)
		}
		w.comesBack(f[0].Path, name, "it had run out, and was given more time")
	})
}

// tryRefused lets the service refuse a file from a watched folder, and adds a file that is no document: people see both, and
// what is put there again, unchanged or corrected, is sent.
func tryRefused(w *world) {
	w.sendsFrom(1, false, func(f []office.HotFolder) {
		w.fails("forbidden", "/packages/add", 1, time.Hour)
		refused := w.drop(f[0].Path)
		again := document(w.sends, 0)
		w.calmly(10 * time.Minute)
		none := w.drop(f[0].Path)
		whole := document(w.sends, 0)
		w.write(filepath.Join(f[0].Path, none+".pdf"), []byte("no document"))
		w.calmly(10 * time.Minute)
		for name, body := range map[string][]byte{refused: again, none: whole} {
			if w.outcomes(f[0].Path, name) == 0 {
				w.model.breaks("what lies in a folder that sends is seen by people: %q cannot be sent, and is nowhere", name)
			}
			w.write(filepath.Join(f[0].Path, name+".pdf"), body)
			w.calmly(10 * time.Minute)
			if _, sent := w.atService(name); !sent {
				w.model.breaks("what lies in a folder that sends goes out: %q did not, though it was put there again", name)
			}
		}
	})
}
