//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// TestTheWholeJob is the main job with everything at its usual setting and the commands beside the running program.
func TestTheWholeJob(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk)
	s, f := o.service, o.front
	o.serve() // before anything is set up
	o.setup()
	if s := o.status(); s.SignedIn || s.issue("signin") == "" || len(s.Health) != 1 {
		t.Errorf("before the sign-in: %+v", s)
	}
	o.mustLogin()
	o.registered()

	lease, offer := o.sendLease(), o.sendOffer()
	s.signAll(lease.ID)
	s.signAll(offer.ID)
	o.until("both packages are saved", func(s status) bool { return s.Packages.Saved == 2 })

	o.savedAsServed(lease, offer)
	o.toldOnce(false, lease, offer)
	o.statusIsRight(f.url)
	o.hasDocumentedNames()
	if text := o.must("status"); !strings.Contains(text, "signed in as "+olivia) || !strings.Contains(text, "everything works") {
		t.Errorf("status says\n%s", text)
	}
	if labels := desk.keyringItems(); len(labels) != 1 {
		t.Errorf("the keyring holds %q, want the one key", labels)
	}

	o.must("logout")
	if urls := s.endpoints(); len(urls) != 0 {
		t.Errorf("after the sign-out the service still reports events to %s", urls)
	}
	if r := s.requests("/connect/revoke"); len(r) == 0 || r[0].Status != 200 {
		t.Errorf("revocations: %+v", r)
	}
	if s := o.status(); s.SignedIn || s.Endpoint.ID != "" || s.Packages.Saved != 2 {
		t.Errorf("after the sign-out: %+v", s)
	}
	o.stop()
	o.keepsSecrets()
	if code := s.p.stop(); code != 0 {
		t.Errorf("the sandbox ended with %d: %s", code, s.p.stderr)
	}
}

// sendLease sends the package with two documents and two signers, one after the other.
func (o *office) sendLease() pack {
	o.t.Helper()
	out := o.must("send", sample(o.t, "Lease Sonnenweg 4"), sample(o.t, "Mandate Keller"), "--sequential", "--name", "Lease",
		"--to", "Jan Weber <jan.weber@example.com>", "--to", "Ana Ruiz <ana.ruiz@example.com>", "--message", "As agreed.",
		"--external-data", `{"matter":"4711"}`)
	p := o.service.named("Lease")
	if want := "Sent. Package " + p.ID; strings.TrimSpace(out) != want {
		o.t.Errorf("send printed %q, want %q", out, want)
	}
	if len(p.Documents) != 2 || len(p.Signers) != 2 || !p.Signers[0].Turn || p.Signers[1].Turn {
		o.t.Errorf("the service got %+v", p)
	}
	return p
}

// sendOffer sends the package whose two signers sign at any time.
func (o *office) sendOffer() pack {
	o.t.Helper()
	o.must("send", sample(o.t, "Offer 2026-118"), "--name", "Offer", "--due", "2031-12-31",
		"--to", "Ana Ruiz <ana.ruiz@example.com>", "--to", "Zoë Keller <zoe.keller@example.com>")
	p := o.service.named("Offer")
	if len(p.Documents) != 1 || len(p.Signers) != 2 || !p.Signers[0].Turn || !p.Signers[1].Turn {
		o.t.Errorf("the service got %+v", p)
	}
	return p
}

// savedAsServed checks that the folder holds what the service serves for the packages, byte for byte, and nothing else.
func (o *office) savedAsServed(packages ...pack) {
	o.t.Helper()
	token := o.service.token()
	saved := o.contents()
	expect := func(what, path string) {
		served := o.service.download(token, path)
		sum := sha256.Sum256(served)
		name, ok := saved[sum]
		if !ok {
			o.t.Errorf("%s is not in the folder as the service serves it; there are %q", what, o.files())
			return
		}
		delete(saved, sum)
		if err := api.Validate(bytes.NewReader(served), nil); err != nil {
			o.t.Errorf("%s is no valid PDF: %v", name, err)
		}
	}
	for _, p := range packages {
		for _, d := range p.Documents {
			expect(d.Name+" as signed", "/packages/"+p.ID+"/documents/"+d.ID+"/pdf/executed/download")
			expect(d.Name+"'s certificate", "/packages/"+p.ID+"/documents/"+d.ID+"/pdf/cac/download")
		}
		expect(p.Name+"'s master file", "/masterfiles/"+p.ID+"/pdf/download")
	}
	for _, name := range saved {
		o.t.Errorf("%q is in the folder for no reason", name)
	}
}

// wordsAfter are what a signature's notification says behind the documents; which of them depends on whether the event
// or the status brought the news.
var wordsAfter = regexp.MustCompile(`^(Next: .+\.|Everyone has signed\.|\d of \d signers have signed\.)?$`)

// quoted is a name as notifications show it: quotation marks that no program takes for its own.
func quoted(name string) string { return "″" + name + "″" }

// toldOnce checks that people were told once of every saved package, with who signed last, and of every other signature:
// one person's signatures of one moment together, none of them twice. bare is a service that never says who its signers
// are: people know them by the order they sign in, if there is one.
func (o *office) toldOnce(bare bool, packages ...pack) {
	o.t.Helper()
	everyone := func(p pack) string { return "Everyone has signed " + quoted(p.Name) + "." }
	// The last notification may be on its way when the status already says that all is saved.
	eventually(o.t, "everything is told", func() bool {
		for _, p := range packages {
			if !slices.ContainsFunc(o.desk.notes.list(), func(n note) bool { return n.Title == everyone(p) }) {
				return false
			}
		}
		return true
	})
	told := map[string]int{} // documents, by the title of what told of them
	last := map[string]string{}
	for _, n := range o.desk.notes.list() {
		body := n.Body
		if who, rest, found := strings.Cut(body, " signed last. "); found {
			last[n.Title], body = who, rest
		}
		var count int
		switch {
		case strings.HasPrefix(n.Title, "Everyone has signed "):
			told[n.Title]++
			if !strings.Contains(body, "saved in Signed") && !strings.HasPrefix(body, "Saved in Signed: ") {
				o.t.Errorf("a saved package is told as %q", n)
			}
			continue
		case strings.HasPrefix(body, "Document: "):
			document, rest, _ := strings.Cut(body, ". ")
			key := n.Title + "|" + strings.TrimSuffix(document, ".")
			if told[key]++; told[key] > 1 {
				o.t.Errorf("told twice: %q", n)
			}
			count, body = 1, rest
		default:
			if _, err := fmt.Sscanf(body, "%d documents signed.", &count); err != nil {
				count = 1
			}
			body = strings.TrimSpace(strings.TrimPrefix(body, fmt.Sprintf("%d documents signed.", count)))
		}
		told[n.Title] += count
		if !wordsAfter.MatchString(body) {
			o.t.Errorf("a signature is told as %q", n)
		}
		if n.App != "Countersign" {
			o.t.Errorf("the notification %q comes from %q", n.Title, n.App)
		}
	}
	for _, p := range packages {
		if n := told[everyone(p)]; n != 1 {
			o.t.Errorf("told %d times: %s", n, everyone(p))
		}
		for _, s := range p.Signers {
			key, most := s.Name+" signed "+quoted(p.Name)+".", len(p.Documents)
			if bare && p.Name == "Offer" {
				key, most = "Someone signed "+quoted(p.Name)+".", len(p.Documents)*len(p.Signers)
			}
			n := told[key]
			if n > most {
				o.t.Errorf("told of %d documents, of %d there are: %s", n, most, key)
			}
			if n == 0 && last[everyone(p)] != s.Name && !bare {
				o.t.Errorf("nobody was told: %s", key)
			}
		}
	}
	if o.t.Failed() {
		for _, n := range o.desk.notes.list() {
			o.t.Logf("told: %s | %s", n.Title, n.Body)
		}
	}
}

// statusIsRight checks every value of status --json after both packages are saved, at the public address.
func (o *office) statusIsRight(public string) {
	o.t.Helper()
	o.until("every event has arrived", func(s status) bool { return s.Events.Pending == 0 && o.service.allDelivered() })
	s := o.status()
	if s.Version != "dev" || !s.SignedIn || s.Account.Email != olivia || s.Account.OrganizationID == "" || s.Account.MemberID == "" {
		o.t.Errorf("version and account: %+v", s)
	}
	if s.Tunnel.Kind != "external" || s.Tunnel.State != "up" || s.Tunnel.URL != public {
		o.t.Errorf("tunnel: %+v, want %s", s.Tunnel, public)
	}
	if urls := o.service.endpoints(); s.Endpoint.ID == "" || s.Endpoint.RegisteredAt.IsZero() || !slices.Equal(urls, []string{s.Endpoint.URL}) {
		o.t.Errorf("endpoint: %+v, and the service has %s", s.Endpoint, urls)
	}
	if n := len(o.service.events()); s.Events.Received != n || s.Events.Rejected != 0 || s.Events.Problems != 0 {
		o.t.Errorf("events: %+v, want %d received", s.Events, n)
	}
	if want := (struct{ Total, Open, Executed, Saved int }{2, 0, 2, 2}); s.Packages != want {
		o.t.Errorf("packages: %+v", s.Packages)
	}
	if want := (struct{ Done, Pending, Failed int }{8, 0, 0}); s.Saves != want {
		o.t.Errorf("saves: %+v", s.Saves)
	}
	if s.Outbox != (struct{ Pending, Unknown, Failed int }{}) || len(s.Health) != 0 {
		o.t.Errorf("outbox: %+v, health: %+v", s.Outbox, s.Health)
	}
}

// keepsSecrets checks that no secret lies readable in the data folder.
func (o *office) keepsSecrets() {
	o.t.Helper()
	err := filepath.WalkDir(o.data, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(o.service.secret)) {
			o.t.Errorf("%s holds the client secret", path)
		}
		return err
	})
	if err != nil {
		o.t.Error(err)
	}
}
