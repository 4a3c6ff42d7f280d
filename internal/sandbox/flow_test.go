package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// pagesOf validates a PDF and counts its pages.
func pagesOf(t *testing.T, raw []byte) int {
	t.Helper()
	if err := api.Validate(bytes.NewReader(raw), pdfConfig()); err != nil {
		t.Fatalf("not a valid PDF: %v", err)
	}
	n, err := api.PageCount(bytes.NewReader(raw), pdfConfig())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestUploadAddSignExecuteDownload(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("Sequential", 3, "Ana", "Jan", "Ζωή Жанна 漢字 🖋")
	d := p.Documents[0].DocumentID
	base := "/packages/" + p.PackageID
	executed := base + "/documents/" + d + "/pdf/executed/download"

	wantError(t, r.get(executed), 400, "document_not_executed")
	wantError(t, r.get("/masterfiles/"+p.PackageID+"/pdf/download"), 400, "package_not_executed")
	if err := r.s.Sign(p.PackageID, p.Signers[1].SignerID); err == nil {
		t.Error("the second signer signed before the first")
	}
	for i := range p.Signers {
		status := r.get("/api/v1" + base + "/status").json(t)
		rev := status["documents"].([]any)[0].(map[string]any)["revisions"].([]any)
		for n, v := range rev {
			v := v.(map[string]any)
			if v["isNext"] != (n == i) || v["isSigned"] != (n < i) {
				t.Errorf("before signature %d revision %d is %v", i, n, v)
			}
		}
		if err := r.s.Sign(p.PackageID, p.Signers[i].SignerID); err != nil {
			t.Fatal(err)
		}
	}
	status := r.get(base + "/status").json(t)
	if status["state"] != "executed" || status["isExecuted"] != true {
		t.Errorf("status %v", status)
	}
	a := r.get(executed)
	wantStatus(t, a, 200)
	if got := pagesOf(t, a.body); got != 4 {
		t.Errorf("the executed PDF has %d pages, want 3 and a signature page", got)
	}
	if a.Header.Get("Content-Type") != "application/pdf" || a.ContentLength != int64(len(a.body)) ||
		!strings.Contains(a.Header.Get("Content-Disposition"), "Lease.pdf") {
		t.Errorf("headers %v", a.Header)
	}
	part := r.get("/api/v1"+executed, "Range", "bytes=0-4")
	if part.StatusCode != 206 || string(part.body) != "%PDF-" {
		t.Errorf("range: %d %q", part.StatusCode, part.body)
	}
	cac := r.get(base + "/documents/" + d + "/pdf/cac/download")
	wantStatus(t, cac, 200)
	if got := pagesOf(t, cac.body); got != 1 {
		t.Errorf("the CAC has %d pages", got)
	}
	master := r.get("/masterfiles/" + p.PackageID + "/pdf/download")
	wantStatus(t, master, 200)
	if got := pagesOf(t, master.body); got != 5 {
		t.Errorf("the MasterFile has %d pages, want cover and 4", got)
	}
	wantError(t, r.get("/packages/"+newID()+"/status"), 404, "package_not_found")
	wantError(t, r.get(base+"/documents/"+newID()+"/pdf/executed/download"), 404, "document_not_found")
}

func TestConcurrentSignersSignInAnyOrder(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("concurrent", 1, "Ana", "Jan")
	for _, i := range []int{1, 0} {
		if err := r.s.Sign(p.PackageID, p.Signers[i].SignerID); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.find(p.PackageID).State; got != "executed" {
		t.Errorf("state %s", got)
	}
}

func TestStrangePDFsStillExecute(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	strange := []byte("%PDF-1.4\nthis is no PDF that a library reads\nstartxref\n0\n%%EOF\n")
	id := r.upload("strange.pdf", strange)
	good := r.upload("good.pdf", samplePDF(t, 2))
	a := r.post("/packages/add", object{"name": "Odd", "type": "concurrent", "state": "open", "signers": people("Ana"),
		"documents": []object{{"fileId": id}, {"fileId": good}}})
	wantStatus(t, a, 200)
	p := r.find(a.json(t)["packageId"].(string))
	if err := r.s.SignAll(p.PackageID); err != nil {
		t.Fatal(err)
	}
	got := r.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	wantStatus(t, got, 200)
	if n := pagesOf(t, got.body); n != 1 {
		t.Errorf("%d pages, want the signature page", n)
	}
	attached, err := api.Attachments(bytes.NewReader(got.body), pdfConfig())
	if err != nil || len(attached) != 1 {
		t.Errorf("attachments %v, %v", attached, err)
	}
	master := r.get("/masterfiles/" + p.PackageID + "/pdf/download")
	wantStatus(t, master, 200)
	if n := pagesOf(t, master.body); n != 5 {
		t.Errorf("the MasterFile has %d pages, want 1+1+3", n)
	}
}

func TestUploadTellsFilesApart(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	pdf := samplePDF(t, 1)
	var locked bytes.Buffer
	conf := pdfConfig()
	conf.UserPW, conf.OwnerPW, conf.EncryptUsingAES, conf.EncryptKeyLength = "user", "owner", true, 256
	if err := api.Encrypt(bytes.NewReader(pdf), &locked, conf); err != nil {
		t.Fatal(err)
	}
	var restricted bytes.Buffer
	conf = pdfConfig()
	conf.UserPW, conf.OwnerPW, conf.EncryptUsingAES, conf.EncryptKeyLength = "", "owner", true, 256
	if err := api.Encrypt(bytes.NewReader(pdf), &restricted, conf); err != nil {
		t.Fatal(err)
	}
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
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
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

// longPDF is a long PDF that is made while it is read.
func longPDF(size int64) io.Reader {
	return io.MultiReader(strings.NewReader("%PDF-1.7\n"), io.LimitReader(repeat{}, size), strings.NewReader("\nstartxref\n0\n%%EOF\n"))
}

type repeat struct{}

func (repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLargeUploadAndDownloadKeepMemoryFlat(t *testing.T) {
	const size = 128 << 20
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := r.uploadRaw("", `form-data; filename="long.pdf"`, "application/pdf", longPDF(size))
	wantStatus(t, a, 200)
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > size/4 {
		t.Errorf("an upload of %d bytes made the heap grow by %d", size, grown)
	}
	id := a.json(t)["files"].([]any)[0].(map[string]any)["fileId"]
	added := r.post("/packages/add", object{"name": "Long", "type": "concurrent", "state": "open", "signers": people("A"), "documents": []object{{"fileId": id}}})
	wantStatus(t, added, 200)
	p := r.find(added.json(t)["packageId"].(string))
	if err := r.s.SignAll(p.PackageID); err != nil {
		t.Fatal(err)
	}
	head := r.do("HEAD", "/packages/"+p.PackageID+"/documents/"+p.Documents[0].DocumentID+"/pdf/executed/download", "", nil, "Authorization", "Bearer "+r.token)
	if head.ContentLength < size {
		t.Errorf("the executed PDF has %d bytes", head.ContentLength)
	}
}

func TestPaddedDownloadIsStillAPDF(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("concurrent", 2, "Ana")
	if err := r.s.SignAll(p.PackageID); err != nil {
		t.Fatal(err)
	}
	const want = 3<<20 + 17
	r.s.PadDownloads(want)
	path := "/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download"
	a := r.get(path)
	if len(a.body) != want || pagesOf(t, a.body) != 3 {
		t.Errorf("%d bytes", len(a.body))
	}
	part := r.get(path, "Range", "bytes=1000000-1999999")
	if !bytes.Equal(part.body, a.body[1000000:2000000]) {
		t.Error("a range differs from the whole")
	}
	r.s.PadDownloads(0)
	if a := r.get(path); len(a.body) >= want {
		t.Errorf("still %d bytes", len(a.body))
	}
}

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
	if link["type"] != "package_sign" || link["link"] != r.s.SignerPage(id, p.Signers[0].SignerID) {
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
	if err := r.s.SignAll(done); err != nil {
		t.Fatal(err)
	}
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

func TestPageSignsWithoutJavaScript(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("Sequential", 1, "Ana", "Jan")
	page := strings.TrimPrefix(r.s.SignerPage(p.PackageID, p.Signers[0].SignerID), r.s.URL())
	body := string(r.do("GET", page, "", nil).body)
	_, after, ok := strings.Cut(body, `name="form" value="`)
	if !ok || !strings.Contains(body, "Lease Sonnenweg 4") || !strings.Contains(body, "your turn") {
		t.Fatalf("page %s", body)
	}
	token, _, _ := strings.Cut(after, `"`)
	if strings.Contains(body, "http://") || strings.Contains(body, "https://") {
		t.Error("the page refers to another address")
	}
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "typed": {"Ana"}}), 403)
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "form": {token}}), 400)
	pdf := r.do("GET", page+"/documents/"+p.Documents[0].DocumentID, "", nil)
	if pagesOf(t, pdf.body) != 1 {
		t.Error("the document cannot be viewed")
	}
	drawing := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "form": {token}, "typed": {"Ana"}, "drawn": {drawing}}), 303)
	if !r.find(p.PackageID).Signers[0].Signed {
		t.Error("not signed")
	}
	wantStatus(t, r.form(page, url.Values{"do": {"sign"}, "form": {token}, "typed": {"Ana"}}), 400)

	next := strings.TrimPrefix(r.s.SignerPage(p.PackageID, p.Signers[1].SignerID), r.s.URL())
	_, after, _ = strings.Cut(string(r.do("GET", next, "", nil).body), `name="form" value="`)
	token, _, _ = strings.Cut(after, `"`)
	wantStatus(t, r.form(next, url.Values{"do": {"decline"}, "form": {token}, "reason": {"no"}}), 303)
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

func TestSimulatedSignersSignOneAfterTheOther(t *testing.T) {
	rc := newReceiver(t, nil)
	r := start(t, quick(Options{AutoSign: time.Millisecond}, rc))
	r.signIn(adminMail, allScopes)
	r.register(rc.URL)
	p := r.add("Sequential", 1, "Ana", "Jan")
	for rc.next(t).event["action"] != "package_executed" {
	}
	if got := r.find(p.PackageID).State; got != "executed" {
		t.Errorf("state %s", got)
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
	if err := r.s.SignAll(p.PackageID); err != nil {
		t.Fatal(err)
	}
	keys := r.do("GET", "/.well-known/jwks", "", nil).body
	if _, err := Start(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second service on the folder: %v", err)
	}
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Remove(filepath.Join(dir, "signed", p.Documents[0].DocumentID+".executed.pdf")); err != nil {
		t.Fatal(err)
	}
	again := r2.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	if pagesOf(t, again.body) != 2 {
		t.Error("a lost PDF is not made again")
	}
}

func TestTemporaryFolderGoesAway(t *testing.T) {
	r := start(t, Options{})
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
