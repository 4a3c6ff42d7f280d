package loop

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Backoff is the pause after the nth failure in a row: base, doubled with each further one, at most limit, and up to a fifth
// longer so that many jobs do not return in step. n is often kept on disk, which is why this is no type that counts by itself.
func (t Base) Backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for range min(n-1, 30) {
		if d *= 2; d >= limit {
			d = limit
			break
		}
	}
	return d + time.Duration(t.Jitter()*0.2*float64(d))
}

// PauseAfter is how long to leave the service alone after err, the nth failure in a row: Backoff, or what the service asks for.
func (t Base) PauseAfter(err error, n int, limit time.Duration) time.Duration {
	pause := t.Backoff(n, t.Pace.Retry, limit)
	var e *esign.Error
	if errors.As(err, &e) {
		pause = max(pause, e.RetryAfter)
	}
	return pause
}

// MaxRoundPause is the longest pause after a round of questions or downloads that the service made no use of.
const MaxRoundPause = 2 * time.Minute

// MinPause keeps a loop from running at full speed should what is next never come.
const MinPause = 20 * time.Millisecond

// UntilNext is the time from now to next, at most limit; limit when there is no next.
func UntilNext(now, next time.Time, limit time.Duration) time.Duration {
	if next.IsZero() {
		return limit
	}
	return max(min(next.Sub(now), limit), MinPause)
}

// Retries are the objects that could not be worked on, each with a pause of its own, which grows with each failure in a row: one
// that always fails keeps nobody from the others. The zero value has none. Safe for concurrent use.
type Retries struct {
	mu   sync.Mutex
	list map[string]retry
}

type retry struct {
	tries int // failures in a row
	pause Cooldown
}

// Failed notes a failure and leaves the object alone for as long as pause says after so many in a row. It reports whether it is the first.
func (r *Retries) Failed(key string, now time.Time, pause func(tries int) time.Duration) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]retry{}
	}
	tries := r.list[key].tries + 1
	r.list[key] = retry{tries, CoolFor(now, pause(tries))}
	return tries == 1
}

// Rests reports whether the object is left alone for now.
func (r *Retries) Rests(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, failed := r.list[key]
	return failed && !x.pause.Over(now)
}

// Worked notes that nothing is wrong with the object any more.
func (r *Retries) Worked(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, key)
}

// Keep forgets the objects that are no more.
func (r *Retries) Keep(there func(key string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.list, func(key string, _ retry) bool { return !there(key) })
}

// Now has every object tried at the next occasion.
func (r *Retries) Now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, x := range r.list {
		r.list[key] = retry{tries: x.tries}
	}
}

// ClockSlack is how far a clock may be put back without anybody minding: a time server does that now and then.
const ClockSlack = time.Minute

// Cooldown is a pause by the wall clock, which runs on while the computer sleeps. Wall clocks are set, too: when it is
// earlier now than when the pause began, the clock was wrong at one of the two moments, and the pause is over. So none lasts
// longer than it was meant to, but for ClockSlack.
type Cooldown struct{ From, Until time.Time }

// CoolFor is a cooldown of d from now on.
func CoolFor(now time.Time, d time.Duration) Cooldown {
	now = now.Round(0)
	return Cooldown{now, now.Add(d)}
}

// Left is how long c still lasts; 0 when it is over, and for the zero cooldown.
func (c Cooldown) Left(now time.Time) time.Duration {
	now = now.Round(0)
	if now.Before(c.From.Add(-ClockSlack)) {
		return 0
	}
	return max(c.Until.Sub(now), 0)
}

// Over reports whether c has ended.
func (c Cooldown) Over(now time.Time) bool { return c.Left(now) == 0 }

// The longest that something stored waits for its next try, by what it is; none of it is believed beyond that. The
// pauses of Backoff, the ages of packages and what a service may ask for (MaxBreak) stay within.
const (
	MaxPackageWait = 30 * time.Hour
	MaxJobWait     = MaxBreak + ClockSlack
)

// MaxWait is the longest that something stored waits whose Backoff has that limit.
func MaxWait(limit time.Duration) time.Duration { return limit*6/5 + ClockSlack }

// MaxBreak bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const MaxBreak = 24 * time.Hour

// Breaker remembers until when the service asked to be left alone (Retry-After). Every loop waits that long before it calls
// the service, whatever wakes it; what a person asks for does not wait. Safe for concurrent use.
type Breaker struct {
	mu  sync.Mutex
	now Cooldown
}

// Open leaves the service alone for d from now on, unless it is left alone for longer already.
func (r *Breaker) Open(now time.Time, d time.Duration) {
	d = min(d, MaxBreak)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.Left(now) {
		r.now = CoolFor(now, d)
	}
}

// Left is how long the service is still to be left alone; 0 when it may be called.
func (r *Breaker) Left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Left(now)
}

// Close lets the service be called at once.
func (r *Breaker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Cooldown{}
}

// Failures counts failed questions about packages, of each package and in a row: one package that always fails must not keep
// the others waiting, and a service that is out of reach must not be asked about each of them. Safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	tries map[string]int // packageId -> failures in a row
	row   int            // failures of whatever package since the last answer
	stops int            // rounds broken off since then
}

// Add counts a failure.
func (t *Failures) Add(id string) (tries, row int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == nil {
		t.tries = map[string]int{}
	}
	t.tries[id]++
	t.row++
	return t.tries[id], t.row
}

// Clear notes an answer.
func (t *Failures) Clear(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tries, id)
	t.row, t.stops = 0, 0
}

// Round counts a round that was broken off, and returns how many there were in a row.
func (t *Failures) Round() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stops++
	return t.stops
}

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

// RenewalError marks what went wrong while the sign-in was renewed for a call, so that it is not taken for the service's word about what
// was asked.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }
func (e *RenewalError) Unwrap() error { return e.Err }

// ConcernsAll reports whether a failed call says nothing about its object: the sign-in could not be renewed, or the
// call was never made.
func ConcernsAll(err error) bool {
	var renewal *RenewalError
	var e *esign.Error
	return errors.As(err, &renewal) || !errors.As(err, &e) ||
		e.Kind == esign.BadClient || e.Kind == esign.NotKept || e.Kind == esign.Interrupted
}

// Suspects tells the trouble with one thing from the trouble with the service: between two failures of the one, the
// service gave an answer to something else. Safe for concurrent use.
type Suspects struct {
	mu      sync.Mutex
	answers int
	failed  map[string]int // what failed -> answers by then
}

// Answered notes an answer to whatever question.
func (s *Suspects) Answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
}

// Fail notes that key failed and reports whether the trouble is its alone.
func (s *Suspects) Fail(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = map[string]int{}
	}
	before, again := s.failed[key]
	s.failed[key] = s.answers
	return again && s.answers > before
}

// Clear notes that key does not fail any more.
func (s *Suspects) Clear(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, key)
}

// Refuses reports whether a failure is the service's answer about the thing that is kept under key, rather than the
// trouble of the moment that everything has.
func (s *Suspects) Refuses(key string, err *esign.Error) bool {
	switch err.Kind {
	case esign.TooMany:
		return false
	case esign.Network:
		return s.Fail(key)
	default:
		return true
	}
}

// RefusalProblem is what keeps a file from being saved that the service does not give, for people.
func RefusalProblem(cause *esign.Error) message.Message {
	if cause.Kind == esign.SignedOut { // the sign-in works: others are given
		return message.DownloadForbidden()
	}
	return esign.Message(cause)
}

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

// The service can give an id under which it cannot be asked (esign.UsableID). What has such an id is set aside by itself:
// people are told once, and may look for it where the service shows it.

// UnusablePause is how long it is left alone; asking would not even reach the service.
const UnusablePause = 24 * time.Hour

// Unusable reports whether the service cannot be asked for j's file.
func Unusable(j office.Job) bool { return j.DocumentID != "" && !esign.UsableID(j.DocumentID) }
