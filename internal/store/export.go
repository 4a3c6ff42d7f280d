package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/disk"
	"countersign/internal/office"
)

// Record is one stored item. Derived data such as indexes and counters is not exported.
type Record struct {
	Kind  Kind            `json:"kind"`
	Key   []byte          `json:"key,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
}

// Kind is the kind of a Record; it determines which fields are set.
type Kind string

// The kinds of records in Export and Import.
const (
	KindService   Kind = "service"         // Bytes: name of the service in use
	KindPackage   Kind = "package"         // JSON
	KindJob       Kind = "job"             // JSON
	KindDraft     Kind = "draft"           // JSON
	KindEvent     Kind = "event"           // JSON
	KindForgotten Kind = "forgotten event" // Key: its id; Bytes: see forgotten
	KindActivity  Kind = "activity"        // JSON
	KindFact      Kind = "fact"            // Key
	KindLogged    Kind = "logged"          // Key: number of the first line; Bytes: lines of the log
	KindSealed    Kind = "sealed"          // Key: its name; Bytes
	KindDoc       Kind = "document"        // Key: its name; JSON
)

// Export calls each with everything that is stored, in an order suitable for Import. It skips and notes unreadable records.
// What each gets is valid until it returns.
func (tx *Tx) Export(each func(Record) error) error {
	tx.fail(each(Record{Kind: KindService, Bytes: tx.get(bucketMeta, keyService)}))
	for _, b := range []struct {
		bucket string
		record func(key, value []byte) (Record, error)
	}{
		{bucketPackages, func(row, value []byte) (Record, error) {
			p, err := tx.packageOf(row, value)
			if err != nil {
				return Record{}, err
			}
			value, err = encode(p)
			return Record{Kind: KindPackage, JSON: value}, err
		}},
		{bucketJobs, whole[office.Job](bucketJobs, KindJob)},
		{bucketDrafts, whole[office.Draft](bucketDrafts, KindDraft)},
		{bucketEvents, whole[office.Event](bucketEvents, KindEvent)},
		{bucketEventIDs, func(key, value []byte) (Record, error) {
			if len(value) == rowLength { // a row: the event itself is still there
				return Record{}, nil
			}
			return Record{Kind: KindForgotten, Key: key, Bytes: value}, nil
		}},
		{bucketActivity, whole[office.Activity](bucketActivity, KindActivity)},
		{bucketOnce, func(key, _ []byte) (Record, error) { return Record{Kind: KindFact, Key: key}, nil }},
		{bucketSealed, func(key, value []byte) (Record, error) { return Record{Kind: KindSealed, Key: key, Bytes: value}, nil }},
		{bucketDocs, func(key, value []byte) (Record, error) {
			r := Record{Kind: KindDoc, Key: key, JSON: value}
			if !json.Valid(value) {
				return r, fmt.Errorf("document %q: %w", key, ErrRecord)
			}
			return r, nil
		}},
	} {
		tx.oldest(b.bucket, nil, func(key, value []byte) bool {
			if r, err := b.record(key, value); tx.read(err) && r.Kind != "" {
				tx.fail(each(r))
			}
			return true
		})
	}
	return tx.Log().Export(each)
}

// whole returns a record of a bucket as it is stored, if it can be decoded.
func whole[T any](bucket string, kind Kind) func(key, value []byte) (Record, error) {
	return func(key, value []byte) (Record, error) {
		_, err := decode[T](bucket, key, value)
		return Record{Kind: kind, JSON: value}, err
	}
}

// Clear removes everything, before importing other records.
func (tx *Tx) Clear() error {
	var names [][]byte
	tx.fail(tx.bolt.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if string(name) != bucketMeta {
			names = append(names, bytes.Clone(name))
		}
		return nil
	}))
	tx.changes.forget(uint64(tx.bolt.ID()))
	return tx.empty(names...)
}

// ClearLog removes all lines of the record, before importing another computer's.
func (tx *Tx) ClearLog() error {
	return tx.empty([]byte(bucketLog), []byte(bucketLogPacked), []byte(bucketLogHashes))
}

func (tx *Tx) empty(names ...[]byte) error {
	tx.writes++
	tx.buckets, tx.logged = nil, nil
	for _, name := range names {
		if tx.err == nil {
			tx.fail(tx.bolt.DeleteBucket(name))
			_, err := tx.bolt.CreateBucket(name)
			tx.fail(err)
		}
	}
	return tx.err
}

// Import stores a record of Export, with its derived data, unless a record with its identity exists. ErrRecord means that
// Export does not write such a record.
func (tx *Tx) Import(r Record) error {
	tx.importing = true
	defer func() { tx.importing = false }()
	return tx.fail(tx.importRecord(r))
}

func (tx *Tx) importRecord(r Record) error {
	switch r.Kind {
	case KindService:
		if len(r.Bytes) == 0 {
			return nil
		}
		tx.put(bucketMeta, keyService, bytes.Clone(r.Bytes))
	case KindPackage:
		return importAs(r, tx.PutPackage)
	case KindJob:
		return importAs(r, func(j office.Job) error {
			if j.PackageID == "" || j.Kind == "" {
				return fmt.Errorf("%w: a job of nothing", ErrRecord)
			}
			return tx.putJob(j, facets{})
		})
	case KindDraft:
		return importAs(r, func(d office.Draft) error { return tx.putDraft(d, nil, facets{}) })
	case KindEvent:
		return importAs(r, func(e office.Event) error { return tx.putEvent(e, nil, facets{}) })
	case KindForgotten:
		copies, _, err := remains(r.Bytes)
		if err != nil || len(r.Key) == 0 {
			return fmt.Errorf("%w: a forgotten event", ErrRecord)
		}
		tx.put(bucketEventIDs, r.Key, r.Bytes)
		tx.refacet(facets{}, forgottenFacets(copies))
	case KindActivity:
		return importAs(r, tx.AddActivity)
	case KindFact:
		if len(r.Key) != factLength {
			return fmt.Errorf("%w: a fact", ErrRecord)
		}
		tx.put(bucketOnce, r.Key, noted)
	case KindLogged:
		return tx.importLog(r)
	case KindSealed:
		tx.put(bucketSealed, r.Key, r.Bytes)
	case KindDoc:
		if !json.Valid(r.JSON) {
			return fmt.Errorf("%w: document %q", ErrRecord, r.Key)
		}
		tx.put(bucketDocs, r.Key, r.JSON)
	default:
		return fmt.Errorf("%w: of the kind %q", ErrRecord, r.Kind)
	}
	return nil
}

func importAs[T any](r Record, put func(T) error) error {
	record, err := decode[T](string(r.Kind), r.Key, r.JSON)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return put(record)
}

// bbolt reuses free pages but never shrinks a file. When most of a file is free, Open copies the used part to a new file
// that replaces the old one.
//
// The old file stays locked until the new one has its name. Whoever waits for that lock then finds that it belongs to a file
// without a name, and starts again (ownsName). The copy is flushed before it gets its name, so after any interruption either
// the old file or the complete new one is there, and at most a temporary file that the next Open removes.

const (
	compactGain = 32 << 20  // minimum free bytes; they must also be at least as many as the used ones
	compactMost = 512 << 20 // maximum used bytes: copying more would delay the start by some seconds on a slow disk
	compactPart = 1 << 20   // bytes in one transaction of the copy
	spaceLeft   = 64 << 20  // bytes that must remain free on the disk beside the copy
)

// compact shrinks the file if that is worthwhile, and leaves it alone if anything prevents that. Its error is that of
// reopening the file.
func (s *Store) compact(o Options) error {
	temp := s.path + ".compact"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("remove an unfinished copy of the data file", "err", err)
		return nil
	}
	used, free := s.share()
	if used < 0 || used > o.compactMost || free < max(used, o.compactGain) {
		return nil
	}
	if free, known := disk.FreeIn(filepath.Dir(s.path)); known && free < uint64(used)+uint64(used)/4+spaceLeft {
		s.log.Info("the data file stays as large as it is: the disk has too little room for a copy", "free", free)
		return nil
	}
	err := s.copyTo(temp, o.LockTimeout)
	if err != nil {
		s.log.Warn("the data file stays as large as it is", "err", err)
		_ = os.Remove(temp) // otherwise the next Open does
		return nil
	}
	if runtime.GOOS == "windows" { // which cannot replace an open file
		err = s.release()
	}
	if err == nil {
		err = disk.Rename(temp, s.path)
	}
	if err != nil {
		s.log.Warn("the data file stays as large as it is", "err", err)
		_ = os.Remove(temp) // otherwise the next Open does
	} else {
		s.log.Info("the data file was made smaller", "bytes", used)
	}
	s.release() // also in the other branch
	s.db, s.file = nil, nil
	return s.openFile(o.LockTimeout)
}

// share is how many bytes of the file are used (negative if that cannot be read) and how many are free.
func (s *Store) share() (used, free int64) {
	var size int64
	if s.db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }) != nil {
		return -1, 0
	}
	st := s.db.Stats()
	free = int64(st.FreePageN+st.PendingPageN) * int64(s.db.Info().PageSize)
	return size - free, free
}

// copyTo copies everything in use to a file of that name and flushes it. Damage is only an error here: a start must not
// depend on pages that nobody has asked for.
func (s *Store) copyTo(temp string, wait time.Duration) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	to, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: wait, FreelistType: bolt.FreelistMapType, NoSync: true})
	if err != nil {
		return err
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the data file may be damaged: %v", reason)
		}
		err = errors.Join(err, to.Close())
	}()
	if err := bolt.Compact(to, s.db, compactPart); err != nil {
		return err
	}
	return to.Sync()
}

// ownsName reports whether the opened and locked file still has its name: another process may have replaced it by a smaller
// copy while this one waited for the lock.
func (s *Store) ownsName() (bool, error) {
	open, err := s.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(s.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

// If a package's record is unreadable, its line and the indexes still contain enough to continue. The service is asked about
// it as usual, and the answer becomes the new record.

func (tx *Tx) packageAt(row []byte) (office.Package, error) {
	value := tx.get(bucketPackages, row)
	if tx.err != nil {
		return office.Package{}, tx.err
	}
	return tx.packageOf(row, value)
}

// packageOf decodes the package of a row, or reconstructs it from the other data.
func (tx *Tx) packageOf(row, value []byte) (office.Package, error) {
	p, err := decode[office.Package](bucketPackages, row, value)
	if !errors.Is(err, ErrRecord) {
		return p, err
	}
	known, lost := tx.salvage(row)
	if lost != nil {
		return office.Package{}, fmt.Errorf("%w; %w", err, lost)
	}
	return known, nil
}

// salvage reconstructs the package of a row without its record. It yields the same facets as the lost record.
func (tx *Tx) salvage(row []byte) (office.Package, error) {
	l, err := decodeLine(tx.get(bucketPackageLines, row))
	if err != nil {
		return office.Package{}, err
	}
	p := office.Package{
		ID: l.ID, Name: l.Name, Origin: l.Origin, State: l.State, Created: l.Created, Due: l.Due, Executed: office.When{Time: l.Executed},
		Signing: office.Signing{SignersDone: l.SignersDone, SignersTotal: l.SignersTotal},
		Inquiry: office.Inquiry{Gone: l.Gone}, Saving: office.Saving{Planned: l.Planned, Saved: l.Saved, Sealed: l.Sealed},
	}
	p.Away = !p.Final() // unless it is in the index of due packages
	for index, note := range map[string]func(key []byte){
		bucketPackagesDue:     func(key []byte) { p.NextCheck, p.Away = stampTime(key), false },
		bucketPackagesRefused: func(key []byte) { p.Refused = stampTime(key) },
		bucketWithdrawalsDue: func(key []byte) { // whatever was requested: the status will tell
			p.Withdrawal, p.Away = &office.Withdrawal{State: office.WithdrawAsked, NextTry: stampTime(key), Damaged: true}, false
		},
		bucketPackagesByDraft: func(key []byte) {
			if id, ok := bytes.CutSuffix(key, append([]byte{0}, row...)); ok && id[0] != 0 { // otherwise it is a hash
				p.DraftID = string(id)
			}
		},
	} {
		tx.oldest(index, nil, func(key, _ []byte) bool {
			if !bytes.HasSuffix(key, row) {
				return true
			}
			note(key)
			return false
		})
	}
	return p, tx.err
}
