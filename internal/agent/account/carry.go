package account

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/store"
)

// What is carried from one state to another.

// BackupKey is what backups are sealed for; an error while the keys are locked.
func (r *Service) BackupKey() ([32]byte, error) {
	r.keys.mu.Lock()
	defer r.keys.mu.Unlock()
	if r.keys.box == nil {
		return [32]byte{}, r.keys.lockedError()
	}
	return r.keys.backup, nil
}

// BackupPurpose is what the key for backups is derived for.
const BackupPurpose = "backup"

// passing reports of a sealed value that it is one of the moment: tomorrow's is another, and whoever shows today's then is
// taken for a thief, or believes what is not so any more.
func passing(name string) bool {
	kind, _, _ := strings.Cut(name, "@")
	return slices.Contains([]string{string(issuer.Refresh), string(issuer.Endpoint), string(issuer.FormerEndpoints), sealedRevocations}, kind)
}

// ReplaceSealed makes sealed values all that there are.
func ReplaceSealed(tx *store.Tx, sealed map[string][]byte) error {
	var failed []error
	for _, name := range tx.SealedNames() {
		failed = append(failed, tx.PutSealed(name, nil))
	}
	for _, name := range slices.Sorted(maps.Keys(sealed)) {
		failed = append(failed, tx.PutSealed(name, sealed[name]))
	}
	return errors.Join(failed...)
}

// ForgetPassing forgets the sealed values of another moment.
func ForgetPassing(tx *store.Tx) error {
	var failed []error
	for _, name := range tx.SealedNames() {
		if passing(name) {
			failed = append(failed, tx.PutSealed(name, nil))
		}
	}
	return errors.Join(failed...)
}

// Expire notes, in a state from elsewhere, that nobody is signed in any more.
func Expire(tx *store.Tx) error {
	var acc Record
	known, err := tx.GetDoc(Doc, &acc)
	if err != nil || !known || !acc.SignedIn {
		return err
	}
	acc.SignedIn, acc.Lapsed = false, true
	return tx.PutDoc(Doc, acc)
}

// Reload follows a state that was put in the place of the one before, and begins with a new session. It is called while no
// loop runs.
func (r *Service) Reload(ctx context.Context) error {
	r.pause()
	r.keys.mu.Lock()
	r.keys.opened = map[string][]byte{}
	r.keys.mu.Unlock()
	if err := r.Load(); err != nil {
		return err
	}
	if r.keys.Locked() {
		r.Begin(ctx)
		return nil
	}
	r.tellReplaced()
	r.Endpoint.Open(issuer.Of(r.Settings()))
	r.connect()
	r.checkSetUp()
	loop.Wake(r.wakeRevocations)
	return nil
}

// Park has nobody call the service and nobody sign in, or ends that.
func (r *Service) Park(on bool) {
	r.parked.Store(on)
	r.tellSignedOut()
}

// pause ends the session. Reload begins with another one.
func (r *Service) pause() {
	svc := r.current.Get().service
	if svc == nil {
		return
	}
	closeSession(svc.session)
	_ = r.current.Change(func(o Current) (Current, error) {
		o.service = nil
		return o, nil
	})
}
