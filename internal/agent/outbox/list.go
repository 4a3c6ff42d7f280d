package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	"github.com/google/uuid"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Sums returns the SHA-256 of d's files in sending order. Its errors are those of Send.
func (r *Service) Sums(ctx context.Context, d office.NewPackage) (sums []string, err error) {
	docs, err := openDocuments(d)
	if err != nil {
		return nil, err
	}
	defer docs.close()
	for _, doc := range docs {
		sum := sha256.New()
		if _, err := io.Copy(sum, doc.file); err != nil {
			return nil, &DraftError{message.FileNotRead(doc.Name)}
		}
		sums = append(sums, hex.EncodeToString(sum.Sum(nil)))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return sums, nil
}

// KeepList stores what a list's packages have in common, with copies of its documents, which must have these SHA-256. also runs in
// the same commit, possibly more than once. Errors are those of Send, and a *DraftError for a document that cannot be sent.
func (r *Service) KeepList(ctx context.Context, d office.NewPackage, sums []string, also func(*store.Tx, *office.Draft) error) error {
	docs, err := openDocuments(d)
	if err != nil {
		return err
	}
	defer docs.close()
	if len(docs) == 0 && d.Template.Empty() {
		return &DraftError{message.NoDocument()}
	}
	draft := office.Draft{ID: uuid.NewString(), Name: d.Name, Template: d.Template.Clone(), State: office.DraftList, Created: r.Now(), By: r.deps.Sender()}
	check := func(d *office.Draft) error {
		for i, f := range d.Files {
			if i >= len(sums) || f.SHA256 != sums[i] {
				return &DraftError{message.FileChanged(f.Name)}
			}
		}
		return nil
	}
	return r.storeDraft(ctx, &draft, docs, storing{check: check, also: also})
}

// FromList stores the draft of a list's line under an id chosen before; common is what KeepList stored. Otherwise it is like
// KeepList.
func (r *Service) FromList(ctx context.Context, common office.Draft, id string, d office.NewPackage, also func(*store.Tx, *office.Draft) error) error {
	var docs documents
	defer func() { docs.close() }()
	for _, f := range common.Files {
		file, err := r.openCopy(f)
		if err != nil {
			return err
		}
		f.ExternalID = ""
		docs = append(docs, document{DraftFile: f, file: file})
		d.Files = append(d.Files, f.Path)
	}
	draft, err := r.newDraft(d, docs)
	if err != nil {
		return err
	}
	draft.ID, draft.By, draft.List = id, cmp.Or(common.By, draft.By), common.ID
	if err := r.storeDraft(ctx, &draft, docs, storing{looked: true, replaces: slices.Clone(d.Replaces), also: also}); err != nil {
		return err
	}
	for _, id := range d.Replaces {
		r.live.cancel(id, true)
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return nil
}

// TakeBackList takes back a list's waiting drafts, and returns the IDs of those that the service cannot have. Call Wake after the
// commit, to remove their copies.
func (r *Service) TakeBackList(tx *store.Tx, id string) (unsent []string, err error) {
	waiting, _ := tx.Drafts(office.DraftQueued)
	for _, d := range waiting {
		if d.List != id {
			continue
		}
		if _, err := r.takeBack(tx, d.ID, office.DraftCancelled); err != nil {
			return nil, err
		}
		if stood(d) != office.DraftUnknown {
			unsent = append(unsent, d.ID)
		}
	}
	return unsent, tx.Err()
}

// LetListGo drops the copies of a list's documents once nothing more is made of them.
func LetListGo(tx *store.Tx, id string) error {
	d, known, err := tx.Draft(id)
	if err != nil || !known || d.State != office.DraftList {
		return err
	}
	d.State = office.DraftCancelled
	return tx.PutDraft(d)
}
