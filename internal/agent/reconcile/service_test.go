package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"golang.org/x/time/rate"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// testService is a Service with what it needs in the test's hands. Nobody is signed in, and it does not run. Each thing is told once,
// as announce does.
type testService struct {
	*Service
	t         *testing.T
	settings  office.Settings
	since     time.Time // of the first sign-in
	before    int       // files that were planned already
	silent    bool      // people want to hear nothing
	deaf      bool      // no events arrive
	listening time.Time
	woken     int // drafts

	mu              sync.Mutex
	planned, missed int
	told            []office.Fact
	withheld        []string // keys of facts that were not told
	heard           []string // events in the order in which they were handled, each as "package/event"
	madeOf          string   // the draft whose folder was asked for last
}

func (x *testService) Folder(_ office.Settings, p office.Package) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.madeOf = p.DraftID
	return "/documents", x.fault()
}
func (x *testService) Plan(_ *store.Tx, p *office.Package, _ office.Settings, _ string) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.planned++
	return len(p.Documents) - x.before, x.fault()
}
func (x *testService) NoteFiles(_ *store.Tx, p *office.Package) []office.Fact {
	return make([]office.Fact, x.before)
}

// fault is that of the store: what the others do there fails in its turn, too.
func (x *testService) fault() error {
	if x.Data.Store.Fault == nil {
		return nil
	}
	return x.Data.Store.Fault()
}
func (x *testService) TellRefused() {}
func (x *testService) TellGiven()   {}
func (x *testService) Resume()      {}
func (x *testService) Announce(facts ...office.Fact) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = append(x.told, facts...)
}
func (x *testService) WorkEnded()                {}
func (x *testService) ListeningSince() time.Time { return x.listening }
func (x *testService) Deaf() bool                { return x.deaf }
func (x *testService) Missed(string, time.Time)  { x.missed++ }
func (x *testService) Heard(e esign.Event, _ time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard = append(x.heard, e.PackageID+"/"+e.EventID)
}
func (x *testService) Tell() {}

func once(tx *store.Tx, key string, kind office.FactKind, p office.Package, who string) []office.Fact {
	if first, _ := tx.Once(key + "/" + p.ID + who); !first {
		return nil
	}
	return []office.Fact{{Key: key + who, Kind: kind, PackageID: p.ID, Title: message.SomeoneSigned(key + who)}}
}

func (x *testService) Declined(tx *store.Tx, p office.Package) (facts []office.Fact) {
	for _, s := range p.Signers {
		if !s.Declined.IsZero() {
			facts = append(facts, once(tx, "declined ", office.FactDeclined, p, s.ID)...)
		}
	}
	return facts
}
func (x *testService) Expired(tx *store.Tx, p office.Package) []office.Fact {
	return once(tx, "expired", office.FactOther, p, "")
}
func (x *testService) NotWithdrawn(tx *store.Tx, p office.Package) []office.Fact {
	return once(tx, "not withdrawn", office.FactOther, p, "")
}
func (x *testService) DueSoon(tx *store.Tx, p office.Package, _ time.Time) []office.Fact {
	return once(tx, "due", office.FactOther, p, "")
}
func (x *testService) ToldDue(tx *store.Tx, id string) bool { return tx.Told("due/" + id) }
func (x *testService) Silent() bool                         { return x.silent }
func (x *testService) Withhold(_ *store.Tx, facts []office.Fact) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range facts {
		x.withheld = append(x.withheld, f.Key)
	}
}
func (x *testService) Signed(tx *store.Tx, p office.Package, signatures []office.Signature) (facts []office.Fact) {
	for _, s := range signatures {
		if first, _ := tx.Once("signed/" + s.DocumentID + "/" + s.SignerID); first {
			facts = append(facts, office.Fact{PackageID: p.ID, SignedFact: office.SignedFact{Who: s.SignerID}})
		}
	}
	return facts
}

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{t: t, settings: office.DefaultSettings()}
	x.Service = New(looptest.Base(t, func() {}), Deps{
		Settings: func() office.Settings { return x.settings }, Since: func() time.Time { return x.since },
		Budget: rate.NewLimiter(rate.Inf, 1), Files: x, News: x, Webhook: x,
		Claim:  func(*store.Tx, *office.Package, json.RawMessage) {},
		Drafts: x.drafts, WokeUp: func(time.Duration) {},
	})
	return x
}

func (x *testService) drafts() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.woken++
}

func (x *testService) update(do func(tx *store.Tx) error) {
	x.t.Helper()
	noErr(x.t, x.Data.Update(do))
}

func (x *testService) keeps(p office.Package) {
	x.t.Helper()
	x.update(func(tx *store.Tx) error { return tx.PutPackage(p) })
}

func (x *testService) comes(ev office.Event) {
	x.t.Helper()
	x.update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err })
}

// happens stores an event and handles it.
func (x *testService) happens(id, action, packageID, document, signer string) {
	x.t.Helper()
	body, err := json.Marshal(map[string]string{"eventId": id, "action": action, "packageId": packageID, "documentId": document, "signerId": signer})
	noErr(x.t, err)
	ev := office.Event{ID: id, Action: action, PackageID: packageID, Received: x.Now(), Body: body}
	x.comes(ev)
	for range 2 { // as after a crash right behind the commit
		noErr(x.t, x.handleEvent(ev))
	}
}

// known begins the record of the package.
func (x *testService) known(state office.PackageState) {
	x.t.Helper()
	x.keeps(office.Package{ID: "p", State: state, Created: x.Now()})
}

func (x *testService) check(s esign.Status) {
	x.t.Helper()
	if noted, err := x.applyCheck(x.now(), s, false, true); err != nil || !noted {
		x.t.Fatal(noted, err)
	}
}

func TestAnAnswerThatWasOvertakenTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		asked := x.now()
		answer := esign.Status{PackageID: "p", State: office.PackageOpen}
		x.check(esign.Status{PackageID: "p", State: office.PackageRescinded})
		time.Sleep(time.Second)
		noErr(t, x.notePackage(t.Context(), asked, answer, nil, false))
		if p := x.now(); p.State != office.PackageRescinded || p.NextCheck.After(x.Now()) {
			t.Errorf("%s, asked again at %s", p.State, p.NextCheck)
		}
		answer.State = office.PackageExecuted
		if noted, err := x.applyCheck(asked, answer, false, true); err != nil || !noted {
			t.Errorf("everybody has signed: %v, %v", noted, err)
		}
	})
}

func TestFilesGoBesideTheOriginalOfADraftThatClaimedThePackageMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.BesideOriginal = true
		x.known(office.PackageOpen)
		asked := x.now()
		claimed := asked
		claimed.DraftID = "draft"
		x.keeps(claimed)
		noted, err := x.applyCheck(asked, esign.Status{PackageID: "p", State: office.PackageExecuted}, false, true)
		if err != nil || !noted || x.madeOf != "draft" {
			t.Errorf("noted %v, the folder is that of draft %q: %v", noted, x.madeOf, err)
		}
	})
}

// TestAnEventThatComesWhileTheAnswerIsUnderWayHasThePackageAskedAboutAgain has the package withdrawn after the service has answered, or
// failed to, and before that is recorded.
func TestAnEventThatComesWhileTheAnswerIsUnderWayHasThePackageAskedAboutAgain(t *testing.T) {
	for name, answer := range map[string]error{
		"open":    nil,
		"trouble": &esign.Error{Kind: esign.Server, Status: 503},
		"missing": &esign.Error{Kind: esign.NotFound, Status: 404},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.known(office.PackageOpen)
			open := esign.Status{PackageID: "p", State: office.PackageOpen}
			answered := func(asked office.Package) {
				if err := x.notePackage(t.Context(), asked, open, answer, false); err != nil && err != answer {
					t.Fatal(err)
				}
			}
			for range 20 { // answers of the same kind, the pause after which has grown
				answered(x.now())
				time.Sleep(x.now().NextCheck.Sub(x.Now()))
			}
			asked := x.now()
			x.happens("e", esign.PackageRescinded, "p", "d", "")
			answered(asked)
			if pause := x.now().NextCheck.Sub(x.Now()); pause > x.Pace.Retry {
				t.Errorf("asked again after %v", pause)
			}
			answered(x.now())
			if pause := x.now().NextCheck.Sub(x.Now()); pause <= x.Pace.Retry {
				t.Errorf("asked without end, after %v", pause)
			}
		})
	}
}

// now is the package as it is known.
func (x *testService) now() office.Package { return x.pack("p") }

func (x *testService) pack(id string) office.Package {
	x.t.Helper()
	p, _, err := x.Data.Package(id)
	noErr(x.t, err)
	return p
}

// The answer that an event has asked for shows another signature, whose own event never comes.
func TestASignatureWhoseEventIsLostIsToldWhenAnotherEventAsks(t *testing.T) {
	status := esign.Status{PackageID: "p", State: "open", Signers: []esign.Signer{{ID: "a", FirstName: "Ana"}, {ID: "j", FirstName: "Jan"}, {ID: "z"}},
		Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}, {SignerID: "j", IsSigned: true}, {SignerID: "z"}}}}}
	for name, c := range map[string]struct {
		known bool
		event string // that comes after the answer, and is of Ana's signature
		want  []string
	}{
		"it never comes":                           {true, "", []string{"a", "j"}},
		"it comes late":                            {true, "late", []string{"a", "j"}},
		"of a package that was not known":          {false, "", []string{"j"}},
		"of one that was not known, it comes late": {false, "late", []string{"a", "j"}},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			if c.known {
				x.known(office.PackageOpen)
				x.check(esign.Status{PackageID: "p", State: "open"})
				time.Sleep(time.Hour)
			}
			x.happens("e", esign.DocumentSigned, "p", "d", "j")
			x.check(status)
			if c.event != "" {
				x.happens(c.event, esign.DocumentSigned, "p", "d", "a")
			}
			var told []string
			for _, f := range x.told {
				told = append(told, f.Who)
			}
			slices.Sort(told)
			expect(t, told, c.want, "told of %q, want %q", c.want)
		})
	}
}

// Whoever withdraws a package asks for its status, which tells of nobody who had declined. The record does.
func TestTheRecordOfAPackageThatWasWithdrawnIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		before := x.now()
		signed := []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}}}}
		if noted, err := x.Note(before, esign.Status{PackageID: "p", State: office.PackageRescinded, Documents: signed}); err != nil || !noted {
			t.Fatal(noted, err)
		}
		if len(x.told) != 1 || x.told[0].CaughtUp {
			t.Errorf("what somebody asked for waits for a summary: %+v", x.told)
		}
		if p := x.now(); p.State != office.PackageRescinded || p.Final() {
			t.Fatalf("it is not asked about any more: %+v", p)
		}
		x.known(office.PackageOpen)
		x.happens("e", esign.PackageRescinded, "p", "", "")
		noErr(t, x.NoteGone(before))
		if p := x.now(); !p.Final() {
			t.Errorf("the service shows it no more, and is to be asked about it: %+v", p)
		}
	})
}

func TestARefusedPackageIsAskedAboutMoreAndMoreRarelyButAtLeastDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		for _, c := range []struct {
			state office.PackageState
			kind  esign.Kind
			days  int
		}{
			{office.PackageExecuted, esign.NotFound, 60}, {office.PackageExecuted, esign.Forbidden, 2}, {office.PackageExecuted, esign.Refused, 2},
			{office.PackageExecuted, esign.SignedOut, 2}, {"brand new", esign.NotFound, 60}, {"", esign.NotFound, 60}, {office.PackageOpen, esign.NotFound, 60},
		} {
			x.known(c.state)
			asked := 0
			for began := time.Now(); time.Since(began) < time.Duration(c.days)*24*time.Hour; asked++ {
				noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: c.kind}, false))
				p := x.now()
				pause := p.NextCheck.Sub(x.Now())
				if p.Final() || pause <= 0 || pause > maxMiss || asked == 0 && pause != 5*x.Pace.Retry || p.Gone != (asked > 0 && time.Since(began) >= office.WithheldAfter) {
					t.Fatalf("%+v: asked again after %v, final: %v, said to be missing: %v", c, pause, p.Final(), p.Gone)
				}
				time.Sleep(pause)
			}
			var problem message.Message
			if c.state == office.PackageExecuted {
				problem = loop.RefusalProblem(&esign.Error{Kind: c.kind})
			}
			if p := x.now(); asked < c.days || asked > c.days+40 || p.Problem != problem {
				t.Errorf("%+v: asked %d times, the problem is %q", c, asked, p.Problem)
			}
			if problem.IsZero() {
				continue
			}
			x.check(esign.Status{PackageID: "p", State: office.PackageExecuted})
			if p := x.now(); p.Gone || p.Problem != message.DocumentsNotListed() || p.Refused.IsZero() {
				t.Errorf("%+v: shown without its documents: %+v", c, p)
			}
			x.check(esign.Status{PackageID: "p", State: office.PackageExecuted, Documents: []esign.Document{{ID: "d", Name: "Lease"}}, Name: "Lease"})
			if p := x.now(); !p.Problem.IsZero() || !p.Refused.IsZero() || !p.Planned {
				t.Errorf("%+v: shown: %+v", c, p)
			}
		}
		x.check(esign.Status{PackageID: "p", State: "open"})
		if p := x.now(); p.Gone || !p.Refused.IsZero() {
			t.Errorf("after an answer: %+v", p)
		}
		x.known(office.PackageOpen)
		x.check(esign.Status{PackageID: "p", State: office.PackageExecuted, TimeExecuted: x.Now().Add(-5 * time.Hour)})
		expect(t, x.now().NextCheck.Sub(x.Now()), x.Pace.Retry, "signed hours ago, and its documents not listed yet: asked again after %v")
		asked := x.now()
		noErr(t, x.Data.Close())
		for _, kind := range []esign.Kind{esign.Invalid, esign.NotFound, esign.Server} {
			if err := x.notePackage(t.Context(), asked, esign.Status{}, &esign.Error{Kind: kind}, false); err == nil {
				t.Errorf("%s: what cannot be kept is taken for kept", kind)
			}
		}
	})
}

// A due date that had passed can be extended, after which events come again.
func TestAnEventOfAPackageThatIsOverHasItAskedAboutAgain(t *testing.T) {
	for _, c := range []struct {
		over   office.PackageState
		action string
		late   bool // the event comes while the answer that it is over is under way
		again  bool
	}{
		{office.PackageExpired, esign.PackageSent, false, true}, {office.PackageExpired, esign.DocumentSigned, false, true},
		{office.PackageExpired, esign.DocumentSigned, true, true}, {office.PackageExpired, esign.PackageRescinded, false, true},
		{office.PackageRescinded, esign.DocumentExecuted, false, true}, {office.PackageRescinded, esign.PackageRescinded, false, false},
	} {
		looptest.Bubble(t, fmt.Sprint(c), func(t *testing.T) {
			x := newService(t)
			x.known(office.PackageOpen)
			asked := x.now()
			happens := func() { x.happens("e", c.action, "p", "d", "s") }
			if c.late {
				happens()
			}
			over := esign.Status{PackageID: "p", Name: "Lease", State: c.over, Signers: []esign.Signer{{ID: "s", StateTold: true}}, RescindMessage: "No."}
			if noted, err := x.applyCheck(asked, over, false, true); err != nil || !noted {
				t.Fatal(noted, err)
			}
			if !c.late {
				expect(t, x.now().Final(), true, "before the event it is over: %v")
				happens()
			}
			if p := x.now(); p.Final() == c.again || c.again && p.NextCheck.After(x.Now().Add(x.Pace.Retry)) {
				t.Errorf("final: %v, asked about at %v", p.Final(), p.NextCheck)
			}
			x.check(over)
			expect(t, x.now().Final(), true, "once it is said to be over again: %v")
		})
	}
}

// Whoever withdraws a package may also delete it, before anybody could ask why.
func TestAPackageThatIsOverAndGoneIsNotAskedAboutForEver(t *testing.T) {
	for _, over := range []office.PackageState{office.PackageRescinded, office.PackageExpired} {
		looptest.Bubble(t, string(over), func(t *testing.T) {
			x := newService(t)
			x.known(office.PackageOpen)
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: over})
			began, asked := time.Now(), 0
			for ; !x.now().Final() && asked < 100; asked++ {
				noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.NotFound}, false))
				time.Sleep(x.now().NextCheck.Sub(x.Now()))
			}
			if took := time.Since(began); !x.now().Final() || x.now().Gone || took < recordWantedFor || took > recordWantedFor+2*maxMiss {
				t.Errorf("asked about %d times in %v: %+v", asked, took, x.now())
			}
			x.happens("again", esign.PackageSent, "p", "", "")
			noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.NotFound}, false))
			expect(t, x.now().Final(), false, "not asked about though it was sent again: %v")
		})
	}
}

// A package that was begun in the service's editor and dropped is deleted there (service-facts.md, 5).
func TestAPackageThatWasNeverSentIsOverOnceItHasBeenGoneForADay(t *testing.T) {
	for kind, over := range map[esign.Kind]bool{esign.NotFound: true, esign.Forbidden: false} {
		looptest.Bubble(t, string(kind), func(t *testing.T) {
			x := newService(t)
			x.happens("e", esign.PackageAdd, "p", "", "")
			x.check(esign.Status{PackageID: "p", State: "add"})
			began := x.Now()
			for range 20 {
				noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: kind}, false))
				if p := x.now(); p.Final() != (over && time.Since(began) >= maxMiss) || p.Status() == office.StatusProblem {
					t.Fatalf("after %v it is %s, final: %v", time.Since(began), p.Status(), p.Final())
				}
				time.Sleep(maxMiss / 8)
			}
			x.happens("sent", esign.PackageSent, "p", "", "")
			expect(t, x.now().Final(), false, "over though it was sent: %v")
		})
	}
}

func TestWhatTheListShowsAsExecutedIsFetchedThoughItWasOverHere(t *testing.T) {
	for _, over := range []office.PackageState{office.PackageExpired, office.PackageRescinded} {
		x := newService(t)
		x.known(over)
		noErr(t, x.meetPackages("", []esign.Status{{PackageID: "p", State: office.PackageExecuted}}, time.Time{}, false))
		if p := x.now(); p.Final() || p.NextCheck.After(x.Now()) {
			t.Errorf("%s: final: %v, asked about at %v", over, p.Final(), p.NextCheck)
		}
		noErr(t, x.missPackage(x.now(), &esign.Error{Kind: esign.NotFound}, 0)) // which only holds it up
		if p := x.now(); p.Final() {
			t.Errorf("%s: a status call that refuses it ends it: %+v", over, p)
		}
		x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "d", Name: "Lease"}}})
		if p := x.now(); p.State != office.PackageExecuted || x.planned != 1 {
			t.Errorf("%s: planned %d times: %+v", over, x.planned, p)
		}
	}
}

// The list may be newer than the answer to a call that was made before.
func TestWhatTheListShowsAsExecutedDuringACallIsAskedAboutOnceMore(t *testing.T) {
	x := newService(t)
	x.known(office.PackageOpen)
	asked := x.now()
	noErr(t, x.meetPackages("", []esign.Status{{PackageID: "p", State: office.PackageExecuted}}, time.Time{}, false))
	_, err := x.applyCheck(asked, esign.Status{PackageID: "p", State: office.PackageOpen}, false, true)
	noErr(t, err)
	if p := x.now(); p.NextCheck.After(x.Now()) {
		t.Errorf("asked about at %v", p.NextCheck)
	}
}

func TestAnExecutedPackageWaitsForItsDocumentsToBeListed(t *testing.T) {
	x := newService(t)
	x.known(office.PackageOpen)
	for _, documents := range [][]esign.Document{nil, {{Name: "Offer"}}, {{ID: "d", Name: "Offer"}, {Name: "Annex"}}} {
		x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: documents})
		if p := x.now(); p.State != office.PackageExecuted || p.Planned || p.Final() {
			t.Errorf("with %d documents: %+v", len(documents), p)
		}
	}
	x.before = 1 // an answer before has told of the same document, and left open whether there are more
	x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "d", Name: "Offer"}}})
	if p := x.now(); !p.Planned || !p.Final() || len(x.told) != 1 {
		t.Errorf("once it is listed: %+v, told %+v", p, x.told)
	}
}

// A service may list a document, or have it signed, after it has said that everybody has signed, and says so again.
func TestAPackageThatIsSaidToBeExecutedAgainIsAskedAboutOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.happens("first", esign.PackageExecuted, "p", "", "")
		asked, listed := x.now(), esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "a", Name: "A"}}}
		time.Sleep(time.Second)
		x.happens("during", esign.PackageExecuted, "p", "", "")
		must(x.applyCheck(asked, listed, false, true))
		for _, again := range []string{"", "second", "third"} {
			if again != "" {
				time.Sleep(time.Second)
				x.happens("late", esign.DocumentSigned, "p", "a", "s")
				expect(t, x.now().Final(), true, "a signature says nothing of other documents, final: %v")
				x.happens(again, esign.PackageExecuted, "p", "", "")
			}
			if p := x.now(); !p.Planned || p.Final() || !p.NextCheck.Equal(office.AtOnce) {
				t.Errorf("after the event %q: %+v", again, p)
			}
			noErr(t, x.noteRecord(recordQuestion{id: "p"}, &listed)) // requested before
			expect(t, x.now().Final(), false, "the record takes the place of the status: %v")
			if again == "third" {
				listed.Documents = append(listed.Documents, esign.Document{ID: "b", Name: "B"})
			}
			x.check(listed)
			expect(t, x.now().Final(), true, "asked without end, final: %v")
		}
		expect(t, x.planned, 2, "planned %d times")
		x.happens("gone", esign.PackageExecuted, "p", "", "")
		for began := time.Now(); !x.now().Final(); time.Sleep(x.now().NextCheck.Sub(x.Now())) {
			noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.NotFound}, false))
			if p := x.now(); !p.Planned || !p.Problem.IsZero() || time.Since(began) > recordWantedFor+2*maxMiss {
				t.Fatalf("after %v: %+v", time.Since(began), p)
			}
		}
	})
}

// A document may be replaced or removed in the service's web application, and an event may name one before it is listed. For how long
// the service has failed does not count.
func TestADocumentThatIsNotListedIsWaitedForAndThenLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		x.happens("e", esign.DocumentSigned, "p", "replaced", "a")
		for range 3 { // a service may list what is executed alone, so this is not the beginning
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageOpen, Documents: []esign.Document{{ID: "d", Name: "Lease"}}})
			time.Sleep(office.WithheldAfter / 2)
		}
		for range 12 {
			noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.Server, Status: 503}, false))
			x.failedInRow.Store(0)
			time.Sleep(office.WithheldAfter / 6)
		}
		listed := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "d", Name: "Lease"}}}
		x.check(listed)
		time.Sleep(office.WithheldAfter/2 - time.Second)
		x.check(listed)
		if p := x.now(); p.Planned || x.planned != 2 || len(p.Documents) != 2 {
			t.Errorf("what may be listed late is not waited for: %+v", p)
		}
		time.Sleep(time.Second)
		x.check(listed)
		if p := x.now(); !p.Planned || p.Final() {
			t.Errorf("what is never listed is waited for, or not looked for: %+v", p)
		}
		for range lackedOften {
			noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.Forbidden, Status: 403}, false))
		}
		if p := x.now(); p.Final() {
			t.Errorf("it is let go because the service refused to answer: %+v", p)
		}
		for range lackedOften {
			x.check(listed)
		}
		if p := x.now(); !p.Final() || len(p.Documents) != 1 || p.Documents[0].ID != "d" {
			t.Errorf("what is never listed is looked for forever: %+v", p)
		}
		x.happens("late", esign.DocumentExecuted, "p", "annex", "")
		if p := x.now(); p.Planned || p.NextCheck.After(x.Now()) {
			t.Errorf("a document that becomes known after the others were planned is not asked for: %+v", p)
		}
		x.check(listed)
		listed.Documents = append(listed.Documents, esign.Document{ID: "annex"})
		x.check(listed)
		if p := x.now(); !p.Planned || x.planned != 5 || !p.Documents[1].Unlisted.IsZero() {
			t.Errorf("it is not planned once it is listed: %+v", p)
		}
	})
}

// A permission, an index or a cache of the service may hide it for an afternoon.
func TestADocumentThatAnEventSaidIsExecutedIsLookedForUntilItIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		for _, d := range []string{"lease", "annex"} {
			x.happens("executed "+d, esign.DocumentExecuted, "p", d, "")
		}
		x.happens("all", esign.PackageExecuted, "p", "", "")
		answer := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "lease", Name: "Lease"}}}
		began := x.Now()
		for x.Now().Sub(began) < 48*time.Hour {
			x.check(answer)
			if pause := x.now().NextCheck.Sub(x.Now()); pause > time.Hour {
				t.Fatalf("after %v it is asked for in %v", x.Now().Sub(began), pause)
			} else {
				time.Sleep(pause)
			}
		}
		if p := x.now(); p.Planned || p.Problem != message.DocumentsNotListed() {
			t.Errorf("what the service lacks is not said: %+v", p)
		}
		answer.Documents = append(answer.Documents, esign.Document{ID: "annex"})
		x.check(answer)
		if p := x.now(); !p.Planned || !p.Problem.IsZero() || !p.Final() {
			t.Errorf("once it is listed: %+v", p)
		}
	})
}

// The computer was off while everyone signed, so it knows of no signature.
func TestADocumentThatIsNoLongerListedIsNotWaitedForButStillLookedFor(t *testing.T) {
	for name, late := range map[string]bool{"removed": false, "listed late": true, "listed late, the clock jumped": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.known(office.PackageOpen)
			both := []esign.Document{{ID: "d"}, {ID: "other"}}
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageOpen, Documents: both})
			answer := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: both[:1]}
			began, asked := time.Now(), 0
			until := func(done func(office.Package) bool) time.Duration {
				for x.check(answer); !done(x.now()) && time.Since(began) < 24*time.Hour; asked++ {
					time.Sleep(max(0, x.now().NextCheck.Sub(x.Now())))
					x.check(answer)
				}
				return time.Since(began)
			}
			if took := until(func(p office.Package) bool { return p.Planned }); took < time.Minute || took > 3*time.Minute || asked < 3 {
				t.Errorf("planned after %v and %d answers", took, asked)
			}
			want := 1
			if strings.HasSuffix(name, "jumped") {
				x.Now = func() time.Time { return time.Now().Add(40 * time.Minute) }
				x.check(answer)
				x.Now = time.Now
			}
			if late {
				answer.Documents, want = both, 2
			}
			before := x.planned
			took := until(office.Package.Final)
			if p := x.now(); len(p.Documents) != want || (x.planned > before) != late || !late && (took < listedLate || took > 12*time.Hour) {
				t.Errorf("final after %v with %+v, planned again: %v", took, p.Documents, x.planned > before)
			}
		})
	}
}

func TestADocumentThatIsSavedIsNotLetGo(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		p := office.Package{ID: "p", Name: "Lease", State: office.PackageExecuted, Created: x.Now(),
			Saving: office.Saving{Planned: true, Saved: true}, Documents: []office.Document{{ID: "d", Executed: true}, {ID: "saved", Executed: true}}}
		x.keeps(p)
		for _, d := range p.Documents {
			x.update(func(tx *store.Tx) error {
				j := office.Job{PackageID: "p", DocumentID: d.ID, Kind: office.FileSigned, Folder: "/", Target: d.ID}
				_, err := tx.PlanJob(j)
				j.State = office.JobDone
				return errors.Join(err, tx.PutJob(j))
			})
		}
		time.Sleep(30 * 24 * time.Hour)
		x.happens("again", esign.PackageExecuted, "p", "", "")
		for range 100 {
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Documents: []esign.Document{{ID: "d"}}})
			time.Sleep(time.Hour)
		}
		if p := x.now(); len(p.Documents) != 2 || !p.Final() {
			t.Errorf("final: %v, with %+v", p.Final(), p.Documents)
		}
	})
}

// The service tells when a package was made, this computer when its state was restored.
func TestNothingIsToldAgainAfterARestoreThoughTheClockIsBehind(t *testing.T) {
	for name, behind := range map[string]time.Duration{"right": 0, "two hours": 2 * time.Hour, "seven years": 7 * 365 * 24 * time.Hour} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.Now = func() time.Time { return time.Now().Add(-behind) }
			made := time.Now()
			time.Sleep(time.Hour) // in which people were told of it
			x.Served.Note(time.Now())
			x.update(func(tx *store.Tx) error {
				data.MarkRestored(tx, x.Now())
				MarkRestored(tx, x.Now())
				return nil
			})
			time.Sleep(time.Second)
			x.Served.Note(time.Now())
			s := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageOpen, TimeCreated: made, Signers: []esign.Signer{{ID: "a", FirstName: "Ana", TimeExecuted: made.Add(time.Minute)}, {ID: "j"}},
				Documents: []esign.Document{{ID: "d", Name: "Lease", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}, {SignerID: "j"}}}}}
			noErr(t, x.meetPackages("", []esign.Status{s}, time.Time{}, false))
			x.check(s)
			expect(t, len(x.told), 0, "told %d times of what was signed before")
		})
	}
}

func TestADeclineIsToldThoughTheClockFallsBehindLongAfterARestore(t *testing.T) {
	looptest.Bubble(t, "behind", func(t *testing.T) {
		x := newService(t)
		x.Served.Note(time.Now())
		x.update(func(tx *store.Tx) error { data.MarkRestored(tx, x.Now()); x.Restored(tx); return nil })
		time.Sleep(365 * 24 * time.Hour)
		x.known(office.PackageOpen)
		x.Now = func() time.Time { return time.Now().AddDate(-7, 0, 0) }
		x.Served.Note(time.Now())
		x.check(esign.Status{PackageID: "p", Name: "Lease", State: office.PackageOpen, Signers: []esign.Signer{{ID: "j", Declined: true, DeclinedAt: time.Now().Add(-time.Hour), StateTold: true}}})
		expect(t, len(x.told), 1, "told %d times")
	})
}

func TestANewPackageIsAskedAboutAsOftenThoughTheClockIsBehind(t *testing.T) {
	looptest.Bubble(t, "behind", func(t *testing.T) {
		x := newService(t)
		right := x.checkPause(office.Package{Created: x.Now(), State: office.PackageOpen}, office.Settings{})
		for _, behind := range []time.Duration{2 * time.Hour, 25 * time.Hour, 7 * 365 * 24 * time.Hour} {
			x.Now = func() time.Time { return time.Now().Add(-behind) }
			x.Served.Note(time.Now())
			expect(t, x.checkPause(office.Package{Created: x.Latest(), State: office.PackageOpen}, office.Settings{}), right, "it is asked about every %v")
		}
	})
}

// A service that ails is not asked about each package, and nothing is said of a package for that.
func TestWhatTheServiceFailsToTellOfSeveralIsPutOffAndNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.known(office.PackageOpen)
		busy := &esign.Error{Kind: esign.TooMany, RetryAfter: time.Minute}
		if err := x.notePackage(t.Context(), x.now(), esign.Status{}, busy, false); err != busy || x.now().NextCheck.After(x.Now()) {
			t.Errorf("the service wants to be left alone by all: %v, %+v", err, x.now())
		}
		ails := &esign.Error{Kind: esign.Network}
		for n := range statusAtOnce + 1 {
			asked := x.now()
			if n%2 == 0 {
				asked.ID = "another"
			}
			err := x.notePackage(t.Context(), asked, esign.Status{}, ails, false)
			if (err != nil) != (n == statusAtOnce) {
				t.Errorf("failed %d times: %v", n+1, err)
			}
		}
		if p := x.now(); !p.Refused.IsZero() || !p.NextCheck.After(x.Now()) {
			t.Errorf("%+v", p)
		}
	})
}

// Of a package whose answer is broken for good, while others are answered, nothing is said of the service.
func TestTroubleWithOnePackageIsNoneOfTheService(t *testing.T) {
	x := newService(t)
	x.known(office.PackageOpen)
	told := 0
	x.Session = looptest.Session{Noted: func(error) { told++ }}
	broken := &esign.Error{Kind: esign.BadAnswer}
	fails := func() int {
		noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, broken, false))
		return told
	}
	expect(t, fails(), 1, "the first time, and nobody knows whether it is the service, it is told %d times")
	x.Asked.Answered() // about another
	expect(t, fails(), 1, "the second time it is told %d times")
	expect(t, fails(), 2, "after which nothing is answered, it is told %d times")
}

func TestEverythingThatWaitsIsDueAtAWord(t *testing.T) {
	x := newService(t)
	later := x.Now().Add(time.Hour)
	job := office.Job{PackageID: "q", DocumentID: "d", Kind: office.FileSigned, Folder: "/f", Target: "Lease.pdf", NextTry: later}
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		_, err := tx.PlanJob(job)
		undoable := &office.Withdrawal{State: office.WithdrawWanted, NextTry: later}
		return errors.Join(err, tx.PutPackage(office.Package{ID: "p", State: office.PackageOpen, Inquiry: office.Inquiry{NextCheck: later}}),
			tx.PutPackage(office.Package{ID: "w", State: office.PackageOpen, Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, NextTry: later}}),
			tx.PutPackage(office.Package{ID: "u", State: office.PackageOpen, Withdrawal: undoable}),
			tx.PutDraft(office.Draft{ID: "d", State: office.DraftQueued, Delivery: office.Delivery{NextTry: later}}))
	}))
	noErr(t, x.MakeAllDue())
	x.update(func(tx *store.Tx) error {
		for what, next := range map[string]func() (time.Time, error){"a package": tx.NextPackageCheck, "a file": tx.NextJob, "a draft": tx.NextDraft,
			"a withdrawal": tx.NextWithdrawal} {
			if at, err := next(); err != nil || at.IsZero() || at.After(x.Now()) {
				t.Errorf("%s waits until %v, %v", what, at, err)
			}
		}
		if p, _, err := tx.Package("u"); err != nil || !p.Withdrawal.NextTry.Equal(later) {
			t.Errorf("a withdrawal that a person may take back: %+v, %v", p.Withdrawal, err)
		}
		return nil
	})
}

func TestAClockThatJumpsIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		var wrong atomic.Int64
		var woke []time.Duration
		x.Now = func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) }
		x.deps.WokeUp = func(by time.Duration) { woke = append(woke, by) }
		end := looptest.Run(t, x.RunWatch)
		time.Sleep(time.Hour)
		wrong.Store(int64(2 * time.Hour))
		time.Sleep(10 * time.Minute)
		end()
		expect(t, woke, []time.Duration{2 * time.Hour}, "noticed %v")
	})
}

// An event may be the first that is heard of a package: what is in it, and what the list and the status call it, is the same.
func TestAPackageThatIsMetInCapitalsIsKnownOnce(t *testing.T) {
	const p, d, signer = "5b1e0000-0000-4000-8000-00000000000a", "5b1e0000-0000-4000-8000-00000000000b", "5b1e0000-0000-4000-8000-00000000000c"
	capitals := strings.ToUpper(p)
	for name, refused := range map[string]bool{"in any case": false, "only as the service writes it": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.happens("1", esign.DocumentSigned, capitals, strings.ToUpper(d), strings.ToUpper(signer))
			id, other := capitals, p
			if refused {
				noErr(t, x.notePackage(t.Context(), x.pack(capitals), esign.Status{}, &esign.Error{Kind: esign.NotFound, Status: 404}, false))
				id, other = p, ""
			}
			noErr(t, x.meetPackages("", []esign.Status{{PackageID: p, State: "open"}}, time.Time{}, false))
			asked := x.pack(id)
			expect(t, asked.ID, id, "known is %q")
			answer := esign.Status{PackageID: id, State: "open", Signers: []esign.Signer{{ID: signer, FirstName: "Ana"}},
				Documents: []esign.Document{{ID: d, Revisions: []esign.Revision{{SignerID: signer, IsSigned: true}}}}}
			if noted, err := x.applyCheck(asked, answer, false, true); err != nil || !noted {
				t.Fatal(noted, err)
			}
			if !refused {
				x.happens("2", esign.DocumentSigned, p, d, signer)
				for _, l := range must(x.EventLines(office.EventQuery{PackageID: id})) {
					expect(t, l.SignerID+" "+l.DocumentID, signer+" "+d, "shown with its events is %q")
				}
				expect(t, x.pack(id).Events, 2, "of its events %d are counted")
			}
			if now := x.pack(id); len(now.Documents) != 1 || now.Documents[0].ID != d || len(now.Signers) != 1 || len(x.told) != 1 {
				t.Errorf("%+v, told %+v", now, x.told)
			}
			expect(t, x.pack(other).ID, "", "a second one is known: %q")
		})
	}
}

// links is a service that gives out links.
type links struct {
	status int
	said   string // where it refuses
	asked  []string
}

func (s *links) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, strings.TrimPrefix(req.URL.Path, "/api/v1"))
	if s.status != 0 {
		return answer(req, s.status, s.said)
	}
	return answer(req, http.StatusOK, `{"link":"https://sign.test/now`+req.URL.Path+`"}`)
}

func TestALinkToSignIsAskedForByAddressOrNameWhereThereAreLinks(t *testing.T) {
	h, service := hears(t), &links{}
	client := clientOf(service, looptest.Token{}, "c")
	h.Session = looptest.Session{Client: client}
	noErr(t, h.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: "p", State: office.PackageOpen, Documents: []office.Document{{ID: "d", SignedBy: []string{"done"}}}, Signers: []office.Signer{
			{ID: "jan", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {FirstName: "Eva", Email: "eva@example.com"},
			{ID: "done", FirstName: "Ana", Email: "ana@example.com"}}}
		elsewhere := office.Package{ID: "elsewhere", Signers: p.Signers}
		elsewhere.Service = "https://another.test"
		return errors.Join(tx.UseService(client.Home()), tx.PutPackage(p), tx.PutPackage(elsewhere))
	}))
	for _, who := range []string{"JAN@example.com", "jan weber", "jan"} {
		if got, err := h.SignerPage(t.Context(), "p", who); err != nil || !strings.HasSuffix(got, "/packages/p/link/sign/jan") {
			t.Errorf("%s: %q, %v", who, got, err)
		}
	}
	if got, err := h.EditPage(t.Context(), "p"); err != nil || !strings.HasSuffix(got, "/packages/p/link/edit") {
		t.Errorf("the editor: %q, %v", got, err)
	}
	asked := len(service.asked)
	for _, c := range []struct {
		id, who string
		want    message.Message
	}{
		{"p", "nobody", message.NoSuchSigner("nobody")}, {"p", "eva@example.com", message.SignerNotListed()}, {"p", "done", message.NothingToSign("Ana")},
		{"none", "jan", message.NoSuchPackage("none")}, {"elsewhere", "jan", message.AtAnotherService()},
	} {
		if got, err := h.SignerPage(t.Context(), c.id, c.who); got != "" || message.For(err) != c.want {
			t.Errorf("%s of %s: %q, %v", c.who, c.id, got, err)
		}
	}
	expect(t, len(service.asked), asked, "asked %d times, %d before", asked)
	for status, want := range map[int]message.Message{http.StatusNotFound: message.NoLinks(), http.StatusForbidden: message.MayNotHaveLinks()} {
		service.status, service.said = status, `{"error":"package_not_authorized","message":"No."}`
		if status == http.StatusNotFound { // by a service that never had any
			service.said, h.Session = "<h1>Not Found</h1>", looptest.Session{Client: clientOf(service, looptest.Token{}, "c")}
		}
		if _, err := h.SignerPage(t.Context(), "p", "jan"); message.For(err) != want || h.LinksOffered() != (status != http.StatusNotFound) {
			t.Errorf("%d: %v", status, err)
		}
		before := h.Now()
		h.Now = func() time.Time { return before.Add(time.Hour) } // it may have been an intermediary
		if !h.LinksOffered() {
			t.Errorf("%d: nobody can ask again", status)
		}
	}
	h.Data.Store.Fault = func() error { return looptest.ErrFault }
	if _, err := h.SignerPage(t.Context(), "p", "jan"); !errors.Is(err, looptest.ErrFault) {
		t.Errorf("a package that cannot be read: %v", err)
	}
	h.Session = looptest.Session{}
	if _, err := h.EditPage(t.Context(), "p"); message.For(err) != message.SignInFirst() {
		t.Errorf("nobody is signed in: %v", err)
	}
}

func TestAPackageIsShownWithItsFilesInTheirOrderUntilItIsArchived(t *testing.T) {
	x := newService(t)
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: "p", State: office.PackageExecuted, Documents: []office.Document{{ID: "z"}, {ID: "a"}}}
		err := tx.PutPackage(p)
		for n, j := range []office.Job{{Kind: office.FileMaster}, {DocumentID: "a", Kind: office.FileCertificate}, {DocumentID: "a", Kind: office.FileSigned},
			{DocumentID: "z", Kind: office.FileCertificate}, {DocumentID: "z", Kind: office.FileSigned}} {
			j.PackageID, j.Folder, j.Target = "p", "/documents", fmt.Sprint(n, ".pdf")
			_, planned := tx.PlanJob(j)
			err = errors.Join(err, planned)
		}
		return err
	}))
	row, _, err := x.Package("p")
	noErr(t, err)
	var names []string
	for _, f := range row.Files {
		names = append(names, filepath.Base(f.Path))
	}
	expect(t, names, []string{"4.pdf", "2.pdf", "3.pdf", "1.pdf", "0.pdf"}, "its files are %q")
	for _, archived := range []bool{true, false} {
		expect(t, must(x.Archive("p", archived)), true, "it changes: %v")
		expect(t, x.now().Archived != nil, archived, "archived: %v")
		expect(t, must(x.Archive("p", archived)), false, "a second time it changes: %v")
	}
}

func TestWhoFollowsIsToldOfEachEventOnceItIsKnownWhatBecameOfIt(t *testing.T) {
	over := errors.New("nobody listens")
	for name, c := range map[string]struct {
		all   bool // since the event "a"
		ends  error
		first []string
	}{"since then": {true, over, []string{"a"}}, "from now on": {false, context.Canceled, nil}} {
		looptest.Bubble(t, name, func(t *testing.T) {
			h := hears(t)
			event := func(id string, outcome office.Outcome) {
				h.comes(office.Event{ID: id, Action: esign.DocumentSigned, PackageID: "p", Received: h.Now(), Outcome: outcome, Handled: h.Now(), Body: fmt.Appendf(nil, `{"eventId":%q}`, id)})
			}
			event("before", office.EventHandled)
			time.Sleep(time.Hour)
			var since time.Time
			if c.all {
				since = h.Now()
			}
			event("a", office.EventHandled)
			event("waits", office.EventPending)
			var told []string
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- h.Follow(ctx, since, func(l office.EventLine) error {
					if told = append(told, l.ID); l.ID == "last" && c.all {
						return over
					}
					return nil
				})
			}()
			synctest.Wait()
			expect(t, told, c.first, "told first of %q")
			event("b", office.EventHandled)
			event("last", office.EventHandled)
			for _, id := range []string{"b", "waits", "unknown", "last"} {
				h.Settled(id)
				synctest.Wait()
			}
			stop()
			if err := <-ended; !errors.Is(err, c.ends) {
				t.Error(err)
			}
			expect(t, told, append(c.first, "b", "last"), "told of %q")
		})
	}
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	status := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageExecuted, Signers: []esign.Signer{{ID: "a", Declined: true}},
		Documents: []esign.Document{{ID: "d", Executed: true, Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}}}}}
	body := []byte(`{"eventId":"e","action":"document_signed","packageId":"p","documentId":"d","signerId":"a"}`)
	event := office.Event{ID: "e", Action: esign.DocumentSigned, PackageID: "p", Body: body}
	executed := event
	executed.Body = []byte(`{"eventId":"e","action":"package_executed","packageId":"p"}`)
	notFound := &esign.Error{Kind: esign.NotFound, Status: http.StatusNotFound, Code: "package_not_found"}
	open := office.Package{ID: "p", State: office.PackageOpen}
	answered := func(s esign.Status, quiet, recorded bool) func(*testService) error {
		return func(x *testService) error { _, err := x.applyCheck(open, s, quiet, recorded); return err }
	}
	failed := func(e *esign.Error) func(*testService) error {
		return func(x *testService) error { return x.notePackage(t.Context(), open, esign.Status{}, e, false) }
	}
	in := func(do func(tx *store.Tx)) func(*testService) error {
		return func(x *testService) error { return x.Data.Update(func(tx *store.Tx) error { do(tx); return nil }) }
	}
	for name, do := range map[string]func(x *testService) error{
		"an event":                  func(x *testService) error { return x.handleEvent(event) },
		"an event once more":        func(x *testService) error { return x.RetryEvent("e") },
		"a wish that an event ends": func(x *testService) error { return x.handleEvent(executed) },
		"an answer":                 answered(status, false, true),
		"an answer of before":       answered(status, true, true),
		"that it has expired":       answered(esign.Status{PackageID: "p", State: "expired"}, false, false),
		"a wish that came too late": answered(esign.Status{PackageID: "p", State: office.PackageExecuted}, false, false),
		"no such package":           failed(notFound),
		"a service that ails":       failed(&esign.Error{Kind: esign.Server}),
		"a record":                  func(x *testService) error { return x.noteRecord(recordQuestion{id: "p", tell: true}, &status) },
		"no record":                 func(x *testService) error { return x.noteRecord(recordQuestion{id: "p"}, nil) },
		"a sweep":                   func(x *testService) error { _, err := x.takeSweep(); return err },
		"all that is due":           func(x *testService) error { return x.MakeAllDue() },
		"what is to be forgotten":   func(x *testService) error { return x.ForgetEvents(t.Context()) },
		"the lines":                 func(x *testService) error { _, err := x.Lines(); return err },
		"the new lines":             func(x *testService) error { _, err := x.LinesSince(0); return err },
		"the package":               func(x *testService) error { _, _, err := x.Package("p"); return err },
		"what becomes old":          func(x *testService) error { _, err := x.Archive("p", true); return err },
		"the events":                func(x *testService) error { _, _, err := x.Events("", 9); return err },
		"the events in words":       func(x *testService) error { _, err := x.EventLines(office.EventQuery{}); return err },
		"what is looked for":        func(x *testService) error { _, err := x.Find(office.Query{}); return err },
		"what a backup brought":     in(func(tx *store.Tx) { MarkRestored(tx, time.Now()) }),
		"the list to be forgotten":  in(ForgetList),
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) {
				x := newService(t)
				p := office.Package{ID: "p", State: office.PackageOpen, Created: x.Now(), Inquiry: office.Inquiry{RecordPending: x.Now()}}
				if strings.HasPrefix(name, "a wish") {
					p.Withdrawal = &office.Withdrawal{State: office.WithdrawAsked}
				}
				x.comes(event)
				x.keeps(p)
				return x, x.Data
			}, do)
		})
	}
}
