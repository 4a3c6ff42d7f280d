package sandbox

import (
	"bytes"
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
