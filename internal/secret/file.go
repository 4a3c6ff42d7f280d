package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/private"
)

// maxKeyFile is more than the text of any key, in bytes.
const maxKeyFile = 4096

// File returns a Keeper that keeps the key as base64 text in a file private to this user, for servers without a keyring. It
// rejects a file that other users can read, by its mode or its access list; a file with other contents makes the key
// unavailable and is never replaced. It also reads hex. It writes the file atomically.
func File(path string) Keeper { return &file{path: path} }

type file struct{ path string }

// credentials is the folder in which systemd passes credentials to a service, and to nobody else: the group bits of their
// mode only show the mask of an access list (systemd.exec(5)). It is empty for any other program.
func credentials() string { return os.Getenv("CREDENTIALS_DIRECTORY") }

// Credential is the credential of that name that systemd passed to this service, without surrounding space.
func Credential(name string) (string, bool) {
	if credentials() == "" {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(credentials(), name))
	return strings.TrimSpace(string(text)), err == nil
}

func (f *file) unavailable(reason Reason, err error) error {
	return &UnavailableError{Reason: reason, Path: f.path, err: err}
}

func (f *file) Load(context.Context) (Key, error) {
	in, _, err := disk.OpenFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.absent()
	case errors.Is(err, disk.ErrNotFile):
		return Key{}, f.unavailable(Malformed, err)
	case err != nil:
		return Key{}, f.unavailable(Unreadable, err)
	}
	defer in.Close()
	switch err := private.OpenToOthers(in); {
	case errors.Is(err, private.ErrOpen) && filepath.Dir(f.path) != credentials():
		return Key{}, f.unavailable(TooOpen, err)
	case err != nil && !errors.Is(err, private.ErrOpen):
		return Key{}, f.unavailable(Unreadable, err)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
	if err != nil {
		return Key{}, f.unavailable(Unreadable, err)
	}
	k, err := parseKey(string(text))
	if err != nil {
		return Key{}, f.unavailable(Malformed, err)
	}
	if err := disk.Anchor(f.path); err != nil { // what is sealed with the key must not outlive it
		return Key{}, f.unavailable(Unreadable, err)
	}
	return k, nil
}

// absent distinguishes a missing file from a broken link: behind that there may be a key on a disk that is not mounted.
func (f *file) absent() (Key, error) {
	if target, err := os.Readlink(f.path); err == nil {
		return Key{}, f.unavailable(Unreadable, fmt.Errorf("it is a link to %s, where nothing is", target))
	}
	return Key{}, ErrAbsent
}

func (f *file) Create(ctx context.Context) (Key, error) {
	write := func(k Key) error {
		err := f.write(k)
		switch {
		case errors.Is(err, fs.ErrExist):
			return ErrPresent // another process created it first
		case err != nil:
			return f.unavailable(Unreadable, err)
		}
		return nil
	}
	return createWith(func() (Key, error) { return f.Load(ctx) }, write, func(why Reason) error { return f.unavailable(why, nil) })
}

// write stores the key, unless the file exists.
func (f *file) write(k Key) error {
	if err := disk.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return private.WriteFile(f.path, disk.Create, private.From(strings.NewReader(k.text()+"\n")))
}
