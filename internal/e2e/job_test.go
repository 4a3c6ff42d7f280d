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

	"countersign/internal/e2e/harness"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// TestTheWholeJob is the main job with everything at its usual setting and the commands beside the running program.
func TestTheWholeJob(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	s, f := o.Service, o.Front
	o.Serve() // before anything is set up
	o.Setup()
	if s := o.Status(); s.SignedIn || s.Issue("signin") == "" || len(s.Health) != 1 {
		t.Errorf("before the sign-in: %+v", s)
	}
	o.MustLogin()
	o.Registered()

	lease, offer := sendLease(o), sendOffer(o)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	o.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })

	savedAsServed(o, lease, offer)
	toldOnce(o, false, lease, offer)
	statusIsRight(o, f.URL)
	hasDocumentedNames(o)
	if text := o.Must("status"); !strings.Contains(text, "signed in as "+harness.Olivia) || !strings.Contains(text, "everything works") {
		t.Errorf("status says\n%s", text)
	}
	if labels := desk.KeyringItems(); len(labels) != 1 {
		t.Errorf("the keyring holds %q, want the one key", labels)
	}

	o.Must("logout")
	if urls := s.Endpoints(); len(urls) != 0 {
		t.Errorf("after the sign-out the service still reports events to %s", urls)
	}
	if r := s.Requests("/connect/revoke"); len(r) == 0 || r[0].Status != 200 {
		t.Errorf("revocations: %+v", r)
	}
	if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" || s.Packages.Saved != 2 {
		t.Errorf("after the sign-out: %+v", s)
	}
	o.Stop()
	keepsSecrets(o)
	if code := s.P.Stop(); code != 0 {
		t.Errorf("the sandbox ended with %d: %s", code, s.P.Stderr)
	}
}

// sendLease sends the package with two documents and two signers, one after the other.
func sendLease(o *harness.Office) harness.Pack {
	o.T.Helper()
	out := o.Must("send", harness.Sample(o.T, "Lease Sonnenweg 4"), harness.Sample(o.T, "Mandate Keller"), "--sequential", "--name", "Lease",
		"--to", "Jan Weber <jan.weber@example.com>", "--to", "Ana Ruiz <ana.ruiz@example.com>", "--message", "As agreed.",
		"--external-data", `{"matter":"4711"}`)
	p := o.Service.Named("Lease")
	if want := "Sent. Package " + p.ID; strings.TrimSpace(out) != want {
		o.T.Errorf("send printed %q, want %q", out, want)
	}
	if len(p.Documents) != 2 || len(p.Signers) != 2 || !p.Signers[0].Turn || p.Signers[1].Turn {
		o.T.Errorf("the service got %+v", p)
	}
	return p
}

// sendOffer sends the package whose two signers sign at any time.
func sendOffer(o *harness.Office) harness.Pack {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", "Offer", "--due", "2031-12-31",
		"--to", "Ana Ruiz <ana.ruiz@example.com>", "--to", "Zoë Keller <zoe.keller@example.com>")
	p := o.Service.Named("Offer")
	if len(p.Documents) != 1 || len(p.Signers) != 2 || !p.Signers[0].Turn || !p.Signers[1].Turn {
		o.T.Errorf("the service got %+v", p)
	}
	return p
}

// savedAsServed checks that the folder holds what the service serves for the packages, byte for byte, and nothing else.
func savedAsServed(o *harness.Office, packages ...harness.Pack) {
	o.T.Helper()
	token := o.Service.Token()
	saved := o.Contents()
	expect := func(what, path string) {
		served := o.Service.Download(token, path)
		sum := sha256.Sum256(served)
		name, ok := saved[sum]
		if !ok {
			o.T.Errorf("%s is not in the folder as the service serves it; there are %q", what, o.Files())
			return
		}
		delete(saved, sum)
		if err := api.Validate(bytes.NewReader(served), nil); err != nil {
			o.T.Errorf("%s is no valid PDF: %v", name, err)
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
		o.T.Errorf("%q is in the folder for no reason", name)
	}
}

// wordsAfter are what a signature's notification says behind the documents; which of them depends on whether the event
// or the status brought the news.
var wordsAfter = regexp.MustCompile(`^(Next: .+\.|Everyone has signed\.|\d of \d signers have signed\.)?$`)

// manySigned is the title of several signatures of one person.
var manySigned = regexp.MustCompile(`^(.+) signed (\d+) documents in (.+)$`)

// quoted is a name as notifications show it: quotation marks that no program takes for its own.
func quoted(name string) string { return "″" + name + "″" }

// toldOnce checks that people were told once of every saved package, with who signed last, and of every other signature:
// one person's signatures of one moment together, none of them twice. bare is a service that never says who its signers
// are: people know them by the order they sign in, if there is one.
func toldOnce(o *harness.Office, bare bool, packages ...harness.Pack) {
	o.T.Helper()
	everyone := func(p harness.Pack) string { return "Everyone has signed " + quoted(p.Name) + "." }
	defer func() {
		if o.T.Failed() {
			o.T.Logf("told was %q", o.Desk.Notes.List())
		}
	}()
	// The last notification may be on its way when the status already says that all is saved.
	harness.Eventually(o.T, "everything is told", func() bool {
		for _, p := range packages {
			if !slices.ContainsFunc(o.Desk.Notes.List(), func(n harness.Note) bool { return n.Title == everyone(p) }) {
				return false
			}
		}
		return true
	})
	told := map[string]int{} // documents, by the title of what told of them
	last := map[string]string{}
	for _, n := range o.Desk.Notes.List() {
		body := n.Body
		for _, words := range []string{" signed last. ", " signed. "} {
			if who, rest, found := strings.Cut(body, words); found {
				last[n.Title], body = who, rest
			}
		}
		var count int
		switch {
		case strings.HasPrefix(n.Title, "Everyone has signed "):
			told[n.Title]++
			if !strings.Contains(body, "saved in Signed") && !strings.HasPrefix(body, "Saved in Signed: ") {
				o.T.Errorf("a saved package is told as %q", n)
			}
			continue
		case strings.HasPrefix(body, "Document: "):
			document, rest, _ := strings.Cut(body, ". ")
			key := n.Title + "|" + strings.TrimSuffix(document, ".")
			if told[key]++; told[key] > 1 {
				o.T.Errorf("told twice: %q", n)
			}
			count, body = 1, rest
		default:
			count = 1
			if m := manySigned.FindStringSubmatch(n.Title); m != nil {
				n.Title = m[1] + " signed " + m[3]
				if _, err := fmt.Sscan(m[2], &count); err != nil {
					o.T.Error(err)
				}
			}
		}
		told[n.Title] += count
		if !wordsAfter.MatchString(body) {
			o.T.Errorf("a signature is told as %q", n)
		}
		if n.App != "Countersign" {
			o.T.Errorf("the notification %q comes from %q", n.Title, n.App)
		}
	}
	for _, p := range packages {
		if n := told[everyone(p)]; n != 1 {
			o.T.Errorf("told %d times: %s", n, everyone(p))
		}
		for _, s := range p.Signers {
			key, most := s.Name+" signed "+quoted(p.Name)+".", len(p.Documents)
			if bare && p.Name == "Offer" {
				key, most = "Someone signed "+quoted(p.Name)+".", len(p.Documents)*len(p.Signers)
			}
			n := told[key]
			if n > most {
				o.T.Errorf("told of %d documents, of %d there are: %s", n, most, key)
			}
			if n == 0 && last[everyone(p)] != s.Name && !bare {
				o.T.Errorf("nobody was told: %s", key)
			}
		}
	}
	if o.T.Failed() {
		for _, n := range o.Desk.Notes.List() {
			o.T.Logf("told: %s | %s", n.Title, n.Body)
		}
	}
}

// statusIsRight checks every value of status --json after both packages are saved, at the public address.
func statusIsRight(o *harness.Office, public string) {
	o.T.Helper()
	o.Until("every event has arrived", func(s harness.Status) bool { return s.Events.Pending == 0 && o.Service.AllDelivered() })
	s := o.Status()
	if s.Version != "dev" || !s.SignedIn || s.Account.Email != harness.Olivia || s.Account.OrganizationID == "" || s.Account.MemberID == "" {
		o.T.Errorf("version and account: %+v", s)
	}
	if s.Tunnel.Kind != "external" || s.Tunnel.State != "up" || s.Tunnel.URL != public {
		o.T.Errorf("tunnel: %+v, want %s", s.Tunnel, public)
	}
	if urls := o.Service.Endpoints(); s.Endpoint.ID == "" || s.Endpoint.RegisteredAt.IsZero() || !slices.Equal(urls, []string{s.Endpoint.URL}) {
		o.T.Errorf("endpoint: %+v, and the service has %s", s.Endpoint, urls)
	}
	if n := len(o.Service.Events()); s.Events.Received != n || s.Events.Rejected != 0 || s.Events.Problems != 0 {
		o.T.Errorf("events: %+v, want %d received", s.Events, n)
	}
	if want := (struct{ Total, Open, Executed, Saved int }{2, 0, 2, 2}); s.Packages != want {
		o.T.Errorf("packages: %+v", s.Packages)
	}
	if want := (struct{ Done, Pending, Failed int }{8, 0, 0}); s.Saves != want {
		o.T.Errorf("saves: %+v", s.Saves)
	}
	if s.Outbox != (struct{ Pending, Unknown, Failed int }{}) || len(s.Health) != 0 {
		o.T.Errorf("outbox: %+v, health: %+v", s.Outbox, s.Health)
	}
}

// keepsSecrets checks that no secret lies readable in the data folder.
func keepsSecrets(o *harness.Office) {
	o.T.Helper()
	err := filepath.WalkDir(o.Data, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(o.Service.Secret)) {
			o.T.Errorf("%s holds the client secret", path)
		}
		return err
	})
	if err != nil {
		o.T.Error(err)
	}
}
