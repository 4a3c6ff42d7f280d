package officetest

import (
	"context"
	"errors"
	"image"
	"path/filepath"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Lines is env.Office's.
func (o *Office) Lines() []office.PackageLine {
	return read(o, func() []office.PackageLine {
		lines := make([]office.PackageLine, len(o.Rows))
		for i, row := range o.Rows {
			lines[i] = lineOf(row)
		}
		return lines
	})
}

// lineOf is what the store keeps of a package for the list.
func lineOf(row office.PackageRow) office.PackageLine {
	p := row.Package
	for _, s := range row.Next {
		p.NextSigners = append(p.NextSigners, s.ID)
	}
	p.Planned, p.Saved = row.FilesTotal > 0, row.FilesTotal > 0 && row.FilesDone == row.FilesTotal
	return p.Line()
}

// Package is env.Office's.
func (o *Office) Package(id string) (office.PackageRow, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.Rows {
		if row.ID == id {
			return row, true
		}
	}
	return office.PackageRow{}, false
}

// SaveAgain is env.Office's.
func (o *Office) SaveAgain(packageID string) error {
	o.Change(office.PackagesChanged, func(o *Office) { o.Again = append(o.Again, packageID) })
	return nil
}

// Archive is env.Office's.
func (o *Office) Archive(packageID string, archived bool) error {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if o.Rows[i].ID == packageID {
				o.Rows[i].Archived = nil
				if archived {
					o.Rows[i].Archived = &office.Archived{}
				}
			}
		}
	})
	return nil
}

// CheckNow is env.Office's; without somebody signed in it fails.
func (o *Office) CheckNow() (err error) {
	o.Change(office.StatusChanged, func(o *Office) {
		o.Asked++
		o.State.Checking = o.State.SignedIn
		if !o.State.SignedIn {
			err = message.Error(message.NotSignedIn(), nil)
		}
	})
	return err
}

// DraftOf is env.Office's.
func (o *Office) DraftOf(packageID string) (office.Draft, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d, ok := o.Origins[packageID]
	return d, ok
}

// EditPage is env.Office's.
func (o *Office) EditPage(_ context.Context, packageID string) (string, error) {
	if page := read(o, func() string { return o.Pages[packageID] }); page != "" {
		return page, nil
	}
	return "", message.Error(message.ServiceKnowsNot(), nil)
}

// Preview is env.Office's.
func (o *Office) Preview(_ context.Context, path string, _ int) (image.Image, error) {
	if picture := read(o, func() image.Image { return o.Pictures[filepath.Base(path)] }); picture != nil {
		return picture, nil
	}
	return nil, errors.New("there is no picture")
}

// Saved is env.Office's.
func (o *Office) Saved(limit int) []office.Job {
	return read(o, func() []office.Job { return append([]office.Job{}, o.Files[:min(limit, len(o.Files))]...) })
}

// People is env.Office's.
func (o *Office) People() []office.Signer {
	return read(o, func() []office.Signer { return append([]office.Signer{}, o.Known...) })
}

// Inspect is env.Office's; what OnInspect does not say is a good file of one page.
func (o *Office) Inspect(_ context.Context, path string) agent.FileInfo {
	if o.OnInspect != nil {
		return o.OnInspect(path)
	}
	return agent.FileInfo{Path: path, Name: filepath.Base(path), Size: 48_211, Pages: 1}
}

// Pause is env.Office's.
func (o *Office) Snooze(until time.Time) {
	o.Change(office.StatusChanged, func(o *Office) { o.Quiet = until })
}

// Paused is env.Office's.
func (o *Office) Snoozed() time.Time { return read(o, func() time.Time { return o.Quiet }) }
