package agent

import (
	"countersign/internal/office"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How facts of one moment become notifications: several documents that one person signs are one, the last signature and
// the saved files are one, and more than momentMany become a summary.
const (
	momentMany   = 5                // notifications within a moment; what is more is told in a summary
	momentLength = 10 * time.Second // how long a moment lasts
	momentSettle = 3 * time.Second  // the pause after which a crowd of facts is over
	momentLimit  = 30 * time.Second // but a summary comes no later than this
	momentQuiet  = 3                // facts found by catching up that are told one by one
	lastHeld     = 20 * time.Second // how long the last signature waits for the files
	partialHeld  = 10 * time.Second // and a person's signature for those on the other documents
)

// notice is one notification.
type notice struct{ title, body string }

// held is a fact that waits to be told, since when.
type held struct {
	fact
	since time.Time
}

// moment turns facts into notifications. It keeps no time of its own; the caller says what time it is, by a clock that
// does not jump. It belongs to one goroutine.
type moment struct {
	waiting []held
	latest  time.Time   // when the last fact came
	raised  []time.Time // of the notifications within the moment
}

// add has facts told when their moment is over.
func (m *moment) add(now time.Time, facts ...fact) {
	for _, f := range facts {
		m.waiting = append(m.waiting, held{f, now})
		m.latest = now
	}
}

// left is how long nothing is to be taken; an hour when nothing waits.
func (m *moment) left(now time.Time) time.Duration {
	if len(m.waiting) == 0 {
		return time.Hour
	}
	next := now.Add(lastHeld)
	known := m.completed()
	for _, h := range m.waiting {
		if due := known.due(h); due.Before(next) {
			next = due
		}
	}
	// What is due and still here waits for the end of a crowd.
	if !next.After(now) {
		next = m.latest.Add(momentSettle)
		if limit := m.waiting[0].since.Add(momentLimit); limit.Before(next) {
			next = limit
		}
	}
	return max(next.Sub(now), announceStep)
}

// take returns the notifications that are due; with all set, those for everything that waits.
func (m *moment) take(now time.Time, all bool) []notice {
	m.raised = slices.DeleteFunc(m.raised, func(t time.Time) bool { return now.Sub(t) >= momentLength })
	ready := m.ready(now, all)
	groups := merge(ready)
	if len(groups) == 0 {
		return nil
	}
	quiet := 0
	for _, f := range ready {
		if f.quiet {
			quiet++
		}
	}
	crowd := quiet > momentQuiet || len(groups)+len(m.raised) > momentMany
	over := all || quiet > momentQuiet || now.Sub(m.latest) >= momentSettle || now.Sub(ready[0].since) >= momentLimit
	if crowd && !over {
		return nil
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(h held) bool {
		return slices.ContainsFunc(ready, func(r held) bool { return r == h })
	})
	notices := make([]notice, 0, len(groups))
	for _, f := range groups {
		notices = append(notices, notice{f.title, f.body})
	}
	if crowd && len(groups) > 1 {
		notices = []notice{summary(groups, quiet > 0)}
	}
	for range notices {
		m.raised = append(m.raised, now)
	}
	return notices
}

// ready are the facts that need not wait any longer.
func (m *moment) ready(now time.Time, all bool) (ready []held) {
	known := m.completed()
	for _, h := range m.waiting {
		if all || !known.due(h).After(now) {
			ready = append(ready, h)
		}
	}
	return ready
}

// completed is what signatures that wait for more news have waited for.
type completed struct {
	saved map[string]bool // packages whose files are there
	all   map[news]bool   // signers who have signed every document
	last  map[news]bool   // signers after whom nobody is left to sign
}

func (m *moment) completed() completed {
	c := completed{map[string]bool{}, map[news]bool{}, map[news]bool{}}
	for _, h := range m.waiting {
		switch h.kind {
		case factSaved:
			c.saved[h.packageID] = true
		case factSigned:
			c.all[h.about()] = c.all[h.about()] || !h.partial
			c.last[h.about()] = c.last[h.about()] || h.complete
		}
	}
	return c
}

// due is when h is to be told. The last signature on a package waits for its files, with which it is one piece of news,
// and a person's signature for those on the other documents.
func (c completed) due(h held) time.Time {
	switch {
	case h.kind != factSigned, c.saved[h.packageID]:
		return h.since
	case c.last[h.about()]:
		return h.since.Add(lastHeld)
	case !c.all[h.about()]:
		return h.since.Add(partialHeld)
	default:
		return h.since
	}
}

// news names what several facts can be about together: one person's signatures on a package, or a package's files.
type news struct {
	packageID, who string
	kind           factKind
}

func (f fact) about() news { return news{f.packageID, f.who, f.kind} }

// merge makes one fact of those that are one piece of news, in the order in which they came.
func merge(facts []held) []fact {
	var merged []fact
	documents := map[news]int{}
	index := map[news]int{}
	last := map[string]string{} // package to the name of who signed it last
	for _, h := range facts {
		about := h.about()
		documents[about]++
		if h.complete {
			last[h.packageID] = h.name
		}
		i, known := index[about]
		if !known || h.kind != factSigned && h.kind != factSaved {
			index[about] = len(merged)
			merged = append(merged, h.fact)
			continue
		}
		h.complete = h.complete || merged[i].complete
		merged[i] = h.fact
	}
	saved := map[string]bool{}
	for i := range merged {
		f := &merged[i]
		switch n := documents[f.about()]; {
		case f.kind == factSigned && n > 1:
			f.body = signedSeveral(n, f.body)
		case f.kind == factSaved:
			saved[f.packageID] = true
			if name := last[f.packageID]; name != "" {
				f.body = fmt.Sprintf("%s signed last. %s", name, f.body)
			}
		}
	}
	return slices.DeleteFunc(merged, func(f fact) bool { return f.complete && saved[f.packageID] })
}

// signedSeveral is what is said beside one person's signatures on several documents: how many, and what comes next.
func signedSeveral(n int, body string) string {
	if _, next, found := strings.Cut(body, ". "); found && strings.HasPrefix(body, documentPrefix) {
		body = next
	} else if strings.HasPrefix(body, documentPrefix) {
		body = ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d documents signed. %s", n, body))
}

// summary tells of many facts at once: how many packages, and the first few facts, finished packages before single
// signatures.
func summary(facts []fact, away bool) notice {
	const show = 3
	about := map[string]bool{}
	var titles []string
	for _, finished := range []bool{true, false} {
		for _, f := range facts {
			about[f.packageID] = true
			if (f.kind == factSaved) == finished && len(titles) < show {
				titles = append(titles, f.title)
			}
		}
	}
	title := office.Counted(len(about), "package changed", "packages changed")
	if away {
		title = office.Counted(len(about), "package changed while you were away", "packages changed while you were away")
	}
	body := strings.Join(titles, " ")
	if more := len(facts) - show; more > 0 {
		body += fmt.Sprintf(" And %d more.", more)
	}
	return notice{title, body}
}
