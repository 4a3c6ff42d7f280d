package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"countersign/internal/agent/data"
	"countersign/internal/agent/issuer"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// The names of the sealed values that nobody gave out.
const (
	sealedLocalhost   = "localhost-certificate"
	sealedRevocations = "revocations" // JSON of what services that were left are still to be told
	sealedFirstRun    = "first-run"   // JSON of FirstRun, until there are settings
)

// DocKeyID names the document with the fingerprint of the key that sealed the values.
const DocKeyID = "key-id"

// ErrLocked means that the key cannot be read now; the values are there and must be left alone.
var ErrLocked = fmt.Errorf("the keyring is locked: %w", secret.ErrUnavailable)

// Vault keeps the office's secrets sealed in the store. The key lives in the OS keyring (or a key file); it has
// three states: present, absent (a fresh one is made) and unavailable (every get and put answers ErrLocked, and
// nothing is touched). Safe for concurrent use.
type Vault struct {
	st      *data.Data
	keeper  secret.Keeper
	changed func() // called after every commit

	mu     sync.Mutex
	box    *secret.Box
	id     string            // of the key
	backup [32]byte          // follows from the key, see BackupKey
	why    error             // why box is nil
	opened map[string][]byte // plain values, so that an event costs no AES and no transaction
}

// unlock loads the key, or makes one where there is certainly none. Values that another key has sealed stay as they
// are: when that key comes back, they are of use again.
func (v *Vault) unlock(ctx context.Context) error {
	key, err := v.keeper.Load(ctx)
	if errors.Is(err, secret.ErrAbsent) {
		key, err = v.keeper.Create(ctx)
	}
	if errors.Is(err, secret.ErrPresent) { // made by somebody else in between
		key, err = v.keeper.Load(ctx)
	}
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.why = err
		return err
	}
	box, err := secret.NewBox(key)
	if err != nil {
		return err
	}
	backup, err := key.Derive(BackupPurpose)
	if err != nil {
		return err
	}
	known, _, err := data.Doc[string](v.st, DocKeyID)
	if err != nil {
		return err
	}
	if id := key.ID(); known != id {
		if err := v.st.Update(func(tx *store.Tx) error { return tx.PutDoc(DocKeyID, id) }); err != nil {
			return err
		}
		v.changed()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.box, v.id, v.backup, v.opened = box, key.ID(), backup, map[string][]byte{}
	return nil
}

// lost reports whether the value name is there, but sealed by a key that is not.
func (v *Vault) lost(name string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return false, nil
	}
	b, err := v.sealed(name)
	if err != nil || b == nil {
		return false, err
	}
	_, err = v.box.Open(name, b)
	return errors.Is(err, secret.ErrWrongKey), nil
}

// sealed is the value as it is kept, nil when there is none.
func (v *Vault) sealed(name string) ([]byte, error) {
	return data.Read(v.st, "what is sealed as "+name, func(tx *store.Tx) ([]byte, error) {
		b, _ := tx.Sealed(name)
		return bytes.Clone(b), nil
	})
}

// lockedError says why there is no key. The caller holds mu.
func (v *Vault) lockedError() error {
	if v.why == nil {
		return ErrLocked
	}
	return fmt.Errorf("%w: %w", ErrLocked, v.why)
}

// reason is lockedError for whoever does not hold mu.
func (v *Vault) reason() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lockedError()
}

// Locked reports whether unlock has not yet succeeded.
func (v *Vault) Locked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.box == nil
}

// Get returns the value name, or nil when there is none or when it was sealed by a key that is gone.
func (v *Vault) Get(name string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return nil, v.lockedError()
	}
	if plain, ok := v.opened[name]; ok {
		return plain, nil
	}
	sealed, err := v.sealed(name)
	if err != nil || sealed == nil {
		return nil, err
	}
	plain, err := v.box.Open(name, sealed)
	if errors.Is(err, secret.ErrWrongKey) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	v.opened[name] = plain
	return plain, nil
}

// adopt gives the values that an earlier version sealed without an issuer to those that the settings name. What another
// key has sealed stays as it is.
func (v *Vault) adopt(s office.Settings) error {
	i := issuer.Of(s)
	values := map[string][]byte{}
	for kind, owner := range map[issuer.Sealed]issuer.Name{
		issuer.ClientSecret: i, issuer.Refresh: i, issuer.Endpoint: i, issuer.FormerEndpoints: i, issuer.NgrokToken: issuer.Ngrok(s),
	} {
		plain, err := v.Get(string(kind))
		if err != nil {
			return err
		}
		if plain != nil {
			values[kind.Of(owner)], values[string(kind)] = plain, nil
		}
	}
	if len(values) == 0 {
		return nil
	}
	return v.Put(values)
}

// of returns the names of the sealed values of a kind, whoever issued them; of all for none.
func (v *Vault) of(kind issuer.Sealed) ([]string, error) {
	names, err := data.Read(v.st, "what is sealed", func(tx *store.Tx) ([]string, error) { return tx.SealedNames(), nil })
	return slices.DeleteFunc(names, func(name string) bool { return kind != "" && !strings.HasPrefix(name, kind.Of("")) }), err
}

// Has reports whether there is a sealed value of that name, whether or not it can be opened.
func (v *Vault) Has(name string) (bool, error) {
	b, err := v.sealed(name)
	return b != nil, err
}

// holds is Has, but for a value whose key is known to be gone.
func (v *Vault) holds(name string) (bool, error) {
	there, err1 := v.Has(name)
	lost, err2 := v.lost(name)
	return there && !lost, errors.Join(err1, err2)
}

// Put seals values (nil forgets one) and commits them together with whatever also records. They are on disk when
// it returns without an error.
func (v *Vault) Put(values map[string][]byte, also ...func(*store.Tx) error) error {
	err := v.commit(values, also)
	if err == nil {
		v.changed()
	}
	return err
}

func (v *Vault) commit(values map[string][]byte, also []func(*store.Tx) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.box == nil {
		return v.lockedError()
	}
	sealed := make(map[string][]byte, len(values))
	for name, plain := range values {
		if plain == nil {
			sealed[name] = nil
			continue
		}
		b, err := v.box.Seal(name, plain)
		if err != nil {
			return fmt.Errorf("seal %s: %w", name, err)
		}
		sealed[name] = b
	}
	err := v.st.UpdateFrozen(func(tx *store.Tx) error { // what a service was told is noted, also once the office has moved away
		for name, b := range sealed {
			if err := tx.PutSealed(name, b); err != nil {
				return err
			}
		}
		for _, f := range also {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, plain := range values {
		if plain == nil {
			delete(v.opened, name)
		} else {
			v.opened[name] = plain
		}
	}
	return nil
}

// refreshVault is the esign.Vault of this office.
type refreshVault struct {
	v     *Vault
	name  string // of the sealed token
	crash func(point string)
	free  <-chan struct{} // closed once the session before has ended: the token has one owner
}

// wait returns when the token has no other owner.
func (r refreshVault) wait(ctx context.Context) error {
	select {
	case <-r.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refresh is esign.Vault's.
func (r refreshVault) Refresh(ctx context.Context) (string, error) {
	if err := r.wait(ctx); err != nil {
		return "", err
	}
	b, err := r.v.Get(r.name)
	return string(b), err
}

// SetRefresh is esign.Vault's.
func (r refreshVault) SetRefresh(ctx context.Context, token string) error {
	if err := r.wait(ctx); err != nil {
		return err
	}
	if token == "" {
		return r.v.Put(map[string][]byte{r.name: nil})
	}
	r.crash("renewed")
	if err := r.v.Put(map[string][]byte{r.name: []byte(token)}); err != nil {
		return err
	}
	r.crash("renewal kept")
	return nil
}
