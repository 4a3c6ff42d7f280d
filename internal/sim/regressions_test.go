package sim

import "testing"

// regressions are lives that broke a promise once. When a run finds another one, it prints the entry to be pasted here; its
// first line says which promise.
var regressions = []struct {
	promise string
	seed    uint64
	steps   string
}{
	{"the service is left in peace", 70010, `
9m19.840687326s send 1 2 sequential 0s
7m19.906160294s sign 860
15m7.837369719s kill
1m0s replace
1m0s offline 3h12m27s
1m0s kill
163.267529ms sign-out
`},
	{"nothing is said to be wrong that is not", 667678573, `
1m0s send 1 1 parallel 0s
1m0s hook hook-dropped 1000
1m0s sign 0
30m0s address none
1h0m0s wait 1h0m0s
1m0s settle
`},
	{"the service is left in peace", 17, `
1m0s trouble redirect / -1 4h0m0s
1m0s try-again
3h30m0s wait 1m0s
`},
}

func TestWhatWasBrokenOnceHolds(t *testing.T) {
	if elsewhere(t) {
		return
	}
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
