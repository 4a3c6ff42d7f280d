package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
)

// late is a screen that is made once somebody wants to see it or something on it is used: to make them all takes as long as
// everything else before the window is there. Its methods belong to Fyne's goroutine.
type late[S screen] struct {
	create func() S
	place  *fyne.Container // where it stands once it is made
	it     S
	made   bool
}

func newLate[S screen](create func() S) *late[S] {
	return &late[S]{create: create, place: container.NewStack()}
}

// get is the screen. The first time it is made, and reads what it shows.
func (l *late[S]) get() S {
	if !l.made {
		l.it, l.made = l.create(), true
		l.place.Add(l.it.Content())
		l.it.Reload()
	}
	return l.it
}

// ifMade does something with the screen if it is made: else it reads for itself what that was about.
func (l *late[S]) ifMade(do func(S)) {
	if l.made {
		do(l.it)
	}
}

// open makes the screen, which is about to be shown.
func (l *late[S]) open() { l.get() }

// Content is where the screen stands, made or not.
func (l *late[S]) Content() fyne.CanvasObject { return l.place }

// Reload has the screen read anew what it shows, if it is made.
func (l *late[S]) Reload() { l.ifMade(S.Reload) }
