package announce

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

// testService is a Service that runs, with what it needs in the test's hands. It lives in a bubble.
type testService struct {
	*Service
	settings         office.Settings
	more, catchingUp atomic.Bool
	fails            atomic.Bool      // the desktop takes no notifications
	hangs            chan struct{}    // or takes each only once this is closed; nil for not
	now              func() time.Time // nil for time.Now
	before           *testService     // the one before the start, whose store it has; nil for none
	panics           string           // what the desktop is told that has it panic

	stop func() // ends Run

	mu     sync.Mutex
	raised []string
}

// newService is a Service that runs until the test ends.
func newService(t *testing.T, adjust func(*testService)) *testService {
	t.Helper()
	x := &testService{}
	if adjust != nil {
		adjust(x)
	}
	changes := make(chan struct{}, 1)
	var err error
	tools := looptest.Base(t, func() { loop.Wake(changes) })
	if x.now != nil {
		tools.Now = x.now
	}
	if x.before != nil {
		tools.Data = x.before.Data
	}
	x.Service, err = New(tools, Deps{
		Words:      message.English,
		Settings:   func() office.Settings { return x.settings },
		MoreToCome: x.more.Load, CatchingUp: x.catchingUp.Load, HealthChanges: changes,
		Notify: func(n office.Notice) error {
			if x.hangs != nil {
				<-x.hangs
			}
			if x.fails.Load() {
				return errors.New("nobody takes it")
			}
			if x.panics != "" && strings.Contains(n.Title, x.panics) {
				panic(n.Title)
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			x.raised = append(x.raised, n.Title+" | "+n.Body)
			return nil
		},
	})
	noErr(t, err)
	if x.before != nil {
		x.Resume()
	}
	x.stop = looptest.Run(t, x.Run)
	return x
}

// count is how many notifications with text were raised.
func (x *testService) count(text string) (n int) {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.raised {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

func TestWhatIsFoundTogetherIsHeldBackUntilTheWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Announce(office.Fact{Title: message.SomeoneSigned("One")}, office.Fact{Title: message.SomeoneSigned("Two")})
		expect(t, r.count(""), 2, "%d raised at once, with nothing under way")
		r.more.Store(true)
		r.Announce(office.Fact{Title: message.SomeoneSigned("Three")}, office.Fact{Title: message.SomeoneSigned("Four")})
		time.Sleep(meetPause / 2)
		expect(t, r.count(""), 2, "%d raised while more was under way")
		r.more.Store(false)
		began := time.Now()
		r.WorkEnded()
		if n := r.count(""); n != 4 || time.Since(began) != 0 {
			t.Errorf("%d raised %v after the work had ended", n, time.Since(began))
		}
		time.Sleep(momentLength)
		r.more.Store(true)
		r.Announce(office.Fact{Title: message.SomeoneSigned("Five")}, office.Fact{Title: message.SomeoneSigned("Six")})
		time.Sleep(meetPause)
		expect(t, r.count(""), 6, "%d raised though the work takes long")
	})
}

func TestANotificationThatPanicsTakesNoOtherWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, func(x *testService) { x.panics = "One" })
		r.more.Store(true)
		for _, name := range []string{"One", "Two", "Three"} {
			r.Announce(office.Fact{Key: name, PackageID: name, Title: message.SomeoneSigned(name)})
		}
		r.more.Store(false)
		r.WorkEnded()
		time.Sleep(time.Minute)
		if r.count("Two") != 1 || r.count("Three") != 1 {
			t.Errorf("told %q", r.raised)
		}
	})
}

func TestThatTheDesktopTakesNoNotificationsIsToldUntilItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		for _, fails := range []bool{true, false} {
			r.fails.Store(fails)
			r.Announce(office.Fact{Key: fmt.Sprint(fails), PackageID: "p", Title: message.SomeoneSigned("Lease")})
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, r.Health.Has(health.NotificationsFail), fails, "told %v, want %v", fails)
		}
	})
}

func TestTheEndDoesNotWaitForADesktopThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, func(x *testService) { x.hangs = make(chan struct{}) })
		r.Announce(office.Fact{Key: "a", PackageID: "a", Title: message.SomeoneSigned("Lease")})
		time.Sleep(time.Minute)
		r.Announce(office.Fact{Key: "b", PackageID: "b", Title: message.SomeoneSigned("Offer")})
		began := time.Now()
		r.stop()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		close(r.hangs)
	})
}

func TestAProblemIsToldOnceThatIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		var full atomic.Bool
		full.Store(true)
		synctest.Wait()
		r.Data.Store.Fault = func() error {
			if full.Load() {
				return looptest.ErrFault
			}
			return nil
		}
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(time.Hour)
		expect(t, r.count("folder"), 0, "told %d times, and it cannot be noted")
		full.Store(false)
		time.Sleep(time.Hour)
		expect(t, r.count("folder"), 1, "told %d times once it can")
	})
}

func TestCatchingUpIsWaitedForButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.more.Store(true)
		r.catchingUp.Store(true)
		r.Announce(office.Fact{Title: message.SomeoneSigned("One"), CaughtUp: true})
		for range 5 {
			time.Sleep(catchingUpLast / 2)
			r.WorkEnded()
		}
		expect(t, r.count(""), 0, "%d raised while catching up")
		r.catchingUp.Store(false)
		r.WorkEnded()
		time.Sleep(catchingUpLast)
		expect(t, r.count(""), 1, "%d raised after the last was caught up with")
		r.catchingUp.Store(true)
		r.Announce(office.Fact{Title: message.SomeoneSigned("Two"), CaughtUp: true})
		time.Sleep(maxCatchingUp + time.Second)
		expect(t, r.count(""), 2, "%d raised though catching up takes long")
	})
}

// Asking about hundreds of packages takes minutes.
func TestADeclineWaitsForNoEndOfCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.more.Store(true)
		r.catchingUp.Store(true)
		r.Announce(office.Fact{PackageID: "p", Title: message.SomeoneSigned("One"), CaughtUp: true})
		time.Sleep(20 * time.Second)
		if n := r.count(""); n != 0 {
			t.Fatalf("told while more is caught up with: %q", r.raised)
		}
		r.Announce(office.Fact{PackageID: "q", Kind: office.FactDeclined, Title: message.Declined("Ana", "Lease")})
		time.Sleep(time.Second)
		if n := r.count("Ana declined"); n != 1 {
			t.Errorf("told %q", r.raised)
		}
	})
}

func TestAProblemNotedAsToldIsToldThoughTheProgramEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		commits := 0
		r.Data.Committed = func([]office.Activity) {
			if commits++; commits == 2 { // first that it stands; now the note that it was told is on disk, and at that moment the end comes
				go r.stop()
				time.Sleep(time.Millisecond) // whatever ends by itself has ended
			}
		}
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(health.FolderFails.After + time.Second)
		expect(t, r.count(""), 1, "told %d times")
	})
}

func TestWhatIsCommittedAsToldIsToldBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		for range 3 { // the third is held back by the pause for more
			r.Announce(office.Fact{Title: message.Signed("Told", "Lease"), CaughtUp: true})
		}
		if r.stop(); r.count("Told") != 3 {
			t.Errorf("told %q", r.raised)
		}
	})
}

// TestWhoeverSignedLastIsNamedWithTheFilesAndNotToldOfAgain has the files saved before the event of the signature comes, because the
// service was asked, or told in another order.
func TestWhoeverSignedLastIsNamedWithTheFilesAndNotToldOfAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ana, jan := office.Signer{ID: "ana", FirstName: "Ana", LastName: "Ruiz"}, office.Signer{ID: "jan", FirstName: "Jan", LastName: "Weber"}
		jobs := []office.Job{{Kind: office.FileSigned, State: office.JobDone, Target: "Lease.pdf", Folder: "/Signed"}}
		for _, test := range []struct {
			id, want string
			signers  []office.Signer
			after    int // how often people are told of signatures on two documents that come after the files
		}{
			{"one", "Ana Ruiz signed. “Lease.pdf” saved in Signed.", []office.Signer{ana}, 0},
			{"two", " | “Lease.pdf” saved in Signed.", []office.Signer{ana, jan}, 1}, // of whom nobody knows who was the last
		} {
			r := newService(t, nil)
			p := office.Package{
				ID: test.id, Name: test.id, Saving: office.Saving{Planned: true,
					Saved: true}, State: office.PackageExecuted, Executed: office.When{Time: time.Now()},
				Signers: test.signers, Documents: []office.Document{{ID: test.id + "d"}, {ID: test.id + "e"}},
			}
			var facts []office.Fact
			noErr(t, r.Data.Update(func(tx *store.Tx) error { facts = r.Saved(tx, p, jobs); return nil }))
			r.Announce(facts...)
			if n := r.count(test.want); n != 1 {
				t.Errorf("%s: %q, want %q once", test.id, r.raised, test.want)
			}
			for i := range p.Documents {
				p.Documents[i].SignedBy = []string{"ana"}
				r.Announce(r.found(t, p, office.Signature{DocumentID: p.Documents[i].ID, SignerID: "ana"})...)
			}
			time.Sleep(time.Minute)
			if n := r.count("") - 1; n != test.after {
				t.Errorf("%s: told %d times of signatures after the files: %q", test.id, n, r.raised)
			}
		}
	})
}

func TestThatEveryoneHasSignedIsToldOnceThoughTheProgramStartsAgain(t *testing.T) {
	base := looptest.Base(t, func() {})
	start := func() *Service {
		r, err := New(base, Deps{Settings: func() office.Settings { return office.Settings{} }})
		noErr(t, err)
		return r
	}
	r := start()
	r.digest.add(time.Now(), office.Fact{Key: "signed", PackageID: "p", Kind: office.FactSigned, SignedFact: office.SignedFact{Last: true}})
	expect(t, len(r.due(true)), 1, "told %d times")
	for id, want := range map[string]string{"p": "“Lease” is saved.", "q": "Everyone has signed “Lease”."} {
		p := office.Package{ID: id, Name: "Lease", Saving: office.Saving{Planned: true}, State: office.PackageExecuted, Executed: office.When{Time: time.Now()}}
		jobs := []office.Job{{Kind: office.FileSigned, State: office.JobDone, Target: "Lease.pdf", Folder: "/Signed"}}
		noErr(t, base.Data.Update(func(tx *store.Tx) error {
			facts := start().Saved(tx, p, jobs)
			if len(facts) != 1 || facts[0].Title.String() != want {
				t.Errorf("%+v, want %q", facts, want)
			}
			return nil
		}))
	}
}

// TestARestoredOfficeTellsWhatWasSavedSinceTheBackupOnceInAll: its document is found in the folder, and its certificate comes weeks
// later.
func TestARestoredOfficeTellsWhatWasSavedSinceTheBackupOnceInAll(t *testing.T) {
	for name, found := range map[string]bool{"found": true, "saved only now": false} {
		r := newService(t, nil)
		p := office.Package{ID: name, Saving: office.Saving{Planned: true}, State: office.PackageExecuted, Inquiry: office.Inquiry{Restored: time.Now()}}
		jobs := []office.Job{
			{Kind: office.FileSigned, State: office.JobDone, SavedFile: office.SavedFile{Found: found}, Target: "Lease.pdf", Folder: "/Signed"},
			{Kind: office.FileCertificate, State: office.JobPending, Tries: auxiliaryTries, Target: "Lease - certificate.pdf", Folder: "/Signed"},
		}
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			if facts := r.Saved(tx, p, jobs); (len(facts) == 0) != found {
				t.Errorf("%s: %+v", name, facts)
			}
			jobs[1].State = office.JobDone
			if facts := r.Saved(tx, p, jobs); len(facts) > 0 {
				t.Errorf("%s, with its certificate: %+v", name, facts)
			}
			return nil
		}))
	}
}

// The folder went with the computer, so all is downloaded again. Nobody knows of what people were told after the backup.
func TestWhatWasSignedBeforeARestoreIsSummedUpWhenItIsSavedAgain(t *testing.T) {
	r := newService(t, nil)
	now := time.Now()
	var m digest
	for id, signed := range map[string]office.When{"a": {Time: now.Add(-time.Second)}, "b": {Time: now.Add(time.Second), By: true}, "c": {Time: now.Add(time.Second)}} {
		p := office.Package{ID: id, Name: "Lease", Saving: office.Saving{Planned: true}, State: office.PackageExecuted, Executed: signed, Inquiry: office.Inquiry{Restored: now}}
		jobs := []office.Job{{Kind: office.FileSigned, State: office.JobDone, Target: "Lease.pdf", Folder: "/Signed"}}
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			data.MarkRestored(tx, now)
			facts := r.Saved(tx, p, jobs)
			if again := id != "c"; len(facts) != 1 || facts[0].Again != again {
				t.Errorf("%s: %+v", id, facts)
			} else if again {
				m.add(now, facts...)
			}
			return nil
		}))
	}
	want := []string{message.Then(message.PackagesChangedMeanwhile(2), message.PackageSaved("Lease"), message.PackageSaved("Lease")).String()}
	expect(t, texts(m.take(now, false)), want, "told %q")
}

func TestOfARestoredPackageWithoutAnyFilePeopleAreTold(t *testing.T) {
	r := newService(t, nil)
	p := office.Package{ID: "p", Saving: office.Saving{Planned: true}, State: office.PackageExecuted, Executed: office.When{Time: time.Now()},
		Inquiry: office.Inquiry{Restored: time.Now()}}
	jobs := []office.Job{{PackageID: "p", DocumentID: "no/id", Kind: office.FileSigned, State: office.JobPending, Target: "Lease.pdf", Folder: "/Signed"}}
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		if facts := r.Saved(tx, p, jobs); len(facts) != 1 || facts[0].CaughtUp {
			t.Errorf("%+v", facts)
		}
		return nil
	}))
}

func TestNobodyIsToldWhatTheyChoseNotToHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight, in UTC
		signed, saved := office.Fact{Kind: office.FactSigned}, office.Fact{Kind: office.FactSaved}
		for name, test := range map[string]struct {
			settings      office.Settings
			signed, saved bool // are muted
		}{
			"everything": {office.Settings{NotifySettings: office.NotifySettings{Notify: office.NotifyEach}}, false, false},
			"executed":   {office.Settings{NotifySettings: office.NotifySettings{Notify: office.NotifyExecuted}}, true, false},
			"nothing":    {office.Settings{NotifySettings: office.NotifySettings{Notify: office.NotifyNone}}, true, true},
		} {
			r := newService(t, func(x *testService) { x.settings = test.settings })
			if r.muted(signed) != test.signed || r.muted(saved) != test.saved {
				t.Errorf("%s: signed muted %v, saved muted %v", name, r.muted(signed), r.muted(saved))
			}
			r.Snooze(time.Now().Add(time.Hour))
			if !r.muted(saved) {
				t.Errorf("%s: not muted though snoozed", name)
			}
			r.Snooze(time.Time{})
			if r.muted(saved) != test.saved {
				t.Errorf("%s: muted %v after the snooze", name, r.muted(saved))
			}
		}
	})
}
