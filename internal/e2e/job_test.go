//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"

	"countersign/internal/e2e/harness"
)

// TestTheWholeJob is the main job with default settings and with commands beside the running program.
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
	matches(o, lease, "added")
	matches(o, offer, "added")
	provenWithoutTheProgram(o, lease)
	knownToTheRecord(o)
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

// sendLease sends a package with two documents and two signers, in sequence.
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

// sendOffer sends a package whose two signers sign in any order.
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

// knownToTheRecord checks what the record knows about files, and whether one of its lines still fits.
func knownToTheRecord(o *harness.Office) {
	o.T.Helper()
	line := strings.TrimSpace(o.Must("record"))
	if said := o.Must("record", line); !strings.HasPrefix(said, "Consistent") {
		o.T.Errorf("of %q it says %q", line, said)
	}
	saved := filepath.Join(o.Folder, o.Files()[0])
	if said := o.Must("verify", saved, harness.Sample(o.T, "Lease Sonnenweg 4")); !strings.Contains(said, "was saved for “") || !strings.Contains(said, "was sent with “Lease”") {
		o.T.Errorf("of a saved file and one that was sent it says %q", said)
	}
	whole, err := os.ReadFile(saved)
	harness.Must(o.T, err)
	other := filepath.Join(o.T.TempDir(), filepath.Base(saved))
	harness.Must(o.T, os.WriteFile(other, append(whole, '\n'), 0o600))
	if r := o.Command("verify", o.Folder, other); r.Code != 1 || strings.Count(r.Stdout, "Exactly the document that was saved for “") != len(o.Files()) || strings.Count(r.Stdout, "this one is different") != 1 {
		o.T.Errorf("of the folder and a changed file it says %d %s %s", r.Code, r.Stdout, r.Stderr)
	}
}

// matches waits until the signed documents of a package were compared with what was sent, and checks the result. Other files
// are not compared.
func matches(o *harness.Office, p harness.Pack, want string) {
	o.T.Helper()
	type file struct {
		Kind string
		Sent struct{ State, Text string }
	}
	var shown struct{ Files []file }
	harness.EventuallyWithin(o.T, 2*harness.Patience, p.Name+" is compared", func() bool {
		shown.Files = nil
		harness.Must(o.T, json.Unmarshal([]byte(o.Must("show", p.ID, "--json")), &shown))
		return len(shown.Files) > 0 && !slices.ContainsFunc(shown.Files, func(f file) bool { return f.Sent.State == "" })
	})
	for _, f := range shown.Files {
		expected := want
		if f.Kind != "executed" {
			expected = "none"
		}
		if f.Sent.State != expected {
			o.T.Errorf("%s of %s: %+v, want %s", f.Kind, p.Name, f.Sent, expected)
		}
	}
}

func TestADocumentThatIsNotWhatWasSentIsToldOf(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	o.MustLogin()
	o.Serve()
	o.Registered()
	offer := sendOffer(o)
	other, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
	harness.Must(t, err)
	o.Service.Tell("POST", "/events/hold", nil, nil)
	o.Service.SignAll(offer.ID)
	o.Service.Tell("POST", "/downloads/replace", map[string]any{"package_id": offer.ID, "pdf": other}, nil)
	o.Service.Tell("POST", "/events/release", map[string]any{"order": "fifo"}, nil)
	o.Until("it is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	matches(o, offer, "changed")
	o.UntilWithin(2*harness.Patience, "people are told", func(s harness.Status) bool { return strings.Contains(s.Issue("seal"), "sealed or sent") })
}

// provenWithoutTheProgram checks a proof of a package as its report describes for anybody, with the commands it contains.
func provenWithoutTheProgram(o *harness.Office, p harness.Pack) {
	o.T.Helper()
	path, dir := filepath.Join(o.T.TempDir(), "proof.zip"), o.T.TempDir()
	o.Must("prove", p.ID, path)
	files, err := zip.OpenReader(path)
	if err != nil {
		o.T.Fatal(err)
	}
	defer files.Close()
	if err := os.CopyFS(dir, files); err != nil {
		o.T.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Proof.txt"))
	if err != nil {
		o.T.Fatal(err)
	}
	said := map[string]int{}
	for line := range strings.Lines(string(text)) {
		command, isOne := strings.CutPrefix(line, "    ")
		if !isOne {
			continue
		}
		cmd := exec.CommandContext(o.T.Context(), "sh", "-c", command)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			o.T.Errorf("%s: %v: %s", command, err, out)
		}
		for _, what := range []string{": OK", ".json: OK", "Signature is Valid", "Total document signed", "FAILED"} {
			said[what] += strings.Count(string(out), what)
		}
	}
	saved := 0
	for _, name := range o.Files() {
		if strings.HasPrefix(name, "Lease") {
			saved++
		}
	}
	if said[": OK"] < saved+len(p.Documents) || said[".json: OK"] < 10 || said["Signature is Valid"] != saved || said["Total document signed"] != saved || said["FAILED"] != 0 {
		o.T.Errorf("of %d saved files the commands said %v; the proof says\n%s", saved, said, text)
	}
}

// savedAsServed checks that the folder contains exactly the files that the service serves for the packages, byte for byte.
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

// quoted is a name as notifications show it: in quotation marks that no program interprets.
func quoted(name string) string { return "“" + name + "”" }

// toldOnce checks that people were notified once of every saved package, and at most once of every signature, separately or
// with the files. bare is for a service that does not say who signs.
func toldOnce(o *harness.Office, bare bool, packages ...harness.Pack) {
	o.T.Helper()
	defer func() {
		if o.T.Failed() {
			o.T.Logf("told was %q", o.Desk.Notes.List())
		}
	}()
	for _, p := range packages {
		everyone := "Everyone has signed " + quoted(p.Name) + "."
		is := func(n harness.Note) bool { return n.Title == everyone || n.Title == quoted(p.Name)+" is saved." }
		// The status may say that everything is saved before the last notification is shown.
		harness.Eventually(o.T, "told: "+everyone, func() bool { return slices.ContainsFunc(o.Desk.Notes.List(), is) })
		saved, signed := 0, map[string]int{} // number of documents, by signer
		for _, n := range o.Desk.Notes.List() {
			if n.App != "Countersign" {
				o.T.Errorf("the notification %q comes from %q", n.Title, n.App)
			}
			who, what, _ := strings.Cut(n.Title, " signed ")
			switch many := 1; {
			case is(n):
				saved++
				if last, _, named := strings.Cut(n.Body, " signed"); named {
					signed[last+" with the files"]++
				}
			case strings.HasSuffix(what, quoted(p.Name)+"."):
				fmt.Sscanf(what, "%d documents", &many)
				signed[who] += many
			}
		}
		if saved != 1 {
			o.T.Errorf("told %d times: %s", saved, everyone)
		}
		for _, s := range p.Signers {
			if n := signed[s.Name]; n > len(p.Documents) || n == 0 && signed[s.Name+" with the files"] == 0 && !bare {
				o.T.Errorf("told of %d of the %d signatures of %s: %v", n, len(p.Documents), s.Name, signed)
			}
		}
		if n := signed["Someone"]; n > len(p.Documents)*len(p.Signers) || n > 0 && !bare {
			o.T.Errorf("told of %d signatures of someone", n)
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

// keepsSecrets checks that the data folder contains no readable secret.
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

// TestPeopleGetCopiesAndLinks sends with copies, including the default recipients, and prints a signing link, which must not
// be stored anywhere.
func TestPeopleGetCopiesAndLinks(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready("--copy-to", "Office <office@example.com>; jan.weber@example.com")

	if r := o.Command("send", harness.Sample(t, "Lease Sonnenweg 4"), "--to", "Ana Ruiz <ana.ruiz@example.com>", "--cc", "ANA.RUIZ@example.com"); r.Code != 1 ||
		!strings.Contains(r.Stderr, "signs this package and cannot also get a copy") || len(o.Service.Packages()) != 0 {
		t.Errorf("a copy for a signer: %+v", r)
	}
	o.Must("send", harness.Sample(t, "Lease Sonnenweg 4"), "--name", "Lease", "--sequential", "--to", "Jan Weber <jan.weber@example.com>",
		"--to", "Ana Ruiz <ana.ruiz@example.com>", "--cc", "Eva Klein <eva@example.com>", "--bcc", "boss@example.com")
	lease := o.Service.Named("Lease")
	var copies []string
	for _, r := range lease.Recipients {
		copies = append(copies, r.Type+" "+r.Email)
	}
	if want := []string{"CC eva@example.com", "BCC boss@example.com", "CC office@example.com"}; !slices.Equal(copies, want) {
		t.Errorf("the service got %q", copies)
	}

	link := strings.TrimSpace(o.Must("link", lease.ID, "jan.weber@example.com"))
	if link != lease.Signers[0].Page {
		t.Errorf("the link is %q, want %q", link, lease.Signers[0].Page)
	}
	o.Stop()
	token := []byte(link[strings.LastIndex(link, "/")+1:])
	harness.Must(t, filepath.WalkDir(o.Data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, token) {
			t.Errorf("%s holds the link", e.Name())
		}
		return err
	}))
}

// The process that reads documents gets no environment; without a home it cannot use the compiled PDFium.
func TestADocumentIsReadWithoutAnEnvironment(t *testing.T) {
	t.Parallel()
	document, err := os.Open(harness.Sample(t, "Offer 2026-118"))
	harness.Must(t, err)
	defer document.Close()
	read := exec.CommandContext(t.Context(), harness.Program, "page", "0")
	read.Env, read.Stdin = []string{}, document
	out, err := read.Output()
	if want := []byte("R\x01\x00\x00\x00\x01\x00\x00\x00"); err != nil || !bytes.HasPrefix(out, want) {
		t.Errorf("it said %q, %v; want that it was read and has one page", out, err)
	}
}

// hostileNames are names that people, or a service, may give to a package, a signer or a document to do harm. TRAP is
// replaced by a file that a shell would create.
var hostileNames = []string{
	"$(touch TRAP)", "`touch TRAP`", "; touch TRAP #", "| touch TRAP", `"; touch TRAP; "`, `'; touch TRAP; '`, "%PATH% $HOME ${HOME} $env:HOME",
	"<b>bold</b> <img src=x onerror=alert(1)> &amp; &lt;", "]]><script>x</script>", `" onmouseover="x`, `\" \n \\ \u0041`,
	"one\ntwo\r\nthree\tfour", "\x1b[31mred\x1b[0m \x07\x08\x7f\u0085\u2028\u2029", "\u202efdp.exe\u202c \u2066a\u2069 \u200f\u200e\u200b\ufeff",
	"../../../../TRAP", `..\..\TRAP`, "/etc/passwd", `C:\Windows\x`, "CON", "nul.pdf", ".hidden", "trailing. . .", "-rf", "~root", "a:b*c?d|e",
	"e\u0301\u0301\u0301\u0301 \U0001F1E9\U0001F1EA \U000E0041\U000E0042 \uFFF9a\uFFFB", strings.Repeat("A", 10000), strings.Repeat("\u0416\u0301", 5000),
	"{package} {document} {date} %s %d %n", "=HYPERLINK(\"http://x\")", "\u2018\u2019\u201c\u201d\u00b4",
}

func TestHostileNamesAreShownHarmlessly(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	desk.Notes.ReadMarkup()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	o.Setup("--name-template", "{package}/{document} by {signer}")
	o.Open()
	icon := tray.Item()
	o.MustLogin()
	o.Registered()

	trap := filepath.Join(harness.ShortDir(t), "trap")
	sent := 0
	for i, name := range hostileNames {
		if sendAs(o, i, strings.ReplaceAll(name, "TRAP", trap)) {
			sent++
		}
	}
	if sent < len(hostileNames)*3/4 {
		t.Errorf("only %d of %d names could be sent at all", sent, len(hostileNames))
	}
	harness.Suffered.Add(harness.Hostile, len(hostileNames))
	for _, label := range icon.Labels() {
		harmless(t, "the tray's menu", label, 200)
	}
	for _, p := range o.Service.Packages() {
		o.Service.SignAll(p.ID)
	}
	n := len(o.Service.Packages())
	o.Until("every package is saved", func(s harness.Status) bool { return s.Packages.Saved == n && s.Saves.Failed == 0 })
	harness.Eventually(t, "people are told", func() bool { return len(desk.Notes.List()) > 0 })
	leavesAQuestion(o, "$(touch "+trap+")\x1b[2J<b>\u202e"+strings.Repeat("B", 150))
	for _, label := range append(icon.Labels(), icon.Title()) {
		harmless(t, "the tray's menu", label, 200)
	}
	o.Stop()

	isHarmless(o)
	if _, err := os.Stat(trap); err == nil {
		t.Error("a name was run by a shell")
	}
}

// sendAs sends a package in which everything has this name, and reports whether it was accepted.
func sendAs(o *harness.Office, n int, name string) bool {
	o.T.Helper()
	b, err := os.ReadFile(harness.Sample(o.T, "Offer 2026-118"))
	harness.Must(o.T, err)
	base := strings.NewReplacer("/", "", "\x00", "").Replace(name)
	for len(base) > 200 {
		base = string([]rune(base)[:len([]rune(base))/2])
	}
	file := filepath.Join(harness.ShortDir(o.T), base+".pdf")
	harness.Must(o.T, os.WriteFile(file, b, 0o600))
	to := mail.Address{Name: name, Address: fmt.Sprintf("signer%d@example.com", n)}
	r := o.Command("send", file, "--name="+name, "--to="+to.String(), "--message="+name)
	if r.Code != 0 {
		o.T.Logf("%.40q is not sent: %s", name, r.Stderr)
		harmless(o.T, "what send says", strings.TrimSpace(r.Stderr), 1000)
	}
	return r.Code == 0
}

// leavesAQuestion makes the service lose the answer about a package with this name, so that health and the notifications
// mention it.
func leavesAQuestion(o *harness.Office, name string) {
	o.T.Helper()
	o.Service.Tell("POST", "/events/hold", nil, nil)
	o.Service.Misbehave(map[string]any{"path": "/packages/list", "status": 404})
	o.Service.Misbehave(map[string]any{"path": "/packages/add", "drop": true, "times": 1})
	r := o.Command("send", harness.Sample(o.T, "Offer 2026-118"), "--name", name, "--to", ana)
	if r.Code != 1 {
		o.T.Errorf("a lost answer: %+v", r)
	}
	harmless(o.T, "what send says", strings.TrimSpace(r.Stderr), 600)
	text := o.Must("status")
	for line := range strings.Lines(text) {
		harmless(o.T, "status", strings.TrimSpace(line), 1000)
	}
	for _, i := range o.Status().Health {
		harmless(o.T, "the health of status --json", i.Text, 600)
	}
}

// variant is a service or an office that differs from the usual one.
type variant struct {
	name    string
	service harness.ServiceOptions
	path    string   // of the public address
	base    string   // appended to the service's address for --base-url
	setup   []string // flags for setup
	keyFile bool
	disturb map[string]any // how events are delivered
	bare    bool           // the service says only what interface.md shows
}

// Each variant differs in several ways, and no two in the same one.
var variants = []variant{
	{name: "exactly interface.md, no discovery, the API under its prefix alone", bare: true, base: "/api/v1/", keyFile: true,
		service: harness.ServiceOptions{Flags: []string{"--bare", "--no-discovery", "--only-api-prefix"}}},
	{name: "the API without its prefix, a secret with odd characters, a public address with a path, tokens of three seconds",
		service: harness.ServiceOptions{Flags: []string{"--no-api-prefix", "--token-lifetime", "3s"}, Prefix: "none", Secret: `a+b/c=d&e%f g:ü"4711`},
		path:    "/hooks/Signing"},
	{name: "another header for the signature, events twice and out of order", disturb: map[string]any{"duplicate": 1, "reorder": true},
		service: harness.ServiceOptions{Flags: []string{"--signature-header", "X-Signed-By-Me"}}, setup: []string{"--signature-header", "X-Signed-By-Me"}},
}

// TestTheWholeJobWithServicesAndOfficesOfAllKinds runs the main job with each variant.
func TestTheWholeJobWithServicesAndOfficesOfAllKinds(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			playVariant(t, v)
		})
	}
}

func playVariant(t testing.TB, v variant) {
	desk := harness.NewDesktop(t)
	f := harness.NewFront(t)
	v.service.Redirects = []string{f.URL + v.path + "/oauth/callback"}
	v.service.Flags = append([]string{"--trust", f.Authority.File}, v.service.Flags...)
	s := harness.StartService(t, desk.Env(), v.service)
	o := harness.NewOffice(t, desk, s, f)
	if v.keyFile {
		o.Global = append(o.Global, "--key-file", filepath.Join(filepath.Dir(o.Data), "key"))
	}
	if v.disturb != nil {
		s.Tell("POST", "/events/disturb", v.disturb, nil)
	}
	o.Ready(append([]string{"--base-url", s.URL + v.base, "--public-url", f.URL + v.path}, v.setup...)...)
	lease, offer := sendLease(o), sendOffer(o)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	o.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	savedAsServed(o, lease, offer)
	toldOnce(o, v.bare, lease, offer)
	statusIsRight(o, f.URL+v.path)
	if v.keyFile {
		if labels := desk.KeyringItems(); len(labels) != 0 {
			t.Errorf("with a key file, the keyring holds %q", labels)
		}
		info, err := os.Stat(filepath.Join(filepath.Dir(o.Data), "key"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file: %v, %v", info, err)
		}
	}
	o.Stop()
	keepsSecrets(o)
}

// TestCommandsWorkWithoutARunningProgram sets up, signs in and sends with nothing running, lets people sign meanwhile, and
// expects the next start to catch up.
func TestCommandsWorkWithoutARunningProgram(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	s := o.Service
	o.Setup()
	o.MustLogin()
	if s := o.Status(); !s.SignedIn || s.Account.Email != harness.Olivia {
		t.Errorf("after the sign-in: %+v", s)
	}
	lease, offer := sendLease(o), sendOffer(o)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	if s := o.Status(); s.Packages.Total != 2 || s.Packages.Saved != 0 {
		t.Errorf("before the start: %+v", s)
	}
	o.Serve()
	o.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	savedAsServed(o, lease, offer)
	o.Stop()

	if s := o.Status(); s.Packages.Saved != 2 || s.Saves.Done != 8 || s.Endpoint.ID == "" {
		t.Errorf("after the stop: %+v", s)
	}
	o.Must("logout")
	if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" {
		t.Errorf("after the sign-out: %+v", s)
	}
	if urls := s.Endpoints(); len(urls) != 0 {
		t.Errorf("after the sign-out the service still reports events to %s", urls)
	}
	if r := o.Command("send", harness.Sample(t, "Offer 2026-118"), "--to", "a@example.com"); r.Code != 1 || !strings.Contains(r.Stderr, "Nobody is signed in") {
		t.Errorf("signed out, send ended with %d: %s", r.Code, r.Stderr)
	}
}

// TestPackagesAreWithdrawnByCommand withdraws packages with and without a running program.
func TestPackagesAreWithdrawnByCommand(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready()
	offer := harness.Sample(t, "Offer 2026-118")
	send := func(name string) harness.Pack {
		o.Must("send", offer, "--name", name, "--to", "Ana Ruiz <ana@example.com>")
		return o.Service.Named(name)
	}
	want := func(id, state string, told int) {
		t.Helper()
		for _, p := range o.Service.Packages() {
			if p.ID == id && (p.State != state || len(p.Notified) != told) {
				t.Errorf("%s is %s, and its people were told %q", p.Name, p.State, p.Notified)
			}
		}
	}

	beside, signed := send("Beside"), send("Signed")
	if out := o.Must("withdraw", beside.ID, "--message", "The rent was wrong."); strings.TrimSpace(out) != "Withdrawn. Package "+beside.ID {
		t.Errorf("withdraw printed %q", out)
	}
	want(beside.ID, "rescinded", 1)

	kept := send("Kept")
	if r := o.Command("withdraw", kept.ID, "nobody's"); r.Code != 1 || !strings.Contains(r.Stderr, `There is no package "nobody's".`) {
		t.Errorf("withdraw of an unknown package ended with %d: %s", r.Code, r.Stderr)
	}
	want(kept.ID, "open", 0) // one unknown word prevents all withdrawals

	o.Service.SignAll(signed.ID)
	r := o.Command("withdraw", "--json", beside.ID, signed.ID)
	var said struct {
		Packages []struct {
			ID    string `json:"id"`
			State string `json:"state"`
			Text  string `json:"problem"`
		} `json:"packages"`
	}
	harness.Must(t, json.Unmarshal([]byte(r.Stdout), &said))
	var states []string
	for _, p := range said.Packages {
		states = append(states, p.State)
	}
	if got := strings.Join(states, " "); r.Code != 1 || got != "done late" || !strings.Contains(said.Packages[1].Text, "completed") {
		t.Errorf("withdraw ended with %d and said %s", r.Code, r.Stdout)
	}
	o.Until("what was signed is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })

	alone := send("Alone")
	o.Stop()
	o.Must("withdraw", alone.Name, "--quiet") // without a running program
	want(alone.ID, "rescinded", 0)
}

// ana signs most of the tests' packages.
const ana = "Ana Ruiz <ana.ruiz@example.com>"

// TestManySendsAtOnceAreEachSentOnce sends from many processes at once, with and without a running program: each is told the
// truth, and no package exists twice.
func TestManySendsAtOnceAreEachSentOnce(t *testing.T) {
	t.Parallel()
	const each = 8
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready()

	// The running program sends for all of them, with a single renewal.
	asked := tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "beside", each)
	if n := tokens(o) - asked; n != 1 {
		t.Errorf("beside the program %d tokens were asked for, want one for all", n)
	}
	o.Stop()

	// Access tokens are never stored; whichever process sends renews once for all it serves.
	asked = tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "alone", each)
	if n := tokens(o) - asked; n < 1 || n > each {
		t.Errorf("alone %d tokens were asked for by %d processes", n, each)
	}

	// Started at the same time as the program, they find it, wait for it or make it wait.
	asked = tokens(o)
	o.Running = o.Begin("serve")
	sendsAtOnce(o, "starting", each)
	o.Answers()
	st := o.Until("all are known", func(s harness.Status) bool { return s.Packages.Total == 3*each })
	if !st.SignedIn || st.Outbox != (struct{ Pending, Unknown, Failed int }{}) {
		t.Errorf("at the end: %+v", st)
	}
	if n := tokens(o) - asked; n < 1 || n > each+1 {
		t.Errorf("with the program starting %d tokens were asked for by %d processes", n, each+1)
	}
}

// tokens counts the requests for tokens at the service.
func tokens(o *harness.Office) int { return len(o.Service.Requests("/connect/token")) }

func sendsAtOnce(o *harness.Office, how string, n int) {
	o.T.Helper()
	var all []*harness.Process
	for i := range n {
		all = append(all, o.Begin("send", harness.Sample(o.T, "Offer 2026-118"), "--name", fmt.Sprintf("%s %d", how, i), "--to", ana))
	}
	for i, p := range all {
		name := fmt.Sprintf("%s %d", how, i)
		if code := p.Wait(); code != 0 {
			o.T.Errorf("%s ended with %d: %s", name, code, p.Stderr)
			continue
		}
		if id := o.Service.Named(name).ID; strings.TrimSpace(p.Stdout.String()) != "Sent. Package "+id {
			o.T.Errorf("%s says %q, and is %s", name, p.Stdout, id)
		}
	}
	if made := len(o.Service.Packages()); made%n != 0 {
		o.T.Errorf("after %s the service has %d packages", how, made)
	}
}
