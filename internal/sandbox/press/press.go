// Package press reads and joins documents uploaded to the embedded service, and reserves space in them for its seal.
//
// It promises that no document can crash the service: a small file can cost the PDF library gigabytes or hours, so another
// process does the work if a program is configured. If that process is killed or crashes, the document counts as unreadable.
//
// It must not know what the documents are for.
package press

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// Press counts and joins pages, and reserves space for seals. The zero value does so in this process.
type Press struct {
	Program []string // with its first arguments; it must call Serve in a restricted process
}

// patience is how long one document may take.
const patience = 30 * time.Second

var (
	// ErrProtected means that a document needs a password.
	ErrProtected = errors.New("the document is protected by a password")
	// ErrUnreadable means that a document cannot be read.
	ErrUnreadable = errors.New("the PDF library gave up")
)

// The requests to Serve, as the first byte.
const (
	toCount = iota
	toJoin
	toSeal
)

// The results of Serve, as the first byte.
const (
	read = iota
	unreadable
	protected
)

// Pages counts the pages of a document.
func (p Press) Pages(document []byte) (int, error) {
	answer, err := p.ask(toCount, document)
	if err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(answer)
	if size <= 0 || n > 1<<31-1 {
		return 0, ErrUnreadable
	}
	return int(n), nil
}

// Join combines several PDFs into one.
func (p Press) Join(parts ...[]byte) ([]byte, error) { return p.ask(toJoin, parts...) }

// Prepare adds an empty seal to a document, as prepare does.
func (p Press) Prepare(document []byte, at time.Time) ([]byte, error) {
	return p.ask(toSeal, document, []byte(at.UTC().Format(time.RFC3339)))
}

// ask sends a request about documents to Serve.
func (p Press) ask(what byte, documents ...[]byte) ([]byte, error) {
	var request, answer bytes.Buffer
	request.WriteByte(what)
	for _, d := range documents {
		request.Write(binary.BigEndian.AppendUint64(nil, uint64(len(d))))
		request.Write(d)
	}
	if len(p.Program) == 0 {
		if err := Serve(&request, &answer); err != nil {
			return nil, err
		}
		return understood(answer.Bytes())
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Program[0], p.Program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Env = &request, &answer, []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return understood(answer.Bytes())
}

func understood(answer []byte) ([]byte, error) {
	switch {
	case len(answer) > 0 && answer[0] == read:
		return answer[1:], nil
	case len(answer) > 0 && answer[0] == protected:
		return nil, ErrProtected
	}
	return nil, ErrUnreadable
}

// Serve is the main function of a Program. It reads a request and then documents, each preceded by its length in eight
// bytes. The caller restricts the process before.
func Serve(in io.Reader, out io.Writer) error {
	var what [1]byte
	if _, err := io.ReadFull(in, what[:]); err != nil {
		return err
	}
	var documents [][]byte
	for {
		var length uint64
		err := binary.Read(in, binary.BigEndian, &length)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		document, err := io.ReadAll(io.LimitReader(in, int64(min(length, 1<<40))))
		if err != nil {
			return err
		}
		documents = append(documents, document)
	}
	var made []byte
	var err error
	switch {
	case what[0] == toCount && len(documents) == 1:
		made, err = count(documents[0])
	case what[0] == toJoin:
		made, err = join(documents)
	case what[0] == toSeal && len(documents) == 2:
		made, err = seal(documents[0], string(documents[1]))
	default:
		err = ErrUnreadable
	}
	verdict := byte(read)
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		verdict, made = protected, nil
	case err != nil:
		verdict, made = unreadable, nil
	}
	_, err = out.Write(append([]byte{verdict}, made...))
	return err
}

func count(document []byte) (answer []byte, err error) {
	err = guarded(func() error {
		pages, err := api.PageCount(bytes.NewReader(document), config())
		answer = binary.AppendUvarint(nil, uint64(max(pages, 0)))
		return err
	})
	return answer, err
}

func join(parts [][]byte) ([]byte, error) {
	readers := make([]io.ReadSeeker, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	var out bytes.Buffer
	err := guarded(func() error { return api.MergeRaw(readers, &out, false, config()) })
	return out.Bytes(), err
}

func seal(document []byte, at string) (sealed []byte, err error) {
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return nil, err
	}
	err = guarded(func() error {
		sealed, err = prepare(document, when)
		return err
	})
	return sealed, err
}

// guarded turns a panic of the PDF library into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrUnreadable, p)
		}
	}()
	return fn()
}

var noConfigDir = sync.OnceFunc(api.DisableConfigDir)

// config avoids the user's own configuration folder and is as lenient as real programs require.
func config() *model.Configuration {
	noConfigDir()
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	c.Optimize = false
	c.OptimizeBeforeWriting = false
	return c
}
