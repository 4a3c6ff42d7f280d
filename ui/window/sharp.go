package window

import (
	"cmp"
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
)

// lookEvery is how often the window looks whether the screen draws finer or coarser than before.
const lookEvery = 500 * time.Millisecond

// staySharp has texts drawn anew whenever the screen draws them finer or coarser than before, until the window is hidden or
// closed. On Wayland the window learns only after it was drawn how fine its screen is, and again when it comes to another one;
// Fyne 2.8.1 goes on with the texts it has, blurred, as it does nowhere else.
func (w *Window) staySharp() {
	if w.sharpens || !w.onWayland() {
		return
	}
	w.sharpens, w.drawn = true, cmp.Or(w.drawn, w.fineness())
	w.lookAgain()
}

// lookAgain looks once more, and then again, unless the window is hidden by then: nobody sees it, and the program is to be idle.
func (w *Window) lookAgain() {
	passed := w.options.After(lookEvery)
	w.own.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
			return
		case <-passed:
		}
		w.own.Do(func() {
			if w.resting {
				w.sharpens = false
				return
			}
			w.drawn = w.sharpen(w.drawn)
			w.lookAgain()
		})
	})
}

func (w *Window) onWayland() (there bool) {
	if native, ok := w.window.(driver.NativeWindow); ok {
		native.RunNative(func(context any) { _, there = context.(driver.WaylandWindowContext) })
	}
	return there
}

// sharpen draws everything anew unless the screen is as fine as drawn, and returns how fine it is.
func (w *Window) sharpen(drawn int) int {
	now := w.fineness()
	if now != drawn {
		w.app.Settings().SetTheme(w.app.Settings().Theme()) // which drops what was drawn of texts
	}
	return now
}

// fineness is how many dots of the screen are in a thousand of the window's.
func (w *Window) fineness() int {
	dots, _ := w.window.Canvas().PixelCoordinateForPosition(fyne.NewPos(1000, 0))
	return dots
}
