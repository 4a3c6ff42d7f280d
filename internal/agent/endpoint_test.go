package agent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// calls counts the requests the service got for a route.
func calls(s *sandbox.Server, route string) (n int) {
	for _, r := range s.Requests() {
		if r.Route == route {
			n++
		}
	}
	return n
}

// owed is what services that were left are still to be told.
func (o *testOffice) owed() (list []struct{ Endpoint, Refresh string }, err error) {
	var names []string
	err = o.Data.Store.View(func(tx *store.Tx) (err error) { names, err = tx.SealedNames(); return err })
	for _, name := range names {
		var x struct{ Endpoint, Refresh string }
		if b, unread := o.account.Vault().Get(name); strings.HasPrefix(name, "revocation@") {
			err = errors.Join(err, unread, json.Unmarshal(b, &x))
			list = append(list, x)
		}
	}
	return list, err
}

// The service in use cannot tell what became of a draft for another one, so nobody is checking.
func TestWhatBecameOfADraftForAnotherServiceIsNotSaidToBeChecked(t *testing.T) {
	a := openSignedIn(t, Params{}, "https://sign.test", nil)
	defer a.Close()
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "d", Name: "Offer", State: office.DraftUnknown})
	}))
	for _, c := range []struct {
		url  string
		says message.Message
	}{{"https://another.test", message.OutcomeUnknownElsewhere("Offer")}, {"https://sign.test", message.OutcomeUnknown("Offer")}} {
		s := a.Settings()
		s.AuthURL, s.BaseURL = c.url, c.url
		noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"}))
		if !slices.ContainsFunc(a.Health.List(), func(i Issue) bool { return i.ID == health.OutcomeUnknown.ID && i.Message == c.says }) {
			t.Errorf("at %s it says %+v", c.url, a.Health.List())
		}
	}
}

// An endpoint is registered for the account that is signed in, not for the client (interface.md, "POST /events/endpoints/set").
func TestAnotherAccountThatSignsInGetsAnEndpointOfItsOwn(t *testing.T) {
	other := sandbox.User{Email: "bo@example.com", Admin: true, OrganizationID: "11111111-1111-4111-8111-111111111111"}
	o := newOfficeWith(t, quick, sandbox.Options{Users: append(sandbox.DemoUsers(), other)})
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, func(address string) error { return visit(address + "&login_hint=" + other.Email) }))
	o.eventually("both are registered", func() bool { return len(o.service.EndpointURLs()) == 2 })
}

// Whoever stores a sealed value holds the key until that is committed. What is asked within a commit must not wait for it.
func TestNothingThatIsAskedWithinACommitWaitsForTheKey(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	done := make(chan error, 1)
	asked := false
	go func() {
		done <- o.account.Vault().Put(map[string][]byte{"a value": []byte("x")}, func(*store.Tx) error {
			o.webhook.Deaf()
			o.webhook.ListeningSince()
			o.Settings()
			asked = true
			return nil
		})
	}()
	select {
	case err := <-done:
		if err != nil || !asked {
			t.Errorf("asked: %t, %v", asked, err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("they wait for each other")
	}
}
