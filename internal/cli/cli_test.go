package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/trytest"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"
)

// The program starts itself to read documents. On Windows a goroutine for pipes runs until the process ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"press", "page"}, os.Args[1]) {
		os.Exit(Main(os.Args[1:], Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor"))
}

// shell runs commands on one data folder with a key file.
type shell struct {
	t    *testing.T
	data string
}

func newShell(t *testing.T) shell {
	t.Helper()
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "s3cret")
	return shell{t, filepath.Join(t.TempDir(), "data")}
}

func (s shell) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, err bytes.Buffer
	args = append(args, "--data", s.data, "--key-file", s.data+".key")
	code = Main(args, Program{
		Version: "1.2.3", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
		Window:  func(context.Context, Window) error { return errors.New("no window") },
		Display: func(context.Context) error { return message.Error(message.NoDisplay(), nil) },
	})
	return code, out.String(), err.String()
}

func (s shell) setUp(more ...string) {
	s.t.Helper()
	args := append([]string{"setup", "--auth-url", "https://sign.example.com", "--base-url", "https://sign.example.com/api/v1",
		"--client-id", "office", "--tunnel", "none", "--redirect", "localhost", "--save-to", filepath.Join(s.t.TempDir(), "Signed")}, more...)
	if code, _, stderr := s.run(args...); code != 0 {
		s.t.Fatalf("setup: %d %s", code, stderr)
	}
}

func (s shell) status() (status agent.Status) {
	s.t.Helper()
	code, stdout, stderr := s.run("status", "--json")
	if code != 0 {
		s.t.Fatalf("status: %d %s", code, stderr)
	}
	noErr(s.t, json.Unmarshal([]byte(stdout), &status))
	return status
}

func TestUsageErrorsExitWithTwoAndFailuresWithOneLine(t *testing.T) {
	s := newShell(t)
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown flag":         {[]string{"status", "--bogus"}, 2, "unknown flag --bogus"},
		"no file":              {[]string{"send", "--to", "ana@example.com"}, 2, "<file>"},
		"no signer":            {[]string{"send", "x.pdf"}, 2, "--to"},
		"field alone":          {[]string{"send", "x.pdf", "--to", "ana@example.com", "--field", "a=b"}, 2, "--template"},
		"bad signer":           {[]string{"send", "x.pdf", "--to", "Ana"}, 2, "is not a signer"},
		"bad date":             {[]string{"send", "x.pdf", "--to", "ana@example.com", "--due", "soon"}, 2, "is not a date"},
		"bad reference":        {[]string{"send", "x.pdf", "--to", "ana@example.com", "--external-data", "{"}, 2, "not valid JSON"},
		"no folder to save to": {[]string{"setup", "--save-to", ""}, 2, "is empty"},
		"no data folder":       {[]string{"status", "--data="}, 2, "is empty"},
		"no file's name":       {[]string{"verify", ""}, 2, "is empty"},
		"bad tunnel":           {[]string{"setup", "--tunnel", "string"}, 2, "--tunnel"},
		"a name in Latin-1":    {[]string{"send", "Vertr\xe4ge.pdf", "--to", "ana@example.com"}, 2, "rename the file"},
		"nothing set up":       {[]string{"login", "--no-browser"}, 1, "not set up"},
		"nobody signed in":     {[]string{"send", "x.pdf", "--to", "ana@example.com"}, 1, "Nobody is signed in"},
		"no display":           {[]string{"open"}, 1, "cannot be shown"},
		"address without TLS":  {[]string{"setup", "--auth-url", "http://sign.example.com"}, 1, "must start with https://"},
		"unknown placeholder":  {[]string{"setup", "--auth-url", "https://a.example", "--base-url", "https://a.example", "--client-id", "x", "--tunnel", "none", "--redirect", "localhost", "--save-to", t.TempDir(), "--name-template", "{nonsense}"}, 1, "{nonsense}"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := s.run(c.args...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			if strings.Count(strings.TrimSpace(stderr), "\n") > 0 || stdout != "" {
				t.Errorf("more than one line: %q %q", stdout, stderr)
			}
		})
	}
}

func TestTheStatusOfADeskSaysWhereItsEventsComeFrom(t *testing.T) {
	s := newShell(t)
	s.setUp("--tunnel", "office", "--office", "nats://10.0.0.1:7422")
	if _, stdout, _ := s.run("status"); !strings.Contains(stdout, "Events     from the main computer\n") || strings.Contains(stdout, "Address") || strings.Contains(stdout, "not reported") {
		t.Error(stdout)
	}
}

func TestThatThereIsNothingToVerifyIsSaid(t *testing.T) {
	s := newShell(t)
	if code, stdout, stderr := s.run("verify", t.TempDir()); code != 0 || stdout != "There is no document to check.\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestAnEmptyVariableIsNone(t *testing.T) {
	t.Setenv("COUNTERSIGN_DATA", "")
	s := newShell(t)
	if code, _, stderr := s.run("version"); code != 0 {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestWhatCannotBePrintedIsSaidToBeThat(t *testing.T) {
	full := unread(t)
	full.Close()
	for _, args := range [][]string{{"version"}, {"help"}, {"help", "send"}, {"send", "--help"}} {
		var said bytes.Buffer
		code := Main(args, Program{Stdin: strings.NewReader(""), Stdout: full, Stderr: &said})
		if code != exitFailed || !strings.Contains(said.String(), "The output could not be written") {
			t.Errorf("%q: exit code %d, stderr %q", args, code, said.String())
		}
	}
}

func TestSetupChangesOnlyWhatIsGiven(t *testing.T) {
	s := newShell(t)
	s.setUp("--cac", "--scope", "profile organization")
	if code, _, stderr := s.run("setup", "--masterfile", "--no-cac"); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	var r run
	r.ctx = t.Context()
	r.global = commands{globals: globals{Data: s.data, KeyFile: s.data + ".key"}}
	l := must(r.start(idle))
	defer l.Close()
	got := l.agent.Settings()
	if got.SaveCAC || !got.SaveMaster || got.ClientID != "office" || strings.Join(got.Scopes, " ") != "profile organization" {
		t.Errorf("settings: %+v", got)
	}
	if secret, _, err := l.agent.HasSecrets(); !secret || err != nil {
		t.Error("the client secret was not kept")
	}
}

func TestStatusHasEveryFieldEvenWhenNothingIsKnown(t *testing.T) {
	s := newShell(t)
	_, stdout, _ := s.run("status", "--json")
	var got map[string]map[string]any
	var rest map[string]any
	noErr(t, json.Unmarshal([]byte(stdout), &rest))
	json.Unmarshal([]byte(stdout), &got) // only JSON objects; other output leaves it empty
	for object, fields := range map[string]string{
		"account": "email organization_id member_id", "tunnel": "kind state url since", "endpoint": "id url registered_at",
		"events": "received rejected duplicates pending problems", "packages": "total open declined executed saved",
		"saves": "done pending failed", "outbox": "pending unknown failed held",
	} {
		for f := range strings.FieldsSeq(fields) {
			if _, ok := got[object][f]; !ok {
				t.Errorf("%s.%s is missing", object, f)
			}
		}
		if n := len(strings.Fields(fields)); len(got[object]) != n {
			t.Errorf("%s has %d fields, documented are %d", object, len(got[object]), n)
		}
	}
	if rest["version"] != "1.2.3" || rest["signed_in"] != false {
		t.Errorf("%v", rest)
	}
	if _, ok := rest["health"].([]any); !ok {
		t.Error("health is no list")
	}
}

func TestStatusInWordsNeedsNoManual(t *testing.T) {
	s := newShell(t)
	s.setUp()
	code, stdout, _ := s.run("status")
	if code != 0 || !strings.Contains(stdout, "not signed in") || !strings.Contains(stdout, "You are not signed in.") || !strings.Contains(stdout, "Countersign is not running") {
		t.Errorf("%d\n%s", code, stdout)
	}
}

func TestASecondInstanceIsFoundAndWaitedFor(t *testing.T) {
	s := newShell(t)
	s.setUp()
	r := run{ctx: t.Context(), global: commands{globals: globals{Data: s.data, KeyFile: s.data + ".key"}}}
	brief := must(r.start(idle))
	// A command that only looks does not wait; one that works waits for its turn.
	s.status()
	done := make(chan int)
	go func() {
		code, _, _ := s.run("logout")
		done <- code
	}()
	select {
	case <-done:
		t.Fatal("two commands worked on the same data at once")
	case <-time.After(3 * turnPause):
	}
	noErr(t, brief.Close())
	expect(t, <-done, 0, "logout: %d")
}

func TestSignersAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]office.Signer{
		"Ana Ruiz <ana@example.com>":       {FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"},
		"Ana María Ruiz <ana@example.com>": {FirstName: "Ana María", LastName: "Ruiz", Email: "ana@example.com"},
		"Cher <cher@example.com>":          {FirstName: "Cher", Email: "cher@example.com"},
		"jan@example.com":                  {FirstName: "jan", Email: "jan@example.com"},
		"\"Weber, Jan\" <jan@example.com>": {FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"},
		// The last name has several words.
		office.Written(office.Signer{FirstName: "Ana", LastName: "Ruiz García", Email: "ana@example.com"}): {FirstName: "Ana", LastName: "Ruiz García", Email: "ana@example.com"},
	} {
		if got, err := parseSigner(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Ana Ruiz", "Ana <ana>", "ana@example.com, jan@example.com"} {
		if got, err := parseSigner(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestADueDayLastsUntilItsEnd(t *testing.T) {
	got, err := parseDue("2026-12-31")
	if want := time.Date(2026, 12, 31, 23, 59, 59, 0, time.Local); err != nil || !got.Equal(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := parseDue("2026-12-31T12:00:00Z"); err != nil || !got.Equal(time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSetupSaysThatTheClientSecretIsNotTheNewServices(t *testing.T) {
	s := newShell(t)
	s.setUp()
	const missing = "belongs to another service or client"
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "")
	os.Unsetenv("COUNTERSIGN_CLIENT_SECRET")
	code, stdout, stderr := s.run("setup", "--base-url", "https://other.example.com")
	if code != exitDone || !strings.Contains(stdout, missing) {
		t.Errorf("%d %q %q", code, stdout, stderr)
	}
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "0ther")
	if code, stdout, _ := s.run("setup", "--cac"); code != exitDone || strings.Contains(stdout, missing) {
		t.Errorf("with it: %d %q", code, stdout)
	}
}

func TestSetupNamesTheHostThatDocumentsGoToWhereItIsNotTheSignIns(t *testing.T) {
	s := newShell(t)
	s.setUp()
	if code, stdout, _ := s.run("setup", "--cac"); code != exitDone || !strings.Contains(stdout, "People sign in at sign.example.com.") || strings.Contains(stdout, "Documents go to") {
		t.Errorf("one host: %d %q", code, stdout)
	}
	if code, stdout, _ := s.run("setup", "--base-url", "https://s\u0456gn.example.com"); code != exitDone ||
		!strings.Contains(stdout, "Documents go to xn--sgn-jhd.example.com (s\u0456gn.example.com).") {
		t.Errorf("another one: %d %q", code, stdout)
	}
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestWhatIsNeitherACommandNorAFileOpensNothing(t *testing.T) {
	document := filepath.Join(t.TempDir(), "Lease.pdf")
	noErr(t, os.WriteFile(document, []byte("%PDF-1.7"), 0o600))
	for args, says := range map[string]string{
		"widthdraw 6761b":                 `did you mean "withdraw"?`,
		"folders ad Scans":                `did you mean "add"?`,
		"folders /tmp/Scans":              `unexpected argument /tmp/Scans.`,
		"status --bogus":                  `unknown flag --bogus.`,
		"stauts":                          `did you mean "status"?`,
		"nonsense":                        `there is no file or command "nonsense".`,
		"Offer.pdf":                       `there is no file or command "Offer.pdf".`,
		"no/Offer.pdf":                    `there is no file "no/Offer.pdf".`,
		document + " Offer.pdf":           `there is no file "Offer.pdf".`,
		"open Offer.pdf":                  `there is no file or command "Offer.pdf".`,
		"--hidden Offer.pdf":              `there is no file or command "Offer.pdf".`,
		document + "\x1b[2J\u202eexe.pdf": `there is no file`,
	} {
		var out, err bytes.Buffer
		code := Main(append(strings.Fields(args), "--data", t.TempDir()), Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
			Window:  func(context.Context, Window) error { t.Errorf("%s opens the window", args); return nil },
			Display: func(context.Context) error { return nil },
			Alert:   func(m message.Message) bool { t.Errorf("%s raises a box: %s", args, m); return true }})
		if code != exitUsage || out.Len() > 0 || !strings.Contains(err.String(), says) || strings.Count(err.String(), "\n") != 1 || strings.ContainsAny(err.String(), "\x1b\u202e") {
			t.Errorf("%s: %d, %q", args, code, &err)
		}
	}
}

func TestDocumentsOpenTheWindow(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "send") // also the name of a command
	noErr(t, os.WriteFile(document, []byte("%PDF-1.7"), 0o600))
	t.Chdir(folder)
	var got []string
	p := Program{Version: "1", Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
		Window:  func(_ context.Context, w Window) error { got = w.Files; return nil },
		Display: func(context.Context) error { return nil }}
	for _, args := range [][]string{{"./send", folder}, {"open", "send", folder}} {
		if code := Main(append(args, "--data", t.TempDir(), "--key-file", filepath.Join(t.TempDir(), "key")), p); code != exitDone || !slices.Equal(got, []string{document, folder}) {
			t.Errorf("%v: %d %v", args, code, got)
		}
	}
}

// A message box about wrong usage is for people who clicked on something: whoever sees printed output, or started the
// program with a command, knows already.
func TestOnlyWhoCannotHearOtherwiseIsToldOfWrongUsageInABox(t *testing.T) {
	read, pipe, err := os.Pipe()
	noErr(t, err)
	defer read.Close()
	defer pipe.Close()
	for _, c := range []struct {
		args   []string
		stderr *os.File
		want   int
	}{
		{[]string{"gone.pdf"}, unread(t), 1},
		{[]string{"--tomato"}, unread(t), 1},
		{[]string{"gone.pdf"}, pipe, 0},
		{[]string{"send", "--tomato"}, unread(t), 0},
		{[]string{"list", "--state", "sad"}, unread(t), 0},
	} {
		boxes := 0
		code := Main(c.args, Program{Stdin: strings.NewReader(""), Stdout: unread(t), Stderr: c.stderr,
			Alert: func(message.Message) bool { boxes++; return true }})
		if code != exitUsage || boxes != c.want {
			t.Errorf("%v: %d, %d boxes, want %d", c.args, code, boxes, c.want)
		}
	}
}

func TestHelpAndVersionAreThereAsPeopleTypeThem(t *testing.T) {
	s := newShell(t)
	for args, want := range map[string]string{"help": "--help", "help send": "send --help", "help folders add": "folders add --help", "--version": "version"} {
		code, got, stderr := s.run(strings.Fields(args)...)
		_, same, _ := s.run(strings.Fields(want)...)
		if code != exitDone || got != same || got == "" || stderr != "" {
			t.Errorf("%s: %d %q %q, want %q", args, code, got, stderr, same)
		}
	}
	if code, stdout, stderr := s.run("help", "sned"); code != exitUsage || stdout != "" || !strings.Contains(stderr, `"send"`) {
		t.Errorf("help sned: %d %q %q", code, stdout, stderr)
	}
}

// commandsForPeople are the commands that the help shows.
func commandsForPeople() (list []*kong.Node) {
	for _, c := range Grammar().Children {
		if c.Type == kong.CommandNode && !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// The manual, --help and the manual page describe the same commands. The manual page is generated from the grammar (package
// release tests that); the others are compared here.
func TestTheManualAndHelpTellOfTheSameCommands(t *testing.T) {
	readme := must(os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md")))
	_, table, found := strings.Cut(string(readme), "| command | what it does |\n|---|---|\n")
	if !found {
		t.Fatal("admin.md has no table of commands")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	s := newShell(t)
	var help bytes.Buffer
	if code := Main([]string{"--help"}, Program{Stdin: strings.NewReader(""), Stdout: &help, Stderr: &help}); code != exitDone {
		t.Fatal(code)
	}
	for _, c := range commandsForPeople() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", c.Name, c.Help))
		if !strings.Contains(strings.Join(strings.Fields(help.String()), " "), c.Name+" "+c.Help) {
			t.Errorf("countersign --help does not tell of %s", c.Name)
		}
		code, own, _ := s.run(c.Name, "--help")
		if code != exitDone || !strings.Contains(strings.Join(strings.Fields(own), " "), c.Help) {
			t.Errorf("countersign %s --help ends with %d:\n%s", c.Name, code, own)
		}
	}
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) {
		t.Errorf("admin.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Commands behave alike, so that knowing one means knowing them all.
func TestCommandsReadAlike(t *testing.T) {
	readme := must(os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md")))
	for _, c := range Grammar().Leaves(true) {
		called := strings.TrimPrefix(c.FullPath(), Grammar().Name+" ")
		family, _, _ := strings.Cut(called, " ") // all of a family print the same
		for _, f := range c.Flags {
			if f.Name == "json" {
				if !strings.HasPrefix(f.Help, "Print JSON, as countersign help admin documents it") {
					t.Errorf("%s --json is explained as %q", called, f.Help)
				}
				if !strings.Contains(string(readme), "\n`countersign "+family+" --json") {
					t.Errorf("admin.md does not document %s --json", family)
				}
			}
			if !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: %q does not end as a sentence does", called, f.Name, f.Help)
			}
		}
	}
}
