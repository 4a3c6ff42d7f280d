package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"countersign/internal/message"
	"countersign/internal/private"
)

// silence is how long a server may say nothing in the middle of a file.
const silence = time.Minute

// Download fetches a file of the release into folder, which is made anew, beside what else is kept, and holds nothing else
// afterwards. A program takes libraries from the folder it is started from, so one that others can write to is refused. Progress,
// which may be nil, is told how many bytes are there. What is not whole is removed.
func (u *Client) Download(ctx context.Context, f File, folder string, progress func(got int64)) (path string, err error) {
	if err := Clear(folder); err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Clear(folder))
		}
	}()
	switch err := private.NewFolder(folder); {
	case errors.Is(err, private.ErrStaysOpen), errors.Is(err, fs.ErrExist): // somebody was quicker
		return "", message.Error(message.UpdateNotPrivate(), err)
	case err != nil:
		return "", message.Error(message.UpdateNotKept(), err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(silence, func() { stop(errors.New("the server fell silent")) })
	defer watch.Stop()
	body, err := u.open(ctx, u.address.ResolveReference(&url.URL{Path: f.Name}))
	if err != nil {
		return "", err
	}
	defer body.Close()
	path = filepath.Join(folder, f.Name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", message.Error(message.UpdateNotKept(), err)
	}
	read := &counted{from: body, tell: func(got int64) {
		watch.Reset(silence)
		if progress != nil {
			progress(min(got, f.Size))
		}
	}}
	_, errCopy := io.Copy(file, io.LimitReader(read, f.Size+1))
	errClose := file.Close()
	switch {
	case read.err != nil:
		return "", unreachable(errors.Join(read.err, context.Cause(ctx)))
	case errCopy != nil, errClose != nil:
		return "", message.Error(message.UpdateNotKept(), errors.Join(errCopy, errClose))
	}
	return path, Verify(path, f)
}

// Verify reports whether the file at path is the one that the manifest names: by length and SHA-256.
func Verify(path string, f File) error {
	file, err := Hold(path, f)
	if err != nil {
		return err
	}
	return file.Close()
}

// Hold opens the file at path when it is the one that the manifest names. On Windows nobody can change, rename or remove it until
// it is closed, and Windows moves no folder in which a file is open.
func Hold(path string, f File) (*os.File, error) {
	file, err := hold(path)
	if err != nil {
		return nil, message.Error(message.UpdateDamaged(), fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, f.Size+1))
	want, errWant := hex.DecodeString(f.SHA256)
	if err != nil || errWant != nil || n != f.Size || !bytes.Equal(sum.Sum(nil), want) {
		file.Close()
		return nil, message.Error(message.UpdateDamaged(), errors.Join(ErrDamaged, err))
	}
	return file, nil
}

// Clear removes what was fetched into folder, and folder. What another program still holds, such as an installer that has
// just started this one, is an error.
func Clear(folder string) error { return os.RemoveAll(folder) }

// counted tells how much was read, and keeps why reading ended.
type counted struct {
	from io.Reader
	tell func(got int64)
	got  int64
	err  error // but io.EOF
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.from.Read(p)
	if c.got += int64(n); n > 0 {
		c.tell(c.got)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
