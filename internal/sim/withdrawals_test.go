package sim

import (
	"fmt"
	"sync"

	"countersign/internal/office"
)

// withdrawals judge: what people wanted withdrawn is, and nothing else. They are silent about what everybody has signed before, what has
// run out, and what the service refused. Packages are named by id.
type withdrawals struct {
	m     *model
	mu    sync.Mutex
	asked map[string]bool    // somebody wished for it, whether or not the program was there to keep that
	kept  map[string]promise // the program has taken the wish
}

// mayWithdraw hears that somebody wishes for it.
func (x *withdrawals) mayWithdraw(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[id] = true
}

// withdraws hears that the program has taken the wish.
func (x *withdrawals) withdraws(id string, computer, home int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept[id] = promise{computer: computer, home: home}
}

// owedWithdrawals are the packages at the service in use that are to be withdrawn and were not. What everybody has signed
// before, or has run out, stays as it is.
func (x *withdrawals) owedWithdrawals() (owed []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.m.w.services[x.m.w.current].Packages() {
		kept, wished := x.kept[p.PackageID]
		switch {
		case p.State == "rescinded" && !x.asked[p.PackageID]:
			x.m.broken = append(x.m.broken, fmt.Sprintf("nothing is withdrawn that nobody wants withdrawn: %q", p.Name))
		case p.State == "open" && wished && kept.computer == x.m.w.computer && kept.home == x.m.w.current && !x.saidNo(p.PackageID):
			owed = append(owed, fmt.Sprintf("%q is not withdrawn", p.Name))
		}
	}
	return owed
}

// saidNo reports whether the service refused a withdrawal, as people see it.
func (x *withdrawals) saidNo(id string) bool {
	row, known, err := x.m.w.office.Package(id)
	return x.m.sent.refusals > 0 && err == nil && known && row.Withdrawal != nil && row.Withdrawal.State == office.WithdrawRefused
}
