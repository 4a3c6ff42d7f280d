package reconcile

import (
	"context"
	"errors"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docListed is the document with when the service's list was last read to its end, or to known packages.
const docListed = "listed"

// listed is that time; everything made before it and not final is known here.
type listed struct {
	Through time.Time `json:"through"`
	Whole   time.Time `json:"whole,omitzero"`  // when the list was last read completely
	Late    time.Time `json:"late,omitzero"`   // when it was last read back far enough to find packages shown late
	Unsent  time.Time `json:"unsent,omitzero"` // creation of the oldest package not sent at that time
	Own     bool      `json:"own,omitzero"`    // the account may list only its own packages
	Since   time.Time `json:"since"`           // account.Since when it was read
	Issuer  string    `json:"issuer"`          // client and service, see esign.Client.Issuer
}

// known returns the creation time before which the list need not be read again. Once a day it goes back further, because the list
// may show a package late, and now and then to the very end, because a package that was over here may be open again. A time in the
// future comes from a wrong clock.
func (l listed) known(now, since time.Time, issuer string) time.Time {
	whole := now.Sub(l.Whole)
	if l.Through.IsZero() || l.Issuer != issuer || l.Through.After(now.Add(loop.ClockSlack)) || !l.Since.Equal(since) || whole < 0 || whole > listWholly {
		return time.Time{}
	}
	known := l.Through.Add(-listMargin)
	if now.Sub(l.Late) >= listMargin {
		known = l.Through.Add(-listLate)
	}
	if u := l.Unsent.Add(-time.Second); !l.Unsent.IsZero() && u.Before(known) && now.Sub(u) < listUnsent {
		return u // there may be no event when it is sent
	}
	return known
}

// first reports whether the list, everybody's or only the account's own, has never been read to its end with that account and issuer.
func (l listed) first(since time.Time, issuer string, own bool) bool {
	return l.Whole.IsZero() || !l.Since.Equal(since) || l.Issuer != issuer || l.Own && !own
}

// How often the service's list is read without a request, to find packages made elsewhere whose event never arrived. A service
// without a list for us is asked once a day whether that is still so, and a list that took long to read is read less often.
const (
	listSeldom  = 6 * time.Hour    // while events arrive
	listOften   = 20 * time.Minute // while none can
	listRefused = 24 * time.Hour
	listPerPage = 10 * time.Second // at least this long per page of the last reading
	listWholly  = 7 * 24 * time.Hour
	listLate    = 7 * 24 * time.Hour  // how long after its creation the list may first show a package
	listUnsent  = 30 * 24 * time.Hour // how long to watch for a package made in the web application to be sent
)

// ForgetList forgets what was read of the service's list, because another service has a different one.
func ForgetList(tx *store.Tx) { tx.PutDoc(docListed, nil) }

// discovery is how long the service's list is not read again, how many tries in a row have failed, and an unfinished reading.
type discovery struct {
	rest    loop.Cooldown
	doubted loop.Cooldown // pause before reading again because something else failed
	tries   int
	reading *listReader
	since   time.Time // account.Since when reading began
	unsent  time.Time // creation of the oldest unsent package found
	behind  bool      // the beginning of the list, already read, must be read again
	torn    bool      // the last reading missed something
}

// ReadList requests that the list be read soon.
func (r *Service) ReadList() {
	r.listWanted.Store(true)
	loop.Wake(r.lists)
}

// RunList reads the service's list now and then, and for every sweep. It is independent of calls about known packages: a hanging
// list does not delay them.
func (r *Service) RunList(ctx context.Context) error {
	return loop.Repeat(ctx, r.lists, func(ctx context.Context) (time.Duration, error) {
		return max(r.readList(ctx, &r.list), loop.MinPause), nil
	})
}

// listGivenUp is how many tries in a row may fail before nothing waits for the list any more.
const listGivenUp = 3

// Listed reports whether the list was read since the start of the program, or cannot be: then it is known which drafts of an earlier
// state, as from a copy of the data folder, are packages already.
func (r *Service) Listed() bool { return r.listRead.Load() }

// readList reads the list if it is time, and returns how long until the next time.
func (r *Service) readList(ctx context.Context, l *discovery) (pause time.Duration) {
	again, soon := r.sweep.takeList()
	if r.listWanted.Swap(false) && l.tries == 0 || again { // a failing list keeps its pause
		l.rest, l.behind = loop.Cooldown{}, l.reading != nil
	}
	client, pause := r.mayAsk()
	if client == nil {
		return pause
	}
	if soon { // the sweep reads it
		return maxIdle
	}
	if r.Health.Has(health.ServiceFails) && l.tries == 0 && l.doubted.Over(r.Now()) {
		// A person's request has failed, and no other call may notice for hours that the service works again.
		l.rest, l.doubted = loop.Cooldown{}, loop.CoolFor(r.Now(), listOften)
	}
	r.lookAround(ctx, client, l)
	if ctx.Err() == nil && (l.reading == nil && l.tries == 0 || l.tries >= listGivenUp) && !r.listRead.Swap(true) {
		r.deps.Drafts()
	}
	if ctx.Err() == nil && (l.reading == nil || l.tries > 0) && r.sweep.listed(r.Now(), l.tries == 0) {
		r.Signal(office.StatusChanged)
	}
	return min(l.rest.Left(r.Now()), maxIdle)
}

// lookAround reads the service's list if it is time. A failed reading is continued later.
func (r *Service) lookAround(ctx context.Context, client *esign.Client, l *discovery) {
	now := r.Now()
	if !l.rest.Over(now) {
		return
	}
	pause, err := r.discover(ctx, client, l)
	var e *esign.Error
	switch {
	case err == nil:
		r.sweep.answers()
		l.tries = 0
	case errors.As(err, &e) && !e.Temporary() && !loop.ConcernsAll(err):
		r.sweep.answers()
		l.tries, pause, l.reading = 0, listRefused, nil
	default:
		l.tries++
		pause = max(r.Backoff(l.tries, r.Pace.Retry, time.Hour), r.Breaker.Left(now))
		if ctx.Err() == nil {
			r.unanswered(pause)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Info("list packages", "err", err, "again in", pause)
	}
	l.rest = loop.CoolFor(now, pause)
}

// discover finds packages of the organization made elsewhere while this computer was not listening, if the service has a list. It
// reads back to what was made before the last complete reading, so that an interrupted one leaves no gap. A long list is read in
// several rounds, the next of which may start after pause. What was finished before the office first signed in is not fetched.
func (r *Service) discover(ctx context.Context, client *esign.Client, l *discovery) (pause time.Duration, err error) {
	since := r.deps.Since()
	last, _, err := data.Doc[listed](r.Data, docListed)
	if err != nil {
		return 0, err
	}
	if !l.reading.goesOn(client) || !l.since.Equal(since) {
		l.reading, l.since = newReader(client, r.deps.Budget, r.Now(), last.known(r.Now(), since, client.Issuer())), since
		l.behind, l.unsent = false, time.Time{}
	}
	reading := l.reading
	end := listMore
	for range listRound {
		var items []esign.Status
		if items, end, err = reading.next(ctx); err != nil {
			return 0, r.noteListError(ctx, err, l.tries)
		}
		for _, s := range items {
			if made := s.TimeCreated; s.State.Unsent() && !made.IsZero() && r.Now().Sub(made) < listUnsent && (l.unsent.IsZero() || made.Before(l.unsent)) {
				l.unsent = made
			}
		}
		r.Session.Note(ctx, nil) // an office without open packages makes no other calls
		if err := r.meetPackages(client.Home(), items, since, last.first(since, client.Issuer(), reading.own)); err != nil {
			return 0, err
		}
		if end != listMore {
			break
		}
	}
	if end == listMore {
		return 0, nil
	}
	l.reading = nil
	pause = listSeldom
	switch {
	case l.behind:
		pause = 0
	case r.deps.Webhook.Deaf():
		pause = listOften
	}
	pause = max(pause, time.Duration(reading.pages)*listPerPage)
	again := l.torn
	if l.torn = end == listTorn; l.torn {
		r.Log.Info("the list of packages moved while it was read; it is read once more", "pages", reading.pages)
	}
	if l.torn || reading.own { // others are unknown, and the next reading goes to the end, too
		if l.torn && !again || !last.first(since, client.Issuer(), reading.own) {
			return pause, nil
		}
		return pause, r.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc(docListed, listed{Whole: reading.began, Own: reading.own, Since: since, Issuer: client.Issuer()})
		})
	}
	if !reading.known.IsZero() && reading.began.Sub(last.Late) < listMargin && l.unsent.Equal(last.Unsent) {
		return pause, nil // the stored document already says so
	}
	next := listed{Through: reading.began, Whole: last.Whole, Late: last.Late, Unsent: l.unsent, Since: since, Issuer: client.Issuer()}
	if reading.known.IsZero() {
		next.Whole = reading.began
	}
	if !reading.known.After(last.Through.Add(-listLate)) {
		next.Late = reading.began
	}
	return pause, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docListed, next) })
}

// listAlone is how many tries in a row may fail before a failing list counts as a failing service, if no other calls are made that
// would tell.
const listAlone = 2

// noteListError handles the consequences that an error would have for any other call, too: a failing list does not mean that the
// service fails, unless after that many tries nothing else is known of it, and a refusal is an answer. It returns err unchanged.
func (r *Service) noteListError(ctx context.Context, err error, tries int) error {
	var e *esign.Error
	if loop.ConcernsAll(err) || errors.As(err, &e) && (!e.Temporary() || e.Kind == esign.Network || e.RetryAfter > 0) ||
		tries >= listAlone && r.asksNothingElse() {
		return r.Session.Note(ctx, err)
	}
	return err
}

func (r *Service) asksNothingElse() bool {
	next, err := data.Read(r.Data, "the next package that is due", (*store.Tx).NextPackageCheck)
	return err == nil && next.IsZero()
}

// meetPackages stores what a part of home's list shows: a record for every unknown package that is not over, and another check of
// those that are over here but not there. A package known from another service now belongs to home: it is the same service under
// another address. first is true until the list has been read to its end once.
func (r *Service) meetPackages(home string, items []esign.Status, since time.Time, first bool) error {
	var fresh int
	for _, s := range items {
		if s.PackageID != "" && !esign.UsableID(s.PackageID) {
			r.TellUnusable(s.PackageID, "", message.ListNamesUnusable())
		}
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		fresh = 0
		restored := r.Restored(tx)
		for _, s := range items {
			if !esign.UsableID(s.PackageID) {
				continue
			}
			p, known, err := tx.FirstPackage(apply.Cases(s.PackageID))
			if store.OfOneRecord(err) {
				continue // it must not stop others; its problem is reported when it is due
			}
			if err != nil {
				return err
			}
			var news bool
			if known && apply.SameAs(p, s.PackageID) {
				news = r.openAgain(&p, s)
				if p.Service != home {
					p.NextCheck, news = r.Now(), true
				}
			} else {
				old := r.wasBefore(tx, home, s, since, first)
				p, news = r.meet(s)
				if news = news && !old; s.TimeCreated.Before(restored) {
					p.Restored = r.RestoredHere(tx)
				}
			}
			p.Service = home
			if p.DraftID == "" {
				r.deps.Claim(tx, &p, s.ExternalData)
				news = news || p.DraftID != "" // whatever its outcome
			}
			if !news {
				continue
			}
			fresh++
			tx.PutPackage(p)
		}
		return nil
	})
	if err == nil && fresh > 0 {
		r.Signal(office.PackagesChanged)
		r.deps.Drafts()
		r.Wake()
	}
	return err
}

// MarkRestored makes the service be asked what has happened to packages, and which were made, since the backup from which the state
// was restored; people are not told a second time.
func MarkRestored(tx *store.Tx, now time.Time) {
	change(tx, func(p *office.Package) { p.Restored, p.NextCheck = now, now })
}

// AskAgain makes the service be asked what has happened to packages while the office was moving. People are told: a decline without
// a time that is not known of yet is news.
func AskAgain(tx *store.Tx, now time.Time) {
	change(tx, func(p *office.Package) {
		if p.NextCheck = now; !p.Heard.IsZero() {
			p.Heard = now
		}
	})
}

// change changes the packages that are not final.
func change(tx *store.Tx, how func(*office.Package)) {
	open, _ := tx.Unfinished()
	waiting, _ := tx.UnfinishedJobs()
	for _, j := range waiting {
		if p, ok, _ := tx.Package(j.PackageID); ok { // else it cannot be read
			open = append(open, p)
		}
	}
	for _, p := range open {
		how(&p)
		tx.PutPackage(p)
	}
}

// wasBefore reports whether a package was finished before the office first signed in. If the list does not say when, what it shows
// as executed the first time counts as before, and is remembered; later additions do not.
func (r *Service) wasBefore(tx *store.Tx, home string, s esign.Status, since time.Time, first bool) bool {
	if s.State != office.PackageExecuted || !s.TimeCreated.Before(since) {
		return false
	}
	if !s.TimeExecuted.IsZero() {
		return s.TimeExecuted.Before(since)
	}
	fresh, _ := tx.Once("before/" + home + "/" + s.PackageID)
	return first || !fresh
}

// meet starts the record of an unknown package, unless it is over.
func (r *Service) meet(s esign.Status) (p office.Package, wanted bool) {
	state := s.State
	p = office.Package{
		ID: s.PackageID, Origin: office.MadeElsewhere, Name: s.Name, Created: r.Latest(), Inquiry: office.Inquiry{NextCheck: r.Now()},
		Source: office.Source{ExternalData: s.ExternalData}, Met: true,
	}
	made := office.At(s.TimeCreated, p.Created)
	p.Created, p.Met = made.Time, made.By
	if at := office.At(s.TimeExecuted, r.Latest()); state == office.PackageExecuted && !at.By {
		p.Executed = at
	}
	return p, !state.Over() && !state.Unsent()
}

// openAgain requests the status at once of a package of which the list knows more: everyone has signed, or it is over here but not
// there. Either its due date was extended, or the page predates its end: only the status can tell. That everybody has signed is
// never outdated, and counts even if the status call does not answer about it.
func (r *Service) openAgain(p *office.Package, s esign.Status) (news bool) {
	switch state := s.State; {
	case p.State == office.PackageExecuted:
		return false // it is checked until its files are planned
	case state == office.PackageExecuted && !p.State.Over() && p.Refused.IsZero():
	case state == office.PackageExecuted:
		p.Execute(office.At(s.TimeExecuted, r.Latest()))
	case p.State.Over() && state != "" && !state.Over():
		p.RecordPending = r.Now() // keeps it from being final
	default:
		return false
	}
	p.NextCheck = r.Now()
	return true
}
