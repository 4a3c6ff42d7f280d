package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"bytes"

	"countersign/internal/office"
)

// model judges. It knows what the services did, what the inbox answered, what lies in the folders and what people were
// told, and compares; it shares no code with the agent and asks it only what people can see.
type model struct {
	w       *world
	secrets secrets

	mu       sync.Mutex
	broken   []string            // promises that were seen to be broken as it happened
	acked    []string            // ids of events that were answered 2xx, in order ...
	unseen   []string            // ... and those of them that are yet to be looked for
	ackedOn  map[string]int      // how many dates the computer had shown by then
	came     map[string]bool     // ids of events that were sent here
	owner    map[string]string   // token or id -> the host of the service it came from
	heard    map[heard]bool      // the answers it was read from
	summed   bool                // people were given a summary since the last look
	expiries []string            // packages of which people were told that they have run out, to be looked at
	facts    []fact              // that people are to be told
	claims   []string            // packages of which people were told that they are saved, to be looked at
	executed map[string]executed // by name

	kept      map[string]bool    // events that the program has shown to have
	files     map[string]saved   // path -> what is there
	paths     []string           // files that were there with the last look ...
	listings  map[string]listing // what the folders held then ...
	next      int                // which of them to look at again ...
	edits     int                // and how often people changed files ...
	editsSeen int                // until then
	own       map[string][]byte  // path -> a file of people's own
	places    map[string]int     // document -> how many files of it may be there; absent is 1
	given     map[string]string
	listed    map[string]bool // files of the services that were looked at
	settled   map[string]bool // computer and fact -> people need not be told any more
	due       []fact          // packages that are to run out ...
	isOpen    map[string]bool // ... and those that the program knew to be open when they were looked at last
	withdrawn withdrawals
	wanted    map[wish]time.Time // what people want, since when
	brought   map[string]bool    // documents that a drive brought back to a folder that was made anew
	gone      map[string]bool    // documents that people took away
	first     map[string]int     // which computer saved a document first
	out       map[string]bool    // where the files of folders are that are not there for a while
	drafts    map[string]promise
	refusals  int                  // of drafts by the service, for good
	since     map[string]time.Time // computer and service -> when somebody signed in first
	did       map[string]int       // what somebody did, and on how many documents
	heardOf   map[string]int       // computer and fact -> how often people were told of it
	problems  map[string]told      // problem -> when people were told of it
	expected  []*expectation
	adds      int            // calls of packages/add
	looked    int            // of them when packages were counted last
	may       map[string]int // name -> how many packages of it there may be; absent is 1

	goroutines int // at the first rest; 0 before it
}

// heard is an answer of a service.
type heard struct {
	host string
	sum  uint64
}

var sums = maphash.MakeSeed()

// promise is a draft that the program has taken.
type promise struct {
	computer, home int
	files          []string // their names
	signers        int
}

// executed is a package that everybody has signed.
type executed struct {
	service   *service
	at        time.Time
	documents []string

	certificates []string
	master       string
}

// saved is a document in a folder.
type saved struct {
	size     int64
	modified time.Time
	document string
}

func newModel(w *world) *model {
	return &model{
		w: w, listings: map[string]listing{}, ackedOn: map[string]int{}, came: map[string]bool{}, owner: map[string]string{}, heard: map[heard]bool{}, kept: map[string]bool{},
		files: map[string]saved{}, own: map[string][]byte{}, places: map[string]int{}, given: map[string]string{}, listed: map[string]bool{},
		executed: map[string]executed{}, settled: map[string]bool{}, isOpen: map[string]bool{}, wanted: map[wish]time.Time{}, did: map[string]int{}, heardOf: map[string]int{}, problems: map[string]told{}, expected: expectations(), gone: map[string]bool{}, brought: map[string]bool{}, first: map[string]int{}, out: map[string]bool{}, drafts: map[string]promise{}, may: map[string]int{}, since: map[string]time.Time{},
	}
}

func (m *model) breaks(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}

// acknowledged hears of an event that was answered 2xx.
func (m *model) acknowledged(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.ackedOn[id]; !known {
		m.ackedOn[id] = m.w.shown()
		m.acked, m.unseen = append(m.acked, id), append(m.unseen, id)
	}
}

var aToken = regexp.MustCompile(`"(?:access_token|refresh_token|secret)":"([^"]+)"`)

// ours owns the ids that the program itself has named first.
const ours = "the office"

// asked hears of a request: nothing that one service gave out may reach another.
func (m *model) asked(r *http.Request, said []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/packages/add") {
		m.adds++
	}
	// A document may be fetched from where the service keeps its files, but with nothing that belongs to the service.
	elsewhere := !slices.ContainsFunc(m.w.services, func(s *service) bool { return strings.HasSuffix(s.url, "//"+r.URL.Host) })
	if elsewhere && (r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.Referer() != "") {
		m.broken = append(m.broken, fmt.Sprintf("what is meant for the service reaches nobody else: %s was asked", r.URL))
	}
	m.w.duties.asked(r.URL.Path)
	if bytes.Contains(said, fmt.Appendf(nil, "%% contract %d part", private)) {
		m.broken = append(m.broken, "nothing is sent that nobody put there: "+r.URL.Path+" was given a private file")
	}
	words := allIDs(r.URL.String())
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		words = append(words, token)
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		for _, part := range strings.Split(string(said), "&") {
			_, value, _ := strings.Cut(part, "=")
			words = append(words, value)
		}
	} else {
		words = append(words, allIDs(string(said))...)
	}
	for _, word := range words {
		switch from := m.owner[word]; {
		case from == "" && isID(word):
			m.owner[strings.Clone(word)] = ours
		case from != "" && from != ours && from != r.URL.Host:
			m.broken = append(m.broken, fmt.Sprintf("nothing of one service reaches another: %s of %s was sent to %s %s", word, from, r.Method, r.URL))
		}
	}
}

// answered hears of an answer.
func (m *model) answered(r *http.Request, status int, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if status/100 == 4 && status != 401 && status != 408 && status != 429 {
		m.refusals++
	}
	if key := (heard{r.URL.Host, maphash.Bytes(sums, body)}); m.heard[key] { // as most are
		return
	} else {
		m.heard[key] = true
	}
	text := string(body)
	if strings.Contains(text, `_token":"`) || strings.Contains(text, `"secret":"`) {
		for _, found := range aToken.FindAllStringSubmatch(text, -1) {
			m.owner[found[1]] = r.URL.Host
			m.secrets.add(found[1])
		}
	}
	for _, id := range allIDs(text) {
		if m.owner[id] == "" {
			m.owner[strings.Clone(id)] = r.URL.Host
		}
	}
}

// promised hears that the program has taken a draft.
func (m *model) promised(d office.NewPackage, computer, home int) {
	kept := promise{computer: computer, home: home, signers: len(d.Signers)}
	for _, path := range d.Files {
		kept.files = append(kept.files, strings.TrimSuffix(filepath.Base(path), ".pdf"))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drafts[d.Name] = kept
}

// member hears that somebody has signed in at the service in use.
func (m *model) member() {
	key := fmt.Sprintf("%d %d", m.w.computer, m.w.current)
	now, shown := m.w.now(), m.w.clock()
	if shown.After(now) {
		now = shown // by which the program goes
	}
	if m.since[key].IsZero() {
		m.since[key] = now.Add(5 * time.Minute)
	}
}

// signed hears of a signature.
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
		m.mu.Unlock()
	}
}

// away hears that people took a document out of the folder; quiet when the program was done with it.
func (m *model) away(document string, quiet bool) {
	m.gone[document] = true
	if quiet {
		m.places[document] = 0
	}
}

// replaced hears of a new computer: what the former one knew is gone.
func (m *model) replaced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acked, m.unseen, m.ackedOn, m.kept, m.isOpen = nil, nil, map[string]int{}, map[string]bool{}, map[string]bool{}
}

// unplugged hears that the drive with a folder is away, and that its files are at aside for so long: people may have the folder
// made anew meanwhile, and other files of these names are in it then.
func (m *model) unplugged(folder, aside string) {
	m.out[aside] = true
	m.carried(folder, aside)
}

// plugged hears that the drive is back.
func (m *model) plugged(folder, aside string) {
	delete(m.out, aside)
	m.carried(aside, folder)
}

// carried hears that people moved all files of a folder to another one.
func (m *model) carried(from, to string) {
	for path, f := range m.files {
		if filepath.Dir(path) == from {
			m.unfiled(path)
			m.filed(filepath.Join(to, filepath.Base(path)), f)
		}
	}
}

// check judges what must be true at any moment. It returns what is not.
func (m *model) check() []string {
	m.lookAtFolders()
	m.lookAtEvents()
	m.countPackages()
	m.lookAtClaims()
	m.lookAtWishes()
	m.lookAtNews()
	m.lookAtHealth()
	m.lookAtDuties()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

// looksAgain is how many of the files that were met before are looked at again each time. Where all is judged, all are.
const looksAgain = 40

// lookAtFolders: a file under its final name is whole, is a document that was signed, is the only one of it, and stays. What
// is new or gone is seen at once; what looks different than before, within the next looks: a year has thousands of files.
func (m *model) lookAtFolders() { m.look(looksAgain) }

func (m *model) look(again int) {
	var paths []string
	for _, folder := range m.w.folders() {
		paths = append(paths, m.documentsIn(folder)...)
	}
	for range min(again, len(paths)) {
		m.next = (m.next + 1) % len(paths)
		m.lookAtFile(paths[m.next])
	}
	if slices.Equal(paths, m.paths) && m.edits == m.editsSeen {
		return
	}
	m.paths, m.editsSeen = paths, m.edits
	there := make(map[string]bool, len(paths))
	for _, path := range paths {
		there[path] = true
		if _, known := m.files[path]; !known {
			m.lookAtFile(path)
		}
	}
	for path, f := range m.files {
		if !there[path] && !m.out[filepath.Dir(path)] {
			m.breaks("a saved document stays: %s is gone, which was %s", path, f.document)
			delete(m.files, path)
		}
	}
}

// listing is what a folder holds at a moment.
type listing struct {
	size    int64
	changed time.Time
	paths   []string
}

// documentsIn are the paths of what people see in a folder, in no order but the same for as long as nothing changes. The names are
// read when the folder has changed. Linux gives a folder that was looked at another time with the next change since 6.13; before,
// one within some milliseconds of a look may be seen later: at the next change, or at rest.
func (m *model) documentsIn(folder string) []string {
	info, err := os.Stat(folder)
	if err != nil {
		return nil
	}
	was, known := m.listings[folder]
	if known && was.size == info.Size() && was.changed.Equal(info.ModTime()) {
		return was.paths
	}
	is := listing{size: info.Size(), changed: info.ModTime()}
	names, _ := namesIn(folder)
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			is.paths = append(is.paths, folder+string(filepath.Separator)+name)
		}
	}
	m.listings[folder] = is
	return is.paths
}

// namesIn are the names in a folder, in no order but the same for as long as nothing changes.
func namesIn(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// lookAtFile meets a file that is new or looks different.
func (m *model) lookAtFile(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	was, known := m.files[path]
	if !known || was.size != info.Size() || !was.modified.Equal(info.ModTime()) {
		m.meet(path, info, was, known)
	}
}

// filed notes what people did: there is a document at path.
func (m *model) filed(path string, f saved) {
	m.files[path] = f
	m.edits++
}

// unfiled notes what people did: there is none any more.
func (m *model) unfiled(path string) {
	delete(m.files, path)
	m.edits++
}

// meet looks at a file that is new or looks different.
func (m *model) meet(path string, info os.FileInfo, was saved, known bool) {
	body, err := os.ReadFile(path)
	if err != nil {
		m.breaks("a saved document can be read: %v", err)
		return
	}
	if own, ok := m.own[path]; ok {
		if !bytes.Equal(body, own) {
			m.breaks("nothing is overwritten: %s was a file of people's own", path)
		}
		return
	}
	document := m.documentOf(body)
	switch {
	case document == "":
		m.breaks("a file under its final name is a whole document: %s has %d bytes that no service gave", path, len(body))
	case known && was.document != document:
		m.breaks("nothing is overwritten: %s was %s and is %s", path, was.document, document)
	}
	m.files[path] = saved{info.Size(), info.ModTime(), document}
	if _, known := m.first[document]; !known {
		m.first[document] = m.w.computer
	}
	var copies []string
	for other, f := range m.files {
		if f.document == document {
			copies = append(copies, other)
		}
		if other != path && document != "" && !m.brought[document] && f.document == document && inSeries(other) == inSeries(path) {
			m.breaks("a document is found where it is: %s is %s and %s", document, other, path)
		}
	}
	slices.Sort(copies)
	if most := m.most(document); document != "" && len(copies) > most {
		m.breaks("a document is saved once: %s is in %q", document, copies)
	}
}

var aNumber = regexp.MustCompile(` \(\d+\)(\.[a-z]+)$`)

// inSeries is a path without the number that tells it from others of its name. Whoever saves a document looks whether it is
// among those.
func inSeries(path string) string { return aNumber.ReplaceAllString(path, "$1") }

// most is how many files of a document may be there. Each new computer does not know what people took out of the folder
// before, nor which folders there were.
func (m *model) most(document string) int {
	n, ok := m.places[document]
	if !ok {
		n = 1
	}
	return n + m.w.computer - m.first[document]
}

// documentOf names the document with these bytes, "" for none.
func (m *model) documentOf(body []byte) string {
	if !bytes.HasPrefix(body, []byte("%PDF-")) {
		return ""
	}
	sum := sha256.Sum256(body)
	key := hex.EncodeToString(sum[:])
	if m.given[key] == "" {
		m.lookAtServices()
	}
	return m.given[key]
}

// lookAtServices notes what the services have to give.
func (m *model) lookAtServices() {
	for _, s := range m.w.services {
		entries, err := os.ReadDir(filepath.Join(s.dir, "signed"))
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(s.dir, "signed", e.Name())
			if m.listed[path] || !strings.HasSuffix(e.Name(), ".pdf") {
				continue
			}
			body, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			sum := sha256.Sum256(body)
			m.listed[path] = true
			m.given[hex.EncodeToString(sum[:])] = strings.TrimSuffix(e.Name(), ".pdf")
		}
	}
}

// lookAtClaims: what people were told of is there.
func (m *model) lookAtClaims() {
	m.mu.Lock()
	claims := m.claims
	if len(m.out) > 0 { // what was saved last may be on the drive that is away
		claims = nil
	} else {
		m.claims = nil
	}
	m.mu.Unlock()
	for _, name := range claims {
		for _, document := range m.executed[name].documents {
			if !m.isSaved(document) {
				m.breaks("people are told the truth: %s is not saved", name)
			}
		}
	}
}

// documents are those that are in a folder.
func (m *model) documents() map[string]bool {
	there := make(map[string]bool, len(m.files))
	for _, f := range m.files {
		there[f.document] = true
	}
	return there
}

// isSaved reports whether a document is in a folder, or was until people took it.
func (m *model) isSaved(document string) bool {
	if m.gone[document] {
		return true
	}
	for _, f := range m.files {
		if f.document == document {
			return true
		}
	}
	return false
}

// forgetsAfter is how many dates the computer must have shown since an event before it may be forgotten: as many as the settings
// say by default, less those that it has shown before to a program that did not count them. Its clock jumps often: a month of life
// has more dates than a season.
const forgetsAfter = office.KeepEventsDays * 3 / 4

// lookAtEvents: what was answered 2xx is stored, until it is old.
func (m *model) lookAtEvents() {
	if m.w.office == nil {
		return
	}
	m.mu.Lock()
	missing := m.unseen
	m.unseen = nil
	m.mu.Unlock()
	missing = slices.DeleteFunc(missing, func(id string) bool { return m.kept[id] })
	if len(missing) == 0 {
		return
	}
	read := m.eachPage(min(200, 8+2*len(missing)), func(events []office.Event) (more bool) { // what came last is on the first
		for _, e := range events {
			m.kept[e.ID] = true
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { return m.kept[id] })
		return len(missing) > 0
	})
	if !read {
		return
	}
	shown := m.w.shown()
	for _, id := range missing {
		m.mu.Lock()
		old := shown-m.ackedOn[id] >= forgetsAfter
		m.mu.Unlock()
		if !old {
			m.breaks("what was answered 2xx is stored: event %s is not", id)
		}
		m.kept[id] = true
	}
}

// delivered notes an event that is on its way here.
func (m *model) delivered(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came[id] = true
}

// lookAtEventList: what is shown as an event came as one, and is shown once.
func (m *model) lookAtEventList() {
	m.mu.Lock()
	came := maps.Clone(m.came)
	m.mu.Unlock()
	m.eachPage(200, func(events []office.Event) (more bool) {
		for _, e := range events {
			if !came[e.ID] {
				m.breaks("an event is shown once: nobody sent %s, or it is there twice", e.ID)
			}
			delete(came, e.ID)
		}
		return true
	})
}

// eachPage gives the events that the office shows to look, newest first and so many at once, for as long as it wants more of them.
// It reports whether they could be read.
func (m *model) eachPage(many int, look func([]office.Event) (more bool)) bool {
	var before office.Cursor
	for {
		events, next, err := m.w.office.Events(before, many)
		if err != nil {
			m.breaks("the events can be read: %v", err)
			return false
		}
		if len(events) == 0 || !look(events) || next == before || next == "" {
			return true
		}
		before = next
	}
}

// restarted looks at all events again: another process reads them.
func (m *model) restarted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unseen, m.kept = slices.Clone(m.acked), map[string]bool{}
}

// countPackages: one package per draft. Every draft has a name of its own.
func (m *model) countPackages() {
	m.mu.Lock()
	same := m.adds == m.looked
	m.looked = m.adds
	m.mu.Unlock()
	if same {
		return
	}
	for _, s := range m.w.services {
		count := map[string]int{}
		for _, p := range s.Packages() {
			if count[p.Name]++; count[p.Name] == max(1, m.may[p.Name])+1 {
				m.breaks("one package per draft: %s has %d of %q", s.name, count[p.Name], p.Name)
			}
		}
	}
}
