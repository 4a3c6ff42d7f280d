//go:build race

package preview

// The race detector takes several times the memory of the program, which would be counted.
const (
	raceDetector = true
	testMemory   = 16 << 30
)
