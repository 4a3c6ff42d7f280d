package webhook

import (
	"sync"
	"time"

	"countersign/internal/inbox"
	"countersign/internal/office"
)

// Refusal is a sample of the requests that were refused.
type Refusal struct {
	Time   time.Time
	Reason string // one sentence
	Remote string // who asked, as far as it can be told
	More   int    // further ones that were not sampled
}

// maxRefusals is how many samples are kept, in memory alone: refused requests are no way to fill the disk.
const maxRefusals = 200

// refusals are the samples, oldest first. Safe for concurrent use.
type refusals struct {
	mu   sync.Mutex
	list []Refusal
}

// Refused returns the samples, newest first.
func (r *Room) Refused() []Refusal {
	r.refusals.mu.Lock()
	defer r.refusals.mu.Unlock()
	out := make([]Refusal, 0, len(r.refusals.list))
	for i := len(r.refusals.list) - 1; i >= 0; i-- {
		out = append(out, r.refusals.list[i])
	}
	return out
}

func (r *Room) noteRefusal(x inbox.Refusal) {
	r.refusals.mu.Lock()
	r.refusals.list = append(r.refusals.list, Refusal{x.At, refusalSentence(x.Reason), x.Remote, int(x.Suppressed)})
	if over := len(r.refusals.list) - maxRefusals; over > 0 {
		r.refusals.list = append([]Refusal(nil), r.refusals.list[over:]...)
	}
	r.refusals.mu.Unlock()
	r.Signal(office.ActivityChanged)
	r.Signal(office.StatusChanged)
}

func refusalSentence(r inbox.Reason) string {
	switch r {
	case inbox.Unsigned:
		return "A request without an event signature was blocked."
	case inbox.Forged:
		return "A request with a false event signature was blocked."
	case inbox.TooLarge:
		return "A request that was too large was blocked."
	case inbox.WrongMethod:
		return "A request that was not an event was blocked."
	case inbox.NotStored:
		return "An event could not be stored; the service was asked to send it again."
	case inbox.Busy:
		return "Too many requests came at once; the service was asked to send this one again."
	default:
		return "An incomplete request was blocked."
	}
}
