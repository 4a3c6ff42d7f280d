package outbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// What is not in the whole list is forgotten by those that were used, so what is not whole must not be taken for it.
func TestAListIsWholeOnlyWhenTheServiceGivesAsManyAsItSays(t *testing.T) {
	const a, b = `{"templateId":"a","name":"Lease"}`, `{"templateId":"b","name":"Offer"}`
	for name, c := range map[string]struct {
		pages []string // the last one again and again
		given int
		whole bool
	}{
		"all in one":                      {[]string{`{"items":[` + a + `,` + b + `],"total":2}`}, 2, true},
		"page by page":                    {[]string{`{"items":[` + a + `],"total":2}`, `{"items":[` + b + `],"total":2}`}, 2, true},
		"until nothing more comes":        {[]string{`{"items":[` + a + `]}`, `{"items":[]}`}, 1, true},
		"none":                            {[]string{`{"items":[],"total":0}`}, 0, true},
		"none of five":                    {[]string{`{"items":[],"total":5}`}, 0, false},
		"one of five, and then none":      {[]string{`{"items":[` + a + `],"total":5}`, `{"items":[],"total":5}`}, 1, false},
		"the same page, whatever is said": {[]string{`{"items":[` + a + `,` + b + `]}`}, 2, true},
		"the same of three for ever":      {[]string{`{"items":[` + a + `,` + b + `],"total":3}`}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.pages[min(asked, len(c.pages)-1)])
				asked++
			}))
			defer server.Close()
			client := esign.NewClient(esign.Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c"}, tokens{})
			all, whole, err := readTemplates(t.Context(), client, "")
			if err != nil || len(all) != c.given || whole != c.whole {
				t.Errorf("%d templates, whole: %v, %v", len(all), whole, err)
			}
		})
	}
}

func TestARefusalForTheSakeOfTheTemplateSaysWhatHasBecomeOfIt(t *testing.T) {
	d := office.Draft{Template: &office.Template{Name: "Lease"}}
	for code, want := range map[string]message.Message{
		"template_not_found": message.TemplateGone("Lease"), "PACKAGE_TEMPLATE_NOT_FOUND": message.TemplateGone("Lease"),
		"template_signer_not_found": message.TemplateChanged("Lease"), "template_locked": {}, "file_not_found": {},
	} {
		cause := &esign.Error{Kind: esign.Refused, Code: code}
		if got := templateProblem(d, cause); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
		if got := templateProblem(office.Draft{}, cause); !got.IsZero() {
			t.Errorf("%s, of a draft without a template: %q", code, got)
		}
	}
}
