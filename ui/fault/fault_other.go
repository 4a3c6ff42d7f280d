//go:build !windows || !cgo

package fault

import "os"

// Output is where Go is to write what it says of a fault: trace itself. Nobody is told here before the next start.
func Output(trace *os.File, tell []string) (say *os.File, over func(), err error) {
	return trace, func() {}, nil
}
