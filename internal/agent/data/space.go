package data

import (
	"errors"
	"os"
)

// roomNeeded is how much the disk must take, in bytes, before it counts as mended: more than a commit ever writes.
const roomNeeded = 1 << 20

// nothing is what is written to find out: one page of it after the other, for a disk that is full is tried for hours.
var nothing [64 << 10]byte

// hasRoom reports whether the disk takes what a large commit needs, by writing as much to a file beside the state. How much is
// free would say nothing of how much this user may have.
func (s *Data) hasRoom() bool {
	s.trying.Lock()
	defer s.trying.Unlock()
	path := s.Store.Path() + ".room"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	defer os.Remove(path) // where an open file keeps its name
	_ = os.Remove(path)   // elsewhere nothing is left, should the program end right now
	for left := roomNeeded; left > 0 && err == nil; left -= len(nothing) {
		_, err = file.Write(nothing[:])
	}
	return errors.Join(err, file.Sync(), file.Close()) == nil
}
