package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/office"
	"countersign/internal/private"
)

func TestTheFileAndItsFolderArePrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(folder, "state.db")
	noErr(t, os.MkdirAll(folder, 0o755))
	for range 2 { // created, and found with open permissions
		s := must(Open(path, Options{}))
		noErr(t, s.Close())
		for name, want := range map[string]os.FileMode{path: 0o600, folder: 0o700} {
			if mode := must(os.Stat(name)).Mode(); mode.Perm() != want && runtime.GOOS != "windows" {
				t.Errorf("%s: %v; want %v", name, mode, want)
			}
			f := must(os.Open(name))
			noErr(t, errors.Join(private.OpenToOthers(f), f.Close()))
			noErr(t, os.Chmod(name, want|0o055))
		}
	}
	expect(t, len(must(os.ReadDir(folder))), 1, "%d files are there")
}

func TestASecondOpenIsToldWithoutWaiting(t *testing.T) {
	s := newTest(t)
	synctest.Test(t, func(t *testing.T) { // bbolt sleeps between its attempts
		start := time.Now()
		_, err := Open(s.Path(), Options{})
		if !errors.Is(err, ErrInUse) || errors.Is(err, ErrCorrupt) {
			t.Errorf("Open = %v, want ErrInUse", err)
		}
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
	update(t, s, putDoc("still works"))
}

func TestAFileOfAnotherSchemaIsRefusedAndUntouched(t *testing.T) {
	for have, want := range map[string]error{strconv.Itoa(schema + 1): ErrNewer, strconv.Itoa(schema - 1): ErrCorrupt, "one": ErrCorrupt, "": ErrCorrupt} {
		path := filepath.Join(t.TempDir(), "state.db")
		s := openTest(t, path)
		update(t, s, func(tx *Tx) error { tx.put(bucketMeta, keySchema, []byte(have)); return nil })
		noErr(t, s.Close())
		before := readFile(t, path)
		if _, err := Open(path, Options{}); !errors.Is(err, want) || errors.Is(err, ErrCorrupt) != (want == ErrCorrupt) {
			t.Errorf("Open = %v, want %v", err, want)
		}
		if !bytes.Equal(before, readFile(t, path)) {
			t.Error("the file was changed")
		}
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b := must(os.ReadFile(path))
	return b
}

// filled returns the bytes of a file with enough records for several levels of pages.
func filled(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s := must(Open(path, Options{}))
	for round := range uint64(3) { // several commits, so that both meta pages and a free list are used
		update(t, s, func(tx *Tx) error {
			for n := range uint64(200) {
				tx.PutPackage(somePackage(rand.New(rand.NewPCG(round, n))))
			}
			return nil
		})
	}
	var size int64
	noErr(t, s.db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }))
	noErr(t, s.Close())
	return readFile(t, path)[:size] // without what bbolt allocated beyond its pages
}

// tryDamaged opens a file with this content, reads and writes everything, and returns the first error. Only a crash of the
// test process, or an error other than ErrCorrupt, is a failure.
func tryDamaged(t *testing.T, content []byte) error {
	t.Helper()
	dir := must(os.MkdirTemp("", "damaged"))
	// If bbolt itself noticed the damage, the file stays mapped, and Windows cannot remove it before the process ends.
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.db")
	noErr(t, os.WriteFile(path, content, 0o600))
	s, err := Open(path, Options{})
	if err != nil {
		if !bytes.Equal(content, readFile(t, path)) {
			t.Errorf("the refused file was changed (%v)", err)
		}
		must(SetAside(path, day)) // the file is not locked any more
		noErr(t, must(Open(path, Options{})).Close())
	} else {
		err = errors.Join(
			s.View(func(tx *Tx) error { return tx.Packages(func(office.Package) bool { return true }) }),
			s.View(func(tx *Tx) error { return tx.PackageLines(func(office.PackageLine) bool { return true }) }),
			s.Update(func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "new"}) }),
			s.Close(),
		)
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	return err
}

func TestDamageIsAnErrorAndNoCrash(t *testing.T) {
	good := filled(t)
	page := os.Getpagesize()
	wipe := func(from, to int) []byte {
		b := bytes.Clone(good)
		clear(b[from:to])
		return b
	}
	theirs := filepath.Join(t.TempDir(), "theirs.db")
	db := must(bolt.Open(theirs, 0o600, nil))
	noErr(t, db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }))
	noErr(t, db.Close())
	cases := map[string][]byte{
		"another program's":  readFile(t, theirs),
		"empty":              {},
		"one byte":           {1},
		"text":               []byte(strings.Repeat("This is a letter, not a database.\n", 1000)),
		"zeros":              make([]byte, 64<<10),
		"half":               good[:len(good)/2],
		"two pages":          good[:2*page],
		"one page":           good[:page],
		"odd length":         good[:len(good)/2+17],
		"both metas zeroed":  wipe(0, 2*page),
		"all but the metas":  wipe(2*page, len(good)),
		"second half zeroed": wipe(len(good)/2, len(good)),
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			err := tryDamaged(t, content)
			var damage *CorruptError
			if !errors.As(err, &damage) || damage.Path == "" || !strings.Contains(damage.Message().String(), damage.Path) {
				t.Errorf("%v, want a CorruptError with its path", err)
			}
		})
	}
	for _, n := range []int{0, 1} {
		t.Run(fmt.Sprintf("meta %d alone zeroed", n), func(t *testing.T) {
			// A crash in the middle of a commit leaves this.
			expect(t, tryDamaged(t, wipe(n*page, (n+1)*page)), nil, "a torn meta page is not damage: %v")
		})
	}
	t.Run("single pages", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		path := filepath.Join(t.TempDir(), "state.db")
		opens := func(b []byte, o Options) error {
			noErr(t, os.WriteFile(path, b, 0o600))
			s, err := Open(path, o)
			if err == nil {
				s.Close()
			}
			return err
		}
		free, _ := roomy(t)
		for n := range 80 {
			b := bytes.Clone([][]byte{good, free}[n%2])
			from := (2 + rng.IntN(len(b)/page-2)) * page
			clear(b[from : from+page])
			if rng.IntN(2) == 0 {
				for i := from; i < from+page; i++ {
					b[i] = byte(rng.Uint32())
				}
			}
			tryDamaged(t, b)
			// Damage that is not needed does not prevent a start, even one that makes the file smaller: it is noticed when it is used.
			if err, plain := opens(b, Options{Compact: true, compactGain: smallGain}), opens(b, Options{}); (err == nil) != (plain == nil) {
				t.Errorf("page %d: open says %v, and %v where it compacts", from/page, plain, err)
			}
		}
	})
}

// A file that shrinks while it is mapped causes a memory fault, which ends a Go program unless it is recovered.
func TestAFileCutShortWhileOpenIsAnErrorAndNoCrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a mapped file cannot be truncated there
	}
	path := filepath.Join(t.TempDir(), "state.db")
	noErr(t, os.WriteFile(path, filled(t), 0o600))
	s := must(Open(path, Options{}))
	noErr(t, os.Truncate(path, int64(2*os.Getpagesize())))
	view, update := s.View(func(tx *Tx) error { return tx.Packages(func(office.Package) bool { return true }) }), s.Update(putDoc("x"))
	if !errors.Is(view, ErrCorrupt) || !errors.Is(update, ErrCorrupt) {
		t.Errorf("View = %v, Update = %v, want ErrCorrupt", view, update)
	}
	noErr(t, s.Close())
}

func TestSettingAsideNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	held := map[string]string{}
	for i := range 3 {
		text := fmt.Sprint("damaged ", i)
		noErr(t, os.WriteFile(path, []byte(text), 0o600))
		held[must(SetAside(path, day))] = text
	}
	for to, text := range held {
		expect(t, string(readFile(t, to)), text, to+" holds %q")
	}
	expect(t, len(held), 3, "%d names")
}

// spoil makes the record under key unreadable.
func spoil(t *testing.T, s *Store, bucket string, key []byte) {
	t.Helper()
	update(t, s, func(tx *Tx) error { tx.put(bucket, key, []byte(`{"id":`)); return nil })
}

func rowOf(t *testing.T, s *Store, x shelf, id string) []byte {
	t.Helper()
	return read(t, s, func(tx *Tx) ([]byte, error) { row, _ := tx.find(x, id); return bytes.Clone(row), nil })
}

func TestARecordThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	s := newTest(t)
	for _, id := range []string{"a", "bad", "c"} {
		putPackages(t, s, office.Package{ID: id, Inquiry: office.Inquiry{NextCheck: day}})
		plan(t, s, office.Job{PackageID: "p", DocumentID: id, Kind: "executed", Folder: "/f", Target: id, NextTry: day})
		addEvent(t, s, office.Event{ID: id, Received: day})
		update(t, s, func(tx *Tx) error { return tx.PutDraft(office.Draft{ID: id, Delivery: office.Delivery{NextTry: day}}) })
	}
	for _, x := range []shelf{events, packages, drafts} {
		row := rowOf(t, s, x, "bad")
		spoil(t, s, x.rows, row)
		if x == packages {
			spoil(t, s, bucketPackageLines, row)
		}
	}
	spoil(t, s, bucketJobs, []byte("p/bad/executed"))

	lists := map[string]func(tx *Tx) (int, error){
		"packages due":  func(tx *Tx) (int, error) { l, err := tx.PackagesDue(Due{Now: day}, 10); return len(l), err },
		"open packages": func(tx *Tx) (int, error) { l, err := tx.AllOpen(); return len(l), err },
		"jobs due":      func(tx *Tx) (int, error) { l, err := tx.JobsDue(Due{Now: day}, 10, nil); return len(l), err },
		"pending jobs":  func(tx *Tx) (int, error) { l, err := tx.PendingJobs(); return len(l), err },
		"drafts due":    func(tx *Tx) (int, error) { l, err := tx.DraftsDue(Due{Now: day}); return len(l), err },
		"drafts":        func(tx *Tx) (int, error) { l, err := tx.Drafts(); return len(l), err },
		"queued drafts": func(tx *Tx) (int, error) { l, err := tx.Drafts(office.DraftQueued); return len(l), err },
		"package lines": func(tx *Tx) (n int, err error) {
			err = tx.PackageLines(func(office.PackageLine) bool { n++; return true })
			return n, err
		},
		"pending events": func(tx *Tx) (int, error) { l, _, err := tx.PendingEvents("", 10); return len(l), err },
		"events":         func(tx *Tx) (int, error) { l, _, err := tx.Events("", 10); return len(l), err },
	}
	for name, list := range lists {
		expect(t, read(t, s, list), 2, name+": %d, want the two others")
	}
	n := 0
	read(t, s, func(tx *Tx) (bool, error) { return true, tx.Packages(func(office.Package) bool { n++; return true }) })
	expect(t, n, 2, "packages: %d, want the two others")
	jobs := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.JobsOf("p") })
	if len(jobs) != 3 || jobs[1].DocumentID != "bad" || jobs[1].State != office.JobFailed {
		t.Errorf("the package looks complete without its job: %+v", jobs)
	}
	expect(t, s.Unreadable(), 5, "%d records are known to be unreadable")
	for name, do := range map[string]func(tx *Tx) error{
		"read":  func(tx *Tx) error { _, _, err := tx.Package("bad"); return err },
		"event": func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "bad"}) },
		"write": func(tx *Tx) error {
			return tx.PutPackage(office.Package{ID: "bad", Inquiry: office.Inquiry{NextCheck: day.Add(time.Hour)}})
		},
	} {
		if err := s.Update(do); !errors.Is(err, ErrRecord) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrRecord", name, err)
		}
	}
	if added := read(t, s, func(tx *Tx) (bool, error) { return tx.AddEvent(office.Event{ID: "bad"}) }); added {
		t.Error("a copy of the unreadable event is taken for another one")
	}
}

func TestARecordThatIsMissingIsDamage(t *testing.T) {
	s := newTest(t)
	j := office.Job{PackageID: "p", Kind: office.FileSigned, Folder: "/f", Target: "x", NextTry: day}
	plan(t, s, j)
	update(t, s, func(tx *Tx) error { tx.del(bucketJobs, []byte(j.Key())); return nil })
	refused(t, s, ErrCorrupt, func(tx *Tx) error { _, err := tx.JobsDue(Due{Now: day}, 9, nil); return err })
}

func TestAPackageOutlivesItsRecord(t *testing.T) {
	for name, p := range map[string]office.Package{
		"open": {State: office.PackageOpen, Name: "Lease", Origin: office.MadeHere, Source: office.Source{DraftID: "d"},
			Inquiry: office.Inquiry{NextCheck: at0(time.Hour)}, Signing: office.Signing{SignersDone: 1, SignersTotal: 2}},
		"withheld": {State: office.PackageExecuted, Executed: office.When{Time: day}, Inquiry: office.Inquiry{NextCheck: at0(time.Hour)},
			Saving: office.Saving{Refused: at0(time.Minute)}},
		"executed":    {State: office.PackageExecuted, Executed: office.When{Time: day}, Saving: office.Saving{Planned: true, Saved: true}},
		"over":        {State: office.PackageExpired, Due: day},
		"withdrawing": {State: office.PackageOpen, Name: "Lease", Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, NextTry: at0(time.Minute)}},
		"not known":   {},
	} {
		t.Run(name, func(t *testing.T) {
			p.ID, p.Created = "p", day
			spoiled, whole := newTest(t), newTest(t)
			for _, s := range []*Store{spoiled, whole} {
				putPackages(t, s, office.Package{ID: "before", Created: day, Inquiry: office.Inquiry{NextCheck: at0(time.Hour)}}, p,
					office.Package{ID: "after", Created: day})
			}
			spoil(t, spoiled, bucketPackages, rowOf(t, spoiled, packages, "p"))
			if got, want := pack(t, spoiled, "p"), pack(t, whole, "p"); got.State != want.State || got.Final() != want.Final() ||
				got.Name != want.Name || got.Origin != want.Origin || got.DraftID != want.DraftID || got.Saved != want.Saved || (got.Withdrawal != nil && !got.Withdrawal.Damaged) ||
				!got.NextCheck.Equal(want.NextCheck) || !got.Refused.Equal(want.Refused) || !got.Executed.Equal(want.Executed.Time) {
				t.Errorf("known of it: %+v, want %+v", got, want)
			}
			due := func(tx *Tx) (int, error) {
				l, err := tx.PackagesDue(Due{Now: at0(2 * time.Hour)}, 10)
				return len(l), err
			}
			if n, want := read(t, spoiled, due), read(t, whole, due); n != want {
				t.Errorf("%d packages are due, want %d", n, want)
			}
			p.NextCheck, p.Name, p.State, p.Planned, p.Saved = at0(3*time.Hour), "What the service tells", office.PackageExecuted, true, false
			for _, s := range []*Store{spoiled, whole} {
				putPackages(t, s, p)
			}
			for _, bucket := range []string{
				bucketPackages, bucketPackageLines, bucketPackagesDue, bucketPackagesRefused, bucketPackagesByDraft, bucketWithdrawalsDue, bucketCounts,
			} {
				if got, want := dump(t, spoiled, bucket), dump(t, whole, bucket); !maps.Equal(got, want) {
					t.Errorf("%s: %q, want %q", bucket, got, want)
				}
			}
			expect(t, spoiled.Unreadable(), 0, "%d records are left out")
		})
	}
}

// dump is the contents of a bucket.
func dump(t *testing.T, s *Store, bucket string) map[string]string {
	t.Helper()
	all := map[string]string{}
	view(t, s, func(tx *Tx) error {
		tx.oldest(bucket, nil, func(key, value []byte) bool { all[string(key)] = string(value); return true })
		return nil
	})
	return all
}

func TestALineThatCannotBeReadIsMadeFromItsPackage(t *testing.T) {
	s := newTest(t)
	putPackages(t, s, office.Package{ID: "a", Created: day}, office.Package{ID: "p", Name: "Lease", Created: day}, office.Package{ID: "z", Created: day})
	spoil(t, s, bucketPackageLines, rowOf(t, s, packages, "p"))
	var names []string
	view(t, s, func(tx *Tx) error {
		return tx.PackageLines(func(l office.PackageLine) bool { names = append(names, l.ID+l.Name); return true })
	})
	if !slices.Equal(names, []string{"z", "pLease", "a"}) {
		t.Errorf("%q", names)
	}
}
