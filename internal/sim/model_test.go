package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/office"
)

// model checks the program. It knows what the services did, what the inbox answered, what is in the folders and what people
// were told, and compares; it shares no code with the agent and asks it only for what people can see.
type model struct {
	w       *world
	secrets secrets

	mu       sync.Mutex
	broken   []string             // promises broken at the moment they were checked
	executed map[string]executed  // by name
	did      map[string]int       // somebody's action, and on how many documents
	since    map[string]time.Time // computer and service -> when somebody first signed in

	stored    storedEvents
	record    recordKept
	saved     savedFiles
	sent      sentOnce
	news      news
	wishes    wishes
	withdrawn withdrawals
	apart     keptApart
	list      list
	index     index
	health    health
	idle      idle
	window    window
}

// executed is a package that everybody has signed.
type executed struct {
	service   *service
	at        time.Time
	documents []string

	certificates []string
	master       string
}

func newModel(w *world) *model {
	m := &model{w: w, executed: map[string]executed{}, did: map[string]int{}, since: map[string]time.Time{}}
	m.stored = storedEvents{m: m, ackedOn: map[string]int{}, came: map[string]bool{}, kept: map[string]bool{}}
	m.record = recordKept{m}
	m.saved = newSavedFiles(m)
	m.sent = sentOnce{m: m, drafts: map[string]promise{}, may: map[string]int{}, corrects: map[string]string{}, stopped: map[string]promise{}}
	m.news = newNews(m)
	m.wishes = wishes{m: m, wanted: map[wish]time.Time{}}
	m.withdrawn = withdrawals{m: m, asked: map[string]bool{}, kept: map[string]promise{}}
	m.apart = keptApart{m: m, owner: map[string]string{}, heard: map[heard]bool{}}
	m.index = index{m: m, sizes: map[string]int64{}, listed: map[string]bool{}}
	m.list = list{m: m, lines: map[string]office.PackedLine{}, answers: map[string]answer{}}
	m.health = health{m: m, expected: expectations()}
	m.idle = idle{m: m}
	m.window = window{m: m}
	return m
}

func (m *model) breaks(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}

// holds records a promise as broken if there is an error.
func (m *model) holds(promise string, err error) {
	if err != nil {
		m.breaks("%s: %v", promise, err)
	}
}

// member records that somebody has signed in at the service in use.
func (m *model) member() {
	key := fmt.Sprintf("%d %d", m.w.computer, m.w.current)
	now, shown := m.w.now(), m.w.clock()
	if shown.After(now) {
		now = shown // the program goes by this time
	}
	if m.since[key].IsZero() {
		m.since[key] = now.Add(5 * time.Minute)
	}
}

func (m *model) signed(s *service, t turn) {
	for _, p := range s.Packages() {
		if p.PackageID != t.pack {
			continue
		}
		m.mu.Lock()
		m.did["signed "+t.who+" "+p.Name] += len(p.Documents)
		m.mu.Unlock()
		if p.State != "executed" {
			continue
		}
		e := executed{service: s, at: m.w.now(), master: p.PackageID + ".master"}
		for _, d := range p.Documents {
			e.documents = append(e.documents, d.DocumentID+".executed")
			e.certificates = append(e.certificates, d.DocumentID+".cac")
		}
		m.mu.Lock()
		m.executed[p.Name] = e
		_, ours := m.sent.drafts[p.Name]
		m.mu.Unlock()
		if s == m.w.services[m.w.current] && (ours || e.at.After(m.since[fmt.Sprintf("%d %d", m.w.computer, m.w.current)])) {
			m.w.owes(fmt.Sprintf("%q is saved", p.Name), promptly, true, func() bool {
				m.saved.lookAtFolders()
				unsaved := slices.ContainsFunc(m.wishes.owedFiles(e), func(d string) bool { return !m.saved.isSaved(d) })
				return len(m.saved.out) > 0 || !unsaved
			})
			m.w.owes(fmt.Sprintf("people are told that everyone has signed %q", p.Name), promptly, true, func() bool {
				return len(m.saved.out) > 0 || m.news.heard("finished "+p.Name, e.at, wishNews)
			})
		}
	}
}

// replaced records a new computer: the former one's knowledge is gone.
func (m *model) replaced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored.acked, m.stored.unseen, m.stored.ackedOn, m.stored.kept, m.news.isOpen = nil, nil, map[string]int{}, map[string]bool{}, map[string]bool{}
}

// check checks what must be true at any moment, and returns what is not.
func (m *model) check() []string {
	m.saved.lookAtFolders()
	m.stored.lookAtEvents()
	m.sent.countPackages()
	m.news.lookAtClaims()
	m.wishes.lookAtWishes()
	m.news.lookAtNews()
	m.health.lookAtHealth()
	m.lookAtDuties()
	m.list.lookAtChanges()
	m.window.lookAtSignals()
	m.index.lookAtIndexes()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}
