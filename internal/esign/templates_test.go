package esign

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestTemplatesAreAskedForAsTheDocumentsShow(t *testing.T) {
	var sent []string
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Method+" "+r.URL.Path+" "+string(b))
		io.WriteString(w, `{"items":[],"total":0,"take":100,"skip":0}`)
	}))
	for _, q := range []TemplateQuery{{}, {Search: "lease*", Everyone: true, RecentFirst: true, Take: 100, Skip: 200}} {
		if page, err := client.Templates(context.Background(), q); err != nil || len(page.Items) != 0 {
			t.Errorf("%+v %v", page, err)
		}
	}
	want := []string{`POST /api/v1/templates/list {"skip":0}`,
		`POST /api/v1/templates/list {"search":"lease*","sortBy":"last_used","allMembers":true,"take":100,"skip":200}`}
	if !reflect.DeepEqual(sent, want) {
		t.Errorf("sent %q", sent)
	}
}

// Whatever shape a template comes in, it is the same template.
func TestATemplateIsReadInEveryShape(t *testing.T) {
	want := Template{ID: "t-1", Name: "Lease", Sequential: true,
		Documents: []TemplateDocument{{ID: "d-1", Name: "Lease", Fields: []TemplateField{{DataID: "rent"}, {DataID: "special"}}}, {ID: "d-2", Name: "Rules"}},
		Signers:   []TemplatePerson{{ID: "s-1", Role: "Landlord"}, {ID: "s-2", Role: "Tenant", Email: "ana@example.com"}}}
	for name, body := range map[string]string{
		"as shown": `{"items":[{"templateId":"t-1","name":"Lease","packageType":"Sequential","type":"template","documents":[
			{"documentId":"d-2","index":1,"name":"Rules"},{"documentId":"d-1","index":0,"name":"Lease","data":[{"id":"x","dataId":"rent","type":"text"},
			{"id":"y","dataId":"special","type":"multiline"},{"id":"z","dataId":null,"type":"text"},{"id":"s","dataId":"sign","type":"signature"}]}],
			"signers":[{"signerId":"s-2","index":2,"templateRole":"Tenant","email":"ana@example.com","role":"signer"},{"signerId":"s-1","index":1,"templateRole":"Landlord"}],
			"recipients":[]}],"total":1,"take":100,"skip":0}`,
		"bare": `[{"id":"t-1","name":"Lease","type":"sequential","documents":[{"id":"d-1","name":"Lease","fields":["rent","special"]},{"id":"d-2","name":"Rules","fields":null}],
			"signers":[{"id":"s-1","role":"Landlord"},{"id":"s-2","role":"Tenant","email":"ana@example.com"}]}]`,
		"by other names": `{"templates":{"templateId":"t-1","name":"Lease","packageType":"Sequential","documents":[{"templateDocumentId":"d-1","name":"Lease","templateData":{"special":null,"rent":""}},
			{"templateDocumentId":"d-2","name":"Rules","templateData":{}}],
			"roles":[{"templateSignerId":"s-1","templateRole":"Landlord"},{"templateSignerId":"s-2","templateRole":"Tenant","email":"ana@example.com"}]}}`,
		"beside odd ones": `{"items":[{"name":"no id"},7,null,{"templateId":"a","type":"auto_template"},{"templateId":"t-1","name":"Lease","packageType":"Sequential","signers":[
			{"signerId":"s-1","templateRole":"Landlord"},{"signerId":"s-2","templateRole":"Tenant","email":"ana@example.com"}],"documents":[
			{"documentId":"d-1","name":"Lease","data":[{"dataId":"rent"},{"dataId":"special"},{"dataId":"rent"}]},{"documentId":"d-2","name":"Rules"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := api(t, answering(200, body))
			page, err := client.Templates(context.Background(), TemplateQuery{})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v %v", page, err)
			}
			got := page.Items[0]
			for i := range got.Documents {
				for j := range got.Documents[i].Fields {
					got.Documents[i].Fields[j].Multiline = false
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v", got)
			}
		})
	}
	client, _ := api(t, answering(200, `{"items":[{"templateId":"t-2","documents":["Lease",null],"signers":["Tenant"],"timeLastUsed":"2026-11-01T10:00:00Z"}]}`))
	page, err := client.Templates(context.Background(), TemplateQuery{})
	if err != nil || len(page.Items) != 1 || len(page.Items[0].Documents) != 1 || page.Items[0].Documents[0].Name != "Lease" ||
		len(page.Items[0].Signers) != 1 || page.Items[0].Signers[0].Role != "Tenant" || page.Items[0].LastUsed.Day() != 1 {
		t.Errorf("%+v %v", page, err)
	}
}

func TestWhatIsNoListOfTemplatesIsNotTakenForAnEmptyOne(t *testing.T) {
	for _, body := range []string{``, `{}`, `"x"`, `{"items":[{"name":"no id"}]}`, `<html>`} {
		client, _ := api(t, answering(200, body))
		if page, err := client.Templates(context.Background(), TemplateQuery{}); kindOf(err) != BadAnswer {
			t.Errorf("%q: %+v %v", body, page, err)
		}
	}
	for _, body := range []string{`[]`, `{"items":null,"total":0}`, `{"items":[{"templateId":"a","type":"auto_template"}],"total":1}`} {
		client, _ := api(t, answering(200, body))
		if page, err := client.Templates(context.Background(), TemplateQuery{}); err != nil || len(page.Items) != 0 {
			t.Errorf("%q: %+v %v", body, page, err)
		}
	}
}

func TestAServiceWithoutTheCallSaysSoInNoWordsOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		offered bool
	}{
		{404, `404 page not found`, false}, {404, ``, false}, {405, ``, false}, {404, `{"status":404,"error":"Not Found"}`, false},
		{404, `{"error":"not_found","message":"x"}`, false}, {405, `{"error":"method_not_allowed","message":"x"}`, false},
		{404, `{"error":"template_not_found","message":"x"}`, true}, {403, ``, true}, {500, ``, true}, {429, ``, true},
	} {
		client, _ := api(t, answering(c.status, c.body))
		if _, err := client.Templates(context.Background(), TemplateQuery{}); err == nil || NotOffered(err) == c.offered {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
}

func TestAPackageFromATemplateNamesRolesDocumentsAndValues(t *testing.T) {
	var sent string
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = string(b)
		io.WriteString(w, `{"packageId":"p-1"}`)
	}))
	p := offer()
	p.TemplateID = "t-1"
	p.Signers = []NewSigner{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com", TemplateRole: "Tenant", TemplateSignerID: "s-2"}}
	p.Documents = []NewDocument{{TemplateDocumentID: "d-1", TemplateData: map[string]string{"rent": "1200"}}, {FileID: "f-1", FileName: "r.pdf", TemplateDocumentID: "d-2"}}
	if _, err := client.AddPackage(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"templateId":"t-1"`, `"templateRole":"Tenant","templateSignerId":"s-2"`,
		`"documents":[{"templateDocumentId":"d-1","templateData":{"rent":"1200"}},{"fileId":"f-1","fileName":"r.pdf","templateDocumentId":"d-2"}]`} {
		if !strings.Contains(sent, want) {
			t.Errorf("%s is not in %s", want, sent)
		}
	}
}
