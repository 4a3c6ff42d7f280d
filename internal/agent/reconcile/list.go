package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/time/rate"
)

// Lines returns every package in brief, newest first.
func (r *Service) Lines() ([]office.PackageLine, error) {
	return data.Read(r.Data, "the packages", packageLines)
}

func packageLines(tx *store.Tx) (lines []office.PackageLine, err error) {
	err = tx.PackageLines(func(l office.PackageLine) bool {
		lines = append(lines, l)
		return true
	})
	return lines, err
}

// LinesSince returns in brief the packages that are new or changed since a version, or all.
func (r *Service) LinesSince(version uint64) (office.Lines, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (office.Lines, error) { return tx.LinesSince(version) })
}

// Package returns one package with its files; known is false if there is none with that id.
func (r *Service) Package(id string) (row office.PackageRow, known bool, err error) {
	row, err = data.Read(r.Data, "package "+id, func(tx *store.Tx) (office.PackageRow, error) {
		p, ok, err := tx.Package(id)
		if !ok {
			return office.PackageRow{}, err
		}
		known = true
		return packageRow(tx, p)
	})
	return row, known && err == nil, err
}

func packageRow(tx *store.Tx, p office.Package) (office.PackageRow, error) {
	row := office.PackageRow{Package: p}
	row.Name = p.DisplayName()
	if p.State != office.PackageExecuted {
		return row, nil
	}
	jobs, err := tx.JobsOf(p.ID)
	for _, j := range jobs {
		row.FilesTotal++
		if j.State == office.JobDone {
			row.FilesDone++
		}
		row.Files = append(row.Files, office.File{Path: j.Path(),
			Kind: j.Kind, DocumentID: j.DocumentID, State: j.State, Seal: j.Seal, Match: j.Match, Problem: cmp.Or(j.Problem, j.Astray), Read: j.AstrayRead})
	}
	slices.SortStableFunc(row.Files, func(x, y office.File) int {
		return cmp.Or(x.Kind.Rank()-y.Kind.Rank(), documentIndex(p, x.DocumentID)-documentIndex(p, y.DocumentID))
	})
	return row, err
}

func documentIndex(p office.Package, id string) int {
	return slices.IndexFunc(p.Documents, func(d office.Document) bool { return d.ID == id })
}

// Archive hides a package from the list, or returns it. Nothing else changes: it is followed, saved and reported as before, and
// listed again if something new goes wrong with it. changed is false if it was so before.
func (r *Service) Archive(packageID string, archived bool) (changed bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if changed = ok && (p.Archived != nil) != archived; !changed {
			return err
		}
		p.Archive(archived)
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("archive package %s: %w", packageID, err)
	}
	r.Signal(office.PackagesChanged)
	return changed, nil
}

// NoteLetter records that a mail was started to the signer with that address.
func (r *Service) NoteLetter(packageID, address string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		s, signs := p.Find(address)
		if !ok || !signs {
			return err
		}
		p.AddHistory(office.HistoryEntry{Time: office.When{Time: r.Now()}, What: office.EntryLetter, Who: s.ID, Ref: s.DisplayName()})
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("note a mail about package %s: %w", packageID, err)
	}
	r.Signal(office.PackagesChanged)
	return nil
}

// Events returns authentic events, newest first, starting from before ("" for the newest), and where the next page begins.
func (r *Service) Events(before office.Cursor, limit int) (list []office.EventRow, next office.Cursor, err error) {
	list, err = data.Read(r.Data, "the events", func(tx *store.Tx) (list []office.EventRow, err error) {
		page, after, err := tx.Events(before, limit)
		next = after
		packages := map[string]office.Package{}
		for _, e := range page {
			line, wrong := eventLine(tx, e, packages)
			list, err = append(list, office.EventRow{Event: e, Line: line}), cmp.Or(err, wrong)
		}
		return list, err
	})
	return list, next, err
}

// RetryEvent processes an event again: one that could not be understood, perhaps now by a newer version, or one whose package should
// be checked again.
func (r *Service) RetryEvent(eventID string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		e, ok, err := tx.Event(eventID)
		if !ok {
			return err
		}
		e.Outcome, e.Reason, e.Handled = office.EventPending, message.Message{}, time.Time{}
		return tx.SetEvent(e)
	})
	if err != nil {
		return fmt.Errorf("handle event %s again: %w", eventID, err)
	}
	r.WakeEvents()
	return nil
}

// forgetAtOnce is how many events one commit deletes.
const forgetAtOnce = 500

// ForgetEvents deletes the contents of events processed longer ago than the settings say, in days as counted by the store; their ids
// stay.
func (r *Service) ForgetEvents(ctx context.Context) error {
	keep, all := r.deps.Settings().KeepEvents, 0
	for n := forgetAtOnce; n == forgetAtOnce && ctx.Err() == nil; all += n {
		err := r.Data.Update(func(tx *store.Tx) (err error) {
			n, err = tx.ForgetEvents(keep, forgetAtOnce)
			return err
		})
		if err != nil {
			return err
		}
	}
	if all > 0 {
		r.Log.Info("forgot the contents of old events", "events", all)
		r.Signal(office.ActivityChanged)
		r.Signal(office.StatusChanged)
	}
	return nil
}

// eventsAtOnce is how many events are read in one transaction.
const eventsAtOnce = 500

// EventLines returns the events matching q, oldest first.
func (r *Service) EventLines(q office.EventQuery) (lines []office.EventLine, err error) {
	for before, more := office.Cursor(""), true; more; {
		before, err = data.Read(r.Data, "the events", func(tx *store.Tx) (next office.Cursor, err error) {
			page, next, _ := tx.Events(before, eventsAtOnce)
			packages := map[string]office.Package{}
			for _, e := range page {
				if e.Received.Before(q.Since) || q.Limit > 0 && len(lines) == q.Limit {
					return "", nil
				}
				if q.PackageID != "" && e.PackageID != q.PackageID {
					continue
				}
				l, err := eventLine(tx, e, packages)
				if err != nil {
					return "", err
				}
				lines = append(lines, l)
			}
			return next, nil
		})
		more = before != ""
	}
	slices.Reverse(lines)
	return lines, err
}

// eventLine puts e into words. packages caches those met before.
func eventLine(tx *store.Tx, e office.Event, packages map[string]office.Package) (office.EventLine, error) {
	l := office.EventLine{ID: e.ID, Action: e.Action, PackageID: e.PackageID, Time: e.Time, Received: e.Received, Outcome: e.Outcome, Copies: e.Copies, Text: e.Reason}
	parsed, unreadable := esign.ParseEvent(e.Body)
	if unreadable != nil {
		return l, nil
	}
	p, met := packages[e.PackageID]
	if !met {
		var err error
		if p, _, err = tx.Package(e.PackageID); err != nil && !errors.Is(err, store.ErrRecord) { // only its name will be missing
			return l, err
		}
		packages[e.PackageID] = p
	}
	known := parsed
	if p.ID != "" {
		known = apply.AsKnown(p, parsed)
	}
	l.Package, l.DocumentID, l.SignerID = p.DisplayName(), cmp.Or(known.DocumentID, parsed.DocumentID), cmp.Or(known.SignerID, parsed.SignerID)
	l.Signer = p.SignerName(l.SignerID)
	if l.Text.IsZero() {
		l.Text = eventMessage(p, known)
	}
	return l, nil
}

// Follow reports each future event once its outcome is known, until ctx ends, after those since then (zero for none). A reprocessed
// event is reported again. It returns ctx's error, or why it cannot continue.
func (r *Service) Follow(ctx context.Context, since time.Time, tell func(office.EventLine) error) error {
	news, stop := r.settled.Watch()
	defer stop()
	if !since.IsZero() {
		before, err := r.EventLines(office.EventQuery{Since: since})
		if err != nil {
			return err
		}
		for _, l := range before {
			if l.Outcome == office.EventPending { // reported once processed
				continue
			}
			if err := tell(l); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case id := <-news:
			l, told, err := r.outcome(id)
			if told {
				err = tell(l)
			}
			if err != nil {
				return err
			}
		}
	}
}

// outcome returns an event's outcome; known is false until it is processed.
func (r *Service) outcome(id string) (l office.EventLine, known bool, err error) {
	l, err = data.Read(r.Data, "event "+id, func(tx *store.Tx) (l office.EventLine, err error) {
		e, ok, err := tx.Event(id)
		if !ok || e.Outcome == office.EventPending {
			return l, err
		}
		known = true
		return eventLine(tx, e, map[string]office.Package{})
	})
	return l, known && err == nil, err
}

// Settled notifies followers that an event's outcome is known. It never blocks.
func (r *Service) Settled(eventID string) { r.settled.Signal(eventID) }

// Find returns the packages matching q, in its order.
func (r *Service) Find(q office.Query) ([]office.Package, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (list []office.Package, err error) {
		lines, _ := packageLines(tx)
		for _, l := range q.Choose(lines) {
			p, ok, err := tx.Package(l.ID)
			switch {
			case errors.Is(err, store.ErrRecord): // it must not stop others, and its line exists
				list = append(list, office.Package{ID: l.ID, Name: l.Name, State: l.State, Origin: l.Origin, Created: l.Created, Due: l.Due, Executed: office.When{Time: l.Executed}})
			case err != nil:
				return nil, err
			case ok:
				list = append(list, p)
			}
		}
		return list, nil
	})
}

// EditPage returns the address of the service's own editor for a package, where fields are placed.
func (r *Service) EditPage(ctx context.Context, packageID string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, _ office.Package) (string, error) {
		return client.EditLink(ctx, packageID)
	})
}

// SignerPage returns the address of the page where a person signs, identified by id, e-mail address or name. It is requested at the
// moment of use, because it is short-lived, and never stored, because anyone who has it can sign.
func (r *Service) SignerPage(ctx context.Context, packageID, signer string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, p office.Package) (string, error) {
		s, ok := p.Find(signer)
		switch {
		case !ok:
			return "", message.Error(message.NoSuchSigner(signer), nil)
		case s.ID == "":
			return "", message.Error(message.SignerNotListed(), nil)
		case !p.StillSigns(s): // a service may return a link anyway
			return "", message.Error(message.NothingToSign(s.DisplayName()), nil)
		}
		link, err := client.SignLink(ctx, packageID, s.ID)
		var e *esign.Error
		switch {
		case esign.NotOffered(err):
			if r.LinksOffered() {
				r.noLinks.Failed(client.Home(), r.Now(), loop.HiddenFor)
			}
			return link, message.Error(message.NoLinks(), err)
		case errors.As(err, &e) && e.Status == http.StatusForbidden:
			return link, message.Error(message.MayNotHaveLinks(), err)
		case err == nil:
			r.noLinks.Worked(client.Home())
		}
		return link, err
	})
}

// LinksOffered reports whether the service may have links to sign with.
func (r *Service) LinksOffered() bool { return r.Offers(&r.noLinks) }

func (r *Service) link(ctx context.Context, packageID string, ask func(*esign.Client, office.Package) (string, error)) (string, error) {
	client, online := r.Session.Online()
	if !online {
		return "", message.Error(message.SignInFirst(), nil)
	}
	p, known, err := r.Data.Package(packageID)
	switch {
	case err != nil:
		return "", err
	case !known:
		return "", message.Error(message.NoSuchPackage(packageID), nil)
	case p.Service != "" && p.Service != client.Home():
		return "", message.Error(message.AtAnotherService(), nil)
	}
	link, err := ask(client, p)
	return link, r.Session.Note(ctx, err)
}

const (
	listPage    = 100 // items requested at once; the service may return fewer
	listOverlap = 10  // items requested twice, to detect a page that begins too late
	listRound   = 20  // pages per round
	listStale   = 3   // a list ends after this many pages without anything new
	listBacks   = 10  // a list changes too much to be read after this many steps back

	// listProof is how many packages must be in order, newest first, before the list counts as sorted: more than chance.
	listProof = 20
)

// listMargin allows for the service's clock differing from ours.
const listMargin = 24 * time.Hour

// listReader goes through the service's list page by page, possibly with pauses. It assumes nothing the service has not shown:
// neither the requested order, nor the page size, nor that the list does not change. Only if what has come is sorted newest first
// does it stop early, at known packages.
type listReader struct {
	client *esign.Client // the list's client: another one sees other packages at other positions
	began  time.Time
	known  time.Time // everything made before is known; zero to read to the end
	pages  int       // pages read so far

	budget   *rate.Limiter
	skip     int
	seen     map[string]bool
	previous map[string]bool // packages of the previous page, unless it does not overlap the next
	refused  int             // how many optional parameters are refused: the page size, then the order, too
	own      bool            // the account may list only its own packages
	stale    int
	backs    int

	last       time.Time // creation of the package read last
	proof      int       // packages that were older than their predecessor
	disordered bool
}

// newReader starts at the newest package visible to client, at the rate of budget. known is as in listReader.
func newReader(client *esign.Client, budget *rate.Limiter, began, known time.Time) *listReader {
	return &listReader{client: client, began: began, known: known, budget: budget, seen: map[string]bool{}}
}

// goesOn reports whether r, which may be nil, is a reading of client's list.
func (r *listReader) goesOn(client *esign.Client) bool { return r != nil && r.client == client }

type listEnd int

const (
	listMore  listEnd = iota // there is more to read
	listWhole                // everything, or everything unknown, has been read
	listTorn                 // at the end, but something was missed
)

// next reads a page, once the budget allows. After an error the same page is read again.
func (r *listReader) next(ctx context.Context) ([]esign.Status, listEnd, error) {
	if err := r.budget.Wait(ctx); err != nil {
		return nil, listMore, err
	}
	q := esign.ListQuery{NewestFirst: r.refused < 2, Own: r.own, Take: listPage, Skip: r.skip}
	if r.refused > 0 {
		q.Take = 0
	}
	page, err := readList(ctx, r.client, q)
	e, _ := errors.AsType[*esign.Error](err)
	switch {
	case err == nil:
	case r.pages == 0 && e != nil && e.Kind == esign.Refused && q.NewestFirst:
		r.refused++
		return r.next(ctx)
	case r.pages == 0 && e != nil && e.Kind == esign.Forbidden && !q.Own:
		r.own = true
		return r.next(ctx)
	default:
		return nil, listMore, err
	}
	r.pages++
	return page.Items, r.take(page), nil
}

// take evaluates a page of the list.
func (r *listReader) take(page esign.Page) listEnd {
	gap := len(r.previous) > 0 && !anyOf(page.Items, r.previous)
	fresh := r.see(page.Items)
	switch {
	case gap && (fresh > 0 || len(page.Items) == 0):
		// Something was removed from the list: unread items have moved to positions already read.
		if r.backs++; r.backs > listBacks {
			return listTorn
		}
		back := len(page.Items)
		if back == 0 {
			back = listPage
		}
		if r.skip = max(0, r.skip-back); r.skip == 0 {
			r.previous = nil
		}
		return listMore
	case len(page.Items) == 0:
		return r.end(page.Total)
	case fresh == 0 && r.skip+len(page.Items) > len(r.seen): // otherwise it is an overlap with pages already read
		if r.stale++; r.stale >= listStale {
			return r.end(page.Total)
		}
	case fresh > 0:
		r.stale = 0
	}
	if !r.known.IsZero() && !r.disordered && r.proof >= listProof && endsBefore(page.Items, r.known) {
		return listWhole
	}
	overlap := min(listOverlap, len(page.Items)/4)
	if page.Total > 0 && len(r.seen) >= page.Total {
		overlap = 0 // the next page should be empty
	}
	r.skip += len(page.Items) - overlap
	r.previous = nil
	if overlap > 0 {
		r.previous = ids(page.Items)
	}
	return listMore
}

// see records which packages were read, returns how many are new, and checks that they are sorted newest first.
func (r *listReader) see(items []esign.Status) (fresh int) {
	for _, s := range items {
		if r.seen[s.PackageID] {
			continue
		}
		fresh++
		r.seen[s.PackageID] = true
		switch {
		case s.TimeCreated.IsZero(), !r.last.IsZero() && s.TimeCreated.After(r.last):
			r.disordered = true
		case s.TimeCreated.Before(r.last):
			r.proof++
		}
		r.last = s.TimeCreated
	}
	return fresh
}

// end handles a list that returns no more. If the service says that there is more, something was missed.
func (r *listReader) end(total int) listEnd {
	if len(r.seen) < total {
		return listTorn
	}
	return listWhole
}

func ids(items []esign.Status) map[string]bool {
	set := make(map[string]bool, len(items))
	for _, s := range items {
		set[s.PackageID] = true
	}
	return set
}

func anyOf(items []esign.Status, known map[string]bool) bool {
	for _, s := range items {
		if known[s.PackageID] {
			return true
		}
	}
	return false
}

// endsBefore reports whether the last packages of a page, enough to prove an order, were made before then; one without a creation
// time was not.
func endsBefore(items []esign.Status, then time.Time) bool {
	for _, s := range items[max(0, len(items)-listProof):] {
		if s.TimeCreated.IsZero() || !s.TimeCreated.Before(then) {
			return false
		}
	}
	return true
}

// readList reads a page of the list. Known packages wait for it, so its time is limited.
func readList(ctx context.Context, client *esign.Client, q esign.ListQuery) (esign.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return client.List(ctx, q)
}
