package backups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/agent/luggage"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// room is one that makes backups of an empty state.
func room(t *testing.T, adjust func(*Needs)) *Room {
	t.Helper()
	n := Needs{
		Folder: filepath.Join(t.TempDir(), "backups"), Documents: t.TempDir(),
		Label: func() luggage.Manifest { return luggage.Manifest{Installation: "here"} },
		Key:   func() (safe.Secret, bool) { return safe.Secret{1}, true },
		Busy:  func() bool { return false },
		Crash: func(string) {},
	}
	if adjust != nil {
		adjust(&n)
	}
	return New(looptest.Tools(t, func() {}), n)
}

// running runs a room in a bubble while do does something.
func running(t *testing.T, r *Room, do func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	do()
	cancel()
	done.Wait()
}

func made(t *testing.T, r *Room) int {
	t.Helper()
	files, err := List(r.needs.Folder)
	if err != nil {
		t.Error(err)
	}
	return len(files)
}

func (r *Room) newDay(t *testing.T) {
	t.Helper()
	err := r.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(time.Now()); return err })
	if err != nil {
		t.Error(err)
	}
}

func TestThereIsOneBackupOfEachDayAndNoneWhileMuchIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := true
		r := room(t, func(n *Needs) { n.Busy = func() bool { return busy } })
		running(t, r, func() {
			time.Sleep(30 * time.Minute)
			if n := made(t, r); n != 0 {
				t.Errorf("%d while much was under way", n)
			}
			time.Sleep(time.Hour)
			if n := made(t, r); n != 1 {
				t.Errorf("%d, though it waits no longer than an hour", n)
			}
			busy = false
			time.Sleep(48 * time.Hour) // on which no day is counted
			if n := made(t, r); n != 1 {
				t.Errorf("%d of one day", n)
			}
			for day := range 3 {
				time.Sleep(24 * time.Hour)
				r.newDay(t)
				time.Sleep(2 * time.Hour)
				if n := made(t, r); n != day+2 {
					t.Errorf("%d after %d more days", n, day+1)
				}
			}
		})
	})
}

func TestThatNoBackupCanBeMadeIsToldAfterAWhileAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := room(t, nil)
		inTheWay := os.WriteFile(r.needs.Folder, []byte("a file"), 0o600)
		running(t, r, func() {
			time.Sleep(3 * time.Hour)
			if r.Health.Has(health.BackupFails) {
				t.Error("told at once")
			}
			time.Sleep(5 * time.Hour)
			if !r.Health.Has(health.BackupFails) {
				t.Error("not told")
			}
			if err := errors.Join(inTheWay, os.Remove(r.needs.Folder)); err != nil {
				t.Error(err)
			}
			r.Wake()
			time.Sleep(time.Minute)
			if r.Health.Has(health.BackupFails) || made(t, r) != 1 {
				t.Error("it has not ended")
			}
		})
	})
}

func TestNumbersCountAndDatesDoNot(t *testing.T) {
	var files []File
	for n := 100; n >= 1; n-- {
		files = append(files, File{Number: n, Date: fmt.Sprint(2100 - n)})
	}
	keep, drop := Kept(files)
	var kept []int
	for _, f := range keep {
		kept = append(kept, f.Number)
	}
	if got := fmt.Sprint(kept); got != "[100 99 98 97 96 95 94 91 84 77 70]" || len(drop) != 89 {
		t.Errorf("kept %s", got)
	}
}

func TestAnInterruptedBackupIsNoneAndLeavesNothing(t *testing.T) {
	for _, at := range []string{"backup copied", "backup documents", "backup written"} {
		var left []string
		r := room(t, nil)
		r.needs.Crash = func(point string) {
			if point == at {
				entries, _ := filepath.Glob(filepath.Join(r.needs.Folder, "*"+temporary))
				left = append(left, entries...)
				for _, e := range entries { // as a kill leaves it
					b, err := os.ReadFile(e)
					if err == nil {
						err = os.WriteFile(strings.Replace(e, "state", "killed", 1), b, 0o600)
					}
					if err != nil {
						t.Error(err)
					}
				}
			}
		}
		if err := r.Make(); err != nil {
			t.Fatal(err)
		}
		r.needs.Crash = func(string) {}
		if err := r.Make(); err != nil {
			t.Fatal(err)
		}
		now, _ := filepath.Glob(filepath.Join(r.needs.Folder, "*"+temporary))
		if len(now) != 0 || made(t, r) != 2 || len(left) == 0 {
			t.Errorf("killed at %q: left %q, then %q, %d backups", at, left, now, made(t, r))
		}
		files, _ := List(r.needs.Folder)
		if m, err := Unpack(files[0].Path, safe.Secret{1}, filepath.Join(t.TempDir(), "to")); err != nil || m.Installation != "here" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}
