package window

import (
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
)

// look is how often the window looks whether the screen draws finer or coarser than before.
const look = 500 * time.Millisecond

// StaySharp has texts drawn anew whenever the screen draws them finer or coarser than before, until the window is closed. On
// Wayland the window learns only after it was drawn how fine its screen is, and again when it comes to another one; Fyne 2.8.1
// goes on with the texts it has, blurred, as it does nowhere else.
func (w *Window) StaySharp() {
	if !w.onWayland() {
		return
	}
	drawn := w.fineness()
	w.own.Start(func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.options.After(look):
			}
			w.own.Do(func() { drawn = w.sharpen(drawn) })
		}
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
