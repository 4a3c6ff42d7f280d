package agent

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// weather is a way for a call to fail. Its rule is completed with the path of the call.
type weather struct {
	name string
	rule func(stranger string) sandbox.Fault
	nobo bool // nobody listens there
}

func answering(status int, header ...string) func(string) sandbox.Fault {
	return func(string) sandbox.Fault {
		f := sandbox.Fault{Status: status, Headers: map[string]string{}}
		for i := 0; i < len(header); i += 2 {
			f.Headers[header[i]] = header[i+1]
		}
		return f
	}
}

// forEver is a delay that no test waits for.
const forEver = 60_000

// weathers are those of these names, all of them without any.
func weathers(names ...string) []weather {
	all := []weather{
		{name: "refused", nobo: true},
		{name: "slow", rule: func(string) sandbox.Fault { return sandbox.Fault{DelayMS: 100} }},
		{name: "hanging", rule: func(string) sandbox.Fault { return sandbox.Fault{DelayMS: forEver} }},
		{name: "dropped", rule: func(string) sandbox.Fault { return sandbox.Fault{Drop: true} }},
		{name: "cut in the middle", rule: func(string) sandbox.Fault { return sandbox.Fault{TruncateAfter: 20} }},
		{name: "400", rule: answering(400)},
		{name: "401", rule: answering(401)},
		{name: "403", rule: answering(403)},
		{name: "404", rule: answering(404)},
		{name: "429 with seconds", rule: answering(429, "Retry-After", "1")},
		{name: "429 with a date", rule: func(string) sandbox.Fault {
			return answering(429, "Retry-After", time.Now().Add(1500*time.Millisecond).UTC().Format(http.TimeFormat))("")
		}},
		{name: "500", rule: answering(500)},
		{name: "a web page", rule: func(string) sandbox.Fault {
			return sandbox.Fault{Status: 200, Body: "<html>Welcome</html>", Headers: map[string]string{"Content-Type": "text/html"}}
		}},
		{name: "nothing", rule: func(string) sandbox.Fault {
			return sandbox.Fault{Status: 200, Body: "\n", Headers: map[string]string{"Content-Type": "application/pdf"}}
		}},
		{name: "a redirect", rule: func(stranger string) sandbox.Fault {
			return answering(307, "Location", stranger+"/elsewhere")("")
		}},
	}
	return slices.DeleteFunc(all, func(w weather) bool { return len(names) > 0 && !slices.Contains(names, w.name) })
}

// oneOfEach are the weathers for calls of which package esign's own tests tell what each answer means.
var oneOfEach = []string{"refused", "hanging", "cut in the middle", "401", "404", "500", "a web page", "a redirect"}

// What people read, in part.
const (
	noAnswer    = "did not answer"
	unreachable = "could not be reached"
	ownProblem  = "technical problem"
	slowDown    = "Too many requests"
	odd         = "could not be understood"
	notYet      = "has not finished the document yet"
	fine        = "" // there is nothing to tell
)

// serviceTold is what health says while a call that concerns the service fails.
var serviceTold = map[string]string{
	"refused": unreachable, "slow": fine, "hanging": noAnswer, "dropped": noAnswer, "cut in the middle": noAnswer,
	"429 with seconds": slowDown, "429 with a date": slowDown, "500": ownProblem,
	"a web page": odd, "nothing": odd, "a redirect": odd,
}

// faultyCall is one of the service's calls, how it comes about, and where its trouble is told.
type faultyCall struct {
	path  string                         // as Fault.Path
	part  string                         // of its path, for nobody listening there
	begin func(o *testOffice, id string) // makes the agent call
	told  func(o *testOffice) string     // what people read about it now
	want  map[string]string              // per weather, where it is not serviceTold
	well  func(o *testOffice, id string) bool
}

func healthOf(id string) func(o *testOffice) string {
	return func(o *testOffice) string {
		if i := o.issue(id); i != nil {
			return i.Text()
		}
		return ""
	}
}

func saved(o *testOffice, _ string) bool { return o.Status().Packages.Saved == 1 }

func signAll(o *testOffice, id string) {
	if err := o.service.SignAll(id); err != nil {
		o.t.Error(err)
	}
}

func faultyCalls() map[string]faultyCall {
	return map[string]faultyCall{
		"token": {
			path: "/connect/token", part: "/connect/token", told: anyHealth("service", "client", "signin"), well: saved,
			begin: func(o *testOffice, id string) {
				if err := o.service.ExpireAccessTokens(); err != nil {
					o.t.Error(err)
				}
				signAll(o, id)
			},
			want: map[string]string{
				"400": "could not be renewed", "401": "could not be renewed", "403": "could not be renewed", "404": "could not be renewed",
				"cut in the middle": "",
			},
		},
		"status": {
			path: "/packages/*/status", part: "/status", told: healthOf("service"), well: saved, begin: signAll,
			want: map[string]string{"400": fine, "401": fine, "403": fine, "404": fine},
		},
		"download": {
			path: "/packages/*/download", part: "/download", well: saved, begin: signAll,
			told: func(o *testOffice) string { return o.packageOrZero(o.Lines()[0].ID).Problem.String() },
			want: map[string]string{
				"400": notYet, "401": "permission to download", "403": "have permission to do this", "404": notYet, "nothing": notYet,
				"429 with seconds": fine, "429 with a date": fine,
			},
		},
		"endpoints/set": {
			path: "/events/endpoints/set", part: "/endpoints/set", told: anyHealth("endpoint"),
			begin: func(o *testOffice, _ string) { go o.webhook.Register(o.t.Context(), true) },
			well: func(o *testOffice, _ string) bool {
				requests, _ := o.service.Requests()
				var last sandbox.Request
				for _, r := range requests {
					if strings.HasSuffix(r.Path, "/endpoints/set") {
						last = r
					}
				}
				// Only an answer that was taken for good makes it registered later than the last one was asked for.
				return last.Status == 200 && o.Status().Endpoint.RegisteredAt.After(last.Time) && o.issue("endpoint") == nil
			},
			want: map[string]string{"400": "did not accept", "401": "permission to receive events", "403": "permission to receive events", "404": "does not have this"},
		},
	}
}

func anyHealth(ids ...string) func(o *testOffice) string {
	return func(o *testOffice) string {
		var texts []string
		for _, id := range ids {
			if i := o.issue(id); i != nil {
				texts = append(texts, i.Text())
			}
		}
		return strings.Join(texts, " ")
	}
}

func TestEveryCallSurvivesEveryFault(t *testing.T) {
	for name, call := range faultyCalls() {
		for _, w := range weathers() {
			t.Run(name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				o, b := stormy(t, sandbox.Options{})
				other := newStranger(t)
				id := o.send()
				o.brew(call, w, b, other)
				call.begin(o, id)
				want, own := call.want[w.name]
				if !own {
					want = serviceTold[w.name]
				}
				o.eventually("people are told: "+want, func() bool {
					return o.struck(w) && (want == fine || strings.Contains(call.told(o), want))
				})
				if w.name == "slow" {
					o.eventually("it works all the same", func() bool { return o.answeredBadly() && call.well(o, id) })
				}
				o.clearUp(b)
				o.Act(t.Context(), Issue{Action: ActRetry}) // what was refused for good waits for a person
				o.eventually("it works again", func() bool { return call.well(o, id) })
				o.eventually("nothing is wrong any more", func() bool { return len(o.Status().Health) == 0 })
				if v := other.visits(); len(v) > 0 {
					t.Errorf("another host was asked: %q", v)
				}
				if n := len(o.service.Packages()); n != 1 {
					t.Errorf("%d packages", n)
				}
			})
		}
	}
}

// brew makes the call fail as w says. When it returns, no call that began before is on its way: that one would be
// answered well, and if it is the last that is needed, nobody would meet the weather.
func (o *testOffice) brew(call faultyCall, w weather, b *bounded, other *stranger) {
	defer b.settle(call.part)
	if w.nobo {
		b.meetNobodyAt(call.part)
		return
	}
	rule := w.rule(other.URL)
	rule.Path = call.path
	if rule.DelayMS >= forEver {
		b.giveUpAt(call.part)
		b.settle(call.part) // who is patient would wait for as long as the weather lasts
	}
	o.service.Inject(rule)
}

// struck reports whether the weather was met.
func (o *testOffice) struck(w weather) bool {
	if w.nobo {
		return true
	}
	for _, f := range o.service.Faults() {
		if f.Applied > 0 {
			return true
		}
	}
	return false
}

// answeredBadly reports whether a request that met the weather has been answered.
func (o *testOffice) answeredBadly() bool {
	requests, _ := o.service.Requests()
	return slices.ContainsFunc(requests, func(r sandbox.Request) bool { return r.Fault != 0 })
}

func (o *testOffice) clearUp(b *bounded) {
	b.meetNobodyAt("")
	b.giveUpAt("")
	o.service.Heal(0)
}

func TestADraftSurvivesEveryFaultOfItsCallsAndIsNeverSentTwice(t *testing.T) {
	const failed, queued, unknown, sent = office.DraftFailed, office.DraftQueued, office.DraftUnknown, office.DraftSent
	states := map[string]map[string]office.DraftState{
		"/files/upload": {
			"400": failed, "401": failed, "403": failed, "404": failed, "slow": sent,
		},
		"/packages/add": {
			"400": failed, "401": failed, "403": failed, "404": failed, "slow": sent,
			"hanging": unknown, "dropped": unknown, "cut in the middle": unknown, "500": unknown, "a web page": unknown, "nothing": unknown,
			"a redirect": unknown,
		},
	}
	for path, ends := range states {
		for _, w := range weathers() {
			t.Run(strings.TrimPrefix(path, "/")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				o, b := stormy(t, sandbox.Options{})
				other := newStranger(t)
				o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
				o.service.Hold() // only a listing or a person can tell what became of it
				o.brew(faultyCall{path: path, part: path}, w, b, other)
				want := ends[w.name]
				if want == "" {
					want = queued
				}
				result := make(chan office.SendState, 1)
				go func() {
					state, _ := o.Send(t.Context(), o.draft(), nil)
					result <- state
				}()
				o.eventually("it is "+string(want), func() bool { return o.draftIs(want) })
				o.clearUp(b)
				if want == unknown && w.name != "cut in the middle" {
					// The service did nothing, which nobody here can know: a person decides.
					noErr(t, o.Resolve(o.Drafts()[0].ID, true))
				}
				if want == failed {
					if state := <-result; state.Problem.IsZero() {
						t.Errorf("no word why: %+v", state)
					}
					noErr(t, o.Resolve(o.Drafts()[0].ID, true))
				}
				o.eventually("it is sent", func() bool { return o.draftIs(sent) && len(o.service.Packages()) > 0 })
				if n := len(o.service.Packages()); n != 1 {
					t.Errorf("%d packages", n)
				}
				if v := other.visits(); len(v) > 0 {
					t.Errorf("another host was asked: %q", v)
				}
			})
		}
	}
}

// draftIs reports whether the one draft is in that state, with a sentence where it waits.
func (o *testOffice) draftIs(want office.DraftState) (ok bool) {
	err := o.Data.Store.View(func(tx *store.Tx) error {
		drafts, err := tx.Drafts()
		if err == nil && len(drafts) == 1 {
			d := drafts[0]
			ok = d.State == want && (want == office.DraftSent || !d.Problem.IsZero())
		}
		return err
	})
	return err == nil && ok
}

func TestPackagesMadeElsewhereAreFoundWhenTheListWorksAgain(t *testing.T) {
	for _, w := range weathers(oneOfEach...) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			o, b := stormy(t, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
			other := newStranger(t)
			o.brew(faultyCall{path: "/packages/list", part: "/packages/list"}, w, b, other)
			o.colleague(t, 1)
			o.packages.Sweep("test")
			o.eventually("the list is asked for", func() bool { return o.struck(w) })
			o.clearUp(b)
			switch w.name {
			case "401", "404": // no list for this account; a person who says retry has it asked again
				o.Act(t.Context(), Issue{Action: ActRetry})
			}
			o.eventually("the package is found and saved", func() bool { return o.Status().Packages.Saved == 1 })
			if v := other.visits(); len(v) > 0 {
				t.Errorf("another host was asked: %q", v)
			}
		})
	}
}

func TestSigningOutHappensHereWhateverTheServiceAnswers(t *testing.T) {
	// What the service does not know, or knows no more, is as good as deleted.
	for path, told := range map[string]string{
		"/events/endpoints/delete": "The address for events could not be deleted", "/connect/revoke": "The sign-in could not be revoked",
	} {
		for _, w := range weathers(oneOfEach...) {
			t.Run(strings.TrimPrefix(path, "/")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				o, b := stormy(t, sandbox.Options{})
				o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
				other := newStranger(t)
				o.brew(faultyCall{path: path, part: path}, w, b, other)
				err := o.SignOut(t.Context())
				if text := Message(err).String(); w.name == "404" && err != nil || err != nil && !strings.Contains(text, told) {
					t.Errorf("told: %q", text)
				}
				if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" {
					t.Errorf("status: %+v", s)
				}
				o.clearUp(b)
				noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
				o.eventually("it works again", func() bool { return o.Status().Endpoint.ID != "" && len(o.Status().Health) == 0 })
				if v := other.visits(); len(v) > 0 {
					t.Errorf("another host was asked: %q", v)
				}
			})
		}
	}
}

func TestASignInThatFailsSaysSoInOneSentenceAndTheNextOneWorks(t *testing.T) {
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/jwks", "/connect/userinfo", "/connect/token"} {
		for _, w := range weathers(oneOfEach...) {
			t.Run(strings.TrimPrefix(path, "/")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				o, b := stormy(t, sandbox.Options{})
				id := o.send()
				noErr(t, o.SignOut(t.Context()))
				other := newStranger(t)
				o.brew(faultyCall{path: path, part: path}, w, b, other)
				err := o.SignIn(t.Context(), SignInOptions{}, visit)
				if text := Message(err).String(); strings.ContainsAny(text, "\n{}") || strings.Contains(text, "://") || strings.Contains(text, "connect/") {
					t.Errorf("told: %q", text)
				}
				if err == nil && path == "/connect/token" {
					t.Error("signed in without a token")
				}
				if s := o.Status(); s.SignedIn != (err == nil) {
					t.Errorf("%v, and the status says %+v", err, s)
				}
				o.clearUp(b)
				noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
				signAll(o, id)
				o.eventually("it works again", func() bool { return saved(o, id) && len(o.Status().Health) == 0 })
				if v := other.visits(); len(v) > 0 {
					t.Errorf("another host was asked: %q", v)
				}
			})
		}
	}
}

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
