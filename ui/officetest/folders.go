package officetest

import (
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
)

// HotFolders is env.Office's.
func (o *Office) HotFolders() ([]office.HotFolderRow, error) {
	return kept(o, func() []office.HotFolderRow { return slices.Clone(o.Folders) })
}

// PutHotFolder is env.Office's.
func (o *Office) PutHotFolder(f office.HotFolder) (office.HotFolder, error) {
	f = f.Normal()
	if bad := f.Check(); len(bad) > 0 {
		return f, &office.ConfigError{Fields: bad}
	}
	o.Change(office.SettingsChanged, func(o *Office) {
		if i := slices.IndexFunc(o.Folders, func(x office.HotFolderRow) bool { return x.ID == f.ID }); i >= 0 && f.ID != "" {
			confirmed := o.Folders[i].Confirm && o.Folders[i].Paused == f.Paused
			if o.Folders[i].HotFolder = f; confirmed {
				o.Folders[i].Confirm, o.Folders[i].Problem = false, message.Message{}
			}
			return
		}
		f.ID = f.Path
		o.Folders = append(o.Folders, office.HotFolderRow{HotFolder: f})
	})
	return f, nil
}

// RemoveHotFolder is env.Office's.
func (o *Office) RemoveHotFolder(id string) (known bool, err error) {
	o.Change(office.SettingsChanged, func(o *Office) {
		before := len(o.Folders)
		o.Folders = slices.DeleteFunc(o.Folders, func(x office.HotFolderRow) bool { return x.ID == id })
		known = len(o.Folders) < before
	})
	return known, nil
}

// TryHotFolder is env.Office's.
func (o *Office) TryHotFolder(f office.HotFolder) (message.Message, error) {
	if bad := f.Normal().Check(); len(bad) > 0 {
		return message.Message{}, &office.ConfigError{Fields: bad}
	}
	return message.SendFolderWorksEmpty(), nil
}
