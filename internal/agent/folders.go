package agent

import (
	"encoding/json"

	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/outbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// newHotFolders joins the folders that send with the rest.
func (a *Agent) newHotFolders() *hotfolder.Service {
	return hotfolder.New(a.Base, hotfolder.Deps{
		DataDir: a.p.DataDir, Installation: func() string { return a.installation }, Settings: a.Settings, Words: a.p.Words,
		Account: func() (hotfolder.Account, bool) {
			o := a.account.Current()
			return hotfolder.Account{ID: o.Sender(), Email: o.Account.Email}, o.SignedIn()
		},
		Send: a.outbox.FromFolder, Passes: outbox.Passes, Moved: outbox.FileMoved,
		Owe: a.announcer.Queue, Announce: a.announcer.Announce, Watch: a.Watch, Events: a.p.FolderEvents, Crash: a.p.Crash,
		Changed: func() {
			a.backUp()
			a.Signal(office.SettingsChanged)
		},
	})
}

// saved notes that a file of p is saved, and returns what people are to be told of it.
func (a *Agent) saved(tx *store.Tx, p office.Package, jobs []office.Job) ([]office.Fact, error) {
	if err := hotfolder.WakeReturn(tx, p); err != nil {
		return nil, err
	}
	return a.announcer.Saved(tx, p, jobs)
}

// claim makes p a package of ours when its external data says so; see outbox.Service.Claim.
func (a *Agent) claim(tx *store.Tx, p *office.Package, data json.RawMessage) error {
	if err := a.outbox.Claim(tx, p, data); err != nil {
		return err
	}
	return hotfolder.WakeReturn(tx, *p)
}

// HotFolders is hotfolder.Service.Folders.
func (a *Agent) HotFolders() ([]office.HotFolderRow, error) { return a.folders.Folders() }

// PutHotFolder is hotfolder.Service.Put.
func (a *Agent) PutHotFolder(f office.HotFolder) (office.HotFolder, error) { return a.folders.Put(f) }

// RemoveHotFolder is hotfolder.Service.Remove.
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
