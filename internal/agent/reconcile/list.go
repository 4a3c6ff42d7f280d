package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Lines returns every package in a few words, newest first.
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

// LinesSince returns the packages in a few words: those that are new or changed since a version, or all.
func (r *Service) LinesSince(version uint64) (office.Lines, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (office.Lines, error) { return tx.LinesSince(version) })
}

// Package returns one package with its files; known is false when there is none of that id.
func (r *Service) Package(id string) (row office.PackageRow, known bool, err error) {
	row, err = data.Read(r.Data, "package "+id, func(tx *store.Tx) (office.PackageRow, error) {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
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
		row.Files = append(row.Files, office.File{Path: filepath.Join(j.Folder, filepath.FromSlash(j.Target)),
			Kind: j.Kind, DocumentID: j.DocumentID, State: j.State, Seal: j.Seal, Match: j.Match, Problem: j.Problem})
	}
	slices.SortStableFunc(row.Files, func(x, y office.File) int {
		return cmp.Or(x.Kind.Rank()-y.Kind.Rank(), documentIndex(p, x.DocumentID)-documentIndex(p, y.DocumentID))
	})
	return row, err
}

func documentIndex(p office.Package, id string) int {
	return slices.IndexFunc(p.Documents, func(d office.Document) bool { return d.ID == id })
}

// Archive takes a package out of the list, or puts it back. Nothing else changes: it is followed, saved and told of as
// before, and when something new goes wrong with it, it is in the list again.
func (r *Service) Archive(packageID string, archived bool) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok {
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

// NoteLetter notes that a mail to a signer was begun, whom the address names.
func (r *Service) NoteLetter(packageID, address string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		s, signs := p.Find(address)
		if err != nil || !ok || !signs {
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

// Events returns authentic events, newest first, from before on ("" for the newest), and where the next page begins.
func (r *Service) Events(before office.Cursor, limit int) (list []office.Event, next office.Cursor, err error) {
	list, err = data.Read(r.Data, "the events", func(tx *store.Tx) (list []office.Event, err error) {
		list, next, err = tx.Events(before, limit)
		return list, err
	})
	return list, next, err
}

// RetryEvent handles an event once more: one that could not be understood, by a newer version perhaps, or one whose
// package deserves another look.
func (r *Service) RetryEvent(eventID string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		e, ok, err := tx.Event(eventID)
		if err != nil || !ok {
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

// forgetAtOnce is how many events one commit forgets.
const forgetAtOnce = 500

// ForgetEvents forgets the contents of events that were handled as many days ago as the settings say, as the store counts
// days; the id of each stays.
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

// EventLines returns the events that q asks for, oldest first.
func (r *Service) EventLines(q office.EventQuery) (lines []office.EventLine, err error) {
	for before, more := office.Cursor(""), true; more; {
		before, err = data.Read(r.Data, "the events", func(tx *store.Tx) (next office.Cursor, err error) {
			page, next, err := tx.Events(before, eventsAtOnce)
			if err != nil {
				return "", err
			}
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

// eventLine is e in words. packages are those met before.
func eventLine(tx *store.Tx, e office.Event, packages map[string]office.Package) (office.EventLine, error) {
	l := office.EventLine{ID: e.ID, Action: e.Action, PackageID: e.PackageID, Time: e.Time, Received: e.Received, Outcome: e.Outcome, Copies: e.Copies, Text: e.Reason}
	parsed, unreadable := esign.ParseEvent(e.Body)
	if unreadable != nil {
		return l, nil
	}
	p, met := packages[e.PackageID]
	if !met {
		var err error
		if p, _, err = tx.Package(e.PackageID); err != nil && !errors.Is(err, store.ErrRecord) { // its name is all that is missing
			return l, err
		}
		packages[e.PackageID] = p
	}
	known := parsed
	if p.ID != "" {
		known = apply.AsKnown(p, parsed)
	}
	l.Package, l.DocumentID, l.SignerID = p.DisplayName(), cmp.Or(known.DocumentID, parsed.DocumentID), cmp.Or(known.SignerID, parsed.SignerID)
	if l.Text.IsZero() {
		l.Text = eventMessage(p, known)
	}
	return l, nil
}

// Follow tells of each event from now on, once it is known what became of it, until ctx ends; before that, of those since
// then (zero: none). One that is handled anew is told again. It returns ctx's error, or why it cannot go on.
func (r *Service) Follow(ctx context.Context, since time.Time, tell func(office.EventLine) error) error {
	news, stop := r.settled.Watch()
	defer stop()
	if !since.IsZero() {
		before, err := r.EventLines(office.EventQuery{Since: since})
		if err != nil {
			return err
		}
		for _, l := range before {
			if l.Outcome == office.EventPending { // it is told when it is handled
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

// outcome is what became of an event; known is false while it is not handled.
func (r *Service) outcome(id string) (l office.EventLine, known bool, err error) {
	l, err = data.Read(r.Data, "event "+id, func(tx *store.Tx) (l office.EventLine, err error) {
		e, ok, err := tx.Event(id)
		if err != nil || !ok || e.Outcome == office.EventPending {
			return l, err
		}
		known = true
		return eventLine(tx, e, map[string]office.Package{})
	})
	return l, known && err == nil, err
}

// Settled tells those who follow that it is known what became of an event. It never blocks.
func (r *Service) Settled(eventID string) { r.settled.Signal(eventID) }

// Find returns the packages that q asks for, in its order.
func (r *Service) Find(q office.Query) ([]office.Package, error) {
	return data.Read(r.Data, "the packages", func(tx *store.Tx) (list []office.Package, err error) {
		lines, err := packageLines(tx)
		if err != nil {
			return nil, err
		}
		for _, l := range q.Choose(lines) {
			p, ok, err := tx.Package(l.ID)
			switch {
			case errors.Is(err, store.ErrRecord): // it holds up none of the others, and its line is there
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

// ErrNoLinks matches an error that means that the service gives out no links to sign with, whoever asks.
var ErrNoLinks = errors.New("the service has no links to sign with")

// EditPage returns the address of the service's own editor for a package, where fields are placed.
func (r *Service) EditPage(ctx context.Context, packageID string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, _ office.Package) (string, error) {
		return client.EditLink(ctx, packageID)
	})
}

// SignerPage returns the address of the page where a person signs, whom signer names: by id, e-mail address or name. It is
// asked for at the moment of use, because it does not live long, and is kept nowhere: whoever has it can sign.
func (r *Service) SignerPage(ctx context.Context, packageID, signer string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, p office.Package) (string, error) {
		s, ok := p.Find(signer)
		switch {
		case !ok:
			return "", message.Error(message.NoSuchSigner(signer), nil)
		case s.ID == "":
			return "", message.Error(message.SignerNotListed(), nil)
		case !p.StillSigns(s): // a service may hand out a link all the same
			return "", message.Error(message.NothingToSign(s.DisplayName()), nil)
		}
		link, err := client.SignLink(ctx, packageID, s.ID)
		var e *esign.Error
		switch {
		case esign.NotOffered(err):
			return link, message.Error(message.NoLinks(), errors.Join(ErrNoLinks, err))
		case errors.As(err, &e) && e.Status == http.StatusForbidden:
			return link, message.Error(message.MayNotHaveLinks(), err)
		}
		return link, err
	})
}

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
