package agent

import (
	"context"
	"encoding/json"
	"time"

	"countersign/internal/agent/dropped"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/listing"
	"countersign/internal/agent/outbox"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
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

// newHotFolders joins the folders that send with the rest.
func (a *Agent) newHotFolders() *hotfolder.Service {
	return hotfolder.New(a.Base, hotfolder.Deps{
		DataDir: a.p.DataDir, Installation: func() string { return a.installation }, Settings: a.Settings, Words: a.p.Words,
		Account: func() (hotfolder.Account, bool) {
			o := a.account.Current()
			return hotfolder.Account{ID: o.Sender(), Email: o.Account.Email}, o.SignedIn()
		},
		Send: a.outbox.FromFolder, Passes: outbox.Passes, Moved: outbox.FileMoved,
		Owe: a.announcer.Queue, Announce: a.announcer.Announce, Watch: a.Watch, Events: a.p.FolderEvents, Crash: a.p.Crash,
		Changed: func() {
			a.backUp()
			a.Signal(office.SettingsChanged)
		},
	})
}

// saved notes that a file of p is saved, and returns what people are to be told of it.
func (a *Agent) saved(tx *store.Tx, p office.Package, jobs []office.Job) ([]office.Fact, error) {
	if err := hotfolder.WakeReturn(tx, p); err != nil {
		return nil, err
	}
	return a.announcer.Saved(tx, p, jobs)
}

// claim makes p a package of ours when its external data says so; see outbox.Service.Claim.
func (a *Agent) claim(tx *store.Tx, p *office.Package, data json.RawMessage) error {
	if err := a.outbox.Claim(tx, p, data); err != nil {
		return err
	}
	return hotfolder.WakeReturn(tx, *p)
}

// HotFolders is hotfolder.Service.Folders.
func (a *Agent) HotFolders() ([]office.HotFolderRow, error) { return a.folders.Folders() }

// PutHotFolder is hotfolder.Service.Put.
func (a *Agent) PutHotFolder(f office.HotFolder) (office.HotFolder, error) { return a.folders.Put(f) }

// RemoveHotFolder is hotfolder.Service.Remove.
func (a *Agent) RemoveHotFolder(id string) (known bool, err error) { return a.folders.Remove(id) }

// TryHotFolder checks a folder as PutHotFolder does, keeps nothing, and says that it works.
func (a *Agent) TryHotFolder(f office.HotFolder) (message.Message, error) {
	documents, err := a.folders.Try(f)
	if err != nil {
		return message.Message{}, err
	}
	if documents == 0 {
		return message.SendFolderWorksEmpty(), nil
	}
	return message.SendFolderWorks(documents), nil
}

// Templates is templates.Service.List.
func (a *Agent) Templates(ctx context.Context, search string) ([]office.Template, error) {
	return a.templates.List(ctx, search)
}

// UsedTemplates is templates.Service.Used.
func (a *Agent) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return a.templates.Used(limit)
}

// TemplatesOffered is templates.Service.Offered.
func (a *Agent) TemplatesOffered() bool { return a.templates.Offered() }
