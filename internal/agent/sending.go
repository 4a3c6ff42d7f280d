package agent

import (
	"context"
	"time"

	"countersign/internal/agent/dropped"
	"countersign/internal/agent/listing"
	"countersign/internal/agent/outbox"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What people and the window say about drafts.
type (
	DraftError = outbox.DraftError
	FileInfo   = outbox.FileInfo
)

// Delivery takes the files that another program hands over without a place of their own.
type Delivery = dropped.Delivery

// NewDelivery is for the files of one drop on the window.
func (a *Agent) NewDelivery() *Delivery { return DeliverInto(locations.Dropped(a.p.DataDir)) }

// DeliverInto is a delivery into any folder.
func DeliverInto(folder string) *Delivery { return dropped.New(folder) }

// forgetDropped removes what was dropped long ago and is in no draft, nor in the form.
func (a *Agent) forgetDropped() error {
	drafts, err := a.outbox.Drafts()
	if err != nil {
		return err
	}
	if a.Data.Store.Unreadable() > 0 {
		return nil // one of these may be a draft that is repaired one day
	}
	needed := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			needed[f.Path] = true
		}
	}
	form := a.form.Form()
	for _, f := range form.Files {
		needed[f.Path] = true
	}
	if form.Template != nil {
		for _, d := range form.Template.Documents {
			needed[d.File] = true
		}
	}
	return dropped.Sweep(locations.Dropped(a.p.DataDir), a.Now(), needed)
}

// newOutbox joins the outbox with the rest.
func (a *Agent) newOutbox() *outbox.Service {
	return outbox.New(a.Base, outbox.Deps{
		DataDir: a.p.DataDir, Crash: a.p.Crash, Pages: a.documents.Pages, Watch: a.Watch,
		Installation: func() string { return a.installation },
		Standing:     func() []office.Recipient { return a.Settings().DefaultRecipients() },
		Service: func() (*esign.Client, string, bool) {
			o := a.account.Current()
			client, online := a.account.OnlineIn(o)
			return client, o.Caller(), online
		},
		Sender:   func() string { return a.account.Current().Sender() },
		SignedIn: a.account.SignedIn, SignedOut: a.account.SignedOut,
		Rest:       func() time.Duration { return a.Breaker.Left(a.Now()) },
		LeaveAlone: func(d time.Duration) { a.Breaker.Open(a.Now(), d) },
		Answered:   func(ctx context.Context, err error) { a.account.Note(ctx, err) },
		List: func(client *esign.Client, draft office.Draft) outbox.List {
			return listing.Pages{Reader: listing.Since(client, a.budget, a.Now(), draft.Created)}
		},
		Used:         func(tx *store.Tx, d office.Draft) error { return a.templates.Note(tx, d) },
		PackageAdded: a.packages.Wake,
	})
}

// Send is outbox.Service.Send.
func (a *Agent) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	return a.outbox.Send(ctx, d, progress)
}

// Cancel is outbox.Service.Cancel.
func (a *Agent) Cancel(draftID string) (bool, error) { return a.outbox.Cancel(draftID) }

// Stop takes a draft that waits to be sent from the queue, and holds it; see outbox.Service.Stop.
func (a *Agent) Stop(draftID string) (bool, error) { return a.outbox.Stop(draftID) }

// Resolve does at once what a person has decided about a draft.
func (a *Agent) Resolve(draftID string, send bool) error { return a.outbox.Resolve(draftID, send, 0) }

// Decide is outbox.Service.Resolve.
func (a *Agent) Decide(draftID string, send bool, undo time.Duration) error {
	return a.outbox.Resolve(draftID, send, undo)
}

// UndoDecision is outbox.Service.Undo.
func (a *Agent) UndoDecision(draftID string) (inTime bool, err error) { return a.outbox.Undo(draftID) }

// Inspect is outbox.Service.Inspect.
func (a *Agent) Inspect(ctx context.Context, path string) FileInfo {
	return a.outbox.Inspect(ctx, path)
}

// Again is what a draft was made of, to be changed or to be sent once more; lost are the names of documents that are no longer
// there as they were.
func (a *Agent) Again(ctx context.Context, draftID string) (d office.NewPackage, lost []string, err error) {
	return a.outbox.Again(ctx, draftID, a.NewDelivery().Take)
}

// People is outbox.Service.People.
func (a *Agent) People() ([]office.Signer, error) { return a.outbox.People() }

// Drafts is outbox.Service.Drafts.
func (a *Agent) Drafts() ([]office.Draft, error) { return a.outbox.Drafts() }

// DraftOf is outbox.Service.DraftOf.
func (a *Agent) DraftOf(packageID string) (office.Draft, bool, error) {
	return a.outbox.DraftOf(packageID)
}

// KeepForm is form.Service.Keep.
func (a *Agent) KeepForm(f office.Form) { a.form.Keep(f) }

// Form is form.Service.Form.
func (a *Agent) Form() office.Form { return a.form.Form() }
