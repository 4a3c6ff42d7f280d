// Package policy reads what the administrator of this computer has decided for Countersign: settings by their names, fixed
// ones and those to begin with. On Windows they are values below HKEY_LOCAL_MACHINE, Software\Policies\Countersign, those to
// begin with in the key Defaults there; elsewhere they are a file that only an administrator can write.
//
// It promises to read a bounded amount, to say in one sentence what it cannot use and read the rest, and to take nothing back
// because a place cannot be read for a while. It must not know what the settings mean.
package policy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"countersign/internal/message"
)

// Policy is what was decided. Values are texts, truth values, whole numbers (float64, as JSON has them) or lists of texts.
type Policy struct {
	From     string // where it is written; empty when nothing is
	Fixed    map[string]any
	Defaults map[string]any
	Wrong    message.Message // what could not be read, for whoever looks after this computer; none for nothing
}

// Reader reads what is decided on this computer. What it cannot read, which may be half written, counts as it was when it last
// could. The zero value is ready to use, by several goroutines at once.
type Reader struct {
	mu   sync.Mutex
	last Policy
}

// Read reads the policy as it is now.
func (r *Reader) Read() Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := read(place) // a list that could not be read is nil
	if !now.Wrong.IsZero() && now.Fixed == nil {
		now.Fixed = r.last.Fixed
	}
	if !now.Wrong.IsZero() && now.Defaults == nil {
		now.Defaults = r.last.Defaults
	}
	r.last = now
	return now
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
