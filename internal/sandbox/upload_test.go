package sandbox

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

func TestUploadTellsFilesApart(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
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
	must(t, r.s.SignAll(p.PackageID))
	head := r.do("HEAD", "/packages/"+p.PackageID+"/documents/"+p.Documents[0].DocumentID+"/pdf/executed/download", "", nil, "Authorization", "Bearer "+r.token)
	if head.ContentLength < size {
		t.Errorf("the executed PDF has %d bytes", head.ContentLength)
	}
}
