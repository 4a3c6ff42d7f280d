// Package system reaches outside the program for the window: it opens addresses, files and folders with the person's default
// programs, and finds out whether there is a display and a tray. Arguments never go through a shell. It knows nothing of Fyne or of
// the office.
package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/disk"
	"countersign/internal/message"
)

// Opener opens things with the system's own programs. The zero value is ready; its methods may be called from any goroutine.
type Opener struct {
	// Patience is how long a program may take to find a browser (8 s if zero), and a portal to accept a request (5 s if zero). An
	// opener that takes longer has become the browser itself, or hangs.
	Patience time.Duration

	now func() time.Time // time.Now if nil

	// Token lets what is opened come to the front after a press outside our windows: the desktop's activation token (XDG Activation,
	// Startup Notification). Empty for none.
	Token string
}

// Messages for people: no browser shows an address, which they then copy; no window can be shown on this computer.
var (
	ErrNoDisplay = message.Error(message.NoDisplay(), nil)
	ErrNoBrowser = message.Error(message.NoBrowser(), nil)
)

// OpenAddress shows a web address in the browser, or a mailto: address in the mail program. It opens no others: the address may come
// from outside, and must not start a file: or program address. It waits until the opener ends, ctx ends, or some seconds have
// passed, after which the opener has become the browser. It returns ErrNoBrowser if the opener found none.
func (o Opener) OpenAddress(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	web := err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
	letter := err == nil && u.Scheme == "mailto"
	if !web && !letter {
		return message.Error(message.NotAWebAddress(), nil)
	}
	ended, err := start(addressCommand(u.String()), o.Token)
	if err != nil {
		return ErrNoBrowser
	}
	late, err := o.outcome(ctx, ended)
	if err != nil && !late {
		return ErrNoBrowser
	}
	return err
}

// OpenFile opens a file or folder with its default program. That there is none may be reported only after some seconds.
func (o Opener) OpenFile(ctx context.Context, path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return o.begin(ctx, message.NoProgram(filepath.Base(path)), fileCommand(path))
}

// ShowInFolder opens a file's folder, with the file selected if the system supports that.
func (o Opener) ShowInFolder(ctx context.Context, path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return o.begin(ctx, message.NoProgramForFolder(filepath.Base(path)), revealCommand(path))
}

// OpenSaved opens a saved document, or shows it in its folder, after a press on a notification. token is what the desktop supplied
// with the press, so that the opened program may come to the front; it may be empty.
func OpenSaved(path string, inFolder bool, token string) error {
	o := Opener{Token: token, Patience: time.Second} // the next press has to wait for this one
	if inFolder {
		return o.ShowInFolder(context.Background(), path)
	}
	return o.OpenFile(context.Background(), path)
}

// Exists reports whether a file still exists. One that is out of reach, for example on a disconnected drive, is not considered lost.
func (Opener) Exists(path string) bool {
	_, err := disk.Stat(filepath.Dir(path)) // asked once for all files there
	if err == nil {
		_, err = disk.Stat(path)
	}
	return !os.IsNotExist(err)
}

// existing makes path absolute, so that it cannot be read as an option, and checks that it exists.
func existing(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %q: %w", path, err)
	}
	if _, err := disk.Stat(abs); err != nil {
		return "", message.Error(message.FileMoved(filepath.Base(abs), filepath.Dir(abs)), err)
	}
	return abs, nil
}

// begin starts a command and waits briefly for a failure. failed is for people.
func (o Opener) begin(ctx context.Context, failed message.Message, command []string) error {
	ended, err := start(command, o.Token)
	if err == nil {
		_, err = o.outcome(ctx, ended)
	}
	if err != nil && ctx.Err() == nil {
		return message.Error(failed, err)
	}
	return err
}

// start runs a command in the background and reaps it, so that no zombie stays; ended then gets the result.
func start(command []string, token string) (ended <-chan error, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	prepare(cmd, command)
	if token != "" {
		cmd.Env = append(os.Environ(), "XDG_ACTIVATION_TOKEN="+token, "DESKTOP_STARTUP_ID="+token)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if strings.Contains(command[0], "explorer") { // it exits with 1 even on success
			err = nil
		}
		if err != nil {
			slog.Warn("an opener ended with an error", "opener", filepath.Base(command[0]), "err", err)
		}
		end <- err
	}()
	return end, nil
}

// Accessibility is the system's settings for people with low vision, or whom motion disturbs. The zero value asks for nothing.
type Accessibility struct {
	Contrast      bool // high contrast
	Text          int  // text size in percent, 100 to 200; 0 if unknown
	ReducedMotion bool // no unnecessary motion
}

// ReadAccessibility reads them from the system. It may take two seconds; unknown values stay zero. An error means that the system
// does not answer now, not that it has no such settings.
func ReadAccessibility(ctx context.Context) (Accessibility, error) {
	a, err := readAccessibility(ctx)
	if a.Text > 0 { // the window is designed for sizes within these limits
		a.Text = min(max(a.Text, 100), 200)
	}
	return a, err
}

// WriteFile atomically creates a file for its owner alone: until fill has written the content, it is a hidden file beside path, and
// an existing file stays as it is. It replaces an existing file only with replace, and otherwise fails with fs.ErrExist.
func WriteFile(path string, replace bool, fill func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".countersign-*")
	if err != nil {
		return err
	}
	if err := fill(temp); err != nil {
		return errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	return disk.CreateOr(replace)(temp, path)
}
