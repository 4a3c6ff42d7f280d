package office

import (
	"time"

	"countersign/internal/message"
)

// WithdrawalState is where the wish to withdraw a package stands.
type WithdrawalState string

const (
	WithdrawWanted   WithdrawalState = "wanted"   // stored; the service was not asked, or clearly did not do it
	WithdrawAsked    WithdrawalState = "asked"    // packages/rescind may have been sent: the status tells what became of it
	WithdrawAccepted WithdrawalState = "accepted" // the service said yes, and its status does not show it yet
	WithdrawDone     WithdrawalState = "done"     // the status says so
	WithdrawLate     WithdrawalState = "late"     // it was signed by everyone, or expired, first; Problem says which
	WithdrawRefused  WithdrawalState = "refused"  // Problem says why
	WithdrawUnknown  WithdrawalState = "unknown"  // a person waits for the service no more, which may have done it; Problem says so
)

// Withdrawal is the wish to withdraw a package, and what became of it. Of a package that was withdrawn elsewhere it is what
// the service tells.
type Withdrawal struct {
	State   WithdrawalState `json:"state"`
	Message string          `json:"message,omitempty"` // to the people
	Quiet   bool            `json:"quiet,omitempty"`   // the service is not to notify them
	By      string          `json:"by,omitempty"`      // whose account it was wished for with; empty when it was not wished for here
	Asked   time.Time       `json:"asked,omitzero"`    // when it was wished for
	Tries   int             `json:"tries,omitempty"`
	NextTry time.Time       `json:"next_try,omitzero"`
	Problem message.Message `json:"problem,omitzero"` // what keeps it from being done, or kept it

	// AskFirst says that an earlier wish may have been fulfilled: the status is asked before the service is.
	AskFirst bool `json:"ask_first,omitempty"`

	// Damaged says that its record was damaged: what was to be said, and to whom, is lost. It may be found done, and is never
	// asked for again.
	Damaged bool `json:"damaged,omitempty"`
}

// Pending reports that something is still to be done about it.
func (w *Withdrawal) Pending() bool {
	return w != nil && (w.State == WithdrawWanted || w.State == WithdrawAsked || w.State == WithdrawAccepted)
}

// Undoable reports that the service was not asked yet, because a person may still take it back.
func (w *Withdrawal) Undoable() bool { return w != nil && w.State == WithdrawWanted && w.Tries == 0 }

// Wished reports that somebody wished for it here.
func (w *Withdrawal) Wished() bool { return w != nil && !w.Asked.IsZero() }

// Settle ends a wish with what the package's state tells, and reports whether it did. A wish for a package that may still
// be signed stays.
func (p *Package) Settle() (ended bool) {
	if !p.Withdrawal.Pending() {
		return false
	}
	w := *p.Withdrawal
	switch {
	case p.State == PackageExecuted:
		w.State, w.Problem = WithdrawLate, message.SignedBeforeWithdrawn()
	case p.State == PackageRescinded:
		w.State, w.Problem = WithdrawDone, message.Message{}
	case p.State == PackageExpired:
		w.State, w.Problem = WithdrawLate, message.ExpiredBeforeWithdrawn()
	default:
		return false
	}
	w.NextTry = time.Time{}
	p.Withdrawal = &w
	return true
}

// CanBeWithdrawn reports whether people may still be kept from signing p: it was sent, and nothing has ended it.
func (s PackageState) CanBeWithdrawn() bool {
	return s != PackageExecuted && !s.Over() && !s.Unsent()
}

// NewWithdrawal is what a person wants withdrawn.
type NewWithdrawal struct {
	Packages []string `json:"packages"` // ids
	Message  string   `json:"message,omitempty"`
	Quiet    bool     `json:"quiet,omitempty"`

	// Undo is for how long it can be taken back before the service is asked.
	Undo time.Duration `json:"undo,omitempty"`

	// Stored is called once a wish is stored, unless it is nil or there was nothing to wish for.
	Stored func() `json:"-"`

	// Patience is how long Withdraw waits for a service that does not answer; 0 is without limit. What is wished for is
	// done later all the same.
	Patience time.Duration `json:"patience,omitempty"`
}

// Withdrawn is what became of the wish for one package, or why there was nothing to wish for.
type Withdrawn struct {
	PackageID string          `json:"package_id"`
	Name      string          `json:"name"`
	State     WithdrawalState `json:"state"`
	Problem   message.Message `json:"problem"`
}
