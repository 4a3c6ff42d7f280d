//go:build !windows && !darwin

package system

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// boxes are the programs that show one: that of GNOME and its like, and that of KDE. To zenity the text
// is no markup, but a backslash in it says what the next letter means.
func boxes(title, text string) [][]string {
	return [][]string{
		{"zenity", "--error", "--no-markup", "--width=480", "--title=" + title, "--text=" + strings.ReplaceAll(text, `\`, `\\`)},
		{"kdialog", "--title", title, "--error", text},
	}
}

// alert leaves the box to a program of its own, which outlives this one.
func alert(title, text string) bool {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	for _, box := range boxes(title, text) {
		cmd := exec.Command(box[0], box[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() == nil {
			go cmd.Wait() // a box that was read is no more, also while this program goes on
			return true
		}
	}
	return false
}
