package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

func TestEventsBeforeTheAnswerOfAddBelongToTheDraft(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	// The work is done and its events come, long before the answer does not.
	o.service.Inject(sandbox.Fault{Path: "/packages/add", Times: 1, LoseAnswer: true})
	o.service.Inject(sandbox.Fault{Path: "/packages/list", Status: 500})
	state, err := o.Send(t.Context(), o.draft(), nil)
	if err != nil || state.State != office.DraftUnknown && state.State != office.DraftSent {
		t.Fatalf("send: %+v, %v", state, err)
	}
	o.eventually("the event tells", func() bool { return o.draftIs(office.DraftSent) })
	id := o.service.Packages()[0].PackageID
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	if l := o.Lines(); len(l) != 1 || l[0].Origin != office.MadeHere || l[0].Name != "Offer" {
		t.Errorf("packages: %+v", l)
	}
	if n := len(o.service.Packages()); n != 1 {
		t.Errorf("%d packages", n)
	}
}

func TestADraftThatIsToBeSentAgainIsNotOnceItsEventCame(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Hold()
	o.service.Inject(sandbox.Fault{Path: "/packages/add", Times: 1, LoseAnswer: true})
	o.service.Inject(sandbox.Fault{Path: "/packages/list", Status: 500})
	state, err := o.Send(t.Context(), o.draft(), nil)
	if err != nil || state.State != office.DraftUnknown {
		t.Fatalf("send: %+v, %v", state, err)
	}
	o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 500})
	o.service.Inject(sandbox.Fault{Path: "/packages/add", Status: 429, Headers: map[string]string{"Retry-After": "1"}})
	noErr(t, o.Resolve(state.DraftID, true))
	noErr(t, o.service.Release(""))
	o.eventually("the event tells", func() bool { return o.draftIs(office.DraftSent) })
	o.service.Heal(0)
	o.outbox.Wake()
	o.Act(t.Context(), Issue{Action: ActRetry})
	o.eventually("the package is known", func() bool { return len(o.Lines()) == 1 && o.Lines()[0].Origin == office.MadeHere })
	if n := len(o.service.Packages()); n != 1 {
		t.Errorf("%d packages", n)
	}
}

func TestTheFirstSignatureOnAPackageMadeElsewhereIsTold(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Hold()
	id := o.foreign("Lease")
	signAll(o, id)
	noErr(t, o.service.Release(""))
	o.eventually("saved", func() bool { return saved(o, id) })
	o.eventually("told", func() bool { return o.count("Everyone has signed “Lease”. Ana Ruiz signed.") == 1 })
}

func TestOldSignaturesAreNoNewsAfterARestartEither(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.stop()
	noErr(t, o.service.Sign(id, o.at(id).Signers[0].SignerID))
	o.open()
	noErr(t, o.Data.Update(func(tx *store.Tx) error { // as after the first sign-in, when the list told of it
		p, _, err := tx.Package(id)
		if err != nil {
			return err
		}
		p.Checked, p.NextCheck, p.Created = time.Time{}, time.Time{}, o.Now().Add(-48*time.Hour)
		return tx.PutPackage(p)
	}))
	told := len(o.notifications())
	o.run()
	o.eventually("it is asked about", func() bool { return o.packageOrZero(id).SignersDone == 1 })
	o.restart()
	o.eventually("it is online", func() bool { return o.Status().SignedIn && !o.moreToCome() })
	o.stop()
	if all := o.notifications(); len(all) != told {
		t.Errorf("told: %q", all[told:])
	}
}

func TestReplayedEventsChangeNothing(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	o.eventually("told", func() bool { return o.count("Everyone has signed “Offer”") == 1 })
	sent, err := o.service.Deliveries()
	noErr(t, err)
	// The file may be there before the last event is: asking for the status found it.
	o.eventually("every event came", func() bool { e := o.Status().Events; return e.Received >= len(sent) && e.Pending == 0 })
	before, told := o.Status().Events, len(o.notifications())
	for range 3 {
		for _, d := range sent {
			noErr(t, o.service.Redeliver(d.EventID))
		}
	}
	o.eventually("they came", func() bool { return o.Status().Events.Duplicates >= before.Duplicates+3*len(sent) })
	// The same facts under a new eventId are no news either.
	status, err := o.service.Forge(t.Context(), sandbox.Forgery{Action: "package_executed", Fields: map[string]any{"packageId": id}})
	if err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	o.eventually("it is handled", func() bool { e := o.Status().Events; return e.Received == before.Received+1 && e.Pending == 0 })
	if n := len(o.notifications()); n != told || len(o.files()) != 1 {
		t.Errorf("%d notifications, %d files", n, len(o.files()))
	}
}

func TestEventsWhileSignedOutAreKeptAndUsedLater(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	foreign := o.foreign("Elsewhere")
	noErr(t, o.service.RevokeRefreshTokens(""))
	noErr(t, o.service.ExpireAccessTokens())
	o.packages.Sweep("test")
	o.eventually("the sign-in has lapsed", func() bool { return !o.Status().SignedIn })
	signAll(o, id)
	signAll(o, foreign)
	o.eventually("events are handled", func() bool { e := o.Status().Events; return e.Received >= 8 && e.Pending == 0 })
	o.restart()
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("both are saved", func() bool { return o.Status().Packages.Saved == 2 })
}

var errDiskFull = fmt.Errorf("save: %w", errors.New(errNoRoom.Error()))

func TestAnEventThatCannotBeStoredIsSentAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{RetryMax: 100 * time.Millisecond})
	id := o.send()
	o.Data.Note(errDiskFull)
	if !o.says("data", "is full") {
		t.Errorf("health: %+v", o.Status().Health)
	}
	signAll(o, id)
	o.eventually("a commit that works ends it", func() bool { return saved(o, id) && o.issue("data") == nil })
}

func TestAPackageTheServiceDoesNotKnowIsAskedAboutAgainAfterTheNextSignIn(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
	// A page that is not there says nothing about a package.
	page := o.service.Inject(sandbox.Fault{Path: "/packages/*/status", Status: 404, Body: "<h1>Not found</h1>", Headers: map[string]string{"Content-Type": "text/html"}})
	o.wake(c, 48*time.Hour)
	o.eventually("it is missed", func() bool {
		return o.service.Faults()[0].Applied > 0 && o.packageOrZero(id).NextCheck.After(c.now())
	})
	if o.packageOrZero(id).Gone {
		t.Fatal("taken for gone")
	}
	o.service.Heal(page)
	o.service.Inject(sandbox.Fault{Path: "/packages/*/status", Status: 404, Body: `{"error":"package_not_found","message":"No."}`})
	o.wake(c, time.Hour)
	o.eventually("it is gone", func() bool { return o.packageOrZero(id).Gone })
	o.service.Heal(0)
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it is back", func() bool { return !o.packageOrZero(id).Gone })
	if s := o.packageOrZero(id).State; s != office.PackageOpen {
		t.Errorf("state %q", s)
	}
}
