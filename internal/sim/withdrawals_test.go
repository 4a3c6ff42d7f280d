package sim

import (
	"fmt"
	"sync"

	"countersign/internal/office"
)

// withdrawals are packages that people wanted withdrawn, by id.
type withdrawals struct {
	mu    sync.Mutex
	asked map[string]bool    // somebody wished for it, whether or not the program was there to keep that
	kept  map[string]promise // the program has taken the wish
}

// mayWithdraw hears that somebody wishes for it.
func (m *model) mayWithdraw(id string) {
	x := &m.withdrawn
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked == nil {
		x.asked, x.kept = map[string]bool{}, map[string]promise{}
	}
	x.asked[id] = true
}

// withdraws hears that the program has taken the wish.
func (m *model) withdraws(id string, computer, home int) {
	x := &m.withdrawn
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept[id] = promise{computer: computer, home: home}
}

// owedWithdrawals are the packages at the service in use that are to be withdrawn and were not. What everybody has signed
// before, or has run out, stays as it is.
func (m *model) owedWithdrawals() (owed []string) {
	x := &m.withdrawn
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range m.w.services[m.w.current].Packages() {
		kept, wished := x.kept[p.PackageID]
		switch {
		case p.State == "rescinded" && !x.asked[p.PackageID]:
			m.broken = append(m.broken, fmt.Sprintf("nothing is withdrawn that nobody wants withdrawn: %q", p.Name))
		case p.State == "open" && wished && kept.computer == m.w.computer && kept.home == m.w.current && !m.saidNo(p.PackageID):
			owed = append(owed, fmt.Sprintf("%q is not withdrawn", p.Name))
		}
	}
	return owed
}

// saidNo reports whether the service refused a withdrawal, as people see it.
func (m *model) saidNo(id string) bool {
	row, known, err := m.w.office.Package(id)
	return m.refusals > 0 && err == nil && known && row.Withdrawal != nil && row.Withdrawal.State == office.WithdrawRefused
}
