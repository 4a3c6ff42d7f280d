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
// listed again if something new goes wrong with it.
func (r *Service) Archive(packageID string, archived bool) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if !ok {
			return err
		}
		p.Archive(archived)
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("archive package %s: %w", packageID, err)
	}
	r.Signal(office.PackagesChanged)
	return nil
}

// NoteLetter records that a mail was started to the signer with that address.
func (r *Service) NoteLetter(packageID, address string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		s, signs := p.Find(address)
		if !ok || !signs {
			return err
		}
		p.History = append(p.History, office.HistoryEntry{Time: office.When{Time: r.Now()}, What: office.EntryLetter, Who: s.ID, Ref: s.DisplayName()})
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
