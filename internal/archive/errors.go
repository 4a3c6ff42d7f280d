package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"countersign/internal/disk"
	"countersign/internal/message"
)

// What can stand between a document and its file. Test for them with errors.Is; the errors returned are of type *[Error].
var (
	ErrExists    = errors.New("a file of that name is there already")
	ErrFull      = errors.New("the disk is full")                     // or the quota is used up
	ErrMissing   = errors.New("the folder is missing")                // also: its drive or share is not connected
	ErrNotFolder = errors.New("not a folder")                         // or not an absolute path
	ErrReadOnly  = errors.New("the folder may not be written")        // permissions, or a read-only disk
	ErrOutside   = errors.New("a link instead of a subfolder")        // it may lead anywhere, and is not followed
	ErrBadName   = errors.New("not a name that this program makes")   // the target is not a safe relative path
	ErrNotPDF    = errors.New("not a PDF document")                   // no %PDF- within the first KiB
	ErrShort     = errors.New("fewer bytes came than were announced") // see Error.Got and Error.Want
	ErrLong      = errors.New("more bytes came than were announced")  // see Error.Want; or more than any document has
	ErrNoEnd     = errors.New("the end of the document is missing")   // or it never had one, see Request.Before
	ErrDownload  = errors.New("the download broke off")               // the body's own error is wrapped too
	ErrChanged   = errors.New("the file was changed meanwhile")       // while it was taken
	ErrUnread    = errors.New("the file could not be read")           // that is to be taken
)

// Error says what went wrong with which file or folder.
type Error struct {
	Kind      error  // one of the Err values above, or nil when the cause is none of them
	Folder    string // the absolute folder
	File      string // the target relative to Folder, empty when the folder itself is meant
	Got, Want int64  // bytes, for ErrShort and ErrLong
	Err       error  // the cause, nil when Kind says all
}

// Error is for logs: it names paths and the cause.
func (e *Error) Error() string {
	what := "open folder " + e.Folder
	if e.File != "" {
		what = "save " + e.File + " in " + e.Folder
	}
	switch {
	case e.Kind == nil:
		return fmt.Sprintf("%s: %v", what, e.Err)
	case errors.Is(e.Kind, ErrShort), errors.Is(e.Kind, ErrLong):
		return fmt.Sprintf("%s: %v: %d of %d", what, e.Kind, e.Got, e.Want)
	case e.Err == nil:
		return fmt.Sprintf("%s: %v", what, e.Kind)
	default:
		return fmt.Sprintf("%s: %v: %v", what, e.Kind, e.Err)
	}
}

// Unwrap gives errors.Is and errors.As both the kind and the cause.
func (e *Error) Unwrap() []error {
	var list []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// Message is what people are told: what happened, to which file or folder.
func (e *Error) Message() message.Message {
	folder, file := filepath.Base(e.Folder), path.Base(e.File)
	switch e.Kind {
	case ErrExists:
		return message.FileThere(file, folder)
	case ErrFull:
		return message.DiskFull(folder)
	case ErrMissing:
		return message.FolderMissing(folder)
	case ErrNotFolder:
		if e.File != "" {
			return message.SubfolderIsFile(file, folder)
		}
		return message.NotAFolder(folder)
	case ErrReadOnly:
		return message.FolderForbidden(folder)
	case ErrOutside:
		return message.LeadsOut(file, folder)
	case ErrBadName:
		return message.NoFileName(file)
	case ErrNotPDF:
		return message.NotAPDF(file)
	case ErrNoEnd:
		return message.NoEnd(file)
	case ErrShort, ErrLong, ErrDownload:
		return message.DownloadInterrupted(file)
	}
	if e.File == "" {
		return message.FolderUnusable(folder)
	}
	return message.NotSaved(file, folder)
}

// Message is what people are told of any error of this package. For nil it is nothing.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if errors.Is(err, context.Canceled) {
		return message.SavingStopped()
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	return message.DocumentNotSaved()
}

// isAny reports whether err is one of several.
func isAny(err error, several ...error) bool {
	return slices.ContainsFunc(several, func(one error) bool { return errors.Is(err, one) })
}

// kindOf recognises what the system reports. Being full comes before being forbidden: it is the one that passes.
func kindOf(err error) error {
	switch {
	case isFull(err):
		return ErrFull
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, disk.ErrNotFolder):
		return ErrNotFolder
	case errors.Is(err, disk.ErrLink):
		return ErrOutside
	case isMissing(err), errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case isReadOnly(err), errors.Is(err, fs.ErrPermission):
		return ErrReadOnly
	case isNotFolder(err):
		return ErrNotFolder
	default:
		return nil
	}
}
