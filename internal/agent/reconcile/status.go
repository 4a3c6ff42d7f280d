package reconcile

import (
	"context"
	"errors"
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

// applyCheck records a status answer and plans the files of a package that is executed. asked is the package as it was known when
// the question was put: where another answer was recorded since, nobody knows which of the two is the older one, and noted is
// false. Only that everybody has signed is never too old. Where an event came since, the package is asked about again soon. Unless
// recorded is set, the service has no record of it to be asked for.
func (r *Service) applyCheck(asked office.Package, status esign.Status, quiet, recorded bool) (noted bool, err error) {
	id, before := asked.ID, asked
	s := r.deps.Settings()
	if s.BesideOriginal { // a draft may have claimed it since, whose folder that would be
		if before, _, err = r.Data.Package(id); err != nil {
			return false, err
		}
	}
	folder, err := r.deps.Files.Folder(s, before)
	if err != nil {
		return false, err
	}
	listening, now := r.deps.Webhook.ListeningSince(), r.Now() // of one moment: the clock may jump while it is committed
	var found changes
	var silent bool
	err = r.Data.Update(func(tx *store.Tx) error {
		found, noted = changes{}, false
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		if noted = status.State == office.PackageExecuted || p.Checked.Equal(asked.Checked); !noted {
			return nil
		}
		before := p
		if found, err = r.noteStatus(tx, &p, status, s, folder, recorded); err != nil {
			return err
		}
		r.afterEvents(&p, asked)
		silent = owesEvent(before, p, found.moved, listening, now)
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
	for i := range found.facts { // a decline is for somebody to act on: it waits for no summary
		found.facts[i].CaughtUp = quiet && found.facts[i].Kind != office.FactDeclined
	}
	r.publish(found)
	if found.record != nil {
		r.records.add(*found.record)
	}
	r.Signal(office.PackagesChanged)
	return noted, nil
}

// changes are what follows from a status answer or an event once it is recorded.
type changes struct {
	facts   []office.Fact
	lines   []office.Activity
	planned int             // files
	moved   bool            // something happened that an event should have told
	record  *recordQuestion // nil for none
}

// publish has others know of what was found, once it is committed.
func (r *Service) publish(f changes) {
	for _, line := range f.lines {
		r.Tell(line)
	}
	if len(f.lines) > 0 {
		r.deps.Drafts() // one may wait for what it corrects
	}
	if f.planned > 0 {
		r.deps.Files.Wake()
	}
	r.deps.News.Announce(f.facts...)
	r.deps.Files.TellGiven()
}

// ended are the facts that people declined to sign p, and that it has expired, and the lines of the activity that say so; was is p as
// it was known before. That it has expired waits until its record is told, which may say who declined. Neither people nor the activity are told
// of what had happened when the office first signed in, or before its state was restored from a backup, nor of anything about a package
// that is old news as a whole (tell is false): a fresh computer learns of last year's, too.
func (r *Service) ended(tx *store.Tx, was, p office.Package, tell, told bool) (facts []office.Fact, lines []office.Activity, err error) {
	restored, err := data.Restored(tx, r.Now())
	if err != nil {
		return nil, nil, err
	}
	since := r.deps.Since()
	old := func(when time.Time) bool {
		return !tell || when.Before(since) || when.Before(restored.Add(-loop.ClockSlack))
	}
	heard := tell && was.Heard.After(since) && was.Heard.After(restored) // then one who had not declined has since, by whatever clock
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
	past, err := r.deps.News.Declined(tx, before)
	if err != nil {
		return nil, nil, err
	}
	if facts, err = r.deps.News.Declined(tx, lately); err != nil {
		return nil, nil, err
	}
	news := was.State != "" && !was.State.Over() || !was.RecordPending.IsZero()
	if p.State == office.PackageExpired && news && told {
		expired, err := r.deps.News.Expired(tx, p)
		if err != nil {
			return nil, nil, err
		}
		if old(p.Due) && !p.Due.IsZero() {
			past = append(past, expired...)
		} else {
			facts = append(facts, expired...)
		}
	}
	err = r.deps.News.Withhold(tx, past)
	for _, d := range facts {
		line := office.Activity{Time: r.Now(), Happened: d.When, Kind: "problem", PackageID: p.ID, Text: message.Then(d.Title, d.Body)}
		lines = append(lines, line)
		err = errors.Join(err, tx.AddActivity(line))
	}
	return facts, lines, err
}

// tells reports whether people are told of what an answer shows of p beyond what is known. Signatures that were there before the
// package was known are old, unless everything about it is new. What happened to one from a backup was told before, in the time
// that the backup does not know.
func (r *Service) tells(p office.Package) bool {
	return p.Restored.IsZero() && (!p.Checked.IsZero() || r.Now().Sub(p.Created) < office.NewFor)
}

// noteStatus notes a status answer in p, and what follows: signatures, whether the record is to be asked for, save jobs once everybody
// has signed, and when to ask again. The files are called by the package's name for good, so that they wait for one that the record may
// tell. s are the settings, and folder is where the files go.
func (r *Service) noteStatus(tx *store.Tx, p *office.Package, status esign.Status, s office.Settings, folder string, recorded bool) (f changes, err error) {
	was, tell := *p, r.tells(*p)
	was.Signers = slices.Clone(p.Signers)
	news := apply.Status(p, status, r.Now())
	if slices.ContainsFunc(status.Signers, func(x esign.Signer) bool { return x.StateTold }) {
		p.Heard = r.Now()
	}
	if p.RecordPending = (time.Time{}); recorded {
		f.record = r.needRecord(p, was, status, tell)
	}
	f.moved = len(news) > 0 || was.State != office.PackageExecuted && p.State == office.PackageExecuted
	if was.Origin == office.MadeElsewhere && was.Checked.IsZero() && slices.ContainsFunc(was.Documents, func(d office.Document) bool { return len(d.SignedBy) > 0 }) {
		news = nil // it became known by a signature: others are old, or the next event's news
	}
	if f.facts, err = r.deps.News.Signed(tx, *p, news); err != nil {
		return f, err
	}
	if !tell {
		if err := r.deps.News.Withhold(tx, f.facts); err != nil {
			return f, err
		}
		f.facts = nil
	}
	ended, lines, err := r.ended(tx, was, *p, tell, f.record == nil)
	if err != nil {
		return f, err
	}
	f.facts, f.lines = append(f.facts, ended...), lines
	if p.State != office.PackageExecuted { // else its files may have been saved before
		p.Restored = time.Time{}
	}
	if err := r.settle(tx, p, &f); err != nil {
		return f, err
	}
	if p.DraftID == "" {
		if err := r.deps.Claim(tx, p, p.ExternalData); err != nil {
			return f, err
		}
	}
	if some, all := status.Lists(); p.State == office.PackageExecuted && !p.Planned && some && f.record == nil {
		if f.planned, err = r.deps.Files.Plan(tx, p, s, folder); err != nil {
			return f, err
		}
		if p.Planned = all; all && f.planned == 0 { // the last answer left open whether there are more
			told, err := r.deps.Files.NoteFiles(tx, p)
			if err != nil {
				return f, err
			}
			f.facts = append(f.facts, told...)
		}
	}
	noteAnswer(p, r.Now())
	p.NextCheck = r.Now().Add(r.checkPause(*p, s))
	return f, nil
}

// Note records a status that another service of the agent has asked for, with what follows from it. asked is the package as it was known when the
// question was put; noted is false where the answer may be older than what is known.
func (r *Service) Note(asked office.Package, status esign.Status) (noted bool, err error) {
	return r.applyCheck(asked, status, false, true)
}

// NoteGone records that asked is withdrawn, though the service, which said that it would be, shows it no more.
func (r *Service) NoteGone(asked office.Package) error {
	_, err := r.applyCheck(asked, esign.Status{PackageID: asked.ID, State: office.PackageRescinded}, false, false)
	return err
}

// settle ends the wish to withdraw p with what is known of it now, and notes in found what people are told of that.
func (r *Service) settle(tx *store.Tx, p *office.Package, found *changes) error {
	if !p.Settle() {
		return nil
	}
	w := p.Withdrawal
	line := office.Activity{Time: r.Now(), PackageID: p.ID}
	if w.State == office.WithdrawDone {
		line.Kind, line.Text, line.Happened = "withdrawn", withdrawnText(p.DisplayName(), w), p.Ended()
	} else {
		facts, err := r.deps.News.NotWithdrawn(tx, *p)
		if err != nil {
			return err
		}
		found.facts = append(found.facts, facts...)
		line.Kind, line.Text = "problem", message.Then(message.NotWithdrawn(p.DisplayName()), w.Problem)
	}
	found.lines = append(found.lines, line)
	return tx.AddActivity(line)
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

// maxMiss is the longest pause between two questions about a package that the service does not tell about. Nothing is
// final about such an answer: "not found" may mean "no permission at the moment" (service-facts.md, 10), roles are taken
// away and given back, packages move to other members.
const maxMiss = 24 * time.Hour

// missPackage notes that the service answered a question about a package with cause. It is asked again after pause, or
// for none after as long as this has gone on already: seconds at first, a day in the end. asked is the package as it was known
// when the question was put.
func (r *Service) missPackage(asked office.Package, cause *esign.Error, pause time.Duration) error {
	var shown bool // differently from before
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(asked.ID)
		if err != nil || !ok {
			return err
		}
		now, before := r.Now(), p
		since := office.RefusedFor(&p.Refused, now)
		p.NextCheck = now.Add(pause)
		if pause == 0 {
			p.NextCheck = now.Add(min(max(since, 5*r.Pace.Retry), maxMiss))
			p.Gone = since >= office.WithheldAfter
		}
		r.afterEvents(&p, asked)
		if since >= office.WithheldAfter && p.State == office.PackageExecuted && !p.Planned {
			p.Problem = loop.RefusalProblem(cause)
		}
		shown = p.Gone != before.Gone || p.Problem != before.Problem
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

// noteAnswer ends what a refusal began, once the service has told about p. A package that everybody has signed, and whose
// documents it does not list, is still withheld.
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

// deadlineLook is how often it is looked for what is due soon. A look writes nothing unless there is something to tell.
const deadlineLook = 15 * time.Minute

// RunDeadlines tells people of packages that are due soon and not signed, each once ever, until ctx ends. While they want
// to hear nothing it waits.
func (r *Service) RunDeadlines(ctx context.Context) error {
	return loop.Repeat(ctx, r.deadlines, func(context.Context) (time.Duration, error) { return deadlineLook, r.TellDueSoon() })
}

// WakeDeadlines has it looked at once: the settings or the clock have changed.
func (r *Service) WakeDeadlines() { loop.Wake(r.deadlines) }

// TellDueSoon is one look of RunDeadlines.
func (r *Service) TellDueSoon() error {
	days := r.deps.Settings().DueDays
	if days <= 0 || r.deps.News.Silent() {
		return nil
	}
	now := r.Now()
	due, err := data.Read(r.Data, "the packages that are due soon", func(tx *store.Tx) (ids []string, err error) {
		err = tx.OpenLines(func(l office.PackageLine) {
			if l.DueSoon(now, days) {
				ids = append(ids, l.ID)
			}
		})
		if err != nil {
			return nil, err
		}
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
			told, err := r.deps.News.DueSoon(tx, p, now)
			for _, f := range told {
				err = errors.Join(err, tx.AddActivity(office.Activity{Time: now, Kind: "due", PackageID: p.ID, Text: message.Then(f.Title, f.Body)}))
			}
			if err != nil {
				return err
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
