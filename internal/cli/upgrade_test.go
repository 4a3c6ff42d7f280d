package cli

import (
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestDataOfANewerVersionIsRefusedWithASentence(t *testing.T) {
	s := newShell(t)
	s.setUp()
	db, err := bolt.Open(filepath.Join(s.data, "state.db"), 0o600, nil)
	must(t, err)
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	if err == nil {
		err = db.Close()
	}
	must(t, err)
	for _, command := range []string{"status", "serve", "logout"} {
		code, _, stderr := s.run(command)
		if code != exitFailed || !strings.Contains(stderr, "newer version") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q", command, code, stderr)
		}
	}
	if aside, err := filepath.Glob(filepath.Join(s.data, "state.db.*")); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}
