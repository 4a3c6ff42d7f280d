package account

import (
	"context"
	"errors"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/secret"
)

// Unlock tries to read the key and says in health how it went. It reports whether the keys are open.
func (r *Service) Unlock(ctx context.Context) bool {
	r.unlocking.Lock()
	defer r.unlocking.Unlock()
	if !r.keys.Locked() {
		return true
	}
	if err := r.keys.unlock(ctx); err != nil {
		r.Log.Warn("the key is not available", "err", err)
		r.Health.Set(keyState(err), KeyMessage(err))
		return false
	}
	r.Health.Clear(health.KeyringLocked)
	if err := r.keys.adopt(r.Settings()); err != nil {
		r.Log.Error("name the issuer of what is kept", "err", err)
	}
	r.tellReplaced()
	r.Endpoint.Open(issuer.Of(r.Settings()))
	r.connect()
	loop.Wake(r.wakeRevocations)
	return true
}

// keyState is what is wrong when the key is out of reach: there is something to unlock, or something has to change first,
// and then it is tried again.
func keyState(err error) health.State {
	var u *secret.UnavailableError
	if errors.As(err, &u) && u.Reason != secret.Locked && u.Reason != secret.Refused {
		return health.KeyOutOfReach
	}
	return health.KeyringLocked
}

// KeyMessage is what a person reads when the key is out of reach.
func KeyMessage(err error) message.Message {
	var u *secret.UnavailableError
	if errors.As(err, &u) || !errors.Is(err, ErrLocked) {
		return secret.Message(err)
	}
	return message.KeyringStillLocked()
}

// LockedError says why the keys are locked.
func (r *Service) LockedError() error { return r.keys.reason() }

// RunKeys tries the keyring again while it is locked: at once when a person answers its question or the computer has woken up, and
// otherwise more and more rarely, because each time may raise another one.
func (r *Service) RunKeys(ctx context.Context) error {
	for tries := 1; r.keys.Locked(); tries++ {
		pause := time.NewTimer(r.Backoff(tries, 30*r.Pace.Retry, 15*time.Minute))
		select {
		case <-pause.C:
		case <-answered(r.keys.reason()):
		case <-r.wokeUp:
			tries = 0
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if r.Unlock(ctx) {
			r.Unlocked()
		}
	}
	<-ctx.Done()
	return nil
}

// WokeUp has a keyring that is locked tried at once: people unlock it when they sign in to the computer.
func (r *Service) WokeUp() { loop.Wake(r.wokeUp) }

// answered is closed when the keyring has answered what it was asked, if it has not yet.
func answered(err error) <-chan struct{} {
	var u *secret.UnavailableError
	if errors.As(err, &u) {
		return u.Answered
	}
	return nil
}

// HasSecrets reports which secrets are kept, never what they are. One whose key is gone is not.
func (r *Service) HasSecrets() (clientSecret, ngrokAuthtoken bool, err error) {
	s := r.Settings()
	clientSecret, err1 := r.keys.holds(issuer.ClientSecret.Of(issuer.Of(s)))
	ngrokAuthtoken, err2 := r.keys.holds(issuer.NgrokToken.Of(issuer.Ngrok(s)))
	return clientSecret, ngrokAuthtoken, errors.Join(err1, err2)
}
