package officetest

import (
	"context"
	"time"

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

// MovePassword opens every file of another computer.
const MovePassword = "correct horse battery"

// MoveOut is env.Office's.
func (o *Office) MoveOut(_ context.Context, path, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.MovedTo = path
	return nil
}

// ReadMove is env.Office's.
func (o *Office) ReadMove(_ context.Context, path, password string) (agent.Arrival, error) {
	if password != MovePassword {
		return agent.Arrival{}, message.Error(message.SealedPassword(path), nil)
	}
	return agent.Arrival{
		Digest: "d", Computer: "front-desk", Made: time.Date(2026, 11, 23, 16, 5, 0, 0, time.Local), SignIn: "sign.example.com", Service: "api.example.com",
		Account: "olivia.office@example.com", Folder: "/home/olivia/Signed", Watched: []string{"/home/olivia/To sign", "/srv/leases"}, Packages: 214, Drafts: 2,
		LeftOut: []message.Message{message.CopiesLeftOut("Ana Ruiz <ana@example.com>")},
	}, nil
}

// MoveIn is env.Office's.
func (o *Office) MoveIn(_ context.Context, path, password, digest, saveTo string) error {
	switch {
	case password != MovePassword || digest != "d":
		return message.Error(message.SealedChanged(path), nil)
	case saveTo == "":
		return message.Error(message.ChooseFolder(), nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.BroughtTo = saveTo
	return nil
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
