package data

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

// open is an empty state, until the test ends.
func open(t *testing.T) (*Data, *health.Tracker) {
	t.Helper()
	issues := health.New(time.Now, func() {})
	d, aside, err := Open(filepath.Join(t.TempDir(), "state.db"), slog.New(slog.DiscardHandler), time.Now, issues)
	if err != nil || aside != "" {
		t.Fatal(aside, err)
	}
	t.Cleanup(func() { d.Close() })
	return d, issues
}

func TestAReadThatFailsIsToldOnceAndIsNeverAnEmptyList(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		state health.State // the zero State for none
		told  message.Message
	}{
		"one record":  {fmt.Errorf("a line: %w", store.ErrRecord), health.RecordsUnreadable, message.RecordNotRead()},
		"damage":      {&store.CorruptError{Path: "state.db", Reason: "a page is missing"}, health.DataDamaged, message.DataDamagedNow()},
		"another way": {errors.New("the map is gone"), health.DataNotRead, message.DataNotRead()},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			d, issues := open(t)
			d.log = slog.New(slog.NewTextHandler(&log, nil))
			for i := range 3 {
				list, err := Read(d, "the packages", func(*store.Tx) ([]string, error) { return []string{"half"}, c.cause })
				if m, ok := message.Of(err); !ok || m != c.told || list != nil || !errors.Is(err, c.cause) {
					t.Fatalf("%q, %v", list, err)
				}
				if issues.Has(c.state) != (i == 0 || c.state.Action != health.ActDismiss) {
					t.Errorf("health after %d more: %+v", i, issues.List())
				}
				for _, i := range issues.List() {
					issues.Dismiss(i) // what somebody has read is not told again
				}
			}
			expect(t, strings.Count(log.String(), "the packages"), 1, "logged %d times:\n%s", &log)
		})
	}
}

func TestADocumentThatIsNotThereIsNoFailure(t *testing.T) {
	d, issues := open(t)
	if got, known, err := Doc[string](d, "none"); got != "" || known || err != nil {
		t.Errorf("%q, %v, %v", got, known, err)
	}
	noErr(t, d.Update(func(tx *store.Tx) error { return tx.PutDoc("name", "value") }))
	if got, known, err := Doc[string](d, "name"); got != "value" || !known || err != nil {
		t.Errorf("%q, %v, %v", got, known, err)
	}
	d.Store.Fault = func() error { return errors.ErrUnsupported }
	if _, known, err := Doc[string](d, "name"); known || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("one that cannot be read: %v, %v", known, err)
	}
	if _, known, err := d.Package("p"); known || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a package that cannot be read: %v, %v", known, err)
	}
	if _, known, err := d.Draft("d"); known || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a draft that cannot be read: %v, %v", known, err)
	}
	d.Store.Fault = nil
	err := d.Update(func(tx *store.Tx) error {
		return errors.Join(tx.PutPackage(office.Package{ID: "p", State: office.PackageOpen}), tx.PutDraft(office.Draft{ID: "d"}))
	})
	if p, known, err1 := d.Package("p"); err != nil || p.State != office.PackageOpen || !known || err1 != nil {
		t.Errorf("%+v, %v, %v, %v", p, known, err, err1)
	}
	if got, known, err := d.Draft("d"); got.ID != "d" || !known || err != nil {
		t.Errorf("%+v, %v, %v", got, known, err)
	}
	if _, known, err := d.Package("d"); known || err != nil {
		t.Errorf("one that is not there: %v, %v", known, err)
	}
	issues.Clear(health.DataNotRead)
	noErr(t, d.Close())
	_, _, err = Doc[string](d, "name")
	if m, ok := message.Of(err); !ok || m != message.Closing() || len(issues.List()) != 0 {
		t.Errorf("while it closes: %v, %+v", err, issues.List())
	}
}

func TestErrorsInEverOtherWordsAreNotKeptForEver(t *testing.T) {
	d, _ := open(t)
	for i := range 3*mostRemembered - 1 {
		if _, err := Read(d, "a package", func(*store.Tx) (int, error) { return 0, fmt.Errorf("at %d", i) }); err == nil {
			t.Fatal("it was read")
		}
	}
	if len(d.failed.texts) > mostRemembered {
		t.Errorf("%d texts are kept", len(d.failed.texts))
	}
	has := func(text string) bool { return d.failed.has("read a package: " + text) }
	if !has("at 2998") || !has("at 2997") || has("at 0") {
		t.Error("those before are kept, not the latest")
	}
}

func TestMemoryNeverLeadsTheCommit(t *testing.T) {
	var k Kept[string]
	for _, c := range []struct {
		next string
		err  error
		want string
	}{{"kept", nil, "kept"}, {"lost", errors.New("the disk is full"), "kept"}} {
		err := k.Change(func(now string) (string, error) { return c.next, c.err })
		if got := k.Get(); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q after %q, %v", got, c.next, err)
		}
	}
}

func TestHealthTellsWhatKeepsTheStateFromBeingKept(t *testing.T) {
	d, issues := open(t)
	commits := 0
	d.Committed = func([]office.Activity) { commits++ }
	told := func(when string, want ...message.Message) {
		t.Helper()
		var got []message.Message
		for _, i := range issues.List() {
			got = append(got, i.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, health says %q, want %q", when, got, want)
		}
	}
	put := func(tx *store.Tx) error { return tx.PutDoc("text", "value") }
	if err := errors.Join(d.Update(put), d.UpdateFirst(put)); err != nil || commits != 2 {
		t.Errorf("%d commits, %v", commits, err)
	}
	told("all is well")
	for err, one := range map[error]bool{store.ErrNotFound: true, errors.ErrUnsupported: false} {
		var object *ObjectError
		if got := d.Update(func(*store.Tx) error { return err }); !errors.Is(got, err) || errors.As(got, &object) != one {
			t.Errorf("%v became %v", err, got)
		}
	}
	told("what was refused is no trouble of the disk")
	if commits != 2 {
		t.Errorf("what was refused was committed")
	}
	d.Note(syscall.ENOSPC)
	told("the disk is full", message.OwnDiskFull())
	room := d.Store.Path() + ".room"
	noErr(t, errors.Join(os.Mkdir(room, 0o700), d.Update(put)))
	told("there is no room yet", message.OwnDiskFull())
	noErr(t, errors.Join(os.Remove(room), d.Update(put)))
	told("there is room")
	if _, err := os.Lstat(room); err == nil {
		t.Error("what was tried with is left")
	}
	d.Note(fmt.Errorf("save: %w", store.ErrGone))
	told("its folder is gone", message.DataGone())
	d.Note(errors.New("the disk is gone"))
	told("nothing can be written", message.DataNotWritten())
	d.Note(nil)
	for _, wrong := range []func(name string) error{
		func(name string) error { _, _, err := Doc[int](d, name); return err },
		func(name string) error {
			return d.Update(func(tx *store.Tx) error { _, err := tx.GetDoc(name, new(int)); return err })
		},
	} {
		name := fmt.Sprint("text ", commits)
		noErr(t, errors.Join(d.Update(func(tx *store.Tx) error { return tx.PutDoc(name, "value") }), wrong(name)))
		told("a record cannot be read", message.RecordsUnreadable())
		issues.Dismiss(issues.List()[0])
		noErr(t, wrong(name))
		told("somebody has read it")
	}
	damage := &store.CorruptError{Path: d.Store.Path(), Reason: "a page is missing"}
	if err := d.Update(func(*store.Tx) error { return damage }); !errors.Is(err, store.ErrCorrupt) {
		t.Error(err)
	}
	told("it is damaged", message.DataDamagedNow())
	d.Note(nil)
	told("it is still damaged", message.DataDamagedNow())
	noErr(t, d.Close())
	if _, err := os.Lstat(d.Store.Path()); err == nil {
		t.Error("the next start begins with the damaged file")
	}
	next, aside, err := Open(d.Store.Path(), d.log, time.Now, issues)
	if _, gone := os.Lstat(aside); err != nil || gone != nil {
		t.Errorf("the next start takes the damaged file %q for a missing one: %v, %v", aside, err, gone)
	}
	noErr(t, errors.Join(next.Close(), os.Remove(next.Store.Path())))
	later, aside, err := Open(d.Store.Path(), d.log, time.Now, issues)
	if err != nil || aside != "" {
		t.Errorf("a file that somebody deletes later is said to be %q: %v", aside, err)
	}
	noErr(t, later.Close())
}

func TestADamagedFileIsSetAsideAndWhatIsNoneIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	start := func(path string) (string, error) {
		d, aside, err := Open(path, slog.New(slog.DiscardHandler), time.Now, health.New(time.Now, func() {}))
		if err == nil {
			err = errors.Join(d.Update(func(tx *store.Tx) error { return tx.PutDoc("name", "value") }), d.Close())
		}
		return aside, err
	}
	noErr(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
	aside, err := start(path)
	if b, _ := os.ReadFile(aside); err != nil || !bytes.HasPrefix(b, []byte("no database")) {
		t.Errorf("set aside is %q, %v", aside, err)
	}
	if aside, err := start(path); aside != "" || err != nil {
		t.Errorf("at the next start: %q, %v", aside, err)
	}
	if _, err := start(filepath.Join(path, "in a file")); err == nil {
		t.Error("what cannot be opened is")
	}
}

func TestAStateWasRestoredAfterItsNewestActivityWhateverTheClockSays(t *testing.T) {
	d, _ := open(t)
	now := time.Now().UTC()
	noErr(t, d.Update(func(tx *store.Tx) error {
		return tx.AddActivity(office.Activity{Time: now, Kind: office.ActivityEvent})
	}))
	for years, want := range map[int]time.Time{-7: now, 7: now.AddDate(7, 0, 0)} {
		noErr(t, d.Update(func(tx *store.Tx) error {
			MarkRestored(tx, now.AddDate(years, 0, 0))
			if got := WhenRestored(tx).At; !got.Equal(want) {
				t.Errorf("%d years away: restored at %v", years, got)
			}
			return nil
		}))
	}
}

func TestNothingThatWaitedForItsTurnIsCommittedOnceTheStateIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := open(t)
		hold, held := make(chan struct{}), make(chan error, 1)
		go func() {
			held <- st.Update(func(*store.Tx) error { <-hold; return nil })
		}()
		synctest.Wait()
		late := make(chan error, 1)
		go func() {
			late <- st.Update(func(tx *store.Tx) error { return tx.PutDoc("late", true) })
		}()
		synctest.Wait()
		st.Freeze(message.MovingNow())
		close(hold)
		noErr(t, <-held)
		if err := <-late; !errors.Is(err, errFrozen) {
			t.Errorf("it was committed: %v", err)
		}
		noErr(t, st.UpdateFrozen(func(tx *store.Tx) error { return tx.PutDoc("kept", true) }))
		st.Thaw()
		if kept, _, err := Doc[bool](st, "kept"); !kept || err != nil || st.Update(func(*store.Tx) error { return nil }) != nil {
			t.Errorf("afterwards there is %v, %v", kept, err)
		}
	})
}
