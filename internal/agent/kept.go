package agent

import (
	"countersign/internal/office"
	"sync"
)

// kept is a part of the state that is read from memory and kept on disk. Memory follows the commit and never leads it:
// the one way to change it is change. Safe for concurrent use.
type kept[T any] struct {
	turn sync.Mutex // held from reading what is to be changed until memory has followed the commit
	mu   sync.Mutex // guards now, for a moment
	now  T
}

// get returns the value as of now. It is a copy: after waiting for anything, it is got again.
func (k *kept[T]) get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// change gives the value as it is to commit, which returns what it is now, on disk; after an error nothing changes. Changes
// happen one after the other. commit must not change the same value.
func (k *kept[T]) change(commit func(T) (T, error)) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	next, err := commit(k.get())
	if err != nil {
		return err
	}
	k.set(next)
	return nil
}

// set is for what was just read from disk.
func (k *kept[T]) set(now T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = now
}

// office is what is set up and who is signed in, all of one moment.
type current struct {
	settings office.Settings
	account  account
	service  *service // as settings describe it; nil while there is none, or its client secret is out of reach
}

// signedIn reports whether somebody is signed in and the service has not ended it, though the keys may be locked.
func (o current) signedIn() bool {
	return o.account.SignedIn && !(o.service != nil && o.service.session.Ended())
}
