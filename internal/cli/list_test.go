package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"countersign/internal/cli/terminal"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"

	"github.com/mattn/go-runewidth"
)

// march is noon of a day in March.
func march(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// hostile is a name with everything that a terminal, a table or a reader could misinterpret.
const hostile = "Lease\x1b[31m\u202egnp.exe\u202c\x07\n\tNext\u009b2J\u2028line"

// keep stores packages and events in the data folder, as if the service had reported them.
func (s shell) keep(packages []office.Package, events ...office.Event) {
	s.t.Helper()
	noErr(s.t, os.MkdirAll(s.data, 0o700))
	st := must(store.Open(locations.State(s.data), store.Options{Now: time.Now}))
	defer func() { noErr(s.t, st.Close()) }()
	noErr(s.t, st.Update(func(tx *store.Tx) error {
		for _, p := range packages {
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		for _, e := range events {
			if _, err := tx.AddEvent(e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// offices are the packages of an office.
func offices() []office.Package {
	ana := office.Signer{ID: "a", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	jan := office.Signer{ID: "j", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}
	no := jan
	no.Declined, no.DeclineReason = office.When{Time: march(6)}, "The rent is wrong."
	return []office.Package{
		{ID: "11111111-aaaa", Name: "Lease", State: "open", Origin: office.MadeHere, Sequential: true, Created: march(1), Due: march(20),
			Signers: []office.Signer{jan,
				ana}, Signing: office.Signing{NextSigners: []string{"a"}}, Recipients: []office.Recipient{{FirstName: "Zoë", LastName: "Keller",
				Email: "zoe@example.com", Blind: true}},
			Documents: []office.Document{{ID: "d1", Name: "Lease", SignedBy: []string{"j"}}},
			History:   []office.HistoryEntry{{Time: office.When{Time: march(1)}, What: office.EntrySent}, {Time: office.When{Time: march(2)}, What: office.EntrySigned, Who: "j", Ref: "d1"}}},
		{ID: "11111111-bbbb", Name: "Offer", State: office.PackageExecuted, Origin: office.MadeElsewhere, Created: march(3), Executed: office.When{Time: march(4)}, Signers: []office.Signer{ana}},
		{ID: "22222222-cccc", Name: "Offer", State: "open", Created: march(5), Signers: []office.Signer{no}},
		{ID: "33333333-dddd", Name: "日本語の賃貸契約書についての長い名前 🏠", State: office.PackageExpired, Created: march(7)},
	}
}

func (s shell) list(args ...string) (list packageList) {
	s.t.Helper()
	code, stdout, stderr := s.run(append([]string{"list", "--json"}, args...)...)
	if code != exitDone {
		s.t.Fatalf("list %q: %d %s", args, code, stderr)
	}
	noErr(s.t, json.Unmarshal([]byte(stdout), &list))
	return list
}

func TestPackagesAreListedAsAskedFor(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "3 2 1 1"},
		{"--state waiting", "1"},
		{"--state done,expired", "3 1"},
		{"--state declined --state done", "2 1"},
		{"--person weber", "2 1"},
		{"--search offer", "2 1"},
		{"--since 2026-03-03 --until 2026-03-05", "2 1"},
		{"--sort name --limit 1", "1"},
		{"--origin elsewhere", "1"},
		{"--origin here --state done", ""},
		{"--sort due", "1 3 2 1"},
		{"--reverse --limit 1", "1"},
	} {
		var got []string
		for _, p := range s.list(strings.Fields(c.args)...).Packages {
			got = append(got, p.ID[:1])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("list %s: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestWhatIsWrongWithAListIsSaidInOneLine(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"list --state open":      {exitUsage, "--state"},
		"list --since yesterday": {exitUsage, "is not a date"},
		"list --until 31.12":     {exitUsage, "is not a date"},
		"list --limit -1":        {exitUsage, "--limit"},
		"list --sort size":       {exitUsage, "--sort"},
		"show":                   {exitUsage, "<package>"},
		"show Mandate":           {exitFailed, `There is no package "Mandate".`},
		"show Offer":             {exitFailed, "11111111-bbbb"},
		"show 1111":              {exitFailed, `"1111" means several packages: 11111111-bbbb (Offer, made 2026-03-03), 11111111-aaaa (Lease, made 2026-03-01). Name one by its id.`},
		"events --package 9":     {exitFailed, "There is no package"},
		"events --since ever":    {exitUsage, "is not a date"},
		"list --since 2026-10-01 --until 2026-01-01": {exitUsage, "--since is later than --until."},
	} {
		code, stdout, stderr := s.run(strings.Fields(args)...)
		if code != want.code || !strings.Contains(stderr, want.says) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%s: %d %q %q", args, code, stdout, stderr)
		}
	}
}

func TestATimeByWhichSomethingHadHappenedIsPrintedAsSuch(t *testing.T) {
	at := office.When{Time: march(2), By: true}
	p := office.Package{ID: "p", Name: "Lease", State: "open", Created: march(1), Met: true, Signers: []office.Signer{{ID: "j", FirstName: "Jan"}, {ID: "a", FirstName: "Ana", Declined: at}},
		Documents: []office.Document{{ID: "d", SignedBy: []string{"j"}}}, History: []office.HistoryEntry{{Time: at, What: office.EntrySigned, Who: "j", Ref: "d"}}}
	shown := shown(office.PackageRow{Package: p})
	jan, ana := shown.Signers[0], shown.Signers[1]
	if jan.Signed != nil || !jan.SignedBefore.Equal(march(2)) || ana.Declined != nil || !ana.DeclinedBefore.Equal(march(2)) ||
		shown.Created != nil || !shown.CreatedBefore.Equal(march(1)) || shown.History[0].Time != nil || !shown.History[0].Before.Equal(march(2)) {
		t.Errorf("for programs: %+v", shown)
	}
	var out bytes.Buffer
	noErr(t, printPackage(terminal.Sized(&out, 80, false), shown))
	day := march(2).Local().Format(time.DateTime)
	for _, want := range []string{"Jan: signed before " + day, "Ana: declined before " + day, "before " + day + "  Jan signed", "before " + march(1).Local().Format(time.DateTime)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// Output into a pipe is for programs: no heading, no colour, nothing cut.
func TestAListInAPipeStaysTheSame(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	_, stdout, _ := s.run("list")
	want := "33333333-dddd\texpired\t日本語の賃貸契約書についての長い名前 🏠\t\t\t\t2026-03-07T12:00:00Z\n" +
		"22222222-cccc\tdeclined\tOffer\t0/1\t\t\t2026-03-05T12:00:00Z\n" +
		"11111111-bbbb\tdone\tOffer\t1/1\t\t\t2026-03-03T12:00:00Z\n" +
		"11111111-aaaa\twaiting\tLease\t1/2\tAna Ruiz\t2026-03-20T12:00:00Z\t2026-03-01T12:00:00Z\n"
	if stdout != want {
		t.Errorf("list printed\n%s", stdout)
	}
}

func TestATableFitsTheTerminal(t *testing.T) {
	var packages []listedPackage
	for _, p := range offices() {
		packages = append(packages, listed(p))
	}
	packages[0].Name = strings.Repeat("A long name ", 20)
	for _, colour := range []bool{false, true} {
		for width := 40; width <= 200; width += 7 {
			var out bytes.Buffer
			noErr(t, printPackages(terminal.Sized(&out, width, colour), packages))
			text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(out.String(), "")
			if coloured := text != out.String(); coloured != colour {
				t.Errorf("colours: %v, want %v", coloured, colour)
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) != len(packages)+1 {
				t.Fatalf("%d lines:\n%s", len(lines), text)
			}
			for i, l := range lines {
				if runewidth.StringWidth(l) > width {
					t.Errorf("%d columns in %d: %s", runewidth.StringWidth(l), width, l)
				}
				if i > 0 && !strings.Contains(l, string(packages[i-1].State)) { // the status in words, whatever the colour
					t.Errorf("no state in %d columns: %s", width, l)
				}
			}
		}
	}
	var out bytes.Buffer
	noErr(t, printPackages(terminal.Sized(&out, 100, false), packages))
	_, column, _ := strings.Cut(strings.Split(out.String(), "\n")[0], "SIGNED")
	if !strings.Contains(column, "WAITS FOR") || !strings.Contains(column, "DUE") {
		t.Errorf("a hundred columns leave something out:\n%s", &out)
	}
}

func TestAPackageIsShownWithPeopleFilesAndWhatHappened(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	code, stdout, stderr := s.run("show", "11111111-a")
	if code != exitDone {
		t.Fatalf("%d %s", code, stderr)
	}
	for _, want := range []string{"Lease\n", "waiting, 1/2 signed, waiting for Ana Ruiz", "11111111-aaaa", "one after the other",
		"Jan Weber <jan@example.com>: signed 2026-03-02", "Ana Ruiz <ana@example.com>: their turn to sign",
		"Zoë Keller <zoe@example.com> (not shown to the others)", "Lease: 1 of 2 signed", "Sent", "Jan Weber signed Lease"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	if _, byName, _ := s.run("show", "Lease"); byName != stdout {
		t.Errorf("by name:\n%s", byName)
	}
	if _, declined, _ := s.run("show", "2222"); !strings.Contains(declined, "declined 2026-03-06") || !strings.Contains(declined, "The rent is wrong.") {
		t.Errorf("declined:\n%s", declined)
	}
}

// anEvent is an event as the service sends it, stored but not handled.
func anEvent(id string, received time.Time) office.Event {
	body := fmt.Sprintf(`{"action":"document_signed","packageId":"11111111-aaaa","documentId":"d1","signerId":"j","eventId":%q,"secretly":"s3cret-body"}`, id)
	return office.Event{ID: id, Action: "document_signed", PackageID: "11111111-aaaa", Time: received.Add(-time.Second), Received: received,
		Body: []byte(body), URL: "https://hook.example.com/s3cret-path", Outcome: office.EventHandled}
}

func TestEventsTellWhatArrivedAndNothingSecret(t *testing.T) {
	s := newShell(t)
	s.keep(offices(), anEvent("e1", march(2)), anEvent("e2", march(3)), anEvent("e3", march(4)))
	code, stdout, stderr := s.run("events", "--json", "--limit", "2", "--package", "Lease")
	if code != exitDone {
		t.Fatalf("%d %s", code, stderr)
	}
	var got eventList
	noErr(t, json.Unmarshal([]byte(stdout), &got))
	if len(got.Events) != 2 || got.Events[0].ID != "e2" || got.Events[1].ID != "e3" {
		t.Fatalf("the last two, oldest first: %+v", got.Events)
	}
	e := got.Events[1]
	if e.Kind != "document_signed" || e.Package != "Lease" || e.Outcome != outcomeHandled || e.SignerID != "j" || !strings.Contains(e.Text, "Jan Weber signed") || !e.Received.Equal(march(4)) {
		t.Errorf("%+v", e)
	}
	_, words, _ := s.run("events", "--since", "2026-03-03")
	if strings.Count(words, "\n") != 2 || !strings.Contains(words, "handled\tdocument_signed\t11111111-aaaa\t") {
		t.Errorf("events printed\n%s", words)
	}
	if strings.Contains(stdout+words, "s3cret") {
		t.Errorf("a body or an address is told:\n%s%s", stdout, words)
	}
}

// Whoever names a package decides what its name contains; a terminal must only see text.
func TestNamesFromOutsideAreNeverPrintedRaw(t *testing.T) {
	s := newShell(t)
	p := office.Package{ID: "id", Name: hostile, State: "open", Created: march(1), Saving: office.Saving{Problem: office.Package{}.Problem},
		Signers: []office.Signer{{ID: "a", FirstName: hostile, Email: "a@example.com", Declined: office.When{Time: march(2)},
			DeclineReason: hostile}}, Signing: office.Signing{NextSigners: []string{"a"}},
		Recipients: []office.Recipient{{FirstName: hostile, Email: "b@example.com"}},
		Documents:  []office.Document{{ID: "d\x1b[0m", Name: hostile, FileName: hostile, ExternalID: hostile}},
		History: []office.HistoryEntry{{Time: office.When{Time: march(1)}, What: office.EntrySigned, Who: "a", Ref: "d\x1b[0m"},
			{Time: office.When{Time: march(1)}, What: hostile, Ref: hostile}, {Time: office.When{Time: march(2)}, What: office.EntrySaved,
				Ref: hostile}, {Time: office.When{Time: march(2)}, What: office.EntryEnded, Ref: hostile}},
		Source: office.Source{ExternalData: json.RawMessage(`{"reference":"x\u001b[0m\u202e"}`)}}
	other := office.Package{ID: "idx\x1b[2J", Name: hostile, State: "\x1b[2J\u202estate", Created: march(1)}
	s.keep([]office.Package{p, other}, office.Event{ID: "e\u009b2J", Action: hostile, PackageID: "idx\x1b[2J", Received: march(2), Outcome: office.EventUnprocessable, Body: []byte("no JSON")})
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "id"}, {"show", "id", "--json"}, {"show", "idx"}, {"events"}, {"events", "--json"},
		{"show", "i"}, {"show", hostile}, {"events", "--package", hostile}, {"list", "--since", hostile}, {"status"}, {"status", "--json"}, {"send", "x.pdf", "--to", hostile}, {"list", "--" + hostile},
	} {
		_, stdout, stderr := s.run(args...)
		if stdout+stderr == "" {
			t.Errorf("%q says nothing", args)
		}
		for _, r := range stdout + stderr {
			if r != '\n' && r != '\t' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
				t.Errorf("%q prints %U raw:\n%q", args, r, stdout+stderr)
				break
			}
		}
	}
	var out bytes.Buffer
	noErr(t, printPackages(terminal.Sized(&out, 80, false), s.list().Packages))
	if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && unicode.Is(unicode.C, r) }) || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("the table is\n%q", &out)
	}
	if got := s.list().Packages[1].ServiceState + s.list().Packages[0].ServiceState; !strings.Contains(got, "\x1b") && !strings.Contains(got, "open") {
		t.Errorf("JSON lost what it escaped: %q", got)
	}
}

// A program that reads a list need not ask whether a field is there.
func TestEveryFieldIsThereEvenWhenNothingIsKnown(t *testing.T) {
	s := newShell(t)
	s.keep([]office.Package{{ID: "bare"}})
	for _, args := range [][]string{{"list", "--json"}, {"show", "bare", "--json"}, {"events", "--json"}, {"folders", "--json"}} {
		_, stdout, _ := s.run(args...)
		for _, field := range regexp.MustCompile(`"(signers|copies|documents|files|history|events|packages|folders)": (null|\[\]|\[)`).FindAllStringSubmatch(stdout, -1) {
			if field[2] == "null" {
				t.Errorf("%q: %s is null", args, field[1])
			}
		}
		var any map[string]json.RawMessage
		noErr(t, json.Unmarshal([]byte(stdout), &any))
	}
	for _, none := range []*terminal.Writer{terminal.New(io.Discard), terminal.Sized(io.Discard, 80, false)} {
		noErr(t, printPackages(none, nil))
		noErr(t, printEvents(none, nil))
	}
}

func TestAPackageThatNobodyKnowsIsNamedAsItWasTyped(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	o, err := s.here(t.Context(), io.Discard, io.Discard).start(idle)
	noErr(t, err)
	defer o.Close()
	_, err = o.withdraw(t.Context(), office.NewWithdrawal{Packages: []string{"Lease", "widthdrawn"}})
	if got := said(err); got != `There is no package "widthdrawn". Look for it with countersign list.` {
		t.Errorf("withdraw: %s", got)
	}
	if row, _, err := o.agent.Package("11111111-aaaa"); err != nil || row.Withdrawal != nil {
		t.Errorf("beside it another was withdrawn: %+v, %v", row.Withdrawal, err)
	}
}

func TestWhetherTheServiceWasAskedToWithdrawIsSaid(t *testing.T) {
	for state, want := range map[office.WithdrawalState]string{office.WithdrawWanted: "was not asked yet", office.WithdrawAsked: "as soon as the signing service answers"} {
		err := notWithdrawn([]office.Withdrawn{{PackageID: "p", Name: "Lease", State: state}})
		if got := said(err); !strings.Contains(got, want) {
			t.Errorf("%s: %s", state, got)
		}
	}
}

// The certificate is not a PDF, but is read by the process that reads documents.
func TestACertificateIsTrustedAndNoMore(t *testing.T) {
	s := newShell(t)
	s.setUp()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	noErr(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Signing service"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	der := must(x509.CreateCertificate(rand.Reader, c, c, public, private))
	file := filepath.Join(t.TempDir(), "ca.pem")
	noErr(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	if code, _, stderr := s.run("trust", file, "--yes"); code != 0 {
		t.Fatalf("trust: %d %s", code, stderr)
	}
	_, list, _ := s.run("trust")
	fingerprint, name, _ := strings.Cut(list, "  ")
	if name != "CN=Signing service\n" {
		t.Fatalf("trusted is %q", list)
	}
	if code, _, stderr := s.run("trust", "--remove", fingerprint); code != 0 {
		t.Errorf("trust --remove: %d %s", code, stderr)
	}
	if _, list, _ := s.run("trust"); list != "" {
		t.Errorf("still trusted is %q", list)
	}
	if code, _, stderr := s.run("trust", os.Args[0], "--yes"); code != 1 || !strings.Contains(stderr, filepath.Base(os.Args[0])) {
		t.Errorf("of a file that names nobody: %d %s", code, stderr)
	}
}
