package sim

import (
	"countersign/internal/office"
	"path/filepath"
	"strings"
)

// sentOnce judges: one package a draft, and never two of which one corrects the other. It is silent about a draft of which the trial says
// that people meant two.
type sentOnce struct {
	m *model

	drafts   map[string]promise // by name
	refusals int                // of drafts by the service, for good
	adds     int                // calls of packages/add
	looked   int                // of them when packages were counted last
	may      map[string]int     // name -> how many packages of it there may be; absent is 1
	corrects map[string]string  // name -> the id of the package whose place it takes
}

// promise is a draft that the program has taken.
type promise struct {
	computer, home int
	files          []string // their names
	signers        int
	copies         []string // addresses
}

// promised hears that the program has taken a draft.
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

// countPackages: one package per draft. Every draft has a name of its own.
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
			if count[p.Name]++; count[p.Name] == max(1, x.may[p.Name])+1 {
				x.m.breaks("one package per draft: %s has %d of %q", s.name, count[p.Name], p.Name)
			}
		}
	}
}

// mustGo reports whether a draft is to be sent: one that corrects a package is, once nobody can sign that any more.
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

// brought hears that a draft has come to this computer, without its blind copies, of which the program tells people.
func (x *sentOnce) brought(name string) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	d := x.drafts[name]
	d.computer, d.copies = x.m.w.computer, nil
	x.drafts[name] = d
}
