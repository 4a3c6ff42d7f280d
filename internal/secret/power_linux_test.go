package secret

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"countersign/internal/e2e/powercut"
)

// If a power failure removed a key, nobody could read what was sealed with it, whether the key was just created or found.
func TestAKeyThatWasGivenOutStays(t *testing.T) {
	var given Key
	powercut.Trial{Steps: 20, Do: func(home string) error {
		given = Key{}
		keeper := File(filepath.Join(home, "keys", "office.key"))
		k, err := keeper.Load(t.Context())
		if errors.Is(err, ErrAbsent) {
			k, err = keeper.Create(t.Context())
		}
		given = k
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		text, there := found.Files["keys/office.key"]
		kept, err := parseKey(string(bytes.TrimSpace(text)))
		if there && err != nil || given != (Key{}) && kept != given {
			t.Errorf("done: %v; it holds %d bytes", found.Done, len(text))
		}
	}}.Run(t)
}
