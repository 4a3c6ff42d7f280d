package hotfolder

import (
	"slices"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What it means that a document comes into its folder again is decided here, by what became of the draft that was made of it:
//
//   - It was never sent, and is not going to be: this one is sent.
//   - It is about to be sent, or people can sign it, and this file has the same name and the same people: it is that draft's,
//     and the activity says so. While people can sign it, that holds for as long as a program may take to write a file twice.
//   - In all other cases it is held for a person, who is told why.

// echo is how soon the same bytes under the same name are one file that its program wrote twice, and no second sending.
const echo = 2 * time.Minute

// progress is how far a document of a folder has come.
type progress int

const (
	unsent  progress = iota // it was not sent, and nothing sends it by itself
	waiting                 // it is to be sent, or a person decides whether it is
	signing                 // people can sign it, as far as is known
	ended                   // it was sent, and nobody waits for it any more; or that may be so
)

// progressOf is how far the draft of that id has come, or the one that took its place.
func progressOf(tx *store.Tx, id string) (progress, error) {
	d, known, err := latest(tx, id)
	switch {
	case err != nil && !store.OfOneRecord(err):
		return ended, err
	case err != nil, !known:
		return ended, nil // it may have been sent
	case wasSent(d):
	case d.State == office.DraftFailed, d.State == office.DraftCancelled:
		return unsent, nil
	default:
		return waiting, nil
	}
	p, known, err := tx.PackageByDraft(d.ID)
	if err != nil || !known || p.State.Over() || p.State == office.PackageExecuted || p.Withdrawal != nil || p.SomeoneDeclined() {
		return ended, err
	}
	return signing, nil
}

// latest is the draft of that id, or the last one that took its place.
func latest(tx *store.Tx, id string) (d office.Draft, known bool, err error) {
	for ; id != ""; id = d.ReplacedBy {
		if d, known, err = tx.Draft(id); err != nil || !known {
			break
		}
	}
	return d, known, err
}

// wasSent reports whether the service has d: it said so, or a person found it out.
func wasSent(d office.Draft) bool {
	return d.State == office.DraftSent || d.State == office.DraftCancelled && d.Was == office.DraftUnknown
}

// seen is a file that became a draft.
type seen struct {
	Name  string    `json:"name"`
	Draft string    `json:"draft"`
	Time  time.Time `json:"time"`
	Day   int       `json:"day"` // the counted day
}

func seenDoc(folder, sha256 string) string { return prefixSeen + folder + "/" + sha256 }

// cameBefore is the file that became a draft with these bytes. Of a record that cannot be read that much is certain, and the name
// is that of the file at hand.
func cameBefore(tx *store.Tx, doc, name string) (s seen, before bool, err error) {
	known, err := tx.GetDoc(doc, &s)
	if err != nil || known {
		return s, known, err
	}
	names, err := tx.DocNames(doc)
	return seen{Name: name}, len(names) > 0, err
}

// repeats decides about d, the draft of in's file, when its document came before: it holds d with the reason, or returns the draft
// whose file this is. Else it notes that the document came.
func (r *Service) repeats(tx *store.Tx, in office.Intake, d *office.Draft) (twin string, err error) {
	doc := seenDoc(d.Folder, d.Files[0].SHA256)
	before, again, err := cameBefore(tx, doc, in.Name)
	if err != nil {
		return "", err
	}
	far := unsent
	if again {
		if far, err = progressOf(tx, before.Draft); err != nil {
			return "", err
		}
	}
	switch age := r.Now().Sub(before.Time); {
	case far == unsent:
		day, err := tx.Day()
		if err != nil {
			return "", err
		}
		return "", tx.PutDoc(doc, seen{in.Name, d.ID, r.Now(), day})
	case in.Found: // and its record alone was lost
		if far == waiting && !hasIntake(tx, before.Draft) {
			return before.Draft, nil
		}
	case before.Name == in.Name && (far == waiting || far == signing && age.Abs() < echo):
		first, _, err := tx.Draft(before.Draft)
		if err != nil && !store.OfOneRecord(err) {
			return "", err
		}
		if sameTerms(first, *d) {
			return before.Draft, nil
		}
	}
	d.State, d.Problem = office.DraftHeld, message.FileSentBefore(before.Name)
	if far == waiting {
		d.Problem = message.FileWaitsAlready(before.Name)
	}
	return "", nil
}

// hasIntake reports whether there is a record of the file of a draft.
func hasIntake(tx *store.Tx, draft string) bool {
	all, err := intakesIn(tx)
	return err != nil || slices.ContainsFunc(all, func(x office.Intake) bool { return x.Draft == draft && !x.Again })
}

// sameTerms reports whether two drafts of one document ask the same of the same people.
func sameTerms(a, b office.Draft) bool {
	return a.Name == b.Name && a.Message == b.Message && a.Sequential == b.Sequential && a.Due.Equal(b.Due) && a.By == b.By &&
		slices.Equal(a.Signers, b.Signers) && slices.Equal(a.Recipients, b.Recipients)
}
