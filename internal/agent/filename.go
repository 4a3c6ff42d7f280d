package agent

import (
	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/store"
)

// PreviewName is what the files of a real package, the latest one, would be called with s; of a made-up one where
// there is none. A pattern that is wrong is a *ConfigError, as Check finds it.
func (a *Agent) PreviewName(s office.Settings) (string, error) {
	t, err := archive.Parse(s.Normal().NameTemplate)
	if err != nil {
		return "", &ConfigError{Fields: []office.FieldError{office.TemplateFinding(err)}}
	}
	p := office.Package{
		Name: "Lease Sonnenweg 4", Reference: "2026-118",
		Signers:   []office.Signer{{FirstName: "Jan", LastName: "Weber"}},
		Documents: []office.Document{{ID: "1", Name: "Lease"}},
	}
	err = a.Data.View(func(tx *store.Tx) error {
		return tx.Packages(func(x office.Package) bool {
			if len(x.Documents) == 0 {
				return true
			}
			p = x
			return false
		})
	})
	if err != nil {
		return "", err
	}
	return t.Name(p.FileFields(p.Documents[0], archive.Executed, a.saves.KindWord(s, archive.Executed), a.Now())), nil
}
