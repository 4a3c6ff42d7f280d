package announce

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// A fact waits for others of its moment, and the program may be killed meanwhile. It is therefore pending from the commit that
// notes it until right before it is raised, and the next start raises what is pending. A kill between the two costs a notification;
// none doubles one.

// docPending and the hash of a fact's key name the document with a pending fact.
const docPending = "pending-fact/"

// maxPending is how many pending facts a start raises, more than anybody can read.
const maxPending = 10_000

func pendingDoc(key string) string {
	sum := sha256.Sum256([]byte(key))
	return docPending + hex.EncodeToString(sum[:16])
}

// putPending notes, in the commit of what f is about, that people are to be told.
func putPending(tx *store.Tx, f office.Fact) error { return tx.PutDoc(pendingDoc(f.Key), f) }

// Withhold notes, in the commit that found them, that nobody is told of facts after all: they are old.
func (r *Service) Withhold(tx *store.Tx, facts []office.Fact) error {
	for _, f := range facts {
		if err := tx.PutDoc(pendingDoc(f.Key), nil); err != nil {
			return err
		}
	}
	return nil
}

// ForgetPending drops what is pending: the state is that of a backup, and what was pending then was told since.
func ForgetPending(tx *store.Tx) error {
	names, err := tx.DocNames(docPending)
	for _, name := range names {
		err = errors.Join(err, tx.PutDoc(name, nil))
	}
	return err
}

// Resume queues what an earlier start left pending. It is for whoever stays long enough to be read. What is about a package of
// another service stays pending until that one is in use again.
func (r *Service) Resume() {
	facts, err := data.Read(r.Data, "what people are to be told", func(tx *store.Tx) (map[string]office.Fact, error) {
		facts, err := store.Docs[office.Fact](tx, docPending, "", maxPending)
		if err != nil {
			return nil, err
		}
		for name, f := range facts {
			if p, _, err := tx.Package(f.PackageID); f.PackageID != "" && err == nil && p.Away {
				delete(facts, name)
			}
		}
		return facts, nil
	})
	if err != nil { // which health says
		r.Log.Error("read what people are to be told", "err", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		f := facts[name]
		f.CaughtUp = true
		r.Announce(f)
	}
}

// settle records that facts are not pending any more. What cannot be recorded is recorded with the next ones: a disk that is full
// keeps nothing from people.
func (r *Service) settle(keys []string) {
	r.settled = append(r.settled, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })...)
	if len(r.settled) == 0 {
		return
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		for _, key := range r.settled {
			if err := tx.PutDoc(pendingDoc(key), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // which health says
		r.Log.Warn("note what people were told", "err", err)
		return
	}
	r.settled = nil
}
