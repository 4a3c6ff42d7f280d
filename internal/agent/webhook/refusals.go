package webhook

import (
	"sync"
	"time"

	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Refusal is a sample of the requests that were refused.
type Refusal struct {
	Time   time.Time
	Reason message.Message
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
func (r *Service) Refused() []Refusal {
	r.refusals.mu.Lock()
	defer r.refusals.mu.Unlock()
	out := make([]Refusal, 0, len(r.refusals.list))
	for i := len(r.refusals.list) - 1; i >= 0; i-- {
		out = append(out, r.refusals.list[i])
	}
	return out
}

func (r *Service) noteRefusal(x inbox.Refusal) {
	r.refusals.mu.Lock()
	r.refusals.list = append(r.refusals.list, Refusal{x.At, refusalMessage(x.Reason), x.Remote, int(x.Suppressed)})
	if over := len(r.refusals.list) - maxRefusals; over > 0 {
		r.refusals.list = append([]Refusal(nil), r.refusals.list[over:]...)
	}
	r.refusals.mu.Unlock()
	r.Signal(office.ActivityChanged)
	r.Signal(office.StatusChanged)
}

func refusalMessage(r inbox.Reason) message.Message {
	switch r {
	case inbox.Unsigned:
		return message.RequestUnsigned()
	case inbox.Forged:
		return message.RequestForged()
	case inbox.TooLarge:
		return message.RequestTooLarge()
	case inbox.WrongMethod:
		return message.RequestNoEvent()
	case inbox.NotStored:
		return message.RequestNotStored()
	case inbox.Busy:
		return message.RequestsTooMany()
	default:
		return message.RequestCutShort()
	}
}
