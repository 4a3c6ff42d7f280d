package account

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// SignInOptions choose how a sign-in runs.
type SignInOptions struct {
	Prompt string `json:"prompt,omitempty"` // "", "login" (as someone else) or "consent"
}

// login is the one sign-in that waits for its answer. A newer one replaces it.
type login struct {
	state  string
	answer chan answer
	ended  chan struct{} // closed when nobody waits any more
	why    error         // why not, for the sign-in itself; set before ended is closed
}

// pasteLimit bounds how long the exchange of a pasted address may take.
const pasteLimit = 60 * time.Second

// answer is what the browser, or a person pasting its address, brought back.
type answer struct {
	query  url.Values
	result chan<- error // told how it went, so that the browser can show it; has room for one
}

// SignInError is a sign-in that did not happen. Its text is one sentence for people.
type SignInError struct{ Text message.Message }

func (e *SignInError) Error() string { return e.Text.String() }

// Message is what people are told.
func (e *SignInError) Message() message.Message { return e.Text }

// SignIn runs a whole sign-in: it hands the address to show in the browser to open, waits for the way back the
// settings chose (or Paste), and returns once the tokens are kept. It ends early with ctx, or when another SignIn
// starts.
func (r *Service) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	err := r.signIn(ctx, o, open)
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("sign in", "err", err)
	}
	return err
}

func (r *Service) signIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	if r.keys.Locked() && !r.Unlock(ctx) {
		return r.keys.reason()
	}
	if r.current.Get().service == nil {
		return errNotSetUp
	}
	back, err := r.openRedirect(ctx, r.Settings())
	if err != nil {
		return err
	}
	defer back.close()

	svc := r.current.Get().service
	if svc == nil {
		return errNotSetUp
	}
	flow, err := esign.StartLogin(ctx, svc.config, back.uri, o.Prompt)
	if err != nil {
		return fmt.Errorf("start the sign-in: %w", err)
	}
	l := r.startLogin(flow.State())
	defer r.endLogin(l)
	if err := open(flow.AuthorizeURL()); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	select {
	case got := <-l.answer:
		grant, err := flow.Finish(ctx, got.query)
		if err == nil {
			err = r.adopt(ctx, l, svc, grant)
		} else {
			r.discard(svc, flow.Unused())
		}
		got.result <- err
		return err
	case <-l.ended:
		return l.why
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var (
	errNotSetUp   = &SignInError{message.NotSetUp()}
	errOtherLogin = &SignInError{message.OtherSignIn()}
	errMovedOn    = &SignInError{message.SettingsChanged()}
)

func (r *Service) startLogin(state string) *login {
	l := &login{state: state, answer: make(chan answer), ended: make(chan struct{})}
	r.replaceLogin(l, errOtherLogin)
	return l
}

// replaceLogin makes next (nil for none) the sign-in that waits, and ends the one before.
func (r *Service) replaceLogin(next *login, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.login; old != nil {
		old.why = why
		close(old.ended)
	}
	r.login = next
}

func (r *Service) endLogin(l *login) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login == l {
		r.login = nil
		close(l.ended)
	}
}

// waitsFor returns nil while l is the sign-in that waits, and otherwise why it is not.
func (r *Service) waitsFor(l *login) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login != l {
		return l.why
	}
	return nil
}

// errNoLogin is the answer to a callback or a pasted address that belongs to no sign-in of ours.
var errNoLogin = &SignInError{message.NotExpected()}

// deliver hands query to the sign-in that waits for its state and returns how that ended. A query with another
// state disturbs nobody.
func (r *Service) deliver(ctx context.Context, query url.Values) error {
	r.mu.Lock()
	l := r.login
	if l == nil || !sameState(query.Get("state"), l.state) {
		r.mu.Unlock()
		return errNoLogin
	}
	r.mu.Unlock()
	result := make(chan error, 1)
	select {
	case l.answer <- answer{query, result}:
	case <-l.ended:
		return errNoLogin
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Paste completes the running sign-in with the address the browser ended on.
func (r *Service) Paste(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pasteLimit)
	defer cancel()
	query, err := esign.ParseCallback(address)
	if err != nil {
		return &SignInError{message.PasteWholeAddress()}
	}
	return r.deliver(ctx, query)
}

// adopt keeps the tokens and the account in one commit, unless l or the service was replaced while the person signed in.
// Tokens that are not kept are revoked.
func (r *Service) adopt(ctx context.Context, l *login, svc *service, g esign.Grant) error {
	err := r.current.Change(func(o Current) (Current, error) {
		if err := r.waitsFor(l); err != nil {
			return o, err
		}
		if o.service == nil || !sameClient(o.service.config, svc.config) {
			return o, errMovedOn
		}
		if err := r.checkOrganization(o.Account, g.Account); err != nil {
			return o, err
		}
		o.Account = r.newAccount(o.Account, g)
		ctx := context.WithoutCancel(ctx)
		return o, o.service.session.Adopt(ctx, g.Tokens, func(refresh string) error {
			if err := o.service.vault.wait(ctx); err != nil {
				return err
			}
			var token []byte
			if refresh != "" {
				token = []byte(refresh)
			}
			return r.keys.Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(o.Settings)): token},
				func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
		})
	})
	if err != nil {
		r.discard(svc, g.Tokens)
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	acc := r.current.Get().Account
	r.tellSignedOut()
	r.tellScopes(acc)
	text := message.SignedIn()
	if acc.Email != "" {
		text = message.SignedInAs(acc.Email)
	}
	r.Record(office.Activity{Kind: "signed_in", Text: text})
	r.tellReplaced()
	r.Breaker.Close()
	r.SignedUp()
	r.Signal(office.StatusChanged)
	return nil
}

// newAccount is who signed in with g, after old.
func (r *Service) newAccount(old Record, g esign.Grant) Record {
	acc := Record{
		Account: Account{
			Email: g.Account.Email, OrganizationID: g.Account.OrganizationID, MemberID: g.Account.MemberID,
		},
		Subject: g.Account.Subject, Scopes: g.Scopes, SignedIn: true, Since: old.Since,
		Fleeting: g.Tokens.Refresh == "",
	}
	if acc.Since.IsZero() {
		acc.Since = r.Now().Round(0).UTC() // as it is read again
	}
	return acc
}

// checkOrganization refuses an account of another organization while packages of the first one are here.
func (r *Service) checkOrganization(old Record, next esign.Account) error {
	if old.OrganizationID == "" || next.OrganizationID == "" || old.OrganizationID == next.OrganizationID {
		return nil
	}
	packages, err := data.Read(r.Data, "how many packages there are", (*store.Tx).PackageCounts)
	if err != nil || packages.Total == 0 {
		return err
	}
	return &SignInError{message.OtherOrganization()}
}

// tellScopes says in health what a narrower grant means for the office.
func (r *Service) tellScopes(acc Record) {
	if acc.Fleeting {
		r.Health.Set(health.SignInShort, message.SignInShort())
	} else {
		r.Health.Clear(health.SignInShort)
	}
	if !acc.May("organization") && !acc.May("member") {
		r.Health.Set(health.MayNotSend, message.MayNotSend())
	} else {
		r.Health.Clear(health.MayNotSend)
	}
}
