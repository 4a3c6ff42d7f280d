package announce

import (
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// dueKey names the one notification there ever is of a package that is due soon.
func dueKey(packageID string) string { return "due/" + packageID }

// DueSoon is the fact that p is to be signed soon and is not, when people were not told yet. Call it in the commit that
// records it.
func (r *Service) DueSoon(tx *store.Tx, p office.Package, now time.Time) ([]office.Fact, error) {
	return untold(tx, office.Fact{Key: dueKey(p.ID), PackageID: p.ID, Kind: office.FactDeadline,
		Title: office.DueText(p.DisplayName(), now.Local(), p.Due), Body: unsigned(p)})
}

// ToldDue reports whether people were told that a package is due soon.
func (r *Service) ToldDue(tx *store.Tx, packageID string) bool { return tx.Told(dueKey(packageID)) }

// Expired is the fact that p can be signed no more, when people were not told yet. One that is opened again with another
// due date may expire again. Call it in the commit that records it.
func (r *Service) Expired(tx *store.Tx, p office.Package) ([]office.Fact, error) {
	return untold(tx, office.Fact{
		Key: "expired/" + p.ID + "/" + p.Due.UTC().Format("20060102150405"), PackageID: p.ID, Kind: office.FactDeadline,
		Title: message.Expired(p.DisplayName()), Body: unsigned(p), When: p.Ended(),
	})
}

// unsigned says who has not signed p, as far as their names are known.
func unsigned(p office.Package) message.Message {
	var names []string
	for _, s := range p.Unsigned() {
		if name := s.DisplayName(); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return message.Message{}
	}
	return message.NotSignedBy(names)
}
