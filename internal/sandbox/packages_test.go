package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

func TestAddRefusesWhatIsWrong(t *testing.T) {
	r := signedIn(t, Options{})
	id := r.upload("a.pdf", samplePDF(t, 1))
	base := func() object {
		return object{"name": "N", "type": "concurrent", "state": "open", "signers": people("A"), "documents": []object{{"fileId": id}}}
	}
	for _, c := range []struct {
		field  string
		value  any
		status int
		code   string
	}{
		{"name", "", 400, "package_invalid_name"},
		{"name", strings.Repeat("x", 251), 400, "package_length_name"},
		{"type", "sequential", 400, "package_invalid_type"},
		{"type", nil, 400, "package_invalid_type"},
		{"state", "executed", 400, "package_invalid_state"},
		{"documents", []object{}, 400, "package_add_no_documents"},
		{"signers", []object{}, 400, "package_add_no_signers"},
		{"signers", []object{{"email": "nobody"}}, 400, "signer_invalid_email"},
		{"timeSignBy", "tomorrow", 400, "package_invalid_timeSignBy"},
		{"timeSignBy", "2020-01-01T00:00:00Z", 400, "package_range_timeSignBy"},
		{"documents", []object{{"fileId": newID()}}, 404, "file_not_found"},
		{"recipients", []object{{"email": "x@example.com"}, {"email": "X@example.com"}}, 400, "package_duplicate_recipients"},
		{"recipients", []object{{"email": "S0@example.com"}}, 400, "package_duplicate_recipients_signer"},
		{"signers", "Ana", 400, "package_invalid_json"},
	} {
		body := base()
		body[c.field] = c.value
		t.Run(fmt.Sprint(c.field, "=", c.value), func(t *testing.T) { wantError(t, r.post("/packages/add", body), c.status, c.code) })
	}
	if got := len(r.s.Packages()); got != 0 {
		t.Errorf("%d packages came of refused requests", got)
	}
	r.clock.add(24*time.Hour + time.Second)
	r.signIn(adminMail, allScopes)
	wantError(t, r.post("/packages/add", base()), 404, "file_not_found") // expired
}

func TestADraftIsNotSignedAndAnOpenPackageIsRescinded(t *testing.T) {
	r := signedIn(t, Options{})
	a := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft", "returnPackage": false,
		"signers": people("A"), "documents": []object{{"fileId": r.upload("a.pdf", samplePDF(t, 1))}}})
	wantStatus(t, a, 200)
	if v := a.json(t); v["package"] != nil {
		t.Errorf("package %v", v["package"])
	}
	draft := r.find(a.json(t)["packageId"].(string))
	if err := r.s.Sign(draft.PackageID, draft.Signers[0].SignerID); err == nil {
		t.Error("a draft was signed")
	}
	p := r.add("concurrent", 1, "A")
	link := r.post("/packages/"+p.PackageID+"/link/sign/"+p.Signers[0].SignerID, object{}).json(t)
	if link["type"] != "package_sign" || link["link"] != p.Signers[0].Page {
		t.Errorf("link %v", link)
	}
	wantStatus(t, r.post("/packages/rescind", object{"packageId": p.PackageID, "rescindMessage": "changed"}), 200)
	if v := r.get("/packages/" + p.PackageID).json(t); v["state"] != "rescinded" || v["rescindMessage"] != "changed" {
		t.Errorf("package %v", v)
	}
	wantError(t, r.post("/packages/rescind", object{"packageId": p.PackageID}), 400, "package_invalid_state")
}

func TestPackageExpires(t *testing.T) {
	r := signedIn(t, Options{AccessTokenLifetime: 100 * time.Hour})
	a := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "open", "signers": people("A"),
		"timeSignBy": r.clock.Now().Add(time.Hour), "documents": []object{{"fileId": r.upload("a.pdf", samplePDF(t, 1))}}})
	wantStatus(t, a, 200)
	id := a.json(t)["packageId"].(string)
	r.clock.add(2 * time.Hour)
	if v := r.get("/packages/" + id + "/status").json(t); v["state"] != "expired" {
		t.Errorf("state %v", v["state"])
	}
	if err := r.s.SignAll(id); err != nil || r.find(id).State == "executed" {
		t.Errorf("an expired package was signed (%v)", err)
	}
}

func TestListFiltersAndPages(t *testing.T) {
	r := signedIn(t, Options{})
	file := r.upload("a.pdf", samplePDF(t, 1))
	for i := range 5 {
		r.clock.add(time.Second)
		wantStatus(t, r.post("/packages/add", object{"name": fmt.Sprintf("Offer %d", i), "type": "concurrent", "state": "open",
			"externalData": object{"correlation": fmt.Sprintf("c-%d-x", i)}, "signers": people("A"), "documents": []object{{"fileId": file}}}), 200)
	}
	done := r.s.Packages()[1].PackageID
	must(t, r.s.SignAll(done))
	list := func(q object) (names []string, total float64) {
		a := r.post("/api/v1/packages/list", q)
		wantStatus(t, a, 200)
		for _, it := range a.json(t)["items"].([]any) {
			names = append(names, it.(map[string]any)["name"].(string))
		}
		return names, a.json(t)["total"].(float64)
	}
	for _, c := range []struct {
		q     object
		want  string
		total float64
	}{
		{object{}, "Offer 4 Offer 3 Offer 2 Offer 1 Offer 0", 5},
		{object{"take": 2, "skip": 1}, "Offer 3 Offer 2", 5},
		{object{"take": 2, "skip": 9}, "", 5},
	} {
		names, total := list(c.q)
		if got := strings.Join(names, " "); got != c.want || total != c.total {
			t.Errorf("%v: got %q of %v, want %q of %v", c.q, got, total, c.want, c.total)
		}
	}
	wantError(t, r.post("/packages/list", object{"take": 100000}), 400, "package_range_take")
	wantError(t, r.post("/packages/list", object{"sortBy": "size"}), 400, "package_invalid_sortBy")
	for _, c := range []struct {
		habits ListHabits
		pages  string // pages fetched by two readers, each after this many
	}{
		{ListHabits{}, "Offer 4 Offer 3 | Offer 2 Offer 1 | Offer 0 | "},
		{ListHabits{Order: "oldest"}, "Offer 0 Offer 1 | Offer 2 Offer 3 | Offer 4 | "},
		{ListHabits{Order: "oldest", MostTake: 1}, "Offer 0 | Offer 1 | Offer 2 | "},
		{ListHabits{NoSkip: true}, "Offer 4 Offer 3 | Offer 4 Offer 3 | Offer 4 Offer 3 | "},
		{ListHabits{Shift: 1}, "Offer 4 Offer 3 | Offer 3 Offer 2 | Offer 2 Offer 1 | "},
		{ListHabits{Shift: -1}, "Offer 4 Offer 3 | Offer 1 Offer 0 |  | "},
	} {
		r.s.SetListHabits(c.habits)
		var pages string
		for skip := 0; strings.Count(pages, "|") < 3; {
			names, _ := list(object{"sortBy": "created", "take": 2, "skip": skip})
			skip += len(names)
			pages += strings.Join(names, " ") + " | "
		}
		if !strings.HasPrefix(pages, c.pages) {
			t.Errorf("%+v: %q", c.habits, pages)
		}
	}
	r.s.SetListHabits(ListHabits{})

	r.signIn(memberMail, "member")
	if names, _ := list(object{}); len(names) != 0 {
		t.Errorf("a member sees %v", names)
	}
	wantError(t, r.post("/packages/list", object{"allMembers": true}), 403, "package_not_authorized")
	wantError(t, r.get("/packages/"+done+"/status"), 404, "package_not_found")
}

func TestBareAnswersHaveOnlyTheFieldsShown(t *testing.T) {
	r := signedIn(t, Options{Bare: true})
	keys := func(v map[string]any) string { raw, _ := json.Marshal(slices.Sorted(maps.Keys(v))); return string(raw) }
	up := r.uploadRaw("", `form-data; filename="a.pdf"`, "application/pdf", bytes.NewReader(samplePDF(t, 1))).json(t)
	if got := keys(up); got != `["fileId","fileName","name","timeCreated","type"]` {
		t.Errorf("upload %s", got)
	}
	add := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "open", "signers": people("A"),
		"documents": []object{{"fileId": up["fileId"]}}}).json(t)
	if got := keys(add); got != `["memberId","organizationId","packageId"]` {
		t.Errorf("add %s", got)
	}
	status := r.get("/packages/" + add["packageId"].(string) + "/status").json(t)
	if got := keys(status); got != `["documents","packageId","state"]` {
		t.Errorf("status %s", got)
	}
	if got := keys(status["documents"].([]any)[0].(map[string]any)); got != `["documentId"]` {
		t.Errorf("document %s", got)
	}
}

func TestUploadTellsFilesApart(t *testing.T) {
	r := signedIn(t, Options{})
	pdf := samplePDF(t, 1)
	var locked bytes.Buffer
	conf := pdfConfig()
	conf.UserPW, conf.OwnerPW, conf.EncryptUsingAES, conf.EncryptKeyLength = "user", "owner", true, 256
	must(t, api.Encrypt(bytes.NewReader(pdf), &locked, conf))
	var restricted bytes.Buffer
	conf = pdfConfig()
	conf.UserPW, conf.OwnerPW, conf.EncryptUsingAES, conf.EncryptKeyLength = "", "owner", true, 256
	must(t, api.Encrypt(bytes.NewReader(pdf), &restricted, conf))
	for _, c := range []struct {
		name string
		body []byte
		flag string // "" is a good file
	}{
		{"plain.pdf", pdf, ""},
		{"restricted.pdf", restricted.Bytes(), ""},
		{"locked.pdf", locked.Bytes(), "isPasswordProtected"},
		{"cut.pdf", pdf[:len(pdf)-60], "isInvalid"},
		{"text.pdf", []byte("hello"), "isInvalid"},
		{"empty.docx", nil, "isInvalid"},
		{"letter.docx", []byte("PK"), "isConverted"},
		{"program.exe", []byte("MZ"), "isNotSupported"},
	} {
		a := r.uploadRaw("", `form-data; filename="`+c.name+`"`, "application/octet-stream", bytes.NewReader(c.body))
		wantStatus(t, a, 200)
		f := a.json(t)["files"].([]any)[0].(map[string]any)
		for _, flag := range []string{"isInvalid", "isConverted", "isNotSupported", "isPasswordProtected"} {
			if f[flag] != (flag == c.flag) {
				t.Errorf("%s: %s is %v", c.name, flag, f[flag])
			}
		}
		usable := c.flag == "" || c.flag == "isConverted"
		if (f["fileId"] != nil) != usable || (f["error"] == nil) != usable {
			t.Errorf("%s: %v", c.name, f)
		}
	}
	wantError(t, r.do("POST", "/files/upload", "application/json", strings.NewReader("{}"), "Authorization", "Bearer "+r.token), 400, "file_invalid_content_type")
	wantError(t, r.uploadRaw("?type=permanent", `form-data; filename="a.pdf"`, "application/pdf", bytes.NewReader(pdf)), 400, "file_invalid_type")
	wantError(t, r.uploadRaw("", `form-data; name="a"`, "text/plain", strings.NewReader("x")), 400, "file_upload_no_files")
}

func TestUploadNamesAndExternalID(t *testing.T) {
	r := signedIn(t, Options{})
	a := r.uploadRaw("?externalId=case+7", "form-data; filename*=UTF-8''L%C3%A4rm%20%E6%BC%A2.docx", "application/octet-stream", strings.NewReader("PK"))
	wantStatus(t, a, 200)
	f := a.json(t)["files"].([]any)[0].(map[string]any)
	if f["fileName"] != "Lärm 漢.docx" || f["externalId"] != "case 7" {
		t.Errorf("got %v", f)
	}
	for _, nasty := range []string{`..\..\evil.pdf`, "../../evil.pdf"} {
		a := r.uploadRaw("", `form-data; filename="`+strings.ReplaceAll(nasty, `\`, `\\`)+`"`, "application/pdf", bytes.NewReader(samplePDF(t, 1)))
		if f := a.json(t)["files"].([]any)[0].(map[string]any); f["fileName"] != "evil.pdf" {
			t.Errorf("%s became %v", nasty, f["fileName"])
		}
	}
	p := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "open", "signers": people("A"),
		"documents": []object{{"fileId": f["fileId"]}}})
	wantStatus(t, p, 200)
	d := p.json(t)["package"].(map[string]any)["documents"].([]any)[0].(map[string]any)
	if d["externalId"] != "case 7" || d["name"] != "Lärm 漢" {
		t.Errorf("document %v", d)
	}
}

// template is the template of that name, as templates/list shows it.
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

// ids are the ids of the objects under a field, in order.
func ids(o object, field, id string) (list []string) {
	for _, x := range o[field].([]any) {
		list = append(list, x.(object)[id].(string))
	}
	return list
}

func TestTemplatesAreListedSearchedAndSorted(t *testing.T) {
	r := signedIn(t, Options{})
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
	if got := names(object{"search": "engag*"}); !slices.Equal(got, []string{"Engagement letter"}) {
		t.Errorf("by the beginning of a word: %q", got)
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
	r := signedIn(t, Options{})
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
	r := signedIn(t, Options{})
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
}
