package sim

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/office"
)

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
	{"health says what is wrong within its time", 67127441, `
1m0s send 3 1 sequential 0s
5m38.928667905s elsewhere
1m0s sign 149
2m24.460058227s elsewhere
1m0s service
17.135002875s send 1 3 sequential 0s
12m56.892133469s sign 271
1m0s sign 255
1m0s full 3h41m42s
5m6.149149136s sign 293
4m24.813754268s delete 21
6m23.741233163s choose none
5m52.01219027s choose each
7m2.711594014s list 2
4m49.10265063s list 1
7m40.364223941s move 118
`},
	{"the service is left in peace", 452978594, `
1m0s hook hook-dropped 1000
1m0s trouble short /packages -1 5h0m0s
` + strings.Repeat(`7s send 1 1 sequential 0s
8s send 1 1 sequential 0s
9s send 1 1 sequential 0s
10s send 1 1 sequential 0s
11s send 1 1 sequential 0s
`, 12) + `1h0m0s wait 1h0m0s
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
	{"what was answered 2xx is stored", 5010, `
1m0s send 1 1 parallel 0s
1m0s sign 0
` + dates(office.KeepEventsDays+5) + `
1h0m0s kill
`},
	{"the service is left in peace", 147576148, `
1m0s send 1 1 sequential 0s
1m0s trouble refused /packages/*/documents -1 2h14m44s
1m0s sign 644
5m20.955285531s sign 506
`},
}

// dates are steps in which the computer shows so many dates, each for long enough to be counted.
func dates(many int) (steps string) {
	for day := range many {
		steps += fmt.Sprintf("2h0m0s clock %dh0m0s 1h30m0s\n", 24*(day+1))
	}
	return strings.TrimSpace(steps)
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
