package sandbox

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// pagesOf validates a PDF and counts its pages.
func pagesOf(t *testing.T, raw []byte) int {
	t.Helper()
	if err := api.Validate(bytes.NewReader(raw), pdfConfig()); err != nil {
		t.Fatalf("not a valid PDF: %v", err)
	}
	n, err := api.PageCount(bytes.NewReader(raw), pdfConfig())
	must(t, err)
	return n
}

func TestUploadAddSignExecuteDownload(t *testing.T) {
	r := signedIn(t, Options{})
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
		must(t, r.s.Sign(p.PackageID, p.Signers[i].SignerID))
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
	r := signedIn(t, Options{})
	p := r.add("concurrent", 1, "Ana", "Jan")
	for _, i := range []int{1, 0} {
		must(t, r.s.Sign(p.PackageID, p.Signers[i].SignerID))
	}
	if got := r.find(p.PackageID).State; got != "executed" {
		t.Errorf("state %s", got)
	}
}

func TestStrangePDFsStillExecute(t *testing.T) {
	r := signedIn(t, Options{})
	strange := []byte("%PDF-1.4\nthis is no PDF that a library reads\nstartxref\n0\n%%EOF\n")
	id := r.upload("strange.pdf", strange)
	good := r.upload("good.pdf", samplePDF(t, 2))
	a := r.post("/packages/add", object{"name": "Odd", "type": "concurrent", "state": "open", "signers": people("Ana"),
		"documents": []object{{"fileId": id}, {"fileId": good}}})
	wantStatus(t, a, 200)
	p := r.find(a.json(t)["packageId"].(string))
	must(t, r.s.SignAll(p.PackageID))
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

func TestADocumentThatEndsItsReaderEndsNothingElse(t *testing.T) {
	for name, program := range map[string][]string{
		"one that dies":            {os.Args[0], "-test.run=^$", "-no-such-flag"},
		"one that says too little": {os.Args[0], "-test.run=^$"},
		"one that is missing":      {filepath.Join(t.TempDir(), "none")},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Options{Press: program})
			r.signIn(adminMail, allScopes)
			document := samplePDF(t, 2)
			a := r.post("/packages/add", object{"name": "Odd", "type": "concurrent", "state": "open", "signers": people("Ana"),
				"documents": []object{{"fileId": r.upload("odd.pdf", document)}}})
			wantStatus(t, a, 200)
			p := r.find(a.json(t)["packageId"].(string))
			must(t, r.s.SignAll(p.PackageID))
			got := r.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
			wantStatus(t, got, 200)
			attached, err := api.Attachments(bytes.NewReader(got.body), pdfConfig())
			if err != nil || len(attached) != 1 {
				t.Errorf("attachments %v, %v", attached, err)
			}
			wantStatus(t, r.get("/masterfiles/"+p.PackageID+"/pdf/download"), 200)
		})
	}
}

// try is a request that may fail; it reads the whole answer.
func (r *rig) try(path string) (int, []byte, error) {
	req, err := http.NewRequest("GET", r.s.URL()+path, nil)
	must(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func TestEveryFault(t *testing.T) {
	r := signedIn(t, Options{})
	const path = "/api/v1/organizations/info"
	fine := func() {
		t.Helper()
		wantStatus(t, r.get(path), 200)
	}

	r.s.Inject(Fault{Path: "/organizations/*", Times: 2, Status: 429, Headers: map[string]string{"Retry-After": "7"}})
	for range 2 {
		a := r.get(path)
		wantStatus(t, a, 429)
		if a.Header.Get("Retry-After") != "7" || a.json(t)["error"] == nil {
			t.Errorf("answer %v %s", a.Header, a.body)
		}
	}
	fine()

	r.s.Inject(Fault{Method: "get", Skip: 1, Times: 1, Status: 500, Body: "oops"})
	fine()
	if a := r.get(path); a.StatusCode != 500 || string(a.body) != "oops" {
		t.Errorf("got %d %q", a.StatusCode, a.body)
	}
	fine()

	r.s.Inject(Fault{Path: "/organizations/info", Times: 1, TruncateAfter: 10})
	if _, body, err := r.try(path); !errors.Is(err, io.ErrUnexpectedEOF) || len(body) != 10 {
		t.Errorf("truncated: %d bytes, %v", len(body), err)
	}
	fine()

	r.s.Inject(Fault{Path: "/organizations/info", Times: 1, DelayMS: 1})
	fine()

	id := r.s.Inject(Fault{Method: "POST", Path: "/packages/add", Status: 503})
	wantStatus(t, r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft"}), 503)
	if got := len(r.s.Packages()); got != 0 {
		t.Errorf("%d packages", got)
	}
	r.s.Heal(id)
	r.s.Heal(0)
	fine()
}

func TestDroppedAndLostAnswers(t *testing.T) {
	r := signedIn(t, Options{})
	add := func() error {
		req, _ := http.NewRequest("POST", r.s.URL()+"/packages/add", strings.NewReader(`{"name":"N","type":"concurrent","state":"draft"}`))
		req.Header.Set("Authorization", "Bearer "+r.token)
		resp, err := r.http.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	r.s.Inject(Fault{Path: "/packages/add", Times: 1, Drop: true})
	if err := add(); err == nil || len(r.s.Packages()) != 0 {
		t.Errorf("dropped: %v, %d packages", err, len(r.s.Packages()))
	}
	r.s.Inject(Fault{Path: "/packages/add", Times: 1, LoseAnswer: true})
	if err := add(); err == nil || len(r.s.Packages()) != 1 {
		t.Errorf("lost: %v, %d packages", err, len(r.s.Packages()))
	}
	requests := r.s.Requests()
	if last := requests[len(requests)-1]; last.Status != 0 || last.Route != "POST /packages/add" {
		t.Errorf("log %+v", last)
	}
}

func TestAdminPortIsForProgramsOnThisMachine(t *testing.T) {
	r := start(t, Options{AdminListen: "127.0.0.1:0"})
	wantStatus(t, r.do("GET", r.s.AdminURL()+"/events", "", nil, "Origin", "https://evil.example"), 403)
	req, _ := http.NewRequest("GET", r.s.AdminURL()+"/events", nil)
	req.Host = "rebound.example"
	resp, err := r.http.Do(req)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("another host name: %d", resp.StatusCode)
	}
	if s, err := Start(Options{AdminListen: "0.0.0.0:0"}); err == nil {
		_ = s.Close()
		t.Error("the admin port is open to others")
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []Options{
		{OnlyAPIPrefix: true, NoAPIPrefix: true},
		{Clients: []Client{{}}},
		{Clients: []Client{{ID: "c", Redirects: []string{"http://office.example/"}}}},
		{Users: []User{{}}},
		{Listen: "nowhere:x"},
	} {
		if s, err := Start(o); err == nil {
			_ = s.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}
