package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// Record is one thing that is kept. What follows from others, as indexes and counters do, is none.
type Record struct {
	Kind  Kind            `json:"kind"`
	Key   []byte          `json:"key,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
}

// Kind says what a Record is, and which of its fields it has.
type Kind string

// The kinds of records that Export gives out and Import takes.
const (
	KindService   Kind = "service"         // Bytes: the service in use
	KindPackage   Kind = "package"         // JSON
	KindJob       Kind = "job"             // JSON
	KindDraft     Kind = "draft"           // JSON
	KindEvent     Kind = "event"           // JSON
	KindForgotten Kind = "forgotten event" // Key: its id; Bytes: how often it came again
	KindActivity  Kind = "activity"        // JSON
	KindFact      Kind = "fact"            // Key
	KindSealed    Kind = "sealed"          // Key: its name; Bytes
	KindDoc       Kind = "document"        // Key: its name; JSON
)

// Export calls each with everything that is kept, in an order in which Import takes it. A record that cannot be read is left out
// and noted. What each is given is valid until it returns.
func (tx *Tx) Export(each func(Record) error) error {
	service, err := tx.get(bucketMeta, keyService)
	if err == nil {
		err = each(Record{Kind: KindService, Bytes: service})
	}
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
			if len(value) == rowLength { // the event itself is there
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
		if err != nil {
			return err
		}
		err = tx.oldest(b.bucket, nil, func(key, value []byte) (bool, error) {
			r, err := b.record(key, value)
			if errors.Is(err, ErrRecord) {
				tx.leaveOut(err)
				return true, nil
			}
			if err != nil || r.Kind == "" {
				return err == nil, err
			}
			return true, each(r)
		})
	}
	return err
}

// whole is the record of a bucket as it is kept, if it can be read.
func whole[T any](bucket string, kind Kind) func(key, value []byte) (Record, error) {
	return func(key, value []byte) (Record, error) {
		_, err := decode[T](bucket, key, value)
		return Record{Kind: kind, JSON: value}, err
	}
}

// Clear removes everything, before the records of another time are imported.
func (tx *Tx) Clear() error {
	tx.writes++
	tx.followed, tx.event, tx.buckets = nil, keptEvent{}, nil
	var names [][]byte
	err := tx.bolt.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if string(name) != bucketMeta {
			names = append(names, bytes.Clone(name))
		}
		return nil
	})
	for _, name := range names {
		if err == nil {
			err = tx.bolt.DeleteBucket(name)
		}
		if err == nil {
			_, err = tx.bolt.CreateBucket(name)
		}
	}
	if err != nil {
		return fmt.Errorf("empty the data file: %w", err)
	}
	tx.changes.forget(uint64(tx.bolt.ID()))
	return nil
}

// Import keeps a record of Export, with what follows from it, where there is none of its identity. ErrRecord is one that Export
// does not write.
func (tx *Tx) Import(r Record) error {
	switch r.Kind {
	case KindService:
		if len(r.Bytes) == 0 {
			return nil
		}
		return tx.put(bucketMeta, keyService, bytes.Clone(r.Bytes))
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
		copies, err := copiesOf(r.Bytes)
		if err != nil || len(r.Key) == 0 {
			return fmt.Errorf("%w: a forgotten event", ErrRecord)
		}
		return errors.Join(tx.put(bucketEventIDs, r.Key, r.Bytes), tx.refacet(facets{}, forgottenFacets(copies)))
	case KindActivity:
		return importAs(r, tx.AddActivity)
	case KindFact:
		if len(r.Key) != factLength {
			return fmt.Errorf("%w: a fact", ErrRecord)
		}
		return tx.put(bucketOnce, r.Key, noted)
	case KindSealed:
		return tx.put(bucketSealed, r.Key, r.Bytes)
	case KindDoc:
		if !json.Valid(r.JSON) {
			return fmt.Errorf("%w: document %q", ErrRecord, r.Key)
		}
		return tx.put(bucketDocs, r.Key, r.JSON)
	}
	return fmt.Errorf("%w: of the kind %q", ErrRecord, r.Kind)
}

func importAs[T any](r Record, put func(T) error) error {
	record, err := decode[T](string(r.Kind), r.Key, r.JSON)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return put(record)
}
