package webhook

import (
	"context"
	"fmt"

	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// newInbox makes the webhook receiver: verified events go to the store before they are answered.
func (r *Service) newInbox() *inbox.Inbox {
	return inbox.New(inbox.Options{
		Keys:    func() []inbox.Key { return r.endpoints.valid(r.Now()) },
		Header:  func() string { return r.Current().Settings.SignatureHeader },
		Store:   r.storeEvent,
		Wake:    r.Arrived,
		Refused: r.noteRefusal,
		Now:     r.Now,
		Log:     r.Log,
	})
}

// storeEvent is the inbox's Store: the event is on disk when it returns without an error.
func (r *Service) storeEvent(_ context.Context, in inbox.Received) (added bool, err error) {
	ev := office.Event{
		ID: in.ID, Action: in.Event.Action, PackageID: in.Event.PackageID, Time: in.Event.Time,
		Body: in.Body, URL: in.URL, // Received is when it is committed: whoever has read later ones has read it
		Service: in.Service, // which may not be the one in use any more
	}
	if !in.Parsed {
		ev.Outcome, ev.Reason, ev.Handled = office.EventUnprocessable, message.EventUnreadable(), in.At
	}
	err = r.Data.UpdateFirst(func(tx *store.Tx) error {
		var err error
		added, err = tx.AddEvent(ev)
		return err
	})
	if err != nil { // that it came shows where the service reports to, and others may wait behind it
		r.couldNotListen()
		r.missed.expectNothing()
		return false, fmt.Errorf("store event %s: %w", ev.ID, err)
	}
	r.Crash("event stored")
	if added && ev.Outcome != office.EventPending {
		r.Settled(ev.ID)
	}
	r.Signal(office.StatusChanged)
	return added, nil
}
