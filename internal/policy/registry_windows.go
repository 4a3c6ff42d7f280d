package policy

import (
	"errors"
	"strings"

	"countersign/internal/message"

	"golang.org/x/sys/windows/registry"
)

// place is the key of the policy below HKEY_LOCAL_MACHINE. A build for tests has another.
var place = `Software\Policies\Countersign`

// Read reads the policy as it is now.
func Read() Policy {
	p := Policy{From: `HKLM\` + place}
	var wrong []message.Message
	var there1, there2 bool
	p.Fixed, there1 = values(place, &wrong)
	p.Defaults, there2 = values(place+`\Defaults`, &wrong)
	if !there1 && !there2 {
		return Policy{}
	}
	p.Wrong = message.Then(wrong...)
	return p
}

// values are those of a key, and whether it is there.
func values(path string, wrong *[]message.Message) (found map[string]any, there bool) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, false
	}
	if err != nil {
		*wrong = append(*wrong, message.PolicyNotRead(`HKLM\`+path))
		return nil, true
	}
	defer key.Close()
	names, err := key.ReadValueNames(maxValues)
	if err != nil && len(names) == 0 {
		return nil, true
	}
	found = map[string]any{}
	for _, name := range names {
		v, err := value(key, name)
		if err != nil {
			*wrong = append(*wrong, message.PolicyValueNotRead(name, `HKLM\`+path))
			continue
		}
		found[strings.ToLower(name)] = v
	}
	return home(found), true
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
