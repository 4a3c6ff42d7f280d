package download

import (
	"cmp"
	"slices"
	"sync"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
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
func (r *Service) KindWord(s office.Settings, kind office.FileKind) string {
	words := kindWords()
	return cmp.Or(words[cmp.Or(s.Language, r.deps.Language())][kind], words["en"][kind])
}

// otherNames are what j's file is called by offices of other languages. It may have been saved under such a name before
// the state was lost. Of a package whose record cannot be read they are not known: better a second copy than none.
func (r *Service) otherNames(j office.Job) (names []string, err error) {
	kind, template := j.Kind, r.deps.Settings().FileTemplate()
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
		if name := template.Name(p.FileFields(d, kind, words[kind])); name != j.WantedName() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// sameNames are what j's file may be called: as it is wanted, and as offices of other languages would have it.
func (r *Service) sameNames(j office.Job) ([]string, error) {
	others, err := r.otherNames(j)
	return append([]string{j.WantedName()}, others...), err
}

// hasOtherName reports whether j's file, of which saved was received, is in the folder under another of its names, and is
// nobody else's.
func (r *Service) hasOtherName(folder *archive.Folder, j office.Job, saved archive.Saved) (bool, error) {
	names, err := r.sameNames(j)
	if err != nil {
		return false, err
	}
	for _, wanted := range names {
		there, err := folder.Series(wanted)
		if err != nil {
			return false, err
		}
		for _, name := range there {
			if same, err := folder.Matches(name, saved.Size, saved.Digest); err != nil || !same {
				continue
			}
			if mine, err := r.mayHave(j, name, saved.Digest); err != nil || mine {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// mayHave reports whether the file of that name, whose bytes are j's, may become j's: see settle. One whose record cannot
// be read has it.
func (r *Service) mayHave(j office.Job, name, digest string) (bool, error) {
	mine, err := data.Read(r.Data, "who has a file name", func(tx *store.Tx) (bool, error) {
		other, taken, err := tx.JobAt(j.Folder, name)
		return err == nil && (!taken || other.Key() != j.Key() && !hasFile(other, digest)), err
	})
	if store.OfOneRecord(err) {
		return false, nil
	}
	return mine, err
}
