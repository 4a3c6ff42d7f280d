package agent

import (
	"context"
	"fmt"
	"image"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/archive"
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
func (a *Agent) SaveAgain(packageID string) error {
	s := a.Settings()
	err := a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok || p.State != office.PackageExecuted {
			return err
		}
		jobs, err := tx.JobsOf(packageID)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			j.State, j.Planned, j.NextTry = office.JobPending, a.Now(), a.Now()
			j.Tries, j.Problem, j.Size, j.SHA256 = 0, message.Message{}, 0, ""
			j.Unproven, j.UnprovenAt = "", time.Time{}
			if j.Folder != s.SaveTo && !s.BesideOriginal {
				j.Folder = s.SaveTo
			}
			if err := a.nameAgain(tx, &j); err != nil {
				return err
			}
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		p.Saved, p.Planned = false, p.Planned && len(jobs) > 0
		p.NextCheck = a.Now() // where nothing is planned, the service is asked once more
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("save package %s again: %w", packageID, err)
	}
	loop.Wake(a.rings.save)
	loop.Wake(a.rings.reconcile)
	a.Signal(office.PackagesChanged)
	return nil
}

// nameAgain keeps j's name when no file and no other job has it, and chooses the next free one otherwise. In a folder that
// is out of reach only the names of other jobs are known; the save itself never overwrites.
func (a *Agent) nameAgain(tx *store.Tx, j *office.Job) error {
	inUse := unseen
	if folder, err := archive.OpenFolder(j.Folder); err == nil {
		defer folder.Close()
		inUse = folder.Exists
	}
	other, taken, err := tx.JobAt(j.Folder, j.Target)
	if taken = taken && other.Key() != j.Key(); err == nil && !taken {
		taken, err = inUse(j.Target)
	}
	if err != nil || !taken {
		return err
	}
	j.Target, err = freeName(tx, j.Folder, j.WantedName(), inUse)
	return err
}

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
	client, online := a.online()
	if !online {
		return "", &SignInError{message.SignInFirst()}
	}
	if p := a.packageOrZero(packageID); p.Service != "" && p.Service != client.Home() {
		return "", &SignInError{message.AtAnotherService()}
	}
	link, err := ask(client)
	return link.URL, a.noteServiceError(ctx, err)
}

// Preview draws page 1 of a document on this computer, width pixels wide.
func (a *Agent) Preview(ctx context.Context, path string, width int) (image.Image, error) {
	return a.documents.FirstPage(ctx, a.outbox.Given(path), width)
}
