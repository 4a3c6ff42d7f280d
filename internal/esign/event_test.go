package esign

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestEventsOfEveryKind(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 14, 0, 123456700, time.UTC)
	for _, c := range []struct {
		name, body string
		want       Event
	}{
		{"package_executed", `{"action":"package_executed","packageId":"p","externalData":{"k":[1, 2]},"eventId":"e","eventOwnerOrganizationId":"o","eventOwnerMemberId":"m","eventTime":"2026-11-20T09:14:00.1234567Z"}`,
			Event{Action: PackageExecuted, PackageID: "p", ExternalData: json.RawMessage(`{"k":[1, 2]}`), EventID: "e", OrganizationID: "o", MemberID: "m", Time: at}},
		{"document_executed", `{"action":"document_executed","packageId":"p","documentId":"d","externalId":"x","eventId":"e","eventTime":"2026-11-20T09:14:00.1234567Z"}`,
			Event{Action: DocumentExecuted, PackageID: "p", DocumentID: "d", ExternalID: "x", EventID: "e", Time: at}},
		{"document_signed", `{"action":"document_signed","packageId":"p","documentId":"d","revisionId":"r","signerId":"s","nextSignerId":null,"externalId":null,"eventId":"e","eventOwnerOrganizationId":"o","eventOwnerMemberId":"m","eventTime":"2026-11-20T09:14:00.1234567Z"}`,
			Event{Action: DocumentSigned, PackageID: "p", DocumentID: "d", SignerID: "s", EventID: "e", OrganizationID: "o", MemberID: "m", Time: at}},
		{"an unknown action with unknown fields", `{"action":"package_declined","why":{"deep":[{}]},"eventId":7}`, Event{Action: "package_declined", EventID: "7"}},
		{"other letter case is another field", `{"Action":"package_executed","PACKAGEID":"p"}`, Event{}},
		{"nothing in it", ` { } `, Event{}},
		{"a byte order mark", "\xef\xbb\xbf{\"action\":\"a\"}", Event{Action: "a"}},
		{"externalData null", `{"externalData":null,"externalId":null,"eventTime":null}`, Event{}},
		{"an unreadable time", `{"eventTime":"yesterday"}`, Event{}},
		{"a time of another type", `{"eventTime":{"s":1}}`, Event{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ParseEvent([]byte(c.body))
			got, want := e, c.want
			if err != nil || string(got.ExternalData) != string(want.ExternalData) || !got.Time.Equal(want.Time) {
				t.Fatalf("%+v %v", e, err)
			}
			got.ExternalData, want.ExternalData, got.Time, want.Time = nil, nil, time.Time{}, time.Time{}
			if !equalEvents(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func equalEvents(a, b Event) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestExternalIDMayBeAnyJSON(t *testing.T) {
	for raw, want := range map[string]string{`"a\u0020b"`: "a b", `17`: "17", `1e3`: "1e3", `true`: "true", `{"a": 1}`: `{"a":1}`, `[ ]`: "[]", `null`: ""} {
		e, err := ParseEvent([]byte(`{"externalId":` + raw + `}`))
		if err != nil || e.ExternalID != want {
			t.Errorf("%s: %q %v", raw, e.ExternalID, err)
		}
	}
}

func TestABodyThatIsNoEventIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"empty":                  ``,
		"not JSON":               `package_executed`,
		"cut":                    `{"action":"a"`,
		"two values":             `{"action":"a"}{"action":"b"}`,
		"a comment":              `{"action":"a"} // ok`,
		"an array":               `[{"action":"a"}]`,
		"null":                   `null`,
		"not UTF-8":              "{\"action\":\"a\xff\"}",
		"a string":               `"a"`,
		"far too deep":           `{"externalData":` + strings.Repeat("[", 100000),
		"an id that is none":     `{"packageId":{"a":1}}`,
		"an action that is none": `{"action":true}`,
		"an event that is none":  `{"eventId":[]}`,
	} {
		e, err := ParseEvent([]byte(body))
		if err == nil {
			t.Errorf("%s: %+v", name, e)
		} else if strings.Contains(err.Error(), "package_executed") || strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: the error quotes the body: %v", name, err)
		}
	}
}

func TestTimesAsServicesWriteThem(t *testing.T) {
	base := time.Date(2026, 11, 20, 9, 14, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2026-11-20T09:14:00Z":                    base,
		"2026-11-20T09:14:00.Z":                   base,
		"2026-11-20T09:14:00.5Z":                  base.Add(500 * time.Millisecond),
		"2026-11-20T09:14:00,5Z":                  base.Add(500 * time.Millisecond),
		"2026-11-20T09:14:00.123456789Z":          base.Add(123456789),
		"2026-11-20T09:14:00.123456789123Z":       base.Add(123456789),
		"2026-11-20T09:14:00":                     base,
		"2026-11-20 09:14:00.25":                  base.Add(250 * time.Millisecond),
		"2026-11-20t09:14:00z":                    base,
		"2026-11-20T10:14:00+01:00":               base,
		"2026-11-20T10:14:00.0000000+0100":        base,
		"2026-11-20T09:14Z":                       base,
		" 2026-11-20T04:14:00-05 ":                base,
		"":                                        {},
		"2026-13-40T99:99:99Z":                    {},
		"1763630040":                              {},
		"2026-11-20T09:14:00.1.2Z":                {},
		"999999999999999999999-11-20T09:14:00.5Z": {},
		"9999-12-31T23:59:59-01:00":               {}, // in the year 10000, which JSON cannot represent
	} {
		if got, ok := parseTime(s); !got.Equal(want) || ok == want.IsZero() {
			t.Errorf("%q: %v %v", s, got, ok)
		}
	}
}

func sum(url, secret, body string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(url + body))
	return mac.Sum(nil)
}

func TestOnlyTheExactSignatureVerifies(t *testing.T) {
	const u, secret, body = "https://office.example.com/Hook", "6f9c2d41", `{"a":1}`
	good := base64.StdEncoding.EncodeToString(sum(u, secret, body))
	if !Verify(u, secret, good, []byte(body)) {
		t.Fatal("the right one does not")
	}
	loose := good[:42] + string(good[42]+1) + "=" // the same 32 bytes with a stray bit
	if _, ok := DecodeSignature(loose); ok {
		t.Error("before a body is read, one with a stray bit may be a signature")
	}
	for name, c := range map[string][4]string{
		"no url":            {"", secret, base64.StdEncoding.EncodeToString(sum("", secret, body)), body},
		"no secret":         {u, "", base64.StdEncoding.EncodeToString(sum(u, "", body)), body},
		"no header":         {u, secret, "", body},
		"no body":           {u, secret, base64.StdEncoding.EncodeToString(sum(u, secret, "")), ""},
		"letter case":       {strings.ToLower(u), secret, good, body},
		"a slash":           {u + "/", secret, good, body},
		"space in the body": {u, secret, good, body + " "},
		"hex":               {u, secret, hex.EncodeToString(sum(u, secret, body)), body},
		"no padding":        {u, secret, strings.TrimRight(good, "="), body},
		"a stray bit":       {u, secret, loose, body},
		"a line break":      {u, secret, good[:20] + "\n" + good[20:], body},
		"spaces around":     {u, secret, " " + good + " ", body},
	} {
		if Verify(c[0], c[1], c[2], []byte(c[3])) {
			t.Errorf("%s: verified", name)
		}
	}
	// UTF-8, a zero byte, an absurd length: a key consists of bytes.
	for _, secret := range []string{"schlüssel 钥", "a\x00b", strings.Repeat("k", 10000)} {
		if !Verify(u, secret, base64.StdEncoding.EncodeToString(sum(u, secret, body)), []byte(body)) {
			t.Errorf("the secret of %d bytes does not verify", len(secret))
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("https://x.example.com/", "secret", "", []byte("{}"))
	f.Add("u", "s", base64.StdEncoding.EncodeToString(sum("u", "s", "b")), []byte("b"))
	f.Add("", "", strings.Repeat("=", 44), []byte(nil))
	f.Fuzz(func(t *testing.T, u, secret, header string, body []byte) {
		right := base64.StdEncoding.EncodeToString(sum(u, secret, string(body)))
		complete := u != "" && secret != "" && len(body) > 0
		if got := Verify(u, secret, header, body); got != (complete && header == right) {
			t.Errorf("%v for %q, the right one is %q", got, header, right)
		}
		if Verify(u, secret, right, body) != complete {
			t.Error("the right one does not verify, or an incomplete one does")
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{
		`{"action":"package_executed","packageId":"p","externalData":{"a":[1]},"eventId":"e","eventTime":"2026-11-20T09:14:00.1234567Z"}`,
		`{"externalId":1e9,"a":{"b":[{"c":null}]}}`, `{"a":1,"\u0061":2}`, `[]`, "\xef\xbb\xbf{}", `{"eventTime":"2026-11-20T09:14:00,5"}`,
		"{\"a\":\"\xed\xa0\x80\"}", `{"a":"\ud800"}`, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := ParseEvent(raw)
		if err != nil {
			if !equalEvents(e, Event{}) {
				t.Errorf("an error and an event: %+v", e)
			}
			return
		}
		if !json.Valid(trimBOM(raw)) || !utf8.Valid(raw) {
			t.Error("accepted what is not JSON")
		}
		if e.ExternalData != nil && !json.Valid(e.ExternalData) {
			t.Errorf("externalData %q", e.ExternalData)
		}
		if _, err := e.Time.MarshalJSON(); err != nil {
			t.Errorf("a time that cannot be kept: %v", err)
		}
	})
}

func TestNobodyFollowsHoweverThatIsWritten(t *testing.T) {
	for name, next := range map[string]string{"null": `null`, "empty": `""`, "zeros": `"00000000-0000-0000-0000-000000000000"`, "the signer": `"s-1"`,
		"a list": `[]`, "an object": `{}`, "false": `false`} {
		e, err := ParseEvent([]byte(`{"action":" Document_SIGNED","signerId":"s-1","nextSignerId":` + next + `}`))
		if err != nil || e.NextSignerID != "" || e.SignerID != "s-1" || e.Action != DocumentSigned {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if e, err := ParseEvent([]byte(`{"signerId":"s-1","nextSignerId":"s-2"}`)); err != nil || e.NextSignerID != "s-2" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestTheEndpointIsKeptToTheLetter(t *testing.T) {
	const asked = "https://Office.Example.com/Hooks/?a=1&b=<2>"
	for name, c := range map[string]struct{ body, url string }{
		"as in interface.md": {`{"endpoint":{"eventEndpointId":"e-1","name":"Countersign","url":"https://office.example.com/Hooks/","secret":"S +/=é"}}`, "https://office.example.com/Hooks/"},
		"not wrapped":        {`{"eventEndpointId":"e-1","url":"https://office.example.com/Hooks/","secret":"S +/=é"}`, "https://office.example.com/Hooks/"},
		"without the url":    {`{"endpoint":{"eventEndpointId":"e-1","secret":"S +/=é"}}`, asked},
	} {
		client, sent := recording(t, c.body)
		e, err := client.SetEndpoint(context.Background(), asked)
		if err != nil || e.URL != c.url || e.Secret != "S +/=é" || e.ID != "e-1" || sent() != `POST /api/v1/events/endpoints/set {"url":"`+asked+`"}` {
			t.Errorf("%s: %v %v, sent %s", name, e, err, sent())
		}
		if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, "S +/") {
			t.Errorf("it prints its secret: %s", s)
		}
	}
	client, _ := api(t, answering(200, `{"endpoint":{"eventEndpointId":"e-1","url":"https://x/"}}`))
	if _, err := client.SetEndpoint(context.Background(), asked); kindOf(err) != BadAnswer {
		t.Errorf("no secret: %v", err)
	}
	client, _ = api(t, answering(200, ``))
	if e, err := client.DeleteEndpoint(context.Background(), asked); err != nil || e != (Endpoint{}) {
		t.Errorf("deleting: %v %v", e, err)
	}
	client, _ = api(t, answering(200, `{"endpoint":{"eventEndpointId":"e-2","url":"https://other/"}}`))
	if e, err := client.DeleteEndpoint(context.Background(), asked); err != nil || e.ID != "e-2" || e.URL != "https://other/" {
		t.Errorf("deleting another's: %v %v", e, err)
	}
	client, _ = api(t, answering(404, `{"error":"endpoint_not_found"}`))
	if _, err := client.DeleteEndpoint(context.Background(), asked); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	client, _ = api(t, answering(404, `<h1>Not Found</h1>`))
	if _, err := client.DeleteEndpoint(context.Background(), asked); !NotServed(err) {
		t.Errorf("deleting where somebody else answers: %v", err)
	}
	client, _ = api(t, answering(403, `{"error":"endpoint_not_authorized"}`))
	if _, err := client.DeleteEndpoint(context.Background(), asked); kindOf(err) != Forbidden {
		t.Errorf("deleting without the right: %v", err)
	}
}

func TestListsAndLinks(t *testing.T) {
	client, _ := api(t, answering(200, `{"items":[`+fullStatus+`,{"odd":1},null,7],"total":9,"take":1,"skip":0}`))
	if p, err := client.List(context.Background(), ListQuery{Take: 1}); err != nil || len(p.Items) != 1 || p.Total != 9 || p.Items[0].Name != "Lease" {
		t.Errorf("%+v %v", p, err)
	}
	client, _ = api(t, answering(200, `[`+bareStatus+`]`))
	if p, err := client.List(context.Background(), ListQuery{}); err != nil || len(p.Items) != 1 || p.Total != 0 {
		t.Errorf("%+v %v", p, err)
	}
	var asked struct{ SortBy string }
	client, _ = api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewDecoder(r.Body).Decode(&asked)
		fmt.Fprint(w, `{"items":[]}`)
	}))
	if _, err := client.List(context.Background(), ListQuery{NewestFirst: true}); err != nil || asked.SortBy != "created" {
		t.Errorf("asked to sort by %q, %v", asked.SortBy, err)
	}
	client, _ = api(t, answering(200, `{"link":"https://sign.example.com/link/t","timeExpires":"2026-12-01T00:00:00Z"}`))
	if l, err := client.SignLink(context.Background(), "p", "s"); err != nil || l != "https://sign.example.com/link/t" {
		t.Errorf("%v %v", l, err)
	}
	client, _ = api(t, answering(200, `{"link":"file:///etc/passwd"}`))
	if _, err := client.SignLink(context.Background(), "p", "s"); kindOf(err) != BadAnswer {
		t.Errorf("a link that is none: %v", err)
	}
}

func TestOnlyAListIsAnEmptyList(t *testing.T) {
	for answer, empty := range map[string]bool{
		`{"items":[],"total":0}`: true, `{"items":[]}`: true, `[]`: true, ` []`: true, `{"items":null,"total":0}`: true, `{"total":0}`: true,
		`{}`: false, `null`: false, `"ok"`: false, `7`: false, `true`: false, `{"status":"please sign in"}`: false,
		`{"error":"busy"}`: false, `{"items":"none"}`: false, `{"items":[{"id":"p-1"}],"total":1}`: false, `[{"id":"p-1"}]`: false, `[7]`: false,
	} {
		client, _ := api(t, answering(200, answer))
		p, err := client.List(t.Context(), ListQuery{})
		if empty && (err != nil || len(p.Items) != 0) || !empty && kindOf(err) != BadAnswer {
			t.Errorf("%s: %+v %v", answer, p, err)
		}
	}
}
