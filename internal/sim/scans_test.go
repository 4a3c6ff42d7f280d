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

// deaf are the changes of folders that send that the system tells of: none, as on a share. To wait for them would hold the
// virtual time.
type deaf struct{}

func (deaf) Set([]string) {}
func (deaf) Close()       {}

// scans is the folder that sends.
func (w *world) scans() string { return filepath.Join(w.disk(), "scans") }

// tryScans has files appear in a folder that sends, with the program killed on their way, and not: each becomes one package,
// and lies beside it signed.
func tryScans(w *world) {
	if err := os.MkdirAll(w.scans(), 0o700); err != nil {
		w.model.breaks("the world cannot write: %v", err)
		return
	}
	folder, err := w.office.PutHotFolder(office.HotFolder{Path: w.scans(), Signers: signers[:1]})
	if err != nil {
		w.model.breaks("a folder can send: %v", err)
		return
	}
	for _, point := range []string{"", "folder recorded", "folder moved", "folder drafted", "folder copied"} {
		if !w.scan(point) {
			return
		}
	}
	if w.office == nil {
		return
	}
	if _, err := w.office.RemoveHotFolder(folder.ID); err != nil {
		w.model.breaks("a folder need not send any more: %v", err)
	}
	if !w.calmly(time.Minute) {
		return
	}
	if err := os.RemoveAll(w.scans()); err != nil {
		w.model.breaks("the world cannot clear away: %v", err)
	}
}

// scan has one file appear, and the program killed at point. It is false when there is nothing more to see.
func (w *world) scan(point string) bool {
	w.sends++
	name := fmt.Sprintf("No %d", w.sends)
	path := filepath.Join(w.scans(), name+".pdf")
	if err := os.WriteFile(path, document(w.sends, 0), 0o600); err != nil {
		w.model.breaks("the world cannot write: %v", err)
		return false
	}
	w.model.promised(office.NewPackage{Name: name, Files: []string{path}, Signers: signers[:1]}, w.computer, w.current)
	if point != "" {
		w.arm(point, 0)
		defer w.arm("", 0)
	}
	if !w.calmly(10 * time.Minute) {
		return false
	}
	if _, sent := w.atService(name); !sent {
		w.model.breaks("what lies in a folder that sends goes out: %q did not within ten minutes (killed at %q)", name, point)
		return false
	}
	w.signAll(name)
	if !w.calmly(20 * time.Minute) {
		return false
	}
	w.model.mustBeSaved(name, "and came from a folder that sends")
	w.model.mustBeBeside(name, point)
	return len(w.model.check()) == 0
}

// mustBeBeside judges that a signed document lies in the folder that it was sent from, once.
func (m *model) mustBeBeside(name, point string) {
	var found int
	files, _ := filepath.Glob(filepath.Join(m.w.scans(), office.HotSigned, "*"))
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), ".") {
			m.breaks("nothing half is left: %s", file)
			continue
		}
		body, err := os.ReadFile(file)
		if err == nil && slices.Contains(m.executed[name].documents, m.documentOf(body)) {
			found++
		}
	}
	if found != 1 {
		m.breaks("what came from a folder that sends lies there signed: %q does %d times (killed at %q)", name, found, point)
	}
}
