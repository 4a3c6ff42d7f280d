package officetest

import (
	"context"
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Update is what Newest says.
func (o *Office) Update() office.Update { return read(o, func() office.Update { return o.Newest }) }

// Fixed are the settings in Rules.
func (o *Office) Fixed(setting string) bool {
	return read(o, func() bool { return slices.Contains(o.Rules, setting) })
}

// CheckUpdate finds Release, and fails with NoUpdate.
func (o *Office) CheckUpdate(context.Context) (office.Update, error) {
	o.Change(office.StatusChanged, func(o *Office) {
		if o.NoUpdate == nil {
			o.Newest = o.Release
		}
	})
	return o.Update(), read(o, func() error { return o.NoUpdate })
}

// InstallUpdate counts in Installed, and fails with NoUpdate. Where it takes more than a click, the file is then at Update.Path.
func (o *Office) InstallUpdate(_ context.Context, progress func(office.UpdateStep)) (path string, err error) {
	progress(office.UpdateStep{Got: 1, Total: 2})
	progress(office.UpdateStep{Got: 2, Total: 2, Waits: true})
	o.Change(office.StatusChanged, func(o *Office) {
		if o.NoUpdate == nil {
			o.Installed++
			if !o.Newest.OneClick {
				o.Newest.Path = "/home/ana/.config/countersign/update/countersign_1.2.0_amd64.deb"
				o.Newest.Todo = message.UpdateWithPackage(o.Newest.Path)
			}
		}
	})
	return o.Update().Path, read(o, func() error { return o.NoUpdate })
}
