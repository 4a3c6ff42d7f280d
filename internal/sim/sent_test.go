package sim

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// sentOnce checks that a draft results in one package, and that a package and its correction cannot both be signed. It does
// not check drafts of which a trial says that people wanted two.
type sentOnce struct {
	m *model

	drafts   map[string]promise // by name
	refusals int                // number of drafts finally refused by the service
	adds     int                // calls of packages/add
	looked   int                // number of adds at the last count of packages
	may      map[string]int     // name -> how many packages may have it; absent means 1
	corrects map[string]string  // name -> id of the package that it replaces
	stopped  map[string]promise // by name, until somebody sends them after all
}

// promise is a draft that the program has accepted.
type promise struct {
	computer, home int
	files          []string // their names
	signers        int
	copies         []string // addresses
}

// promised records that the program has accepted a draft.
func (x *sentOnce) promised(d office.NewPackage, computer, home int, documents ...string) {
	kept := promise{computer: computer, home: home, signers: len(d.Signers)}
	for _, path := range append(documents, d.Files...) {
		kept.files = append(kept.files, strings.TrimSuffix(filepath.Base(path), ".pdf"))
	}
	for _, r := range d.Recipients {
		kept.copies = append(kept.copies, r.Email)
	}
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.drafts[d.Name] = kept
}

// stops records that a draft must not be sent, because somebody stopped it.
func (x *sentOnce) stops(name string) { x.move(name, x.drafts, x.stopped) }

// goesOn records that it must be sent after all.
func (x *sentOnce) goesOn(name string) { x.move(name, x.stopped, x.drafts) }

func (x *sentOnce) move(name string, from, to map[string]promise) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	if d, known := from[name]; known {
		to[name] = d
		delete(from, name)
	}
}

// goes is the duty to send a draft.
func (x *sentOnce) goes(d office.NewPackage) {
	x.m.w.owes(fmt.Sprintf("%q is sent", d.Name), d.Undo+promptly, false, func() bool {
		x.m.mu.Lock()
		_, wanted := x.drafts[d.Name]
		x.m.mu.Unlock()
		_, sent := x.m.w.atService(d.Name)
		return sent || !wanted || !x.mustGo(d.Name)
	})
}

// countPackages: one package for each draft. Every draft has its own name.
func (x *sentOnce) countPackages() {
	x.m.mu.Lock()
	same := x.adds == x.looked
	x.looked = x.adds
	x.m.mu.Unlock()
	if same {
		return
	}
	for _, s := range x.m.w.services {
		x.lookAtCorrections(s)
		count := map[string]int{}
		for _, p := range s.Packages() {
			if _, stopped := x.stopped[p.Name]; stopped {
				x.m.breaks("what is stopped is not sent: %s has %q", s.name, p.Name)
			}
			if count[p.Name]++; count[p.Name] == max(1, x.may[p.Name])+1 {
				x.m.breaks("one package per draft: %s has %d of %q", s.name, count[p.Name], p.Name)
			}
		}
	}
}

// mustGo reports whether a draft must be sent: a correction only once the old package cannot be signed any more.
func (x *sentOnce) mustGo(name string) bool {
	for _, s := range x.m.w.services {
		for _, p := range s.Packages() {
			if p.PackageID == x.corrects[name] {
				return p.State != "open" && p.State != "executed"
			}
		}
	}
	return true
}

// brought records that a draft was moved to this computer, without its blind copies, which the program tells people.
func (x *sentOnce) brought(name string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	d := x.drafts[name]
	d.computer, d.copies = x.m.w.computer, nil
	x.drafts[name] = d
}

// withdrawals checks that what people wanted withdrawn is withdrawn, and nothing else. It does not check packages that
// everybody signed first, that expired, or whose withdrawal the service refused. Packages are identified by id.
type withdrawals struct {
	m     *model
	mu    sync.Mutex
	asked map[string]bool    // somebody requested it, whether or not the program could store that
	kept  map[string]promise // the program has stored the request
}

// mayWithdraw records that somebody is about to request a withdrawal.
func (x *withdrawals) mayWithdraw(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[id] = true
}

// withdraws records that the program has stored the request.
func (x *withdrawals) withdraws(id string, computer, home int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept[id] = promise{computer: computer, home: home}
	x.m.w.owes("a package is withdrawn: "+id, promptly, false, func() bool {
		return !slices.Contains(x.wished(), id) || x.saidNo(id) || !slices.ContainsFunc(x.m.w.services[home].Packages(), func(p sandbox.Package) bool { return p.PackageID == id && p.State == "open" })
	})
}

// wished are the packages at the service in use that somebody at this computer wants withdrawn, no correction among them.
func (x *withdrawals) wished() (ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, kept := range x.kept {
		if kept.computer == x.m.w.computer && kept.home == x.m.w.current && !slices.Contains(slices.Collect(maps.Values(x.m.sent.corrects)), id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// givesUp records that somebody no longer wants it withdrawn.
func (x *withdrawals) givesUp(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.kept, id)
}

// owedWithdrawals are the packages at the service in use that should be withdrawn and are not. Those that everybody signed
// first, or that expired, stay as they are.
func (x *withdrawals) owedWithdrawals() (owed []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.m.w.services[x.m.w.current].Packages() {
		kept, wished := x.kept[p.PackageID]
		switch {
		case p.State == "rescinded" && !x.asked[p.PackageID]:
			x.m.broken = append(x.m.broken, fmt.Sprintf("nothing is withdrawn that nobody wants withdrawn: %q", p.Name))
		case p.State == "open" && wished && kept.computer == x.m.w.computer && kept.home == x.m.w.current && !x.saidNo(p.PackageID):
			owed = append(owed, fmt.Sprintf("%q is not withdrawn", p.Name))
		}
	}
	return owed
}

// saidNo reports whether people see that the service refused a withdrawal.
func (x *withdrawals) saidNo(id string) bool {
	row, known, err := x.m.w.office.Package(id)
	return x.m.sent.refusals > 0 && err == nil && known && row.Withdrawal != nil && row.Withdrawal.State == office.WithdrawRefused
}

// wish is something that people may want, according to the settings.
type wish string

const (
	wishNews         wish = "news"
	wishSignatures   wish = "signatures"
	wishCertificates wish = "certificates"
	wishMasters      wish = "master files"
	wishIndex        wish = "index"
)

// wishes are what people want, and since when: it does not concern what happened before.
type wishes struct {
	m      *model
	wanted map[wish]time.Time
}

// never is later than everything.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// lookAtWishes records since when people want what. It does not concern what happened before.
func (x *wishes) lookAtWishes() {
	s := x.m.w.settings
	for what, wanted := range map[wish]bool{
		wishNews: s.Notify != office.NotifyNone, wishSignatures: s.Notify == office.NotifyEach,
		wishCertificates: s.SaveCAC, wishMasters: s.SaveMaster, wishIndex: s.Index,
	} {
		if !wanted {
			x.wanted[what] = never
		} else if x.wants(what) == never {
			x.wanted[what] = x.m.w.now()
		}
	}
}

// wants is since when people have wanted it without interruption.
func (x *wishes) wants(what wish) time.Time {
	if since, known := x.wanted[what]; known {
		return since
	}
	return never
}

// owedFiles are the documents of a package that people must find in a folder.
func (x *wishes) owedFiles(e executed) []string {
	owed := slices.Clone(e.documents)
	if e.at.After(x.wants(wishCertificates)) {
		owed = append(owed, e.certificates...)
	}
	if e.at.After(x.wants(wishMasters)) {
		owed = append(owed, e.master)
	}
	return owed
}
