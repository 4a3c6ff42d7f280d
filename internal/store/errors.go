package store

import (
	"errors"
	"fmt"
	"io/fs"

	"countersign/internal/message"
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

// DiskFull reports whether err says that a disk is full, or that its user may have no more of it.
func DiskFull(err error) bool { return isDiskFull(err) }

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

// Message is what people are told.
func (e *CorruptError) Message() message.Message { return message.DataDamaged(e.Path) }

// Message is what people are told of an error of this package.
func Message(err error) message.Message {
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, ErrInUse):
		return message.DataInUse()
	case errors.Is(err, ErrNewer):
		return message.DataNewer()
	case errors.Is(err, ErrClosed):
		return message.Closing()
	case errors.Is(err, ErrTargetTaken):
		return message.TargetTaken()
	case isDiskFull(err):
		return message.DataDiskFull()
	case errors.Is(err, fs.ErrPermission):
		return message.DataForbidden()
	default:
		return message.DataUnusable()
	}
}
