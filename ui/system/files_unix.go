//go:build !windows && !darwin

package system

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// What the programs of a desktop take files on the clipboard for: file managers the first two, mail programs and others
// the second, and whatever takes texts the last.
const (
	copiedFiles = "x-special/gnome-copied-files"
	uriList     = "text/uri-list"
	plainText   = "UTF8_STRING"
)

// copyFiles offers files to whoever pastes. Under Wayland only a window with the focus may, or wl-copy, which offers them as a
// list alone; there and under X11 it is we who answer, as long as the program runs.
func copyFiles(ctx context.Context, paths []string) error {
	offer := offered(paths)
	if os.Getenv("WAYLAND_DISPLAY") != "" {
		if tool, err := exec.LookPath("wl-copy"); err == nil {
			cmd := exec.CommandContext(ctx, tool, "--type", uriList)
			cmd.Stdin = bytes.NewReader(offer[uriList])
			return cmd.Run()
		}
	}
	if os.Getenv("DISPLAY") == "" {
		return errors.New("there is no wl-copy and no X11 display")
	}
	return ownClipboard(offer)
}

// offered are the files in each of those forms.
func offered(paths []string) map[string][]byte {
	var addresses []string
	for _, path := range paths {
		addresses = append(addresses, (&url.URL{Scheme: "file", Path: path}).String())
	}
	return map[string][]byte{
		copiedFiles: []byte("copy\n" + strings.Join(addresses, "\n")),
		uriList:     []byte(strings.Join(addresses, "\r\n") + "\r\n"),
		plainText:   []byte(strings.Join(paths, "\n")),
	}
}

// mailFiles hands files to the mail program (xdg-email(1)).
func mailFiles(m Mail) (ended <-chan error, err error) {
	arguments := []string{"--subject", m.Subject}
	for _, path := range m.Files {
		arguments = append(arguments, "--attach", path)
	}
	return startFound("xdg-email", append(arguments, m.To...)...)
}

// printFile prints on the usual printer (lp(1), of CUPS).
func printFile(path string) (ended <-chan error, err error) { return startFound("lp", path) }
