//go:build !race

package preview

const (
	raceDetector = false
	testMemory   = 256 << 20 // of a program that was taken over
)
