package agent

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
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

// another starts a second service, which o's address can be reached from.
func (o *testOffice) another() *sandbox.Server {
	o.t.Helper()
	cert, err := o.LocalhostCertificate()
	noErr(o.t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	s, err := sandbox.Start(sandbox.Options{AutoConsent: true, KeyBits: shortKey, Clients: []sandbox.Client{sandbox.DemoClient()},
		Delivery: sandbox.DeliveryOptions{CAs: pool, RetryFirst: 50 * time.Millisecond}})
	noErr(o.t, err)
	o.t.Cleanup(func() { s.Close() })
	return s
}

// use makes s the service in the settings.
func (o *testOffice) use(s *sandbox.Server, secrets office.Secrets) {
	o.t.Helper()
	settings := o.Settings()
	settings.AuthURL, settings.BaseURL = s.URL(), s.URL()
	noErr(o.t, o.Configure(o.t.Context(), settings, secrets))
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
	o := newOfficeWith(t, quick, sandbox.Options{})
	first, second := o.service, o.another()
	first.Inject(sandbox.Fault{Path: "/packages/list", Status: http.StatusServiceUnavailable}) // which could tell
	draft := o.queuedDraft()
	draft.State = office.DraftUnknown
	noErr(t, o.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(draft) }))
	says := func() (text message.Message) {
		for _, i := range o.Status().Health {
			if i.ID == health.OutcomeUnknown.ID {
				text = i.Message
			}
		}
		return text
	}
	o.use(second, office.Secrets{ClientSecret: sandbox.DemoClient().Secret})
	expect(t, says(), message.OutcomeUnknownElsewhere(draft.Name), "at the second service it says %q")
	o.use(first, office.Secrets{})
	expect(t, says(), message.OutcomeUnknown(draft.Name), "at the first one again it says %q")
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
