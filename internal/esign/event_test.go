package esign

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
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
			got, err := ParseEvent([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v, %v", got, c.want, err)
			}
		})
	}
}

func TestExternalIDMayBeAnyJSON(t *testing.T) {
	for raw, want := range map[string]string{`"a\u0020b"`: "a b", `17`: "17", `1e3`: "1e3", `true`: "true", `{"a": 1}`: `{"a":1}`, `[ ]`: "[]", `null`: ""} {
		expect(t, must(ParseEvent([]byte(`{"externalId":`+raw+`}`))).ExternalID, want, "read as %q, want %q", want)
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
			if !reflect.DeepEqual(e, Event{}) {
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
	for next, want := range map[string]string{`null`: "", `""`: "", `"00000000-0000-0000-0000-000000000000"`: "", `"s-1"`: "",
		`[]`: "", `{}`: "", `false`: "", `"s-2"`: "s-2"} {
		got := must(ParseEvent([]byte(`{"action":" Document_SIGNED","signerId":"s-1","nextSignerId":` + next + `}`)))
		expect(t, got, Event{Action: DocumentSigned, SignerID: "s-1", NextSignerID: want}, "read as %+v")
	}
}

func TestTheEndpointIsKeptToTheLetter(t *testing.T) {
	const asked = "https://Office.Example.com/Hooks/?a=1"
	for name, c := range map[string]struct{ body, url string }{
		"as in interface.md": {`{"endpoint":{"eventEndpointId":"e-1","name":"Countersign","url":"https://office.example.com/Hooks/","secret":"S +/=é"}}`, "https://office.example.com/Hooks/"},
		"not wrapped":        {`{"eventEndpointId":"e-1","url":"https://office.example.com/Hooks/","secret":"S +/=é"}`, "https://office.example.com/Hooks/"},
		"without the url":    {`{"endpoint":{"eventEndpointId":"e-1","secret":"S +/=é"}}`, asked},
	} {
		client, _ := api(t, answering(200, c.body))
		e, err := client.SetEndpoint(t.Context(), asked)
		if err != nil || e.URL != c.url || e.Secret != "S +/=é" || e.ID != "e-1" {
			t.Errorf("%s: %v %v", name, e, err)
		}
		if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, "S +/") {
			t.Errorf("it prints its secret: %s", s)
		}
	}
	client, _ := api(t, answering(200, `{"endpoint":{"eventEndpointId":"e-1","url":"https://x/"}}`))
	if _, err := client.SetEndpoint(context.Background(), asked); kindOf(err) != BadAnswer {
		t.Errorf("no secret: %v", err)
	}
}

func TestAnEndpointThatIsGoneIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		was    Endpoint
		kind   Kind // "" for a success
	}{
		"no word":        {200, ``, Endpoint{}, ""},
		"another's":      {200, `{"endpoint":{"eventEndpointId":"e-2","url":"https://other/"}}`, Endpoint{ID: "e-2", URL: "https://other/"}, ""},
		"no words of it": {200, `{"endpoint":"deleted"}`, Endpoint{}, ""},
		"not there":      {404, `{"error":"endpoint_not_found"}`, Endpoint{}, ""},
		"somebody else":  {404, `<h1>Not Found</h1>`, Endpoint{}, NotFound},
		"not allowed":    {403, `{"error":"endpoint_not_authorized"}`, Endpoint{}, Forbidden},
	} {
		client, _ := api(t, answering(c.status, c.body))
		was, err := client.DeleteEndpoint(t.Context(), "https://office.example.com/")
		if was != c.was || kindOf(err) != c.kind || NotServed(err) != (c.kind == NotFound) {
			t.Errorf("%s: %v %v", name, was, err)
		}
	}
}

func TestOnlyAListIsAnEmptyList(t *testing.T) {
	for answer, want := range map[string]int{ // -1 for none
		`{"items":[],"total":0}`: 0, `{"items":[]}`: 0, `[]`: 0, ` []`: 0, `{"items":null,"total":0}`: 0, `{"total":0}`: 0,
		`{}`: -1, `null`: -1, `"ok"`: -1, `7`: -1, `true`: -1, `{"status":"please sign in"}`: -1, `{"error":"busy"}`: -1,
		`{"items":"none"}`: -1, `{"items":[{"name":"n"}],"total":1}`: -1, `[{"name":"n"}]`: -1, `[7]`: -1, ``: -1, `<html>`: -1,
		`[` + bareStatus + `]`: 1, `{"items":[` + fullStatus + `,{"odd":1},null,7],"total":9,"take":1,"skip":0}`: 1,
	} {
		client, _ := api(t, answering(200, answer))
		p, err := client.List(t.Context(), ListQuery{})
		if bad := kindOf(err) == BadAnswer; bad != (want < 0) || !bad && (err != nil || len(p.Items) != want || (p.Total == 9) != strings.Contains(answer, "9,")) {
			t.Errorf("%s: %+v %v", answer, p, err)
		}
		if templates, err := client.Templates(t.Context(), TemplateQuery{}); want < 1 && ((kindOf(err) == BadAnswer) != (want < 0) || len(templates.Items) != 0) {
			t.Errorf("%s: %+v %v", answer, templates, err)
		}
	}
}
