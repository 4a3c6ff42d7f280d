//go:build linux

package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Trial does something on a new disk, again and again, and looks at what is found after the power failed: at each of the
// first Steps requests to the disk that change something, and as soon as it was done. Every second time it is killed first, at
// some point, and done once more from the beginning.
//
// None of the functions may map files into memory.
type Trial struct {
	Steps  int
	Before func(home string) error // what is there and flushed, nil for nothing
	Do     func(home string) error // its error fails the test where nothing interrupts it
	Look   func(t *testing.T, found Found)
}

// Found is what a trial finds after a power cut.
type Found struct {
	Home  string            // a folder that was there before; the disk is mounted, with power
	Files map[string][]byte // what is in it
	Done  bool              // Do had ended without an error
}

// Run makes the trial. Where nothing can be mounted the test is skipped, and says so.
func (x Trial) Run(t *testing.T) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skipf("NOT RUN: the power cannot fail, for %v", err)
	}
	for seed := range uint64(40 + 2*x.Steps) {
		if x.once(t, seed); t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func (x Trial) once(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	d, dir := New(), placeFor(t)
	must(t, d.Mount(dir))
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o755))
	if x.Before != nil {
		must(t, x.Before(home))
	}
	d.Flush()
	if seed%2 == 1 {
		d.interrupt(1+random.IntN(x.Steps), func() error { return x.Do(home) })
		must(t, d.Resume())
	}
	err, interrupted := d.interrupt(1+int(seed)%(x.Steps+x.Steps/2), func() error { return x.Do(home) })
	if !interrupted && err != nil {
		t.Errorf("without a power cut: %v", err)
	}
	must(t, d.Restore(random))
	x.Look(t, Found{Home: home, Files: d.Files("home"), Done: err == nil})
	must(t, d.Unmount())
}

// placeFor is a folder to mount a disk at: in memory, if possible, for whoever makes sure of the way to his files flushes the
// folders above it, too.
func placeFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "powercut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

// interrupt does something and has the power go out before the nth request on the way, or afterwards.
func (d *Disk) interrupt(n int, do func() error) (err error, interrupted bool) {
	out := d.CutAfter(n)
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err = <-ended:
	case <-out:
		d.LetGo()
		err, interrupted = <-ended, true
	}
	d.Cut()
	return err, interrupted
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
