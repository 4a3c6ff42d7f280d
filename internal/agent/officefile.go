package agent

import (
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/transfer"
	"countersign/internal/office"
)

// OfficeFile is what an administrator hands to the people of an office.
type OfficeFile = transfer.Shared

const (
	// OfficeEnding is how the name of such a file ends.
	OfficeEnding = office.OwnEnding
	// OfficeName is what one is called where nobody has another name for it.
	OfficeName = "Office" + OfficeEnding
)

// WriteOffice writes a new file for the people of an office.
func WriteOffice(path string, o OfficeFile) error { return transfer.WriteShared(path, o) }

// ReadOffice reads such a file.
func ReadOffice(path string) (OfficeFile, error) { return transfer.ReadShared(path) }

// IsOfficeFile says whether a file is meant to be one, by its name.
func IsOfficeFile(path string) bool { return transfer.IsShared(path) }

// ReadOffice is the function of that name, for the window.
func (a *Agent) ReadOffice(path string) (OfficeFile, error) { return ReadOffice(path) }

// Office is the file of this office, with other settings in place of the kept ones; with the client secret that is kept, as
// far as it belongs to their service.
func (a *Agent) Office(s office.Settings) (OfficeFile, error) {
	secret, err := a.account.Vault().Get(issuer.ClientSecret.Of(issuer.Of(s)))
	if err != nil {
		return OfficeFile{}, err
	}
	return OfficeFile{Settings: s, ClientSecret: string(secret)}, nil
}
