package system

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/ncruces/zenity"
)

func addressCommand(address string) []string { return []string{"open", address} }

func fileCommand(path string) []string { return []string{"open", path} }

func revealCommand(path string) []string { return []string{"open", "-R", path} }

func prepare(*exec.Cmd, []string) {}

// alertScript takes the texts as arguments, so they are data, not script.
const alertScript = "on run argv\ndisplay alert (item 1 of argv) message (item 2 of argv) as critical\nend run"

// Alert shows a message box of the desktop, with or without a window of ours, and reports whether anybody can have seen it. It
// returns when the person has read it; on Linux, as soon as the box is open. The text is for people.
func Alert(title, text string) bool {
	return exec.Command("osascript", "-e", alertScript, title, text).Run() == nil
}

// putOnPasteboard is JavaScript for osascript(1), which gets the paths as arguments.
const putOnPasteboard = `ObjC.import("AppKit");
function run(paths) {
  const board = $.NSPasteboard.generalPasteboard;
  board.clearContents;
  if (!board.writeObjects($(paths.map(p => $.NSURL.fileURLWithPath(p))))) throw new Error("refused");
}`

func copyFiles(ctx context.Context, paths []string) error {
	return exec.CommandContext(ctx, "osascript", append([]string{"-l", "JavaScript", "-e", putOnPasteboard}, paths...)...).Run()
}

// mailFiles passes files to Mail, which attaches them to a new mail; that way it accepts neither addresses nor a subject.
func mailFiles(m Mail) (ended <-chan error, err error) {
	return startFound("open", append([]string{"-a", "Mail"}, m.Files...)...)
}

// printFile prints on the default printer (lp(1) of CUPS).
func printFile(path string) (ended <-chan error, err error) { return startFound("lp", path) }

// readAccessibility asks macOS: "Increase contrast" and "Reduce motion" in System Settings, Accessibility, Display. macOS has no
// text size for all programs.
func readAccessibility(ctx context.Context) (Accessibility, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	is := func(key string) bool {
		said, err := exec.CommandContext(ctx, "/usr/bin/defaults", "read", "com.apple.universalaccess", key).Output()
		return err == nil && strings.TrimSpace(string(said)) == "1"
	}
	c := Accessibility{Contrast: is("increaseContrast"), ReducedMotion: is("reduceMotion")}
	return c, ctx.Err()
}

// onDialogThread runs show with options that end its dialog, a process, with ctx.
func onDialogThread(ctx context.Context, show func(...zenity.Option)) { show(zenity.Context(ctx)) }
