package outbox

import (
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docPeople names the document with the people who were asked to sign before, most recent first.
const docPeople = "people"

// maxPeople is how many people are remembered.
const maxPeople = 500

// People returns the signers used before, most recent first.
func (r *Service) People() ([]office.Signer, error) {
	people, _, err := data.Doc[[]office.Signer](r.Data, docPeople)
	return people, err
}

// PutPeople has people be all that are known.
func PutPeople(tx *store.Tx, people []office.Signer) error {
	return tx.PutDoc(docPeople, people[:min(len(people), maxPeople)])
}

// rememberPeople puts signers to the front of the people used before.
func rememberPeople(tx *store.Tx, signers []office.Signer) error {
	var people []office.Signer
	if _, err := tx.GetDoc(docPeople, &people); err != nil {
		return err
	}
	for _, s := range slices.Backward(signers) {
		people = slices.DeleteFunc(people, func(x office.Signer) bool { return x.Email == s.Email })
		people = slices.Insert(people, 0, office.Signer{FirstName: s.FirstName, LastName: s.LastName, Email: s.Email})
	}
	return tx.PutDoc(docPeople, people[:min(len(people), maxPeople)])
}
