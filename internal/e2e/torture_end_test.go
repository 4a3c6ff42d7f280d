//go:build linux

package e2e

import (
	"slices"
	"strings"
	"time"
)

// settling is how long the program may take to catch up after everything: it may have been told to wait.
const settling = 3 * time.Minute

// settles lets everyone sign, waits until the program has caught up, and has it do one thing more, in peace.
func (c *torture) settles() {
	c.t.Helper()
	c.service.tell("POST", "/events/disturb", map[string]any{}, nil)
	c.eventually("nothing waits in the outbox", func(s status) bool { return s.Outbox.Pending == 0 })
	for _, p := range c.service.packages() {
		c.service.signAll(p.ID)
	}
	c.catchesUp()
	c.mustSend("In peace", sample(c.t, "Offer 2026-118"))
	c.service.signAll(c.service.named("In peace").ID)
	c.catchesUp()
}

// catchesUp waits until all that has happened at the service has happened here.
func (c *torture) catchesUp() {
	c.t.Helper()
	n := len(c.service.packages())
	// The service itself waits ever longer with events it could not deliver: have them come now.
	for _, e := range c.service.events() {
		if e.Delivered == nil {
			c.service.tell("POST", "/events/redeliver", map[string]string{"event_id": e.ID}, nil)
		}
	}
	c.eventually("every event is delivered and dealt with", func(s status) bool { return c.service.allDelivered() && s.Events.Pending == 0 })
	c.eventually("every package is saved", func(s status) bool { return s.Packages.Saved == n && s.Saves.Pending == 0 })
}

func (c *torture) eventually(what string, ok func(s status) bool) {
	c.t.Helper()
	var last status
	defer func() {
		if c.t.Failed() {
			c.t.Logf("last status: %+v", last)
		}
	}()
	eventuallyWithin(c.t, settling, what, func() bool {
		s, err := c.ask()
		if err == nil {
			last = s
		}
		return err == nil && ok(s)
	})
}

// nothingIsMissing compares what the program has with what the service and the proxy know.
func (c *torture) nothingIsMissing() {
	c.t.Helper()
	packages := c.service.packages()
	byName := map[string]int{}
	for _, p := range packages {
		if byName[p.Name]++; byName[p.Name] > 1 {
			c.loss("%q was sent %d times", p.Name, byName[p.Name])
		}
		if !slices.Contains(c.sent, p.Name) {
			c.loss("%q was never to be sent", p.Name)
		}
	}
	s, accepted, came := c.status(), c.front.accepted(), 0
	for _, a := range c.front.passed() {
		if a.Status/100 == 2 {
			came++
		}
	}
	if s.Events.Received != len(accepted) {
		c.loss("%d events were answered 2xx, %d are stored", len(accepted), s.Events.Received)
	}
	if !s.SignedIn || s.issue("signin") != "" {
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
	failed := c.t.Failed()
	c.savedAsServed(packages...)
	c.filesAreWhole()
	c.toldAtMostOnce()
	if c.t.Failed() && !failed {
		suffered.add(losses, 1)
	}
	suffered.add(events, len(accepted))
	suffered.add(repeats, came-len(accepted))
	suffered.add(packagesMade, len(packages))
	suffered.add(filesSaved, len(c.files()))
	c.t.Logf("%d kills, %d packages, %d files, %d events and %d copies of them", c.kills, len(packages), len(c.files()), len(accepted), came-len(accepted))
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

// toldAtMostOnce checks the notifications: none of them twice, none again in a summary, and those of the last package,
// which nothing disturbed, are there.
func (c *torture) toldAtMostOnce() {
	c.t.Helper()
	key := "Everyone has signed " + quoted("In peace") + "."
	eventually(c.t, "told: "+key, func() bool {
		return slices.ContainsFunc(c.desk.notes.list(), func(n note) bool {
			return n.Title == key && strings.HasPrefix(n.Body, "Ana Ruiz signed last. ") || strings.Contains(n.Body, key)
		})
	})
	told := map[string]int{}
	all := c.desk.notes.list()
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
	c.t.Helper()
	for _, name := range c.files() {
		if onItsWay(name) {
			c.loss("%q was left behind", name)
		}
	}
	names, err := readNames(c.data)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sock") || strings.Contains(name, ".tmp") {
			c.loss("%q was left behind in the data folder", name)
		}
	}
}
