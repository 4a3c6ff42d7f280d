package outbox

import (
	"context"
	"io"
	"time"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// uploadLife is how long an upload may wait for packages/add; the service keeps it for 24 hours.
const uploadLife = 22 * time.Hour

// upload brings the bytes of file i of d to the service, unless they are not what was given.
func (r *Service) upload(ctx context.Context, client *esign.Client, d office.Draft, i int) (esign.File, error) {
	f := d.Files[i]
	file, err := r.openCopy(f)
	if err != nil {
		return esign.File{}, err
	}
	info, err := file.Stat()
	file.Close()
	if err != nil {
		return esign.File{}, &DraftError{message.FileGone(f.Name)}
	}
	if info.Size() != f.Size {
		return esign.File{}, &DraftError{message.FileChanged(f.Name)}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return client.Upload(ctx, esign.Upload{
		FileName: f.Name, Size: f.Size, SHA256: f.SHA256, ExternalID: f.ExternalID,
		Open: func() (io.ReadCloser, error) { return r.openCopy(f) },
		Progress: func(sent int64) {
			r.live.progress(d, i, sent)
			if r.live.cancelled(d.ID) {
				cancel()
			}
		},
	})
}
