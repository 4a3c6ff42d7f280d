// Package system reaches outside the program for the window: it opens addresses, files and folders with what the
// person uses for them, and finds out whether there is a display and a tray. Arguments never go through a shell. It
// knows nothing of Fyne or of the office.
package system

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Opener opens things with the system's own programs. The zero value is ready; its methods may be called from any
// goroutine and do not wait for the program they start.
type Opener struct{}

// OpenAddress shows a web address in the browser. Only https and http are opened: the address may come from outside,
// and a file: or program address is not for us to start.
func (Opener) OpenAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("this is not a web address that can be opened")
	}
	return start("the browser", addressCommand(u.String()))
}

// OpenFile opens a saved document or a folder.
func (Opener) OpenFile(path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return start(fmt.Sprintf("%q", filepath.Base(path)), fileCommand(path))
}

// ShowInFolder opens the folder of a file, with the file marked where the system can do that.
func (Opener) ShowInFolder(path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return start(fmt.Sprintf("the folder of %q", filepath.Base(path)), revealCommand(path))
}

// Exists says whether a file is still there. One that is out of reach, on a drive that is not connected for example,
// is not taken for lost.
func (Opener) Exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err)
}

// existing makes path absolute, so that it cannot be read as an option, and checks that something is there.
func existing(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %q: %w", path, err)
	}
	if _, err := os.Stat(abs); err != nil {
		return "", fmt.Errorf("%q is no longer where it was saved (%s)", filepath.Base(abs), filepath.Dir(abs))
	}
	return abs, nil
}

// start runs a command beside us and collects it when it ends, so that no dead process stays behind.
func start(what string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	prepare(cmd, command)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s could not be opened: this computer has no program for it", what)
	}
	go func() {
		if err := cmd.Wait(); err != nil && !strings.Contains(command[0], "explorer") { // explorer exits with 1 when all is well
			slog.Warn("an opener ended with an error", "opener", filepath.Base(command[0]), "err", err)
		}
	}()
	return nil
}
