package reconcile

import (
	"sync"

	"countersign/internal/office"

	"golang.org/x/sync/semaphore"
)

// eventsInHand is how many events are in memory to be handled, and as many again that were read behind them. Of those that are larger
// than any real one, usualEvent bytes, there are fewer.
const (
	eventsInHand = 200
	usualEvent   = 32 << 10
)

// weight is how much of the room for eventsInHand e takes.
func weight(e office.Event) int64 {
	return int64(min(max(len(e.Body), usualEvent), eventsInHand*usualEvent))
}

// eventQueues are the events under way, by their packages. Safe for concurrent use.
type eventQueues struct {
	room *semaphore.Weighted // for events in all of them

	mu     sync.Mutex
	queues map[string][]office.Event
}

// add puts an event behind those of its package, and reports whether there was none: somebody has to work on them.
func (q *eventQueues) add(e office.Event) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues == nil {
		q.queues = map[string][]office.Event{}
	}
	queue, busy := q.queues[e.PackageID]
	q.queues[e.PackageID] = append(queue, e)
	return !busy
}

// next takes the first event of a package; ok is false when there is none, and nobody works on them any more.
func (q *eventQueues) next(packageID string) (e office.Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[packageID]
	if len(queue) == 0 {
		delete(q.queues, packageID)
		return e, false
	}
	e, queue[0] = queue[0], e // the array lets go of its body
	q.queues[packageID] = queue[1:]
	return e, true
}

// idle reports whether nobody works on any.
func (q *eventQueues) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queues) == 0
}
