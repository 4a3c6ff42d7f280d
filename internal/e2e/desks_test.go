//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"

	"github.com/godbus/dbus/v5"
)

// invited is a new computer that accepts the hub's invitation.
func invited(hub *harness.Office, at, name string) *harness.Office {
	file := filepath.Join(harness.ShortDir(hub.T), name+".countersign")
	hub.Must("desks", "invite", name, "--to", file, "--servers", at)
	return joined(hub, "--import", file)
}

// byCode is the same with a code.
func byCode(hub *harness.Office, at, name string) *harness.Office {
	hub.T.Helper()
	offer := hub.Begin("desks", "invite", name, "--servers", at)
	d := joined(hub, "--code", offer.Line(""), "--hub", at)
	if code := offer.Wait(); code != 0 {
		hub.T.Errorf("the offer ended with %d", code)
	}
	return d
}

func joined(hub *harness.Office, with ...string) *harness.Office {
	t := hub.T
	t.Helper()
	d := harness.NewOffice(t, harness.NewDesktop(t), hub.Service, nil)
	d.Must("setup", append(with, "--save-to", d.Folder, "--redirect", "loopback", "--redirect-uri", "")...)
	d.Serve()
	d.MustLogin()
	return d
}

// newHub is an office whose computer is a hub.
func newHub(t *testing.T) (hub *harness.Office, at string) {
	f := harness.NewFront(t)
	at = harness.FreeAddress(t)
	desk := harness.NewDesktop(t)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
		Redirects: []string{f.URL + "/oauth/callback", "http://127.0.0.1/oauth/callback"}, Flags: []string{"--trust", f.Authority.File},
	})
	hub = harness.NewOffice(t, desk, s, f)
	hub.Ready("--office-listen", at)
	return hub, at
}

func TestSeveralDesksOfOneOffice(t *testing.T) {
	t.Parallel()
	hub, at := newHub(t)
	one, two := invited(hub, at, "Reception"), byCode(hub, at, "Accounts")
	all := []*harness.Office{hub, one, two}
	everywhere := func(what string, saved int) {
		t.Helper()
		received := hub.Until(what+" at the hub", func(s harness.Status) bool { return s.Packages.Saved == saved && s.Events.Pending == 0 }).Events.Received
		for _, o := range all[1:] {
			o.Until(what+" at a desk", func(s harness.Status) bool { return s.Packages.Saved == saved && s.Events.Received == received })
		}
	}
	for _, o := range all[1:] {
		o.Until("the desk hears", func(s harness.Status) bool { return s.Issue("hub") == "" })
	}

	lease := sendLease(hub)
	hub.Service.SignAll(lease.ID)
	everywhere("the lease", 1)
	for _, o := range all {
		toldOnce(o, false, lease)
	}

	one.Running.Kill() // in the middle of whatever it is doing
	offer := sendOffer(two)
	hub.Service.SignAll(offer.ID)
	hub.Running.Kill()
	old := filepath.Join(harness.ShortDir(t), "old")
	harness.Must(t, errors.Join(os.RemoveAll(filepath.Join(hub.Data, "control.sock")), os.CopyFS(old, os.DirFS(hub.Data))))
	two.Until("the hub is missed", func(s harness.Status) bool { return s.Issue("hub") != "" })
	hub.Serve()
	one.Serve()
	everywhere("the offer", 2)
	two.Until("the hub is back", func(s harness.Status) bool { return s.Issue("hub") == "" })
	for _, o := range all {
		savedAsServed(o, lease, offer)
		toldOnce(o, false, lease) // still only once
	}
	toldOnce(two, false, offer) // the others were killed, perhaps while announcing it

	next := sendPlain(one, "Next")
	hub.Service.SignAll(next.ID)
	everywhere("the next", 3)
	hub.Running.Kill()
	harness.Must(t, errors.Join(os.RemoveAll(hub.Data), os.Rename(old, hub.Data))) // with an old stream: the desks have read further
	hub.Serve()
	hub.MustLogin() // its refresh token has been used since
	after := sendPlain(two, "After")
	hub.Service.SignAll(after.ID)
	for _, o := range all {
		o.Until("the one after", func(s harness.Status) bool { return s.Packages.Saved == 4 && s.Events.Pending == 0 })
		savedAsServed(o, lease, offer, next, after)
		toldOnce(o, false, lease, after)
	}
	toldOnce(one, false, next)
	toldOnce(two, false, offer, next)

	var listed struct {
		Desks []struct {
			Name, Person string
			Connected    bool
			Waiting      int
			Seen         time.Time
		}
	}
	harness.Eventually(t, "the desks have acknowledged what they stored", func() bool {
		harness.Must(t, json.Unmarshal([]byte(hub.Must("desks", "list", "--json")), &listed))
		return len(listed.Desks) == 2 && listed.Desks[1].Waiting == 0
	})
	if listed.Desks[0].Person != harness.Olivia || !listed.Desks[0].Connected {
		t.Errorf("%+v", listed)
	}
	hub.Must("desks", "remove", "Accounts")
	two.Until("it was removed", func(s harness.Status) bool { return strings.Contains(s.Issue("hub"), "does not know this one") })
	had := two.Status().Events.Received
	last := sendPlain(hub, "Last")
	hub.Service.SignAll(last.ID)
	hub.Until("the last", func(s harness.Status) bool { return s.Packages.Saved == 5 })
	one.Until("the last", func(s harness.Status) bool { return s.Packages.Saved == 5 })
	if got := two.Status().Events.Received; got != had {
		t.Errorf("a desk that was removed got %d events", got-had)
	}
	for _, o := range all {
		o.Stop()
	}
}

func sendPlain(o *harness.Office, name string) harness.Pack {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", name, "--to", "Ana Ruiz <ana.ruiz@example.com>")
	return o.Service.Named(name)
}

// TestAListIsSentOnce sends a list in German Excel's format while the program is killed, and sends it again: unchanged, and
// changed.
func TestAListIsSentOnce(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready()
	path := filepath.Join(t.TempDir(), "Mieter.csv")
	write := func(lines ...string) {
		harness.Must(t, os.WriteFile(path, []byte("Vorname;Name;E-Mail;Frist;Wohnung\r\n"+strings.Join(lines, "\r\n")+"\r\n"), 0o600))
	}
	send := func(more ...string) harness.Result {
		return o.Command("send", append([]string{harness.Sample(t, "Lease Sonnenweg 4"), "--list", path, "--name", "Lease {Wohnung}",
			"--message", "Dear {vorname}, as agreed."}, more...)...)
	}
	const zoe = "Zo\xeb;M\xfcller;zoe@example.com;31.12.2031;Stra\xdfe 4" // Windows-1252
	write(zoe, "Ana;Ruiz;ana@;31.12.2031;Weg 1")
	if r := send(); r.Code != 1 || !strings.Contains(r.Stdout, "line 3, E-Mail: The e-mail address is missing or incomplete: “Ana Ruiz”.") ||
		!strings.Contains(r.Stderr, "Nothing was sent") || len(o.Service.Packages()) != 0 {
		t.Fatalf("of a wrong cell: %+v", r)
	}

	lines := []string{zoe}
	for i := range 11 {
		lines = append(lines, fmt.Sprintf("Ana;Ruiz;ana%d@example.com;31.12.2031;Weg %d", i, i))
	}
	write(lines...)
	o.Service.Misbehave(map[string]any{"path": "/files/upload", "delay_ms": 150, "times": 40})
	p := o.Begin("send", harness.Sample(t, "Lease Sonnenweg 4"), "--list", path, "--name", "Lease {Wohnung}", "--message", "Dear {vorname}, as agreed.")
	harness.Eventually(t, "some are sent", func() bool { return len(o.Service.Packages()) > 3 })
	o.Running.Kill()
	p.Wait()
	o.Serve()
	sent := func(n int) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("%d are sent, or unknown", n), func() bool {
			s := o.Status()
			return len(o.Service.Packages()) >= n-s.Outbox.Unknown && s.Outbox.Pending == 0 && strings.Contains(o.Must("lists"), " done ")
		})
	}
	sent(12)
	if first := o.Service.Named("Lease Straße 4"); first.Signers[0].Name != "Zoë Müller" {
		t.Errorf("the first line became %+v", first)
	}
	seen := map[string]bool{}
	for _, x := range o.Service.Packages() {
		if seen[x.Name] {
			t.Errorf("%q was sent twice", x.Name)
		}
		seen[x.Name] = true
	}
	if r := send(); r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to send") {
		t.Errorf("the same list again: %+v", r)
	}
	lines[3] = strings.Replace(lines[3], "Weg 2", "Weg 2 a", 1)
	write(append([]string{"Eva;Klein;eva@example.com;31.12.2031;Weg 99"}, lines...)...)
	if r := send(); r.Code != 0 || !strings.Contains(r.Stdout, "12 lines were sent before") || !strings.Contains(r.Stdout, "Sent 1 of 1 packages") {
		t.Errorf("a changed list: %+v", r)
	}
	id := strings.Fields(o.Must("lists"))[0]
	results := filepath.Join(t.TempDir(), "results.csv")
	o.Must("lists", id, "--csv", results)
	if b, err := os.ReadFile(results); err != nil || !strings.Contains(string(b), "eva@example.com,31.12.2031,Weg 99,2,Lease Weg 99,sent,,") {
		t.Errorf("the results are %s (%v)", b, err)
	}

	harness.Must(t, os.WriteFile(path, bomb(t), 0o600))
	if r := send(); r.Code != 1 || !strings.Contains(r.Stderr, "Mieter.csv") {
		t.Errorf("a bomb: %+v", r)
	}
}

// bomb is an XLSX of some KB that unpacks to a gigabyte.
func bomb(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"} {
		w, err := z.Create(name)
		harness.Must(t, err)
		for range 1 << 10 / 3 {
			_, err = w.Write(bytes.Repeat([]byte(" "), 1<<20))
			harness.Must(t, err)
		}
	}
	harness.Must(t, z.Close())
	return b.Bytes()
}

// TestAnOfficeMovesToAnotherComputer moves an office from one data folder to another, with an open package and the same
// public address.
func TestAnOfficeMovesToAnotherComputer(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	old := harness.UsualOffice(t, desk)
	old.More = []string{"COUNTERSIGN_PASSWORD=correct horse battery"}
	old.Ready()
	lease, offer := sendLease(old), sendOffer(old)
	old.Service.SignAll(lease.ID)
	old.Until("one package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	files := old.Files()

	file := filepath.Join(harness.ShortDir(t), "Office moving.countersign")
	old.Must("move", "--out", file, "--yes")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	old.Until("the old computer says so", func(s harness.Status) bool { return s.Issue("moved") != "" })
	if r := old.Command("send", harness.Sample(t, "Offer 2026-118"), "--to", "Ana Ruiz <ana.ruiz@example.com>"); r.Code != 1 {
		t.Errorf("the old computer sends: %+v", r)
	}

	now := harness.NewOffice(t, desk, old.Service, old.Front)
	now.More, now.Folder = old.More, old.Folder
	now.Serve()
	into := func(path string, more ...string) []string {
		return append([]string{"--in", path, "--save-to", now.Folder}, more...)
	}
	if r := now.Command("move", into(filepath.Join(old.Data, "office.json"), "--yes")...); r.Code != 1 || !strings.Contains(r.Stderr, "was not made by Countersign") {
		t.Errorf("%+v", r)
	}
	if r := now.Command("move", "--in", file, "--yes"); r.Code != 2 {
		t.Errorf("without a folder: %+v", r)
	}
	r := now.Command("move", into(file)...)
	_, host, _ := strings.Cut(old.Service.URL, "://")
	if r.Code != 1 || !strings.Contains(r.Stdout, host) || !strings.Contains(r.Stdout, old.Folder) || !strings.Contains(r.Stderr, "Nothing was brought over") || now.Status().Packages.Total != 0 {
		t.Errorf("nobody has agreed: %+v", r)
	}
	now.Must("move", into(file, "--yes")...)
	now.MustLogin()
	if s := now.Status(); !s.SignedIn || s.Packages.Total != 2 || s.Packages.Saved != 1 {
		t.Errorf("brought over: %+v", s)
	}
	now.Registered()
	old.Service.SignAll(offer.ID)
	now.Until("the new computer saves", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	if s := old.Status(); s.Packages.Saved != 1 || s.Issue("moved") == "" {
		t.Errorf("the old computer works: %+v", s)
	}
	if more := len(now.Files()) - len(files); more != 3 { // the document, its certificate and the master file
		t.Errorf("%d files more than %q: %q", more, files, now.Files())
	}
	old.Running.Kill()
	old.Serve()
	if s := old.Status(); s.Issue("moved") == "" || s.Packages.Saved != 1 {
		t.Errorf("after a kill the old computer works: %+v", s)
	}
	now.Stop()
	old.Stop()
}

func TestWithoutADisplayThereIsNoWindow(t *testing.T) {
	t.Parallel()
	p := harness.Start(t, harness.NewDesktop(t).Env(), harness.Program, "--data", harness.ShortDir(t))
	if code, said := p.Wait(), strings.TrimSpace(p.Stderr.String()); code != 1 || !strings.Contains(said, "no screen") || strings.Contains(said, "\n") {
		t.Errorf("it ended with %d and said %q, want one line", code, said)
	}
}

func TestALockedKeyringIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	s, f := o.Service, o.Front
	o.Ready()
	lease := sendLease(o)
	o.Stop()

	lock := desk.Bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0,
		[]dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"})
	if lock.Err != nil {
		t.Fatal(lock.Err)
	}
	o.Serve()
	st := o.Until("the locked keyring is told", func(s harness.Status) bool { return s.Issue("keyring") != "" })
	if text := st.Issue("keyring"); !strings.Contains(text, "locked") {
		t.Errorf("the locked keyring is told as %q", text)
	}
	s.SignAll(lease.ID)
	harness.Eventually(t, "the service was asked to come again", func() bool {
		return slices.ContainsFunc(f.Passed(), func(a harness.Answered) bool { return a.Status == 503 })
	})
	for _, command := range [][]string{{"send", harness.Sample(t, "Offer 2026-118"), "--to", "a@example.com"}, {"login", "--no-browser"}} {
		if r := o.Command(command[0], command[1:]...); r.Code != 1 || !strings.Contains(r.Stderr, "locked") {
			t.Errorf("with a locked keyring %s ended with %d: %s", command[0], r.Code, r.Stderr)
		}
	}
	o.Stop()

	desk.RestartKeyring()
	o.Serve()
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 && s.SignedIn && s.Issue("keyring") == "" })
	savedAsServed(o, lease)
	harness.Eventually(t, "the events that waited are delivered", s.AllDelivered)
	toldOnce(o, false, lease)
}
