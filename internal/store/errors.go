package store

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrInUse means that another process has the file open.
	ErrInUse = errors.New("the data folder is in use by another Countersign")

	// ErrNewer means that a newer version wrote the file. It has not been touched.
	ErrNewer = errors.New("the data was written by a newer version of Countersign")

	// ErrCorrupt means that the file is damaged; the error is a [*CorruptError].
	ErrCorrupt = errors.New("the data file is damaged")

	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("the data file is closed")

	// ErrRecord means that one record cannot be read, though the file around it is well. It stays as it is; lists leave
	// it out (see [Store.Unreadable]).
	ErrRecord = errors.New("a record cannot be read")

	// ErrUnfit means that one record cannot be kept as it is: it cannot be encoded, or is too large.
	ErrUnfit = errors.New("a record cannot be kept")

	// ErrNotFound means that a record to change does not exist.
	ErrNotFound = errors.New("no such record")

	// ErrTargetTaken means that another job has reserved the same file name.
	ErrTargetTaken = errors.New("the file name is reserved by another document")

	// ErrBadID means that an identifier is empty or not UTF-8.
	ErrBadID = errors.New("the identifier cannot be used")
)

// OfOneRecord reports whether err is about a single record, which says nothing about the file or any other record.
func OfOneRecord(err error) bool {
	for _, own := range []error{ErrRecord, ErrUnfit, ErrNotFound, ErrTargetTaken, ErrBadID} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// CorruptError says which file is damaged and how it was noticed. errors.Is(err, ErrCorrupt) holds.
type CorruptError struct {
	Path   string
	Reason string // for the log: what was wrong with which part
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Path, e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) hold.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Sentence turns an error of this package into one plain sentence for people: what happened and what to do.
func Sentence(err error) string {
	var corrupt *CorruptError
	switch {
	case errors.Is(err, ErrInUse):
		return "Countersign is already running with this data folder; use the copy that is open."
	case errors.Is(err, ErrNewer):
		return "A newer version of Countersign wrote this data; install the newer version to use it."
	case errors.As(err, &corrupt):
		return fmt.Sprintf("The data file %s is damaged; restore it from a backup, or let Countersign set it aside and start afresh.", corrupt.Path)
	case errors.Is(err, ErrClosed):
		return "Countersign is closing."
	case errors.Is(err, ErrTargetTaken):
		return "Another document already has this file name; choose a different one."
	case isDiskFull(err):
		return "The disk with Countersign's data is full; make room on it."
	case errors.Is(err, fs.ErrPermission):
		return "Countersign is not allowed to write to its data folder; check who owns it."
	default:
		return "Countersign could not use its data file; look in the log for the reason."
	}
}
