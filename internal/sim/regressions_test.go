package sim

import (
	"testing"
)

// regressions are lives that once broke a promise. When a run finds another one, it prints the entry to paste here; its
// first line names the promise.
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
	{"what was promised for later comes true", 850000011, `
1m0s send 1 2 parallel 0s
1m0s revoke refresh
18m42.0022892s decline 757
1m0s withdraw 945
1m0s settle
`},
	{"idle means idle", 20261126, `
1m0s offline 3h29m5s
1m0s elsewhere
1m0s service
1m0s replace
1m0s settle
`},
	{"signing out deletes the endpoint", 1, `
1m0s send 1 1 parallel 0s
1m0s hook hook-dropped 36
1m0s sign 0
40m0s address none
1m0s sign-out
1m0s wait 5m0s
`},
	{"health says what is wrong within its time", 311310017, `
1m0s clock 3464h0m0s 1h0m0s
1m0s send 1 1 parallel 0s
1h15m0s offline 2h0m0s
1h15m0s wait 1m0s
`},
	{"the index lists what is saved", 262328233, `
1m0s address none
1m0s send 1 1 parallel 58h0m0s
5m21.869290778s sign 856
2m47.892591966s choose index
3m31.514283109s move 771
4m34.332083038s sign 179
1m0s replace
10m15.03329695s sign 192
6m37.774888177s crash 13 2 quit
5m28.505288383s sign 977
7m35.608679374s address external
1m0s sign 822
2m35.715049842s send 1 1 parallel 0s
1m0s sign 406
13m38.009557183s sign 184
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
