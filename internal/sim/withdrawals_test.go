package sim

import (
	"fmt"
	"sync"

	"countersign/internal/office"
)

// withdrawals checks that what people wanted withdrawn is withdrawn, and nothing else. It does not check packages that
// everybody signed first, that expired, or whose withdrawal the service refused. Packages are identified by id.
type withdrawals struct {
	m     *model
	mu    sync.Mutex
	asked map[string]bool    // somebody requested it, whether or not the program could store that
	kept  map[string]promise // the program has stored the request
}

// mayWithdraw records that somebody is about to request a withdrawal.
func (x *withdrawals) mayWithdraw(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[id] = true
}

// withdraws records that the program has stored the request.
func (x *withdrawals) withdraws(id string, computer, home int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept[id] = promise{computer: computer, home: home}
}

// owedWithdrawals are the packages at the service in use that should be withdrawn and are not. Those that everybody signed
// first, or that expired, stay as they are.
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

// saidNo reports whether people see that the service refused a withdrawal.
func (x *withdrawals) saidNo(id string) bool {
	row, known, err := x.m.w.office.Package(id)
	return x.m.sent.refusals > 0 && err == nil && known && row.Withdrawal != nil && row.Withdrawal.State == office.WithdrawRefused
}
