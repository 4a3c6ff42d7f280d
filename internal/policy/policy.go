// Package policy reads what the administrator of this computer has decided for Countersign: settings by their names, fixed
// ones and those to begin with. On Windows they are values below HKEY_LOCAL_MACHINE, Software\Policies\Countersign, those to
// begin with in the key Defaults there; elsewhere they are a file that only an administrator can write.
//
// It promises to read a bounded amount, to say in one sentence what it cannot use and read the rest, and to take nothing back
// because a place cannot be read for a while. It must not know what the settings mean.
package policy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"countersign/internal/message"
)

// Policy is what was decided. Values are texts, truth values, whole numbers (float64, as JSON has them) or lists of texts.
type Policy struct {
	From     string // where it is written, with commas between several places; empty when nothing is
	Fixed    map[string]any
	Defaults map[string]any
	Wrong    message.Message // what could not be read, for whoever looks after this computer; none for nothing
}

// unread reports whether nothing of a place could be read, which may be half written.
func (p Policy) unread() bool { return !p.Wrong.IsZero() && p.Fixed == nil && p.Defaults == nil }

// source is a place where an administrator decides: its path, and what reads it. Of nothing there it reads the zero Policy.
type source struct {
	path string
	read func(path string) Policy
}

// Reader reads what is decided in all places of this system. What it cannot read counts as it was when it last could. The zero
// value is ready to use, by several goroutines at once.
type Reader struct {
	mu   sync.Mutex
	last map[string]Policy // what could be read of each place, by its path
}

// Read reads the policy as it is now.
func (r *Reader) Read() Policy { return r.join(sources()) }

// join is what the sources say together. Of two that decide the same setting in the same way the first counts.
func (r *Reader) join(sources []source) (all Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]Policy{}
	}
	var from []string
	var wrong []message.Message
	for _, s := range sources {
		p := s.read(s.path)
		if p.unread() {
			p.Fixed, p.Defaults = r.last[s.path].Fixed, r.last[s.path].Defaults
		}
		r.last[s.path] = p
		if p.From != "" && !slices.Contains(from, p.From) {
			from = append(from, p.From)
		}
		if !p.Wrong.IsZero() {
			wrong = append(wrong, p.Wrong)
		}
		all.Fixed, all.Defaults = below(p.Fixed, all.Fixed), below(p.Defaults, all.Defaults)
	}
	all.From, all.Wrong = strings.Join(from, ", "), message.Then(wrong...)
	return all
}

// below is values with those above them, which win; nil for none.
func below(values, above map[string]any) map[string]any {
	if values == nil && above == nil {
		return nil
	}
	both := maps.Clone(values)
	if both == nil {
		both = map[string]any{}
	}
	maps.Copy(both, above)
	return both
}

// Bounds of what is read of a place.
const (
	maxFile   = 64 << 10
	maxValues = 100
)

// home puts the person's folder in the place of ~ at the beginning of a text: a policy is for everybody on a computer.
func home(values map[string]any) map[string]any {
	for name, v := range values {
		text, is := v.(string)
		rest, at := strings.CutPrefix(text, "~")
		if !is || !at || rest != "" && rest[0] != '/' && rest[0] != '\\' {
			continue
		}
		if folder, err := os.UserHomeDir(); err == nil {
			values[name] = filepath.Join(folder, rest)
		}
	}
	return values
}
