package officetest

import (
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
