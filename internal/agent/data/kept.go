// Package data is the data of the office on this computer: the store with an eye on the disk below it, and what is kept in
// memory as well as there. It knows no rules about what it keeps.
package data

import (
	"sync"
)

// Kept is a value that is read from memory and kept on disk. It changes in memory only after the commit has succeeded, so
// Change is the one way to change it. Safe for concurrent use.
type Kept[T any] struct {
	turn sync.Mutex // held from reading what is to be changed until memory has followed the commit
	mu   sync.Mutex // guards now, for a moment
	now  T
}

// Get returns the value as of now. It is a copy: after waiting for anything, it is got again.
func (k *Kept[T]) Get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Change gives the value as it is to commit, which returns what it is now, on disk; after an error nothing changes. Changes
// happen one after the other. commit must not change the same value.
func (k *Kept[T]) Change(commit func(T) (T, error)) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	next, err := commit(k.Get())
	if err != nil {
		return err
	}
	k.Set(next)
	return nil
}

// Set is for what was just read from disk.
func (k *Kept[T]) Set(now T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = now
}
