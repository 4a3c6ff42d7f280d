package outbox

import (
	"slices"

	"countersign/internal/office"
	"countersign/internal/store"
)

// docPeople names the document with the people who were asked to sign before, most recent first.
const docPeople = "people"

// maxPeople is how many people are remembered.
const maxPeople = 500

// People returns the signers used before, most recent first.
func (r *Room) People() []office.Signer {
	var people []office.Signer
	err := r.Data.View(func(tx *store.Tx) error {
		_, err := tx.GetDoc(docPeople, &people)
		return err
	})
	if err != nil {
		r.Log.Error("read the people", "err", err)
	}
	return people
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
