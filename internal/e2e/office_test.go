//go:build linux

package e2e

import (
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

// office is one data folder of the program under test, with its desktop, its service and its public address.
type office struct {
	t       testing.TB
	desk    *desktop
	service *service
	front   *front

	data, folder string
	global       []string // flags of every command
	secrets      []string // environment of setup
	more         []string // environment of every command
	socket       *http.Client
	running      *process
}

// newOffice makes an office that nothing is set up in.
func newOffice(t testing.TB, desk *desktop, s *service, f *front) *office {
	t.Helper()
	dir := shortDir(t)
	o := &office{t: t, desk: desk, service: s, front: f, data: filepath.Join(dir, "data"), folder: filepath.Join(dir, "Signed")}
	o.global = []string{"--data", o.data}
	o.secrets = []string{"COUNTERSIGN_CLIENT_SECRET=" + s.secret}
	o.socket = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(o.data, "control.sock"))
		},
	}}
	return o
}

// usualOffice makes an office with a public address and a service that knows it; flags are the service's.
func usualOffice(t testing.TB, desk *desktop, flags ...string) *office {
	t.Helper()
	f := newFront(t)
	s := startService(t, desk.env(), serviceOptions{
		redirects: []string{f.url + "/oauth/callback"}, flags: append([]string{"--trust", f.authority.file}, flags...),
	})
	return newOffice(t, desk, s, f)
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

// begin starts a command.
func (o *office) begin(command string, args ...string) *process {
	o.t.Helper()
	env := o.desk.env(o.more...)
	if command == "setup" {
		env = append(env, o.secrets...)
	}
	return start(o.t, env, program, slices.Concat([]string{command}, o.global, args)...)
}

// command runs a command to its end.
func (o *office) command(command string, args ...string) result {
	o.t.Helper()
	p := o.begin(command, args...)
	p.in.Close()
	code := p.wait()
	return result{code, p.stdout.String(), p.stderr.String()}
}

// must runs a command that has to succeed and returns what it printed.
func (o *office) must(command string, args ...string) string {
	o.t.Helper()
	r := o.command(command, args...)
	if r.code != 0 {
		o.t.Fatalf("countersign %s %q ended with %d: %s", command, args, r.code, r.stderr)
	}
	return r.stdout
}

// setup sets the office up for its service and its front; flags come last and win.
func (o *office) setup(flags ...string) {
	o.t.Helper()
	args := []string{"--auth-url", o.service.url, "--base-url", o.service.url, "--client-id", o.service.client,
		"--save-to", o.folder, "--cac", "--masterfile", "--redirect", "tunnel"}
	if o.front != nil {
		args = append(args, "--tunnel", "external", "--public-url", o.front.url, "--listen", o.front.inside)
	}
	o.must("setup", append(args, flags...)...)
}

// serve starts the program without a window and waits until it answers.
func (o *office) serve(flags ...string) {
	o.t.Helper()
	o.running = o.begin("serve", flags...)
	o.answers()
}

func (o *office) answers() {
	o.t.Helper()
	eventually(o.t, "the program answers", func() bool {
		select {
		case <-o.running.ended:
			o.t.Fatalf("the program ended: %s", o.running.stderr)
		default:
		}
		_, err := o.ask()
		return err == nil
	})
}

// stop ends the running program as a shutdown does.
func (o *office) stop() {
	o.t.Helper()
	if code := o.running.stop(); code != 0 {
		o.t.Errorf("serve ended with %d: %s", code, o.running.stderr)
	}
}

// login signs in as email and returns how the command ended and the page the browser ended on.
func (o *office) login(email string, allow bool, flags ...string) (result, string) {
	o.t.Helper()
	p := o.begin("login", append([]string{"--no-browser"}, flags...)...)
	address := p.line("http")
	var trust *authority
	if o.front != nil {
		trust = o.front.authority
	}
	page, _, err := newVisitor(trust).signIn(o.t.Context(), "http"+address, email, allow)
	if err != nil {
		o.t.Fatalf("walk the sign-in: %v", err)
	}
	code := p.wait()
	return result{code, p.stdout.String(), p.stderr.String()}, page
}

// mustLogin signs in as the administrator.
func (o *office) mustLogin() {
	o.t.Helper()
	r, page := o.login(olivia, true)
	if r.code != 0 || !strings.Contains(page, "You are signed in") {
		o.t.Fatalf("login ended with %d: %s\nThe browser shows:\n%s", r.code, r.stderr, page)
	}
}

// status is `status --json`, as DESIGN.md documents it.
type status struct {
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

// issue returns the text of a health issue, "" when there is none with this id.
func (s status) issue(id string) string {
	for _, i := range s.Health {
		if i.ID == id {
			return i.Text
		}
	}
	return ""
}

// ask reads the status through the control socket.
func (o *office) ask() (s status, err error) {
	resp, err := o.socket.Get("http://countersign/status")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, errors.New(resp.Status)
	}
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// status reads the status with the command, beside a running program or without one.
func (o *office) status() (s status) {
	o.t.Helper()
	text := o.must("status", "--json")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		o.t.Fatalf("status --json: %v in %s", err, text)
	}
	return s
}

// until waits for a status of the running program.
func (o *office) until(what string, ok func(s status) bool) status {
	o.t.Helper()
	var last status
	defer func() {
		if o.t.Failed() {
			o.t.Logf("last status: %+v", last)
		}
	}()
	eventually(o.t, what, func() bool {
		s, err := o.ask()
		if err == nil {
			last = s
		}
		return err == nil && ok(s)
	})
	return last
}

// registered waits until the service reports events to this office.
func (o *office) registered() status {
	o.t.Helper()
	return o.until("the endpoint is registered", func(s status) bool { return s.Endpoint.ID != "" && s.Tunnel.State == "up" })
}

// files returns the paths of everything in the folder of signed documents, relative to it.
func (o *office) files() (list []string) {
	o.t.Helper()
	err := filepath.WalkDir(o.folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(o.folder, path)
		list = append(list, rel)
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return list
}

// contents returns the files of the folder by the hash of what they hold.
func (o *office) contents() map[[32]byte]string {
	o.t.Helper()
	byHash := map[[32]byte]string{}
	for _, name := range o.files() {
		b, err := os.ReadFile(filepath.Join(o.folder, name))
		if err != nil {
			o.t.Fatal(err)
		}
		h := sha256.Sum256(b)
		if other, twice := byHash[h]; twice {
			o.t.Errorf("%q and %q are the same file", other, name)
		}
		byHash[h] = name
	}
	return byHash
}

// sample is the path of a document to send: pages with words, made by the program's own demo samples.
func sample(t testing.TB, name string) string {
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
