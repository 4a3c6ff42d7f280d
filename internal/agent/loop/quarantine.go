package loop

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
)

// QuarantinePause is how long an object that could not be worked on is left alone.
const QuarantinePause = time.Hour

// Quarantine has the objects that are left alone for now because something about them alone went wrong: events, packages,
// files and drafts, by whatever tells them apart. One of them must hold up no other, even when its record cannot be
// changed; so this is kept in memory. Safe for concurrent use.
type Quarantine struct {
	mu   sync.Mutex
	list map[string]Cooldown
}

func (q *Quarantine) put(key string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.list == nil {
		q.list = map[string]Cooldown{}
	}
	q.list[key] = CoolFor(now, QuarantinePause)
}

func (q *Quarantine) has(key string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, there := q.list[key]
	return there && !c.Over(now)
}

// Len is how many objects there are.
func (q *Quarantine) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// Release notes that nothing is wrong with the object any more.
func (q *Quarantine) Release(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.list, key)
}

func (q *Quarantine) prune(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.list, func(_ string, c Cooldown) bool { return c.Over(now) })
}

// Clear gives every object another chance.
func (q *Quarantine) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.list)
}

// One does what concerns a single object, which key tells from all others. When something is wrong with that object, it is
// put in quarantine and the rest goes on. An error is returned only for what concerns all of them: the disk, the service,
// the end of ctx.
func (t Base) One(ctx context.Context, key string, do func() error) error {
	err := Protect(ctx, Loop{Name: key, Run: func(context.Context) error { return do() }})
	var own *data.ObjectError
	if !errors.As(err, &own) {
		t.Quarantine.Release(key)
		return err
	}
	t.Log.Error("one object is set aside", "object", message.OneLine(key, office.MaxName), "err", err)
	t.Quarantine.put(key, t.Now())
	t.TellQuarantine()
	return nil
}

// LeftAlone reports whether the object of that key is in quarantine.
func (t Base) LeftAlone(key string) bool { return t.Quarantine.has(key, t.Now()) }

// PauseBeside is pause, but not so short that a loop runs on for objects that are due and left alone, of which there are n.
func (t Base) PauseBeside(n int, pause time.Duration) time.Duration {
	if n == 0 {
		return pause
	}
	return min(max(pause, 10*time.Second), time.Minute)
}

// TellQuarantine keeps the health issue about what is left alone in step.
func (t Base) TellQuarantine() {
	t.Quarantine.prune(t.Now())
	if t.Quarantine.Len() == 0 {
		t.Health.Clear(health.RecordsPutOff)
		return
	}
	t.Health.Set(health.RecordsPutOff, message.RecordsPutOff())
}
