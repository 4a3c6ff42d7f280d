package download

import (
	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// PreviewName is what the files of a real package, the latest one, would be called with s; of a made-up one where
// there is none. A pattern that is wrong is an *office.ConfigError, as Settings.Check finds it.
func (r *Service) PreviewName(s office.Settings) (string, error) {
	t, err := filename.Parse(s.Normal().NameTemplate)
	if err != nil {
		return "", &office.ConfigError{Fields: []office.FieldError{office.TemplateFinding(err)}}
	}
	p, err := data.Read(r.Data, "the latest package", latestPackage)
	if err != nil {
		return "", err
	}
	p.Executed.Time = r.Now()
	return t.Name(p.FileFields(p.Documents[0], office.FileSigned, r.KindWord(s, office.FileSigned))), nil
}

// latestPackage is the latest package that has documents, or one that shows what names look like.
func latestPackage(tx *store.Tx) (office.Package, error) {
	latest := office.Package{
		Name: "Lease Sonnenweg 4", Reference: "2026-118",
		Signers:   []office.Signer{{FirstName: "Jan", LastName: "Weber"}},
		Documents: []office.Document{{ID: "1", Name: "Lease"}},
	}
	err := tx.Packages(func(p office.Package) bool {
		if len(p.Documents) > 0 {
			latest = p
		}
		return len(p.Documents) == 0
	})
	return latest, err
}
