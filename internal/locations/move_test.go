package locations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/disk"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is two folders and the content of the data.
type scene struct {
	Move
	data map[string]string
	held int
}

var errOtherDisk = &os.LinkError{Op: "rename", Err: otherDisk}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneIn(t, t.TempDir())
}

func newSceneIn(t *testing.T, dir string) *scene {
	t.Helper()
	s := &scene{data: map[string]string{
		state: strings.Repeat("state ", 50_000), backup: "{}", "logs/countersign.log": "log", "copies/a/b.pdf": "%PDF-", state + ".damaged-1": "old",
	}}
	s.From, s.To = filepath.Join(dir, "roaming", "countersign"), filepath.Join(dir, "local", "countersign")
	s.Hold = func(folder string) (func() error, error) {
		f, err := os.OpenFile(filepath.Join(folder, lock), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		s.held++
		return func() error { s.held--; return f.Close() }, nil
	}
	for name, content := range s.data {
		write(t, filepath.Join(s.From, name), content)
	}
	return s
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
}

// betweenDisks makes the renaming from one folder to the other fail as it does between disks.
func (s *scene) betweenDisks() {
	s.rename = func(from, to string) error {
		if from == s.From {
			return errOtherDisk
		}
		return disk.Rename(from, to)
	}
}

// wantIn checks that all of the data is in folder, which is in force.
func (s *scene) wantIn(t *testing.T, folder string) {
	t.Helper()
	if got := InForce(s.To, s.From); got != folder {
		t.Errorf("in force is %s", got)
	}
	for name, content := range s.data {
		if b, err := os.ReadFile(filepath.Join(folder, name)); string(b) != content || err != nil {
			t.Errorf("%s has %d bytes, %v", name, len(b), err)
		}
	}
	if s.held != 0 {
		t.Error("the folder is still held")
	}
}

func wantNothing(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
}

func TestDataMovesOnce(t *testing.T) {
	for name, between := range map[string]bool{"on one disk": false, "between disks": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if between {
				s.betweenDisks()
			}
			s.wantIn(t, s.From)
			for range 2 {
				must(t, s.Do())
				s.wantIn(t, s.To)
				wantNothing(t, s.From, s.To+moving, filepath.Join(s.To, origin))
			}
		})
	}
}

var errKilled = errors.New("killed")

// until runs the move and ends it the nth time it comes to a point. It reports whether it came that far.
func (s *scene) until(n int) (killed bool) {
	defer func() {
		s.held = 0 // a lock goes with its process
		if r := recover(); r != nil {
			if r != errKilled {
				panic(r)
			}
			killed = true
		}
	}()
	m := s.Move
	m.reach = func(string) {
		if n--; n == 0 {
			panic(errKilled)
		}
	}
	_ = m.Do()
	return false
}

func TestAMoveThatIsKilledAnywhereNeitherLosesNorDoubles(t *testing.T) {
	points := 0
	for n := 1; ; n++ {
		s := newScene(t)
		s.betweenDisks()
		if !s.until(n) {
			break
		}
		points++
		s.wantIn(t, InForce(s.To, s.From)) // whichever it is, it is whole
		if err := s.Do(); err != nil {
			t.Errorf("after point %d: %v", n, err)
		}
		s.wantIn(t, s.To)
		wantNothing(t, s.From, s.To+moving, filepath.Join(s.To, origin))
	}
	if points < 10 {
		t.Errorf("only %d points", points)
	}
}

func TestDataThatIsInUseStaysWhereItIs(t *testing.T) {
	s := newScene(t)
	busy := errors.New("in use")
	s.Hold = func(string) (func() error, error) { return nil, busy }
	if err := s.Do(); !errors.Is(err, busy) {
		t.Errorf("got %v", err)
	}
	s.wantIn(t, s.From)
	wantNothing(t, s.To, s.To+moving)
}

func TestDataThatCannotBeMovedStaysWhereItIs(t *testing.T) {
	for name, spoil := range map[string]func(s *scene){
		"open in another program": func(s *scene) { s.rename = func(string, string) error { return fs.ErrPermission } },
		"no room for the new name": func(s *scene) {
			s.rename = func(from, to string) error {
				if from == s.From {
					return errOtherDisk
				}
				return fs.ErrPermission
			}
		},
		"something else in the way": func(s *scene) { write(t, filepath.Join(s.To, "letter.txt"), "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			spoil(s)
			if err := s.Do(); err == nil {
				t.Error("no error")
			}
			s.wantIn(t, s.From)
		})
	}
}

// Somebody may start the earlier version once more before the old files are removed: then they hold news.
func TestOldFilesThatWereWorkedOnAreKept(t *testing.T) {
	s := newScene(t)
	s.betweenDisks()
	for n := 1; s.until(n) && !Holds(s.To); n++ {
	}
	write(t, State(s.From), "news")
	must(t, s.Do())
	s.wantIn(t, s.To)
	if b, err := os.ReadFile(State(s.From)); string(b) != "news" || err != nil {
		t.Errorf("the news are %q, %v", b, err)
	}
}

func TestNothingIsDoneWithoutData(t *testing.T) {
	dir := t.TempDir()
	m := Move{From: filepath.Join(dir, "from"), To: filepath.Join(dir, "to")} // it would panic without Hold
	must(t, m.Do())
	if got := InForce(m.To, m.From); got != m.To {
		t.Error(got)
	}
	if got := InForce(m.To, ""); got != m.To {
		t.Error(got)
	}
	wantNothing(t, m.To)
	write(t, Backup(m.To), "{}")
	write(t, Backup(m.From), "{}") // two offices: neither is touched
	if err := m.Do(); err != nil || !Holds(m.From) || InForce(m.To, m.From) != m.To {
		t.Error(fmt.Sprint("two offices were mixed up: ", err))
	}
}

// must ends the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
