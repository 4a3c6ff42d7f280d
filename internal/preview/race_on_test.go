//go:build race

package preview

// The race detector needs several times the program's memory, which would be counted.
const (
	raceDetector = true
	testMemory   = 16 << 30
)
