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
)

func TestAddRefusesWhatIsWrong(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
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
		{"memberId", newID(), 403, "package_not_authorized"},
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

func TestDraftIsSentLaterAndRescinded(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	a := r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft", "returnPackage": false,
		"signers": people("A"), "documents": []object{{"fileId": r.upload("a.pdf", samplePDF(t, 1))}}})
	wantStatus(t, a, 200)
	if v := a.json(t); v["package"] != nil {
		t.Errorf("package %v", v["package"])
	}
	id := a.json(t)["packageId"].(string)
	p := r.find(id)
	if err := r.s.Sign(id, p.Signers[0].SignerID); err == nil {
		t.Error("a draft was signed")
	}
	wantStatus(t, r.post("/packages/send", object{"packageId": id}), 200)
	link := r.post("/packages/"+id+"/link/sign/"+p.Signers[0].SignerID, object{}).json(t)
	if link["type"] != "package_sign" || link["link"] != r.signerPage(id, p.Signers[0].SignerID) {
		t.Errorf("link %v", link)
	}
	wantStatus(t, r.post("/packages/rescind", object{"packageId": id, "rescindMessage": "changed"}), 200)
	if v := r.get("/packages/" + id).json(t); v["state"] != "rescinded" || v["rescindMessage"] != "changed" {
		t.Errorf("package %v", v)
	}
	wantError(t, r.post("/packages/rescind", object{"packageId": id}), 400, "package_invalid_state")
}

func TestPackageExpires(t *testing.T) {
	r := start(t, Options{AccessTokenLifetime: 100 * time.Hour})
	r.signIn(adminMail, allScopes)
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
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
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
		{object{"states": []string{"executed"}}, "Offer 1", 1},
		{object{"isExecuted": false, "take": 1}, "Offer 4", 4},
		{object{"search": "c-3-x"}, "Offer 3", 1},
		{object{"search": "offe* 2"}, "Offer 2", 1},
		{object{"search": "offe"}, "", 0},
		{object{"types": []string{"Sequential"}}, "", 0},
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
		pages  string // taken by two, each after as many as there were
	}{
		{ListHabits{}, "Offer 4 Offer 3 | Offer 2 Offer 1 | Offer 0 | "},
		{ListHabits{Order: "oldest"}, "Offer 0 Offer 1 | Offer 2 Offer 3 | Offer 4 | "},
		{ListHabits{Order: "name", MostTake: 1}, "Offer 0 | Offer 1 | Offer 2 | "},
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
	r := start(t, Options{Bare: true})
	r.signIn(adminMail, allScopes)
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

func TestPrefixCanBeDemandedOrForbidden(t *testing.T) {
	for _, c := range []struct {
		o            Options
		with, withno int
	}{
		{Options{}, 401, 401}, {Options{OnlyAPIPrefix: true}, 401, 404}, {Options{NoAPIPrefix: true}, 404, 401},
	} {
		r := start(t, c.o)
		wantStatus(t, r.do("GET", "/api/v1/organizations/info", "", nil), c.with)
		wantStatus(t, r.do("GET", "/organizations/info", "", nil), c.withno)
		wantStatus(t, r.do("GET", "/.well-known/jwks", "", nil), 200)
	}
}
