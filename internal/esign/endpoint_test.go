package esign

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTheEndpointIsKeptToTheLetter(t *testing.T) {
	const asked = "https://Office.Example.com/Hooks/?a=1&b=<2>"
	for name, c := range map[string]struct{ body, url string }{
		"as in interface.md": {`{"endpoint":{"eventEndpointId":"e-1","name":"Countersign","url":"https://office.example.com/Hooks/","secret":"S +/=é"}}`, "https://office.example.com/Hooks/"},
		"not wrapped":        {`{"eventEndpointId":"e-1","url":"https://office.example.com/Hooks/","secret":"S +/=é"}`, "https://office.example.com/Hooks/"},
		"without the url":    {`{"endpoint":{"eventEndpointId":"e-1","secret":"S +/=é"}}`, asked},
	} {
		var sent map[string]any
		client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			json.NewDecoder(r.Body).Decode(&sent)
			io.WriteString(w, c.body)
		}))
		e, err := client.SetEndpoint(context.Background(), asked)
		if err != nil || e.URL != c.url || e.Secret != "S +/=é" || e.ID != "e-1" || sent["url"] != asked || len(sent) != 1 {
			t.Errorf("%s: %v %v, sent %v", name, e, err, sent)
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
	client, _ = api(t, answering(403, `{"error":"endpoint_not_authorized"}`))
	if _, err := client.DeleteEndpoint(context.Background(), asked); kindOf(err) != Forbidden {
		t.Errorf("deleting without the right: %v", err)
	}
}

func TestListsLinksAndTheOrganization(t *testing.T) {
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
	if l, err := client.SignLink(context.Background(), "p", "s"); err != nil || l.URL != "https://sign.example.com/link/t" || l.Expires.IsZero() {
		t.Errorf("%v %v", l, err)
	}
	client, _ = api(t, answering(200, `{"link":"file:///etc/passwd"}`))
	if _, err := client.SignLink(context.Background(), "p", "s"); kindOf(err) != BadAnswer {
		t.Errorf("a link that is none: %v", err)
	}
	client, _ = api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(405)
			return
		}
		io.WriteString(w, `{"organization":{"organizationId":"o-1","organizationName":"Office"},"members":[{"memberId":"m-1","email":"ana@example.com"}]}`)
	}))
	if o, err := client.Organization(context.Background()); err != nil || o.Name != "Office" || len(o.Members) != 1 {
		t.Errorf("%+v %v", o, err)
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
