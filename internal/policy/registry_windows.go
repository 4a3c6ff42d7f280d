package policy

import (
	"errors"
	"io"
	"strings"

	"countersign/internal/message"

	"golang.org/x/sys/windows/registry"
)

// place is the key of the policy below HKEY_LOCAL_MACHINE. Tests use another.
var place = `Software\Policies\Countersign`

// read reads the values of a key below HKEY_LOCAL_MACHINE as fixed settings, and those of its subkey Defaults.
func read(path string) (p Policy) {
	there := true
	var wrong [2]message.Message
	if p.Fixed, there, wrong[0] = readKey(path); !there {
		return Policy{}
	}
	p.Defaults, _, wrong[1] = readKey(path + `\Defaults`)
	p.From, p.Wrong = `HKLM\`+path, message.Then(wrong[:]...)
	return p
}

// readKey reads the values of a key; found is nil if the key cannot be read.
func readKey(path string) (found map[string]any, there bool, wrong message.Message) {
	found = map[string]any{}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	path = `HKLM\` + path
	switch {
	case errors.Is(err, registry.ErrNotExist):
		return found, false, wrong
	case err != nil:
		return nil, true, message.PolicyNotRead(path)
	}
	defer key.Close()
	names, err := key.ReadValueNames(maxValues + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF): // EOF means that there are fewer values
		return nil, true, message.PolicyNotRead(path)
	case len(names) > maxValues:
		return nil, true, message.PolicyTooLong(path)
	}
	var unread []message.Message
	for _, name := range names {
		v, err := value(key, name)
		if err != nil {
			unread = append(unread, message.PolicyValueNotRead(name, path))
			continue
		}
		found[strings.ToLower(name)] = v
	}
	return home(found), true, message.Then(unread...)
}

func value(key registry.Key, name string) (any, error) {
	size, kind, err := key.GetValue(name, nil)
	if err != nil {
		return nil, err
	}
	if size > maxFile {
		return nil, errors.New("too long")
	}
	switch kind {
	case registry.SZ:
		text, _, err := key.GetStringValue(name)
		return text, err
	case registry.EXPAND_SZ:
		text, _, err := key.GetStringValue(name)
		if err != nil {
			return nil, err
		}
		return registry.ExpandString(text)
	case registry.DWORD, registry.QWORD:
		n, _, err := key.GetIntegerValue(name)
		return float64(n), err
	case registry.MULTI_SZ:
		list, _, err := key.GetStringsValue(name)
		return list, err
	}
	return nil, errors.New("another type")
}
