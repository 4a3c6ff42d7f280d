package account

import (
	"errors"
	"slices"
	"strings"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/message"
)

// tellSignedOut keeps the health issue about the sign-in in step with the account.
func (r *Service) tellSignedOut() {
	r.telling.Lock()
	defer r.telling.Unlock()
	o := r.current.Get()
	switch {
	case r.parked.Load(), o.service == nil, o.SignedIn(): // nobody can sign in where another computer has the office
		r.Health.Clear(health.SignedOut)
	case o.Account.Lapsed && o.Account.Fleeting:
		r.Health.Set(health.SignInLapsed, message.SignInLapsedForScope())
	case o.Account.Lapsed, o.Account.SignedIn: // the latter as long as the lapse is not on disk
		r.Health.Set(health.SignInLapsed, message.SignInLapsed())
	default:
		r.Health.Set(health.SignedOut, message.NotSignedIn())
	}
}

// checkSetUp says in health what is missing before anything can work.
func (r *Service) checkSetUp() {
	r.telling.Lock()
	defer r.telling.Unlock()
	s := r.Settings()
	if bad := s.Check(); len(bad) > 0 {
		text := message.NotSetUp()
		if s.Configured() {
			text = bad[0].Text
		}
		r.Health.Set(health.NotSetUp, text)
		return
	}
	r.Health.Clear(health.NotSetUp)
}

// tellReplaced keeps the health issue about values in step that only a key which is gone can open; as it is when they cannot
// be read.
func (r *Service) tellReplaced() {
	o := r.current.Get()
	i := issuer.Of(o.Settings)
	r.tellOtherSecret(o)
	todo := []message.Message{message.KeyReplaced()}
	for _, x := range []struct {
		name string
		do   message.Message
	}{
		{issuer.ClientSecret.Of(i), message.EnterClientSecret()},
		{issuer.NgrokToken.Of(issuer.Ngrok(o.Settings)), message.EnterAuthtoken()},
		{issuer.Refresh.Of(i), message.SignIn()},
	} {
		kind, _, _ := strings.Cut(x.name, "@") // as an earlier version sealed it
		now, err1 := r.keys.lost(x.name)
		before, err2 := r.keys.lost(kind)
		if errors.Join(err1, err2) != nil {
			return
		}
		if now || before {
			todo = append(todo, x.do)
		}
	}
	if len(todo) == 1 {
		r.Health.Clear(health.KeyReplaced)
		return
	}
	r.Health.Set(health.KeyReplaced, message.Then(todo...))
}

// tellOtherSecret says in health that the client secret is to be entered again, because the one that is kept belongs to
// another service. A client that signs in has none, or has been given it.
func (r *Service) tellOtherSecret(o Current) {
	own := issuer.ClientSecret.Of(issuer.Of(o.Settings))
	kept, err := r.keys.of(issuer.ClientSecret)
	if err != nil {
		return
	}
	if o.SignedIn() || slices.Contains(kept, own) || len(kept) == 0 || !o.Settings.Configured() {
		r.Health.Clear(health.SecretElsewhere)
		return
	}
	r.Health.Set(health.SecretElsewhere, message.SecretElsewhere())
}
