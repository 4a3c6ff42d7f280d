package sim

import "testing"

// regressions are lives that broke a promise once. When a run finds another one, it prints the entry to be pasted here; its
// first line says which promise.
var regressions = []struct {
	promise string
	seed    uint64
	steps   string
}{}

func TestWhatWasBrokenOnceHolds(t *testing.T) {
	for _, r := range regressions {
		t.Run(r.promise, func(t *testing.T) {
			steps, err := parse(r.steps)
			if err != nil {
				t.Fatal(err)
			}
			if o := play(t, r.seed, steps); len(o.broken) > 0 {
				o.fail(t, r.seed, steps)
			}
		})
	}
}
