// Package looptest gives the tests of a service its Base: a store of its own, no log, no jitter and no watchers. It must not know
// any service.
package looptest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"

	bolt "go.etcd.io/bbolt"
)

// Base returns the base of a service under test, whose store is closed at the end of the test. changed is called with each change in
// health.
func Base(t testing.TB, changed func()) loop.Base {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	issues := health.New(time.Now, changed)
	// In memory, because commits to a disk would take most of these tests' time. Whoever sets TMPDIR must remove what killed tests
	// leave behind.
	folder, err := os.MkdirTemp(cmp.Or(os.Getenv("TMPDIR"), "/dev/shm"), "looptest")
	if err != nil {
		folder = t.TempDir()
	}
	st, _, err := data.Open(filepath.Join(folder, "state.db"), log, time.Now, issues)
	trytest.NoErr(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	t.Cleanup(func() { st.Close() })
	return loop.Base{
		Log: log, Now: time.Now, Jitter: func() float64 { return 0 }, Pace: loop.Pace{}.Complete(), Data: st, Health: issues,
		Quarantine: &loop.Retries{}, Asked: &loop.Retries{}, Breaker: &loop.Breaker{}, Served: &loop.Served{},
		Signal: func(office.Change) {}, Show: func(office.Activity) {}, Crash: func(string) {}, Session: Session{},
		Watch: func() (<-chan office.Change, func()) { return nil, func() {} },
	}
}

var ErrFault = errors.New("the disk cannot be read")

// EachFault calls do repeatedly with a new service whose first, second and so on access to its data fails, until do makes no further
// access. do must return an error, so that no failed step is taken for done.
func EachFault[S any](t *testing.T, make func() (S, *data.Data), do func(S) error) {
	t.Helper()
	for n := int64(1); ; n++ {
		service, d := make()
		var accesses atomic.Int64
		d.Store.Fault = func() error {
			if accesses.Add(1) == n {
				return ErrFault
			}
			return nil
		}
		err := do(service)
		if accesses.Load() < n {
			trytest.NoErr(t, err)
			return
		}
		if !errors.Is(err, ErrFault) {
			t.Errorf("access %d of the store failed, and it said %v", n, err)
		}
	}
}

// Session is a fixed session, signed in or not.
type Session struct {
	Client *esign.Client   // nil if nobody is signed in
	Noted  func(err error) // called with each result; may be nil
}

func (s Session) Online() (*esign.Client, bool) { return s.Client, s.Client != nil }

func (s Session) SignedIn() bool { return s.Client != nil }

func (s Session) SignedOut(error) bool { return false }

func (s Session) Note(_ context.Context, err error) error {
	if s.Noted != nil {
		s.Noted(err)
	}
	return err
}

// Bubble runs a subtest of that name in a synctest bubble with its own time.
func Bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Run runs loops until the end of the test, or until the returned function is called, which waits for their end. None may fail.
func Run(t testing.TB, loops ...func(context.Context) error) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range loops {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	end = func() {
		stop()
		running.Wait()
	}
	t.Cleanup(end)
	return end
}

// Token is a token source whose access token is always good.
type Token struct{}

func (Token) Access(context.Context) (string, error) { return "access-token", nil }

func (Token) Invalidate(string) {}

// Vault is a vault that seals nothing.
type Vault struct {
	Data *data.Data
	Kept map[string][]byte
	mu   sync.Mutex
}

func NewVault(d *data.Data) *Vault { return &Vault{Data: d, Kept: map[string][]byte{}} }

func (v *Vault) Get(name string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.Kept[name], nil
}

func (v *Vault) Has(name string) (bool, error) {
	b, err := v.Get(name)
	return b != nil, err
}

func (v *Vault) Put(values map[string][]byte, also ...func(*store.Tx) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.Data.Update(func(tx *store.Tx) (err error) {
		for _, f := range also {
			err = errors.Join(err, f(tx))
		}
		return err
	})
	if err == nil {
		maps.Copy(v.Kept, values)
	}
	return err
}

// AtRest checks that due, repeated on ring for a minute of a bubble in which there is nothing to do, does not spin.
func AtRest(t testing.TB, ring <-chan struct{}, due func(context.Context) (time.Duration, error)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	rounds := 0
	trytest.NoErr(t, loop.Repeat(ctx, ring, func(ctx context.Context) (time.Duration, error) {
		rounds++
		return due(ctx)
	}))
	if rounds > 20 {
		t.Errorf("%d rounds in a minute with nothing to do", rounds)
	}
}

// Spoil makes every record that contains part in those buckets unreadable, and reopens the store.
func Spoil(t testing.TB, tools *loop.Base, part string, buckets ...string) {
	t.Helper()
	file := tools.Data.Store.Path()
	trytest.NoErr(t, tools.Data.Close())
	db, err := bolt.Open(file, 0o600, nil)
	trytest.NoErr(t, err)
	err = db.Update(func(tx *bolt.Tx) (err error) {
		for _, name := range buckets {
			bucket := tx.Bucket([]byte(name))
			var keys [][]byte
			err = errors.Join(err, bucket.ForEach(func(key, value []byte) error {
				if bytes.Contains(value, []byte(part)) {
					keys = append(keys, bytes.Clone(key))
				}
				return nil
			}))
			for _, key := range keys {
				err = errors.Join(err, bucket.Put(key, []byte(`{"id":`)))
			}
		}
		return err
	})
	trytest.NoErr(t, errors.Join(err, db.Close()))
	st, _, err := data.Open(file, tools.Log, time.Now, tools.Health)
	trytest.NoErr(t, err)
	t.Cleanup(func() { st.Close() })
	tools.Data = st
}
