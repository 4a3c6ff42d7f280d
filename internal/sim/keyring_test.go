package sim

import (
	"context"
	"sync"

	"countersign/internal/secret"
)

// keyring is the computer's, which may be locked.
type keyring struct {
	secret.Keeper
	mu     sync.Mutex
	locked bool
}

func newKeyring() *keyring { return &keyring{Keeper: secret.Memory()} }

func (k *keyring) lock(locked bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.locked = locked
}

func (k *keyring) state() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locked {
		return &secret.UnavailableError{Reason: secret.Locked}
	}
	return nil
}

func (k *keyring) Load(ctx context.Context) (secret.Key, error) {
	if err := k.state(); err != nil {
		return secret.Key{}, err
	}
	return k.Keeper.Load(ctx)
}

func (k *keyring) Create(ctx context.Context) (secret.Key, error) {
	if err := k.state(); err != nil {
		return secret.Key{}, err
	}
	return k.Keeper.Create(ctx)
}
