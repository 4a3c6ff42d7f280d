package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
)

// press counts and joins the pages of uploaded documents. A small file can cost the PDF library gigabytes or hours, so
// another process does it where Options.Press names a program for that: when it is killed or crashes, the document counts
// as one that cannot be read.
type press struct{ program []string }

// pressPatience is how long one document may take.
const pressPatience = 30 * time.Second

// errNotPressed means that a document cannot be read.
var errNotPressed = errors.New("the PDF library gave up")

// What Press answers first.
const (
	pressed = iota
	notPressed
	protected
)

// pages counts the pages of a document. It fails with pdfcpu.ErrWrongPassword for one that is locked.
func (p press) pages(document []byte) (int, error) {
	answer, err := p.ask(document)
	if err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(answer)
	if size <= 0 || n > 1<<31-1 {
		return 0, errNotPressed
	}
	return int(n), nil
}

// join makes one PDF of several.
func (p press) join(parts ...[]byte) ([]byte, error) { return p.ask(parts...) }

// ask has one document counted, or several joined.
func (p press) ask(documents ...[]byte) ([]byte, error) {
	var request, answer bytes.Buffer
	for _, d := range documents {
		request.Write(binary.BigEndian.AppendUint64(nil, uint64(len(d))))
		request.Write(d)
	}
	if len(p.program) == 0 {
		if err := Press(&request, &answer); err != nil {
			return nil, err
		}
		return understood(answer.Bytes())
	}
	ctx, cancel := context.WithTimeout(context.Background(), pressPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program[0], p.program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Env = &request, &answer, []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotPressed, err)
	}
	return understood(answer.Bytes())
}

func understood(answer []byte) ([]byte, error) {
	switch {
	case len(answer) > 0 && answer[0] == pressed:
		return answer[1:], nil
	case len(answer) > 0 && answer[0] == protected:
		return nil, pdfcpu.ErrWrongPassword
	}
	return nil, errNotPressed
}

// Press is what the program of Options.Press does. It reads documents, each after its length as eight bytes. For one it
// answers how many pages it has, for several with one PDF of all. Its caller bounds the process before.
func Press(in io.Reader, out io.Writer) error {
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
	if len(documents) == 1 {
		made, err = count(documents[0])
	} else {
		made, err = join(documents)
	}
	verdict := byte(pressed)
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		verdict, made = protected, nil
	case err != nil:
		verdict, made = notPressed, nil
	}
	_, err = out.Write(append([]byte{verdict}, made...))
	return err
}

func count(document []byte) (answer []byte, err error) {
	err = guarded(func() error {
		pages, err := api.PageCount(bytes.NewReader(document), pdfConfig())
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
	err := guarded(func() error { return api.MergeRaw(readers, &out, false, pdfConfig()) })
	return out.Bytes(), err
}

// guarded turns a panic of the PDF library over a strange file into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errNotPressed, p)
		}
	}()
	return fn()
}
