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

// docListed names the document with when the service's list was last read to its end, or to what was known before.
const docListed = "listed"

// listed is that moment; everything made before it and not final is known here.
type listed struct {
	Through time.Time `json:"through"`
	Whole   time.Time `json:"whole,omitzero"`  // when it was last read to its very end
	Late    time.Time `json:"late,omitzero"`   // when it was last read back to what it may have shown late
	Unsent  time.Time `json:"unsent,omitzero"` // when the oldest package was made that had not been sent then
	Since   time.Time `json:"since"`           // the account.Since it was read with
	Issuer  string    `json:"issuer"`          // as what client of which service, as esign.Client.Issuer
}

// known is what a reading that begins now need not read: what was made before. Once a day it reads further back, because the list
// may show a package late, and now and then everything all the same, for the list may show that a package is not over that was
// over here. A moment to come is that of a wrong clock.
func (l listed) known(now, since time.Time, issuer string) time.Time {
	whole := now.Sub(l.Whole)
	if l.Issuer != issuer || l.Through.After(now.Add(loop.ClockSlack)) || !l.Since.Equal(since) || whole < 0 || whole > listWholly {
		return time.Time{}
	}
	known := l.Through.Add(-listMargin)
	if now.Sub(l.Late) >= listMargin {
		known = l.Through.Add(-listLate)
	}
	if u := l.Unsent.Add(-time.Second); !l.Unsent.IsZero() && u.Before(known) && now.Sub(u) < listUnsent {
		return u // no event may tell that it is sent
	}
	return known
}

// first reports whether the list was not read to its end yet by the account that signed in then, as that issuer.
func (l listed) first(since time.Time, issuer string) bool {
	return l.Whole.IsZero() || !l.Since.Equal(since) || l.Issuer != issuer
}

// How often the service's list is read when nothing asks for it: it finds packages made elsewhere whose event never
// came. A service that has no list for us is asked once a day whether that is still so, and a list that took long to
// read is left alone for longer.
const (
	listSeldom  = 6 * time.Hour    // while events arrive
	listOften   = 20 * time.Minute // while none can
	listRefused = 24 * time.Hour
	listPerPage = 10 * time.Second // for each page of the last reading at least
	listWholly  = 7 * 24 * time.Hour
	listLate    = 7 * 24 * time.Hour  // by how much later than it was made the list may show a package
	listUnsent  = 30 * 24 * time.Hour // for how long a package that is made in the web application is looked for until it is sent
)

// ForgetList forgets what was read of the service's list: another service has another one.
func ForgetList(tx *store.Tx) error { return tx.PutDoc(docListed, nil) }

// discovery is how long the service's list is not read again, how many tries in a row have failed, and a reading that is
// not done.
type discovery struct {
	rest    loop.Cooldown
	doubted loop.Cooldown // how long it is not read again because something else failed
	tries   int
	reading *listReader
	since   time.Time // the account.Since that reading began with
	unsent  time.Time // when the oldest package was made that it has met and that is not sent
	behind  bool      // the beginning of the list, which reading has passed, is to be read again
}

// ReadList has the list read soon: what it shows is wanted.
func (r *Service) ReadList() {
	r.listWanted.Store(true)
	loop.Wake(r.lists)
}

// RunList reads the service's list now and then, and for every sweep. It has no part in what is asked of packages that are known: a
// list that hangs holds up none of them.
func (r *Service) RunList(ctx context.Context) error {
	return loop.Repeat(ctx, r.lists, func(ctx context.Context) (time.Duration, error) {
		return max(r.readList(ctx, &r.list), loop.MinPause), nil
	})
}

// readList reads the list if it is time, and returns how long it will not be.
func (r *Service) readList(ctx context.Context, l *discovery) (pause time.Duration) {
	again, soon := r.sweep.takeList()
	if r.listWanted.Swap(false) && l.tries == 0 || again { // one that fails is left alone for as long as it is
		l.rest, l.behind = loop.Cooldown{}, l.reading != nil
	}
	client, pause := r.mayAsk()
	if client == nil {
		return pause
	}
	if soon { // for which it is read then
		return maxIdle
	}
	if r.Health.Has(health.ServiceFails) && l.tries == 0 && l.doubted.Over(r.Now()) {
		// What a person asked for failed, and nothing else may ask for hours whether it still does.
		l.rest, l.doubted = loop.Cooldown{}, loop.CoolFor(r.Now(), listOften)
	}
	r.lookAround(ctx, client, l)
	if ctx.Err() == nil && (l.reading == nil || l.tries > 0) && r.sweep.listed(r.Now(), l.tries == 0) {
		r.Signal(office.StatusChanged)
	}
	return min(l.rest.Left(r.Now()), maxIdle)
}

// lookAround reads the service's list when it is time. A reading that failed is continued by itself.
func (r *Service) lookAround(ctx context.Context, client *esign.Client, l *discovery) {
	now := r.Now()
	if !l.rest.Over(now) {
		return
	}
	pause, err := r.discover(ctx, client, l)
	var e *esign.Error
	switch {
	case err == nil:
		l.tries = 0
	case errors.As(err, &e) && !e.Temporary() && !loop.ConcernsAll(err):
		l.tries, pause, l.reading = 0, listRefused, nil
	default:
		l.tries++
		pause = max(r.Backoff(l.tries, r.Pace.Retry, time.Hour), r.Breaker.Left(now))
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Info("list packages", "err", err, "again in", pause)
	}
	l.rest = loop.CoolFor(now, pause)
}

// discover finds packages of the organization that were made elsewhere while this computer did not listen, as far as
// the service offers a list. It reads on to what was made before the last complete reading, so that one that broke off
// in the middle leaves no gap. A long list is read in several rounds; what one did not read is left to the next, which
// may begin after pause. What was finished before the office first signed in is not fetched.
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
		r.Session.Note(ctx, nil) // an office with no package under way asks for nothing else
		if err := r.meetPackages(client.Home(), items, since, last.first(since, client.Issuer())); err != nil {
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
	if end == listTorn {
		r.Log.Info("the list of packages moved while it was read; it is read once more", "pages", reading.pages)
		return pause, nil
	}
	if reading.own { // nothing is known of the others, which the account may list one day
		return pause, nil
	}
	if !reading.known.IsZero() && reading.began.Sub(last.Late) < listMargin && l.unsent.Equal(last.Unsent) {
		return pause, nil // the document says as much already
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

// listAlone is how many tries in a row have failed before a list that does not work is the service's trouble, where nothing else is
// asked that would tell.
const listAlone = 2

// noteListError draws the consequences of what would befall any other call too: a list that does not work is no reason to
// say that the service does not, unless it is all that is known of it after so many tries, and one that is refused is an answer. It
// returns err unchanged.
func (r *Service) noteListError(ctx context.Context, err error, tries int) error {
	var e *esign.Error
	if loop.ConcernsAll(err) || errors.As(err, &e) && (!e.Temporary() || e.Kind == esign.Network || e.RetryAfter > 0) ||
		tries >= listAlone && r.asksNothingElse() {
		return r.Session.Note(ctx, err)
	}
	return err
}

// asksNothingElse reports whether there is no package that the service is asked about.
func (r *Service) asksNothingElse() bool {
	next, err := data.Read(r.Data, "the next package that is due", (*store.Tx).NextPackageCheck)
	return err == nil && next.IsZero()
}

// meetPackages draws what a part of home's list shows into the store: a record for every package that is not known and
// not over, and another look at those that are over here and not there. One that was known at another service is at home
// now: it is the same service under another address. first is set until the list was read to its end once.
func (r *Service) meetPackages(home string, items []esign.Status, since time.Time, first bool) error {
	var fresh int
	for _, s := range items {
		if s.PackageID != "" && !esign.UsableID(s.PackageID) {
			r.TellUnusable(s.PackageID, "", message.ListNamesUnusable())
		}
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		fresh = 0
		restored, err := data.Restored(tx, r.Now())
		if err != nil {
			return err
		}
		for _, s := range items {
			if !esign.UsableID(s.PackageID) {
				continue
			}
			p, known, err := tx.FirstPackage(apply.Cases(s.PackageID))
			if store.OfOneRecord(err) {
				continue // it holds up no other; what is wrong with it is told where it is due
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
				old, err := r.wasBefore(tx, home, s, since, first)
				if err != nil {
					return err
				}
				p, news = r.meet(s)
				if news = news && !old; s.TimeCreated.Before(restored) {
					p.Restored = restored
				}
			}
			p.Service = home
			if p.DraftID == "" {
				if err := r.deps.Claim(tx, &p, s.ExternalData); err != nil {
					return err
				}
				news = news || p.DraftID != "" // whatever has become of it
			}
			if !news {
				continue
			}
			fresh++
			if err := tx.PutPackage(p); err != nil {
				return err
			}
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

// MarkRestored has it found out what happened to packages since the backup was made that the state is from, and what they were made;
// nobody is told of it a second time.
func MarkRestored(tx *store.Tx, now time.Time) error {
	open, err1 := tx.Unfinished()
	waiting, err2 := tx.UnfinishedJobs()
	err := errors.Join(err1, err2)
	for _, j := range waiting {
		p, ok, unread := tx.Package(j.PackageID)
		switch {
		case unread != nil && !store.OfOneRecord(unread):
			err = errors.Join(err, unread)
		case ok && unread == nil:
			open = append(open, p)
		}
	}
	for _, p := range open {
		p.Restored, p.NextCheck = now, now
		err = errors.Join(err, tx.PutPackage(p))
	}
	return err
}

// wasBefore reports whether a package was finished before the office first signed in. Where the list does not say when,
// what it shows as executed the first time was so before, and is remembered; what is new among it later was not.
func (r *Service) wasBefore(tx *store.Tx, home string, s esign.Status, since time.Time, first bool) (bool, error) {
	if s.State != office.PackageExecuted || !s.TimeCreated.Before(since) {
		return false, nil
	}
	if !s.TimeExecuted.IsZero() {
		return s.TimeExecuted.Before(since), nil
	}
	fresh, err := tx.Once("before/" + home + "/" + s.PackageID)
	return first || !fresh, err
}

// meet begins the record of a package that is not known, unless it is over.
func (r *Service) meet(s esign.Status) (p office.Package, wanted bool) {
	state := s.State
	p = office.Package{
		ID: s.PackageID, Origin: office.MadeElsewhere, Name: s.Name, Created: r.Now(), Inquiry: office.Inquiry{NextCheck: r.Now()},
		Source: office.Source{ExternalData: s.ExternalData}, Met: true,
	}
	if !s.TimeCreated.IsZero() {
		p.Created, p.Met = s.TimeCreated, false
	}
	if state == office.PackageExecuted {
		p.Executed.Time = s.TimeExecuted
	}
	return p, !state.Over() && !state.Unsent()
}

// openAgain has the service asked about a package at once of which the list knows more: it was signed by everyone, or it is
// over here and not there. That may be because its time to sign was extended, or because the page is older than its end: the
// status alone tells. That everybody has signed is never too old, and counts where the status call does not tell about it.
func (r *Service) openAgain(p *office.Package, s esign.Status) (news bool) {
	switch state := s.State; {
	case p.State == office.PackageExecuted:
		return false // it is asked about until its files are planned
	case state == office.PackageExecuted && !p.State.Over() && p.Refused.IsZero():
	case state == office.PackageExecuted:
		p.Execute(office.At(s.TimeExecuted, r.Now()))
	case p.State.Over() && state != "" && !state.Over():
		p.RecordPending = r.Now() // so that it is not final
	default:
		return false
	}
	p.NextCheck = r.Now()
	return true
}
