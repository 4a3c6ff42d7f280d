package agent

import (
	"strings"
	"testing"

	"countersign/internal/sandbox"
)

func TestSigningOutHappensHereWhateverTheServiceAnswers(t *testing.T) {
	// What the service does not know, or knows no more, is as good as deleted.
	gone := map[string]bool{"slow": true, "404": true}
	for path, told := range map[string]string{
		"/events/endpoints/delete": "The address for events could not be deleted", "/connect/revoke": "The sign-in could not be revoked",
	} {
		for _, w := range weathers() {
			t.Run(strings.TrimPrefix(path, "/")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				o, b := stormy(t, sandbox.Options{})
				o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
				other := newStranger(t)
				o.brew(faultyCall{path: path, part: path}, w, b, other)
				err := o.SignOut(t.Context())
				if text := Message(err).String(); gone[w.name] && err != nil || err != nil && !strings.Contains(text, told) {
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
		for _, w := range weathers() {
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
				if err == nil && path == "/connect/token" && w.name != "slow" {
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
