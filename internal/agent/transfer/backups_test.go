package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// backups makes backups of an empty state.
func backups(t *testing.T, adjust func(*Options)) *Backups {
	t.Helper()
	n := Options{
		Folder: filepath.Join(t.TempDir(), "backups"), Documents: t.TempDir(),
		Header: func() Header { return Header{Installation: "here"} },
		Key:    func() (safe.Secret, bool) { return safe.Secret{1}, true },
		Busy:   func() bool { return false },
	}
	if adjust != nil {
		adjust(&n)
	}
	return NewBackups(looptest.Base(t, func() {}), n)
}

func made(t *testing.T, r *Backups) int {
	t.Helper()
	files, err := List(r.options.Folder)
	if err != nil {
		t.Error(err)
	}
	return len(files)
}

func (r *Backups) newDay(t *testing.T) {
	t.Helper()
	err := r.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(time.Now()); return err })
	if err != nil {
		t.Error(err)
	}
}

func TestThereIsOneBackupOfEachDayAndNoneWhileMuchIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		busy.Store(true)
		r := backups(t, func(n *Options) { n.Busy = busy.Load })
		looptest.Run(t, r.Run)
		time.Sleep(30 * time.Minute)
		expect(t, made(t, r), 0, "%d while much was under way")
		time.Sleep(time.Hour)
		expect(t, made(t, r), 1, "%d, though it waits no longer than an hour")
		busy.Store(false)
		time.Sleep(48 * time.Hour) // on which no day is counted
		expect(t, made(t, r), 1, "%d of one day")
		for day := range 3 {
			time.Sleep(24 * time.Hour)
			r.newDay(t)
			time.Sleep(2 * time.Hour)
			expect(t, made(t, r), day+2, "%d after %d more days", day+1)
		}
	})
}

func TestThatNoBackupCanBeMadeIsToldAfterAWhileAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backups(t, nil)
		inTheWay := os.WriteFile(r.options.Folder, []byte("a file"), 0o600)
		looptest.Run(t, r.Run)
		time.Sleep(3 * time.Hour)
		if r.Health.Has(health.BackupFails) {
			t.Error("told at once")
		}
		time.Sleep(5 * time.Hour)
		if !r.Health.Has(health.BackupFails) {
			t.Error("not told")
		}
		noErr(t, errors.Join(inTheWay, os.Remove(r.options.Folder)))
		r.Wake()
		time.Sleep(time.Minute)
		if r.Health.Has(health.BackupFails) || made(t, r) != 1 {
			t.Error("it has not ended")
		}
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
	for _, at := range []string{"backup copied", "backup documents"} {
		left := 0
		r := backups(t, nil)
		r.Crash = func(point string) {
			if point != at {
				return
			}
			now, _ := filepath.Glob(filepath.Join(r.options.Folder, ".*"+private.Temporary))
			for _, path := range now { // as a kill leaves it
				left++
				noErr(t, os.WriteFile(filepath.Join(r.options.Folder, ".countersign-killed"+private.Temporary), read(t, path), 0o600))
			}
		}
		noErr(t, r.Make())
		r.Crash = func(string) {}
		noErr(t, r.Make())
		if now, _ := filepath.Glob(filepath.Join(r.options.Folder, ".*"+private.Temporary)); len(now) != 0 || made(t, r) != 2 || left == 0 {
			t.Errorf("killed at %q: left %d, then %q, %d backups", at, left, now, made(t, r))
		}
		files, _ := List(r.options.Folder)
		if h, _, err := CheckBackup(files[0].Path, safe.Secret{1}); err != nil || h.Installation != "here" {
			t.Errorf("%+v, %v", h, err)
		}
	}
}

// A key is made anew when the keyring has lost it. What it sealed before is left as it is, and costs nothing to have.
func TestBackupsGoOnWithAnotherKeyBesideThoseOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := safe.Secret{1}
		r := backups(t, func(o *Options) { o.Key = func() (safe.Secret, bool) { return key, true } })
		text := r.holdsDraft(t)
		noErr(t, r.Make())
		key = safe.Secret{2}
		inTheWay := filepath.Join(r.options.Folder, "000002-2026-01-01"+ending)
		noErr(t, os.WriteFile(inTheWay, []byte("age-encryption.org/v1\ndamaged"), 0o600))
		stop := looptest.Run(t, r.Run)
		r.Health.Set(health.BackupFails, tell(nil))
		for range 20 {
			r.newDay(t)
			time.Sleep(24 * time.Hour)
			if r.Health.Has(health.BackupFails) {
				t.Fatal("a backup was made, and is said to fail")
			}
		}
		stop()
		files := must(List(r.options.Folder))
		if len(files) > 11 || files[0].Number != 22 {
			t.Errorf("%d backups, the newest is number %d", len(files), files[0].Number)
		}
		_, documents, err := CheckBackup(files[0].Path, key)
		if err != nil || len(documents) != 1 {
			t.Fatalf("%+v, %v", documents, err)
		}
		back := filepath.Join(t.TempDir(), "back")
		noErr(t, RestoreDocument(files[0].Path, documents[0], key, back))
		if string(read(t, back)) != string(text) {
			t.Error("another document was restored")
		}
	})
}

// holdsDraft stores a draft that waits, and returns its document.
func (r *Backups) holdsDraft(t *testing.T) (text []byte) {
	t.Helper()
	text = []byte("a contract")
	d := office.Draft{ID: "d", State: office.DraftHeld, Files: []office.DraftFile{{Copy: "d-1", Size: int64(len(text)), SHA256: sum(text)}}}
	noErr(t, os.WriteFile(filepath.Join(r.options.Documents, "d-1"), text, 0o600))
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }))
	return text
}

func TestABackupTakesThePlaceOfEverything(t *testing.T) {
	r, now := backups(t, nil), looptest.Base(t, func() {})
	r.holdsDraft(t)
	noErr(t, r.Make())
	noErr(t, now.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "of now", State: office.DraftHeld}) }))
	files := must(List(r.options.Folder))
	f := must(Open(files[0].Path))
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, 9); err != nil { // somebody has looked at it
		t.Fatal(err)
	}
	if err := now.Data.Update(func(tx *store.Tx) error { return ImportBackup(tx, f, safe.Secret{2}) }); err == nil {
		t.Error("it was read with another key")
	}
	var drafts []office.Draft
	noErr(t, now.Data.Update(func(tx *store.Tx) error {
		err := ImportBackup(tx, f, safe.Secret{1})
		if err == nil {
			drafts, err = tx.Drafts(office.DraftHeld)
		}
		return err
	}))
	if len(drafts) != 1 || drafts[0].ID != "d" {
		t.Errorf("there are %+v", drafts)
	}
}

func TestDocumentsOfBackupsAreKeptAsLongAsOneListsThem(t *testing.T) {
	r := backups(t, nil)
	text := r.holdsDraft(t)
	noErr(t, r.Make())
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "d", State: office.DraftCancelled}) }))
	documents := func(more, want int) {
		t.Helper()
		for range more {
			noErr(t, r.Make())
		}
		entries, err := os.ReadDir(filepath.Join(r.options.Folder, "documents"))
		if err != nil || len(entries) != want {
			t.Errorf("after %d more there are %d documents, %v", more, len(entries), err)
		}
		for _, e := range entries {
			if bytes.Contains(read(t, filepath.Join(r.options.Folder, "documents", e.Name())), text) {
				t.Error("a document of a backup can be read without the key")
			}
		}
	}
	documents(6, 1)
	documents(30, 0)
	expect(t, made(t, r), 11, "%d backups")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b := must(os.ReadFile(path))
	return b
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// said is what people are told of err.
func said(err error) message.Message {
	m, _ := message.Of(err)
	return m
}
