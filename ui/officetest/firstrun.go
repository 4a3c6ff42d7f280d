package officetest

import (
	"context"

	"countersign/internal/agent"
	"countersign/internal/message"
)

// ReadOffice is env.Office's: the files of Handed can be read.
func (o *Office) ReadOffice(path string) (agent.OfficeFile, error) {
	file, ok := o.Handed[path]
	if !ok {
		return agent.OfficeFile{}, message.Error(message.OfficeFileForeign("x.countersign"), nil)
	}
	return file, nil
}

// MovePassword opens every file of another computer. The first word of its office's folder is missing.
const MovePassword = "correct horse battery"

// MoveOut is env.Office's.
func (o *Office) MoveOut(_ context.Context, path, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.MovedTo = path
	return nil
}

// MoveIn is env.Office's: the folder of the old computer is not here.
func (o *Office) MoveIn(_ context.Context, path, password, saveTo string) (agent.Brought, error) {
	switch {
	case password != MovePassword:
		return agent.Brought{}, message.Error(message.SealedPassword(path), nil)
	case saveTo == "":
		return agent.Brought{}, &agent.MissingFolderError{Folder: "/home/olivia/Signed"}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.BroughtTo = saveTo
	return agent.Brought{Computer: "old"}, nil
}

// LockKeyring locks the keyring, or unlocks it: while it is locked, what was entered can be neither kept nor read.
func (o *Office) LockKeyring(locked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locked = locked
}

// KeepFirstRun is env.Office's.
func (o *Office) KeepFirstRun(f agent.FirstRun) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.locked {
		return message.Error(message.KeyringStillLocked(), nil)
	}
	o.Entered = &f
	return nil
}

// FirstRun is env.Office's.
func (o *Office) FirstRun() (agent.FirstRun, bool, error) {
	f, err := kept(o, func() *agent.FirstRun { return o.Entered })
	if err != nil || f == nil || read(o, func() bool { return o.locked }) {
		return agent.FirstRun{}, false, err
	}
	return *f, true, nil
}
