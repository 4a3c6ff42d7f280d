// Package drop takes what is dragged onto the window from other programs, where the graphics library takes too little: it
// knows files by their paths alone, mistakes the names of some, and says nothing while something is still over the window.
//
// On Windows it is the window's own drop target: it tells what is over the window and where, says whether a
// drop there would be taken, and takes files by their paths as well as those that exist only in the program they come from
// (attachments of mails, pictures of a browser), which it copies before it tells that program that it is done. Elsewhere,
// and where that target cannot be had, the graphics library's remains.
//
// What comes from outside chooses no path and no amount: names and contents go through a [Shelf], and everything else that
// is read is bounded, in size and in time. It imports no Fyne and must not know what becomes of the files.
package drop

import (
	"context"
	"io"
)

// Point is a place in the window, in pixels from its left upper corner.
type Point struct{ X, Y int }

// Shelf takes the files of one drop that have no place of their own. Its errors have a message for people.
type Shelf interface {
	// Take copies a file; size is what it has according to the other program, negative where that does not say.
	Take(ctx context.Context, name string, size int64, from io.Reader) (path string, err error)
	// Place is where the other program may write a file itself, and Placed checks what it has written.
	Place(name string) (path string, err error)
	Placed(path string) error
	// Keep returns where a file with a place is once the other program is done: there, or in a copy.
	Keep(ctx context.Context, path string) string
}

// Window is what is told. All fields are required. Do runs a function on the window's goroutine, soon, or never when the
// window is ending; it may be called from any goroutine. The others are called on the window's goroutine.
type Window struct {
	Do func(func())

	// Over is told that something is over the window, files or nothing that could be taken, each time it moves. It
	// answers whether a drop there would be taken.
	Over func(at Point, files bool) (takes bool)
	// Left is told that nothing is over it any more, also before Dropped.
	Left func()
	// Fetching is told that the files of a drop begin to be fetched, which may take minutes, and when that is over, before
	// Dropped. There may be several at once.
	Fetching func(begins bool)
	// Dropped is told the files of a drop, and why others are not among them, a sentence for people each. Both may be there.
	Dropped func(at Point, paths []string, wrong []error)

	// Shelf is for the files of one drop. It may be called from any goroutine.
	Shelf func() Shelf
}
