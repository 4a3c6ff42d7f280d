package agent

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
)

func TestAHundredCallsAtOnceCauseOneRenewal(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	id := o.send()
	o.eventually("nothing asks any more", func() bool { return !o.packageOrZero(id).Checked.IsZero() && !o.moreToCome() })
	before := calls(o.service, "POST /connect/token")
	noErr(t, o.service.ExpireAccessTokens())
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := o.status(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := calls(o.service, "POST /connect/token") - before; n != 1 {
		t.Errorf("%d renewals", n)
	}
}

func TestADataFolderHasOneAgent(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	_, err := Open(t.Context(), Params{DataDir: o.data, Keeper: o.keeper})
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(Message(err).String(), "already running") {
		t.Errorf("got %v: %s", err, Message(err).String())
	}
	if s := o.Status(); !s.SignedIn {
		t.Errorf("the first one: %+v", s)
	}
}

func TestDataOfANewerVersionIsRefusedAndLeftAlone(t *testing.T) {
	data := t.TempDir()
	open := func() (*Agent, error) { return Open(t.Context(), Params{DataDir: data, Keeper: secret.Memory()}) }
	a, err := open()
	noErr(t, err)
	noErr(t, a.Close())
	raiseSchema(t, locations.State(data))
	_, err = open()
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(Message(err).String(), "newer version") {
		t.Errorf("got %v: %s", err, Message(err).String())
	}
	aside, err := filepath.Glob(filepath.Join(data, "state.db.*"))
	if err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

// raiseSchema makes the file look as a later version would write it.
func raiseSchema(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	noErr(t, err)
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	noErr(t, err)
}
