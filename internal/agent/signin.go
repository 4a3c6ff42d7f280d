package agent

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

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
func (a *Agent) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	err := a.signIn(ctx, o, open)
	if err != nil && ctx.Err() == nil {
		a.Log.Warn("sign in", "err", err)
	}
	return err
}

func (a *Agent) signIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	if a.keys.Locked() && !a.unlock(ctx) {
		return a.keys.reason()
	}
	if a.current.Get().service == nil {
		return errNotSetUp
	}
	back, err := a.openWayBack(ctx, a.Settings())
	if err != nil {
		return err
	}
	defer back.close()

	svc := a.current.Get().service
	if svc == nil {
		return errNotSetUp
	}
	flow, err := esign.StartLogin(ctx, svc.config, back.uri, o.Prompt)
	if err != nil {
		return fmt.Errorf("start the sign-in: %w", err)
	}
	l := a.startLogin(flow.State())
	defer a.endLogin(l)
	if err := open(flow.AuthorizeURL()); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	select {
	case got := <-l.answer:
		grant, err := flow.Finish(ctx, got.query)
		if err == nil {
			err = a.adopt(ctx, l, svc, grant)
		} else {
			a.discard(svc, flow.Unused())
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

func (a *Agent) startLogin(state string) *login {
	l := &login{state: state, answer: make(chan answer), ended: make(chan struct{})}
	a.replaceLogin(l, errOtherLogin)
	return l
}

// replaceLogin makes next (nil for none) the sign-in that waits, and ends the one before.
func (a *Agent) replaceLogin(next *login, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.login; old != nil {
		old.why = why
		close(old.ended)
	}
	a.login = next
}

func (a *Agent) endLogin(l *login) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == l {
		a.login = nil
		close(l.ended)
	}
}

// waitsFor returns nil while l is the sign-in that waits, and otherwise why it is not.
func (a *Agent) waitsFor(l *login) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != l {
		return l.why
	}
	return nil
}

// errNoLogin is the answer to a callback or a pasted address that belongs to no sign-in of ours.
var errNoLogin = &SignInError{message.NotExpected()}

// deliver hands query to the sign-in that waits for its state and returns how that ended. A query with another
// state disturbs nobody.
func (a *Agent) deliver(ctx context.Context, query url.Values) error {
	a.mu.Lock()
	l := a.login
	if l == nil || !sameState(query.Get("state"), l.state) {
		a.mu.Unlock()
		return errNoLogin
	}
	a.mu.Unlock()
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
func (a *Agent) Paste(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pasteLimit)
	defer cancel()
	query, err := esign.ParseCallback(address)
	if err != nil {
		return &SignInError{message.PasteWholeAddress()}
	}
	return a.deliver(ctx, query)
}

// adopt keeps the tokens and the account in one commit, unless l or the service was replaced while the person signed in.
// Tokens that are not kept are revoked.
func (a *Agent) adopt(ctx context.Context, l *login, svc *service, g esign.Grant) error {
	err := a.current.Change(func(o current) (current, error) {
		if err := a.waitsFor(l); err != nil {
			return o, err
		}
		if o.service == nil || !sameClient(o.service.config, svc.config) {
			return o, errMovedOn
		}
		if err := a.checkOrganization(o.account, g.Account); err != nil {
			return o, err
		}
		o.account = a.newAccount(o.account, g)
		ctx := context.WithoutCancel(ctx)
		return o, o.service.session.Adopt(ctx, g.Tokens, func(refresh string) error {
			if err := o.service.vault.wait(ctx); err != nil {
				return err
			}
			var token []byte
			if refresh != "" {
				token = []byte(refresh)
			}
			return a.keys.Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(o.settings)): token},
				func(tx *store.Tx) error { return tx.PutDoc(docAccount, o.account) })
		})
	})
	if err != nil {
		a.discard(svc, g.Tokens)
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	acc := a.current.Get().account
	a.tellSignedOut()
	a.tellScopes(acc)
	text := message.SignedIn()
	if acc.Email != "" {
		text = message.SignedInAs(acc.Email)
	}
	a.Record(office.Activity{Kind: "signed_in", Text: text})
	a.tellReplaced()
	a.rest.Close()
	a.saves.Resume()
	a.reconcileSoon("somebody signed in")
	a.wakeAll()
	a.Signal(office.StatusChanged)
	return nil
}

// ended is what stays known of an account that nobody is signed in to.
func (x account) ended() account {
	return account{Account: Account{OrganizationID: x.OrganizationID}, Since: x.Since}
}

// newAccount is who signed in with g, after old.
func (a *Agent) newAccount(old account, g esign.Grant) account {
	acc := account{
		Account: Account{
			Email: g.Account.Email, OrganizationID: g.Account.OrganizationID, MemberID: g.Account.MemberID,
		},
		Subject: g.Account.Subject, Scopes: g.Scopes, SignedIn: true, Since: old.Since,
		Fleeting: g.Tokens.Refresh == "",
	}
	if acc.Since.IsZero() {
		acc.Since = a.Now().Round(0).UTC() // as it is read again
	}
	return acc
}

// checkOrganization refuses an account of another organization while packages of the first one are here.
func (a *Agent) checkOrganization(old account, next esign.Account) error {
	if old.OrganizationID == "" || next.OrganizationID == "" || old.OrganizationID == next.OrganizationID {
		return nil
	}
	var packages int
	err := a.Data.View(func(tx *store.Tx) error {
		c, err := tx.PackageCounts()
		packages = c.Total
		return err
	})
	if err != nil || packages == 0 {
		return err
	}
	return &SignInError{message.OtherOrganization()}
}

// lostSecrets names what cannot be undone at the service because the key that sealed it is gone.
func (a *Agent) lostSecrets(o current) (left []message.Message) {
	i := issuer.Of(o.settings)
	if token, err := a.keys.Get(issuer.Refresh.Of(i)); !o.account.Fleeting && (err != nil || token == nil) {
		left = append(left, message.NotRevokedForKey())
	}
	if a.webhook.OutOfReach(i) {
		left = append(left, message.EndpointNotDeletedForKey())
	}
	return left
}

// tellScopes says in health what a narrower grant means for the office.
func (a *Agent) tellScopes(acc account) {
	if acc.Fleeting {
		a.Health.Set(health.SignInShort, message.SignInShort())
	} else {
		a.Health.Clear(health.SignInShort)
	}
	if !acc.may("organization") && !acc.may("member") {
		a.Health.Set(health.MayNotSend, message.MayNotSend())
	} else {
		a.Health.Clear(health.MayNotSend)
	}
}

// SignOut ends the sign-in here, in one commit, and then deletes the endpoint and revokes the tokens at the service.
// What cannot be done there, because it is out of reach, does not keep it from happening here; the error then says what
// is left, and it is tried again.
func (a *Agent) SignOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var left []message.Message
	var owed string
	err := a.current.Change(func(o current) (next current, err error) {
		if o.signedIn() {
			left = a.lostSecrets(o)
		}
		was := o
		o.account = o.account.ended()
		owed, err = a.leave(ctx, was, map[string][]byte{},
			func(tx *store.Tx) error { return tx.PutDoc(docAccount, o.account) })
		return o, err
	})
	if err != nil {
		return fmt.Errorf("forget the sign-in: %w", err)
	}
	a.tellSignedOut()
	a.Health.End(health.WithSignIn)
	a.Record(office.Activity{Kind: "signed_out", Text: message.SignedOut()})
	a.Signal(office.StatusChanged)
	if owed != "" {
		left = append(left, a.sayFarewell(ctx, owed, false)...)
		loop.Wake(a.rings.farewells)
	}
	if len(left) > 0 {
		return &SignInError{message.Then(append([]message.Message{message.SignedOutHere()}, left...)...)}
	}
	return nil
}

// leave ends the sign-in of o in one commit with values and also. What the service is to be told is owed from then on,
// under the id that is returned; it is "" when there is nothing to tell. Events that are still on their way count for a
// little longer.
func (a *Agent) leave(ctx context.Context, o current, values map[string][]byte, also ...func(*store.Tx) error) (owed string, err error) {
	i := issuer.Of(o.settings)
	values[issuer.Refresh.Of(i)] = nil
	if o.service == nil {
		return "", a.keys.Put(values, also...)
	}
	done, err := a.webhook.TakeOver(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if !o.signedIn() {
		return "", a.keys.Put(values, also...)
	}
	ending, forget, ended, err := a.webhook.End(i)
	if err != nil {
		return "", err
	}
	maps.Copy(values, ending)
	also = append(also, forget)
	err = o.service.session.Leave(ctx, func(t esign.Tokens) error {
		f := a.newFarewell(o.service, t)
		f.Endpoint, f.EndpointID = a.webhook.AtService()
		err := a.owe(f, t, values, also...)
		if err == nil && (t.Refresh != "" || t.Access != "") {
			owed = f.ID
		}
		return err
	})
	if err == nil {
		ended()
	}
	return owed, err
}
