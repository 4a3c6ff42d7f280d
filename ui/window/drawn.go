package window

import "fyne.io/fyne/v2/driver"

// Drawn says whether the window, which was shown, is there. Fyne 2.8.1 tells nobody when it could not make it, for lack of
// OpenGL, and ends the program with the next one.
func (w *Window) Drawn() bool {
	native, ok := w.window.(driver.NativeWindow)
	if !ok {
		return true
	}
	there := true
	native.RunNative(func(context any) {
		switch c := context.(type) {
		case driver.WindowsWindowContext:
			there = c.HWND != 0
		case driver.X11WindowContext:
			there = c.WindowHandle != 0
		case driver.WaylandWindowContext:
			there = c.WaylandSurface != 0
		case driver.MacWindowContext:
			there = c.NSWindow != 0
		}
	})
	return there
}
