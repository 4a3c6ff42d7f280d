// Package policy reads the settings that the administrator of this computer has determined for Countersign: fixed ones and
// defaults, by name. On Windows they are registry values below HKEY_LOCAL_MACHINE, Software\Policies\Countersign, with the
// defaults in the subkey Defaults; elsewhere they are in a file that only an administrator can write.
//
// It promises to read a bounded amount, to report in one sentence what it cannot use while reading the rest, and to keep the
// last readable policy while the source cannot be read. It must not know what the settings mean.
package policy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"countersign/internal/message"
)

// Policy is the administrator's policy. Values are strings, booleans, whole numbers (float64, as in JSON) or lists of
// strings.
type Policy struct {
	From     string // where it is defined; empty if there is none
	Fixed    map[string]any
	Defaults map[string]any
	Wrong    message.Message // what could not be read, for the administrator; empty for nothing
}

// Reader reads the policy of this computer. Parts that cannot be read, perhaps because they are half written, keep their
// last readable value. The zero value is ready to use, by several goroutines at once.
type Reader struct {
	mu   sync.Mutex
	last Policy
}

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

// Limits of what is read.
const (
	maxFile   = 64 << 10
	maxValues = 100
)

// home replaces ~ at the beginning of a text by the person's home folder: a policy is for everybody on a computer.
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
