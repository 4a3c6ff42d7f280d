package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// template is the one of that name, as templates/list shows it.
func (r *rig) template(name string) object {
	r.t.Helper()
	a := r.post("/templates/list", object{})
	wantStatus(r.t, a, 200)
	for _, item := range a.json(r.t)["items"].([]any) {
		if item.(object)["name"] == name {
			return item.(object)
		}
	}
	r.t.Fatalf("no template %q in %s", name, a.body)
	return nil
}

// ids are those of the objects under a field, in their order.
func ids(o object, field, id string) (list []string) {
	for _, x := range o[field].([]any) {
		list = append(list, x.(object)[id].(string))
	}
	return list
}

func TestTemplatesAreListedSearchedAndSorted(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	names := func(q object) (list []string) {
		a := r.post("/templates/list", q)
		wantStatus(t, a, 200)
		return ids(a.json(t), "items", "name")
	}
	if got := names(object{}); len(got) != 3 {
		t.Fatalf("samples: %q", got)
	}
	if got := names(object{"search": "tenant"}); !slices.Equal(got, []string{"Lease agreement"}) {
		t.Errorf("by a role: %q", got)
	}
	if got := names(object{"search": "engag*", "types": []string{"template"}}); !slices.Equal(got, []string{"Engagement letter"}) {
		t.Errorf("by the beginning of a word: %q", got)
	}
	if got := names(object{"types": []string{"auto_template"}}); len(got) != 0 {
		t.Errorf("of another kind: %q", got)
	}
	nda := r.template("Non-disclosure agreement")
	signers := ids(nda, "signers", "signerId")
	wantStatus(t, r.post("/packages/add", object{"name": "N", "type": "concurrent", "templateId": nda["templateId"], "signers": []object{
		{"templateSignerId": signers[1], "email": "b@example.com"}, {"templateSignerId": signers[0], "email": "a@example.com"}}}), 200)
	if got := names(object{"sortBy": "last_used", "take": 1}); !slices.Equal(got, []string{"Non-disclosure agreement"}) {
		t.Errorf("used last: %q", got)
	}
	wantError(t, r.post("/templates/list", object{"take": 0}), 400, "template_range_take")
	wantError(t, r.post("/templates/list", object{"sortBy": "colour"}), 400, "template_invalid_sortBy")
	r.signIn("max.member@example.com", "member")
	wantError(t, r.post("/templates/list", object{"allMembers": true}), 403, "template_not_authorized")
	if got := names(object{}); len(got) != 3 {
		t.Errorf("a member sees %q", got)
	}
}

func TestAPackageFromATemplateHasItsDocumentsPeopleAndValues(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	lease := r.template("Lease agreement")
	documents := ids(lease, "documents", "documentId")
	a := r.post("/packages/add", object{"name": "Flat 4", "type": "Sequential", "state": "open", "templateId": lease["templateId"],
		"signers": []object{
			{"templateRole": "Landlord", "firstName": "Jan", "email": "jan@example.com"}, {"templateRole": "Tenant", "firstName": "Ana", "email": "ana@example.com"}},
		"documents": []object{
			{"fileId": r.upload("Plan.pdf", samplePDF(t, 2)), "fileName": "Plan.pdf"},
			{"templateDocumentId": documents[0], "templateData": object{"rent": "1,200 €"}},
			{"templateDocumentId": documents[1], "fileId": r.upload("Our rules.pdf", samplePDF(t, 3)), "fileName": "Our rules.pdf", "externalId": "x-1"},
		}})
	wantStatus(t, a, 200)
	p := a.json(t)["package"].(object)
	if got := ids(p, "documents", "name"); !slices.Equal(got, []string{"Lease agreement", "House rules", "Plan"}) {
		t.Fatalf("documents %q", got)
	}
	if d := p["documents"].([]any)[1].(object); d["numberPages"] != 3.0 || d["externalId"] != "x-1" {
		t.Errorf("the swapped document: %v", d)
	}
	if got := ids(p, "recipients", "email"); !slices.Equal(got, []string{"records@example.com"}) || p["message"] != "Read the lease and the house rules, then sign both." {
		t.Errorf("recipients %q, message %q", got, p["message"])
	}
	id := p["packageId"].(string)
	must(t, r.s.SignAll(id))
	page := r.get("/packages/" + id + "/documents/" + ids(p, "documents", "documentId")[0] + "/pdf/executed/download")
	wantStatus(t, page, 200)
	stored, err := read[pack](r.s.db, bucketPackages, id)
	must(t, err)
	if got := stored.Documents[0].Filled; len(got) != 1 || got[0].Value != "1,200 €" {
		t.Errorf("filled: %+v", got)
	}
}

func TestWhatDoesNotFitATemplateIsRefused(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	lease := r.template("Lease agreement")
	base := func(change ...any) object {
		body := object{"name": "N", "type": "concurrent", "state": "open", "templateId": lease["templateId"], "signers": []object{
			{"templateRole": "Landlord", "email": "a@example.com"}, {"templateRole": "Tenant", "email": "b@example.com"}}}
		for i := 0; i+1 < len(change); i += 2 {
			body[change[i].(string)] = change[i+1]
		}
		return body
	}
	wantError(t, r.post("/packages/add", base("templateId", newID())), 404, "template_not_found")
	wantError(t, r.post("/packages/add", base("signers", []object{{"templateRole": "Janitor", "email": "a@example.com"}})), 404, "template_signer_not_found")
	wantError(t, r.post("/packages/add", base("signers", []object{{"templateRole": "Tenant", "email": "a@example.com"}})), 400, "package_invalid_template_signer")
	wantError(t, r.post("/packages/add", base("documents", []object{{"templateDocumentId": newID()}})), 404, "template_document_not_found")
	wantError(t, r.post("/packages/add", base("documents", []object{{"name": "House rules", "templateData": object{"rent": "1"}}})), 400, "document_invalid_templateData")
	if got := len(r.s.Packages()); got != 0 {
		t.Errorf("%d packages came of refused requests", got)
	}
	must(t, r.s.DeleteTemplate(lease["templateId"].(string)))
	wantError(t, r.post("/packages/add", base()), 404, "template_not_found")
	must(t, r.s.addSamples())
	if got := r.post("/templates/list", object{}); strings.Contains(string(got.body), "Lease agreement") {
		t.Error("a deleted sample came back")
	}
	empty, err := r.s.PutTemplate(Template{Name: "Empty", Signers: []TemplatePerson{{Role: "Client"}}})
	must(t, err)
	wantError(t, r.post("/packages/add", base("templateId", empty, "signers", []object{{"templateRole": "Client", "email": "a@example.com"}})), 400, "package_add_no_documents")
}
