//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAPackageFromATemplate is the job of an office that has a template: it is listed, filled, sent, signed and saved, and
// once it is gone a second package is refused with a sentence.
func TestAPackageFromATemplate(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	o.Serve()
	o.Setup()
	o.MustLogin()
	o.Registered()

	var all struct {
		Templates []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			Documents []struct {
				Fields []struct {
					ID string `json:"id"`
				} `json:"fields"`
			} `json:"documents"`
		} `json:"templates"`
	}
	harness.Must(t, json.Unmarshal([]byte(o.Must("templates", "--json", "--search", "tenant")), &all))
	list := all.Templates
	if len(list) != 1 || list[0].Name != "Lease agreement" || len(list[0].Documents) != 2 || list[0].Documents[0].Fields[0].ID != "address" {
		t.Fatalf("templates: %+v", list)
	}
	send := []string{harness.Sample(t, "Offer 2026-118"), "--template", "lease agreement", "--name", "Flat 4",
		"--to", "Landlord=Jan Weber <jan.weber@example.com>", "--to", "Tenant=Ana Ruiz <ana.ruiz@example.com>",
		"--field", "rent=1,200", "--field", "address=Sonnenweg 4", "--field", "special=", "--replace", "House rules=" + harness.Sample(t, "Mandate Keller")}
	out := o.Must("send", send...)
	p := o.Service.Named("Flat 4")
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if strings.TrimSpace(out) != "Sent. Package "+p.ID || strings.Join(names, ", ") != "Lease agreement, House rules, Offer 2026-118" ||
		!p.Signers[0].Turn || p.Signers[0].Name != "Jan Weber" {
		t.Errorf("send printed %q; the service got %+v", out, p)
	}
	o.Service.SignAll(p.ID)
	o.Until("it is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	if text := o.Must("templates"); !strings.HasPrefix(text, "Lease agreement\n") {
		t.Errorf("the template used last does not come first:\n%s", text)
	}

	o.Service.Tell("DELETE", "/templates/"+list[0].ID, nil, nil)
	if r := o.Command("send", append(send, "--name", "Flat 5")...); r.Code != 1 || !strings.Contains(r.Stderr, "There is no template") {
		t.Errorf("ended with %d and said %q", r.Code, r.Stderr)
	}
}
