package announce

import (
	"slices"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
)

// How simultaneous facts become notifications: a person's signatures on several documents become one, so do the last signature and
// the saved files, and more than momentMany become a summary.
const (
	momentMany     = 5                // notifications within momentLength; beyond that, a summary
	momentLength   = 10 * time.Second // the period for momentMany
	momentSettle   = 3 * time.Second  // a burst of facts ends after this pause
	momentLimit    = 30 * time.Second // the maximum delay of a summary
	momentCaughtUp = 3                // up to this many facts found by catching up are reported singly
	lastHeld       = 20 * time.Second // how long the last signature waits for the files
	partialHeld    = 10 * time.Second // how long a person's signature waits for their next one, on another document
	signingLimit   = time.Minute      // the maximum delay of a signature
)

type notice struct {
	title, body message.Message
	about       office.Subject
	files       int // number of its signed files that are saved
}

// held is a waiting fact, with when it came.
type held struct {
	office.Fact
	since time.Time
}

// digest turns facts into notifications. It has no clock: the caller passes the time, from a clock that does not jump. Only one
// goroutine uses it.
type digest struct {
	waiting []held
	latest  time.Time       // when the last fact arrived
	raised  []time.Time     // times of the notifications within momentLength
	signed  map[string]bool // packages of which it was said that everyone has signed, until their files are saved
	told    []string        // keys of the facts taken; the caller of take records and clears them, and said
	said    []string        // packages new in signed

	// burst is the first fact of a burst, which waits for its summary until enough time has passed. It saves examining all facts
	// again for each new one, of which hundreds a second may arrive; nil if they must be examined.
	burst *held
}

// add queues facts for their notification.
func (m *digest) add(now time.Time, facts ...office.Fact) {
	for _, f := range facts {
		m.waiting = append(m.waiting, held{f, now})
		m.latest = now
		if f.CaughtUp { // these are reported at once
			m.burst = nil
		}
	}
}

// left returns how long until take has something to do; an hour if no facts wait.
func (m *digest) left(now time.Time) time.Duration {
	if len(m.waiting) == 0 {
		return time.Hour
	}
	next := now
	if m.burst == nil {
		next = m.nextDue(now)
	}
	// Facts that are due but were not taken wait for a summary, until no more arrive.
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

// over reports whether the burst that begins with first has ended.
func (m *digest) over(now time.Time, first held) bool {
	return now.Sub(m.latest) >= momentSettle || now.Sub(first.since) >= momentLimit
}

// take returns the notifications that are due; with all, those for every waiting fact.
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
		if f.Again {
			caughtUp += momentCaughtUp
		}
	}
	burst := caughtUp > momentCaughtUp || len(groups)+len(m.raised) > momentMany
	if burst && !all && caughtUp <= momentCaughtUp && !m.over(now, ready[0]) {
		if len(groups) > momentMany {
			m.burst = &ready[0]
		}
		return nil
	}
	ends := m.ends()
	for _, h := range ready {
		m.told = append(m.told, h.Key)
	}
	rest := ready
	m.waiting = slices.DeleteFunc(m.waiting, func(h held) bool { // in the same order as in ready
		taken := len(rest) > 0 && rest[0] == h
		if taken {
			rest = rest[1:]
		}
		return taken
	})
	crowd := slices.DeleteFunc(slices.Clone(groups), func(f office.Fact) bool { return !burst || f.PackageID == "" })
	summed := len(crowd) > 1
	notices := make([]notice, 0, len(groups))
	for _, f := range groups {
		if summed && f.PackageID != "" {
			continue
		}
		if saysEveryone(f) && ends[f.PackageID] != about(f) {
			f.Body = message.Message{}
		}
		if f.Kind == office.FactSaved && f.Files > 0 && m.signed[f.PackageID] {
			f.Title = message.PackageSaved(f.Called)
		}
		notices = append(notices, notice{f.Title, message.Then(f.Document, f.Body), f.About(), f.Files})
	}
	if summed {
		notices = append(notices, summary(crowd, caughtUp > 0))
	} else {
		m.note(groups)
	}
	for range notices {
		m.raised = append(m.raised, now)
	}
	return notices
}

// ends says with which of the waiting facts people are told that everyone has signed a package: by one status, all may have signed.
func (m *digest) ends() map[string]news {
	ends := map[string]news{}
	for _, h := range m.waiting {
		if (h.Kind == office.FactSaved || saysEveryone(h.Fact)) && ends[h.PackageID].kind != office.FactSaved {
			ends[h.PackageID] = about(h.Fact)
		}
	}
	return ends
}

func saysEveryone(f office.Fact) bool {
	return f.Kind == office.FactSigned && f.Body == message.EveryoneHasSigned()
}

// note remembers of which packages it was just said that everyone has signed, so that it is not said again with their files.
func (m *digest) note(told []office.Fact) {
	if m.signed == nil {
		m.signed = map[string]bool{}
	}
	for _, f := range told {
		switch {
		case f.Kind == office.FactSaved:
			delete(m.signed, f.PackageID)
		case f.Kind == office.FactSigned && f.Last:
			m.signed[f.PackageID], m.said = true, append(m.said, f.PackageID)
		}
	}
}

// ready returns the facts that need not wait any longer.
func (m *digest) ready(now time.Time, all bool) (ready []held) {
	known := m.completed()
	for _, h := range m.waiting {
		if all && !h.Unasked || !known.due(h).After(now) {
			ready = append(ready, h)
		}
	}
	return ready
}

// completed says which news the waiting signatures have been waiting for.
type completed struct {
	saved map[string]bool // packages whose files are saved
	all   map[news]bool   // signers who have signed every document
	last  map[news]bool   // signers after whom nobody is left to sign
	began map[news]time.Time
	ended map[news]time.Time // of the waiting signatures, which are reported together
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

// due is when to report h. A package's last signature waits for the files, because both are one piece of news, and a person's
// signature waits for theirs on the other documents: all of one person's in a package are due at the same time.
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

// news identifies what several facts may have in common: one person's signatures in a package, or a package's files.
type news struct {
	packageID, who string
	kind           office.FactKind
}

func about(f office.Fact) news { return news{f.PackageID, f.Who, f.Kind} }

// merge joins facts that are one piece of news, in order of arrival.
func merge(facts []held) []office.Fact {
	var merged []office.Fact
	documents := map[news]int{}
	index := map[news]int{}
	last := map[string]office.Fact{} // by package: the last signature by time, otherwise by arrival
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
	// Each event after the one of the executed package claims to be the last signature; only one is reported with the files.
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

// summary reports many facts about packages at once: the number of packages, and the most important fact about each of the first few.
// The title, the body and a press count the same packages.
func summary(facts []office.Fact, away bool) notice {
	const show, most = 3, 30 // most: packages shown by a press, limited because desktops store the notification
	var ids []string
	news := map[string]office.Fact{}
	for _, f := range facts {
		was, known := news[f.PackageID]
		if !known {
			ids = append(ids, f.PackageID)
		}
		if f.Kind >= was.Kind {
			news[f.PackageID] = f
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return int(news[b].Kind - news[a].Kind) })
	var said []message.Message
	for _, id := range ids[:min(show, len(ids))] {
		said = append(said, news[id].Title)
	}
	n := notice{title: message.PackagesChanged(len(ids))}
	if away {
		n.title = message.PackagesChangedMeanwhile(len(ids))
	}
	switch more := len(ids) - show; {
	case more > 0:
		said = append(said, message.AndMore(more))
	case len(ids) == 1:
		said = append(said, news[ids[0]].Body)
	}
	n.body = message.Then(said...)
	switch {
	case len(ids) == 1:
		n.about = office.PackageSubject(ids[0])
	case len(ids) <= most:
		n.about = office.PackagesSubject(ids)
	default:
		n.about = office.ActivitySubject
	}
	return n
}
