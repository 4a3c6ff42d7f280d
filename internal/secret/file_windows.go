package secret

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// openFile opens a file to read it, also one that is just being given its name.
func openFile(path string) (in *os.File, err error) {
	err = patiently(func() error {
		in, err = os.Open(path)
		return err
	})
	return in, err
}

// patiently tries for up to two seconds while another program, as a virus scanner, has the file open.
func patiently(do func() error) (err error) {
	const pause = 10 * time.Millisecond
	for range 2 * time.Second / pause {
		if err = do(); !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			break
		}
		time.Sleep(pause)
	}
	return err
}
