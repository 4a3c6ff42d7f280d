package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/assets"
	"countersign/internal/agent/account"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/safe"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

var noErr, expect = trytest.NoErr, trytest.Expect

// TestMain is the reader of documents as well, see readDocuments.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "page" {
		if err := preview.Serve(context.Background(), os.Stdin, os.Stdout, os.Args[2]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	safe.Work = 1
	flag.Set("test.parallel", "8") // what runs beside others mostly waits; the command line may say otherwise
	goleak.VerifyTestMain(m,
		// ngrok's SDK looks at a session that was closed only when the next heartbeat is due, see package tunnel.
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).requester"))
}

// readDocuments has this program read documents.
func readDocuments(p *Params) { p.DocumentReader = []string{os.Args[0], "page"} }

// testOffice is an agent with a whole signing service as its counterpart.
type testOffice struct {
	*Agent
	t       *testing.T
	service *sandbox.Server
	keeper  secret.Keeper
	data    string
	folder  string
	stop    func()
	adjust  func(*Params) // nil for Params as they are

	mu   sync.Mutex
	told []string
}

// patience is how long anything that should happen soon may take on a busy machine. It is shorter than the minute after which
// the agent looks by itself, so that a hint that is lost is noticed.
const patience = 50 * time.Second

// quick makes the agent try again at once.
func quick(p *Params) {
	p.Pace = loop.Pace{Retry: 10 * time.Millisecond, Folder: 10 * time.Millisecond, Statuses: 1000}
}

// shortKey is of how many bits the key of a service is: to make a usual one took more than half of the processor's time.
const shortKey = 1024

// newOffice starts a service and an agent that is set up for it, signed in and registered.
func newOffice(t *testing.T, service sandbox.Options, settings ...func(*office.Settings)) *testOffice {
	t.Helper()
	return newOfficeWith(t, nil, service, settings...)
}

// newOfficeWith is newOffice with other Params.
func newOfficeWith(t *testing.T, adjust func(*Params), service sandbox.Options, settings ...func(*office.Settings)) *testOffice {
	t.Helper()
	o := &testOffice{t: t, keeper: secret.Memory(), data: t.TempDir(), folder: t.TempDir(), adjust: adjust}
	o.open()
	cert, err := o.LocalhostCertificate()
	noErr(t, err)
	service.AutoConsent = true
	service.Delivery = sandbox.DeliveryOptions{CAs: x509.NewCertPool(), RetryFirst: 50 * time.Millisecond}
	service.Delivery.CAs.AddCert(cert)
	service.KeyBits = shortKey
	client := sandbox.DemoClient()
	service.Clients = []sandbox.Client{client}
	if o.service, err = sandbox.Start(service); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.service.Close() })
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = o.service.URL(), o.service.URL(), client.ID
	s.Tunnel, s.Redirect, s.SaveTo = office.TunnelLoopback, office.RedirectLoopback, o.folder
	for _, set := range settings {
		set(&s)
	}
	noErr(t, o.Configure(t.Context(), s, office.Secrets{ClientSecret: client.Secret}))
	o.run()
	t.Cleanup(func() { o.stop() })
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	if s.Tunnel != office.TunnelNone {
		o.registered()
	}
	return o
}

// registered waits until the endpoint is.
func (o *testOffice) registered() {
	o.t.Helper()
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
}

// visit plays the browser.
func visit(address string) error {
	go func() {
		client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		if resp, err := client.Get(address); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	return nil
}

func (o *testOffice) open() {
	o.t.Helper()
	p := Params{
		DataDir: o.data, Keeper: o.keeper, Version: "test", Jitter: func() float64 { return 0 },
		Desktop: Desktop{Notify: func(n office.Notice) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.told = append(o.told, n.Title+" "+n.Body)
			return nil
		}},
	}
	if o.adjust != nil {
		o.adjust(&p)
	}
	a := must(Open(o.t.Context(), p))
	o.Agent = a
	o.stop = func() { a.Close() }
}

// run runs the agent until stop, which may be called more than once.
func (o *testOffice) run() {
	o.stop = sync.OnceFunc(runUntil(o.t, o.Agent))
}

// restart ends the agent and starts another one on the same data.
func (o *testOffice) restart() {
	o.t.Helper()
	o.stop()
	o.open()
	o.run()
}

// eventually waits until ok, looking again whenever the agent says that something changed.
func (o *testOffice) eventually(what string, ok func() bool) {
	o.t.Helper()
	waitFor(o.t, o.Agent, what, ok)
}

func waitFor(t *testing.T, a *Agent, what string, ok func() bool) {
	t.Helper()
	changes, stop := a.Watch()
	defer stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	look := time.NewTicker(50 * time.Millisecond) // the service changes too, and it does not say so
	defer look.Stop()
	for !ok() {
		select {
		case <-changes:
		case <-look.C:
		case <-limit.C:
			t.Fatalf("never: %s\nstatus: %+v\nactivity: %+v", what, must(a.Status()), must(a.Activity(20)))
		}
	}
}

// sample writes a sample document and returns its path.
func (o *testOffice) sample() string {
	o.t.Helper()
	src := must(assets.Samples().Open("Offer 2026-118.pdf"))
	defer src.Close()
	b := must(io.ReadAll(src))
	path := filepath.Join(o.t.TempDir(), "Offer 2026-118.pdf")
	noErr(o.t, os.WriteFile(path, b, 0o600))
	return path
}

// draft is one document for Ana and Jan, in sequence.
func (o *testOffice) draft() office.NewPackage {
	return office.NewPackage{
		Name: "Offer", Files: []string{o.sample()}, Sequential: true,
		Signers: []office.Signer{
			{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"},
			{FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"},
		},
	}
}

// send sends the draft and returns its package.
func (o *testOffice) send() (packageID string) {
	o.t.Helper()
	o.registered()
	state, err := o.Send(o.t.Context(), o.draft(), nil)
	if err != nil || state.State != office.DraftSent {
		o.t.Fatalf("send: %+v, %v", state, err)
	}
	return state.PackageID
}

func (o *testOffice) signAll(id string) {
	o.t.Helper()
	noErr(o.t, o.service.SignAll(id))
}

// hasSaved waits until so many packages are saved.
func (o *testOffice) hasSaved(n int) {
	o.t.Helper()
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == n })
}

// sendSigned sends the draft and has it signed and saved.
func (o *testOffice) sendSigned() {
	o.t.Helper()
	o.signAll(o.send())
	o.hasSaved(1)
}

func (o *testOffice) notifications() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.told...)
}

// count is how many notifications hold text.
func (o *testOffice) count(text string) (n int) {
	for _, s := range o.notifications() {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

func (o *testOffice) issue(id string) *Issue {
	for _, i := range o.Status().Health {
		if i.ID == id {
			return &i
		}
	}
	return nil
}

func (o *testOffice) files() (names []string) {
	o.t.Helper()
	entries := must(os.ReadDir(o.folder))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// kept are the names of the copies in the data folder.
func (o *testOffice) kept() (names []string) {
	o.t.Helper()
	entries, err := os.ReadDir(locations.Outbox(o.data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}

// What can be read now, for tests in which everything can.

func (o *testOffice) Status() Status { return must(o.Agent.Status()) }

func (o *testOffice) Activity(limit int) []office.Activity { return must(o.Agent.Activity(limit)) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// openSignedIn opens an agent without a tunnel, which was signed in before at the service at that address.
func openSignedIn(t testing.TB, p Params, service string, also map[issuer.Sealed]string) *Agent {
	t.Helper()
	if p.Keeper == nil {
		p.DataDir, p.Keeper = t.TempDir(), secret.Memory()
	}
	a := must(Open(t.Context(), p))
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = service, service, "office"
	s.Tunnel, s.Redirect, s.RedirectURI, s.SaveTo = office.TunnelNone, office.RedirectPaste, "https://localhost/oauth/callback", t.TempDir()
	acc := account.Record{SignedIn: true, Since: time.Now(), Scopes: []string{"organization"}}
	acc.Email = "olivia@example.com"
	here := issuer.Of(s)
	kept := map[string][]byte{issuer.Refresh.Of(here): []byte("r")}
	for name, value := range also {
		kept[name.Of(here)] = []byte(value)
	}
	noErr(t, a.account.Vault().Put(kept, func(tx *store.Tx) error { return tx.PutDoc(account.DocOf(here), acc) }))
	noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"}))
	return a
}

// runUntil runs an agent until it is ended and closed.
func runUntil(t testing.TB, a *Agent) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A line is refused, and a person corrects it and sends it from the outbox.
func TestALineThatWasCorrectedInTheOutboxIsSentAndNotAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	common := office.NewPackage{Name: "Offer", Files: []string{o.sample()}}
	list := func(email string) office.BulkList {
		rows := []office.ListRow{{Line: 1, Cells: []string{"E-mail"}}, {Line: 2, Cells: []string{email}}}
		return office.ReadList("people.csv", rows, common, must(o.outbox.Sums(t.Context(), common)), time.Now(), "")
	}
	o.service.Inject(sandbox.Fault{Path: "/packages/add", Status: 422, Times: 2})
	id := must(o.SendList(t.Context(), list("eva@example.com"), false, 0))
	now := func() (p office.BulkProgress, line office.BulkResult) {
		p, lines, _, err := o.SentList(id)
		noErr(t, err)
		return p, lines[0]
	}
	o.eventually("the line is refused", func() bool { p, _ := now(); return p.Wrong == 1 })
	line := must(o.Drafts())[0].ID
	for _, email := range []string{"eva@example.net", "Eva@example.org"} { // the first correction is refused, too
		d, _, err := o.Again(t.Context(), line)
		noErr(t, err)
		d.Signers[0].Email, d.Replaces = email, []string{line}
		line = must(o.Send(t.Context(), d, nil)).DraftID
	}
	if p, sent := now(); p.Sent != 1 || p.Wrong != 0 || sent.State != office.DraftSent || sent.PackageID == "" {
		t.Errorf("its list says: %+v, %+v", p, sent)
	}
	for _, email := range []string{"eva@example.com", "eva@example.org"} { // in the list, too, it is corrected or not
		if _, err := o.SendList(t.Context(), list(email), false, 0); message.For(err) != message.ListSentMeanwhile("people.csv") {
			t.Errorf("%s gets another package: %v", email, err)
		}
	}
}
