package agent

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
)

// asidePause is how long an object that could not be worked on is left alone.
const asidePause = time.Hour

// asides are the objects that are left alone for now because something about them alone went wrong: events, packages,
// files and drafts, by whatever tells them apart. One of them must hold up no other, even when its record cannot be
// changed; so this is kept in memory. Safe for concurrent use.
type asides struct {
	mu   sync.Mutex
	list map[string]loop.Cooldown
}

func (x *asides) put(key string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.list == nil {
		x.list = map[string]loop.Cooldown{}
	}
	x.list[key] = loop.CoolFor(now, asidePause)
}

// has reports whether the object is left alone.
func (x *asides) has(key string, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	c, there := x.list[key]
	return there && !c.Over(now)
}

// count is how many there are.
func (x *asides) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.list)
}

// done notes that nothing is wrong with the object any more.
func (x *asides) done(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.list, key)
}

// prune forgets those that are no longer left alone.
func (x *asides) prune(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.list, func(_ string, c loop.Cooldown) bool { return c.Over(now) })
}

// clear gives every object another chance.
func (x *asides) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.list)
}

// one does what concerns a single object, which key tells from all others. When something is wrong with that object, it is
// set aside and the rest goes on. An error is returned only for what concerns all of them: the disk, the service, the end
// of ctx.
func (a *Agent) one(ctx context.Context, key string, do func() error) error {
	err := loop.Protect(ctx, loop.Loop{Name: key, Run: func(context.Context) error { return do() }})
	var own *data.ObjectError
	if !errors.As(err, &own) {
		a.aside.done(key)
		return err
	}
	a.Log.Error("one object is set aside", "object", message.OneLine(key, office.MaxName), "err", err)
	a.aside.put(key, a.Now())
	a.tellAside()
	return nil
}

// leftAlone reports whether the object of that key was set aside.
func (a *Agent) leftAlone(key string) bool { return a.aside.has(key, a.Now()) }

// pauseBeside is pause, but not so short that a loop runs on for objects that are due and left alone, of which there are n.
func (a *Agent) pauseBeside(n int, pause time.Duration) time.Duration {
	if n == 0 {
		return pause
	}
	return min(max(pause, 10*time.Second), time.Minute)
}

// tellAside keeps the health issue about what is set aside in step.
func (a *Agent) tellAside() {
	a.aside.prune(a.Now())
	if a.aside.count() == 0 {
		a.Health.Clear(health.RecordsPutOff)
		return
	}
	a.Health.Set(health.RecordsPutOff, message.Plain("Countersign could not work on one of its records and goes on with the others. It tries again every hour. For details, open the log in Help."))
}
