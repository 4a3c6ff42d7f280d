package announce

import (
	"context"
	"maps"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// A problem that stands for some minutes is told, and once more each day that it stands: an expired sign-in or a missing
// folder would otherwise be seen only by who looks. A night for which the computer slept is none of these minutes: the network
// went before it, and comes back a moment after.
const (
	problemAgain = 24 * time.Hour
	problemBack  = time.Hour // one that comes back sooner than this after its end is the same one
	problemLook  = time.Minute
)

// docProblems names the document with the problems that people were told of, docStanding the one with those that stand.
const (
	docProblems = "problems told"
	docStanding = "problems standing"
)

// foundAgain is how long after a start a problem that stood at the end is found again.
const foundAgain = 10 * time.Minute

// toldProblem is when people were last told of a problem, and since when it is over; zero while it stands.
type toldProblem struct {
	Told  time.Time `json:"told"`
	Ended time.Time `json:"ended,omitzero"`
}

// watchProblems raises a notification for each problem in health that lasts, and keeps since when each stands.
func (r *Service) watchProblems(ctx context.Context) error {
	told, known, err := data.Doc[map[string]toldProblem](r.Data, docProblems)
	if err != nil {
		return err
	}
	if !known {
		told = map[string]toldProblem{}
	}
	stored, _, err := data.Doc[map[string]time.Time](r.Data, docStanding) // by the problem's id
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
		standing := r.standing(stood)
		before := maps.Clone(told)
		facts, pause := r.problemsDue(told, awake)
		if !maps.Equal(before, told) || !maps.EqualFunc(stored, standing, time.Time.Equal) {
			err := r.Data.Update(func(tx *store.Tx) error {
				for _, f := range facts {
					if err := putPending(tx, f); err != nil {
						return err
					}
				}
				if err := tx.PutDoc(docStanding, standing); err != nil {
					return err
				}
				return tx.PutDoc(docProblems, told)
			})
			if err != nil {
				return err
			}
			stored = standing
		}
		r.Announce(facts...)
		clock.Wait(r.Now(), pause)
		if !loop.Wait(ctx, pause, r.deps.HealthChanges) {
			return nil
		}
	}
}

// standing is since when each problem in health stands. One of stood, which stood when the program ended, has stood ever since,
// and is taken out once it is found again; those not found yet are kept.
func (r *Service) standing(stood map[string]time.Time) map[string]time.Time {
	standing := map[string]time.Time{}
	for _, i := range r.Health.List() {
		since, before := i.Since, stood[i.ID]
		if !before.IsZero() && before.Before(since) {
			since = before
			r.Health.StandsSince(i.ID, since)
		}
		delete(stood, i.ID)
		standing[i.ID] = since.Round(0).UTC()
	}
	maps.Copy(standing, stood)
	return standing
}

// problemsDue are the problems to be told of now, which it notes in told, and how long there will be no other. awake is when the
// computer woke up last, or its clock was set; zero for never.
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
		stood := awake.Add(due.Sub(i.Since)) // long enough since then
		was, known := told[i.ID]
		// A time that lies ahead was written by a clock that ran fast.
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
		if r.muted(f) { // pending until people want to hear again
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

// problemFact is what is wrong as a notification: what happened above, what to do below.
func problemFact(i health.Issue, now time.Time) office.Fact {
	return office.Fact{Key: "problem/" + i.ID + "/" + now.UTC().Format(time.RFC3339Nano), ProblemID: i.ID, Kind: office.FactProblem, Title: i.Message}
}
