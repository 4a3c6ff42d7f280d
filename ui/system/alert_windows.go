package system

import "golang.org/x/sys/windows"

// Alert shows a message when the window cannot: a program without a console has no other voice on Windows.
func Alert(title, text string) {
	t, errTitle := windows.UTF16PtrFromString(title)
	m, errText := windows.UTF16PtrFromString(text)
	if errTitle != nil || errText != nil {
		return
	}
	_, _ = windows.MessageBox(0, m, t, windows.MB_OK|windows.MB_ICONERROR) // nothing is left to do when even this fails
}
