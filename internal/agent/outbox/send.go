package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Send copies the files, stores the draft and sends it; it returns when the service has accepted or refused it, when the outcome is
// unknown, or when it was withdrawn. If ctx ends earlier, the draft stays and is sent later. progress, which may be nil, is called
// from several goroutines, must not block, and is not called after Send has returned.
func (r *Service) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	docs, err := openDocuments(d)
	if err != nil {
		return office.SendState{}, err
	}
	defer docs.close()
	draft, err := r.newDraft(d, docs)
	if err != nil {
		return office.SendState{}, err
	}
	changes, stop := r.Watch()
	defer stop()
	live := r.live.begin(draft.ID, progress)
	defer r.live.end(draft.ID, live)
	store := storing{replaces: d.Replaces}
	if d.Undo > 0 {
		store = r.undoable(d)
	}
	if err := r.storeDraft(ctx, &draft, docs, store); err != nil {
		return office.SendState{}, err
	}
	live.tell(sendState(draft)) // from here on it is stored
	for _, id := range store.replaces {
		r.live.cancel(id, true) // one of them may be being sent
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return r.followDraft(ctx, draft, d.Patience, changes, live)
}

type storing struct {
	replaces []string                             // drafts it replaces at once
	check    func(*office.Draft) error            // validates its copies before anything is stored; may be nil
	looked   bool                                 // its documents were looked at when they were stored for something else
	alone    bool                                 // no person is there to decide about a document that may be damaged
	also     func(*store.Tx, *office.Draft) error // runs in the same commit, possibly repeatedly, and may change the draft; may be nil
}

// storeDraft copies the draft's documents and stores it. Once it has returned, the draft is sent as given, whatever happens to this
// process or the files.
func (r *Service) storeDraft(ctx context.Context, d *office.Draft, docs documents, s storing) error {
	r.taking.RLock()
	defer r.taking.RUnlock()
	// A caller that stops waiting, for example by Ctrl+C, is told that the draft is stored.
	if err := r.take(context.WithoutCancel(ctx), d, docs); err != nil {
		return err
	}
	r.Crash("taken")
	if err := r.check(ctx, d, s); err != nil {
		r.Wake() // to remove the copies
		return err
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		if corrected, _, _ := tx.Package(d.Corrects); d.Folder == "" {
			d.Folder = corrected.Folder // what is signed is returned there
		}
		for _, id := range s.replaces {
			if err := r.replace(tx, id, d); err != nil {
				return err
			}
		}
		if s.also != nil {
			if err := s.also(tx, d); err != nil {
				return err
			}
		}
		return tx.PutDraft(*d)
	})
	if err != nil {
		return fmt.Errorf("store the draft: %w", err)
	}
	r.Crash("stored")
	return nil
}

// check returns why the copies of a draft's documents cannot be sent.
func (r *Service) check(ctx context.Context, d *office.Draft, s storing) error {
	if s.check != nil {
		if err := s.check(d); err != nil {
			return err
		}
	}
	for _, f := range d.Files {
		if s.looked {
			break
		}
		info := r.look(ctx, f, r.copyOf(f))
		switch {
		case ctx.Err() != nil && s.alone:
			return ctx.Err()
		case !info.Problem.IsZero():
			return &DraftError{info.Problem}
		case s.alone && info.Warning == message.FileMaybeDamaged(info.Name):
			return &DraftError{message.FileDamaged()}
		}
	}
	return nil
}

// followDraft waits until the draft is sent, refused or unknown, but no longer than patience for a service that does not accept it,
// and not for a person to sign in first.
func (r *Service) followDraft(ctx context.Context, draft office.Draft, patience time.Duration, changes <-chan office.Change, live *liveDraft) (office.SendState, error) {
	last := draft.State
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTicker(patience)
		defer t.Stop()
		late = t.C
	}
	for {
		d, known, err := r.Data.Draft(draft.ID)
		state := sendState(d)
		if err == nil && !known {
			err = fmt.Errorf("draft %s is gone", draft.ID)
		}
		if err != nil {
			return state, err
		}
		switch state.State {
		case office.DraftSent, office.DraftFailed, office.DraftUnknown, office.DraftCancelled:
			return state, nil
		case office.DraftHeld:
			if !state.Undo {
				return state, nil
			}
		}
		if state.State != last {
			last = state.State
			live.tell(state)
		}
		if late != nil && !r.Session.SignedIn() {
			return state, &DraftError{waitingMessage(draft, state, false)}
		}
		select {
		case <-changes:
		case <-late:
			_, _, online := r.deps.Service()
			if !state.Problem.IsZero() || !online { // an upload that progresses is not late
				return state, &DraftError{waitingMessage(draft, state, online)}
			}
		case <-ctx.Done():
			return state, ctx.Err()
		}
	}
}

func waitingMessage(d office.Draft, s office.SendState, online bool) message.Message {
	why := s.Problem
	if !online {
		why = message.NobodySignedIn()
	}
	return message.Then(message.NotSentYet(d.Name), why, message.WillBeSent())
}

func sendState(d office.Draft) office.SendState {
	s := office.SendState{DraftID: d.ID, State: d.State, PackageID: d.PackageID, Problem: d.Problem, Undo: d.Decision.Pending()}
	for _, f := range d.Files {
		s.Total += f.Size
		if f.FileID != "" {
			s.Sent += f.Size
		}
	}
	return s
}

// liveDrafts are the drafts for which a Send is waiting. Safe for concurrent use.
type liveDrafts struct {
	mu  sync.Mutex
	all map[string]*liveDraft // by draft id
}

type liveDraft struct {
	cancel bool

	telling sync.Mutex             // held while report is called
	report  func(office.SendState) // nil once Send has returned
}

func (l *liveDrafts) begin(id string, report func(office.SendState)) *liveDraft {
	d := &liveDraft{report: report}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*liveDraft{}
	}
	l.all[id] = d
	return d
}

// end returns once d's report is no longer called.
func (l *liveDrafts) end(id string, d *liveDraft) {
	l.mu.Lock()
	delete(l.all, id)
	l.mu.Unlock()
	d.telling.Lock()
	defer d.telling.Unlock()
	d.report = nil
}

// of returns the Send waiting for a draft; nil for none.
func (l *liveDrafts) of(id string) *liveDraft {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[id]
}

// progress reports to the Send waiting for d how far its files, uploaded one after the other, are.
func (l *liveDrafts) progress(d office.Draft, file int, sent int64) {
	live := l.of(d.ID)
	if live == nil {
		return
	}
	state := office.SendState{DraftID: d.ID, State: office.DraftQueued, Sent: sent}
	for i, f := range d.Files {
		if state.Total += f.Size; i < file {
			state.Sent += f.Size
		}
	}
	live.tell(state)
}

// halt puts d back into the queue, and tells the Send waiting for it that nothing is being sent until the next try.
func (r *Service) halt(d office.Draft) error {
	err := r.putDraft(&d, office.DraftQueued)
	if live := r.live.of(d.ID); err == nil && live != nil {
		state := sendState(d)
		state.Sent = 0
		live.tell(state)
	}
	return err
}

// cancel stops sending a draft, or lets it continue if it should be sent after all.
func (l *liveDrafts) cancel(id string, cancelled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.all[id]; d != nil {
		d.cancel = cancelled
	}
}

func (l *liveDrafts) cancelled(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.all[id]
	return d != nil && d.cancel
}

// tell calls report unless nobody waits any more.
func (d *liveDraft) tell(s office.SendState) {
	d.telling.Lock()
	defer d.telling.Unlock()
	if d.report != nil {
		d.report(s)
	}
}

// uploadLife is how long an upload may wait for packages/add; the service keeps it for 24 hours.
const uploadLife = 22 * time.Hour

// upload sends the bytes of file i of d to the service, unless they differ from what was given.
func (r *Service) upload(ctx context.Context, client *esign.Client, d office.Draft, i int) (fileID string, err error) {
	f := d.Files[i]
	file, err := r.openCopy(f)
	if err != nil {
		return "", err
	}
	info, err := file.Stat()
	file.Close()
	if err != nil {
		return "", &DraftError{message.FileGone(f.Name)}
	}
	if info.Size() != f.Size {
		return "", &DraftError{message.FileChanged(f.Name)}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return client.Upload(ctx, esign.Upload{
		FileName: f.Name, Size: f.Size, SHA256: f.SHA256, ExternalID: f.ExternalID,
		Open: func() (io.ReadCloser, error) { return r.openCopy(f) },
		Progress: func(sent int64) {
			r.live.progress(d, i, sent)
			if r.live.cancelled(d.ID) {
				cancel()
			}
		},
	})
}

// accepted records that the service has accepted d, with the draft and its package in one commit.
func (r *Service) accepted(d office.Draft, added esign.Added) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.FirstPackage(apply.Cases(added.PackageID))
		if err != nil {
			return err
		}
		if !ok || !apply.SameAs(p, added.PackageID) { // its first event may have arrived before this answer
			p = office.Package{ID: added.PackageID, Created: r.Latest(), Home: office.Home{Service: d.Service}}
		}
		fromDraft(&p, d, office.When{Time: r.Latest()})
		p.OrganizationID = cmp.Or(added.OrganizationID, p.OrganizationID)
		p.MemberID = cmp.Or(added.MemberID, p.MemberID)
		if added.Status != nil {
			apply.Status(&p, *added.Status, r.Latest())
			p.Checked = r.Now()
		}
		if p.NextCheck.IsZero() {
			p.NextCheck = r.Now()
		}
		markSent(&d, p.ID, r.Now())
		tx.PutPackage(p)
		tx.PutDraft(d)
		rememberPeople(tx, d.Signers)
		r.noteTemplate(tx, d)
		return tx.AddActivity(r.sentLine(p, d))
	})
	if err != nil {
		return fmt.Errorf("record the sent package %s: %w", added.PackageID, err)
	}
	r.TellUnknown()
	r.deps.PackageAdded()
	for _, c := range []office.Change{office.OutboxChanged, office.PackagesChanged, office.StatusChanged} {
		r.Signal(c)
	}
	return nil
}

func (r *Service) sentLine(p office.Package, d office.Draft) office.Activity {
	return office.Activity{Time: r.Now(), Kind: office.ActivitySent, PackageID: p.ID, List: d.List, Text: p.TellSent()}
}

// fromDraft marks p as made here from d and sent then.
func fromDraft(p *office.Package, d office.Draft, sent office.When) {
	p.Origin, p.DraftID, p.Folder = office.MadeHere, d.ID, d.Folder
	p.Name = cmp.Or(d.Name, p.Name)
	p.Sequential = d.Sequential
	if p.Due.IsZero() {
		p.Due = d.Due
	}
	if p.State == "" {
		p.State = office.PackageOpen
	}
	if p.ExternalData == nil {
		p.ExternalData = withCorrelation(d.ExternalData, d.ID)
	}
	if len(p.Signers) == 0 {
		p.Signers = withoutRoles(d.Signers)
	}
	if len(p.Recipients) == 0 {
		p.Recipients = append(p.Recipients, d.Recipients...)
	}
	known := map[string]int{}
	for i, x := range p.Documents {
		known[x.ExternalID] = i
	}
	for _, f := range d.Files {
		i, ok := known[f.ExternalID]
		if !ok && d.Template != nil {
			continue // one of several, of which only the service knows the others
		}
		if !ok {
			p.Documents = append(p.Documents, office.Document{ExternalID: f.ExternalID})
			i = len(p.Documents) - 1
		}
		p.Documents[i].FileName = cmp.Or(f.Name, p.Documents[i].FileName)
	}
	p.AddHistory(office.HistoryEntry{Time: sent, What: office.EntrySent})
}

// Claim marks p as made here if its external data carries the id of one of our drafts. A draft with an unknown outcome is thereby
// known to be sent; after the commit, call Wake. A package sent by this installation whose draft is no longer known, for example
// after a restore, becomes ours without the draft. The caller stores p.
func (r *Service) Claim(tx *store.Tx, p *office.Package, data json.RawMessage) {
	came := cameFrom(data)
	if came.draft == "" {
		return
	}
	d, ok, err := tx.Draft(came.draft)
	if err != nil {
		return // if its draft is unreadable, it is treated like a package made elsewhere
	}
	var ours bool
	if !ok && came.installation != "" {
		home, _ := tx.Service()
		ours = came.installation == office.TagAt(cmp.Or(p.Service, home), r.deps.Installation())
	}
	if !ok && !ours {
		return
	}
	if other, taken, _ := tx.PackageByDraft(came.draft); taken && other.ID != p.ID {
		return
	}
	if !ok {
		p.Origin, p.DraftID, p.Folder = office.MadeHere, came.draft, came.folder
		today, _ := tx.Day()
		tx.PutDoc(docLost+p.ID, lostDraft{Name: message.OneLine(p.Name, office.MaxName), Since: r.Now(), Day: today})
		return
	}
	fromDraft(p, d, office.At(time.Time{}, r.Latest()))
	// A queued draft has yet to get its answer, or was sent by a run that ended before storing the answer. A held one may have been
	// sent after the backup that was restored.
	if d.State == office.DraftUnknown || d.State == office.DraftHeld || d.State == office.DraftQueued || d.State == office.DraftFailed {
		unknown := d.State == office.DraftUnknown
		markSent(&d, p.ID, r.Now())
		r.noteTemplate(tx, d)
		rememberPeople(tx, d.Signers)
		tx.PutDraft(d)
		if unknown { // people were told that it is unknown, so tell them that it was sent
			tx.AddActivity(r.sentLine(*p, d))
		}
	}
}

// correlationKey is the member of externalData that identifies what the package came from, so that it can be recognized in an event
// or a listing if the answer to packages/add, or our record of it, was lost.
const correlationKey = "countersign"

// source is what a package came from: the draft, the installation and the hot folder, empty for none. The latter two are tags
// (office.TagAt). In externalData the three are separated by slashes.
type source struct{ draft, installation, folder string }

func (s source) String() string {
	return strings.TrimRight(s.draft+"/"+s.installation+"/"+s.folder, "/")
}

func (r *Service) sourceOf(d office.Draft) source {
	return source{d.ID, office.TagAt(d.Service, r.deps.Installation()), office.TagAt(d.Service, d.Folder)}
}

// withCorrelation adds the source to the caller's data, which stays readable under its own names.
func withCorrelation(data json.RawMessage, from string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if office.HasExternalData(data) && json.Unmarshal(data, &members) != nil {
		members = map[string]json.RawMessage{"value": data}
	}
	members[correlationKey], _ = json.Marshal(from)
	out, _ := json.Marshal(members)
	return out
}

// cameFrom returns the source named in a package's external data, if any.
func cameFrom(data json.RawMessage) (s source) {
	var text string
	if json.Unmarshal(office.ExternalMembers(data)[correlationKey], &text) != nil {
		return source{}
	}
	s.draft, text, _ = strings.Cut(text, "/")
	s.installation, s.folder, _ = strings.Cut(text, "/")
	return s
}

// recoverAdding marks drafts whose packages/add was in progress when the program ended as unknown: whether it took effect is not
// known, so they must not be sent again automatically.
func (r *Service) recoverAdding() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		drafts, _ := tx.Drafts(office.DraftAdding)
		for _, d := range drafts {
			d.State, d.Changed, d.NextTry = office.DraftUnknown, r.Now(), r.Now()
			d.Problem = message.OutcomeUnknown(d.Name)
			tx.PutDraft(d)
		}
		return nil
	})
	r.TellUnknown()
	r.Signal(office.OutboxChanged)
	return err
}

// Doubt prevents sending automatically what may have been sent in a time missing from the state: the outcome of drafts about to be
// sent is unknown, and drafts waiting for a person say why to check first.
func Doubt(tx *store.Tx, now time.Time) {
	drafts, _ := tx.Drafts(office.DraftsWaiting...)
	for _, d := range drafts {
		switch d.State {
		case office.DraftQueued, office.DraftAdding:
			d.State, d.NextTry = office.DraftUnknown, now
			d.Problem = message.DraftOfBefore()
		case office.DraftFailed:
			d.Problem = message.Then(message.DraftOfBefore(), d.Problem)
		default:
			d.Problem = message.DraftOfBefore()
		}
		d.Changed, d.Decision = now, office.Decision{}
		tx.PutDraft(d)
	}
}

// docLost and its ID name the document of a package that was sent from here without its draft being known: the state was restored
// since. A draft that looks like it may be its second sending, and waits for a person. Each package makes only one draft wait, and
// one more before the service has told its name and signers.
const docLost = "lost/"

type lostDraft struct {
	Name  string    `json:"name,omitempty"`  // of the package; empty while it was not known
	Since time.Time `json:"since"`           // when the package was found
	Day   int       `json:"day"`             // likewise, as counted
	Asked bool      `json:"asked,omitempty"` // a draft waited before the service had told all of the package
}

// lost returns the document of the package that d looks like; empty for none. unsure means that the service has yet to say who signs
// one that it may be.
func (r *Service) lost(d office.Draft) (doc string, unsure bool, err error) {
	if d.Repeat || d.Was == office.DraftUnknown { // a person knows
		return "", false, nil
	}
	own := message.OneLine(d.Name, office.MaxName)
	other := func(name string) bool { return name != "" && name != own }
	doc, err = data.Read(r.Data, "what was sent before the state was restored", func(tx *store.Tx) (unnamed string, err error) {
		for doc, lost := range store.Docs[lostDraft](tx, docLost, "") {
			if other(lost.Name) { // reading each package takes long
				continue
			}
			p, ok, err := tx.Package(strings.TrimPrefix(doc, docLost))
			switch {
			case err != nil && !store.OfOneRecord(err):
				return "", err
			case !ok, p.Away, p.State.Over(), p.ID == d.Corrects, other(p.Name):
			case office.SameSigners(p.Signers, d.Signers):
				return doc, nil
			case len(p.Signers) > 0, p.Gone, !p.Checked.IsZero() && p.RecordPending.IsZero():
			case r.Age(lost.Since) < office.WithheldAfter:
				unsure = true
			case lost.Asked:
			case p.Name != "":
				return doc, nil
			default: // the service has yet to name it: a person decides of one draft, and others need not wait
				unnamed = doc
			}
		}
		return unnamed, nil
	})
	return doc, unsure && doc == "", err
}

// askFirst leaves it to a person to send d, which looks like the package of a document.
func (r *Service) askFirst(d office.Draft, doc string) error {
	if err := r.setAside(d, office.DraftUnknown, message.DraftOfBefore()); err != nil {
		return err
	}
	return r.Data.Update(func(tx *store.Tx) error {
		var lost lostDraft
		p, _, err := tx.Package(strings.TrimPrefix(doc, docLost))
		if err != nil || len(p.Signers) > 0 {
			return tx.PutDoc(doc, nil)
		}
		tx.GetDoc(doc, &lost)
		lost.Asked = true
		return tx.PutDoc(doc, lost)
	})
}

// findUnknown settles drafts with an unknown outcome whose package an event has reported meanwhile. For the others it has the
// service's list read, whose packages are claimed (Claim), again and again, at growing intervals. Not finding one proves nothing:
// only an event, the list or a person decides. It returns when to look again, idle for never.
func (r *Service) findUnknown(client *esign.Client, idle time.Duration) (time.Duration, error) {
	packages := map[string]string{}
	unknown, err := data.Read(r.Data, "the drafts whose outcome is unknown", func(tx *store.Tx) ([]office.Draft, error) {
		unknown, err := tx.Drafts(office.DraftUnknown)
		for _, d := range unknown {
			p, _, _ := tx.PackageByDraft(d.ID)
			packages[d.ID] = p.ID
		}
		return unknown, err
	})
	if err != nil {
		return 0, err
	}
	left := 0
	for _, d := range unknown {
		switch id := packages[d.ID]; {
		case d.Away || d.Service != client.Home() || r.LeftAlone(key(d)):
		case id == "":
			left++
		default:
			if err := r.one(d, func() error { return r.accepted(d, esign.Added{PackageID: id}) }); err != nil {
				return 0, err
			}
		}
	}
	if left == 0 {
		r.find = loop.Retry{}
		return idle, nil
	}
	if r.find.Left(r.Now()) == 0 {
		r.find.Failed(r.Now(), func(tries int) time.Duration { return r.Backoff(tries, 2*r.Pace.Retry, maxFindPause) })
		r.deps.FindPackages()
	}
	return r.find.Left(r.Now()), nil
}

// TellUnknown updates the health issue about drafts with an unknown outcome.
func (r *Service) TellUnknown() {
	unknown, err := data.Read(r.Data, "the drafts whose outcome is unknown", func(tx *store.Tx) ([]office.Draft, error) {
		return tx.Drafts(office.DraftUnknown)
	})
	if err != nil {
		return
	}
	here := slices.DeleteFunc(slices.Clone(unknown), func(d office.Draft) bool { return d.Away })
	asked := slices.DeleteFunc(slices.Clone(here), office.Draft.OfBefore) // of the others only a person can tell
	var text message.Message
	switch {
	case len(asked) > 1:
		text = message.OutcomesUnknown(len(asked))
	case len(asked) == 1:
		text = message.OutcomeUnknown(asked[0].Name)
	case len(here) == 0 && len(unknown) > 0: // the service that could tell is not in use
		text = message.OutcomeUnknownElsewhere(unknown[0].Name)
	}
	if before := len(here) - len(asked); before > 0 {
		text = message.Then(message.DraftsOfBefore(before), text)
	}
	r.Health.Update(health.OutcomeUnknown, text)
}

// refused handles a draft that did not become a package: refused for good, to be retried later, or with an unknown outcome.
func (r *Service) refused(ctx context.Context, d office.Draft, cause error) error {
	var bad *DraftError
	var e *esign.Error
	var file *esign.FileError
	switch {
	case errors.Is(cause, errDecided) || r.live.cancelled(d.ID):
		return nil
	case errors.As(cause, &bad):
		return r.fail(d, bad.Text)
	case errors.As(cause, &file):
		return r.fail(d, esign.Message(cause))
	case errors.Is(cause, esign.ErrOutcomeUnknown):
		r.Log.Warn("the outcome of packages/add is unknown", "draft", d.ID, "err", cause)
		if errors.As(cause, &e) && e.RetryAfter > 0 { // of the service, all that is known is that it asks for a pause
			r.Session.Note(ctx, &esign.Error{Op: e.Op, Kind: esign.Server, Status: e.Status, RetryAfter: e.RetryAfter})
		}
		d.Problem = message.OutcomeUnknown(d.Name)
		r.find = loop.Retry{} // look for all of them at once
		err := r.putDraft(&d, office.DraftUnknown)
		r.TellUnknown()
		r.Signal(office.StatusChanged)
		return err
	case ctx.Err() != nil:
		// Interrupted. Before packages/add nothing is lost; later, recoverAdding handles it.
		return nil
	}
	r.Session.Note(ctx, cause)
	if r.Session.SignedOut(cause) {
		return errors.Join(r.halt(d), cause)
	}
	if d.Problem = templateProblem(d, cause); d.Problem.IsZero() {
		d.Problem = esign.Message(cause)
	}
	if errors.As(cause, &e) && !loop.ConcernsAll(cause) {
		switch {
		case e.Kind == esign.SignedOut: // the sign-in works, so this may be of the moment, but not after many tries
			if d.Problem = message.MayNotSendDocuments(); d.Tries >= mayNotSend {
				return r.fail(d, d.Problem)
			}
		case !e.Temporary():
			if e.Kind == esign.Forbidden && r.Health.Has(health.MayNotSend) { // the service says it in terms of scopes
				d.Problem = message.MayNotSend()
			}
			return r.fail(d, d.Problem)
		}
	}
	d.Tries++
	// A service that asks for a pause gets it from everybody.
	d.NextTry = r.Now().Add(r.Backoff(d.Tries, r.Pace.Retry, maxDraftPause))
	return r.halt(d)
}

func (r *Service) fail(d office.Draft, problem message.Message) error {
	return r.setAside(d, office.DraftFailed, problem)
}

// setAside takes d out of the queue for a person to decide, and tells why.
func (r *Service) setAside(d office.Draft, into office.DraftState, problem message.Message) error {
	d.Problem = problem
	if err := r.putDraft(&d, into); err != nil {
		return err
	}
	r.Record(office.Activity{Kind: office.ActivityProblem, List: d.List, Text: message.Then(message.NotSent(d.Name), problem)})
	r.Signal(office.StatusChanged)
	return nil
}
