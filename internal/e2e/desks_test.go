//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
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
	harness.Must(t, json.Unmarshal([]byte(hub.Must("desks", "list", "--json")), &listed))
	if len(listed.Desks) != 2 || listed.Desks[0].Person != harness.Olivia || !listed.Desks[0].Connected || listed.Desks[1].Waiting != 0 {
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
