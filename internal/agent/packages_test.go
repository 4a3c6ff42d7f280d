package agent

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/secret"
	"countersign/internal/store"
)

func TestDataThatCannotBeOpenedIsLeftAloneAndSaidSo(t *testing.T) {
	p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
	a, err := Open(t.Context(), p)
	noErr(t, err)
	if _, err := Open(t.Context(), p); !errors.Is(err, store.ErrInUse) || !strings.Contains(Message(err).String(), "already running") {
		t.Errorf("beside a running one: %v: %s", err, Message(err).String())
	}
	noErr(t, a.Close())
	inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	if _, err = Open(t.Context(), p); !errors.Is(err, store.ErrNewer) || !strings.Contains(Message(err).String(), "newer version") {
		t.Errorf("of a newer version: %v: %s", err, Message(err).String())
	}
	if aside, err := filepath.Glob(locations.State(p.DataDir) + ".*"); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

// An empty list says that there is nothing, which would be a lie about somebody's contracts.
func TestWhatCannotBeReadIsAnErrorForPeople(t *testing.T) {
	a := must(Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"}))
	noErr(t, a.Close()) // nothing can be read from here on
	for name, read := range map[string]func() error{
		"the status":        func() error { _, err := a.Status(); return err },
		"the packages":      func() error { _, err := a.Lines(); return err },
		"a package":         func() error { _, _, err := a.Package("p"); return err },
		"its draft":         func() error { _, _, err := a.DraftOf("p"); return err },
		"a file name":       func() error { _, err := a.PreviewName(a.Settings()); return err },
		"the drafts":        func() error { _, err := a.Drafts(); return err },
		"the people":        func() error { _, err := a.People(); return err },
		"the activity":      func() error { _, err := a.Activity(10); return err },
		"the events":        func() error { _, _, err := a.Events("", 10); return err },
		"the saved files":   func() error { _, err := a.Saved(10); return err },
		"which secrets":     func() error { _, _, err := a.HasSecrets(); return err },
		"what was entered":  func() error { _, _, err := a.FirstRun(); return err },
		"the office's file": func() error { _, err := a.Office(a.Settings()); return err },
	} {
		if m, ok := message.Of(read()); !ok || m != message.Closing() {
			t.Errorf("%s: %v", name, read())
		}
	}
}
