package policy

import (
	"errors"
	"io"
	"strings"

	"countersign/internal/message"

	"golang.org/x/sys/windows/registry"
)

// place is the key of the policy below HKEY_LOCAL_MACHINE. A build for tests has another.
var place = `Software\Policies\Countersign`

// sources are the key of what is fixed, and that of what an office begins with.
func sources() []source {
	return []source{
		{place, func(path string) Policy {
			p, found := readKey(path)
			p.Fixed = found
			return p
		}},
		{place + `\Defaults`, func(path string) Policy {
			p, found := readKey(path)
			p.Defaults = found
			return p
		}},
	}
}

// readKey reads the values of a key below HKEY_LOCAL_MACHINE; nil for those of one that is not there or cannot be read.
func readKey(path string) (p Policy, found map[string]any) {
	path = `HKLM\` + path
	wrong := func(m message.Message) (Policy, map[string]any) { return Policy{From: path, Wrong: m}, nil }
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, strings.TrimPrefix(path, `HKLM\`), registry.QUERY_VALUE|registry.WOW64_64KEY)
	switch {
	case errors.Is(err, registry.ErrNotExist):
		return Policy{}, nil
	case err != nil:
		return wrong(message.PolicyNotRead(path))
	}
	defer key.Close()
	names, err := key.ReadValueNames(maxValues + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF): // which means that there are fewer
		return wrong(message.PolicyNotRead(path))
	case len(names) > maxValues:
		return wrong(message.PolicyTooLong(path))
	}
	found = map[string]any{}
	var unread []message.Message
	for _, name := range names {
		v, err := value(key, name)
		if err != nil {
			unread = append(unread, message.PolicyValueNotRead(name, path))
			continue
		}
		found[strings.ToLower(name)] = v
	}
	return Policy{From: path, Wrong: message.Then(unread...)}, home(found)
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
