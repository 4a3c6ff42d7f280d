package store

import "time"

// Due asks for what is due: whatever's time has come, and whatever's time lies further ahead than anything waits. A clock
// that was wrong has set such a time, and nothing is to wait for that clock.
type Due struct {
	Now     time.Time
	Longest time.Duration // nothing waits longer; 0 for no such bound
}

// Left is how long until next; 0 when that is due.
func (d Due) Left(next time.Time) time.Duration {
	left := next.Sub(d.Now)
	if left < 0 || d.Longest > 0 && left > d.Longest {
		return 0
	}
	return left
}

// due visits what is due in an index by time, longest due first.
func (tx *Tx) due(index string, d Due, each visit) error {
	more := true
	watched := func(key, value []byte) (bool, error) {
		var err error
		more, err = each(key, value)
		return more, err
	}
	err := tx.between(index, nil, after(d.Now), watched)
	if err != nil || !more || d.Longest <= 0 {
		return err
	}
	return tx.between(index, after(d.Now.Add(d.Longest)), nil, watched)
}
