package preview

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestABombEndsInItsProcessAndCostsTheProgramNothing(t *testing.T) {
	skipWithRaceDetector(t)
	for name, body := range bombs() {
		t.Run(name, func(t *testing.T) {
			path := put(t, body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := reader("read")
			r.ended = func(p *os.ProcessState) {
				t.Logf("%d bytes: %d MB, %v", len(body), peak(p)>>20, p.UserTime()+p.SystemTime())
				if peak(p) > maxMemory || p.UserTime()+p.SystemTime() > 2*maxCPU {
					t.Error("that is too much")
				}
			}
			began := time.Now()
			img, err := r.FirstPage(t.Context(), path, 90)
			switch {
			case err != nil && !errors.Is(err, ErrUnreadable):
				t.Error(err)
			case err == nil && (img.Bounds().Dx() > 90 || img.Bounds().Dy() > 90*maxTall):
				t.Errorf("a picture of %v", img.Bounds())
			}
			t.Logf("picture: %v, after %v", err, time.Since(began))
			runtime.ReadMemStats(&after)
			if more := after.TotalAlloc - before.TotalAlloc; more > 4<<20 {
				t.Errorf("it cost the program %d MB", more>>20)
			}
		})
	}
}
