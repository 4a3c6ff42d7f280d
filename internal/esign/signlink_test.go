package esign

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// linkless answers the status, and every call for a link with what the test says.
func linkless(status int, answer, statusBody string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/status") {
			io.WriteString(w, statusBody)
			return
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}
}

func TestALinkOfTheStatusStandsInWhereTheCallIsMissingOrForbidden(t *testing.T) {
	const signers = `{"packageId":"p","state":"open","signers":[{"signerId":"a","links":[{"link":"https://x/other"}]},{"signerId":"S","links":[
		{"link":"https://x/signed","isSigned":true,"isNext":true},{"link":"https://x/later","isNext":false},{"link":"https://x/next","isNext":true,"timeExpires":"2026-12-01T10:00:00Z"}]}]}`
	const revisions = `{"packageId":"p","state":"open","documents":[{"documentId":"d","revisions":[{"signerId":"s","isSigned":true,"link":"https://x/done"},{"signerId":"s","link":"https://x/revision"}]}]}`
	for name, c := range map[string]struct {
		status       int
		answer, body string
		want         string
	}{
		"no such call":            {404, "<h1>Not Found</h1>", signers, "https://x/next"},
		"not for this account":    {403, `{"error":"package_not_authorized","message":"No."}`, signers, "https://x/next"},
		"in the revisions":        {404, "", revisions, "https://x/revision"},
		"in the signer":           {404, "", `{"packageId":"p","signers":[{"signerId":"s","signLink":"https://x/sign"}]}`, "https://x/sign"},
		"no link a browser takes": {404, "", `{"packageId":"p","signers":[{"signerId":"s","signLink":"javascript:alert(1)"}]}`, ""},
		"none there":              {404, "", bareStatus, ""},
		"no such signer":          {404, `{"error":"signer_not_found","message":"No."}`, signers, ""},
	} {
		client, _ := api(t, linkless(c.status, c.answer, c.body))
		got, err := client.SignLink(t.Context(), "p", "s")
		if got.URL != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "https://x/") {
			t.Errorf("%s: the error holds a link: %v", name, err)
		}
	}
}
