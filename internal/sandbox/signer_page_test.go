package sandbox

import (
	"net/url"
	"strings"
	"testing"
)

func TestPageSignsWithoutJavaScript(t *testing.T) {
	r := start(t, Options{})
	r.signIn(adminMail, allScopes)
	p := r.add("Sequential", 1, "Ana", "Jan")
	page := strings.TrimPrefix(r.signerPage(p.PackageID, p.Signers[0].SignerID), r.s.URL())
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

	next := strings.TrimPrefix(r.signerPage(p.PackageID, p.Signers[1].SignerID), r.s.URL())
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
