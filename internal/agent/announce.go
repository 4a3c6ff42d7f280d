package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// fact is something that happened and that people are told of once. Its key is committed (store.Tx.Once) together
// with what it is about, before it is raised: a crash in between costs a notification, never doubles one.
type fact struct {
	key         string
	packageID   string
	kind        factKind
	title, body string
	who         string // the signer's id, of a signature
	name        string // and name
	partial     bool   // the person has other documents of the package left to sign
	complete    bool   // the signature after which nobody is left to sign
	quiet       bool   // found by catching up: told in a summary when there are many
}

// factKind is what a fact is about.
type factKind int

const (
	factOther    factKind = iota
	factSigned            // one person's signature on one document
	factDeclined          // one person's refusal
	factSaved             // a package that everyone has signed, with its files
	factProblem           // what keeps the current from its documents
)

// announceStep is the time between two looks at whether there is still something to wait for; announcePause is how long
// facts that were found together may take to meet.
const (
	announcePause = 300 * time.Millisecond
	announceStep  = 20 * time.Millisecond
)

// While more than this many packages or files wait, the agent is catching up: facts are held back for one summary, for
// the last few of them too, but not longer than people would wait for the first word.
const (
	catchingUpMany = 5
	catchingUpLast = 10 * time.Second
	maxCatchingUp  = 2 * time.Minute
)

// announceEnd is how long the last notifications may take when the program ends.
const announceEnd = 2 * time.Second

// announcer holds the facts that wait to be told.
type announcer struct {
	ring   chan struct{}
	mu     sync.Mutex
	wait   []fact
	moment moment // only runAnnounce's
}

// announce queues facts; it does not block.
func (a *Agent) announce(facts ...fact) {
	if len(facts) == 0 {
		return
	}
	a.announcer.mu.Lock()
	a.announcer.wait = append(a.announcer.wait, facts...)
	a.announcer.mu.Unlock()
	loop.Wake(a.announcer.ring)
}

// runAnnounce raises notifications, apart from the loops that find the facts: a notification daemon may be slow.
func (a *Agent) runAnnounce(ctx context.Context) error {
	m := &a.announcer.moment
	for {
		if !loop.Wait(ctx, m.left(time.Now()), a.announcer.ring) {
			m.add(time.Now(), a.unsilenced(a.takeFacts())...)
			return a.tellNotices(ctx, m.take(time.Now(), true))
		}
		if n, quiet := a.factsWaiting(); n > 1 || quiet {
			a.holdBack(ctx)
		}
		m.add(time.Now(), a.unsilenced(a.takeFacts())...)
		if err := a.tellNotices(ctx, m.take(time.Now(), false)); err != nil {
			return err
		}
	}
}

// holdBack waits for the rest of what is found in one moment, and for the end of catching up; not at all when nothing
// more is to come.
func (a *Agent) holdBack(ctx context.Context) {
	until := announcePause
	for waited := time.Duration(0); waited < until && a.moreToCome(); waited += announceStep {
		if a.catchingUp() {
			until = min(waited+catchingUpLast, maxCatchingUp)
		}
		if !loop.Sleep(ctx, announceStep) {
			return
		}
	}
}

// moreToCome reports whether something is under way that may end as a fact: an event, a question to the service, a file.
// Whatever ended before has announced its facts.
func (a *Agent) moreToCome() bool {
	now := a.Now()
	_, online := a.online()
	asking := online && a.rest.Left(now) == 0
	saving := online && a.savesRest() == 0 && !a.saves.blocking(now)
	var found int
	err := a.Data.View(func(tx *store.Tx) error {
		events, err := tx.PendingEvents(1)
		found = len(events)
		if err == nil && asking {
			var packages []office.Package
			packages, err = tx.PackagesDue(a.Due(loop.MaxPackageWait), 1)
			found += len(packages)
		}
		if err == nil && saving {
			var jobs []office.Job
			jobs, err = tx.JobsDue(a.Due(loop.MaxJobWait), 1)
			found += len(jobs)
		}
		return err
	})
	// Looked at last: what is recorded is announced a moment later, by whoever is still at work.
	a.mu.Lock()
	found += a.backlog
	a.mu.Unlock()
	return err == nil && found+len(a.saves.busy()) > 0
}

// catchingUp reports whether more waits than the ordinary work of a moment: packages to be asked about, or files to be
// saved that nothing keeps from it.
func (a *Agent) catchingUp() bool {
	a.mu.Lock()
	waiting := a.backlog
	a.mu.Unlock()
	if waiting > catchingUpMany {
		return true
	}
	now := a.Now()
	if a.saves.blocking(now) || a.savesRest() > 0 {
		return false
	}
	err := a.Data.View(func(tx *store.Tx) error {
		due, err := tx.JobsDue(a.Due(loop.MaxJobWait), catchingUpMany+1)
		waiting = len(due)
		return err
	})
	_, online := a.online()
	return err == nil && online && waiting > catchingUpMany
}

func (a *Agent) setBacklog(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.backlog = n
}

// factsWaiting is how many facts wait, and whether any was found by catching up.
func (a *Agent) factsWaiting() (n int, quiet bool) {
	a.announcer.mu.Lock()
	defer a.announcer.mu.Unlock()
	for _, f := range a.announcer.wait {
		quiet = quiet || f.quiet
	}
	return len(a.announcer.wait), quiet
}

func (a *Agent) takeFacts() []fact {
	a.announcer.mu.Lock()
	defer a.announcer.mu.Unlock()
	facts := a.announcer.wait
	a.announcer.wait = nil
	return facts
}

// tellNotices raises notifications. A desktop that hangs must not hold up the end of the program: once ctx has ended it
// has announceEnd, and the goroutine lives on for as long as Params.Notify does.
func (a *Agent) tellNotices(ctx context.Context, notices []notice) error {
	if len(notices) == 0 {
		return nil
	}
	told := make(chan error, 1)
	go func() {
		told <- loop.Protect(ctx, loop.Loop{Name: "announce", Run: func(context.Context) error {
			for _, n := range notices {
				a.raise(n)
			}
			return nil
		}})
	}()
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
	}
	limit := time.NewTimer(announceEnd)
	defer limit.Stop()
	select {
	case err := <-told:
		return err
	case <-limit.C:
		a.Log.Warn("the desktop did not take the last notifications", "count", len(notices))
		return errDesktopHangs
	}
}

var errDesktopHangs = errors.New("the desktop takes no notifications")

// unsilenced are the facts that people want to be told of, and now.
func (a *Agent) unsilenced(facts []fact) []fact {
	return slices.DeleteFunc(facts, a.silenced)
}

func (a *Agent) raise(n notice) {
	if a.p.Notify == nil {
		return
	}
	if err := a.p.Notify(message.OneLine(n.title, maxTitle), message.OneLine(n.body, maxBody)); err != nil {
		a.Log.Warn("raise a notification", "err", err)
		a.Health.Set(health.NotificationsFail, message.Plain("This computer shows no notifications at the moment; everything else works."))
		return
	}
	a.Health.Clear(health.NotificationsFail)
}

// signedFact is one person's signature on one document, in words.
func signedFact(p office.Package, s office.Signature) fact {
	return fact{
		key:       "signed/" + s.DocumentID + "/" + s.SignerID,
		packageID: p.ID,
		kind:      factSigned,
		title:     signedTitle(p, s.SignerID),
		body:      signedBody(p, s),
		who:       s.SignerID,
		name:      p.SignerName(s.SignerID),
		partial:   !p.SignedAll(s.SignerID),
	}
}

func signedTitle(p office.Package, signerID string) string {
	return fmt.Sprintf("%s signed %s.", cmp.Or(p.SignerName(signerID), "Someone"), office.Quote(p.DisplayName()))
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

// firstSaved is the fact that a package is saved, when people were not told yet. found is set when its last file was
// there before this program saved it.
func (a *Agent) firstSaved(tx *store.Tx, p office.Package, jobs []office.Job, found bool) ([]fact, error) {
	if !p.Planned || !isSaved(jobs) {
		return nil, nil // without knowing all of its documents, nobody can say
	}
	f := savedFact(p, jobs)
	// A package that was executed long before it was saved here is news of a moment gone by.
	f.quiet = found || a.Now().Sub(p.Executed) > newFor
	return a.untold(tx, f)
}

// untold leaves out the facts that people were told of before, and notes that they are told of the others.
func (a *Agent) untold(tx *store.Tx, all ...fact) (news []fact, err error) {
	for _, f := range all {
		first, err := tx.Once(f.key)
		if err != nil {
			return nil, err
		}
		if first {
			news = append(news, f)
		}
	}
	return news, nil
}

// savedFact is a package whose files are on disk, as far as they can be had.
func savedFact(p office.Package, jobs []office.Job) fact {
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
	return fact{
		key:       "saved/" + p.ID,
		packageID: p.ID,
		kind:      factSaved,
		title:     "Everyone has signed " + office.Quote(p.DisplayName()) + ".",
		body:      body,
	}
}

func folderName(jobs []office.Job) string {
	if len(jobs) == 0 {
		return "the folder"
	}
	return filepath.Base(jobs[0].Folder)
}

// eventSentence is an event as the activity list tells it.
func eventSentence(p office.Package, e esign.Event) string {
	name := office.Quote(p.DisplayName())
	switch e.Action {
	case esign.DocumentSigned:
		if d := p.DocumentName(e.DocumentID); d != "" && len(p.Documents) > 1 {
			return fmt.Sprintf("%s signed %s in %s.", cmp.Or(p.SignerName(e.SignerID), "Someone"), office.Quote(d), name)
		}
		return signedTitle(p, e.SignerID)
	case esign.DocumentExecuted:
		if d := p.DocumentName(e.DocumentID); d != "" {
			return fmt.Sprintf("Everyone has signed %s in %s.", office.Quote(d), name)
		}
		return fmt.Sprintf("Everyone has signed a document in %s.", name)
	case esign.PackageExecuted:
		return "Everyone has signed " + name + "."
	case esign.PackageAdd:
		return name + " was created."
	case esign.PackageSent:
		return name + " was sent."
	default:
		return fmt.Sprintf("The service reported %s for %s.", office.Quote(e.Action), name)
	}
}
