package agent

import (
	"net/http"
	"testing"

	"countersign/internal/sandbox"
)

func TestAnEventSignedWhileTheSecretChangesIsStored(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	// The answer with the new secret comes byte by byte; meanwhile the service signs with it.
	o.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", LoseAnswer: true})
	before := o.endpoints.get().Secret
	failed := o.setEndpoint(t.Context(), true)
	if failed == nil {
		t.Fatal("the answer was not lost")
	}
	if _, unsure := o.endpoints.pending(); !unsure {
		t.Error("nobody knows that the secret may be another one")
	}
	status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("an event signed with the unknown secret: %d, %v", status, err)
	}
	o.service.Heal(0)
	o.eventually("it is set again", func() bool {
		_, unsure := o.endpoints.pending()
		return !unsure && o.endpoints.get().Secret != before
	})
	status, err = o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
	if err != nil || status != http.StatusOK {
		t.Errorf("an event signed with the new secret: %d, %v", status, err)
	}
	// Who is not authentic learns so again.
	status, err = o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed", Signature: "wrong"})
	if err != nil || status != http.StatusUnauthorized {
		t.Errorf("a forged event: %d, %v", status, err)
	}
}

func TestAnEventWaitsForTheRegistrationUnderWay(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.eventually("nothing is under way", func() bool {
		asking, unsure := o.endpoints.pending()
		return asking == nil && !unsure
	})
	want := o.endpoints.get()
	// As while an answer is read: the service signs with a secret that comes to be known a moment later.
	o.endpoints.mu.Lock()
	o.endpoints.current = nil
	o.endpoints.mu.Unlock()
	o.endpoints.begin()
	answered := make(chan int, 1)
	go func() {
		status, _ := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
		answered <- status
	}()
	o.eventually("the event waits", func() bool { return o.Agent.waiting.Load() == 1 })
	select {
	case status := <-answered:
		t.Fatalf("answered %d before the secret was known", status)
	default:
	}
	if err := o.adoptEndpoint(*want); err != nil {
		t.Fatal(err)
	}
	if status := <-answered; status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
}

func TestARegistrationThatWasCutShortByTheEndIsMadeAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", LoseAnswer: true})
	if err := o.setEndpoint(t.Context(), true); err == nil {
		t.Fatal("the answer was not lost")
	}
	o.stop()
	o.service.Heal(0)
	before := calls(o.service, "POST /events/endpoints/set")
	o.open()
	o.run()
	o.eventually("it is set again", func() bool { return calls(o.service, "POST /events/endpoints/set") > before && !o.endpointUnsure() })
	status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
	if err != nil || status != http.StatusOK {
		t.Errorf("an event: %d, %v", status, err)
	}
}

func TestFormerSecretsCountForTenMinutesEachAndSurviveARestart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	for range 3 {
		if err := o.setEndpoint(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	o.restart()
	if n := len(o.endpoints.valid(o.Now())); n < 4 {
		t.Errorf("%d secrets count", n)
	}
	if n := len(o.endpoints.valid(o.Now().Add(previousLife))); n != 1 {
		t.Errorf("%d secrets count ten minutes later", n)
	}
}
