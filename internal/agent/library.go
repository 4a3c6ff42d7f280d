package agent

import (
	"context"
	"image"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Saved returns the files saved last, newest first.
func (a *Agent) Saved(limit int) []office.Job {
	var list []office.Job
	err := a.Data.View(func(tx *store.Tx) error {
		var err error
		list, err = tx.RecentSaved(limit)
		return err
	})
	if err != nil {
		a.Log.Error("read the saved files", "err", err)
	}
	return list
}

// SaveAgain fetches the files of an executed package once more. One that is missing gets its name back; beside one
// that is there the next free name is taken.
func (a *Agent) SaveAgain(packageID string) error { return a.saves.SaveAgain(packageID) }

// DraftOf returns the draft that a package was sent from, when it was made here.
func (a *Agent) DraftOf(packageID string) (d office.Draft, ok bool) {
	err := a.Data.View(func(tx *store.Tx) error {
		p, known, err := tx.Package(packageID)
		if err != nil || !known || p.DraftID == "" {
			return err
		}
		d, ok, err = tx.Draft(p.DraftID)
		return err
	})
	if err != nil {
		a.Log.Error("read a draft", "err", err)
	}
	return d, ok
}

// EditPage returns the address of the service's own editor for a package, where fields are placed.
func (a *Agent) EditPage(ctx context.Context, packageID string) (string, error) {
	return a.linkTo(ctx, packageID, func(client *esign.Client) (esign.SignLink, error) { return client.EditLink(ctx, packageID) })
}

// SignerPage returns the address of the page where that person signs, where the service gives one out.
func (a *Agent) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	return a.linkTo(ctx, packageID, func(client *esign.Client) (esign.SignLink, error) { return client.SignLink(ctx, packageID, signerID) })
}

func (a *Agent) linkTo(ctx context.Context, packageID string, ask func(*esign.Client) (esign.SignLink, error)) (string, error) {
	client, online := a.account.Online()
	if !online {
		return "", &SignInError{Text: message.SignInFirst()}
	}
	if p, _ := a.Package(packageID); p.Service != "" && p.Service != client.Home() {
		return "", &SignInError{Text: message.AtAnotherService()}
	}
	link, err := ask(client)
	return link.URL, a.account.Note(ctx, err)
}

// Preview draws page 1 of a document on this computer, width pixels wide.
func (a *Agent) Preview(ctx context.Context, path string, width int) (image.Image, error) {
	return a.documents.FirstPage(ctx, a.outbox.Given(path), width)
}

// CheckNow asks the service about everything that is not final, as soon as it can be asked: people want to know now. An
// error says why it cannot.
func (a *Agent) CheckNow() error {
	if _, online := a.account.Online(); !online {
		return &SignInError{Text: message.NotSignedIn()}
	}
	a.packages.Sweep("somebody asked")
	a.Signal(office.StatusChanged)
	return nil
}
