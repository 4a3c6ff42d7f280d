// Package system reaches outside the program for the window: it opens addresses, files and folders with what the
// person uses for them, and finds out whether there is a display and a tray. Arguments never go through a shell. It
// knows nothing of Fyne or of the office.
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

// Opener opens things with the system's own programs. The zero value is ready; its methods may be called from any
// goroutine.
type Opener struct {
	// Patience is how long a program may take to find a browser, 8 s when it is 0, and a portal to take a request, then 5 s.
	// An opener that takes longer has become the browser itself, or hangs.
	Patience time.Duration

	now func() time.Time // time.Now when it is nil

	// Token lets what is opened come to the front, for a press outside our windows: the desktop's activation token (XDG
	// Activation, Startup Notification). Empty for none.
	Token string
}

// What people read when no browser shows an address, which they copy then, and when no window can be shown on this computer.
var (
	ErrNoDisplay = message.Error(message.NoDisplay(), nil)
	ErrNoBrowser = message.Error(message.NoBrowser(), nil)
)

// OpenAddress shows a web address in the browser, or a letter to write in the mail program (mailto:). Others are not
// opened: the address may come from outside, and a file: or program address is not for us to start. It waits for the opener
// to end, until ctx does or for some seconds, after which it has become the browser: ErrNoBrowser when it found none.
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

// OpenFile opens a file or a folder with the program meant for it. That there is none may show some seconds later.
func (o Opener) OpenFile(ctx context.Context, path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return o.begin(ctx, message.NoProgram(filepath.Base(path)), fileCommand(path))
}

// ShowInFolder opens the folder of a file, with the file marked where the system can do that.
func (o Opener) ShowInFolder(ctx context.Context, path string) error {
	path, err := existing(path)
	if err != nil {
		return err
	}
	return o.begin(ctx, message.NoProgramForFolder(filepath.Base(path)), revealCommand(path))
}

// OpenSaved opens a saved document, or shows it in its folder, for whoever pressed on a notification. token is what the
// desktop gave with the press, so that the program which opens it may come to the front; it may be empty.
func OpenSaved(path string, inFolder bool, token string) error {
	o := Opener{Token: token, Patience: time.Second} // the next press waits behind this one
	if inFolder {
		return o.ShowInFolder(context.Background(), path)
	}
	return o.OpenFile(context.Background(), path)
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
		return "", message.Error(message.FileMoved(filepath.Base(abs), filepath.Dir(abs)), err)
	}
	return abs, nil
}

// begin opens something, and waits for a moment whether that fails. failed is for people.
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

// start runs a command beside us and collects it when it ends, so that no dead process stays behind; ended then tells how.
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
		if strings.Contains(command[0], "explorer") { // which exits with 1 when all is well
			err = nil
		}
		if err != nil {
			slog.Warn("an opener ended with an error", "opener", filepath.Base(command[0]), "err", err)
		}
		end <- err
	}()
	return end, nil
}

// Accessibility is how the system is set for people who see little, or whom motion disturbs. The zero value asks for nothing.
type Accessibility struct {
	Contrast      bool // high contrast
	Text          int  // size in percent, 100 to 200; 0 where the system does not say
	ReducedMotion bool // nothing moves that does not have to
}

// ReadAccessibility asks the system. It may take two seconds; what the system does not say stays zero. An error means that it does
// not answer now, and says nothing of how it is set.
func ReadAccessibility(ctx context.Context) (Accessibility, error) {
	a, err := readAccessibility(ctx)
	if a.Text > 0 { // the window is made for sizes between these
		a.Text = min(max(a.Text, 100), 200)
	}
	return a, err
}

// WriteFile makes a file for its owner alone, whole or not at all: until fill has written its content, it is a hidden one beside its
// path, and what is there stays as it is. It takes the place of another one only with replace, else it fails with fs.ErrExist.
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
