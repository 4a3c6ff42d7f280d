// Package drop receives what is dragged onto the window from other programs, because the graphics library does too little: it knows
// files only by path, misreads some names, and reports nothing while something is being dragged over the window.
//
// On Windows it is the window's own drop target: it reports what is over the window and where, says whether a drop there would be
// taken, and takes files by path as well as those that exist only in the source program (mail attachments, pictures in a browser),
// which it copies before telling that program that it is done. Elsewhere, and if that target is unavailable, the graphics library's
// remains.
//
// Nothing from outside chooses a path or an amount: names and contents go through a [Shelf], and everything else that is read is
// bounded in size and time. It imports no Fyne and must not know what becomes of the files.
package drop

import (
	"context"
	"io"
)

// Point is a position in the window, in pixels from its top left corner.
type Point struct{ X, Y int }

// Shelf stores those files of one drop that have no path. Its errors have a message for people.
type Shelf interface {
	// Take copies a file; size is what the other program claims, negative if unknown.
	Take(ctx context.Context, name string, size int64, from io.Reader) (path string, err error)
	// Place returns where the other program may write a file itself; Placed checks what it has written.
	Place(name string) (path string, err error)
	Placed(path string) error
	// Keep returns where a file with a path is once the other program is done: there, or in a copy.
	Keep(ctx context.Context, path string) string
}

// Window receives the events. All fields are required. Do runs a function on the UI goroutine, soon, or never if the window is
// closing; it may be called from any goroutine. The others are called on the UI goroutine.
type Window struct {
	Do func(func())

	// Over is called each time something moves over the window, with whether it contains files. It returns whether a drop there
	// would be taken.
	Over func(at Point, files bool) (takes bool)
	// Left is called when nothing is over the window any more, and before Dropped.
	Left func()
	// Fetching is called when fetching a drop's files begins, which may take minutes, and when it ends, before Dropped. Several
	// drops may be in progress.
	Fetching func(begins bool)
	// Dropped gets a drop's files and, for files that are missing, errors that are sentences for people. Both may be non-empty.
	Dropped func(at Point, paths []string, wrong []error)

	// Shelf returns the shelf for one drop. It may be called from any goroutine.
	Shelf func() Shelf
}
