package reconcile

import (
	"time"

	"countersign/internal/office"
)

// clockMargin is how far the service's clock may be from ours.
const clockMargin = 15 * time.Minute

// owesEvent reports whether what a status answer tells of p, which was before until now, should have come as an event
// since listening: of a package that was asked about since, whatever is new; of one that was not known, that it was
// finished since.
func owesEvent(before, p office.Package, moved bool, listening, now time.Time) bool {
	switch {
	case listening.IsZero():
		return false
	case !before.Checked.IsZero():
		return moved && before.Checked.After(listening) && !before.Checked.After(now) // else by a clock that was wrong
	default:
		return p.State == office.PackageExecuted && before.State != p.State && !before.Executed.By &&
			before.Executed.After(listening.Add(clockMargin)) && before.Executed.Before(now.Add(-clockMargin))
	}
}
