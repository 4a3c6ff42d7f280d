package announce

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Signed returns the facts of signatures on p, without those already reported. Call it in the commit that records them.
func (r *Service) Signed(tx *store.Tx, p office.Package, signatures []office.Signature) []office.Fact {
	var facts []office.Fact
	last := p.LastSigner()
	for _, s := range signatures {
		f := signedFact(p, s, last)
		f.Last = p.EveryoneSigned() && s.SignerID == signatures[len(signatures)-1].SignerID
		facts = append(facts, f)
	}
	return r.untold(tx, p, facts...)
}

// Declined returns the facts that people declined to sign p, without those already reported. Call it in the commit that records
// them.
func (r *Service) Declined(tx *store.Tx, p office.Package) []office.Fact {
	return r.untold(tx, p, declinedFacts(p)...)
}

// NotWithdrawn returns the fact that p was not withdrawn as requested, unless already reported. Call it in the commit that records
// it.
func (r *Service) NotWithdrawn(tx *store.Tx, p office.Package) []office.Fact {
	w := p.Withdrawal
	asked := office.Package{} // requested on this computer, so it is reported whoever owns p
	return r.untold(tx, asked, office.Fact{
		Key:       "not-withdrawn/" + p.ID + "/" + w.Asked.UTC().Format("20060102150405"),
		PackageID: p.ID,
		Kind:      office.FactProblem,
		Title:     message.NotWithdrawn(p.DisplayName()),
		Body:      w.Problem,
	})
}

// Saved returns the fact that p is saved, unless already reported. Call it in the commit that records the files.
func (r *Service) Saved(tx *store.Tx, p office.Package, jobs []office.Job) []office.Fact {
	elsewhere := p.Saved && len(jobs) == 0 // by another desk
	if !p.Planned || !isSaved(jobs) && !elsewhere {
		return nil // not decidable before all documents are known
	}
	f := savedFact(p, jobs)
	if elsewhere {
		f.Body = message.SavedByOtherDesk()
	}
	found := wereThere(jobs)
	f.Again = f.Files > 0 && !p.Restored.IsZero() && (p.Executed.By || p.Executed.Before(r.Restored(tx)))
	// A package executed long before it was saved here is old news.
	f.CaughtUp = found || f.Again || r.Latest().Sub(p.Executed.Time) > office.NewFor
	if first, _ := tx.Once(f.Key); !first || !r.concerns(p) {
		return nil
	}
	if f.Again || tx.Told(factSaid+p.ID) && f.Files > 0 {
		f.Title = message.PackageSaved(f.Called)
	}
	nameLast(tx, p, &f)
	if found && !p.Restored.IsZero() { // people were told after the backup was made
		return nil
	}
	r.Queue(tx, f)
	return []office.Fact{f}
}

// wereThere reports whether the signed documents existed before this program saved them. Other files may come weeks later.
func wereThere(jobs []office.Job) bool {
	saved := slices.DeleteFunc(slices.Clone(jobs), func(j office.Job) bool { return j.Kind != office.FileSigned || j.State != office.JobDone })
	return len(saved) > 0 && !slices.ContainsFunc(saved, func(j office.Job) bool { return !j.Found })
}

// nameLast names p's last signer in f if known for certain and not reported yet, and suppresses a later report when that event
// arrives after the files.
func nameLast(tx *store.Tx, p office.Package, f *office.Fact) {
	last := p.LastSigner()
	if p.SignerName(last) == "" {
		return
	}
	for _, d := range p.Documents {
		if first, _ := tx.Once(signedKey(d.ID, last)); first {
			f.Who, f.Name, f.Latest, f.Alone = last, p.SignerName(last), true, signsAlone(p)
		}
	}
}

// NewVersion returns the fact that there is a newer version of the program, unless already reported; with tell unset people have
// just seen it, and are not told later either. Call it in the commit that records it.
func (r *Service) NewVersion(tx *store.Tx, version string, todo message.Message, tell bool) []office.Fact {
	f := office.Fact{Key: "update/" + version, Subject: office.UpdateSubject, Title: message.UpdateAvailable(version), Body: todo}
	if !tell {
		tx.Once(f.Key)
		return nil
	}
	return r.untold(tx, office.Package{}, f)
}

// concerns reports whether people are told of p: of every package, or of their own, as far as the service has named its owner and
// who is signed in.
func (r *Service) concerns(p office.Package) bool {
	return !r.deps.Settings().Mine || p.DraftID != "" || p.MemberID == "" || slices.Contains([]string{"", p.MemberID}, r.deps.Member())
}

// untold drops the facts already reported and those of packages that are not theirs, and records the others as reported.
func (r *Service) untold(tx *store.Tx, of office.Package, all ...office.Fact) (news []office.Fact) {
	for _, f := range all {
		if first, _ := tx.Once(f.Key); first && r.concerns(of) {
			r.Queue(tx, f)
			news = append(news, f)
		}
	}
	return news
}

// signedFact words one person's signature on one document; last is p.LastSigner.
func signedFact(p office.Package, s office.Signature, last string) office.Fact {
	f := office.Fact{
		Key:       signedKey(s.DocumentID, s.SignerID),
		PackageID: p.ID,
		Kind:      office.FactSigned,
		Title:     signedTitle(p, s.SignerID),
		Body:      signedNext(p),
		Called:    p.DisplayName(),
		SignedFact: office.SignedFact{
			Who: s.SignerID, Name: p.SignerName(s.SignerID), Document: signedDocument(p, s), DocumentID: s.DocumentID,
			Partial: !p.SignedAll(s.SignerID), Alone: signsAlone(p), Latest: last != "" && s.SignerID == last, Filed: p.Saved,
		},
	}
	if f.Unasked = p.NamesToCome() && (f.Called == "" || f.Name == ""); f.Unasked {
		f.Body = message.Message{} // unknown who else has to sign
	}
	return f
}

// signsAlone reports whether p has a single signer, who is then called neither the last nor everyone.
func signsAlone(p office.Package) bool { return len(p.Signers) == 1 }

func signedKey(documentID, signerID string) string { return "signed/" + documentID + "/" + signerID }

func signedTitle(p office.Package, signerID string) message.Message {
	if who := p.SignerName(signerID); who != "" {
		return message.Signed(who, p.DisplayName())
	}
	return message.SomeoneSigned(p.DisplayName())
}

func signedDocument(p office.Package, s office.Signature) message.Message {
	if d := p.DocumentName(s.DocumentID); d != "" && len(p.Documents) > 1 {
		return message.AboutDocument(d)
	}
	return message.Message{}
}

// signedNext says what is left to sign: in sequence, whose turn it is. If that is uncertain, so is how many have signed, because
// there may be signatures not heard of yet.
func signedNext(p office.Package) message.Message {
	done, total := p.Progress()
	next := p.Next()
	switch {
	case p.EveryoneSigned() && signsAlone(p):
		return message.Message{}
	case p.EveryoneSigned():
		return message.EveryoneHasSigned()
	case len(next) == 1 && next[0].DisplayName() != "" && (p.Sequential || len(p.NextSigners) == 1) && !p.Skipped():
		return message.NextSigner(next[0].DisplayName())
	case total > 0 && !p.Sequential:
		return message.SignersDone(done, total)
	}
	return message.Message{}
}

func declinedFacts(p office.Package) (facts []office.Fact) {
	for _, s := range p.Signers {
		if s.Declined.IsZero() || p.State == office.PackageExecuted {
			continue
		}
		f := office.Fact{
			Key:       "declined/" + p.ID + "/" + s.ID + "/" + s.Declined.UTC().Format("20060102150405"),
			PackageID: p.ID,
			Kind:      office.FactDeclined,
			When:      s.Declined,
			Title:     message.Declined(s.DisplayName(), p.DisplayName()),
		}
		if s.DeclineReason != "" {
			f.Body = message.DeclineReason(s.DeclineReason)
		}
		facts = append(facts, f)
	}
	return facts
}

// auxiliaryTries is how often a certificate or master file may fail before the package is reported without it: some documents have
// none.
const auxiliaryTries = 5

// isSaved reports whether every signed document that the service can provide is on disk, along with its companion files as far as
// available.
func isSaved(jobs []office.Job) bool {
	return len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j office.Job) bool {
		return j.State != office.JobDone && !loop.Unusable(j) && (j.Kind == office.FileSigned || j.Tries < auxiliaryTries)
	})
}

// savedFact reports a package whose available files are on disk.
func savedFact(p office.Package, jobs []office.Job) office.Fact {
	saved := slices.DeleteFunc(slices.Clone(jobs), func(j office.Job) bool { return j.State != office.JobDone })
	slices.SortStableFunc(saved, func(a, b office.Job) int { return a.Kind.Rank() - b.Kind.Rank() })
	return office.Fact{
		Key:       "saved/" + p.ID,
		PackageID: p.ID,
		Kind:      office.FactSaved,
		Title:     p.Completed(),
		Body:      savedBody(saved, len(jobs)-len(saved)),
		Called:    p.DisplayName(),
		Files:     len(slices.DeleteFunc(saved, func(j office.Job) bool { return j.Kind != office.FileSigned })),
	}
}

func savedBody(saved []office.Job, missing int) message.Message {
	var body message.Message
	switch n := len(saved); {
	case n == 0:
		return message.Then(message.NothingDownloaded(), message.LookOnItsPages())
	case n == 1:
		body = message.FileSaved(filepath.Base(saved[0].Target), folderName(saved))
	case n <= 3:
		var names []string
		for _, j := range saved {
			names = append(names, filepath.Base(j.Target))
		}
		body = message.FilesSavedAs(folderName(saved), names)
	default:
		body = message.FilesSaved(n, folderName(saved))
	}
	if missing > 0 {
		body = message.Then(body, message.MoreNotReady(missing))
	}
	return body
}

// folderName returns where the files were saved: the office's folder, and the subfolder if they share one.
func folderName(jobs []office.Job) string {
	sub := path.Dir(jobs[0].Target)
	if slices.ContainsFunc(jobs, func(j office.Job) bool { return path.Dir(j.Target) != sub }) {
		sub = "."
	}
	return filepath.Join(filepath.Base(jobs[0].Folder), filepath.FromSlash(sub))
}

// Events identify packages and people by id only. If the service has not supplied the names yet, the fact waits for them, checking
// each unaskedLook, for at most unaskedHeld: people would rather hear that somebody has signed something than nothing. One still
// waiting when the program ends stays pending.
const (
	unaskedHeld = 2 * time.Minute
	unaskedLook = time.Second
)

// name adds the names to facts waiting for them, as far as the service has supplied them.
func (r *Service) name(m *digest) {
	if !slices.ContainsFunc(m.waiting, func(h held) bool { return h.Unasked }) {
		return
	}
	named, err := data.Read(r.Data, "what signatures are on", func(tx *store.Tx) (map[string]office.Package, error) {
		named := map[string]office.Package{}
		for _, h := range m.waiting {
			if _, read := named[h.PackageID]; read || !h.Unasked {
				continue
			}
			p, _, err := tx.Package(h.PackageID)
			if err != nil && !store.OfOneRecord(err) { // an unreadable record must not keep others from their names
				return named, err
			}
			named[h.PackageID] = p
		}
		return named, nil
	})
	if err != nil { // health reports it
		r.Log.Warn("read what signatures are on", "err", err)
	}
	heard := map[string]int{} // by package: the signature heard of last
	for i, h := range m.waiting {
		if h.Kind == office.FactSigned {
			heard[h.PackageID] = i
		}
	}
	for i, h := range m.waiting {
		if p := named[h.PackageID]; h.Unasked && !p.NamesToCome() {
			m.waiting[i].Fact = renamed(h.Fact, p, heard[h.PackageID] == i)
			m.burst = nil
		}
	}
}

// renamed rewords f with p's present names; last is set if no later signature was heard of.
func renamed(f office.Fact, p office.Package, last bool) office.Fact {
	now := signedFact(p, office.Signature{DocumentID: f.DocumentID, SignerID: f.Who}, p.LastSigner())
	now.Last, now.CaughtUp = (f.Last || last) && p.EveryoneSigned(), f.CaughtUp
	return now
}

// A fact waits for simultaneous ones, and the program may be killed meanwhile. It is therefore pending from the commit that records
// it until right before it is raised, and the next start raises pending facts. A kill between those two moments loses a
// notification; none duplicates one.

// docPending plus the hash of a fact's key is the document with a pending fact.
const docPending = "pending-fact/"

// factSaid plus the id of a package is the key of people having been told that everyone has signed it.
const factSaid = "said-signed/"

// maxPending limits the pending facts raised at a start; it is more than anybody can read.
const maxPending = 10_000

func pendingDoc(key string) string {
	sum := sha256.Sum256([]byte(key))
	return docPending + hex.EncodeToString(sum[:16])
}

// Queue records, in the commit of the underlying change, that facts are to be reported. Hand them to Announce once it has succeeded.
// The caller makes sure that this happens once.
func (r *Service) Queue(tx *store.Tx, facts ...office.Fact) {
	for _, f := range facts {
		tx.PutDoc(pendingDoc(f.Key), f)
	}
}

// Withhold records, in the commit that found them, that facts are not to be reported after all because they are old.
func (r *Service) Withhold(tx *store.Tx, facts []office.Fact) {
	for _, f := range facts {
		tx.PutDoc(pendingDoc(f.Key), nil)
	}
}

// ForgetPending drops all pending facts: after restoring a backup, those in it have been reported since.
func ForgetPending(tx *store.Tx) {
	names, _ := tx.DocNames(docPending)
	for _, name := range names {
		tx.PutDoc(name, nil)
	}
}

// Resume queues what an earlier start left pending: not what waits here already, or was raised here. Call it only in a program that
// runs long enough for people to read, and not beside Run. Facts about packages of another service stay pending until that service
// is in use again.
func (r *Service) Resume() {
	facts, err := data.Read(r.Data, "what people are to be told", func(tx *store.Tx) (facts []office.Fact, err error) {
		for _, f := range store.Docs[office.Fact](tx, docPending, "") {
			if p, _, _ := tx.Package(f.PackageID); !p.Away {
				facts = append(facts, f)
			}
			if len(facts) == maxPending {
				break
			}
		}
		return facts, nil
	})
	if err != nil { // health reports it
		r.Log.Error("read what people are to be told", "err", err)
		return
	}
	here := slices.Clone(r.settled)
	for _, h := range r.digest.waiting {
		here = append(here, h.Key)
	}
	for _, f := range facts {
		if f.CaughtUp = true; !slices.Contains(here, f.Key) {
			r.Announce(f)
		}
	}
}

// settle records that facts are no longer pending. On failure they are recorded with the next ones, or after settleAgain: a full
// disk must not suppress notifications.
func (r *Service) settle(keys []string) {
	r.settled = append(r.settled, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })...)
	if len(r.settled) == 0 {
		return
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		for _, key := range r.settled {
			tx.PutDoc(pendingDoc(key), nil)
		}
		for _, id := range r.said {
			tx.Once(factSaid + id)
		}
		return nil
	})
	if err != nil { // health reports it
		r.Log.Debug("note what people were told", "err", err)
		return
	}
	r.settled, r.said = nil, nil
}
