package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"countersign/internal/office"
)

// Again is what a draft was made of, to be changed or to be sent once more. keep takes the bytes of each document and returns
// where they are from then on. They are those that the draft had: from its copy, or from where the file was found if it still has
// the same SHA-256. Documents of which that is not so are left out; lost are their names.
func (r *Service) Again(ctx context.Context, draftID string, keep func(ctx context.Context, name string, size int64, from io.Reader) (path string, err error)) (d office.NewPackage, lost []string, err error) {
	draft, known, err := r.draft(draftID)
	if err != nil || !known {
		return d, nil, err
	}
	d = draft.Again()
	for _, f := range draft.Files {
		path, err := r.keepAgain(ctx, f, keep)
		if errors.Is(err, errOtherBytes) {
			lost = append(lost, f.Name)
		} else if err != nil {
			return d, nil, err
		}
		switch {
		case f.Original > 0 && d.Template != nil && f.Original <= len(d.Template.Documents):
			d.Template.Documents[f.Original-1].File = path
		case path != "":
			d.Files = append(d.Files, path)
		}
	}
	return d, lost, nil
}

// errOtherBytes is returned for a document whose bytes are not there any more.
var errOtherBytes = errors.New("the bytes of the document are gone")

func (r *Service) keepAgain(ctx context.Context, f office.DraftFile, keep func(context.Context, string, int64, io.Reader) (string, error)) (string, error) {
	source, err := r.openCopy(f)
	if err != nil {
		if source, err = openSame(f); err != nil {
			return "", errOtherBytes
		}
	}
	defer source.Close()
	sum := sha256.New()
	path, err := keep(ctx, f.Name, f.Size, io.TeeReader(source, sum))
	if err != nil {
		return "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return "", errOtherBytes
	}
	return path, nil
}

// openSame opens the file that f was taken from, if it has the same length; whoever reads it compares the rest.
func openSame(f office.DraftFile) (*os.File, error) {
	doc, err := openDocument(f.Path)
	if err != nil {
		return nil, err
	}
	if f.SHA256 == "" || doc.Size != f.Size {
		doc.file.Close()
		return nil, errOtherBytes
	}
	return doc.file, nil
}
