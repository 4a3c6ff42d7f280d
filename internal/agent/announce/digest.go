package announce

import (
	"slices"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
)

// How facts of one moment become notifications: several documents that one person signs are one, the last signature and
// the saved files are one, and more than momentMany become a summary.
const (
	momentMany     = 5                // notifications within a moment; what is more is told in a summary
	momentLength   = 10 * time.Second // how long a moment lasts
	momentSettle   = 3 * time.Second  // the pause after which a burst of facts is over
	momentLimit    = 30 * time.Second // but a summary comes no later than this
	momentCaughtUp = 3                // facts found by catching up that are told one by one
	lastHeld       = 20 * time.Second // how long the last signature waits for the files
	partialHeld    = 10 * time.Second // and a person's signature for the next one, on another document
	signingLimit   = time.Minute      // but people hear of somebody who signs no later than this
)

type notice struct {
	title, body message.Message
	about       office.Subject
	files       int // the signed files of it that are saved
}

// held is a fact that waits to be told, since when.
type held struct {
	office.Fact
	since time.Time
}

// digest turns facts into notifications. It keeps no time of its own; the caller says what time it is, by a clock that
// does not jump. It belongs to one goroutine.
type digest struct {
	waiting []held
	latest  time.Time   // when the last fact came
	raised  []time.Time // of the notifications within the moment
	told    []string    // keys of the facts that were taken; whoever takes notes them and empties it

	// burst is the first fact of more than are told one by one: only time ends that they wait for a summary. While more of
	// them come, hundreds a second, they are not looked through again for each; nil when they are to be.
	burst *held
}

// add has facts told when their moment is over.
func (m *digest) add(now time.Time, facts ...office.Fact) {
	for _, f := range facts {
		m.waiting = append(m.waiting, held{f, now})
		m.latest = now
		if f.CaughtUp { // what is found so is told at once
			m.burst = nil
		}
	}
}

// left is how long until something is to be taken; an hour when nothing waits.
func (m *digest) left(now time.Time) time.Duration {
	if len(m.waiting) == 0 {
		return time.Hour
	}
	next := now
	if m.burst == nil {
		next = m.nextDue(now)
	}
	// What is due and was not taken waits until no more facts come, to be told in a summary.
	if !next.After(now) {
		next = m.latest.Add(momentSettle)
		if limit := m.waiting[0].since.Add(momentLimit); limit.Before(next) {
			next = limit
		}
	}
	return max(next.Sub(now), loop.MinPause)
}

func (m *digest) nextDue(now time.Time) time.Time {
	next := now.Add(lastHeld)
	known := m.completed()
	for _, h := range m.waiting {
		due := known.due(h)
		if h.Unasked {
			due = earlier(due, now.Add(unaskedLook))
		}
		next = earlier(next, due)
	}
	return next
}

// over says whether the burst that begins with first is over.
func (m *digest) over(now time.Time, first held) bool {
	return now.Sub(m.latest) >= momentSettle || now.Sub(first.since) >= momentLimit
}

// take returns the notifications that are due; with all set, those for everything that waits.
func (m *digest) take(now time.Time, all bool) []notice {
	m.raised = slices.DeleteFunc(m.raised, func(t time.Time) bool { return now.Sub(t) >= momentLength })
	if m.burst != nil && !all && !m.over(now, *m.burst) {
		return nil
	}
	m.burst = nil
	ready := m.ready(now, all)
	groups := merge(ready)
	if len(groups) == 0 {
		return nil
	}
	caughtUp := 0
	for _, f := range ready {
		if f.CaughtUp {
			caughtUp++
		}
	}
	burst := caughtUp > momentCaughtUp || len(groups)+len(m.raised) > momentMany
	if burst && !all && caughtUp <= momentCaughtUp && !m.over(now, ready[0]) {
		if len(groups) > momentMany {
			m.burst = &ready[0]
		}
		return nil
	}
	for _, h := range ready {
		m.told = append(m.told, h.Key)
	}
	rest := ready
	m.waiting = slices.DeleteFunc(m.waiting, func(h held) bool { // in the order in which ready has them
		taken := len(rest) > 0 && rest[0] == h
		if taken {
			rest = rest[1:]
		}
		return taken
	})
	notices := make([]notice, 0, len(groups))
	for _, f := range groups {
		notices = append(notices, notice{f.Title, message.Then(f.Document, f.Body), f.About(), f.Files})
	}
	if burst && len(groups) > 1 {
		notices = []notice{summary(groups, caughtUp > 0)}
	}
	for range notices {
		m.raised = append(m.raised, now)
	}
	return notices
}

// ready are the facts that need not wait any longer.
func (m *digest) ready(now time.Time, all bool) (ready []held) {
	known := m.completed()
	for _, h := range m.waiting {
		if all && !h.Unasked || !known.due(h).After(now) {
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
	began map[news]time.Time
	ended map[news]time.Time // of all their signatures that wait, which are told together
}

func (m *digest) completed() completed {
	c := completed{map[string]bool{}, map[news]bool{}, map[news]bool{}, map[news]time.Time{}, map[news]time.Time{}}
	for _, h := range m.waiting {
		switch h.Kind {
		case office.FactSaved:
			c.saved[h.PackageID] = true
		case office.FactSigned:
			c.all[about(h.Fact)] = c.all[about(h.Fact)] || !h.Partial
			c.last[about(h.Fact)] = c.last[about(h.Fact)] || h.Last || h.Latest
			if _, known := c.began[about(h.Fact)]; !known {
				c.began[about(h.Fact)] = h.since
			}
			c.ended[about(h.Fact)] = h.since
		}
	}
	return c
}

// due is when h is to be told. The last signature on a package waits for its files, with which it is one piece of news,
// and a person's signature for those on the other documents: all of one person's on a package are due at the same moment.
func (c completed) due(h held) time.Time {
	by := about(h.Fact)
	latest := c.began[by].Add(signingLimit)
	switch {
	case h.Unasked:
		return h.since.Add(unaskedHeld)
	case h.Kind != office.FactSigned, c.saved[h.PackageID]:
		return h.since
	case c.last[by] && !h.Filed:
		return earlier(c.ended[by].Add(lastHeld), latest)
	case !c.all[by]:
		return earlier(c.ended[by].Add(partialHeld), latest)
	default:
		return c.began[by]
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// news names what several facts can be about together: one person's signatures on a package, or a package's files.
type news struct {
	packageID, who string
	kind           office.FactKind
}

func about(f office.Fact) news { return news{f.PackageID, f.Who, f.Kind} }

// merge makes one fact of those that are one piece of news, in the order in which they came.
func merge(facts []held) []office.Fact {
	var merged []office.Fact
	documents := map[news]int{}
	index := map[news]int{}
	last := map[string]office.Fact{} // package to its last signature: the one made last, else the one heard of last
	for _, h := range facts {
		about := about(h.Fact)
		documents[about]++
		if h.Latest || h.Last && !last[h.PackageID].Latest {
			last[h.PackageID] = h.Fact
		}
		i, known := index[about]
		if !known || h.Kind != office.FactSigned && h.Kind != office.FactSaved {
			index[about] = len(merged)
			merged = append(merged, h.Fact)
			continue
		}
		h.Last, h.Latest = h.Last || merged[i].Last, h.Latest || merged[i].Latest
		merged[i] = h.Fact
	}
	saved := map[string]bool{}
	for i := range merged {
		f := &merged[i]
		switch n := documents[about(*f)]; {
		case f.Kind == office.FactSigned && n > 1:
			f.Title, f.Document = manySigned(*f, n), message.Message{}
		case f.Kind == office.FactSaved:
			saved[f.PackageID] = true
			switch by := last[f.PackageID]; {
			case by.Name == "":
			case by.Latest && !by.Alone:
				f.Body = message.Then(message.LastSigner(by.Name), f.Body)
			default:
				f.Body = message.Then(message.HasSigned(by.Name), f.Body)
			}
		}
	}
	// Events that come after that of the executed package are the last signature, each of them; one is told with the files.
	return slices.DeleteFunc(merged, func(f office.Fact) bool {
		return f.Kind == office.FactSigned && (f.Last || f.Latest) && saved[f.PackageID] && f.Who == last[f.PackageID].Who
	})
}

// manySigned says that one person signed several documents of a package.
func manySigned(f office.Fact, n int) message.Message {
	if f.Name == "" {
		return message.SomeoneSignedDocuments(n, f.Called)
	}
	return message.SignedDocuments(f.Name, n, f.Called)
}

// summary tells of many facts at once: how many packages, and the first few facts, finished packages before single
// signatures.
func summary(facts []office.Fact, away bool) notice {
	const show, most = 3, 30 // most packages that a press on it shows: desktops keep what they are handed
	about := map[office.Subject]bool{}
	var packages []string
	var titles []message.Message
	for _, finished := range []bool{true, false} {
		for _, f := range facts {
			if id, ok := f.About().Package(); ok && !about[f.About()] {
				packages = append(packages, id)
			}
			about[f.About()] = true
			if (f.Kind == office.FactSaved) == finished && len(titles) < show {
				titles = append(titles, f.Title)
			}
		}
	}
	title := message.PackagesChanged(len(about))
	if away {
		title = message.PackagesChangedMeanwhile(len(about))
	}
	if more := len(facts) - show; more > 0 {
		titles = append(titles, message.AndMore(more))
	}
	n := notice{title: title, body: message.Then(titles...)}
	switch {
	case len(about) == 1:
		n.about = facts[0].About()
	case len(packages) == len(about) && len(packages) <= most:
		n.about = office.PackagesSubject(packages)
	default:
		n.about = office.ActivitySubject
	}
	return n
}
