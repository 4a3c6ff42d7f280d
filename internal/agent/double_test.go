package agent

import (
	"strconv"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestWhateverIsAnsweredAfterTheWorkThereIsOnePackage(t *testing.T) {
	const page = "<html>Sign in to the guest network</html>"
	html := map[string]string{"Content-Type": "text/html"}
	answers := map[string]sandbox.Fault{
		"a captive portal":        {Status: 200, Body: page, Headers: html},
		"no id":                   {Status: 200, Body: "{}"},
		"another package's shape": {Status: 200, Body: `{"package":{"packageId":null}}`},
		"no content":              {Status: 204, Body: " "},
		"400 by a proxy":          {Status: 400, Body: page, Headers: html},
		"401 by a proxy":          {Status: 401, Body: page, Headers: html},
		"403 by a proxy":          {Status: 403, Body: page, Headers: html},
		"404 by a proxy":          {Status: 404, Body: page, Headers: html},
		"405 by a proxy":          {Status: 405, Body: page, Headers: html},
		"413 by a proxy":          {Status: 413, Body: page, Headers: html},
		"425":                     {Status: 425, Body: page, Headers: html},
		"429 by a proxy":          {Status: 429, Body: page, Headers: html},
		"408":                     {Status: 408},
		"500":                     {Status: 500},
		"503 with a time":         {Status: 503, Headers: map[string]string{"Retry-After": "1"}},
		"an exception":            {Status: 400, Body: `{"error":"package_exception_mail","message":"Mail failed."}`},
		"cut":                     {Status: 200, Body: `{"packageId":"0"}`, TruncateAfter: 8},
		"late":                    {Status: 200, Body: "{}", DelayMS: forEver},
	}
	other := newStranger(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for where, to := range map[string]string{"the same host": "/api/v1/packages/add", "another host": other.URL} {
			answers[strconv.Itoa(status)+" to "+where] = sandbox.Fault{Status: status, Headers: map[string]string{"Location": to}}
		}
	}
	for name, rule := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, b := stormy(t, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			o.service.Hold() // only the listing tells what became of it
			rule.Path, rule.AfterWork = "/packages/add", true
			if rule.DelayMS >= forEver {
				b.giveUpAt(rule.Path)
			}
			o.service.Inject(rule) // for ever: whatever sends it again makes another one
			go o.Send(t.Context(), o.draft(), nil)
			o.eventually("it is found out that it was sent", func() bool { return o.draftIs(office.DraftSent) })
			if n := len(o.service.Packages()); n != 1 {
				t.Errorf("%d packages", n)
			}
		})
	}
	t.Cleanup(func() {
		if v := other.visits(); len(v) > 0 {
			t.Errorf("another host was asked: %q", v)
		}
	})
}
