package announce

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Signed are the facts of signatures on p, the last of which came last, without those that people were told of before.
// Call it in the commit that records them.
func (r *Room) Signed(tx *store.Tx, p office.Package, signatures []office.Signature) ([]office.Fact, error) {
	var facts []office.Fact
	for _, s := range signatures {
		f := signedFact(p, s)
		f.Last = p.EveryoneSigned() && s.SignerID == signatures[len(signatures)-1].SignerID
		facts = append(facts, f)
	}
	return untold(tx, facts...)
}

// Declined are the facts that people declined to sign p, without those that people were told of before. Call it in the
// commit that records them.
func (r *Room) Declined(tx *store.Tx, p office.Package) ([]office.Fact, error) {
	return untold(tx, declinedFacts(p)...)
}

// Saved is the fact that p is saved, when people were not told yet. found is set when its last file was there before this
// program saved it. Call it in the commit that records the files.
func (r *Room) Saved(tx *store.Tx, p office.Package, jobs []office.Job, found bool) ([]office.Fact, error) {
	if !p.Planned || !isSaved(jobs) {
		return nil, nil // without knowing all of its documents, nobody can say
	}
	f := savedFact(p, jobs)
	// A package that was executed long before it was saved here is news of a moment gone by.
	f.CaughtUp = found || r.Now().Sub(p.Executed) > office.NewFor
	return untold(tx, f)
}

// untold leaves out the facts that people were told of before, and notes that they are told of the others.
func untold(tx *store.Tx, all ...office.Fact) (news []office.Fact, err error) {
	for _, f := range all {
		first, err := tx.Once(f.Key)
		if err != nil {
			return nil, err
		}
		if first {
			news = append(news, f)
		}
	}
	return news, nil
}

// signedFact is one person's signature on one document, in words.
func signedFact(p office.Package, s office.Signature) office.Fact {
	return office.Fact{
		Key:       "signed/" + s.DocumentID + "/" + s.SignerID,
		PackageID: p.ID,
		Kind:      office.FactSigned,
		Title:     fmt.Sprintf("%s signed %s.", cmp.Or(p.SignerName(s.SignerID), "Someone"), office.Quote(p.DisplayName())),
		Body:      signedBody(p, s),
		Who:       s.SignerID,
		Name:      p.SignerName(s.SignerID),
		Partial:   !p.SignedAll(s.SignerID),
	}
}

// documentPrefix begins what is said of one of several documents.
const documentPrefix = "Document: "

func signedBody(p office.Package, s office.Signature) string {
	var parts []string
	if d := p.DocumentName(s.DocumentID); d != "" && len(p.Documents) > 1 {
		parts = append(parts, documentPrefix+office.Quote(d)+".")
	}
	switch done, total := p.Progress(); {
	case p.EveryoneSigned():
		parts = append(parts, "Everyone has signed.")
	case len(p.NextSigners) == 1 && p.SignerName(p.NextSigners[0]) != "":
		parts = append(parts, "Next: "+p.SignerName(p.NextSigners[0])+".")
	case total > 0:
		parts = append(parts, fmt.Sprintf("%d of %d signers have signed.", done, total))
	}
	return strings.Join(parts, " ")
}

// declinedFacts are the people who declined to sign p.
func declinedFacts(p office.Package) (facts []office.Fact) {
	for _, s := range p.Signers {
		if s.Declined.IsZero() || p.State == office.PackageExecuted {
			continue
		}
		f := office.Fact{
			Key:       "declined/" + p.ID + "/" + s.ID + "/" + s.Declined.UTC().Format("20060102150405"),
			PackageID: p.ID,
			Kind:      office.FactDeclined,
			Title:     fmt.Sprintf("%s declined to sign %s.", s.DisplayName(), office.Quote(p.DisplayName())),
		}
		if s.DeclineReason != "" {
			f.Body = fmt.Sprintf("Reason: %s.", office.Quote(s.DeclineReason))
		}
		facts = append(facts, f)
	}
	return facts
}

// auxiliaryTries is how often a certificate or a master file may fail before people are told of their package without
// it: some documents have none.
const auxiliaryTries = 5

// isSaved reports whether every signed document is on disk that the service can be asked for, and what goes with them too
// as far as it can be had.
func isSaved(jobs []office.Job) bool {
	return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j office.Job) bool {
		return j.State != office.JobDone && !loop.Unusable(j) && (j.Kind == string(archive.Executed) || j.Tries < auxiliaryTries)
	})
}

// savedFact is a package whose files are on disk, as far as they can be had.
func savedFact(p office.Package, jobs []office.Job) office.Fact {
	saved := slices.DeleteFunc(slices.Clone(jobs), func(j office.Job) bool { return j.State != office.JobDone })
	n := len(saved)
	body := fmt.Sprintf("%d files saved in %s.", n, folderName(saved))
	if n == 1 {
		body = fmt.Sprintf("%s saved in %s.", office.Quote(filepath.Base(saved[0].Target)), folderName(saved))
	} else if n <= 3 {
		var names []string
		for _, j := range saved {
			names = append(names, filepath.Base(j.Target))
		}
		body = fmt.Sprintf("Saved in %s: %s.", folderName(saved), strings.Join(names, ", "))
	}
	if n == 0 {
		body = "None of its files could be downloaded." + loop.OnItsPages
	} else if missing := len(jobs) - n; missing == 1 {
		body += " One more file is not ready yet."
	} else if missing > 1 {
		body += fmt.Sprintf(" %d more files are not ready yet.", missing)
	}
	return office.Fact{
		Key:       "saved/" + p.ID,
		PackageID: p.ID,
		Kind:      office.FactSaved,
		Title:     "Everyone has signed " + office.Quote(p.DisplayName()) + ".",
		Body:      body,
	}
}

func folderName(jobs []office.Job) string {
	if len(jobs) == 0 {
		return "the folder"
	}
	return filepath.Base(jobs[0].Folder)
}
