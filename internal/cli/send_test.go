package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestPeopleGetTheRolesThatAreTheirs(t *testing.T) {
	lease := office.Template{Name: "Lease", Roles: []office.TemplateRole{{ID: "l", Role: "Landlord"}, {ID: "t", Role: "Tenant"}}}
	nda := office.Template{Name: "NDA", Roles: []office.TemplateRole{{ID: "1", Role: "Party"}, {ID: "2", Role: "Party"}}}
	mandate := office.Template{Name: "Mandate", Roles: []office.TemplateRole{{ID: "c", Role: "Client"}, {ID: "w", Role: "Lawyer", FirstName: "Laura", Email: "laura@x.org"}}}
	for name, c := range map[string]struct {
		template office.Template
		to       []string
		want     []string // role id and address
		problem  string
	}{
		"in order":              {lease, []string{"a@x.org", "b@x.org"}, []string{"l a@x.org", "t b@x.org"}, ""},
		"by name":               {lease, []string{"tenant=Ana <a@x.org>", "Landlord=b@x.org"}, []string{"l b@x.org", "t a@x.org"}, ""},
		"by name and order":     {lease, []string{"a@x.org", "Landlord=b@x.org"}, []string{"l b@x.org", "t a@x.org"}, ""},
		"one role twice":        {nda, []string{"Party=a@x.org", "Party=b@x.org"}, []string{"1 a@x.org", "2 b@x.org"}, ""},
		"filled already":        {mandate, []string{"a@x.org"}, []string{"c a@x.org", "w laura@x.org"}, ""},
		"filled, and another":   {mandate, []string{"a@x.org", "b@x.org"}, []string{"c a@x.org", "w b@x.org"}, ""},
		"somebody besides":      {lease, []string{"a@x.org", "b@x.org", "c@x.org"}, []string{"l a@x.org", "t b@x.org", " c@x.org"}, ""},
		"a role without anyone": {lease, []string{"Tenant=a@x.org"}, nil, "also needs: Landlord"},
		"an unknown role":       {lease, []string{"Janitor=a@x.org"}, nil, `no role "Janitor" left`},
		"a role too often":      {lease, []string{"Tenant=a@x.org", "Tenant=b@x.org"}, nil, `no role "Tenant" left`},
	} {
		t.Run(name, func(t *testing.T) {
			send := sendCmd{Template: c.template.Name, To: c.to}
			d, err := send.draft()
			noErr(t, err)
			err = send.fromTemplate(&d, []office.Template{c.template})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%v", err)
				}
				return
			}
			noErr(t, err)
			var got []string
			for _, s := range d.Signers {
				got = append(got, s.RoleID+" "+s.Email)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhoGetsACopyHasNoRole(t *testing.T) {
	for _, send := range []sendCmd{{CC: []string{"Office=O O <o@x.org>"}}, {BCC: []string{"Office=o@x.org"}}} {
		send.Template = "Lease"
		if _, err := send.draft(); err == nil || !strings.Contains(err.Error(), `gives a role; roles go with --to.`) {
			t.Errorf("%v", err)
		}
	}
	send := sendCmd{Template: "Lease", CC: []string{"O O <a=b@x.org>"}}
	if d := must(send.draft()); d.Recipients[0].Email != "a=b@x.org" {
		t.Errorf("%+v", d.Recipients)
	}
}

func TestFieldsAndDocumentsOfATemplateAreNamed(t *testing.T) {
	list := []office.Template{{ID: "1", Name: "Lease", Message: "Sign.", Sequential: true, Documents: []office.TemplateDocument{
		{ID: "d1", Name: "Lease", Fields: []office.TemplateField{{ID: "rent", Name: "Monthly rent"}}}, {ID: "d2", Name: "House rules"}},
		Roles:  []office.TemplateRole{{ID: "t", Role: "Tenant"}},
		Copies: []office.TemplateRole{{Role: "Records", Email: "records@x.org"}, {Role: "Bank"}}}, {ID: "2", Name: "lease"}}
	unasked := sendCmd{Template: "1", To: []string{"a@x.org"}}
	if err := unasked.fromTemplate(&office.NewPackage{Signers: []office.Signer{{Email: "a@x.org"}}}, list); err == nil || !strings.Contains(err.Error(), "would go out empty: Monthly rent.") {
		t.Errorf("nobody was asked about an empty field: %v", err)
	}
	send := sendCmd{Template: "1", To: []string{"a@x.org"}, Field: []string{"monthly rent=1=2"}, Replace: []string{"house rules=rules.pdf"}}
	d := must(send.draft())
	noErr(t, send.fromTemplate(&d, list))
	if own := d.Template.Documents; own[0].Data["rent"] != "1=2" || !strings.HasSuffix(own[1].File, "rules.pdf") || !d.Sequential || d.Message != "Sign." {
		t.Errorf("%+v", d.Template)
	}
	if len(d.Recipients) != 1 || d.Recipients[0].Email != "records@x.org" {
		t.Errorf("recipients %+v", d.Recipients)
	}
	empty := sendCmd{Template: "1", To: []string{"a@x.org"}}
	meant := office.NewPackage{Signers: []office.Signer{{Email: "a@x.org"}}}
	empty.Field = []string{"rent="}
	if err := empty.fromTemplate(&meant, list); err != nil || !meant.EmptyFields {
		t.Errorf("a field that is to stay empty: %v", err)
	}
	for wrong, says := range map[string]sendCmd{
		"2 templates are called": {Template: "Lease"}, "no template": {Template: "Rent"},
		"no text field": {Template: "1", Field: []string{"x=1"}}, "no document": {Template: "1", Replace: []string{"x=1"}},
		"write it as \"FIELD=VALUE\"": {Template: "1", Field: []string{"rent"}}, "write it as \"DOCUMENT=FILE\"": {Template: "1", Replace: []string{"Lease"}},
		"the field \"Monthly Rent\" twice": {Template: "1", Field: []string{"rent=1", "Monthly Rent=1"}}, "the document \"d2\" twice": {Template: "1", Replace: []string{"House rules=a", "d2=a"}},
	} {
		d := office.NewPackage{Signers: []office.Signer{{Email: "a@x.org"}}}
		if err := says.fromTemplate(&d, list); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestFoldersThatSendAreAddedChangedAndRemoved(t *testing.T) {
	s := newShell(t)
	dir := filepath.Join(t.TempDir(), "Scans")
	list := func(args ...string) []listedFolder {
		t.Helper()
		code, stdout, stderr := s.run(append(args, "--json")...)
		if code != 0 {
			t.Fatalf("%v: %d %s", args, code, stderr)
		}
		var printed folderList
		noErr(t, json.Unmarshal([]byte(stdout), &printed))
		return printed.Folders
	}
	if rows := list("folders"); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	list("folders", "add", dir, "--to", "Ana Ruiz <ana@example.com>")
	rows := list("folders", "add", dir, "--to", "Jan Weber <jan@example.com>", "--ask", "--due-days", "14")
	if len(rows) != 1 || rows[0].Path != dir || !rows[0].Ask || rows[0].DueDays != 14 || rows[0].Signers[0].LastName != "Weber" {
		t.Fatalf("%+v", rows)
	}
	for _, c := range []struct {
		args []string
		want func(f *listedFolder)
	}{
		{[]string{"add", "--name", "Scan {date}"}, func(f *listedFolder) { f.Name = "Scan {date}" }},
		{[]string{"add", "--sequential", "--message", "Please sign."}, func(f *listedFolder) { f.Sequential, f.Message = true, "Please sign." }},
		{[]string{"add"}, func(*listedFolder) {}},
		{[]string{"add", "--to", "eva@example.com"}, func(f *listedFolder) { f.Signers = []folderSigner{{"eva", "", "eva@example.com"}} }},
		{[]string{"add", "--to", "Jan Weber <jan@example.com>"}, func(f *listedFolder) { f.Signers = []folderSigner{{"Jan", "Weber", "jan@example.com"}} }},
		{[]string{"pause"}, func(f *listedFolder) { f.Paused = true }},
		{[]string{"pause"}, func(*listedFolder) {}},
		{[]string{"add", "--no-sequential", "--due-days", "0"}, func(f *listedFolder) { f.Sequential, f.DueDays = false, 0 }},
		{[]string{"resume"}, func(f *listedFolder) { f.Paused = false }},
		{[]string{"add", "--message", "", "--due-days", "14"}, func(f *listedFolder) { f.Message, f.DueDays = "", 14 }},
	} {
		want := rows[0]
		c.want(&want)
		for _, name := range []string{dir, want.ID} {
			if c.args[0] == "add" {
				name = dir // an id names no folder to create
			}
			if rows = list(append([]string{"folders", c.args[0], name}, c.args[1:]...)...); len(rows) != 1 || !reflect.DeepEqual(rows[0], want) {
				t.Fatalf("%v changes more than is named: %+v, want %+v", c.args, rows, want)
			}
		}
	}
	for _, args := range [][]string{{"pause", t.TempDir()}, {"resume", "none"}} {
		if code, _, stderr := s.run(append([]string{"folders"}, args...)...); code != 1 || !strings.Contains(stderr, "is not a watched folder") {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if code, _, stderr := s.run("folders", "add", filepath.Join(t.TempDir(), "new")); code != 1 || !strings.Contains(stderr, "signer") {
		t.Errorf("a new folder without a signer: %d %s", code, stderr)
	}
	if _, stdout, _ := s.run("folders", "list"); !strings.Contains(stdout, dir+": asks first, to Jan Weber") {
		t.Error(stdout)
	}
	if code, _, stderr := s.run("folders", "add", filepath.Join(dir, "Sent"), "--to", "ana@example.com"); code != 1 || !strings.Contains(stderr, "is already watched") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := s.run("folders", "remove", t.TempDir()); code != 1 || !strings.Contains(stderr, "is not a watched folder") {
		t.Errorf("%d %s", code, stderr)
	}
	if rows := list("folders", "remove", rows[0].ID); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}

// here is a run of commands on the shell's data folder, for commands that run until stopped.
func (s shell) here(ctx context.Context, stdout, stderr io.Writer) *run {
	return &run{ctx: ctx, global: commands{globals: globals{Data: s.data, KeyFile: s.data + ".key"}},
		program: Program{Version: "1.2.3", Stdin: strings.NewReader("")}, out: terminal.New(stdout), err: terminal.New(stderr)}
}

// report makes a running office receive an event, as its webhook does.
func (l *local) report(t *testing.T, e office.Event) {
	t.Helper()
	e.Outcome = office.EventPending
	noErr(t, l.agent.Data.Update(func(tx *store.Tx) error {
		_, err := tx.AddEvent(e)
		return err
	}))
	noErr(t, l.agent.RetryEvent(e.ID)) // starts handling it
}

// heard collects output. Safe for concurrent use.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

func TestCommandsThatLookReadTheSameBesideARunningCountersign(t *testing.T) {
	s := newShell(t)
	s.keep(offices(), anEvent("e1", march(2)))
	all := [][]string{{"list"}, {"list", "--json"}, {"list", "--json", "--search", "none"}, {"show", "Lease", "--json"}, {"events", "--json"}, {"events", "--json", "--package", "3333"}, {"show", "Offer"}, {"show", "none"}}
	var alone []string
	for _, args := range all {
		_, stdout, stderr := s.run(args...)
		alone = append(alone, stdout+stderr)
	}
	for _, parts := range [][]string{nil, {"brief"}} {
		r := s.here(t.Context(), io.Discard, io.Discard)
		start := func() (*local, error) { return r.start() }
		if parts != nil {
			start = func() (*local, error) { return r.start(idle) }
		}
		l := must(start())
		for i, args := range all {
			if _, stdout, stderr := s.run(args...); stdout+stderr != alone[i] {
				t.Errorf("%q beside %v:\n%s\nalone:\n%s", args, parts, stdout+stderr, alone[i])
			}
		}
		noErr(t, l.Close())
	}
}

func TestEventsAreFollowedFromOneCountersignToTheNext(t *testing.T) {
	s := newShell(t)
	s.keep(offices(), anEvent("before", time.Now().Add(-time.Minute)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	var said heard
	done := make(chan error, 1)
	go func() {
		err := (&eventsCmd{Follow: true, JSON: true}).Run(s.here(ctx, out, &said))
		out.Close()
		done <- err
	}()
	lines := bufio.NewScanner(in)
	next := func(id, outcome string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no event %s", id)
		}
		var e listedEvent
		noErr(t, json.Unmarshal(lines.Bytes(), &e))
		if e.ID != id || e.Outcome != outcome {
			t.Fatalf("%s, want %s %s", lines.Text(), id, outcome)
		}
	}
	for !strings.Contains(said.String(), "not running") {
		time.Sleep(time.Millisecond)
	}
	office1 := must(s.here(t.Context(), io.Discard, io.Discard).start())
	office1.report(t, anEvent("one", time.Now()))
	next("one", outcomeHandled)
	noErr(t, office1.Close())

	s.keep(nil, anEvent("missed", time.Now()))
	office2 := must(s.here(t.Context(), io.Discard, io.Discard).start())
	next("missed", outcomeHandled)
	odd := anEvent("odd", time.Now())
	odd.Body = []byte(`{"action":"document_signed"}`)
	office2.report(t, odd)
	next("odd", outcomeProblem)
	early := anEvent("early", time.Now().Add(-48*time.Hour)) // as if a clock had been set back
	office2.report(t, early)
	next("early", outcomeHandled)
	cancel()
	if lines.Scan() {
		t.Errorf("and %s", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	noErr(t, office2.Close())
	expect(t, strings.Count(said.String(), "\n"), 1, "it said %d lines: %s", &said)
}

// A client that does not read delays neither the office nor its end.
func TestASlowReaderOfEventsHoldsUpNobody(t *testing.T) {
	s := newShell(t)
	s.keep(offices())
	l := must(s.here(t.Context(), io.Discard, io.Discard).start())
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe() // nobody reads it
	done := make(chan error, 1)
	go func() {
		done <- (&eventsCmd{Follow: true, Since: "2026-01-01"}).Run(s.here(ctx, out, io.Discard))
	}()
	for i := range 50 {
		l.report(t, anEvent(strings.Repeat("e", i+1), time.Now()))
	}
	noErr(t, l.Close())
	cancel()
	in.Close()
	<-done
}
