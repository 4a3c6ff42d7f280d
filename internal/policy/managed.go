//go:build !windows

package policy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/message"

	"howett.net/plist"
)

// domain is what the system knows the program's preferences by, as its Info.plist has it.
const domain = "ch.countersign.app"

// profiles are where the system puts what configuration profiles force: those of a person, who may be unknown (""), before those
// of the computer.
func profiles(folder, person string) (all []source) {
	if person != "" {
		all = append(all, source{filepath.Join(folder, person, domain+".plist"), readManaged})
	}
	return append(all, source{filepath.Join(folder, domain+".plist"), readManaged})
}

// readManaged reads a property list in which macOS keeps what configuration profiles force on a program (Apple, Device
// Management, ManagedPreferences): settings by their names, and those to begin with in a dictionary Defaults.
func readManaged(path string) Policy {
	return readAs(path, func(text []byte) Policy {
		written, err := dictionary(text)
		if err != nil {
			return Policy{Wrong: message.PolicyNoPlist(path)}
		}
		p := Policy{}
		var wrong []message.Message
		usable := func(values map[string]any) map[string]any {
			found := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				v, is := setting(values[name])
				if !is {
					wrong = append(wrong, message.PolicyValueNotRead(name, path))
					continue
				}
				found[name] = v
			}
			return found
		}
		if below, is := written[defaults].(map[string]any); is {
			p.Defaults = usable(below)
			delete(written, defaults)
		}
		maps.DeleteFunc(written, func(name string, _ any) bool { return bookkeeping(name) })
		p.Fixed = usable(written)
		p.Wrong = message.Then(wrong...)
		return p
	})
}

// defaults is the name of the dictionary of what an office begins with.
const defaults = "Defaults"

// bookkeeping reports whether the system or a profile has put a value beside those of the administrator: a profile whose payload
// has the program's own type brings its PayloadUUID and so on, one that was installed by hand is noted as _manualProfile.
func bookkeeping(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "Payload")
}

// dictionary reads a property list that is a dictionary, in XML or binary. The parser also knows texts of a time before these,
// which an empty file passes for.
func dictionary(text []byte) (found map[string]any, err error) {
	defer func() {
		if reason := recover(); reason != nil { // a fault of the parser's
			found, err = nil, fmt.Errorf("%v", reason)
		}
	}()
	format, err := plist.Unmarshal(text, &found)
	if err != nil {
		return nil, err
	}
	if format != plist.XMLFormat && format != plist.BinaryFormat || found == nil {
		return nil, errors.New("no property list of a dictionary")
	}
	return found, nil
}

// setting is a value as settings have it, if it is of a kind that any of them has.
func setting(v any) (any, bool) {
	switch v := v.(type) {
	case string, bool, float64:
		return v, true
	case float32:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			text, is := e.(string)
			if !is {
				return nil, false
			}
			list[i] = text
		}
		return list, true
	}
	return nil, false
}
