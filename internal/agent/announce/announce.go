// Package announce turns facts into notifications: who signed, who declined, what is saved, what is wrong. It reports each fact
// once, even after a crash; joins facts that are one piece of news into one notification, and many into a summary; and stays silent
// when people chose so (settings, quiet hours, a snooze).
//
// A fact passes through here twice. The code that finds facts asks in its own commit which of them are news (Signed, Declined,
// Saved), and hands those to Announce once the commit has succeeded. Run raises the notification.
//
// It must not know how facts are found, what else the commits hold, nor how a notification is raised (Deps.Notify).
package announce

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// meetPause is how long to wait for further facts found at the same time.
const meetPause = 300 * time.Millisecond

// lookPause is the minimum time between two checks whether more is to come: in a burst, work ends hundreds of times a second.
const lookPause = 10 * time.Millisecond

// While the agent is catching up, facts are held back for one summary: for this long after the last check that found more to catch
// up with, but no longer in total than people would wait for the first news.
const (
	catchingUpLast = 10 * time.Second
	maxCatchingUp  = 2 * time.Minute
)

// settleAgain is when to retry recording that facts were reported; if the process is killed before that, they are reported a second
// time.
const settleAgain = 5 * time.Second

// endLimit is how long the last notifications may take when the program ends.
const endLimit = 2 * time.Second

// The maximum length of a notification's title and body, in characters.
const (
	maxTitle = 300
	maxBody  = 600
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings func() office.Settings
	Member   func() string             // who is signed in
	Notify   func(office.Notice) error // raises a notification; nil for none
	Words    func() *message.Printer   // in the current language

	Windowed bool // there is a window to show a notification's subject
	CanOpen  bool // saved files can be opened

	MoreToCome func() bool // work in progress may result in a fact
	CatchingUp func() bool // there is more work in progress than usual

	HealthChanges <-chan struct{} // signals that health has changed
}

// Service holds the facts waiting to be reported, and remembers which were. Safe for concurrent use.
type Service struct {
	loop.Base
	deps   Deps
	snooze data.Kept[loop.Cooldown]
	facts  chan struct{} // signals that facts were added
	work   chan struct{} // signals that work has ended

	mu   sync.Mutex
	wait []office.Fact

	digest  digest   // used only by raiseFacts; its waiting facts survive a panic
	settled []string // keys of facts that are no longer pending but not yet recorded so; likewise
	said    []string // ids of packages to be recorded as factSaid; likewise
}

// New makes a Service and loads its stored state.
func New(t loop.Base, deps Deps) (*Service, error) {
	r := &Service{Base: t, deps: deps, facts: make(chan struct{}, 1), work: make(chan struct{}, 1)}
	return r, r.Load()
}

// Announce queues facts; it does not block.
func (r *Service) Announce(facts ...office.Fact) {
	if len(facts) == 0 {
		return
	}
	r.mu.Lock()
	r.wait = append(r.wait, facts...)
	r.mu.Unlock()
	loop.Wake(r.facts)
	loop.Wake(r.work) // one of them may not have to wait
}

// WorkEnded says that work has ended for which facts may have been held back; it does not block.
func (r *Service) WorkEnded() { loop.Wake(r.work) }

// Run raises notifications until ctx ends, then those still waiting, and returns nil.
func (r *Service) Run(ctx context.Context) error {
	raising, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var raiser sync.WaitGroup
	raiser.Go(func() { r.Supervise(raising, loop.Loop{Name: "announce", Run: r.raiseFacts}) })
	r.Supervise(ctx, loop.Loop{Name: "problems", Run: r.watchProblems}) // what it has recorded as reported is raised below
	stop()
	raiser.Wait()
	return nil
}

// raiseFacts raises notifications on its own goroutine, because a notification daemon may be slow.
func (r *Service) raiseFacts(ctx context.Context) error {
	m := &r.digest
	for {
		pause := m.left(time.Now())
		if len(r.settled) > 0 {
			pause = min(pause, settleAgain)
		}
		if !loop.Wait(ctx, pause, r.facts) {
			m.add(time.Now(), r.takeFacts()...)
			return r.raiseAll(ctx, r.due(true))
		}
		if n, caughtUp := r.factsWaiting(); n > 1 || caughtUp {
			r.holdBack(ctx)
		}
		m.add(time.Now(), r.takeFacts()...)
		if err := r.raiseAll(ctx, r.due(false)); err != nil {
			return err
		}
	}
}

// due returns the notifications to raise now, whose facts are then no longer pending; with all, every waiting one except those for
// which the next start can still learn a name.
func (r *Service) due(all bool) []notice {
	r.name(&r.digest)
	notices := r.digest.take(time.Now(), all)
	r.said = append(r.said, r.digest.said...)
	r.settle(r.digest.told)
	r.digest.told, r.digest.said = nil, nil
	return notices
}

// holdBack waits for other facts found at the same time, and for the end of catching up. It does not wait if nothing more is to
// come; a decline, on which somebody must act, does not wait for the end of catching up. It checks again whenever work ends.
func (r *Service) holdBack(ctx context.Context) {
	began, until := time.Now(), meetPause
	for r.deps.MoreToCome() {
		waited := time.Since(began)
		switch {
		case r.declineWaits():
			until = meetPause
		case r.deps.CatchingUp():
			until = min(waited+catchingUpLast, maxCatchingUp)
		}
		if waited >= until || !loop.Wait(ctx, until-waited, r.work) {
			return
		}
		if early := lookPause - (time.Since(began) - waited); early > 0 && !loop.Sleep(ctx, early) {
			return
		}
	}
}

// factsWaiting returns how many facts wait, and whether any was found by catching up.
func (r *Service) factsWaiting() (n int, caughtUp bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wait), slices.ContainsFunc(r.wait, func(f office.Fact) bool { return f.CaughtUp })
}

func (r *Service) declineWaits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.wait, func(f office.Fact) bool { return f.Kind == office.FactDeclined && !f.CaughtUp })
}

// takeFacts removes the waiting facts and returns those that people want to hear now.
func (r *Service) takeFacts() []office.Fact {
	r.mu.Lock()
	facts := r.wait
	r.wait = nil
	r.mu.Unlock()
	var muted []string
	facts = slices.DeleteFunc(facts, func(f office.Fact) bool {
		if r.muted(f) {
			muted = append(muted, f.Key)
			return true
		}
		return false
	})
	r.settle(muted)
	return facts
}

// raiseAll raises notifications. A hanging desktop must not delay the end of the program: after ctx has ended, raiseAll waits at
// most endLimit, and the goroutine lives as long as Deps.Notify.
func (r *Service) raiseAll(ctx context.Context, notices []notice) error {
	if len(notices) == 0 {
		return nil
	}
	raised := make(chan error, 1)
	go func() {
		var failed error
		for _, n := range notices { // a panic must not drop the others, as none is pending any more
			failed = errors.Join(failed, loop.Protect("announce", func() error { r.raise(n); return nil }))
		}
		raised <- failed
	}()
	select {
	case err := <-raised:
		return err
	case <-ctx.Done():
	}
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	select {
	case err := <-raised:
		return err
	case <-limit.C:
		r.Log.Warn("the desktop did not take the last notifications", "count", len(notices))
		return errDesktopHangs
	}
}

var errDesktopHangs = errors.New("the desktop takes no notifications")

func (r *Service) raise(n notice) {
	if r.deps.Notify == nil {
		return
	}
	words := r.deps.Words()
	title, rest := words.Lines(n.title)
	body := strings.TrimSpace(rest + " " + words.Text(n.body))
	err := r.deps.Notify(office.Notice{
		Title: message.OneLine(title, maxTitle), Body: message.OneLine(body, maxBody), About: n.about, Buttons: r.buttons(n, words),
	})
	if err != nil {
		r.Log.Warn("raise a notification", "err", err)
		r.Health.Set(health.NotificationsFail, message.NotificationsFail())
		return
	}
	r.Health.Clear(health.NotificationsFail)
}

// buttons returns the buttons of n. Without a window, a press on n itself acts like the first button.
func (r *Service) buttons(n notice, words *message.Printer) (list []office.Button) {
	add := func(action office.Action, label message.Message) {
		list = append(list, office.Button{Action: action, Label: words.Text(label)})
	}
	if r.deps.Windowed {
		add(office.ActionShow, message.PressToShow())
	}
	if r.deps.CanOpen && n.files == 1 {
		add(office.ActionOpen, message.PressToOpen())
	}
	if _, folder := n.about.HotFolder(); r.deps.CanOpen && (folder || n.files > 0) {
		add(office.ActionFolder, message.PressForFolder())
	}
	return list
}

// docSnooze is the document with the start and end of the snooze.
const docSnooze = "paused"

// Load reads the stored state again, after it may have changed since New.
func (r *Service) Load() error {
	kept, _, err := data.Doc[[2]time.Time](r.Data, docSnooze)
	if err != nil {
		return err
	}
	r.snooze.Set(loop.Cooldown{From: kept[0], Until: kept[1]})
	return nil
}

// Snooze suppresses notifications until then, even across a restart; a time in the past ends the snooze.
func (r *Service) Snooze(until time.Time) {
	next := loop.Cooldown{From: r.Now().Round(0), Until: until.Round(0)}
	err := r.snooze.Change(func(loop.Cooldown) (loop.Cooldown, error) {
		return next, r.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc(docSnooze, [2]time.Time{next.From, next.Until})
		})
	})
	if err != nil { // health reports it
		r.Log.Error("snooze notifications", "err", err)
	}
	r.Signal(office.StatusChanged)
}

// Snoozed returns when the snooze ends; zero without one.
func (r *Service) Snoozed() time.Time {
	snooze := r.snooze.Get()
	if snooze.Over(r.Now()) {
		return time.Time{}
	}
	return snooze.Until
}

// muted reports whether people chose not to be told f, or not now. The activity list shows it anyway.
func (r *Service) muted(f office.Fact) bool {
	s := r.deps.Settings()
	return s.Notify == office.NotifyNone || s.Notify == office.NotifyExecuted && f.Kind == office.FactSigned || r.Silent()
}

// Silent reports whether people want no notifications now: a snooze, or quiet hours.
func (r *Service) Silent() bool {
	return !r.Snoozed().IsZero() || r.deps.Settings().QuietAt(r.Now().Local())
}

// dueKey is the key of the only notification that a package is due soon.
func dueKey(packageID string) string { return "due/" + packageID }

// DueSoon returns the fact that p is due soon and unsigned, unless already reported. Call it in the commit that records it.
func (r *Service) DueSoon(tx *store.Tx, p office.Package, now time.Time) []office.Fact {
	return r.untold(tx, p, office.Fact{Key: dueKey(p.ID), PackageID: p.ID, Kind: office.FactDeadline,
		Title: office.DueText(p.DisplayName(), now.Local(), p.Due), Body: unsigned(p)})
}

// ToldDue reports whether people were told that a package is due soon.
func (r *Service) ToldDue(tx *store.Tx, packageID string) bool { return tx.Told(dueKey(packageID)) }

// Expired returns the fact that p can no longer be signed, unless already reported. A package reopened with another due date may
// expire again. Call it in the commit that records it.
func (r *Service) Expired(tx *store.Tx, p office.Package) []office.Fact {
	return r.untold(tx, p, office.Fact{
		Key: "expired/" + p.ID + "/" + p.Due.UTC().Format("20060102150405"), PackageID: p.ID, Kind: office.FactDeadline,
		Title: message.Expired(p.DisplayName()), Body: unsigned(p), When: p.Ended(),
	})
}

// unsigned says who has not signed p, as far as the names are known.
func unsigned(p office.Package) message.Message {
	var names []string
	for _, s := range p.Unsigned() {
		if name := s.DisplayName(); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return message.Message{}
	}
	return message.NotSignedBy(names)
}

// A problem that lasts for some minutes is reported, and again each day while it lasts: otherwise an expired sign-in or a missing
// folder would be noticed only by people who look. Time asleep does not count: the network went down before the computer slept and
// returns shortly after.
const (
	problemAgain = 24 * time.Hour
	problemBack  = time.Hour // one that returns sooner than this after its end is the same problem
	problemLook  = time.Minute
)

// docProblems is the document with the problems reported, docLasting the one with those that last.
const (
	docProblems = "problems told"
	docLasting  = "problems lasting"
)

// foundAgain is how long after a start a problem that existed at the end may take to be found again.
const foundAgain = 10 * time.Minute

// toldProblem is when a problem was last reported, and when it ended; zero while it lasts.
type toldProblem struct {
	Told  time.Time `json:"told"`
	Ended time.Time `json:"ended,omitzero"`
}

// watchProblems raises a notification for each lasting problem in health, and stores since when each has lasted.
func (r *Service) watchProblems(ctx context.Context) error {
	told, known, err := data.Doc[map[string]toldProblem](r.Data, docProblems)
	if err != nil {
		return err
	}
	if !known {
		told = map[string]toldProblem{}
	}
	stored, _, err := data.Doc[map[string]time.Time](r.Data, docLasting) // by problem id
	if err != nil {
		return err
	}
	stood, until := maps.Clone(stored), r.Now().Add(foundAgain)
	clock, awake := loop.WatchClock(r.Now()), r.Now()
	for {
		if clock.Jumped(r.Now()) != 0 {
			awake = r.Now()
		}
		if r.Now().After(until) {
			stood = nil
		}
		lasting := r.lasting(stood)
		before := maps.Clone(told)
		facts, pause := r.problemsDue(told, awake)
		if !maps.Equal(before, told) || !maps.EqualFunc(stored, lasting, time.Time.Equal) {
			err := r.Data.Update(func(tx *store.Tx) error {
				r.Queue(tx, facts...)
				tx.PutDoc(docLasting, lasting)
				return tx.PutDoc(docProblems, told)
			})
			if err != nil {
				return err
			}
			stored = lasting
		}
		r.Announce(facts...)
		clock.Wait(r.Now(), pause)
		if !loop.Wait(ctx, pause, r.deps.HealthChanges) {
			return nil
		}
	}
}

// lasting returns since when each problem in health has lasted. A problem in stood existed when the program ended and counts as
// uninterrupted; it is removed from stood once found again, and those not found yet are kept.
func (r *Service) lasting(stood map[string]time.Time) map[string]time.Time {
	lasting := map[string]time.Time{}
	for _, i := range r.Health.List() {
		since, before := i.Since, stood[i.ID]
		if !before.IsZero() && before.Before(since) {
			since = before
			r.Health.StandsSince(i.ID, since)
		}
		delete(stood, i.ID)
		lasting[i.ID] = since.Round(0).UTC()
	}
	maps.Copy(lasting, stood)
	return lasting
}

// problemsDue returns the problems to report now, which it records in told, and how long until the next may be due. awake is when
// the computer last woke up or its clock was set; zero for never.
func (r *Service) problemsDue(told map[string]toldProblem, awake time.Time) (facts []office.Fact, pause time.Duration) {
	now := r.Now()
	pause = problemAgain
	issues := r.Health.List()
	stands := map[string]bool{}
	for _, i := range issues {
		stands[i.ID] = true
		due, isTold := i.Due(issues)
		if !isTold {
			continue
		}
		stood := awake.Add(due.Sub(i.Since)) // long enough after waking up
		was, known := told[i.ID]
		// A time in the future was written by a clock that was fast.
		if known && was.Told.After(now) {
			was.Told = now
		}
		if !was.Ended.IsZero() && i.Since.Sub(was.Ended) > problemBack {
			known = false
		}
		if known {
			due = was.Told.Add(problemAgain)
		}
		if due.Before(stood) && !awake.After(now) {
			due = stood
		}
		if left := due.Sub(now); left > 0 {
			pause = min(pause, left)
			if known && (!was.Ended.IsZero() || was != told[i.ID]) {
				told[i.ID] = toldProblem{Told: was.Told}
			}
			continue
		}
		f := problemFact(i, now)
		if r.muted(f) { // retried until people want to hear again
			pause = min(pause, problemLook)
			continue
		}
		told[i.ID] = toldProblem{Told: now.Round(0).UTC()}
		pause = min(pause, problemAgain)
		facts = append(facts, f)
	}
	for id, was := range told {
		switch {
		case stands[id]:
		case was.Ended.IsZero():
			told[id] = toldProblem{Told: was.Told, Ended: now.Round(0).UTC()}
		case now.Sub(was.Ended) > problemAgain:
			delete(told, id)
		}
	}
	return facts, max(pause, loop.MinPause)
}

// problemFact turns an issue into a notification: the title says what happened, the body what to do.
func problemFact(i health.Issue, now time.Time) office.Fact {
	return office.Fact{Key: "problem/" + i.ID + "/" + now.UTC().Format(time.RFC3339Nano), ProblemID: i.ID, Kind: office.FactProblem, Title: i.Message}
}
