package system

import (
	"context"
	"os/exec"
)

// putOnPasteboard is JavaScript for osascript(1), which gives the paths as its arguments.
const putOnPasteboard = `ObjC.import("AppKit");
function run(paths) {
  const board = $.NSPasteboard.generalPasteboard;
  board.clearContents;
  if (!board.writeObjects($(paths.map(p => $.NSURL.fileURLWithPath(p))))) throw new Error("refused");
}`

func copyFiles(ctx context.Context, paths []string) error {
	return exec.CommandContext(ctx, "osascript", append([]string{"-l", "JavaScript", "-e", putOnPasteboard}, paths...)...).Run()
}

// mailFiles hands files to Mail, which attaches them to a new mail; it takes neither addressees nor subject that way.
func mailFiles(m Mail) (ended <-chan error, err error) {
	return startFound("open", append([]string{"-a", "Mail"}, m.Files...)...)
}

// printFile prints on the usual printer (lp(1), of CUPS).
func printFile(path string) (ended <-chan error, err error) { return startFound("lp", path) }
