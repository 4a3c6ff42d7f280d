package agent

import (
	"context"

	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/outbox"
	"countersign/internal/message"
	"countersign/internal/office"
)

// newHotFolders joins the folders that send with the rest.
func (a *Agent) newHotFolders() *hotfolder.Room {
	return hotfolder.New(a.Tools, hotfolder.Needs{
		DataDir: a.p.DataDir, Settings: a.Settings, Words: a.p.Words,
		Account: func() (hotfolder.Account, bool) {
			o := a.account.Current()
			return hotfolder.Account{ID: o.Sender(), Email: o.Account.Email}, o.SignedIn()
		},
		Inspect: func(ctx context.Context, path string) message.Message {
			info := a.outbox.Inspect(ctx, path)
			if info.Warning == message.FileMaybeDamaged(info.Name) { // nobody is there to decide about that
				return message.FileDamaged()
			}
			return info.Problem
		},
		Send: a.outbox.FromFolder, Passes: outbox.Passes, Moved: outbox.FileMoved,
		Owe: a.announcer.Owe, Announce: a.announcer.Announce, Watch: a.Watch, Events: a.p.FolderEvents, Crash: a.p.Crash,
		Changed: func() {
			a.backUp()
			a.Signal(office.SettingsChanged)
		},
	})
}

// HotFolders is hotfolder.Room.Folders.
func (a *Agent) HotFolders() ([]office.HotFolderRow, error) { return a.folders.Folders() }

// PutHotFolder is hotfolder.Room.Put.
func (a *Agent) PutHotFolder(f office.HotFolder) (office.HotFolder, error) { return a.folders.Put(f) }

// RemoveHotFolder is hotfolder.Room.Remove.
func (a *Agent) RemoveHotFolder(id string) (known bool, err error) { return a.folders.Remove(id) }

// TryHotFolder checks a folder as PutHotFolder does, keeps nothing, and says that it works.
func (a *Agent) TryHotFolder(f office.HotFolder) (message.Message, error) {
	documents, err := a.folders.Try(f)
	if err != nil {
		return message.Message{}, err
	}
	if documents == 0 {
		return message.SendFolderWorksEmpty(), nil
	}
	return message.SendFolderWorks(documents), nil
}
