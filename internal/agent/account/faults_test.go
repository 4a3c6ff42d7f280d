package account

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"countersign/internal/message"
	"countersign/internal/sandbox"
)

// eachFault has something happen while each of the calls fails in each way. Another host, which is pointed to, must not be asked.
func eachFault(t *testing.T, x *testService, paths []string, happens func(path, fault string)) {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("another host was asked: %s", r.URL) }))
	defer other.Close()
	for _, path := range paths {
		for name, f := range map[string]sandbox.Fault{
			"dropped": {Drop: true}, "cut in the middle": {TruncateAfter: 20}, "401": {Status: 401}, "404": {Status: 404}, "500": {Status: 500},
			"a web page": {Status: 200, Body: "<html>Welcome</html>", Headers: map[string]string{"Content-Type": "text/html"}},
			"a redirect": {Status: 307, Headers: map[string]string{"Location": other.URL + "/elsewhere"}},
		} {
			f.Path = path
			fault := x.service.Inject(f)
			happens(path, name)
			x.service.Heal(fault)
		}
	}
}

func TestASignInThatFailsSaysSoInOneSentenceAndTheNextOneWorks(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	eachFault(t, x, []string{"/.well-known/openid-configuration", "/.well-known/jwks", "/connect/userinfo", "/connect/token"}, func(path, fault string) {
		err := x.tryToSignIn(t)
		if text := message.For(err).String(); strings.ContainsAny(text, "\n{}") || strings.Contains(text, "://") || strings.Contains(text, "connect/") {
			t.Errorf("%s, %s: told: %q", path, fault, text)
		}
		if x.SignedIn() != (err == nil) || err == nil && path == "/connect/token" {
			t.Errorf("%s, %s: signed in %v, %v", path, fault, x.SignedIn(), err)
		}
		x.service.Heal(0)
		x.signIn(t)
		x.SignOut(t.Context())
	})
}

// What the service does not know, or knows no more, is as good as deleted.
func TestSigningOutHappensHereWhateverTheServiceAnswers(t *testing.T) {
	x := newService(t)
	x.setUp(t)
	told := map[string]string{"/events/endpoints/set": "The address for events could not be deleted", "/connect/revoke": "The sign-in could not be revoked"}
	eachFault(t, x, []string{"/events/endpoints/set", "/connect/revoke"}, func(path, fault string) {
		x.signIn(t)
		err := x.SignOut(t.Context())
		well := fault == "404" || path == "/connect/revoke" && fault == "cut in the middle" // whose answer says nothing
		if (err == nil) != well || err != nil && !strings.Contains(message.For(err).String(), told[path]) {
			t.Errorf("%s, %s: told: %v", path, fault, err)
		}
		if x.SignedIn() || x.Current().Account.Email != "" {
			t.Errorf("%s, %s: %+v", path, fault, x.Current().Account)
		}
	})
}
