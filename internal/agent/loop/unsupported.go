package loop

import (
	"sync"
	"time"
)

// lackFor is how long it is believed that a service does not have a call: somebody in between may have said so.
const lackFor = 24 * time.Hour

// Unsupported remembers which calls a service was seen not to have, each service by itself. The zero value knows of none. Safe for
// concurrent use.
type Unsupported struct {
	mu   sync.Mutex
	seen map[string]Cooldown
}

// Note notes that the service does not have the call, and reports whether that is news.
func (l *Unsupported) Note(service, call string, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]Cooldown{}
	}
	key := call + "@" + service
	news = l.seen[key].Over(now)
	l.seen[key] = CoolFor(now, lackFor)
	return news
}

// Served notes that the service has the call after all, and reports whether that is news.
func (l *Unsupported) Served(service, call string, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := call + "@" + service
	news = !l.seen[key].Over(now)
	delete(l.seen, key)
	return news
}

// Has reports whether the service is known not to have the call.
func (l *Unsupported) Has(service, call string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.seen[call+"@"+service].Over(now)
}
