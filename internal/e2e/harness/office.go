//go:build linux

package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Office is a data folder of the program under test, with its desktop, its service and its public address.
type Office struct {
	T       testing.TB
	Desk    *Desktop
	Service *Service
	Front   *Front

	Data, Folder string
	Build        string   // of the program, if it is not Program
	Global       []string // flags of every command
	Secrets      []string // environment of setup
	More         []string // environment of every command
	socket       *http.Client
	Running      *Process
}

// NewOffice creates an office in which nothing is set up.
func NewOffice(t testing.TB, desk *Desktop, s *Service, f *Front) *Office {
	t.Helper()
	dir := ShortDir(t)
	o := &Office{T: t, Desk: desk, Service: s, Front: f, Data: filepath.Join(dir, "data"), Folder: filepath.Join(dir, "Signed")}
	o.Global = []string{"--data", o.Data}
	o.Secrets = []string{"COUNTERSIGN_CLIENT_SECRET=" + s.Secret}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log ends:\n%s", o.logEnd())
		}
	})
	o.socket = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(o.Data, "control.sock"))
		},
	}}
	return o
}

// logEnd is the end of the program's log.
func (o *Office) logEnd() string {
	log, err := os.ReadFile(filepath.Join(o.Data, "logs", "countersign.log"))
	if err != nil {
		return err.Error()
	}
	const most = 8 << 10
	return string(log[max(0, len(log)-most):])
}

// UsualOffice creates an office with a public address and a service that knows it; flags are the service's.
func UsualOffice(t testing.TB, desk *Desktop, flags ...string) *Office {
	t.Helper()
	f := NewFront(t)
	s := StartService(t, desk.Env(), ServiceOptions{
		Redirects: []string{f.URL + "/oauth/callback"}, Flags: append([]string{"--trust", f.Authority.File}, flags...),
	})
	return NewOffice(t, desk, s, f)
}

type Result struct {
	Code           int
	Stdout, Stderr string
}

func (o *Office) Begin(command string, args ...string) *Process {
	o.T.Helper()
	env := o.Desk.Env(o.More...)
	if command == "setup" {
		env = append(env, o.Secrets...)
	}
	return Start(o.T, env, cmp.Or(o.Build, Program), slices.Concat([]string{command}, o.Global, args)...)
}

// Command runs a command to its end.
func (o *Office) Command(command string, args ...string) Result {
	o.T.Helper()
	p := o.Begin(command, args...)
	p.In.Close()
	code := p.Wait()
	return Result{code, p.Stdout.String(), p.Stderr.String()}
}

// Must runs a command that must succeed and returns its output.
func (o *Office) Must(command string, args ...string) string {
	o.T.Helper()
	r := o.Command(command, args...)
	if r.Code != 0 {
		o.T.Fatalf("countersign %s %q ended with %d: %s", command, args, r.Code, r.Stderr)
	}
	return r.Stdout
}

// SetupFlags configure the office for its service and its front.
func (o *Office) SetupFlags() []string {
	args := []string{"--auth-url", o.Service.URL, "--base-url", o.Service.URL, "--client-id", o.Service.client,
		"--save-to", o.Folder, "--cac", "--masterfile", "--redirect", "tunnel"}
	if o.Front != nil {
		args = append(args, "--tunnel", "external", "--public-url", o.Front.URL, "--listen", o.Front.Inside)
	}
	return args
}

// Setup configures the office for its service and its front; flags come last and win.
func (o *Office) Setup(flags ...string) {
	o.T.Helper()
	o.Must("setup", append(o.SetupFlags(), flags...)...)
}

// Ready sets the office up, starts the program without a window, signs in and waits until the service reports events to it.
func (o *Office) Ready(flags ...string) {
	o.T.Helper()
	o.Setup(flags...)
	o.Serve()
	o.MustLogin()
	o.Registered()
}

// Serve starts the program without a window and waits until it answers.
func (o *Office) Serve(flags ...string) {
	o.T.Helper()
	o.Running = o.Begin("serve", flags...)
	o.Answers()
}

func (o *Office) Answers() {
	o.T.Helper()
	Eventually(o.T, "the program answers", func() bool {
		select {
		case <-o.Running.Ended:
			o.T.Fatalf("the program ended: %s", o.Running.Stderr)
		default:
		}
		_, err := o.Ask()
		return err == nil
	})
}

// Stop ends the running program as a shutdown of the computer does.
func (o *Office) Stop() {
	o.T.Helper()
	if code := o.Running.Stop(); code != 0 {
		o.T.Errorf("serve ended with %d: %s", code, o.Running.Stderr)
	}
}

// Login signs in as email and returns the command's result and the page on which the browser ended.
func (o *Office) Login(email string, allow bool, flags ...string) (Result, string) {
	o.T.Helper()
	p := o.Begin("login", append([]string{"--no-browser"}, flags...)...)
	address := p.Line("http")
	var trust *Authority
	if o.Front != nil {
		trust = o.Front.Authority
	}
	page, _, err := NewVisitor(trust).SignIn(o.T.Context(), "http"+address, email, allow)
	if err != nil {
		o.T.Fatalf("walk the sign-in: %v", err)
	}
	code := p.Wait()
	return Result{code, p.Stdout.String(), p.Stderr.String()}, page
}

// MustLogin signs in as the administrator.
func (o *Office) MustLogin() {
	o.T.Helper()
	r, page := o.Login(Olivia, true)
	if r.Code != 0 || !strings.Contains(page, "You are signed in") {
		o.T.Fatalf("login ended with %d: %s\nThe browser shows:\n%s", r.Code, r.Stderr, page)
	}
}

// Status is the output of `status --json`, as DESIGN.md documents it.
type Status struct {
	Version  string
	SignedIn bool `json:"signed_in"`
	Account  struct {
		Email          string
		OrganizationID string `json:"organization_id"`
		MemberID       string `json:"member_id"`
	}
	Tunnel   struct{ Kind, State, URL string }
	Endpoint struct {
		ID, URL      string
		RegisteredAt time.Time `json:"registered_at"`
	}
	Events   struct{ Received, Rejected, Duplicates, Pending, Problems int }
	Packages struct{ Total, Open, Executed, Saved int }
	Saves    struct{ Done, Pending, Failed int }
	Outbox   struct{ Pending, Unknown, Failed int }
	Health   []struct {
		ID, Severity, Text, Action string
		Since                      time.Time
	}
}

// Issue returns the text of a health issue, "" if there is none with this id.
func (s Status) Issue(id string) string {
	for _, i := range s.Health {
		if i.ID == id {
			return i.Text
		}
	}
	return ""
}

// Ask reads the status through the control socket.
func (o *Office) Ask() (s Status, err error) {
	resp, err := o.socket.Post("http://countersign/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, errors.New(resp.Status)
	}
	answer := struct {
		Error  string
		Answer *Status
	}{Answer: &s}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Error == "" {
		return s, err
	}
	return s, errors.New(answer.Error)
}

// Status reads the status with the command, whether or not the program is running.
func (o *Office) Status() (s Status) {
	o.T.Helper()
	text := o.Must("status", "--json")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		o.T.Fatalf("status --json: %v in %s", err, text)
	}
	return s
}

// Until waits for a status of the running program that ok accepts.
func (o *Office) Until(what string, ok func(s Status) bool) Status {
	o.T.Helper()
	return o.UntilWithin(Patience, what, ok)
}

func (o *Office) UntilWithin(limit time.Duration, what string, ok func(s Status) bool) Status {
	o.T.Helper()
	var last Status
	defer func() {
		if o.T.Failed() {
			o.T.Logf("last status: %+v", last)
		}
	}()
	EventuallyWithin(o.T, limit, what, func() bool {
		s, err := o.Ask()
		if err == nil {
			last = s
		}
		return err == nil && ok(s)
	})
	return last
}

// Registered waits until the service reports events to this office.
func (o *Office) Registered() Status {
	o.T.Helper()
	return o.Until("the endpoint is registered", func(s Status) bool { return s.Endpoint.ID != "" && s.Tunnel.State == "up" })
}

// Files returns the paths of everything in the folder of signed documents, relative to it.
func (o *Office) Files() (list []string) {
	o.T.Helper()
	err := filepath.WalkDir(o.Folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(o.Folder, path)
		list = append(list, rel)
		return err
	})
	Must(o.T, err)
	return list
}

// Contents returns the files in the folder by the hash of their contents.
func (o *Office) Contents() map[[32]byte]string {
	o.T.Helper()
	byHash := map[[32]byte]string{}
	for _, name := range o.Files() {
		b, err := os.ReadFile(filepath.Join(o.Folder, name))
		Must(o.T, err)
		h := sha256.Sum256(b)
		if other, twice := byHash[h]; twice {
			o.T.Errorf("%q and %q are the same file", other, name)
		}
		byHash[h] = name
	}
	return byHash
}

// Sample is the path of a document to send: pages with text, made by the program's own demo samples.
func Sample(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "assets", "samples", name+".pdf"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("find the sample: %w", err))
	}
	return path
}

func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
