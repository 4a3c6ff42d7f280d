package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/archive"
	"countersign/internal/store"
)

// nameChooser chooses names that are free in the folder. Without a folder, because it is missing just now, only the
// names of other jobs are known; the save itself never overwrites.
type nameChooser struct {
	template archive.Template
	path     string
	folder   *archive.Folder
}

func (a *Agent) openNames(s Settings, folder string) nameChooser {
	t, err := archive.Parse(s.NameTemplate)
	if err != nil {
		t, _ = archive.Parse(archive.DefaultTemplate)
	}
	n := nameChooser{template: t, path: folder}
	if f, err := archive.OpenFolder(folder); err == nil {
		n.folder = f
	}
	return n
}

func (n nameChooser) close() {
	if n.folder != nil {
		n.folder.Close()
	}
}

// free is the first of rel, "rel (2)", "rel (3)" ... that no file and no other job has.
func (n nameChooser) free(tx *store.Tx, rel string) string {
	for i := 1; ; i++ {
		name := rel
		if i > 1 {
			name = archive.Numbered(rel, i)
		}
		if taken, err := tx.TargetTaken(n.path, name); err == nil && taken {
			continue
		}
		if n.exists(name) {
			continue
		}
		return name
	}
}

// exists reports whether a file of that name is known to be in the folder.
func (n nameChooser) exists(rel string) bool {
	if n.folder == nil {
		return false
	}
	there, err := n.folder.Exists(rel)
	return err == nil && there
}

// saveFolder is where p's documents go: the office's folder, or beside the original when that was chosen and it is
// still there.
func (a *Agent) saveFolder(s Settings, p store.Package) string {
	if !s.BesideOriginal || p.DraftID == "" {
		return s.SaveTo
	}
	if d, ok := a.DraftOf(p.ID); ok && len(d.Files) > 0 {
		folder := filepath.Dir(d.Files[0].Path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
	}
	return s.SaveTo
}

// plan records a job per wanted file of an executed package, each with its name, before the first byte is asked for.
func (a *Agent) plan(tx *store.Tx, p *store.Package, s Settings, names nameChooser) (planned int, err error) {
	add := func(d store.Document, kind archive.Kind) error {
		j := store.Job{
			PackageID: p.ID, DocumentID: d.ID, Kind: string(kind), Folder: names.path,
			State: store.JobPending, Planned: a.now(), NextTry: a.now(),
		}
		j.Wanted = names.template.Name(nameFields(*p, d, kind, p.Executed))
		j.Target = names.free(tx, j.Wanted)
		ok, err := tx.PlanJob(j)
		if ok {
			planned++
		}
		return err
	}
	for _, d := range p.Documents {
		if d.ID == "" {
			continue
		}
		if err := add(d, archive.Executed); err != nil {
			return planned, err
		}
		if s.SaveCAC {
			if err := add(d, archive.CAC); err != nil {
				return planned, err
			}
		}
	}
	if s.SaveMaster {
		if err := add(store.Document{}, archive.MasterFile); err != nil {
			return planned, err
		}
	}
	p.Planned = true
	return planned, nil
}

// nameFields are what a file's name is made of.
func nameFields(p store.Package, d store.Document, kind archive.Kind, executed time.Time) archive.Fields {
	return archive.Fields{
		Date: executed.Local(), Package: packageName(p), Document: documentName(d), Signer: firstSigner(p),
		Reference: p.Reference, Kind: kind,
	}
}

func firstSigner(p store.Package) string {
	if len(p.Signers) == 0 {
		return ""
	}
	return strings.TrimSpace(p.Signers[0].FirstName + " " + p.Signers[0].LastName)
}

// reference is the caller's own word for p, from its external data.
func reference(p store.Package) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.ExternalData, &members) != nil {
		return ""
	}
	for _, name := range []string{"reference", "value"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}
