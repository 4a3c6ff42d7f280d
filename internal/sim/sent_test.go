package sim

import (
	"countersign/internal/office"
	"path/filepath"
	"strings"
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
