package preview

import (
	"context"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

// TestMain is also the program of a Reader: the real one, and some that violate the protocol.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && programs[os.Args[1]] != nil {
		width, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = programs[os.Args[1]](width)
		}
		if err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var programs = map[string]func(width int) error{
	"read":  func(width int) error { return Serve(context.Background(), os.Stdin, os.Stdout, strconv.Itoa(width)) },
	"fails": func(int) error { return ErrTooLarge },
	// The following simulate a document that has taken over the process.
	"burns": confined(func() {
		for n := 0; ; n++ {
			_ = n
		}
	}),
	"eats": confined(func() {
		var all [][]byte
		for {
			b := make([]byte, 8<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
			_ = all
		}
	}),
	"hangs": confined(func() { time.Sleep(time.Hour) }),
	"floods": confined(func() {
		for {
			if _, err := os.Stdout.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}),
	"lies": confined(func() {
		_ = binary.Write(os.Stdout, binary.LittleEndian, reply{isRead, 1, 15000, 15000})
		time.Sleep(time.Hour)
	}),
	"opens": confined(func() {
		_, file := os.Open(os.Args[0])
		_, written := os.Create(os.Getenv("HOME") + "/stolen")
		_, started := os.StartProcess(os.Args[0], nil, &os.ProcAttr{})
		if file == nil || written == nil || started == nil {
			return // an empty answer is an error
		}
		_ = send(os.Stdout, reply{Verdict: isRead, Pages: 1}, nil)
	}),
	"tells": confined(func() { // reports as pages the number of variables that could be secret
		pages := 1
		for _, e := range os.Environ() {
			if name, _, _ := strings.Cut(e, "="); name != "HOME" && name != "XDG_CACHE_HOME" {
				pages++
			}
		}
		_ = send(os.Stdout, reply{Verdict: isRead, Pages: uint32(pages)}, nil)
	}),
}

// testCPU limits the hijacked programs.
const testCPU = time.Second

func confined(then func()) func(int) error {
	return func(int) error {
		if err := Confine(testMemory, testCPU); err != nil {
			return err
		}
		if _, err := os.Stdout.Write([]byte{isReady}); err != nil {
			return err
		}
		then()
		return nil
	}
}

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }
