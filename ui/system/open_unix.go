//go:build !windows && !darwin

package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

func addressCommand(address string) []string { return []string{"xdg-open", address} }

func fileCommand(path string) []string { return []string{"xdg-open", path} }

// revealCommand opens the folder: file managers differ in how a file is marked, and none is sure to be there.
func revealCommand(path string) []string { return []string{"xdg-open", filepath.Dir(path)} }

func prepare(*exec.Cmd, []string) {}

// boxes are the programs that show one: that of GNOME and its like, and that of KDE. To zenity the text
// is no markup, but a backslash in it says what the next letter means.
func boxes(title, text string) [][]string {
	return [][]string{
		{"zenity", "--error", "--no-markup", "--width=480", "--title=" + title, "--text=" + strings.ReplaceAll(text, `\`, `\\`)},
		{"kdialog", "--title", title, "--error", text},
	}
}

// Alert shows a message in a box of the desktop's own, beside the program's window or without one, and reports whether anybody
// can have seen it. It returns when the person has read it, on Linux as soon as the box is there. The text is for people.
//
// The box is left to a program of its own, which outlives this one.
func Alert(title, text string) bool {
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
