package download

import (
	"context"
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docFoldersLeft names the document with the folders that settings have left: temporary files of ours may still be in them.
const docFoldersLeft = "folders-left"

// leaveFolder remembers a folder for the next start.
func leaveFolder(tx *store.Tx, folder string) error {
	var left []string
	if _, err := tx.GetDoc(docFoldersLeft, &left); err != nil {
		return err
	}
	if slices.Contains(left, folder) {
		return nil
	}
	return tx.PutDoc(docFoldersLeft, append(left, folder))
}

// sweepAll removes temporary files that an earlier run left behind in the office's folder and in those it had
// before. A folder that is not there now is looked into once files are to be saved in it, or with the next start.
func (r *Service) sweepAll(ctx context.Context) {
	left, _, err := data.Doc[[]string](r.Data, docFoldersLeft)
	if err != nil {
		return // the next start sweeps them
	}
	if s := r.deps.Settings(); s.SaveTo != "" {
		r.sweepFolder(ctx, s.SaveTo)
	}
	remaining := slices.DeleteFunc(slices.Clone(left), func(folder string) bool { return r.sweepFolder(ctx, folder) })
	if len(remaining) == len(left) {
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docFoldersLeft, remaining) }); err != nil {
		r.Log.Warn("forget the folders left", "err", err)
	}
}

// sweepFolders does the same for the folders of jobs, once per run each. No save is under way.
func (r *Service) sweepFolders(ctx context.Context, jobs []office.Job) {
	for _, j := range jobs {
		if !r.state.swept(j.Folder) {
			r.sweepFolder(ctx, j.Folder)
		}
	}
}

// sweepFolder reports whether the folder could be looked through.
func (r *Service) sweepFolder(ctx context.Context, folder string) bool {
	f, err := archive.OpenFolder(folder)
	if err != nil {
		return false
	}
	defer f.Close()
	// Several computers may share the folder: only what belongs to jobs of ours goes.
	busy := r.state.busy()
	pending, err := data.Read(r.Data, "the files that wait", (*store.Tx).PendingJobs)
	if err != nil {
		return false
	}
	ours := map[string]bool{}
	for _, j := range pending {
		ours[archive.Token(r.tempKey(j))] = !busy[j.Key()]
	}
	n, err := f.Sweep(ctx, func(token string) bool { return !ours[token] })
	if err != nil {
		r.Log.Warn("remove leftover files", "err", err)
		return false
	}
	if n > 0 {
		r.Log.Info("removed leftover files", "count", n)
	}
	r.state.sweptNow(folder)
	return true
}
