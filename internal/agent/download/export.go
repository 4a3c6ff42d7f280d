package download

import (
	"context"
	"errors"
	"io/fs"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// exportSpare is how many bytes an export leaves free on the disk.
const exportSpare = 16 << 20

// Export copies the saved files of packages into a folder, which is made if need be, under the names they have below the
// office's. It replaces nothing: a file that is there already, as it was saved, stays, and beside another one of that name the
// copy gets a number. It goes on after a file that cannot be copied, but not where the folder takes no more. An error is that
// nothing could be begun.
func (r *Service) Export(ctx context.Context, packageIDs []string, folder string) (x office.Exported, err error) {
	var jobs []office.Job
	for _, id := range packageIDs {
		saved, err := data.Read(r.Data, "the saved files", func(tx *store.Tx) (done []office.Job, err error) {
			all, err := tx.JobsOf(id)
			for _, j := range all {
				if j.State == office.JobDone {
					done = append(done, j)
				}
			}
			return done, err
		})
		if err != nil {
			return x, err
		}
		if len(saved) > 0 {
			x.Packages++
		}
		jobs = append(jobs, saved...)
	}
	x.Files = len(jobs)
	if err := disk.MkdirAll(folder, 0o755); err != nil {
		r.Log.Warn("make a folder to export to", "err", err) // that it cannot be opened tells the rest
	}
	to, err := archive.OpenFolder(folder)
	if err != nil {
		return x, message.Error(archive.Message(err), err)
	}
	defer to.Close()
	for _, j := range jobs {
		err := export(ctx, to, j)
		switch {
		case err == nil:
			x.Copied++
			continue
		case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, archive.ErrMissing):
			x.Lost++
			continue
		}
		r.Log.Warn("export a file", "err", err)
		x.Problem = archive.Message(err)
		if ctx.Err() != nil || errors.Is(err, archive.ErrFull) || errors.Is(err, archive.ErrMissing) || errors.Is(err, archive.ErrReadOnly) {
			return x, nil
		}
	}
	return x, nil
}

// export copies one file under the first name that is free.
func export(ctx context.Context, to *archive.Folder, j office.Job) error {
	source, err := archive.OpenSaved(j.Folder, j.Target)
	if err != nil {
		return err
	}
	defer source.Close()
	for n := 1; ; n++ {
		name := filename.Numbered(j.Target, n)
		taken, err := to.Exists(name)
		if err != nil {
			return err
		}
		if taken {
			if same, err := to.Matches(name, j.Size, j.Digest); err == nil && same {
				return nil
			}
			continue
		}
		if _, err := to.Take(ctx, archive.Taking{Target: name, Source: source, Spare: exportSpare, Shared: true}); !errors.Is(err, archive.ErrExists) {
			return err
		}
	}
}
