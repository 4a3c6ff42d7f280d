package store

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// smallGain makes files of a few hundred KiB worth copying.
const smallGain = 64 << 10

// roomy returns the bytes of a file of which most is free, and what is in it.
func roomy(t *testing.T) (file, content []byte) {
	t.Helper()
	s := newTest(t)
	next := countDays(t, s, day, 1)
	update(t, s, fillEverything)
	for part := range 6 {
		update(t, s, func(tx *Tx) error {
			for n := range 100 {
				id := fmt.Sprint(part, "-", n)
				e := office.Event{ID: id, PackageID: "p", Outcome: office.EventHandled, Body: bytes.Repeat([]byte("b"), 2000)}
				if _, err := tx.AddEvent(e); err != nil {
					return err
				}
				if _, err := tx.Once(id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	countDays(t, s, next, 10)
	for forget(t, s, 5) > 0 {
	}
	content = asJSON(t, read(t, s, readEverything))
	must(t, s.Close())
	return readFile(t, s.Path()), content
}

// openCompact opens the file as a start does.
func openCompact(t *testing.T, path string, o Options) *Store {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return day }
	}
	o.Compact, o.compactGain = true, smallGain
	s, err := Open(path, o)
	must(t, err)
	return s
}

// wantWhole checks that a file holds everything, that it can be written, and that nothing lies beside it.
func wantWhole(t *testing.T, s *Store, content []byte) {
	t.Helper()
	if got := asJSON(t, read(t, s, readEverything)); !bytes.Equal(got, content) {
		t.Errorf("it holds\n%s", got)
	}
	recount(t, s)
	update(t, s, func(tx *Tx) error {
		if added, err := tx.AddEvent(office.Event{ID: "3-50"}); added || err != nil {
			t.Errorf("a copy of a forgotten event is taken for new, or %v", err)
		}
		if first, err := tx.Once("5-99"); first || err != nil {
			t.Errorf("a fact is told again, or %v", err)
		}
		return nil
	})
	err := s.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(s.Path() + "?*"); len(left) > 0 {
		t.Errorf("beside it lies %q", left)
	}
}

func TestAFileThatIsMostlyFreeIsMadeSmaller(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	for range 2 { // also where a start was ended in the middle of its copy
		must(t, os.WriteFile(path, file, 0o600))
		s := openCompact(t, path, Options{})
		if after := len(readFile(t, path)); after*2 > len(file) {
			t.Errorf("%d bytes, of %d", after, len(file))
		}
		wantWhole(t, s, content)
		must(t, s.Close())
		small := readFile(t, path)
		if err := openCompact(t, path, Options{}).Close(); err != nil || !bytes.Equal(small, readFile(t, path)) {
			t.Errorf("a file that is full is written again, or %v", err)
		}
		must(t, os.WriteFile(path+".compact", file[:len(file)/2], 0o600))
	}
}

// A copy that takes too long must not be begun with every start, nor be put off for ever by a clock that was wrong.
func TestAStartIsNotHeldUpAgainAndAgain(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, os.WriteFile(path, file, 0o600))
	for _, start := range []struct {
		now     time.Time
		limit   time.Duration
		smaller bool
	}{
		{day, 1, false}, {day, 0, false}, {day.Add(29 * 24 * time.Hour), 0, false}, {day.Add(-time.Hour), 1, false},
		{day.Add(31 * 24 * time.Hour), 0, true},
	} {
		s := openCompact(t, path, Options{CompactTime: start.limit, Now: func() time.Time { return start.now }})
		if smaller := len(readFile(t, path))*2 < len(file); smaller != start.smaller {
			t.Errorf("at %v with %v: smaller is %v", start.now, start.limit, smaller)
		}
		if start.smaller {
			wantWhole(t, s, content)
		}
		must(t, s.Close())
	}
}

// Whoever waits for the lock of the file that is replaced must get the new one, and never write to one without a name.
func TestAWaitingStartGetsTheFileThatHasTheName(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a file that is open cannot be replaced there
	}
	path := filepath.Join(t.TempDir(), "state.db")
	first := openTest(t, path)
	other := openTest(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, other, putDoc("the new one"))
	must(t, other.Close())
	waiting := make(chan *Store)
	go func() {
		s := &Store{path: path, log: slog.New(slog.DiscardHandler)}
		if err := s.lockFile(time.Minute); err != nil {
			t.Error(err)
		}
		waiting <- s
	}()
	time.Sleep(200 * time.Millisecond) // it has opened the old file
	must(t, replaceLocked(other.Path(), path, nil))
	must(t, first.Close())
	s := <-waiting
	defer s.release()
	view(t, s, func(tx *Tx) error {
		var v any
		if ok, err := tx.GetDoc("the new one", &v); !ok || err != nil {
			t.Errorf("it has the file that lost its name (%v)", err)
		}
		return nil
	})
}

// What nobody asked for yet must not keep the program from starting: a damaged page is met when it is needed.
func TestDamageInTheMiddleKeepsAFileAsItIs(t *testing.T) {
	file, _ := roomy(t)
	rng := rand.New(rand.NewPCG(1, 8))
	page := os.Getpagesize()
	dir := t.TempDir()
	for n := range 40 {
		b := bytes.Clone(file)
		from := (2 + rng.IntN(len(b)/page-2)) * page
		clear(b[from : from+page])
		path := filepath.Join(dir, fmt.Sprint(n), "state.db")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, b, 0o600))
		plain, plainErr := Open(path, Options{})
		if plainErr == nil {
			plain.Close()
		}
		s, err := Open(path, Options{Compact: true, compactGain: smallGain})
		if (err == nil) != (plainErr == nil) {
			t.Errorf("page %d: open says %v, and %v where it compacts", from/page, plainErr, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

const compactEnv = "COUNTERSIGN_TEST_COMPACT"

// compactUntilKilled is the child of TestACompactionThatIsKilledLosesNothing.
func compactUntilKilled(path string) {
	fmt.Println("begin")
	s, err := Open(path, Options{Compact: true, compactGain: smallGain})
	if err != nil {
		fmt.Println("open", err)
		os.Exit(1)
	}
	s.Close()
	os.Exit(0)
}

func TestACompactionThatIsKilledLosesNothing(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	rng := rand.New(rand.NewPCG(2, 19))
	whole := 0
	for range 30 {
		must(t, os.WriteFile(path, file, 0o600))
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), compactEnv+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(30_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if len(readFile(t, path)) == len(file) {
			whole++
		}
		s := openCompact(t, path, Options{})
		wantWhole(t, s, content)
		must(t, s.Close())
	}
	t.Logf("of 30 kills %d came before the new file had its name", whole)
}
