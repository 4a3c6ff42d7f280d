package agent

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"countersign/internal/esign"
	"countersign/internal/store"
)

// login is the one sign-in that waits for its answer. A newer one replaces it.
type login struct {
	state  string
	answer chan answer
	ended  chan struct{} // closed when nobody waits any more
}

// pasteLimit bounds how long the exchange of a pasted address may take.
const pasteLimit = 60 * time.Second

// answer is what the browser, or a person pasting its address, brought back.
type answer struct {
	query  url.Values
	result chan<- error // told how it went, so that the browser can show it; has room for one
}

// SignInError is a sign-in that did not happen. Its text is one sentence for people.
type SignInError struct{ Text string }

func (e *SignInError) Error() string { return e.Text }

// SignIn runs a whole sign-in: it hands the address to show in the browser to open, waits for the way back the
// settings chose (or Paste), and returns once the tokens are kept. It ends early with ctx, or when another SignIn
// starts.
func (a *Agent) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	err := a.signIn(ctx, o, open)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("sign in", "err", err)
	}
	return err
}

func (a *Agent) signIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	a.mu.Lock()
	s, svc := a.settings, a.service
	a.mu.Unlock()
	if a.keys.locked() && !a.unlock(ctx) {
		return a.keys.reason()
	}
	if svc == nil {
		return &SignInError{"Countersign is not set up yet. Enter the signing service's addresses in Settings."}
	}
	back, err := a.openWayBack(ctx, s)
	if err != nil {
		return err
	}
	defer back.close()

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
			err = a.adopt(ctx, svc, grant)
		}
		got.result <- err
		return err
	case <-l.ended:
		return &SignInError{"Another sign-in was started instead of this one."}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Agent) startLogin(state string) *login {
	l := &login{state: state, answer: make(chan answer), ended: make(chan struct{})}
	a.mu.Lock()
	old := a.login
	a.login = l
	a.mu.Unlock()
	if old != nil {
		close(old.ended)
	}
	return l
}

func (a *Agent) endLogin(l *login) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == l {
		a.login = nil
		close(l.ended)
	}
}

// errNoLogin is the answer to a callback or a pasted address that belongs to no sign-in of ours.
var errNoLogin = &SignInError{"This is not the sign-in that Countersign is waiting for. Start signing in again from Countersign."}

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
		return &SignInError{"That is not the address the sign-in ended on. Copy the whole address from the browser and paste it here."}
	}
	return a.deliver(ctx, query)
}

// adopt keeps the tokens and the account, first on disk and then in memory.
func (a *Agent) adopt(ctx context.Context, svc *service, g esign.Grant) error {
	a.mu.Lock()
	old := a.account
	a.mu.Unlock()
	if err := a.checkOrganization(old, g.Account); err != nil {
		return err
	}
	acc := account{
		Account: Account{
			Email: g.Account.Email, OrganizationID: g.Account.OrganizationID, MemberID: g.Account.MemberID,
		},
		Subject: g.Account.Subject, Scopes: g.Scopes, SignedIn: true, Since: old.Since,
		Fleeting: g.Tokens.Refresh == "",
	}
	if acc.Since.IsZero() {
		acc.Since = a.now()
	}
	refresh := []byte(g.Tokens.Refresh)
	if len(refresh) == 0 {
		refresh = nil
	}
	err := a.keys.put(map[string][]byte{sealedRefresh: refresh},
		func(tx *store.Tx) error { return tx.PutDoc(docAccount, acc) })
	if err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	if err := svc.session.Adopt(context.WithoutCancel(ctx), g.Tokens); err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}

	a.mu.Lock()
	a.account = acc
	a.tellSignedOutLocked()
	a.mu.Unlock()
	a.tellScopes(acc)
	text := "Signed in."
	if acc.Email != "" {
		text = "Signed in as " + acc.Email + "."
	}
	a.record(store.Activity{Kind: "signed_in", Text: text})
	a.tellReplaced()
	a.rest.stop()
	a.saves.held.stop()
	if err := a.askAgainForGone(); err != nil {
		a.log.Error("look for packages again", "err", err)
	}
	a.reconcileSoon("somebody signed in")
	a.wakeAll()
	a.watchers.signal(StatusChanged)
	return nil
}

// checkOrganization refuses an account of another organization while packages of the first one are here.
func (a *Agent) checkOrganization(old account, next esign.Account) error {
	if old.OrganizationID == "" || next.OrganizationID == "" || old.OrganizationID == next.OrganizationID {
		return nil
	}
	var packages int
	err := a.st.View(func(tx *store.Tx) error {
		c, err := tx.PackageCounts()
		packages = c.Total
		return err
	})
	if err != nil || packages == 0 {
		return err
	}
	return &SignInError{"This account belongs to another organization than the packages here. Sign in with the office's own account."}
}

// lostSecrets names what cannot be undone at the service because the key that sealed it is gone.
func (a *Agent) lostSecrets(acc account) (left []string) {
	if token, err := a.keys.get(sealedRefresh); !acc.Fleeting && (err != nil || token == nil) {
		left = append(left, "the sign-in could not be revoked, because its key is gone")
	}
	if a.endpoints.get() == nil && a.keys.has(sealedEndpoint) {
		left = append(left, "its endpoint could not be deleted, because its key is gone")
	}
	return left
}

// tellScopes says in health what a narrower grant means for the office.
func (a *Agent) tellScopes(acc account) {
	if acc.Fleeting {
		a.health.set("scope-offline", Warning, ActNone,
			"The service keeps this sign-in only for a short while, because offline_access was not granted. You will have to sign in again soon.")
	} else {
		a.health.clear("scope-offline")
	}
	if !acc.may("organization") && !acc.may("member") {
		a.health.set("scope-packages", Warning, ActSignIn,
			"Your account does not have permission to send packages (scope organization or member). Sign in with an account that has permission.")
	} else {
		a.health.clear("scope-packages")
	}
}

// SignOut deletes the endpoint, revokes the sign-in and forgets the tokens. What cannot be done at the service,
// because it is out of reach, does not keep it from happening here; the error then says what is left.
func (a *Agent) SignOut(ctx context.Context) error {
	a.mu.Lock()
	svc, acc := a.service, a.account
	a.account.SignedIn = false // from here on no loop begins anything more
	a.mu.Unlock()
	var left []string
	if svc != nil && acc.SignedIn {
		left = a.lostSecrets(acc)
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := a.dropEndpoint(ctx, svc.client); err != nil {
			a.log.Warn("delete the endpoint", "err", err)
			left = append(left, "its endpoint could not be deleted")
		}
		if err := svc.session.Revoke(ctx); err != nil {
			a.log.Warn("revoke the sign-in", "err", err)
			left = append(left, "the sign-in could not be revoked")
		}
	}
	acc = account{Account: Account{OrganizationID: acc.OrganizationID}, Since: acc.Since}
	err := a.keys.put(map[string][]byte{sealedRefresh: nil},
		func(tx *store.Tx) error { return tx.PutDoc(docAccount, acc) })
	if err != nil {
		return fmt.Errorf("forget the sign-in: %w", err)
	}
	a.mu.Lock()
	a.account = acc
	a.mu.Unlock()
	a.connect()
	a.health.clear("scope-offline")
	a.health.clear("scope-packages")
	a.health.clear("endpoint")
	a.record(store.Activity{Kind: "signed_out", Text: "Signed out."})
	a.watchers.signal(StatusChanged)
	if len(left) > 0 {
		return &SignInError{"Signed out on this computer, but at the service " + strings.Join(left, " and ") + "."}
	}
	return nil
}
