package outbox

import (
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
)

// restAfter is how many drafts may fail in a row until those that failed before wait together: a service that is out of
// reach is not asked for each of them. One that was not tried yet is tried at once.
const restAfter = 4

// row is of drafts that failed one after the other, none of which was taken in between.
type row struct {
	drafts, rests int
	rest          loop.Cooldown
}

// failed notes that a draft did.
func (r *Service) failed() {
	if r.row.drafts++; r.row.drafts < restAfter {
		return
	}
	r.row.drafts = 0
	r.row.rests++
	r.row.rest = loop.CoolFor(r.Now(), r.Backoff(r.row.rests, r.Pace.Retry, loop.MaxRoundPause))
}

// rests is how long d waits with others; 0 when it does not.
func (r *Service) rests(d office.Draft) time.Duration {
	switch {
	case d.State == office.DraftUnknown:
		return r.list.rest.Left(r.Now())
	case d.Tries > 0:
		return r.row.rest.Left(r.Now())
	}
	return 0
}
