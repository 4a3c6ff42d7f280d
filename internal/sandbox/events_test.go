package sandbox

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// authentic checks a delivery by an independent implementation of interface.md.
func authentic(d delivered, url, secret string) bool {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(append([]byte(url), d.raw...))
	got, err := base64.StdEncoding.DecodeString(d.signature)
	return err == nil && hmac.Equal(got, h.Sum(nil))
}

var eventFields = map[string]string{
	"package_add":       "action eventId eventOwnerMemberId eventOwnerOrganizationId eventTime externalData packageId",
	"package_sent":      "action eventId eventOwnerMemberId eventOwnerOrganizationId eventTime externalData packageId",
	"package_executed":  "action eventId eventOwnerMemberId eventOwnerOrganizationId eventTime externalData packageId",
	"document_executed": "action documentId eventId eventTime externalId packageId",
	"document_signed":   "action documentId eventId eventOwnerMemberId eventOwnerOrganizationId eventTime externalId nextSignerId packageId revisionId signerId",
}

func TestEventsCarryExactlyTheFieldsOfTheirKindAndAreSigned(t *testing.T) {
	rc := newReceiver(t, nil)
	r := signedIn(t, quick(Options{}, rc))
	hook := rc.URL + "/Hooks/Sign/"
	e := r.register(hook)
	if e["name"] != "Countersign" || e["url"] != hook {
		t.Errorf("endpoint %v", e)
	}
	p := r.add("Sequential", 1, "Ana", "Jan")
	must(t, r.s.SignAll(p.PackageID))
	ids := map[any]bool{}
	var kinds []string
	var next []any
	for range 6 {
		d := rc.next(t)
		action := d.event["action"].(string)
		kinds = append(kinds, action)
		if got := strings.Join(slices.Sorted(maps.Keys(d.event)), " "); got != eventFields[action] {
			t.Errorf("%s has %s", action, got)
		}
		if !authentic(d, hook, e["secret"].(string)) || d.path != "/Hooks/Sign/" {
			t.Errorf("%s is not authentic", action)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.9999999Z", d.event["eventTime"].(string)); err != nil || !strings.Contains(d.event["eventTime"].(string), ".") {
			t.Errorf("eventTime %v", d.event["eventTime"])
		}
		if d.event["externalId"] != nil || d.event["externalData"] != nil {
			t.Errorf("unset data is %v", d.event)
		}
		if action == "document_signed" {
			next = append(next, d.event["nextSignerId"])
		}
		ids[d.event["eventId"]] = true
	}
	if got := strings.Join(kinds, " "); got != "package_add package_sent document_signed document_signed document_executed package_executed" {
		t.Errorf("events %s", got)
	}
	if len(ids) != 6 || !slices.Equal(next, []any{p.Signers[1].SignerID, nil}) {
		t.Errorf("%d event ids, next signers %v", len(ids), next)
	}
}

func TestSettingTheEndpointReplacesItWithAFreshSecret(t *testing.T) {
	rc := newReceiver(t, nil)
	r := signedIn(t, quick(Options{}, rc))
	first := r.register(rc.URL + "/a")
	second := r.register(rc.URL + "/a")
	if first["secret"] == second["secret"] || first["eventEndpointId"] != second["eventEndpointId"] {
		t.Errorf("%v then %v", first, second)
	}
	r.s.Hold()
	r.add("concurrent", 1, "Ana")
	third := r.register(rc.URL + "/b") // changed while events wait: they are signed for the endpoint registered when they are sent
	must(t, r.s.Release(""))
	if d := rc.next(t); d.path != "/b" || !authentic(d, rc.URL+"/b", third["secret"].(string)) {
		t.Errorf("delivered to %s", d.path)
	}
	for _, bad := range []string{"", "http://127.0.0.1:1/", "http://office.example/", "office.example", "https://", "https://a.example/#x"} {
		wantError(t, r.post("/events/endpoints/set", object{"url": bad}), 400, "event_endpoint_invalid_url")
	}
	wantStatus(t, r.post("/events/endpoints/set", object{"url": rc.URL + "/b", "delete": true}), 200)
	wantError(t, r.post("/events/endpoints/set", object{"url": rc.URL + "/b", "delete": true}), 404, "event_endpoint_not_found")
}

func TestFailedDeliveryIsRepeatedWithTheSameBytes(t *testing.T) {
	rc := newReceiver(t, func(n int) int {
		if n <= 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	})
	r := signedIn(t, quick(Options{}, rc))
	r.register(rc.URL)
	a := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft"})
	wantStatus(t, a, 200)
	first := rc.next(t)
	for range 3 {
		if again := rc.next(t); string(again.raw) != string(first.raw) {
			t.Error("the bytes changed")
		}
	}
	waitFor(t, func() bool {
		all, err := r.s.Deliveries()
		return err == nil && len(all) == 1 && all[0].Delivered != nil && all[0].Attempts == 4 && all[0].Status == 204
	})
}

// waitFor polls until ok. Its condition follows soon from what has already happened.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

func TestEventsCanBeHeldReversedDuplicatedAndRepeated(t *testing.T) {
	rc := newReceiver(t, nil)
	r := signedIn(t, quick(Options{}, rc))
	r.register(rc.URL)
	r.s.Hold()
	p := r.add("concurrent", 1, "Ana")
	must(t, r.s.SignAll(p.PackageID))
	must(t, r.s.Release("reverse"))
	var kinds []string
	var last delivered
	for range 5 {
		last = rc.next(t)
		kinds = append(kinds, last.event["action"].(string))
	}
	if got := strings.Join(kinds, " "); got != "package_executed document_executed document_signed package_sent package_add" {
		t.Errorf("reversed: %s", got)
	}
	must(t, r.s.Redeliver(last.event["eventId"].(string)))
	if again := rc.next(t); string(again.raw) != string(last.raw) {
		t.Error("another event came")
	}
	if r.s.Redeliver("unknown") == nil {
		t.Error("an unknown event was sent again")
	}
	r.s.Disturb(Disturbance{Duplicate: 2, DelayMS: 1})
	r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft"})
	first := rc.next(t)
	for range 2 {
		if string(rc.next(t).raw) != string(first.raw) {
			t.Error("a duplicate differs")
		}
	}
	if r.s.Release("sideways") == nil {
		t.Error("an unknown order is accepted")
	}
}

func TestForgeries(t *testing.T) {
	rc := newReceiver(t, func(n int) int { return 200 + n })
	r := signedIn(t, quick(Options{}, rc))
	if _, err := r.s.Forge(t.Context(), Forgery{Action: "package_executed"}); err == nil {
		t.Error("sent without an endpoint")
	}
	secret := r.register(rc.URL + "/h")["secret"].(string)
	for i, c := range []struct {
		f    Forgery
		good bool
	}{
		{Forgery{Action: "package_executed"}, true},
		{Forgery{Action: "document_signed", Signature: "wrong"}, false},
		{Forgery{Action: "document_signed", Signature: "other-url"}, false},
		{Forgery{Action: "document_executed", Signature: "none"}, false},
		{Forgery{Action: "document_executed", Signature: "AAAA"}, false},
		{Forgery{Body: `{"not json`}, true},
		{Forgery{Action: "package_executed", Fields: map[string]any{"packageId": nil}}, true},
	} {
		status, err := r.s.Forge(t.Context(), c.f)
		if err != nil || status != 201+i {
			t.Fatalf("%d: %d, %v", i, status, err)
		}
		d := rc.next(t)
		if authentic(d, rc.URL+"/h", secret) != c.good {
			t.Errorf("%d: authentic is not %v", i, c.good)
		}
		if c.f.Signature == "none" && len(d.header.Values("X-Service-Signature")) > 0 {
			t.Error("a signature was sent")
		}
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	rc := newReceiver(t, nil)
	r := start(t, quick(Options{Dir: dir}, rc))
	v := r.signIn(adminMail, allScopes)
	r.register(rc.URL + "/hook")
	r.s.Hold()
	p := r.add("concurrent", 1, "Ana")
	must(t, r.s.SignAll(p.PackageID))
	keys := r.do("GET", "/.well-known/jwks", "", nil).body
	if _, err := Start(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second service on the folder: %v", err)
	}
	must(t, r.s.Close())
	r2 := start(t, quick(Options{Dir: dir, Now: r.clock.Now}, rc))
	r2.token = r.token
	if !bytes.Equal(keys, r2.do("GET", "/.well-known/jwks", "", nil).body) {
		t.Error("another signing key")
	}
	wantStatus(t, r2.refresh(v["refresh_token"]), 200)
	a := r2.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	if pagesOf(t, a.body) != 2 {
		t.Error("the executed PDF is gone")
	}
	seen := map[any]bool{}
	for range 5 {
		seen[rc.next(t).event["action"]] = true
	}
	if !seen["package_executed"] || !seen["document_signed"] || !seen["package_add"] {
		t.Errorf("after the restart came %v", seen)
	}
	must(t, os.Remove(filepath.Join(dir, "signed", p.Documents[0].DocumentID+".executed.pdf")))
	again := r2.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	if pagesOf(t, again.body) != 2 {
		t.Error("a lost PDF is not made again")
	}
}

func TestTemporaryFolderGoesAway(t *testing.T) {
	r := start(t, Options{})
	must(t, r.s.Close())
	if _, err := os.Stat(r.s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestPageSignsWithoutJavaScript(t *testing.T) {
	r := signedIn(t, Options{})
	p := r.add("Sequential", 1, "Ana", "Jan")
	page := strings.TrimPrefix(p.Signers[0].Page, r.s.URL())
	body := string(r.do("GET", page, "", nil).body)
	if !strings.Contains(body, "Lease Sonnenweg 4") || !strings.Contains(body, "your turn") {
		t.Fatalf("page %s", body)
	}
	if strings.Contains(body, "http://") || strings.Contains(body, "https://") {
		t.Error("the page refers to another address")
	}
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}}), 400)
	pdf := r.do("GET", page+"/documents/"+p.Documents[0].DocumentID, "", nil)
	if pagesOf(t, pdf.body) != 1 {
		t.Error("the document cannot be viewed")
	}
	drawing := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "typed": {"Ana"}, "drawn": {drawing}}), 303)
	if !r.find(p.PackageID).Signers[0].Signed {
		t.Error("not signed")
	}
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "typed": {"Ana"}}), 400)

	next := strings.TrimPrefix(p.Signers[1].Page, r.s.URL())
	wantStatus(t, r.form(next, url.Values{"do": {"decline"}, "reason": {"no"}}), 303)
	if body := string(r.do("GET", next, "", nil).body); !strings.Contains(body, "You have declined") {
		t.Errorf("page %s", body)
	}
	index := string(r.do("GET", "/", "", nil).body)
	if !strings.Contains(index, page) || !strings.Contains(index, "declined") {
		t.Error("the index does not show the signers")
	}
	wantStatus(t, r.do("GET", "/link/nothing", "", nil), 404)
}

func TestDrawnAcceptsPicturesAlone(t *testing.T) {
	for _, bad := range []string{"", "data:image/svg+xml;base64,AAAA", "data:image/png;base64,AAAA", "data:image/png;base64,***"} {
		if drawn(bad) != nil {
			t.Errorf("%q is taken for a drawing", bad)
		}
	}
}
