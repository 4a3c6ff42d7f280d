package system

import "os/exec"

// alertScript takes the texts as arguments: they are data, not script.
const alertScript = "on run argv\ndisplay alert (item 1 of argv) message (item 2 of argv) as critical\nend run"

func alert(title, text string) bool {
	return exec.Command("osascript", "-e", alertScript, title, text).Run() == nil
}
