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
	if err := o.webhook.Register(t.Context(), true); err == nil {
		t.Fatal("the answer was not lost")
	}
	status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("an event signed with the unknown secret: %d, %v", status, err)
	}
	o.service.Heal(0)
	o.eventually("it is set again", func() bool {
		status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
		return err == nil && status == http.StatusOK
	})
	// Who is not authentic learns so again.
	status, err = o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed", Signature: "wrong"})
	if err != nil || status != http.StatusUnauthorized {
		t.Errorf("a forged event: %d, %v", status, err)
	}
}

func TestARegistrationThatWasCutShortByTheEndIsMadeAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", LoseAnswer: true})
	if err := o.webhook.Register(t.Context(), true); err == nil {
		t.Fatal("the answer was not lost")
	}
	o.stop()
	o.service.Heal(0)
	before := calls(o.service, "POST /events/endpoints/set")
	o.open()
	o.run()
	o.eventually("it is set again", func() bool { return calls(o.service, "POST /events/endpoints/set") > before })
	o.eventually("its events are stored", func() bool {
		status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
		return err == nil && status == http.StatusOK
	})
}

func TestARegistrationThatWasRefusedIsTriedAgainSoon(t *testing.T) {
	for _, status := range []int{http.StatusConflict, http.StatusNotFound, http.StatusBadRequest, http.StatusForbidden} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			before := calls(o.service, "POST /events/endpoints/set")
			o.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", LoseAnswer: true, Times: 1})
			o.service.Inject(sandbox.Fault{Path: "/events/endpoints/set", Status: status, Times: 2})
			if err := o.webhook.Register(t.Context(), true); err == nil {
				t.Fatal("the answer was not lost")
			}
			o.eventually("it is set after two refusals", func() bool {
				status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed"})
				return err == nil && status == http.StatusOK && calls(o.service, "POST /events/endpoints/set") >= before+4
			})
		})
	}
}
