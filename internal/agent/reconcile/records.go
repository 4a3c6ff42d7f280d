package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// recordWantedFor is how long the record of a package that is over is requested. After that, its content would be old news.
const recordWantedFor = 14 * 24 * time.Hour

// How many records are requested at once, how long each may take, and the longest pause after a failure. Nothing necessary waits for
// them, so they need not take long.
const (
	recordsAtOnce = 2
	recordLimit   = 10 * time.Second
	recordPause   = time.Hour
	recordUrgent  = 10 * time.Minute // the shortest pause if files wait

	recordShare = 0.2 // share of the allowed calls while packages wait for theirs
)

// records are the waiting requests for full records, and the packages whose record was unavailable, which are postponed. They are
// lost when the program ends; the next status requests them again. Safe for concurrent use.
type records struct {
	ring chan struct{} // signals that one was added

	mu     sync.Mutex
	queue  []recordQuestion
	failed loop.Retries // by package id
}

type recordQuestion struct {
	id     string
	home   string // home of the package's service
	tell   bool   // report what it shows; otherwise it is old news
	urgent bool   // files wait for it
}

// add queues a request, once.
func (q *records) add(question recordQuestion) {
	q.mu.Lock()
	if i := slices.IndexFunc(q.queue, func(x recordQuestion) bool { return x.id == question.id }); i >= 0 {
		question.tell = question.tell && q.queue[i].tell
		q.queue = slices.Delete(q.queue, i, i+1)
	}
	if question.urgent {
		q.queue = slices.Insert(q.queue, 0, question)
	} else {
		q.queue = append(q.queue, question)
	}
	q.mu.Unlock()
	loop.Wake(q.ring)
}

func (q *records) next() (question recordQuestion, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return question, false
	}
	question, q.queue = q.queue[0], q.queue[1:]
	return question, true
}

// needRecord records in p, which was known as was before s, whether its full record must be requested, and returns the request.
// Neither events nor the published status tell of signers who declined (service-facts.md, 6 and 7.1). So the record is requested as
// often as the status while signers' states are missing there, and after a package is over until the record has been seen, because
// somebody may have declined unnoticed. It is also requested while the package's name is unknown, because its files are named after
// it permanently. A service without such records is asked once. tell says whether to report what an answer shows.
func (r *Service) needRecord(p *office.Package, was office.Package, s esign.Status, tell bool) *recordQuestion {
	p.RecordPending = time.Time{}
	over, executed := p.State.Over(), p.State == office.PackageExecuted
	waited := was.State != "" && !was.State.Over() || !was.RecordPending.IsZero()
	waits := !executed && !p.State.Unsent() && (!over || waited) &&
		!slices.ContainsFunc(s.Signers, func(x esign.Signer) bool { return x.StateTold })
	unsaid := p.State == office.PackageRescinded && s.RescindMessage == ""
	if !waits && !unsaid && p.Name != "" || executed && p.Planned || r.noRecords.Waits(p.Service, r.Now()) {
		return nil
	}
	if over && was.State.Over() {
		p.RecordPending = was.RecordPending
	}
	if office.RefusedFor(&p.RecordPending, r.Now()) >= recordWantedFor || over && !waits && !unsaid {
		p.RecordPending = time.Time{}
		return nil
	}
	if r.records.failed.Waits(p.ID, r.Now()) {
		if !over || !waited {
			p.RecordPending = time.Time{}
		}
		return nil
	}
	return &recordQuestion{p.ID, p.Service, tell, executed}
}

// RunRecords requests full records, apart from everything necessary: one that hangs delays only other records.
func (r *Service) RunRecords(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	hands := semaphore.NewWeighted(recordsAtOnce)
	beside := rate.NewLimiter(rate.Limit(r.Pace.Statuses*recordShare), 1)
	for hands.Acquire(gctx, 1) == nil {
		var question recordQuestion
		client, pause := r.mayAsk()
		ok := client != nil
		if ok {
			question, ok = r.records.next()
			pause = time.Hour
		}
		if !ok {
			hands.Release(1)
			loop.Wait(gctx, pause, r.records.ring)
			continue
		}
		g.Go(func() error {
			defer hands.Release(1)
			if !question.urgent && r.Backlog() > 0 && beside.Wait(gctx) != nil {
				return nil
			}
			return r.One("record of "+question.id, func() error { return r.askRecord(gctx, client, question) })
		})
	}
	return g.Wait()
}

func (r *Service) askRecord(ctx context.Context, client *esign.Client, question recordQuestion) error {
	// Another service may be in use by now, or this one may have said that it has no records.
	if question.home != client.Home() || r.noRecords.Waits(question.home, r.Now()) || r.deps.Budget.Wait(ctx) != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	record, err := client.Package(limited, question.id)
	var e *esign.Error
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil && question.urgent && record.Name == "": // it will not appear in the next moment either, and files wait
		r.records.failed.Failed(question.id, r.Now(), r.recordPause(question))
		return r.noteRecord(question, &record)
	case err == nil:
		r.records.failed.Worked(question.id)
		return r.noteRecord(question, &record)
	case esign.NotOffered(err):
		r.noRecords.Failed(client.Home(), r.Now(), loop.NotOfferedFor)
	case (loop.ConcernsAll(err) || r.Session.SignedOut(err)) && question.urgent:
		return r.noteRecord(question, nil) // requests the status at once, as soon as possible
	case loop.ConcernsAll(err), r.Session.SignedOut(err):
		return nil // the next status requests it again
	case errors.As(err, &e) && e.RetryAfter > 0:
		r.Session.Note(ctx, err)
	}
	r.records.failed.Failed(question.id, r.Now(), r.recordPause(question))
	return r.noteRecord(question, nil)
}

// recordPause returns how long to postpone a package whose record has no answer. If files wait for it, the status is requested
// meanwhile, which plans them.
func (r *Service) recordPause(question recordQuestion) func(tries int) time.Duration {
	return func(tries int) time.Duration {
		pause := r.Backoff(tries, r.Pace.Retry, recordPause)
		if question.urgent {
			pause = max(pause, recordUrgent)
		}
		return pause
	}
}

// noteRecord records what a package's full record says in addition to its status, or, if nil, that it is unavailable for now. Then
// nothing waits for it any more: neither files for a name, nor news of who declined.
func (r *Service) noteRecord(question recordQuestion, record *esign.Status) error {
	var found changes
	err := r.Data.Update(func(tx *store.Tx) error {
		found = changes{}
		p, ok, err := tx.Package(question.id)
		if !ok || p.RecordPending.IsZero() || p.Planned {
			return err
		}
		was := p
		was.Signers = slices.Clone(p.Signers)
		if record != nil {
			apply.Status(&p, beside(p, *record), r.Latest())
			p.Checked, p.Heard = was.Checked, r.Now()
			if !slices.ContainsFunc(record.Signers, func(x esign.Signer) bool { return x.IsNext }) {
				p.NextSigners = was.NextSigners // as in the status
			}
		}
		if record != nil || !p.State.Over() || r.noRecords.Waits(p.Service, r.Now()) {
			p.RecordPending = time.Time{}
		}
		found.facts = r.ended(tx, was, p, question.tell, true)
		found.ended = len(found.facts) > 0
		if p.State == office.PackageExecuted && !p.Planned {
			p.NextCheck = office.AtOnce
		}
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("note the record of package %s: %w", question.id, err)
	}
	r.publish(found)
	r.Wake()
	r.Signal(office.PackagesChanged)
	return nil
}

// beside returns what a full record says of p in addition to its status.
func beside(p office.Package, record esign.Status) esign.Status {
	s := esign.Status{
		PackageID: p.ID, State: p.State, // as already known: the record may be older
		TimeCreated: record.TimeCreated, TimeRescinded: record.TimeRescinded, TimeExecuted: record.TimeExecuted,
		Name: record.Name, Type: record.Type, Recipients: record.Recipients, RescindMessage: record.RescindMessage, Signers: record.Signers,
	}
	for _, d := range p.Documents {
		if i := slices.IndexFunc(record.Documents, func(x esign.Document) bool { return d.ID != "" && x.ID == d.ID }); i >= 0 {
			named := esign.Document{ID: d.ID, ExternalID: d.ExternalID}
			if d.Name == "" {
				named.Name = record.Documents[i].Name
			}
			if d.FileName == "" {
				named.FileName = record.Documents[i].FileName
			}
			s.Documents = append(s.Documents, named)
		}
	}
	return s
}
