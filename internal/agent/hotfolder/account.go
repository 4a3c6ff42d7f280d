package hotfolder

import (
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// A folder sends from the account that set it up. Where somebody else signs in, it rests until a person says that it is
// theirs, too, by saving it once more.

// sender reports whether documents of f may be sent now, and what people are told when a person has to confirm that first. What
// is not sent stays where it is.
func (r *Service) sender(f office.HotFolder) (confirm message.Message, may bool) {
	now, signedIn := r.deps.Account()
	switch {
	case !signedIn: // nobody knows as whom it would be sent
		return message.Message{}, false
	case f.By == "" || now.ID == "" || f.By == now.ID:
		return message.Message{}, true
	case now.Email == "":
		return message.SendFolderOtherAccount(), false
	default:
		return message.SendFolderOtherAccountAs(now.Email), false
	}
}

// owned are the folders that send. Those that were set up while nobody was signed in become those of whoever is first.
func (r *Service) owned() ([]office.HotFolder, error) {
	list, err := r.folders()
	now, signedIn := r.deps.Account()
	orphan := func(f office.HotFolder) bool { return f.By == "" }
	if err != nil || !signedIn || now.ID == "" || !slices.ContainsFunc(list, orphan) {
		return list, err
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		if list, err = foldersIn(tx); err != nil {
			return err
		}
		for i := range list {
			if orphan(list[i]) {
				list[i].By = now.ID
			}
		}
		return tx.PutDoc(DocFolders, list)
	})
	return list, err
}

// own notes in f, which takes the place of old, whose it is. Whoever saves a folder has confirmed it; a pause says nothing.
func (r *Service) own(f *office.HotFolder, old office.HotFolder) {
	f.By = old.By
	now, signedIn := r.deps.Account()
	if signedIn && now.ID != "" && f.Paused == old.Paused {
		f.By = now.ID
	}
}
