package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// What can stand between a document and its file. Test for them with errors.Is; the errors returned are of type *[Error].
var (
	ErrExists    = errors.New("a file of that name is there already")
	ErrFull      = errors.New("the disk is full")                     // or the quota is used up
	ErrMissing   = errors.New("the folder is missing")                // also: its drive or share is not connected
	ErrNotFolder = errors.New("not a folder")                         // or not an absolute path
	ErrReadOnly  = errors.New("the folder may not be written")        // permissions, or a read-only disk
	ErrOutside   = errors.New("a link leads out of the folder")       // a subfolder of the target is such a link
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

// Sentence is the error for people: what happened, to which file or folder.
func (e *Error) Sentence() string {
	folder, file := quoted(filepath.Base(e.Folder)), quoted(path.Base(e.File))
	switch e.Kind {
	case ErrExists:
		return fmt.Sprintf("There is already a file %s in %s.", file, folder)
	case ErrFull:
		return fmt.Sprintf("The disk with %s is full.", folder)
	case ErrMissing:
		return fmt.Sprintf("The folder %s cannot be found. It was moved or deleted, or its drive is not connected.", folder)
	case ErrNotFolder:
		if e.File != "" {
			return fmt.Sprintf("%s was not saved, because a file in %s has the name of its subfolder.", file, folder)
		}
		return fmt.Sprintf("%s is not a folder on this computer.", folder)
	case ErrReadOnly:
		return fmt.Sprintf("Countersign is not allowed to save in the folder %s.", folder)
	case ErrOutside:
		return fmt.Sprintf("%s was not saved, because a link inside %s leads out of it.", file, folder)
	case ErrBadName:
		return fmt.Sprintf("%s cannot be the name of a file.", file)
	case ErrNotPDF:
		return fmt.Sprintf("The signing service did not send a PDF for %s.", file)
	case ErrNoEnd:
		return fmt.Sprintf("%s came without the end of a PDF. It is downloaded again to be sure that nothing is missing.", file)
	case ErrShort, ErrLong, ErrDownload:
		return fmt.Sprintf("The download of %s was interrupted.", file)
	}
	if e.File == "" {
		return fmt.Sprintf("The folder %s could not be used.", folder)
	}
	return fmt.Sprintf("%s could not be saved in %s.", file, folder)
}

// Sentence is any error of this package as one plain sentence (two where there is something to do), naming the folder or
// file. For nil it is empty.
func Sentence(err error) string {
	var known *Error
	var template TemplateError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "Saving was stopped."
	case errors.As(err, &known):
		return known.Sentence()
	case errors.As(err, &template):
		return template.Error()
	default:
		return "The document could not be saved."
	}
}

func quoted(name string) string { return "\"" + oneLine(name) + "\"" }

// kindOf recognises what the system reports. Being full comes before being forbidden: it is the one that passes.
func kindOf(err error) error {
	switch {
	case isFull(err):
		return ErrFull
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, ErrNotFolder):
		return ErrNotFolder
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
