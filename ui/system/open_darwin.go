package system

import "os/exec"

func addressCommand(address string) []string { return []string{"open", address} }

func fileCommand(path string) []string { return []string{"open", path} }

func revealCommand(path string) []string { return []string{"open", "-R", path} }

func prepare(*exec.Cmd, []string) {}

// alertScript takes the texts as arguments: they are data, not script.
const alertScript = "on run argv\ndisplay alert (item 1 of argv) message (item 2 of argv) as critical\nend run"

// Alert shows a message in a box of the desktop's own, beside the program's window or without one, and reports whether anybody
// can have seen it. It returns when the person has read it, on Linux as soon as the box is there. The text is for people.
func Alert(title, text string) bool {
	return exec.Command("osascript", "-e", alertScript, title, text).Run() == nil
}
