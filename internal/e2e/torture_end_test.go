//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/e2e/harness"
)

// settling is how long the program may take to catch up after everything: it may have been told to wait.
const settling = 3 * time.Minute

// settles lets everyone sign, waits until the program has caught up, and has it do one thing more, in peace.
func (c *torture) settles() {
	c.T.Helper()
	c.Service.Tell("POST", "/events/disturb", map[string]any{}, nil)
	c.eventually("nothing waits in the outbox", func(s harness.Status) bool { return s.Outbox.Pending == 0 })
	for _, p := range c.Service.Packages() {
		c.Service.SignAll(p.ID)
	}
	c.catchesUp()
	c.endsInPeace()
}

// endsInPeace sends a package that nothing disturbs, of which people are told by its name. A summary of what went before takes in
// whatever is signed until it is raised, and names no more than a few: then it is the next package's turn.
func (c *torture) endsInPeace() {
	c.T.Helper()
	for n := range 3 {
		name := fmt.Sprintf("In peace %d", n)
		before := len(c.Desk.Notes.List())
		c.mustSend(name, harness.Sample(c.T, "Offer 2026-118"))
		c.Service.SignAll(c.Service.Named(name).ID)
		c.catchesUp()
		key, told, summary := "Everyone has signed "+quoted(name)+".", false, false
		harness.Eventually(c.T, "told: "+key, func() bool {
			notes := c.Desk.Notes.List()[before:]
			// Where the files come long before or after the signature, it has a notification of its own.
			alone := slices.ContainsFunc(notes, func(n harness.Note) bool { return n.Title == "Ana Ruiz signed "+quoted(name)+"." })
			for _, note := range notes {
				told = told || note.Title == key && (alone || strings.HasPrefix(note.Body, "Ana Ruiz signed. ")) || strings.Contains(note.Body, key)
				summary = summary || strings.Contains(note.Title, "packages changed")
			}
			return told || summary
		})
		if told {
			return
		}
	}
	c.loss("people were told of no package by its name: %+v", c.Desk.Notes.List())
}

// catchesUp waits until all that has happened at the service has happened here.
func (c *torture) catchesUp() {
	c.T.Helper()
	n := len(c.Service.Packages())
	// The service itself waits ever longer with events it could not deliver: have them come now.
	for _, e := range c.Service.Events() {
		if e.Delivered == nil {
			c.Service.Tell("POST", "/events/redeliver", map[string]string{"event_id": e.ID}, nil)
		}
	}
	c.eventually("every event is delivered and dealt with", func(s harness.Status) bool { return c.Service.AllDelivered() && s.Events.Pending == 0 })
	c.eventually("every package is saved", func(s harness.Status) bool { return s.Packages.Saved == n && s.Saves.Pending == 0 })
}

func (c *torture) eventually(what string, ok func(s harness.Status) bool) {
	c.T.Helper()
	var last harness.Status
	defer func() {
		if c.T.Failed() {
			c.T.Logf("last status: %+v", last)
		}
	}()
	harness.EventuallyWithin(c.T, settling, what, func() bool {
		s, err := c.Ask()
		if err == nil {
			last = s
		}
		return err == nil && ok(s)
	})
}

// nothingIsMissing compares what the program has with what the service and the proxy know.
func (c *torture) nothingIsMissing() {
	c.T.Helper()
	packages := c.Service.Packages()
	byName := map[string]int{}
	for _, p := range packages {
		if byName[p.Name]++; byName[p.Name] > 1 {
			c.loss("%q was sent %d times", p.Name, byName[p.Name])
		}
		if !slices.Contains(c.sent, p.Name) {
			c.loss("%q was never to be sent", p.Name)
		}
	}
	s, accepted, came := c.Status(), c.Front.Accepted(), 0
	for _, a := range c.Front.Passed() {
		if a.Status/100 == 2 {
			came++
		}
	}
	if s.Events.Received != len(accepted) {
		c.loss("%d events were answered 2xx, %d are stored", len(accepted), s.Events.Received)
	}
	if !s.SignedIn || s.Issue("signin") != "" {
		c.loss("the sign-in was lost: %+v", s.Health)
	}
	if s.Events.Problems != 0 || s.Saves.Failed != 0 || s.Outbox.Failed != 0 || s.Packages.Total != len(packages) {
		c.loss("at the end: %+v; the service has %d packages", s, len(packages))
	}
	// A draft may stay unknown only when there is no package of it.
	if missing := c.neverSent(byName); s.Outbox.Unknown > missing {
		c.loss("%d drafts are unknown, %d never became packages", s.Outbox.Unknown, missing)
	}
	for _, name := range c.denied {
		if byName[name] != 0 {
			c.loss("%q was sent, though send said that it could be tried again", name)
		}
	}
	failed := c.T.Failed()
	savedAsServed(c.Office, packages...)
	c.filesAreWhole()
	c.toldAtMostOnce()
	if c.T.Failed() && !failed {
		harness.Suffered.Add(harness.Losses, 1)
	}
	harness.Suffered.Add(harness.Events, len(accepted))
	harness.Suffered.Add(harness.Repeats, came-len(accepted))
	harness.Suffered.Add(harness.PackagesMade, len(packages))
	harness.Suffered.Add(harness.FilesSaved, len(c.Files()))
	c.T.Logf("%d kills, %d packages, %d files, %d events and %d copies of them", c.kills, len(packages), len(c.Files()), len(accepted), came-len(accepted))
}

// neverSent is how many of the packages that were to be sent the service has not got.
func (c *torture) neverSent(byName map[string]int) (n int) {
	for _, name := range c.sent {
		if byName[name] == 0 {
			n++
		}
	}
	return n
}

// toldAtMostOnce checks the notifications: none of them twice, none again in a summary.
func (c *torture) toldAtMostOnce() {
	c.T.Helper()
	told := map[string]int{}
	all := c.Desk.Notes.List()
	for _, n := range all {
		if strings.Contains(n.Title, "packages changed") {
			continue
		}
		key := n.Title
		if document, _, ok := strings.Cut(n.Body, ". "); ok && strings.HasPrefix(document, "Document: ") {
			key += "|" + document
		}
		told[key]++
	}
	for key, times := range told {
		title, document, _ := strings.Cut(key, "|")
		for _, n := range all {
			// A summary names no documents, so that it cannot be held against one of several.
			if document == "" && strings.Contains(n.Title, "packages changed") {
				times += strings.Count(n.Body, title)
			}
		}
		if times > 1 {
			c.loss("told %d times: %s", times, key)
		}
	}
}

// leavesNothingBehind checks the folders after a clean end: no file on its way, no socket.
func (c *torture) leavesNothingBehind() {
	c.T.Helper()
	for _, name := range c.Files() {
		if onItsWay(name) {
			c.loss("%q was left behind", name)
		}
	}
	names, err := harness.ReadNames(c.Data)
	harness.Must(c.T, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".sock") || strings.Contains(name, ".tmp") {
			c.loss("%q was left behind in the data folder", name)
		}
	}
}
