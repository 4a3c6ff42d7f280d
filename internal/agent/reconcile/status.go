package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// applyCheck records a status answer and plans the files of an executed package. asked is the package as known when the call was
// made: if another answer was recorded since, it is unknown which is older, and noted is false, except that an answer that everybody
// has signed is never outdated. If an event arrived since, the status is requested again soon. recorded false means that the service
// has no full record of the package to request.
func (r *Service) applyCheck(asked office.Package, status esign.Status, quiet, recorded bool) (noted bool, err error) {
	id, before := asked.ID, asked
	s := r.deps.Settings()
	if s.BesideOriginal { // a draft that determines the folder may have claimed it since
		if before, _, err = r.Data.Package(id); err != nil {
			return false, err
		}
	}
	folder, err := r.deps.Files.Folder(s, before)
	if err != nil {
		return false, err
	}
	listening, now := r.deps.Webhook.ListeningSince(), r.Now() // taken together, because the clock may jump during the commit
	var found changes
	var silent bool
	err = r.Data.Update(func(tx *store.Tx) error {
		found, noted = changes{}, false
		p, ok, err := tx.Package(id)
		if !ok {
			return err
		}
		if noted = status.State == office.PackageExecuted || p.Checked.Equal(asked.Checked); !noted {
			return nil
		}
		before := p
		if found, err = r.noteStatus(tx, &p, status, s, folder, recorded); err != nil {
			return err
		}
		if recorded { // otherwise the service no longer shows it
			if before.State == office.PackageExecuted && !before.RecordPending.Equal(asked.RecordPending) {
				p.RecordPending = before.RecordPending // an event during the call requests the status again
			}
			r.afterEvents(&p, asked)
		}
		if !before.NextCheck.Equal(asked.NextCheck) && before.NextCheck.Before(p.NextCheck) {
			p.NextCheck = before.NextCheck // it was to be asked about during the call, because the list shows more
		}
		silent = missedEvent(before, p, found.moved, listening, now)
		p.Arrived = p.Events != asked.Events
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("record the status of package %s: %w", id, err)
	}
	if !noted {
		return false, nil
	}
	if silent {
		r.deps.Webhook.Missed(id, now)
	}
	for i := range found.facts { // a decline needs action, so it does not wait for a summary
		found.facts[i].CaughtUp = quiet && found.facts[i].Kind != office.FactDeclined
	}
	r.publish(found)
	if !asked.Restored.IsZero() {
		r.deps.Drafts() // one that looks like it may be waiting
	}
	if found.record != nil {
		r.records.add(*found.record)
	}
	r.Signal(office.PackagesChanged)
	return noted, nil
}

// changes are the consequences of a status answer or an event, once recorded.
type changes struct {
	facts   []office.Fact
	ended   bool            // a draft may be waiting for the end of the package, or of its withdrawal
	planned int             // number of files planned
	moved   bool            // something happened that an event should have reported
	record  *recordQuestion // nil for none
}

// publish notifies others of what was found, after the commit.
func (r *Service) publish(f changes) {
	if f.ended {
		r.deps.Drafts()
	}
	if f.planned > 0 {
		r.deps.Files.Wake()
	}
	r.deps.News.Announce(f.facts...)
	r.deps.Files.TellGiven()
}

// ended returns the facts that people declined to sign p and that it expired, and adds them to the activity; was is p as known before.
// Expiry waits for the full record, which may name who declined. Neither notifications nor the activity report what happened before
// the office first signed in, or before its state was restored from a backup, nor anything about a package that is old news as a
// whole (tell is false): a new computer also learns of last year's.
func (r *Service) ended(tx *store.Tx, was, p office.Package, tell, told bool) (facts []office.Fact) {
	restored := r.Restored(tx)
	since := r.deps.Since()
	old := func(when time.Time) bool {
		return !tell || when.Before(since) || when.Before(restored.Add(-loop.ClockSlack))
	}
	heard := tell && was.Heard.After(since) && was.Heard.After(restored) // then somebody not recorded as declined has declined since, whatever the clocks say
	before, lately := p, p
	before.Signers, lately.Signers = slices.Clone(p.Signers), slices.Clone(p.Signers)
	for i, s := range p.Signers {
		at := was.SignerIndex(s.ID)
		if old(s.Declined.Time) && !(heard && at >= 0 && was.Signers[at].Declined.Time.IsZero()) {
			lately.Signers[i].Declined = office.When{}
		} else {
			before.Signers[i].Declined = office.When{}
		}
	}
	past := r.deps.News.Declined(tx, before)
	facts = r.deps.News.Declined(tx, lately)
	news := was.State != "" && !was.State.Over() || !was.RecordPending.IsZero()
	if p.State == office.PackageExpired && news && told {
		expired := r.deps.News.Expired(tx, p)
		if old(p.Due) && !p.Due.IsZero() {
			past = append(past, expired...)
		} else {
			facts = append(facts, expired...)
		}
	}
	r.deps.News.Withhold(tx, past)
	for _, d := range facts {
		tx.AddActivity(office.Activity{Time: r.Now(), Happened: d.When, Kind: office.ActivityProblem, PackageID: p.ID, Text: message.Then(d.Title, d.Body)})
	}
	return facts
}

// tells reports whether to report what an answer shows of p beyond what is known. Signatures made before the package was known are
// old, unless the whole package is new. What happened to a package from a backup was reported after the backup was made.
func (r *Service) tells(p office.Package) bool {
	return p.Restored.IsZero() && (!p.Checked.IsZero() || r.Latest().Sub(p.Created) < office.NewFor)
}

// noteStatus applies a status answer to p, with its consequences: signatures, whether to request the record, save jobs once
// everybody has signed, and when to ask again. Files are permanently named after the package, so they wait for a name that the
// record may supply. s are the settings, and folder is where the files go.
func (r *Service) noteStatus(tx *store.Tx, p *office.Package, status esign.Status, s office.Settings, folder string, recorded bool) (f changes, err error) {
	was, tell := *p, r.tells(*p)
	was.Signers = slices.Clone(p.Signers)
	news := apply.Status(p, status, r.Latest())
	p.Checked = r.Now() // to be compared with other times of this computer's
	if slices.ContainsFunc(status.Signers, func(x esign.Signer) bool { return x.StateTold }) {
		p.Heard = r.Now()
	}
	if p.RecordPending = (time.Time{}); recorded {
		f.record = r.needRecord(p, was, status, tell)
	}
	f.moved = len(news) > 0 || was.State != office.PackageExecuted && p.State == office.PackageExecuted
	if was.Origin == office.MadeElsewhere && was.Checked.IsZero() && slices.ContainsFunc(was.Documents, func(d office.Document) bool { return len(d.SignedBy) > 0 }) {
		news = nil // known through a signature's event: others are old, or reported by the next event
	}
	f.facts = r.deps.News.Signed(tx, *p, news)
	if !tell {
		r.deps.News.Withhold(tx, f.facts)
		f.facts = nil
	}
	ended := r.ended(tx, was, *p, tell, f.record == nil)
	f.facts, f.ended = append(f.facts, ended...), len(ended) > 0
	if p.State != office.PackageExecuted { // otherwise its files may have been saved before
		p.Restored = time.Time{}
	}
	r.settle(tx, p, &f)
	if p.DraftID == "" {
		r.deps.Claim(tx, p, p.ExternalData)
	}
	letGo(tx, p, r.Latest())
	if some, all := status.Lists(); p.State == office.PackageExecuted && !p.Planned && some && f.record == nil {
		if f.planned, err = r.deps.Files.Plan(tx, p, s, folder); err != nil {
			return f, err
		}
		if p.Planned = all && r.allListed(p); p.Planned && f.planned == 0 { // until now it was open whether there are more
			f.facts = append(f.facts, r.deps.Files.NoteFiles(tx, p)...)
		}
	}
	noteAnswer(p, r.Now())
	p.NextCheck = r.Now().Add(r.checkPause(*p, s))
	return f, nil
}

// lackedOften is how many answers must lack a document before it is let go. They are asked for within hours, at ever longer intervals:
// a clock that jumps shortens that little.
const lackedOften = 16

// letGo removes documents from p that the service has not listed for long although everyone has signed: somebody replaced or removed
// them there. One of which a file is planned or saved stays, and is not looked for; one that was executed is looked for until it comes.
func letGo(tx *store.Tx, p *office.Package, now time.Time) {
	p.Documents = slices.Clone(p.Documents)
	for i, d := range p.Documents {
		if d.Unlisted.IsZero() {
			continue
		}
		if _, planned, _ := tx.Job(office.Job{PackageID: p.ID, DocumentID: d.ID, Kind: office.FileSigned}.Key()); planned {
			p.Documents[i].Unlisted, p.Documents[i].Lacked = time.Time{}, 0
		}
	}
	p.Documents = slices.DeleteFunc(p.Documents, func(d office.Document) bool {
		return d.Lacked >= lackedOften && now.Sub(d.Unlisted) >= listedLate && !executed(*p, d)
	})
}

// executed reports whether an event has said that a document of p is executed.
func executed(p office.Package, d office.Document) bool {
	return slices.ContainsFunc(p.History, func(m office.HistoryEntry) bool { return m.What == office.EntryDocument && m.Ref == d.ID })
}

// listedLate is how late the service may list a document.
const listedLate = office.WithheldAfter / 2

// allListed reports whether p, which everyone has signed, has the documents that the service lists. One that is missing there may
// be listed late; people do not wait as long for it as the service is asked, unless it was executed: a minute, if no signature of it
// is known.
func (r *Service) allListed(p *office.Package) bool {
	return !slices.ContainsFunc(p.Documents, func(d office.Document) bool {
		signed := slices.ContainsFunc(p.History, func(m office.HistoryEntry) bool { return m.Ref == d.ID })
		missing := r.AgeTold(d.Unlisted)
		return !d.Unlisted.IsZero() && (missing < time.Minute || signed && missing < listedLate || executed(*p, d))
	})
}

// Note records a status that another service of the agent has requested, with its consequences. asked is the package as known when
// the call was made; noted is false if the answer may be older than what is known.
func (r *Service) Note(asked office.Package, status esign.Status) (noted bool, err error) {
	return r.applyCheck(asked, status, false, true)
}

// NoteGone records that asked is withdrawn, although the service, which agreed to withdraw it, no longer shows it.
func (r *Service) NoteGone(asked office.Package) error {
	_, err := r.applyCheck(asked, esign.Status{PackageID: asked.ID, State: office.PackageRescinded}, false, false)
	return err
}

// settle ends a request to withdraw p according to what is now known of it, and adds what to tell people to found.
func (r *Service) settle(tx *store.Tx, p *office.Package, found *changes) {
	if !p.Settle() {
		return
	}
	w := p.Withdrawal
	line := office.Activity{Time: r.Now(), PackageID: p.ID}
	if w.State == office.WithdrawDone {
		line.Kind, line.Text, line.Happened = office.ActivityWithdrawn, withdrawnText(p.DisplayName(), w), p.Ended()
	} else {
		found.facts = append(found.facts, r.deps.News.NotWithdrawn(tx, *p)...)
		line.Kind, line.Text = office.ActivityProblem, message.Then(message.NotWithdrawn(p.DisplayName()), w.Problem)
	}
	found.ended = true
	tx.AddActivity(line)
}

func withdrawnText(called string, w *office.Withdrawal) message.Message {
	text := message.Withdrawn(called)
	if w.By != "" {
		text = message.Withdrew(w.By, called)
	}
	if w.Message != "" {
		text = message.Then(text, message.WithdrawnSaying(message.OneLine(w.Message, office.MaxName)))
	}
	return text
}

// maxMiss is the longest pause between two calls about a package about which the service does not answer. Such an answer is never
// final: "not found" may mean "no permission now" (service-facts.md, 10), roles are revoked and granted again, packages move to
// other members.
const maxMiss = 24 * time.Hour

// missPackage records that the service answered a call about a package with cause. It is asked again after pause or, if zero, after
// as long as this has been going on: seconds at first, a day in the end. asked is the package as known when the call was made.
func (r *Service) missPackage(asked office.Package, cause *esign.Error, pause time.Duration) error {
	var shown bool // whether the visible state changed
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(asked.ID)
		if !ok {
			return err
		}
		now, before := r.Now(), p
		since := office.RefusedFor(&p.Refused, now)
		p.NextCheck = now.Add(pause)
		if pause == 0 {
			p.NextCheck = now.Add(min(max(since, 5*r.Pace.Retry), maxMiss))
			p.Gone = since >= office.WithheldAfter && !p.State.Unsent()
		}
		if cause.Kind == esign.NotFound && since >= maxMiss && p.State.Unsent() { // dropped in the service's editor, not lost
			p.State, p.RecordPending = office.PackageRescinded, time.Time{}
		}
		if (p.State.Over() || p.Planned) && pause == 0 && since >= recordWantedFor { // nobody can sign it, or its files are planned: what more there is would be old news
			p.RecordPending, p.Refused, p.Gone = time.Time{}, time.Time{}, false
		}
		r.afterEvents(&p, asked)
		if since >= office.WithheldAfter && p.State == office.PackageExecuted && !p.Planned {
			p.Problem = loop.RefusalProblem(cause)
		}
		shown = p.Gone != before.Gone || p.State != before.State || p.Problem != before.Problem
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("record what was said of package %s: %w", asked.ID, err)
	}
	if shown {
		r.Signal(office.PackagesChanged)
	}
	r.deps.Files.TellRefused()
	return nil
}

// noteAnswer clears the effects of a refusal once the service has answered about p. A package that everybody has signed but whose
// documents it does not list still counts as withheld.
func noteAnswer(p *office.Package, now time.Time) {
	p.Gone = false
	if p.State == office.PackageExecuted && !p.Planned {
		if office.RefusedFor(&p.Refused, now) >= office.WithheldAfter {
			p.Problem = message.DocumentsNotListed()
		}
		return
	}
	if !p.Refused.IsZero() {
		p.Refused, p.Problem = time.Time{}, message.Message{}
	}
}

// deadlineLook is how often to check for what is due soon. A check writes nothing unless there is something to report.
const deadlineLook = 15 * time.Minute

// RunDeadlines tells people of packages that are due soon and unsigned, each only once ever, until ctx ends. It waits while they
// want no notifications.
func (r *Service) RunDeadlines(ctx context.Context) error {
	return loop.Repeat(ctx, r.deadlines, func(context.Context) (time.Duration, error) { return deadlineLook, r.TellDueSoon() })
}

// WakeDeadlines checks at once, because the settings or the clock have changed.
func (r *Service) WakeDeadlines() { loop.Wake(r.deadlines) }

// TellDueSoon is one check of RunDeadlines.
func (r *Service) TellDueSoon() error {
	days := r.deps.Settings().DueDays
	if days <= 0 || r.deps.News.Silent() {
		return nil
	}
	now := r.Now()
	due, err := data.Read(r.Data, "the packages that are due soon", func(tx *store.Tx) (ids []string, err error) {
		tx.OpenLines(func(l office.PackageLine) {
			if l.DueSoon(now, days) {
				ids = append(ids, l.ID)
			}
		})
		return slices.DeleteFunc(ids, func(id string) bool { return r.deps.News.ToldDue(tx, id) }), nil
	})
	if err != nil || len(due) == 0 {
		return err
	}
	var facts []office.Fact
	err = r.Data.Update(func(tx *store.Tx) error {
		facts = nil
		for _, id := range due {
			p, ok, err := tx.Package(id)
			if store.OfOneRecord(err) || err == nil && (!ok || p.Away || !p.Line().DueSoon(now, days)) {
				continue
			}
			if err != nil {
				return err
			}
			told := r.deps.News.DueSoon(tx, p, now)
			for _, f := range told {
				tx.AddActivity(office.Activity{Time: now, Kind: office.ActivityDue, PackageID: p.ID, Text: message.Then(f.Title, f.Body)})
			}
			facts = append(facts, told...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("tell what is due soon: %w", err)
	}
	r.deps.News.Announce(facts...)
	if len(facts) > 0 {
		r.Signal(office.ActivityChanged)
	}
	return nil
}
