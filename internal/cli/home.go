package cli

import (
	"errors"
	"path/filepath"
	"strings"

	"countersign/internal/locations"
	"countersign/internal/secret"
	"countersign/internal/single"
)

// home is the data folder of a person who chose none: where it belongs, and where earlier versions had it ("" where that
// is the same). The zero home is that of a person who chose one.
type home struct{ belongs, former string }

func (h home) inForce() string { return locations.InForce(h.belongs, h.former) }

// settle brings the data of an earlier version to where it belongs. single.ErrRunning means that an instance has it. What
// else keeps it from moving is no reason not to work: the data is used where it is, and the next start tries again.
func (h home) settle() (stays, err error) {
	if h.former == "" {
		return nil, nil
	}
	err = locations.Move{From: h.former, To: h.belongs, Hold: hold}.Do()
	if errors.Is(err, single.ErrRunning) && h.inForce() == h.former {
		return nil, err
	}
	return err, nil
}

// hold keeps other instances away from a folder.
func hold(folder string) (release func() error, err error) {
	instance, err := single.Acquire(folder)
	if err != nil {
		return nil, err
	}
	return instance.Close, nil
}

// ring is the keyring's entry for the key of a data folder: under the name that is noted there, and where the data was
// moved, or is to be, under the former path too. The folder is there. An error says why the name could not be noted; the
// key is then found as long as the folder stays where it is.
func (h home) ring(data string) (secret.Keeper, error) {
	kept := func(name string) secret.Keeper { return secret.Keyring("Countersign", name) }
	name, err := locations.Entry(data)
	belongs, former := h.belongs, h.former
	if belongs == "" { // chosen, and yet perhaps the usual one
		var unknown error
		if belongs, former, unknown = locations.Default(); unknown != nil || !strings.EqualFold(filepath.Clean(data), belongs) {
			return kept(name), err
		}
	}
	if former == "" || data == former || name == "key of "+former {
		return kept(name), err
	}
	return secret.Either(kept(name), kept("key of "+former)), err
}
