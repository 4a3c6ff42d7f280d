package download

import (
	"cmp"
	"slices"
	"sync"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// kindWords are what kinds of files are called in the names of files, by language. A file keeps the name that it was
// planned with, whatever language the office chooses later.
var kindWords = sync.OnceValue(func() map[string]map[office.FileKind]string {
	all := map[string]map[office.FileKind]string{}
	for _, code := range message.Languages() {
		p, err := message.NewPrinter(code)
		if err != nil {
			panic(err) // the words travel in the program, and a test reads them
		}
		all[code] = map[office.FileKind]string{office.FileSigned: p.Text(message.FileSigned()),
			office.FileCertificate: p.Text(message.FileCertificate()), office.FileMaster: p.Text(message.FileMaster())}
	}
	return all
})

// KindWord is what a kind of file is called in the language of an office.
func (r *Room) KindWord(s office.Settings, kind office.FileKind) string {
	words := kindWords()
	return cmp.Or(words[cmp.Or(s.Language, r.needs.Language())][kind], words["en"][kind])
}

// otherNames are what j's file is called by offices of other languages. It may have been saved under such a name before
// the state was lost. Of a package whose record cannot be read they are not known: better a second copy than none.
func (r *Room) otherNames(j office.Job) (names []string, err error) {
	kind, template := j.Kind, r.needs.Settings().FileTemplate()
	if !template.Says(kind) {
		return nil, nil
	}
	p, err := data.Read(r.Data, "a package", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.Package(j.PackageID)
		return p, err
	})
	if store.OfOneRecord(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var d office.Document
	if i := slices.IndexFunc(p.Documents, func(d office.Document) bool { return d.ID == j.DocumentID }); i >= 0 {
		d = p.Documents[i]
	}
	for _, words := range kindWords() {
		if name := template.Name(p.FileFields(d, kind, words[kind], p.Executed)); name != j.WantedName() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// hasOtherName reports whether j's file, of which saved was received, is in the folder under the name that it has in
// another language, and is no other job's.
func (r *Room) hasOtherName(folder *archive.Folder, j office.Job, saved archive.Saved) (bool, error) {
	names, err := r.otherNames(j)
	if err != nil {
		return false, err
	}
	for _, wanted := range names {
		for i := 1; ; i++ {
			name := filename.Numbered(wanted, i)
			if there, err := folder.Exists(name); err != nil || !there {
				break
			}
			if same, err := folder.Matches(name, saved.Size, saved.Digest); err != nil || !same {
				continue
			}
			if taken, err := r.reserved(j.Folder, name); err != nil || !taken {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// reserved reports whether a job has that place; one whose record cannot be read has.
func (r *Room) reserved(folder, name string) (bool, error) {
	taken, err := data.Read(r.Data, "who has a file name", func(tx *store.Tx) (bool, error) {
		_, taken, err := tx.JobAt(folder, name)
		return taken, err
	})
	if store.OfOneRecord(err) {
		return true, nil
	}
	return taken, err
}
