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

// maxKeyFile is more than any text of a key, in bytes.
const maxKeyFile = 4096

// File returns a Keeper that keeps the key as base64 text in a file that is this user's alone, for servers without a
// keyring. A file that other users can read, by its mode or its access list, is refused; a file that holds something else
// is unavailable and never replaced. Hex is read too. The file is written whole or not at all.
func File(path string) Keeper { return &file{path: path} }

type file struct{ path string }

// credentials is the folder in which systemd hands credentials to a service, and to nobody else: their mode shows the mask of an access
// list (systemd.exec(5)). It is empty in any other program.
func credentials() string { return os.Getenv("CREDENTIALS_DIRECTORY") }

// Credential is what systemd hands to this service under a name, without the space around it.
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
	if err := disk.Anchor(f.path); err != nil { // what is sealed with it must not outlive it
		return Key{}, f.unavailable(Unreadable, err)
	}
	return k, nil
}

// absent tells a file that is not there from a link that leads nowhere: behind that there may be a key on a disk that
// is not mounted.
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
			return ErrPresent // somebody was quicker
		case err != nil:
			return f.unavailable(Unreadable, err)
		}
		return nil
	}
	return createWith(func() (Key, error) { return f.Load(ctx) }, write, func(why Reason) error { return f.unavailable(why, nil) })
}

// write brings the key to disk, unless the name is taken.
func (f *file) write(k Key) error {
	if err := disk.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return private.WriteFile(f.path, disk.Create, private.From(strings.NewReader(k.text()+"\n")))
}
