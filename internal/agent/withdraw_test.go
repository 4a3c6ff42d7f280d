package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

const rescindRoute = "POST /packages/rescind"

// at is a package as the service has it.
func (o *testOffice) at(id string) sandbox.Package {
	o.t.Helper()
	all := o.service.Packages()
	i := slices.IndexFunc(all, func(p sandbox.Package) bool { return p.PackageID == id })
	if i < 0 {
		o.t.Fatalf("the service has no package %s", id)
	}
	return all[i]
}

// withdraw withdraws packages and returns what became of it.
func (o *testOffice) withdraw(ids ...string) []office.Withdrawn {
	o.t.Helper()
	list, err := o.Withdraw(o.t.Context(), office.NewWithdrawal{Packages: ids, Message: "The rent was wrong."})
	noErr(o.t, err)
	if len(list) != len(ids) {
		o.t.Fatalf("asked for %q, told %+v", ids, list)
	}
	return list
}

// wish has a package withdrawn, and does not wait for it.
func (o *testOffice) wish(id string) {
	o.t.Helper()
	_, err := o.Withdraw(o.t.Context(), office.NewWithdrawal{Packages: []string{id}, Patience: time.Millisecond})
	noErr(o.t, err)
}

// wantWithdrawn checks that the package is withdrawn, here and at the service, and that everybody was told once.
func (o *testOffice) wantWithdrawn(id string) {
	o.t.Helper()
	if p := o.at(id); p.State != "rescinded" || !slices.Equal(p.Notified, []string{"rescinded"}) {
		o.t.Errorf("at the service: %s, people were told %q", p.State, p.Notified)
	}
	p := o.packageOrZero(id)
	if p.State != office.PackageRescinded || p.Withdrawal == nil || p.Withdrawal.State != office.WithdrawDone || p.Withdrawal.Message != "The rent was wrong." {
		o.t.Errorf("here: %s, %+v", p.State, p.Withdrawal)
	}
	expect(o.t, o.toldInActivity("withdrew “Offer”."), 1, "the activity tells it %d times: %+v", o.Activity(20))
	if n := o.count("not withdrawn"); n != 0 {
		o.t.Errorf("told: %q", o.notifications())
	}
}

// toldInActivity is how many lines of the activity hold text.
func (o *testOffice) toldInActivity(text string) (n int) {
	for _, x := range o.Activity(100) {
		if strings.Contains(x.Text.String(), text) {
			n++
		}
	}
	return n
}

func TestAPackageIsWithdrawnOnceWhateverBecomesOfTheAnswer(t *testing.T) {
	lost := sandbox.Fault{LoseAnswer: true}
	for name, c := range map[string]struct {
		faults   []sandbox.Fault
		rescinds int // how often the service may be asked to withdraw it
	}{
		"a good day":                          {nil, 1},
		"the answer is lost":                  {[]sandbox.Fault{lost}, 1},
		"the answer is cut":                   {[]sandbox.Fault{{TruncateAfter: 3}}, 1},
		"the answer says nothing":             {[]sandbox.Fault{{Status: 200, AfterWork: true, Body: "{}"}}, 1},
		"it was done and a failure was said":  {[]sandbox.Fault{{Status: 502, AfterWork: true}}, 1},
		"it was done and a refusal was said":  {[]sandbox.Fault{{Status: 400, AfterWork: true}}, 1},
		"it was done, and the status is lost": {[]sandbox.Fault{lost, {Path: "/packages/*/status", Drop: true, Times: 3}}, 1},
		"it never came there":                 {[]sandbox.Fault{{Drop: true, Times: 2}}, 3},
		"the service fails for a while":       {[]sandbox.Fault{{Status: 503, Times: 3}}, 4},
		"the service is busy":                 {[]sandbox.Fault{{Status: 429, Times: 2}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			for _, f := range c.faults {
				if f.Path == "" {
					f.Path = "/packages/rescind"
				}
				f.Times = max(f.Times, 1)
				o.service.Inject(f)
			}
			if x := o.withdraw(id)[0]; x.State != office.WithdrawDone || !x.Problem.IsZero() || x.Name != "Offer" {
				t.Errorf("told: %+v", x)
			}
			o.wantWithdrawn(id)
			if n := calls(o.service, rescindRoute); n > c.rescinds || n == 0 {
				t.Errorf("the service was asked %d times", n)
			}
			o.restart()
			if x := o.withdraw(id)[0]; x.State != office.WithdrawDone {
				t.Errorf("once more: %+v", x)
			}
			o.wantWithdrawn(id)
		})
	}
}

// TestAWithdrawalSurvivesAKillAtAnyMoment begins each life with what a kill leaves behind: the wish alone, or the wish that
// was on its way, which had come to the service or had not.
func TestAWithdrawalSurvivesAKillAtAnyMoment(t *testing.T) {
	for name, c := range map[string]struct {
		state office.WithdrawalState
		came  bool
	}{
		"before it was sent":        {office.WithdrawWanted, false},
		"on its way":                {office.WithdrawAsked, false},
		"after it came there":       {office.WithdrawAsked, true},
		"after the answer was kept": {office.WithdrawAccepted, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := office.Withdrawal{State: c.state, Message: "The rent was wrong.", By: "ana@example.com", Asked: time.Now()}
			o, id := wished(t, w, func(o *testOffice, id string) {
				if c.came {
					noErr(t, o.service.Rescind(id, "The rent was wrong.", true))
				}
			})
			o.eventually("it is withdrawn", func() bool { return !o.packageOrZero(id).Withdrawal.Pending() })
			o.wantWithdrawn(id)
			if n := calls(o.service, rescindRoute); c.came && n != 0 {
				t.Errorf("the service was asked %d times more", n)
			}
		})
	}
}

func TestWhatWasSignedFirstIsSavedAndSaidSo(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Hold() // no event tells
	signAll(o, id)
	if x := o.withdraw(id)[0]; x.State != office.WithdrawLate || x.Problem.ID() != "withdrawal.signed-before-withdrawn" {
		t.Errorf("told: %+v", x)
	}
	o.eventually("it is saved", func() bool { return saved(o, id) })
	o.eventually("people are told", func() bool { return o.count("“Offer” was not withdrawn. Everybody had signed") == 1 })
	o.restart()
	expect(t, o.toldInActivity("was not withdrawn"), 1, "the activity tells it %d times")
	if p := o.packageOrZero(id); p.State != office.PackageExecuted {
		t.Errorf("the package: %+v", p)
	}
	if x := o.withdraw(id)[0]; x.State != office.WithdrawLate || x.Problem.ID() != "withdrawal.signed-already" {
		t.Errorf("asked again: %+v", x)
	}
	if n := o.count("not withdrawn"); n != 1 {
		t.Errorf("told: %q", o.notifications())
	}
}

func TestWhatExpiredFirstIsSaidSo(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.sendDue(time.Now().Add(time.Second))
	o.eventually("it expires", func() bool { return o.at(id).State == "expired" })
	refused := o.service.Inject(sandbox.Fault{Path: "/packages/rescind", Status: 400}) // the real service may take it for too late
	defer o.service.Heal(refused)
	x := o.withdraw(id)[0]
	if x.State != office.WithdrawLate || x.Problem.ID() != "withdrawal.expired-before-withdrawn" && x.Problem.ID() != "withdrawal.expired-already" {
		t.Errorf("told: %+v", x)
	}
}

// sendDue sends the draft with a due date.
func (o *testOffice) sendDue(due time.Time) (packageID string) {
	o.t.Helper()
	d := o.draft()
	d.Due = due
	state, err := o.Send(o.t.Context(), d, nil)
	if err != nil || state.State != office.DraftSent {
		o.t.Fatalf("send: %+v, %v", state, err)
	}
	return state.PackageID
}

func TestARefusedWithdrawalSaysWhyAndLeavesThePackageOpen(t *testing.T) {
	for name, c := range map[string]struct {
		fault sandbox.Fault
		why   string
	}{
		"no permission":               {sandbox.Fault{Status: 403}, "withdrawal.may-not-withdraw"},
		"no permission, says a proxy": {sandbox.Fault{Status: 403, Body: "<h1>Forbidden</h1>"}, "withdrawal.may-not-withdraw"},
		"the service says no":         {sandbox.Fault{Status: 400}, "service.service-refused-because"},
		"it says no without a word":   {sandbox.Fault{Status: 409, Body: "{}"}, "service.service-refused"},
		"the service has no such call": {sandbox.Fault{Status: 404, Body: "<h1>Not Found</h1>"},
			"withdrawal.cannot-withdraw-here"},
		"nor may it be made": {sandbox.Fault{Status: 405, Body: "no"}, "withdrawal.cannot-withdraw-here"},
		"it says so in its own form": {sandbox.Fault{Status: 404, Body: `{"error":"not_found","message":"Not found"}`},
			"withdrawal.cannot-withdraw-here"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			c.fault.Path = "/packages/rescind"
			fault := o.service.Inject(c.fault)
			if x := o.withdraw(id)[0]; x.State != office.WithdrawRefused || x.Problem.ID() != c.why {
				t.Errorf("told: %+v, want %s", x, c.why)
			}
			o.eventually("people are told", func() bool { return o.count("“Offer” was not withdrawn.") == 1 })
			if o.toldInActivity("“Offer” was not withdrawn.") != 1 || o.at(id).State != "open" || o.packageOrZero(id).State != office.PackageOpen {
				t.Errorf("activity: %+v", o.Activity(5))
			}
			missing := c.why == "withdrawal.cannot-withdraw-here"
			if o.CanWithdraw() == missing {
				t.Errorf("withdrawing is offered: %v", !missing)
			}
			o.service.Heal(fault)
			before := calls(o.service, rescindRoute)
			x := o.withdraw(id)[0]
			if missing { // it is believed for a day, and until the next start
				if x.State != office.WithdrawRefused || calls(o.service, rescindRoute) != before {
					t.Errorf("asked again: %+v", x)
				}
				o.restart()
				x = o.withdraw(id)[0]
			}
			if x.State != office.WithdrawDone {
				t.Errorf("asked again: %+v", x)
			}
			o.wantDone(id)
		})
	}
}

func TestAWithdrawalThatWaitsSaysWhatTheServiceAnswered(t *testing.T) {
	for want, fault := range map[string]sandbox.Fault{
		"service.service-ailing": {Status: 503},
		"service.service-busy":   {Status: 429},
		"service.service-silent": {Drop: true},
	} {
		t.Run(want, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			fault.Path = "/packages/rescind"
			o.service.Inject(fault)
			o.wish(id)
			o.eventually("it says "+want, func() bool { return o.packageOrZero(id).Withdrawal.Problem.ID() == want })
		})
	}
}

// wantDone checks that the package is withdrawn, after it was not at first.
func (o *testOffice) wantDone(id string) {
	o.t.Helper()
	if p := o.at(id); p.State != "rescinded" || len(p.Notified) != 1 {
		o.t.Errorf("at the service: %s, people were told %q", p.State, p.Notified)
	}
}

func TestSeveralPackagesAreWithdrawnAtOnceEachByItself(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	first, signed, second := o.send(), o.send(), o.send()
	signAll(o, signed)
	o.eventually("one is signed", func() bool { return saved(o, signed) })
	list, err := o.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{second, signed, first, "nobody's", second}, Quiet: true})
	noErr(t, err)
	var got []string
	for _, x := range list {
		got = append(got, string(x.State)+" "+x.Problem.ID())
	}
	if want := []string{"done ", "late withdrawal.signed-already", "done ", "refused withdrawal.no-such-package"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	for _, id := range []string{first, second} {
		if p := o.at(id); p.State != "rescinded" || len(p.Notified) != 0 {
			t.Errorf("at the service: %s, people were told %q though nobody should be", p.State, p.Notified)
		}
	}
}

func TestNoOtherServiceIsAskedToWithdraw(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "/packages/rescind", Drop: true})
	o.wish(id)
	first, second := o.service, o.another()
	o.use(second, office.Secrets{ClientSecret: sandbox.DemoClient().Secret})
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	first.Heal(0)
	if x := o.withdraw(id)[0]; x.State != office.WithdrawRefused || x.Problem.ID() != "package.at-another-service" {
		t.Errorf("told: %+v", x)
	}
	expect(t, calls(second, rescindRoute), 0, "the second service was asked %d times")
	o.use(first, office.Secrets{ClientSecret: sandbox.DemoClient().Secret})
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it is withdrawn where it is", func() bool { return o.at(id).State == "rescinded" })
}

func TestAWishIsTakenBackWhileTheServiceDoesNotKnowOfIt(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	noErr(t, o.SignOut(t.Context()))
	list, err := o.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{id}, Patience: time.Minute}) // which nobody waits for
	noErr(t, err)
	if list[0].State != office.WithdrawWanted {
		t.Errorf("told: %+v", list)
	}
	if inTime, err := o.KeepPackage(id); !inTime || err != nil {
		t.Errorf("taken back: %v, %v", inTime, err)
	}
	if inTime, err := o.KeepPackage(id); inTime || err != nil {
		t.Errorf("taken back twice: %v, %v", inTime, err)
	}
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it is asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() && !o.moreToCome() })
	if p := o.at(id); p.State != "open" || calls(o.service, rescindRoute) != 0 {
		t.Errorf("the package: %+v", p)
	}
}

// The one that was let go of may have been done: people are not to be notified a second time.
func TestAWithdrawalAfterOneThatWasLetGoOfAsksFirst(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Hold() // no event tells
	client, _ := o.account.Online()
	noErr(t, client.Rescind(t.Context(), id, "The rent was wrong.", true))
	asked := calls(o.service, rescindRoute)
	o.change(id, func(p *office.Package) {
		p.State, p.Withdrawal = office.PackageOpen, &office.Withdrawal{State: office.WithdrawUnknown, Asked: o.Now()}
	})
	if x := o.withdraw(id)[0]; x.State != office.WithdrawDone {
		t.Errorf("told: %+v", x)
	}
	if n := calls(o.service, rescindRoute); n != asked {
		t.Errorf("the service was asked %d times more", n-asked)
	}
}

func TestWhatIsWithdrawnElsewhereSaysSoWithItsMessage(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	noErr(t, o.service.Rescind(id, "A better offer came.", true))
	o.eventually("it is known", func() bool { return o.packageOrZero(id).State == office.PackageRescinded })
	o.eventually("its record is told", func() bool { return o.packageOrZero(id).Withdrawal != nil })
	if w := o.packageOrZero(id).Withdrawal; w.Message != "A better offer came." || w.Wished() {
		t.Errorf("known of it: %+v", w)
	}
	o.eventually("the activity tells it", func() bool { return o.toldInActivity("“Offer” was withdrawn.") == 1 })
	expect(t, o.Status().Events.Problems, 0, "%d events with problems")
}

// correction is the draft that takes the place of a package.
func (o *testOffice) correction(id string) office.NewPackage {
	d := o.draft()
	d.Name, d.Corrects = "Offer, corrected", id
	return d
}

func TestACorrectionGoesOutOnceTheFirstOneIsWithdrawn(t *testing.T) {
	for name, send := range map[string]func(o *testOffice, d office.NewPackage) error{
		"sent at once": func(o *testOffice, d office.NewPackage) error {
			go o.Send(o.t.Context(), d, nil)
			return nil
		},
		"held before": func(o *testOffice, d office.NewPackage) error {
			draft, err := o.Hold(d)
			return errors.Join(err, o.Resolve(draft, true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			drop := o.service.Inject(sandbox.Fault{Path: "/packages/rescind", Drop: true})
			o.wish(id)
			noErr(t, send(o, o.correction(id)))
			o.eventually("it says what it waits for", func() bool {
				return slices.ContainsFunc(o.Drafts(), func(d office.Draft) bool { return d.Problem.ID() == "withdrawal.corrected-waits" })
			})
			expect(t, len(o.service.Packages()), 1, "the service has %d packages that can be signed")
			o.service.Heal(drop)
			o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 2 && len(o.Drafts()) == 0 })
			expect(t, o.at(id).State, "rescinded", "the first one is %s")
		})
	}
}

func TestAWishForAPackageTheServiceDoesNotKnowEnds(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	unknown := sandbox.Fault{Status: 404, Body: `{"error":"package_not_found","message":"No such package."}`}
	unknown.Path = "/packages/*/status"
	o.service.Inject(unknown)
	unknown.Path = "/packages/rescind"
	rescind := o.service.Inject(unknown)
	list, err := o.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{id}, Patience: 10 * time.Second})
	noErr(t, err)
	if x := list[0]; x.State != office.WithdrawRefused || x.Problem.IsZero() {
		t.Errorf("told: %+v", x)
	}
	o.eventually("people are told", func() bool { return o.count("“Offer” was not withdrawn.") == 1 })
	if n := o.applied(rescind); n < 3 || n > 6 {
		t.Errorf("asked %d times", n)
	}
}

var notFound = sandbox.Fault{Path: "/packages/*/status", Status: 404, Body: `{"error":"package_not_found","message":"No such package."}`}

// wished is an office with a package whose withdrawal stands like that.
func wished(t *testing.T, w office.Withdrawal, before func(o *testOffice, id string)) (*testOffice, string) {
	t.Helper()
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.stop()
	before(o, id)
	o.open()
	w.NextTry = o.Now()
	o.change(id, func(p *office.Package) { p.Withdrawal = &w })
	o.run()
	return o, id
}

// The service said yes, and then for a moment that it knows no such package: that proves nothing.
func TestAWithdrawalIsNotTakenForDoneBecauseThePackageIsNotShownOnce(t *testing.T) {
	o, id := wished(t, office.Withdrawal{State: office.WithdrawAccepted, Asked: time.Now()}, func(o *testOffice, id string) {
		once := notFound
		once.Times = 1
		o.service.Inject(once)
		noErr(t, o.service.SignAll(id))
	})
	o.eventually("it is known what became of it", func() bool { return !o.packageOrZero(id).Withdrawal.Pending() })
	if w := o.packageOrZero(id).Withdrawal; w.State != office.WithdrawLate {
		t.Errorf("%+v", w)
	}
	gone, id := wished(t, office.Withdrawal{State: office.WithdrawAccepted, Asked: time.Now()}, func(o *testOffice, _ string) { o.service.Inject(notFound) })
	gone.eventually("its word counts", func() bool { return gone.packageOrZero(id).Withdrawal.State == office.WithdrawDone })
}

func TestAWithdrawalThatNobodyConfirmsIsToldAfterItsTimeAndLetGoByHand(t *testing.T) {
	o, id := wished(t, office.Withdrawal{State: office.WithdrawAsked, Asked: time.Now()}, func(o *testOffice, _ string) { o.service.Inject(notFound) })
	tried := func() bool { return o.packageOrZero(id).Withdrawal.Tries > 6 }
	o.eventually("it was asked about", tried)
	if o.Health.Has(health.WithdrawalWaits) || !o.packageOrZero(id).Withdrawal.Pending() {
		t.Errorf("too early: %v, %+v", o.Health.List(), o.packageOrZero(id).Withdrawal)
	}
	o.change(id, func(p *office.Package) {
		w := *p.Withdrawal
		w.Asked, w.NextTry = w.Asked.Add(-2*time.Hour), o.Now()
		p.Withdrawal = &w
	})
	o.withdrawals.Wake()
	o.eventually("people are told", func() bool { return o.Health.Has(health.WithdrawalWaits) })
	before := o.packageOrZero(id).Withdrawal.Tries
	for _, i := range o.Health.List() {
		noErr(t, o.Act(t.Context(), i))
	}
	o.eventually("it is asked about at once", func() bool { return o.packageOrZero(id).Withdrawal.Tries > before })
	noErr(t, o.LetWithdrawalGo(id))
	w := o.packageOrZero(id).Withdrawal
	if w.State != office.WithdrawUnknown || o.Health.Has(health.WithdrawalWaits) || o.toldInActivity("Countersign has stopped checking whether “Offer” was withdrawn.") != 1 || o.count("not withdrawn") != 0 {
		t.Errorf("let go: %+v, %v, told %q", w, o.Health.List(), o.notifications())
	}
	expect(t, calls(o.service, rescindRoute), 0, "it was asked for %d times more")
	// The lost call is done at last, and the status says so.
	noErr(t, o.service.Rescind(id, "The rent was wrong.", true))
	o.service.Heal(0)
	o.askNow(id)
	o.eventually("it is known", func() bool { return o.packageOrZero(id).State == office.PackageRescinded })
}

// What was to be said, and whether anybody was to be notified, is lost with a damaged record.
func TestADamagedWishIsNotSentInOtherWords(t *testing.T) {
	o, id := wished(t, office.Withdrawal{State: office.WithdrawAsked, Damaged: true}, func(*testOffice, string) {})
	o.eventually("it ends", func() bool { return !o.packageOrZero(id).Withdrawal.Pending() })
	if w := o.packageOrZero(id).Withdrawal; w.State != office.WithdrawRefused || w.Problem.ID() != "withdrawal.withdrawal-lost" || calls(o.service, rescindRoute) != 0 {
		t.Errorf("%+v, asked %d times", w, calls(o.service, rescindRoute))
	}
	if x := o.withdraw(id)[0]; x.State != office.WithdrawDone {
		t.Errorf("once more: %+v", x)
	}
}

// applied is how often a fault was.
func (o *testOffice) applied(fault int) int {
	for _, f := range o.service.Faults() {
		if f.ID == fault {
			return f.Applied
		}
	}
	return 0
}

func TestACorrectionOfWhatEverybodyHasSignedIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		before func(o *testOffice, id string)
		why    string
	}{
		"signed first":    {func(o *testOffice, id string) { signAll(o, id); o.withdraw(id) }, "withdrawal.corrected-too-late"},
		"never withdrawn": {func(*testOffice, string) {}, "withdrawal.corrected-not-withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			c.before(o, id)
			state, err := o.Send(t.Context(), o.correction(id), nil)
			noErr(t, err)
			if state.State != office.DraftFailed || state.Problem.ID() != c.why || len(o.service.Packages()) != 1 {
				t.Errorf("sent: %+v", state)
			}
			noErr(t, o.Resolve(state.DraftID, true)) // a person's decision
			o.eventually("it is sent all the same", func() bool { return len(o.service.Packages()) == 2 })
		})
	}
}
