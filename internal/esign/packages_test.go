package esign

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/trytest"
)

func offer() NewPackage {
	return NewPackage{
		Name: "Lease", Message: "Sign here", Sequential: true, Due: time.Date(2026, 12, 1, 11, 0, 0, 0, time.FixedZone("", 3600)),
		Signers:      []NewSigner{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}},
		Documents:    []NewDocument{{FileID: "f-1", FileName: "lease.pdf", Name: "lease", ExternalID: "x"}},
		ExternalData: json.RawMessage(`{"draft":"d-1"}`),
	}
}

func TestEveryCallIsMadeAsTheDocumentsShow(t *testing.T) {
	const signer = `"signers":[{"firstName":"Ana","lastName":"Ruiz","email":"ana@example.com"}],`
	add := func(change func(*NewPackage)) func(*Client) error {
		p := offer()
		change(&p)
		return func(c *Client) error { _, err := c.AddPackage(t.Context(), p); return err }
	}
	for want, do := range map[string]func(c *Client) error{
		`POST /api/v1/packages/list {"allMembers":true,"take":1}`: func(c *Client) error { _, err := c.List(t.Context(), ListQuery{Take: 1}); return err },
		`POST /api/v1/packages/list {"sortBy":"created","allMembers":false,"skip":5}`: func(c *Client) error {
			_, err := c.List(t.Context(), ListQuery{NewestFirst: true, Own: true, Skip: 5})
			return err
		},
		`POST /api/v1/templates/list {"skip":0}`: func(c *Client) error { _, err := c.Templates(t.Context(), TemplateQuery{}); return err },
		`POST /api/v1/templates/list {"search":"lease*","sortBy":"last_used","allMembers":true,"take":100,"skip":200}`: func(c *Client) error {
			_, err := c.Templates(t.Context(), TemplateQuery{Search: "lease*", Everyone: true, RecentFirst: true, Take: 100, Skip: 200})
			return err
		},
		`GET /api/v1/packages/p-1 `:                func(c *Client) error { _, err := c.Package(t.Context(), "p-1"); return err },
		`GET /api/v1/packages/p-1/status `:         func(c *Client) error { _, err := c.Status(t.Context(), "p-1"); return err },
		`POST /api/v1/packages/p-1/link/sign/s-1 `: func(c *Client) error { _, err := c.SignLink(t.Context(), "p-1", "s-1"); return err },
		`POST /api/v1/packages/p-1/link/edit `:     func(c *Client) error { _, err := c.EditLink(t.Context(), "p-1"); return err },
		`POST /api/v1/packages/rescind {"packageId":"p-1","rescindMessage":"A mistake","notify":true}`: func(c *Client) error {
			return c.Rescind(t.Context(), "p-1", "A mistake", true)
		},
		`POST /api/v1/events/endpoints/set {"url":"https://x.test/?a=1&b=<2>"}`: func(c *Client) error {
			_, err := c.SetEndpoint(t.Context(), "https://x.test/?a=1&b=<2>")
			return err
		},
		`POST /api/v1/events/endpoints/set {"url":"https://x.test/","delete":true}`: func(c *Client) error {
			_, err := c.DeleteEndpoint(t.Context(), "https://x.test/")
			return err
		},
		`POST /api/v1/packages/add {"name":"Lease","message":"Sign here",` + signer +
			`"documents":[{"fileId":"f-1","fileName":"lease.pdf","name":"lease","externalId":"x"}],` +
			`"externalData":{"draft":"d-1"},"type":"Sequential","state":"open","timeSignBy":"2026-12-01T10:00:00.000Z","returnPackage":true}`: add(func(*NewPackage) {}),
		`POST /api/v1/packages/add {"name":"Copies",` + signer + `"recipients":[{"firstName":"Eva","lastName":"Klein","email":"eva@example.com","type":"CC"},` +
			`{"firstName":"","lastName":"","email":"boss@example.com","type":"BCC"}],"documents":[],"type":"concurrent","state":"open","returnPackage":true}`: add(func(p *NewPackage) {
			*p = NewPackage{Name: "Copies", Signers: p.Signers, Recipients: []NewRecipient{{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com", Type: RecipientOpen},
				{Email: "boss@example.com", Type: RecipientBlind}}}
		}),
		`POST /api/v1/packages/add {"name":"Template","signers":[{"firstName":"Ana","lastName":"Ruiz","email":"ana@example.com","templateRole":"Tenant","templateSignerId":"s-2"}],` +
			`"documents":[{"templateDocumentId":"d-1","templateData":{"rent":"1200"}},{"fileId":"f-1","fileName":"r.pdf","templateDocumentId":"d-2"}],` +
			`"templateId":"t-1","type":"concurrent","state":"open","returnPackage":true}`: add(func(p *NewPackage) {
			p.Signers[0].TemplateRole, p.Signers[0].TemplateSignerID = "Tenant", "s-2"
			*p = NewPackage{Name: "Template", TemplateID: "t-1", Signers: p.Signers, Documents: []NewDocument{
				{TemplateDocumentID: "d-1", TemplateData: map[string]string{"rent": "1200"}}, {FileID: "f-1", FileName: "r.pdf", TemplateDocumentID: "d-2"}}}
		}),
	} {
		client, sent := recording(t, `{"items":[],"total":0,"packageId":"p-1","state":"open","link":"https://sign.example.com/t","endpoint":{"secret":"s"}}`)
		noErr(t, do(client))
		expect(t, sent(), want, "sent %s, want %s", want)
	}
}

func TestTheIDsOfANewPackageAreReadWhereverTheyAre(t *testing.T) {
	for answer, whole := range map[string]bool{`{"organizationId":"o-1","memberId":"m-1","packageId":"p-1","package":null}`: false, `{"packageId":"p-1","package":` + fullStatus + `}`: true, `{"organizationId":"o-1","memberId":"m-1","package":{"packageId":"p-1"}}`: true} {
		a, ok := readAdded([]byte(answer))
		if !ok || a.PackageID != "p-1" || a.OrganizationID != "o-1" || a.MemberID != "m-1" || (a.Status != nil) != whole {
			t.Errorf("%+v %v", a, ok)
		}
	}
}

func TestRecipientsAreReadInAnyCase(t *testing.T) {
	s, _ := readStatus([]byte(`{"packageId":"p-1","recipients":[{"email":"eva@example.com","type":"Cc"},{"email":"boss@example.com","type":"bcc","firstName":null}]}`))
	expect(t, s.Recipients, []office.Recipient{{Email: "eva@example.com"}, {Email: "boss@example.com", Blind: true}}, "read %+v")
}

func TestARefusedRecipientIsAPlainSentence(t *testing.T) {
	for code, want := range map[string]message.Message{"package_duplicate_recipients": message.CopiesTwice(), "package_duplicate_recipients_signer": message.CopiesSign()} {
		client, _ := api(t, answering(400, `{"error":"`+code+`","message":"Duplicate recipient entries."}`))
		if _, err := client.AddPackage(context.Background(), offer()); Message(err).String() != want.String() {
			t.Errorf("%s: %s", code, Message(err))
		}
	}
}

func fileOf(name, content, externalID string) Upload {
	return Upload{FileName: name, Size: int64(len(content)), ExternalID: externalID,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func TestAnUploadIsOneFileOfKnownLength(t *testing.T) {
	for name, header := range map[string]string{
		"Offer 118.pdf":    `form-data; name="file"; filename="Offer 118.pdf"`,
		"Größe; 1\".PDF":   `form-data; name="file"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%3B%201%22.PDF`,
		"合同.docx":          `form-data; name="file"; filename*=UTF-8''%E5%90%88%E5%90%8C.docx`,
		"100%.pdf":         `form-data; name="file"; filename*=UTF-8''100%25.pdf`,
		"evil\r\nX: y.pdf": `form-data; name="file"; filename*=UTF-8''evil%0D%0AX%3A%20y.pdf`,
	} {
		t.Run(name, func(t *testing.T) {
			content := "%PDF-1.7\r\n--countersign-" + strings.Repeat("x", 100000)
			var progress []int64
			client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("externalId") != "ext 1" || r.ContentLength <= int64(len(content)) {
					t.Errorf("%v, length %d", r.URL, r.ContentLength)
				}
				_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
				parts := multipart.NewReader(r.Body, params["boundary"])
				part, err := parts.NextPart()
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(part)
				kind := map[bool]string{true: "application/pdf", false: "application/octet-stream"}[strings.HasSuffix(strings.ToLower(name), ".pdf")]
				if got := part.Header.Get("Content-Disposition"); got != header || string(body) != content || part.Header.Get("Content-Type") != kind {
					t.Errorf("%s, %s, %d bytes", got, part.Header.Get("Content-Type"), len(body))
				}
				if _, err := parts.NextPart(); err != io.EOF {
					t.Errorf("more than one part: %v", err)
				}
				io.WriteString(w, `{"files":[{"fileId":"f-1","fileName":"as stored.pdf","isInvalid":false,"error":null}]}`)
			}))
			u := fileOf(name, content, "ext 1")
			done := make(chan struct{})
			u.Progress = func(n int64) {
				if progress = append(progress, n); n == u.Size {
					close(done)
				}
			}
			f, err := client.Upload(context.Background(), u)
			if err != nil || f != "f-1" {
				t.Errorf("%+v %v", f, err)
			}
			<-done
		})
	}
}

func TestAllShapesOfAnUploadAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		id      string
		problem FileProblem // with no id, "" means that the answer makes no sense
	}{
		"a list inside":    {`{"files":[{"fileId":"f-1"}]}`, "f-1", ""},
		"one object":       {`{"fileId":"f-1","name":"a","timeCreated":"x","type":"temporary"}`, "f-1", ""},
		"an array":         {`[{"fileId":"f-1","error":""}]`, "f-1", ""},
		"a password":       {`{"files":[{"fileId":"f-1","isPasswordProtected":true,"isInvalid":true}]}`, "", FileProtected},
		"not supported":    {`{"fileId":null,"isNotSupported":true}`, "", FileUnsupported},
		"invalid":          {`[{"fileId":"f-1","isInvalid":"true"}]`, "", FileInvalid},
		"an error":         {`{"fileId":"f-1","error":"pdf_header","message":"PDF header not found"}`, "", FileRejected},
		"an error object":  {`{"fileId":"f-1","error":{"code":"x","message":"virus"}}`, "", FileRejected},
		"no error":         {`{"fileId":"f-1","error":null}`, "f-1", ""},
		"an error as flag": {`{"fileId":"f-1","error":false}`, "f-1", ""},
		"nothing":          {`{}`, "", ""},
		"empty list":       {`{"files":[]}`, "", ""},
		"a page":           {`<html>`, "", ""},
		"two":              {`[{"fileId":"a"},{"fileId":"b"}]`, "", ""},
	} {
		client, _ := api(t, answering(200, c.body))
		f, err := client.Upload(context.Background(), fileOf("Offer.pdf", "%PDF-", ""))
		var fe *FileError
		errors.As(err, &fe)
		if f != c.id || (fe != nil) != (c.problem != "") || fe != nil && fe.Problem != c.problem || (kindOf(err) == BadAnswer) != (c.id == "" && c.problem == "") {
			t.Errorf("%s: %+v %v", name, f, err)
		}
		if said := Message(err).String(); fe != nil && (!strings.Contains(said, "“Offer.pdf”") || name == "an error" && !strings.Contains(said, "PDF header not found")) {
			t.Errorf("%s: the sentence lacks the file or the reason: %s", name, said)
		}
	}
	client, _ := api(t, answering(413, ``))
	if _, err := client.Upload(context.Background(), fileOf("a.pdf", "%PDF-", "")); Message(err).String() != `“a.pdf” is too large for the signing service.` {
		t.Error(err)
	}
}

func TestAFileThatIsNotWhatItWasIsNotSent(t *testing.T) {
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Error("a whole body arrived")
		}
	}))
	for name, c := range map[string]struct {
		change func(*Upload)
		want   FileProblem
	}{
		"shorter": {func(u *Upload) { u.Size += 10 }, FileChanged},
		"longer":  {func(u *Upload) { u.Size -= 10 }, FileChanged},
		"other":   {func(u *Upload) { u.SHA256 = strings.Repeat("0", 64) }, FileChanged},
		"gone": {func(u *Upload) {
			u.Open = func() (io.ReadCloser, error) { return os.Open(t.TempDir() + "/none") }
		}, FileUnreadable},
		"empty": {func(u *Upload) { u.Size = 0 }, FileEmpty},
	} {
		u := fileOf("a.pdf", strings.Repeat("x", 200000), "")
		c.change(&u)
		_, err := client.Upload(context.Background(), u)
		var fe *FileError
		if !errors.As(err, &fe) || fe.Problem != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDownloads(t *testing.T) {
	pdf := "%PDF-1.7 " + strings.Repeat("x", 100000)
	for kind, path := range map[office.FileKind]string{
		office.FileSigned:      "/packages/p-1/documents/d-1/pdf/executed/download",
		office.FileCertificate: "/packages/p-1/documents/d-1/pdf/cac/download",
		office.FileMaster:      "/masterfiles/p-1/pdf/download",
	} {
		client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path { // only serves it without the prefix
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html") // a mistake that must not matter
			w.Header().Set("Content-Length", fmt.Sprint(len(pdf)))
			w.WriteHeader(http.StatusNonAuthoritativeInfo) // likewise
			io.WriteString(w, pdf)
		}))
		d, err := client.Download(context.Background(), kind, "p-1", "d-1")
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		b, err := io.ReadAll(d.Body)
		d.Body.Close()
		if err != nil || string(b) != pdf || d.Length != int64(len(pdf)) {
			t.Errorf("%s: %d bytes of %d, %v", kind, len(b), d.Length, err)
		}
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func TestAFileThatComesPackedIsUnpacked(t *testing.T) {
	pdf := "%PDF-1.7 " + strings.Repeat("x", 100000)
	packed := gzipped(pdf)
	for name, c := range map[string]struct {
		said string
		sent string
		want bool
	}{
		"gzip":          {"gzip", packed, true},
		"cut":           {"gzip", packed[:len(packed)-20], false},
		"without end":   {"gzip", packed[:len(packed)-8], false},
		"other content": {"gzip", packed[:len(packed)-8] + "abcdefgh", false},
	} {
		client, _ := api(t, answering(200, c.sent, "Content-Encoding", c.said))
		d := must(client.Download(context.Background(), office.FileSigned, "p-1", "d-1"))
		b, err := io.ReadAll(d.Body)
		d.Body.Close()
		_, ours := errors.AsType[*Error](err)
		if whole := err == nil && string(b) == pdf; whole != c.want || err != nil && !ours || d.Length != -1 {
			t.Errorf("%s: %d bytes of %d, %v", name, len(b), d.Length, err)
		}
	}
}

func TestWhatIsNoFileIsAnErrorWhateverItsStatus(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		header     []string
		want       Kind
	}{
		{"not ready", `{"error":"document_not_ready","message":"Wait."}`, 200, nil, NotReady},
		{"JSON that says nothing", ` {"state":"open"}`, 200, []string{"Content-Type", "application/pdf"}, NotReady},
		{"refused", `{"error":"package_feature_cac"}`, 200, nil, Refused},
		{"not allowed", `{"error":"document_not_authorized"}`, 200, nil, Forbidden},
		{"a page", "\n<!DOCTYPE html><html>log in</html>", 200, nil, BadAnswer},
		{"a text that is called a page", "Please sign in", 200, []string{"Content-Type", "text/html"}, BadAnswer},
		{"a word that is called JSON", `"wait"`, 200, []string{"Content-Type", "application/json"}, NotReady},
		{"nothing", "", 200, nil, NotReady},
		{"202", "{}", 202, nil, NotReady},
		{"409", ``, 409, nil, NotReady},
		{"404 without a word", ``, 404, nil, NotReady},
		{"400 not executed", `{"error":"package_not_executed"}`, 400, nil, NotReady},
		{"400 invalid", `{"error":"package_invalid_id"}`, 400, nil, Refused},
		{"403", ``, 403, nil, Forbidden},
		{"500", ``, 500, nil, Server},
		{"a packed page", gzipped("<html>log in</html>"), 200, []string{"Content-Encoding", "gzip"}, BadAnswer},
		{"packed, not ready", gzipped(`{"error":"document_not_ready"}`), 200, []string{"Content-Encoding", "gzip"}, NotReady},
		{"a part", "%PDF-", 206, []string{"Content-Range", "bytes 0-4/100"}, BadAnswer},
		{"a part that is called the whole", "%PDF-", 200, []string{"Content-Range", "bytes 0-4/100"}, BadAnswer},
	} {
		client, _ := api(t, answering(c.status, c.body, c.header...))
		d, err := client.Download(context.Background(), office.FileSigned, "p-1", "d-1")
		if kindOf(err) != c.want || d != nil {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	client, _ := api(t, answering(404, `{"error":"document_not_found"}`))
	if _, err := client.Download(context.Background(), office.FileCertificate, "p-1", "d-1"); kindOf(err) != NotReady {
		t.Errorf("a document without a certificate: %v", err)
	}
}

func TestATruncatedDownloadIsANetworkError(t *testing.T) {
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		io.WriteString(w, "%PDF-"+strings.Repeat("x", 50000))
	}))
	d := must(client.Download(context.Background(), office.FileMaster, "p-1", ""))
	defer d.Body.Close()
	n, err := io.Copy(io.Discard, d.Body)
	var e *Error
	if n != 50005 || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &e) || !e.Temporary() {
		t.Errorf("%d %v", n, err)
	}
}

// A template is the same in whatever shape it is sent.
func TestATemplateIsReadInEveryShape(t *testing.T) {
	want := office.Template{ID: "t-1", Name: "Lease", Sequential: true,
		Documents: []office.TemplateDocument{{ID: "d-1", Name: "Lease", Fields: []office.TemplateField{{ID: "rent"}, {ID: "special"}}}, {ID: "d-2", Name: "Rules"}},
		Roles:     []office.TemplateRole{{ID: "s-1", Role: "Landlord"}, {ID: "s-2", Role: "Tenant", Email: "ana@example.com"}}, Copies: []office.TemplateRole{}}
	for name, body := range map[string]string{
		"as shown": `{"items":[{"templateId":"t-1","name":"Lease","packageType":"Sequential","type":"template","timeLastUsed":"2026-11-01T10:00:00Z","documents":[
			{"documentId":"d-2","index":1,"name":"Rules"},{"documentId":"d-1","index":0,"name":"Lease","data":[{"id":"x","dataId":"rent","type":"text"},
			{"id":"y","dataId":"special","type":"multiline"},{"id":"z","dataId":null,"type":"text"},{"id":"s","dataId":"sign","type":"signature"}]}],
			"signers":[{"signerId":"s-2","index":2,"templateRole":"Tenant","email":"ana@example.com","role":"signer"},{"signerId":"s-1","index":1,"templateRole":"Landlord"}],
			"recipients":[]}],"total":1,"take":100,"skip":0}`,
		"bare": `[{"id":"t-1","name":"Lease","type":"sequential","documents":[{"id":"d-1","name":"Lease","data":[{"dataId":"rent"},{"dataId":"special"}]},
			{"templateDocumentId":"d-2","name":"Rules","data":null}],"signers":[{"templateSignerId":"s-1","role":"Landlord"},{"id":"s-2","role":"Tenant","email":"ana@example.com"}]}]`,
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
			if (name == "as shown") == got.LastUsed.IsZero() {
				t.Errorf("used last at %v", got.LastUsed)
			}
			got.LastUsed = time.Time{}
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
		answer := answering(200, `{"items":[]}`)
		client, _ = api(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { answer(w, q) }))
		_, err := client.Templates(context.Background(), TemplateQuery{})
		answer = answering(c.status, c.body)
		if _, later := client.Templates(context.Background(), TemplateQuery{}); err != nil || later == nil || NotOffered(later) {
			t.Errorf("%d %s after it was served: %v, %v", c.status, c.body, err, later)
		}
	}
}

func TestTextIsReadTheSameHoweverItIsWritten(t *testing.T) {
	for raw, want := range map[string]text{
		`"Anna"`:        "Anna",
		`""`:            "",
		`"Zoë"`:         "Zoë",
		`"Zo\u00eb"`:    "Zoë",
		`"a \"b\" \\c"`: `a "b" \c`,
		`12.50`:         "12.50",
		`0`:             "0",
		`null`:          "",
		`true`:          "",
		`{"a":"b"}`:     "",
		"\"bad \xff\"":  "bad \ufffd",
		"\"a\nb\"":      "",
		`"`:             "",
		`"a" and "b"`:   "",
		``:              "",
	} {
		got := text("before")
		if got.UnmarshalJSON([]byte(raw)); got != want {
			t.Errorf("%q is read as %q, want %q", raw, got, want)
		}
	}
}

func TestACodeIsShownIfItIsAWord(t *testing.T) {
	for code, want := range map[string]bool{"azAZ09_-.: x": true, strings.Repeat("a", 80): true, strings.Repeat("a", 81): false,
		"a`": false, "a{": false, "a@": false, "a[": false, "a/": false, "a;": false, "a secret": false} {
		expect(t, cleanCode(code, "", "secret") == code, want, "%[2]q is shown: %[1]v", code)
	}
}

func TestAPackageIsReadTheSameWhetherItsListsAreOrNot(t *testing.T) {
	const document = `{"documentId":"d","externalId":{"a":1},"index":"2","revisions":[{"revisionId":"r","signerId":"s","isSigned":1},null]}`
	const plain = `{"packageId":"p","PackageID":"q","state":" OPEN ","isExecuted":"true","externalData":[1, 2],"timeCreated":"2026-11-23T01:02:03Z",` +
		`"documents":[` + document + `,null,{}],"signers":[{"signerId":"s","order":1},null,{"email":"a@b.c","timeDeclined":"2026-11-23"}],` +
		`"recipients":[{"email":"c@d.e","type":"bcc"}],"more":{"signers":7}}`
	if s, ok := readStatus([]byte(plain)); !ok || s.PackageID != "q" || len(s.Documents) != 3 || len(s.Signers) != 2 {
		t.Errorf("%+v", s)
	}
	want, _ := readStatus([]byte(`{"packageId":"p","documents":[` + document + `]}`))
	for _, wrapped := range []string{`{"packageId":"p","package":{"packageId":"p","documents":[` + document + `]}}`, `{"packageId":"p","documents":[` + document + `],"package":{"name":"n"}}`} {
		if s, ok := readStatus([]byte(wrapped)); !ok || !reflect.DeepEqual(s, want) {
			t.Errorf("%s is read as\n%+v, and not as\n%+v", wrapped, s, want)
		}
	}
	for odd, same := range map[string]string{
		`{"packageId":"p","documents":` + document + `}`:                                                               `{"packageId":"p","documents":[` + document + `]}`,
		`{"packageId":"p","documents":[7,` + document + `]}`:                                                           `{"packageId":"p","documents":[null,` + document + `]}`,
		`{"packageId":"p","documents":"none","signers":"none","recipients":{}}`:                                        `{"packageId":"p","documents":[{}],"recipients":[{}]}`,
		`{"packageId":"p","signers":{"signerId":"s"}}`:                                                                 `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","signers":[[],{"signerId":"s"},"x"]}`:                                                        `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","documents":[{"documentId":"d","isExecuted":true}],"Documents":[{"documentId":"e"}]}`:        `{"packageId":"p","documents":[{"documentId":"e"}]}`,
		`{"packageId":"p","documents":[{"name":"A"}],"docu\u006dents":[{"documentId":"e"}]}`:                           `{"packageId":"p","documents":[{"documentId":"e"}]}`,
		`{"packageId":"p","documents":[{"revisions":[{"isSigned":true}],"reviſions" : [{"signerId":"s"}]},{"x":"["}]}`: `{"packageId":"p","documents":[{"revisions":[{"signerId":"s"}]},{}]}`,
		`{"packageId":"p","signers":[{"email":"a@b.c"}],"SIGNERS":[{"signerId":"s"}]}`:                                 `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","documents":[{"revisions":{"revisionId":"r"}}]}`:                                             `{"packageId":"p","documents":[{"revisions":[{"revisionId":"r"}]}]}`,
	} {
		got, ok := readStatus([]byte(odd))
		want, _ := readStatus([]byte(same))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as\n%+v, and not as\n%+v", odd, got, want)
		}
		for _, form := range []string{`{"items":[%s,%s],"total":"2"}`, `[%s,null,%s]`} {
			got, ok := readPage(fmt.Appendf(nil, form, odd, plain))
			if want, _ := readPage(fmt.Appendf(nil, form, same, plain)); !ok || len(got.Items) != 2 || !reflect.DeepEqual(got, want) {
				t.Errorf("a list with %s is read as\n%+v, and not as\n%+v", odd, got, want)
			}
		}
	}
}

// An answer of a few kilobytes may hold thousands of documents.
func TestAClientKeepsNothingOfWhatItWasAnswered(t *testing.T) {
	answer := fmt.Sprintf(`{"state":"open","documents":[%s{}]}`, strings.Repeat("{},", 5000))
	c := NewClient(Config{AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "c", HTTP: &http.Client{Transport: saying(answer)}}, &tokens{})
	before := trytest.Held()
	for i := range 40 {
		s, err := c.Status(t.Context(), fmt.Sprint("p", i))
		if err != nil || len(s.Documents) == 0 {
			t.Fatalf("%d documents, %v", len(s.Documents), err)
		}
	}
	if took := trytest.Held() - before; took > 10 {
		t.Errorf("%d MiB are kept of 40 answers of %d KiB", took, len(answer)>>10)
	}
	runtime.KeepAlive(c)
}

// saying gives every request the same answer.
type saying string

func (s saying) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(s))), Request: req}, nil
}

// A person who is asked again may keep the time of the earlier decline.
func TestWhoHasDeclinedIsWhatTheStateSaysWhereItDoes(t *testing.T) {
	for _, c := range []struct {
		state string
		want  bool
	}{{`"active"`, false}, {`"Active"`, false}, {`"declined"`, true}, {`"rejected"`, true}, {`"deleted"`, true}, {`null`, true}} {
		s, ok := readStatus([]byte(`{"packageId":"p","signers":[{"signerId":"s","timeDeclined":"2026-11-23T10:00:00Z","state":` + c.state + `}]}`))
		if !ok || len(s.Signers) != 1 || s.Signers[0].Declined != c.want || !s.Signers[0].StateTold || s.Signers[0].Deleted != (c.state == `"deleted"`) {
			t.Errorf("state %s: %+v", c.state, s.Signers)
		}
	}
}

// These tests are about an embarrassment: a package that was created and then sent again.

func TestOnlyAClearRefusalMeansThatThereIsNoPackage(t *testing.T) {
	const page = "<html><h1>Sign in to the guest network</h1></html>"
	html := []string{"Content-Type", "text/html"}
	for _, c := range []struct {
		name    string
		handler http.Handler
		kind    Kind
	}{
		{"connection lost", hijack(""), Unknown},
		{"cut in the headers", hijack("HTTP/1.1 200 OK\r\nContent-"), Unknown},
		{"cut in the body", hijack("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"packageId\":\"p"), Unknown},
		{"cut in a refusal", hijack("HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{\"error\":\"package_inv"), Unknown},
		{"no HTTP", hijack("220 mail.example.com ESMTP\r\n"), Unknown},
		{"another protocol", hijack("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), Unknown},
		{"only interim answers", hijack("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"), Unknown},
		{"half of the JSON", answering(200, `{"packageId":"p-1","pack`), Unknown},
		{"a page", answering(200, page, html...), Unknown},
		{"no id", answering(200, `{}`), Unknown},
		{"accepted for later", answering(202, ``), Unknown},
		{"no content", answering(204, ``), Unknown},
		{"too long", answering(200, strings.Repeat(" ", maxJSON+1)), Unknown},
		{"too many values", answering(200, `{"packageId":"p-1","documents":[`+strings.Repeat("0,", maxValues)+`0,0]}`), Unknown},
		{"too many objects", answering(200, `{"packageId":"p-1","documents":[`+strings.Repeat("{},", maxObjects)+`{}]}`), Unknown},
		{"300", answering(300, ``), Unknown},
		{"304", answering(304, ``), Unknown},
		{"a redirect to nowhere", answering(302, ``), Unknown},
		{"408", answering(408, `{"error":"package_invalid_time"}`), Unknown},
		{"500", answering(500, `{"error":"package_exception_x"}`), Unknown},
		{"503 with a time", answering(503, ``, "Retry-After", "1"), Unknown},
		{"an exception called 400", answering(400, `{"error":"package_exception_mail","message":"Mail failed."}`), Unknown},
		{"a gateway's JSON", answering(404, `{"status":404,"error":"Not Found","path":"/packages/add"}`), Unknown},
		{"a gateway's words", answering(403, `{"message":"Forbidden"}`), Unknown},
		{"a bare 404", answering(404, ``), Unknown},
		{"a proxy's 405", answering(405, page, html...), Unknown},
		{"a proxy's 400", answering(400, page, html...), Unknown},
		{"a proxy's 404", answering(404, page, html...), Unknown},
		{"a proxy's 401", answering(401, page, html...), Unknown},
		{"a proxy's 429", answering(429, page, html...), Unknown},

		{"400", answering(400, `{"error":"package_invalid_type","message":"No such type."}`), Refused},
		{"403", answering(403, `{"error":"package_not_authorized"}`), Forbidden},
		{"404", answering(404, `{"error":"file_not_found"}`), NotFound},
		{"409", answering(409, `{"error":"package_duplicate_recipients"}`), Refused},
		{"413", answering(413, `{"error":"package_length_body"}`), Refused},
		{"422 as a problem", answering(422, `{"title":"Invalid","detail":"No signers."}`, "Content-Type", "application/problem+json"), Refused},
		{"404 as a problem", answering(404, `{"title":"Not Found"}`, "Content-Type", "application/problem+json"), Unknown},
		{"a bare 401", answering(401, ``), SignedOut},
		{"a bare 405", answering(405, ``), Refused},
		{"a bare 429", answering(429, ``), TooMany},
		{"401 on a page", answering(401, page, "WWW-Authenticate", "Bearer"), SignedOut},
		{"405 on a page", answering(405, page, "Allow", "GET"), Refused},
		{"429 on a page", answering(429, page, "Retry-After", "1"), TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n++
				c.handler.ServeHTTP(w, r)
			}))
			_, err := client.AddPackage(context.Background(), offer())
			if kindOf(err) != c.kind || errors.Is(err, ErrOutcomeUnknown) != (c.kind == Unknown) {
				t.Errorf("%v", err)
			}
			if e, ok := errors.AsType[*Error](err); c.kind == Unknown && (n != 1 || !ok || e.Temporary()) {
				t.Errorf("it was sent %d times, and %v invites a repetition", n, e)
			}
			harmless(t, err, "at-secret", "guest")
			_, set := client.SetEndpoint(t.Context(), "https://x.example.com/")
			_, sent := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", ""))
			_, link := client.SignLink(t.Context(), "p", "s")
			for call, err := range map[string]error{"endpoints/set": set, "files/upload": sent, "link/sign": link} {
				if e, ok := errors.AsType[*Error](err); ok && e.MayBeDone != (c.kind == Unknown) {
					t.Errorf("%s: %v, %v", call, err, e)
				}
			}
		})
	}
	t.Run("never sent", func(t *testing.T) {
		s := httptest.NewServer(nil)
		s.Close()
		client := NewClient(Config{AuthURL: s.URL, BaseURL: s.URL, ClientID: "c"}, &tokens{})
		_, add := client.AddPackage(t.Context(), offer())
		_, set := client.SetEndpoint(t.Context(), "https://x.example.com/")
		for _, err := range []error{add, set} {
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Network || e.MayBeDone {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("not JSON", func(t *testing.T) {
		client, _ := api(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("sent") }))
		p := offer()
		p.ExternalData = json.RawMessage(`{`)
		if _, err := client.AddPackage(context.Background(), p); kindOf(err) != Invalid {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client := within(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		late, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		for _, ctx := range []context.Context{late, cancelled} {
			if _, err := client.AddPackage(ctx, offer()); !errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("%v on the way: %v", ctx.Err(), err)
			}
		}
	})
}

func TestARedirectIsFollowedWithinTheHostAndByNoPackage(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for where, to := range map[string]string{"same host": "", "other host": other.URL} {
			t.Run(fmt.Sprint(status, " ", where), func(t *testing.T) {
				n := 0
				client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if n++; strings.HasSuffix(r.URL.Path, "/") {
						io.WriteString(w, bareStatus)
						return
					}
					http.Redirect(w, r, to+r.URL.Path+"/?token=at-secret-0", status)
				}))
				if _, err := client.AddPackage(t.Context(), offer()); !errors.Is(err, ErrOutcomeUnknown) || n != 1 {
					t.Errorf("%v after %d", err, n)
				}
				if _, err := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", "")); kindOf(err) != BadAnswer {
					t.Errorf("an upload: %v", err)
				}
				_, err := client.Status(t.Context(), "p-1")
				if (err == nil) != (to == "") || err != nil && kindOf(err) != BadAnswer {
					t.Errorf("a status: %v", err)
				}
				harmless(t, err, "at-secret")
			})
		}
	}
	expect(t, elsewhere.Load(), 0, "the other host was asked %d times")
}

func TestAPackageTakesTheFormOfItsPathFromTheUploadBeforeIt(t *testing.T) {
	for served, want := range map[string]string{
		"/files/upload /packages/add":                                   "/packages/add /packages/add",
		"/files/upload forbidden /api/v1/packages/add":                  "/api/v1/packages/add /api/v1/packages/add",
		"/files/upload /api/v1/organizations/info /api/v1/packages/add": "/api/v1/packages/add /api/v1/packages/add",
	} {
		var asked []string
		client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked = append(asked, r.URL.Path)
			if r.Header.Get("Authorization") == "" { // before it looks at the path
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if strings.Contains(served, "forbidden") && strings.HasSuffix(r.URL.Path, "/info") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			if !slices.Contains(strings.Fields(served), r.URL.Path) {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, `{"fileId":"f-1","packageId":"p-1"}`)
		}))
		must(client.Upload(context.Background(), fileOf("a.pdf", "%PDF-", "")))
		must(client.AddPackage(context.Background(), offer()))
		must(client.AddPackage(context.Background(), offer()))
		expect(t, strings.Join(asked, " "), "/api/v1/files/upload /files/upload /api/v1/organizations/info "+want, "asked %s")
	}
}

// net/http itself repeats some requests when a kept-alive connection is gone.
func TestNetHTTPDoesNotSendAPackageAgain(t *testing.T) {
	n := 0
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			io.WriteString(w, `{"items":[]}`)
			return
		}
		hijack("")(w, r)
	}))
	must(client.List(t.Context(), ListQuery{}))
	if _, err := client.AddPackage(t.Context(), offer()); !errors.Is(err, ErrOutcomeUnknown) || n != 2 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestADownloadMayComeFromAStorageThatGetsNoToken(t *testing.T) {
	const file = "%PDF-1.7 signed"
	var seen []string
	note := func(r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("Referer")+r.Header.Get("Cookie"))
	}
	var service *httptest.Server
	var storage *httptest.Server
	mux := http.NewServeMux()
	storage = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/file":
			io.WriteString(w, file)
		case "/back":
			http.Redirect(w, r, service.URL+"/open", http.StatusFound)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer storage.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { note(r) }))
	defer plain.Close()
	mux.HandleFunc("/open", func(w http.ResponseWriter, r *http.Request) {
		note(r)
		io.WriteString(w, file)
	})
	to := ""
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	service = httptest.NewTLSServer(mux)
	defer service.Close()
	src := &tokens{}
	// Both servers have the same certificate and name; only their ports differ, which net/http ignores.
	client := NewClient(Config{AuthURL: service.URL, BaseURL: service.URL, ClientID: "c", HTTP: service.Client()}, src)

	for _, c := range []struct {
		to   string
		kind Kind
		seen string // and by whom, with which credentials
	}{
		{storage.URL + "/file", "", "/file "},
		{storage.URL + "/back", "", "/back ,/open "},
		{service.URL + "/api/v1/again", BadAnswer, ""},
		{storage.URL + "/expired", Server, "/expired "},
		{plain.URL + "/file", BadAnswer, ""},
	} {
		to, seen = c.to, nil
		d, err := client.Download(t.Context(), office.FileSigned, "p", "d")
		if kindOf(err) != c.kind || strings.Join(seen, ",") != c.seen || len(src.invalid) != 0 {
			t.Errorf("%s: %v, seen were %q, and %q is no longer good", to, err, seen, src.invalid)
		}
		if c.kind == "" {
			b := must(io.ReadAll(d.Body))
			d.Body.Close()
			expect(t, string(b), file, "got %q")
		}
	}
	to, seen = storage.URL+"/file", nil
	if _, err := client.Status(t.Context(), "p"); kindOf(err) != BadAnswer || len(seen) != 0 {
		t.Errorf("another call: %v, %q", err, seen)
	}
}

func TestWhatIsAnsweredToAWithdrawalSaysWhetherItIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		done    bool
		unknown bool
	}{
		"it is":              {answering(200, `{"packageId":"p-1"}`), true, false},
		"in capitals":        {answering(200, `{"packageId":"P-1"}`), true, false},
		"another package":    {answering(200, `{"packageId":"p-2"}`), false, true},
		"a page":             {answering(200, `<html>Sign in</html>`, "Content-Type", "text/html"), false, true},
		"trouble":            {answering(500, ``), false, true},
		"no such call":       {answering(404, `404 page not found`), false, false},
		"not by this member": {answering(403, `{"error":"package_not_authorized","message":"No."}`), false, false},
	} {
		client, _ := api(t, c.answer)
		err := client.Rescind(t.Context(), "p-1", "A mistake", true)
		if (err == nil) != c.done || errors.Is(err, ErrOutcomeUnknown) != c.unknown || NotServed(err) != (name == "no such call") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
