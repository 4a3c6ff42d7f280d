package store

import (
	"time"

	"countersign/internal/office"
)

// WithdrawalsDue returns the packages of the service in use that are to be withdrawn and are due by their
// Withdrawal.NextTry, longest due first.
func (tx *Tx) WithdrawalsDue(due Due) ([]office.Package, error) {
	return tx.packages(-1, func(each visit) error { return tx.due(bucketWithdrawalsDue, due, each) })
}

// NextWithdrawal is the earliest Withdrawal.NextTry of all those packages: 1970 when one has none and is due at once, the
// zero time when there is no such package.
func (tx *Tx) NextWithdrawal() (time.Time, error) { return tx.first(bucketWithdrawalsDue) }
