package outbox

import (
	"context"
	"errors"
	"os"
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// FromFolder stores a draft for a file of a hot folder, which is open and was found at path. It is sent, or held for a person
// to say so. What also does is in the same commit and may change the draft; it may be called more than once. The errors are
// those of Send, and a *DraftError for a document that nobody could sign: what is judged is the copy that goes out.
func (r *Service) FromFolder(ctx context.Context, folder office.HotFolder, file *os.File, path string, also func(*store.Tx, *office.Draft) error) error {
	doc, err := asDocument(file, path)
	if err != nil {
		return err
	}
	docs := documents{doc}
	draft, err := r.newDraft(folder.Package(path, r.Now().Local()), docs)
	if err != nil {
		return err
	}
	draft.Folder, draft.By = folder.ID, folder.By
	if folder.Ask {
		draft.State = office.DraftHeld
	}
	check := func(d *office.Draft) error {
		info := r.look(ctx, d.Files[0], r.copyOf(d.Files[0]))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !info.Problem.IsZero():
			return &DraftError{info.Problem}
		case info.Warning == message.FileMaybeDamaged(info.Name): // nobody is there to decide about that
			return &DraftError{message.FileDamaged()}
		}
		return nil
	}
	if err := r.storeDraft(ctx, &draft, docs, storing{check: check, also: also}); err != nil {
		return err
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return nil
}

// FileMoved notes that a file of a draft lies elsewhere now. Call it while nothing is under way with the draft: it is held, or
// it has its end.
func FileMoved(tx *store.Tx, draftID, from, to string) error {
	d, known, err := tx.Draft(draftID)
	if err != nil || !known {
		return err
	}
	var moved bool
	for i := range d.Files {
		if d.Files[i].Path == from {
			d.Files[i].Path, moved = to, true
		}
	}
	if !moved {
		return nil
	}
	return tx.PutDraft(d)
}

// Passes reports whether an error of FromFolder is one of the moment: the file is being written, there is no room for its copy, or
// it could not be read to its end. The file could be opened: it is the share or the disk that failed, not the document.
func Passes(err error) bool {
	var refused *DraftError
	if !errors.As(err, &refused) {
		return false
	}
	passing := []message.Message{message.FileBusy(""), message.NoRoomForCopy(""), message.NotCopied(""), message.FileNotRead(""), message.FileMayNotBeRead("")}
	return slices.ContainsFunc(passing, func(m message.Message) bool { return m.ID() == refused.Text.ID() })
}
