package sim

import (
	"countersign/internal/office"
	"path/filepath"
	"strings"
)

// sentOnce judges: one package a draft. It is silent about a draft of which the trial says that people meant two.
type sentOnce struct {
	m *model

	drafts   map[string]promise // by name
	refusals int                // of drafts by the service, for good
	adds     int                // calls of packages/add
	looked   int                // of them when packages were counted last
	may      map[string]int     // name -> how many packages of it there may be; absent is 1
}

// promise is a draft that the program has taken.
type promise struct {
	computer, home int
	files          []string // their names
	signers        int
}

// promised hears that the program has taken a draft.
func (x *sentOnce) promised(d office.NewPackage, computer, home int) {
	kept := promise{computer: computer, home: home, signers: len(d.Signers)}
	for _, path := range d.Files {
		kept.files = append(kept.files, strings.TrimSuffix(filepath.Base(path), ".pdf"))
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
		count := map[string]int{}
		for _, p := range s.Packages() {
			if count[p.Name]++; count[p.Name] == max(1, x.may[p.Name])+1 {
				x.m.breaks("one package per draft: %s has %d of %q", s.name, count[p.Name], p.Name)
			}
		}
	}
}
