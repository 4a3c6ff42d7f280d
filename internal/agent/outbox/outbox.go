// Package outbox turns drafts into packages: it stores what a person wants to send together with copies of the files, uploads them,
// adds the package, and finds out the outcome if the service did not report it. It also offers the service's templates.
//
// A draft's states are: held (a person can still withdraw it), queued, adding, and then sent, failed, or unknown if the answer to
// packages/add was lost. An unknown draft is never added again automatically: an event or the service's list that carries its id, or
// a person, decides.
//
// It must not know who is signed in, how sent packages are followed, nor how the list is read.
package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	DataDir string
	Pages   func(ctx context.Context, path string) (int, error) // counts the pages of a PDF file
	Sealed  func(path string) bool                              // reports whether a file claims to be sealed

	Installation      func() string             // identifies this data folder
	DefaultRecipients func() []office.Recipient // default recipients of copies
	Home              func() string             // the service in use, as esign.Client.Home

	// Service returns the client of the signing service, and the account to which uploads belong, while somebody is signed in and
	// the keys are open.
	Service func() (client *esign.Client, uploader string, online bool)
	Sender  func() string // the sender of packages; empty if unknown

	PackageAdded func()      // a package's status can be requested
	FindPackages func()      // has the service's list read soon, and its packages claimed, see Claim
	Listed       func() bool // the list was read since the start of the program, or cannot be; Wake follows

	Strayed  func(office.Draft) (message.Message, error) // what a person must decide first about a watched folder's document; zero for nothing
	Requeued func(tx *store.Tx, list string) error       // a list's draft waits again, because the service did not take it
	Replaced func(tx *store.Tx, old, by office.Draft)    // by takes the place of old; called before either is stored
}

// The longest pauses before a draft is retried, and before the packages of drafts are looked for again.
const (
	maxDraftPause = 10 * time.Minute
	maxFindPause  = time.Hour
)

// restoredLately is for how many counted days after a restore drafts wait for the service's list, which was read by then, and are
// compared with what it showed.
const restoredLately = 30

// mayNotSend is after how many tries the account counts as one that may not send if the service refuses a sign-in that works.
const mayNotSend = 8

// Service sends drafts and keeps copies of their files. Its methods are safe for concurrent use.
type Service struct {
	loop.Base
	deps    Deps
	due     chan struct{} // signals that there may be something to send
	live    liveDrafts
	taking  sync.RWMutex // read-locked from before making a copy until it is recorded, write-locked by the sweep of copies
	sending atomic.Bool  // a draft is being sent

	noTemplates loop.Retries // services without templates, by home

	// Used only by Run's goroutine.
	find     loop.Retry      // search for the packages of drafts with an unknown outcome
	earlier  map[string]bool // drafts that waited when Run began, by id
	restored bool            // the state was restored not long ago: what was sent since may be sent again
}

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, due: make(chan struct{}, 1)}
}

// Wake makes it look for work: the service is back, or a package proved to come from one of our drafts.
func (r *Service) Wake() { loop.Wake(r.due) }

// Sending reports whether a draft is being sent now.
func (r *Service) Sending() bool { return r.sending.Load() }

// Run sends what is due, until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	if err := r.recoverAdding(); err != nil {
		return err
	}
	r.sweepCopies()
	waiting, err := data.Read(r.Data, "the drafts that wait", func(tx *store.Tx) ([]office.Draft, error) {
		return tx.Drafts(office.DraftQueued, office.DraftHeld)
	})
	if err != nil {
		return err
	}
	r.earlier = map[string]bool{}
	for _, d := range waiting {
		r.earlier[d.ID] = true
	}
	return loop.Repeat(ctx, r.due, func(ctx context.Context) (time.Duration, error) {
		defer r.sweepCopies()
		return r.sendDue(ctx)
	})
}

// sendDue sends what is due, oldest first and one at a time, and returns how long until the next is.
func (r *Service) sendDue(ctx context.Context) (time.Duration, error) {
	const idle = time.Hour
	for ctx.Err() == nil {
		undo, err := r.carryOut()
		if err != nil {
			return 0, err
		}
		find := idle
		pause := func(d time.Duration) time.Duration {
			if undo > 0 {
				d = min(d, undo)
			}
			return min(d, find)
		}
		r.TellUnknown() // an event may have settled some
		client, uploader, online := r.deps.Service()
		if !online {
			return pause(idle), r.forgetTries()
		}
		if left := r.Breaker.Left(r.Now()); left > 0 {
			return pause(left), nil
		}
		if find, err = r.findUnknown(client, idle); err != nil {
			return 0, err
		}
		if err = r.queueOwn(client, uploader); err != nil {
			return 0, err
		}
		now := r.Now()
		due, next, err := r.draftsDue()
		if err == nil {
			due, err = r.holdForeign(client, uploader, due)
		}
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(d office.Draft) bool {
			return d.Service != client.Home() || r.LeftAlone(key(d)) || r.waits(d) || // the service may have just changed
				(r.earlier[d.ID] || r.restored) && !r.deps.Listed() // an old copy of the state may have come back
		})
		if len(due) == 0 {
			return pause(r.PauseBeside(all, loop.UntilNext(now, next, idle))), nil
		}
		if err = r.send(ctx, client, uploader, due); r.Session.SignedOut(err) {
			return pause(idle), r.forgetTries()
		}
		if err != nil && ctx.Err() == nil {
			return 0, err
		}
	}
	return idle, nil
}

// forgetTries drops why drafts could not be sent so far, because they wait for a sign-in now, as health says.
func (r *Service) forgetTries() error {
	tried, err := data.Read(r.Data, "the drafts that wait", func(tx *store.Tx) ([]office.Draft, error) { return tx.Drafts(office.DraftQueued) })
	for _, d := range tried {
		if err == nil && !d.Away && !d.Problem.IsZero() {
			d.Problem = message.Message{}
			err = r.one(d, func() error { return r.putDraft(&d, office.DraftQueued) })
		}
	}
	return err
}

// send sends the drafts that are due, until another account may send. uploader is the account of client.
func (r *Service) send(ctx context.Context, client *esign.Client, uploader string, due []office.Draft) error {
	r.sending.Store(true)
	defer r.sending.Store(false)
	for _, d := range due {
		if ctx.Err() != nil || !r.stays(client, uploader) {
			return nil
		}
		err := r.one(d, func() error { return r.sendDraft(ctx, client, uploader, d) })
		if err == nil && r.LeftAlone(key(d)) {
			err = r.recoverAdding() // packages/add may have been called for it
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stays reports whether client still sends for the account uploader: a new sign-in gives the same client other tokens.
func (r *Service) stays(client *esign.Client, uploader string) bool {
	now, account, online := r.deps.Service()
	return online && now == client && account == uploader
}

// one runs do for a single draft. It is no error if another decision was made on it meanwhile.
func (r *Service) one(d office.Draft, do func() error) error {
	return r.One(key(d), func() error {
		if err := do(); !errors.Is(err, errDecided) {
			return err
		}
		return nil
	})
}

// holdForeign holds drafts that belong to another account than that of client, or may because the service does not say whose that
// is, for a person to decide, and returns the others.
func (r *Service) holdForeign(client *esign.Client, uploader string, due []office.Draft) ([]office.Draft, error) {
	sender := r.deps.Sender()
	if !r.stays(client, uploader) { // nor does the sender
		return nil, nil
	}
	foreign := func(d office.Draft) bool {
		return d.State == office.DraftQueued && d.By != "" && d.By != sender
	}
	for _, d := range due {
		if !foreign(d) {
			continue
		}
		d.Tries, d.NextTry = 0, time.Time{}
		if err := r.setAside(d, office.DraftHeld, message.ForAnotherAccount()); err != nil && !errors.Is(err, errDecided) {
			return nil, err
		}
	}
	return slices.DeleteFunc(due, foreign), nil
}

// ownFor is how long what waits for its account goes out by itself when that is back. Later a person decides: who sent it may have
// forgotten it.
const ownFor = 7 * 24 * time.Hour

// queueOwn queues what holdForeign held, once its own account is back, unless a person has decided about it meanwhile.
func (r *Service) queueOwn(client *esign.Client, uploader string) error {
	sender := r.deps.Sender()
	if sender == "" || !r.stays(client, uploader) {
		return nil
	}
	waits := func(d office.Draft) bool {
		return d.State == office.DraftHeld && d.By == sender && d.Problem == message.ForAnotherAccount() && !d.Decision.Pending()
	}
	held, err := data.Read(r.Data, "the drafts of other accounts", func(tx *store.Tx) ([]office.Draft, error) { return tx.Drafts(office.DraftHeld) })
	if held = slices.DeleteFunc(held, func(d office.Draft) bool { return !waits(d) }); err != nil || len(held) == 0 {
		return err
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		for _, d := range held {
			d, _, err := tx.Draft(d.ID)
			if err == nil && waits(d) {
				if r.Age(d.Changed) < ownFor {
					d.State = office.DraftQueued
				}
				d.Problem, d.NextTry, d.Changed = message.Message{}, r.Now(), r.Now()
				err = tx.PutDraft(d)
			}
			if err != nil && !store.OfOneRecord(err) {
				return err
			}
		}
		return nil
	})
	r.Signal(office.OutboxChanged)
	r.Signal(office.StatusChanged)
	return err
}

// key identifies a draft in the quarantine.
func key(d office.Draft) string { return "draft " + d.ID }

func (r *Service) draftsDue() (due []office.Draft, next time.Time, err error) {
	due, err = data.Read(r.Data, "the drafts that are due", func(tx *store.Tx) (due []office.Draft, err error) {
		next, _ = tx.NextDraft()
		r.restored = data.WhenRestored(tx).Lately(tx, restoredLately)
		return tx.DraftsDue(r.Due(loop.MaxWait(maxDraftPause)))
	})
	return due, next, err
}

// sendDraft uploads the missing files and adds the package. uploader is the account of client.
func (r *Service) sendDraft(ctx context.Context, client *esign.Client, uploader string, d office.Draft) error {
	standing, name, err := r.corrected(d)
	if err != nil {
		return err
	}
	switch standing {
	case withdrawing: // just begun; the next round reports it
		return nil
	case signedInstead:
		return r.fail(d, message.CorrectedTooLate(name))
	case stillOpen:
		return r.fail(d, message.CorrectedNotWithdrawn(name))
	}
	if doc, _, err := r.lost(d); err != nil || doc != "" {
		return cmp.Or(err, r.askFirst(d, doc))
	}
	if d.Folder != "" && !d.Astray {
		why, err := r.deps.Strayed(d)
		if err != nil {
			return err
		}
		if d.Astray = !why.IsZero(); d.Astray {
			return r.setAside(d, office.DraftHeld, why)
		}
	}
	d.Problem = message.Message{} // drop the last attempt's problem once this one progresses
	for i := range d.Files {
		f := &d.Files[i]
		if f.FileID != "" && f.UploadedBy == uploader && !loop.CoolFor(f.Uploaded, uploadLife).Over(r.Now()) {
			r.live.progress(d, i, f.Size)
			continue
		}
		if r.live.cancelled(d.ID) {
			return nil
		}
		uploaded, err := r.upload(ctx, client, d, i)
		if err != nil {
			return r.refused(ctx, d, err)
		}
		if !r.stays(client, uploader) {
			return nil
		}
		f.FileID, f.Uploaded, f.UploadedBy = uploaded, r.Now(), uploader
		if err := r.putDraft(&d, office.DraftQueued); err != nil {
			return err
		}
	}
	if err := r.putDraft(&d, office.DraftAdding); err != nil {
		return err
	}
	if !r.stays(client, uploader) {
		return r.halt(d)
	}
	r.Crash("adding")
	added, err := client.AddPackage(ctx, newPackage(d, r.sourceOf(d)))
	r.Crash("added")
	if err != nil {
		return r.refused(ctx, d, err)
	}
	r.Session.Note(ctx, nil)
	return r.accepted(d, added)
}

// errDecided says that another decision was made on a draft meanwhile.
var errDecided = errors.New("the draft was decided about meanwhile")

// putDraft records d's new state, unless it was decided meanwhile: a person cancelled it or sent it again, or an event reported that
// it was sent. A draft that already has its package is never added.
func (r *Service) putDraft(d *office.Draft, state office.DraftState) error {
	next := *d
	var sent bool
	err := r.Data.Update(func(tx *store.Tx) error {
		sent = false
		stored, ok, err := tx.Draft(d.ID)
		if err != nil {
			return err
		}
		if !ok || stored.State != d.State {
			return errDecided
		}
		next.State, next.Changed = state, r.Now()
		if stored.Away && state == office.DraftQueued {
			next.Problem = stored.Problem // it now waits for its own service, whatever the last answer was
		}
		if state == office.DraftAdding {
			var p office.Package
			if p, sent, _ = tx.PackageByDraft(d.ID); sent {
				markSent(&next, p.ID, r.Now())
			}
		}
		if stored.State == office.DraftAdding && state == office.DraftQueued && next.List != "" {
			tx.PutDraft(next)
			return r.deps.Requeued(tx, next.List)
		}
		return tx.PutDraft(next)
	})
	if err == nil {
		*d = next
	}
	if err == nil && sent {
		err = errDecided
	}
	r.Signal(office.OutboxChanged)
	return err
}

func markSent(d *office.Draft, packageID string, now time.Time) {
	d.State, d.PackageID, d.Problem, d.Changed, d.NextTry = office.DraftSent, packageID, message.Message{}, now, time.Time{}
}

// Drafts returns the drafts that are not packages yet, oldest first.
func (r *Service) Drafts() ([]office.Draft, error) {
	return data.Read(r.Data, "the drafts", func(tx *store.Tx) ([]office.Draft, error) {
		list, err := tx.Drafts(office.DraftsWaiting...)
		slices.Reverse(list)
		return list, err
	})
}

// DraftOf returns the draft from which a package was sent; known is false if it was not made here.
func (r *Service) DraftOf(packageID string) (d office.Draft, known bool, err error) {
	d, err = data.Read(r.Data, "the draft of package "+packageID, func(tx *store.Tx) (d office.Draft, err error) {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok || p.DraftID == "" {
			return d, err
		}
		d, known, err = tx.Draft(p.DraftID)
		return d, err
	})
	return d, known && err == nil, err
}

// DraftError says that a draft was not accepted as it is. Nothing was stored or sent.
type DraftError struct{ Text message.Message }

func (e *DraftError) Error() string { return e.Text.String() }

func (e *DraftError) Message() message.Message { return e.Text }

// newDraft validates what a person wants to send, with the documents docs.
func (r *Service) newDraft(d office.NewPackage, docs documents) (office.Draft, error) {
	out := office.Draft{
		ID: uuid.NewString(), Name: strings.TrimSpace(d.Name), Message: d.Message, Sequential: d.Sequential, Due: d.Due,
		ExternalData: d.ExternalData, State: office.DraftQueued, Created: r.Now(), Changed: r.Now(), Delivery: office.Delivery{NextTry: r.Now()},
		Template: d.Template.Clone(), Corrects: d.Corrects, CopyDefaults: office.CopyDefaults{NoCopy: slices.Clone(d.NoCopy)},
		By: r.deps.Sender(), Repeat: d.Repeat,
	}
	if len(d.Files) == 0 && d.Template.Empty() {
		return out, &DraftError{message.NoDocument()}
	}
	if empty := d.Template.EmptyFields(); len(empty) > 0 && !d.EmptyFields {
		return out, &DraftError{message.TemplateFieldsEmpty(empty)}
	}
	if out.Name == "" && d.Template != nil {
		out.Name = d.Template.Name
	}
	if out.Name == "" && len(docs) > 0 {
		out.Name = strings.TrimSuffix(docs[0].Name, filepath.Ext(docs[0].Name))
	}
	if code, text := office.CheckSigners(d.Signers); code != "" {
		return out, &DraftError{text}
	}
	for _, s := range d.Signers {
		out.Signers = append(out.Signers, office.Signer{FirstName: s.FirstName, LastName: s.LastName, Email: s.Email, Role: s.Role, RoleID: s.RoleID})
	}
	if office.DuePassed(d.Due, r.Now()) {
		return out, &DraftError{message.DueDatePassed()}
	}
	if err := checkCopies(d); err != nil {
		return out, err
	}
	out.Recipients = slices.Clone(d.Recipients)
	out.CopyDefaultRecipients(r.deps.DefaultRecipients())
	if office.HasExternalData(d.ExternalData) && !json.Valid(d.ExternalData) {
		return out, &DraftError{message.ReferenceNotJSON()}
	}
	if _, ours := office.ExternalMembers(d.ExternalData)[correlationKey]; ours {
		return out, &DraftError{message.ReferenceOurs(correlationKey)}
	}
	return out, nil
}

// checkCopies refuses recipients of copies who cannot get one.
func checkCopies(d office.NewPackage) error {
	for i, code := range office.CheckCopies(d.Recipients, d.Signers) {
		if code != "" {
			return &DraftError{d.Recipients[i].Wrong(code)}
		}
	}
	return nil
}

// newPackage converts d for the service; from says what it came from.
func newPackage(d office.Draft, from source) esign.NewPackage {
	p := esign.NewPackage{
		Name: d.Name, Message: d.Message, Sequential: d.Sequential, Due: d.Due,
		ExternalData: withCorrelation(d.ExternalData, from.String()),
	}
	for _, s := range d.Signers {
		p.Signers = append(p.Signers, signerOf(d.Template, s))
	}
	if d.Template != nil {
		p.TemplateID = d.Template.ID
	}
	p.Recipients, p.Documents = recipients(d), documentsOf(d)
	return p
}

// docPeople is the document with the signers used before, most recent first.
const docPeople = "people"

const maxPeople = 500

// People returns the signers used before, most recent first.
func (r *Service) People() ([]office.Signer, error) {
	people, _, err := data.Doc[[]office.Signer](r.Data, docPeople)
	return people, err
}

// PutPeople replaces the people used before.
func PutPeople(tx *store.Tx, people []office.Signer) {
	tx.PutDoc(docPeople, people[:min(len(people), maxPeople)])
}

// rememberPeople moves signers to the front of the people used before.
func rememberPeople(tx *store.Tx, signers []office.Signer) {
	var people []office.Signer
	tx.GetDoc(docPeople, &people)
	for _, s := range slices.Backward(signers) {
		people = slices.DeleteFunc(people, func(x office.Signer) bool { return x.Email == s.Email })
		people = slices.Insert(people, 0, office.Signer{FirstName: s.FirstName, LastName: s.LastName, Email: s.Email})
	}
	PutPeople(tx, people)
}

// Sums returns the SHA-256 of d's files in sending order. Its errors are those of Send.
func (r *Service) Sums(ctx context.Context, d office.NewPackage) (sums []string, err error) {
	docs, err := openDocuments(d)
	if err != nil {
		return nil, err
	}
	defer docs.close()
	for _, doc := range docs {
		sum := sha256.New()
		if _, err := io.Copy(sum, doc.file); err != nil {
			return nil, &DraftError{message.FileNotRead(doc.Name)}
		}
		sums = append(sums, hex.EncodeToString(sum.Sum(nil)))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return sums, nil
}

// KeepList stores what a list's packages have in common, with copies of its documents, which must have these SHA-256. also runs in
// the same commit, possibly more than once. Errors are those of Send, and a *DraftError for a document that cannot be sent.
func (r *Service) KeepList(ctx context.Context, d office.NewPackage, sums []string, also func(*store.Tx, *office.Draft) error) error {
	docs, err := openDocuments(d)
	if err != nil {
		return err
	}
	defer docs.close()
	if len(docs) == 0 && d.Template.Empty() {
		return &DraftError{message.NoDocument()}
	}
	draft := office.Draft{ID: uuid.NewString(), Name: d.Name, Template: d.Template.Clone(), State: office.DraftList, Created: r.Now(), By: r.deps.Sender()}
	check := func(d *office.Draft) error {
		for i, f := range d.Files {
			if i >= len(sums) || f.SHA256 != sums[i] {
				return &DraftError{message.FileChanged(f.Name)}
			}
		}
		return nil
	}
	return r.storeDraft(ctx, &draft, docs, storing{check: check, also: also})
}

// FromList stores the draft of a list's line under an id chosen before; common is what KeepList stored. Otherwise it is like
// KeepList.
func (r *Service) FromList(ctx context.Context, common office.Draft, id string, d office.NewPackage, also func(*store.Tx, *office.Draft) error) error {
	var docs documents
	defer func() { docs.close() }()
	for _, f := range common.Files {
		file, err := r.openCopy(f)
		if err != nil {
			return err
		}
		f.ExternalID = ""
		docs = append(docs, document{DraftFile: f, file: file})
		d.Files = append(d.Files, f.Path)
	}
	draft, err := r.newDraft(d, docs)
	if err != nil {
		return err
	}
	draft.ID, draft.By, draft.List = id, cmp.Or(common.By, draft.By), common.ID
	if err := r.storeDraft(ctx, &draft, docs, storing{looked: true, replaces: slices.Clone(d.Replaces), also: also}); err != nil {
		return err
	}
	for _, id := range d.Replaces {
		r.live.cancel(id, true)
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return nil
}

// TakeBackList takes back a list's waiting drafts, and returns the IDs of those that the service cannot have. Call Wake after the
// commit, to remove their copies.
func (r *Service) TakeBackList(tx *store.Tx, id string) (unsent []string, err error) {
	waiting, _ := tx.Drafts(office.DraftQueued)
	for _, d := range waiting {
		if d.List != id {
			continue
		}
		if _, err := r.takeBack(tx, d.ID, office.DraftCancelled); err != nil {
			return nil, err
		}
		if stood(d) != office.DraftUnknown {
			unsent = append(unsent, d.ID)
		}
	}
	return unsent, tx.Err()
}

// LetListGo drops the copies of a list's documents once nothing more is made of them.
func LetListGo(tx *store.Tx, id string) error {
	d, known, err := tx.Draft(id)
	if err != nil || !known || d.State != office.DraftList {
		return err
	}
	d.State = office.DraftCancelled
	return tx.PutDraft(d)
}
