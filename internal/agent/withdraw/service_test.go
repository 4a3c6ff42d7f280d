package withdraw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// reply is what the service answers in place of a good answer.
type reply struct {
	status int // 0: nothing is answered
	body   string
	done   bool // and all the same does what it was asked to
}

// service has packages that can be withdrawn.
type service struct {
	mu       sync.Mutex
	states   map[string]string // by package
	notified map[string]int
	rescinds int
	words    []string         // with which packages were withdrawn
	replies  map[string]reply // by the last element of the path; for that many times
	times    map[string]int
	during   func(call string) // called with each call before it is answered; nil for nothing
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	parts := strings.Split(req.URL.Path, "/")
	call, id := parts[len(parts)-1], parts[len(parts)-2]
	if s.during != nil {
		s.during(call)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var q struct {
		PackageID, RescindMessage string
		Notify                    bool
	}
	if req.Body != nil {
		json.NewDecoder(req.Body).Decode(&q)
	}
	x, struck := s.replies[call]
	if struck = struck && s.times[call] > 0; struck {
		s.times[call]--
	}
	status, body := http.StatusOK, `{"packageId":"`+id+`","state":"`+s.states[id]+`","documents":[]}`
	if call == "rescind" {
		s.rescinds++
		body = `{"packageId":"` + q.PackageID + `"}`
		if (!struck || x.done) && s.states[q.PackageID] == "open" {
			s.states[q.PackageID] = "rescinded"
			if s.words = append(s.words, q.RescindMessage); q.Notify {
				s.notified[q.PackageID]++
			}
		}
	}
	if struck {
		status, body = x.status, x.body
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && (status != 0 || x.done) {
		trace.WroteHeaders()
	}
	if status == 0 {
		return nil, errors.New("the connection is lost")
	}
	kind := "application/json"
	if strings.HasPrefix(body, "<") {
		kind = "text/html"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// strike has the service answer so, that many times.
func (s *service) strike(call string, times int, x reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[call], s.times[call] = x, times
}

// testService is a Service with an open package p at a service, and others by need.
type testService struct {
	*Service
	t       *testing.T
	service *service
	told    int // facts that something was not withdrawn
	ended   int
	shown   atomic.Int64 // lines of the activity
	changed atomic.Int64 // how often the packages have
	answers atomic.Int64 // that the session was told of
	client  *esign.Client
}

func newService(t *testing.T) *testService {
	t.Helper()
	x := &testService{t: t, service: &service{states: map[string]string{}, notified: map[string]int{}, replies: map[string]reply{}, times: map[string]int{}}}
	x.client = esign.NewClient(esign.Config{AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "c", HTTP: &http.Client{Transport: x.service}, Now: time.Now}, looptest.Token{})
	var watchers loop.Watchers[office.Change]
	base := looptest.Base(t, func() {})
	base.Session, base.Watch = looptest.Session{Client: x.client, Noted: func(error) { x.answers.Add(1) }}, watchers.Watch
	base.Show = func(office.Activity) { x.shown.Add(1) }
	base.Signal = func(c office.Change) {
		if c == office.PackagesChanged {
			x.changed.Add(1)
		}
		watchers.Signal(c)
	}
	base.Data.Committed = base.Committed
	x.Service = New(base, Deps{
		Who: func() string { return "olivia" }, Question: func(context.Context) error { return nil }, Note: x.note,
		NoteGone: func(p office.Package) error {
			_, err := x.note(p, esign.Status{State: "rescinded"})
			return err
		},
		NotDone:  func(*store.Tx, office.Package) []office.Fact { return []office.Fact{{}} },
		Announce: func(facts ...office.Fact) { x.count(&x.told, len(facts)) }, Ended: func() { x.count(&x.ended, 1) },
	})
	x.put(office.Package{ID: "p", Name: "Offer", State: office.PackageOpen})
	return x
}

// note records a status as package reconcile does.
func (x *testService) note(asked office.Package, s esign.Status) (bool, error) {
	defer x.Signal(office.PackagesChanged)
	return true, x.Data.Update(func(tx *store.Tx) error {
		p, _, err := tx.Package(asked.ID)
		if err != nil {
			return err
		}
		apply.Status(&p, s, x.Now())
		p.Settle()
		return tx.PutPackage(p)
	})
}

// put stores a package, which the service has, too.
func (x *testService) put(p office.Package) {
	x.t.Helper()
	p.Service = x.client.Home()
	x.service.states[p.ID] = string(p.State)
	noErr(x.t, x.Data.Update(func(tx *store.Tx) error { return errors.Join(tx.UseService(p.Service), tx.PutPackage(p)) }))
}

// stands has the wish for p stand like that.
func (x *testService) stands(w office.Withdrawal) {
	w.NextTry = x.Now()
	x.put(office.Package{ID: "p", Name: "Offer", State: office.PackageOpen, Withdrawal: &w})
}

// runs has it run for a while.
func (x *testService) runs(d time.Duration) {
	stop := looptest.Run(x.t, x.Run)
	time.Sleep(d)
	stop()
}

// once has it try what is due.
func (x *testService) once(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	_, err := x.withdrawDue(ctx, g)
	return errors.Join(err, g.Wait())
}

func (x *testService) count(what *int, n int) {
	x.service.mu.Lock()
	defer x.service.mu.Unlock()
	*what += n
}

func (x *testService) now() (office.Package, office.Withdrawal) {
	x.t.Helper()
	p, _, err := x.Data.Package("p")
	noErr(x.t, err)
	if p.Withdrawal == nil {
		return p, office.Withdrawal{}
	}
	return p, *p.Withdrawal
}

// withdraws wishes for p, has it run, and returns what became of it.
func (x *testService) withdraws() office.Withdrawal {
	x.t.Helper()
	_, err := x.Withdraw(x.t.Context(), office.NewWithdrawal{Packages: []string{"p"}, Message: "The rent was wrong.", Patience: time.Millisecond})
	noErr(x.t, err)
	x.runs(30 * time.Minute)
	_, w := x.now()
	return w
}

func TestAPackageIsWithdrawnOnceWhateverBecomesOfTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		reply    reply
		times    int
		rescinds int // how often the service may be asked to withdraw it
	}{
		"a good day":                         {reply{}, 0, 1},
		"the answer is lost":                 {reply{done: true}, 1, 1},
		"the answer says nothing":            {reply{200, "{}", true}, 1, 1},
		"it was done and a failure was said": {reply{502, "", true}, 1, 1},
		"it was done and a refusal was said": {reply{400, "{}", true}, 1, 1},
		"it never came there":                {reply{}, 2, 3},
		"the service fails for a while":      {reply{503, "", false}, 3, 4},
		"the service is busy":                {reply{429, `{"error":"too_many_requests"}`, false}, 2, 3},
		"it took the service too long":       {reply{408, "", false}, 2, 3},
		"the sign-in lapsed":                 {reply{401, "{}", false}, 2, 3},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.service.strike("rescind", c.times, c.reply)
			for range 2 { // also where somebody wishes for it once more
				if w := x.withdraws(); w.State != office.WithdrawDone || w.Message != "The rent was wrong." || !w.Problem.IsZero() {
					t.Errorf("it is %+v", w)
				}
			}
			if x.answers.Load() < int64(x.service.rescinds) || x.changed.Load() < 3 {
				t.Errorf("%d answers are noted, and %d changes shown", x.answers.Load(), x.changed.Load())
			}
			if s := x.service; s.rescinds > c.rescinds || s.rescinds == 0 || s.notified["p"] != 1 || !slices.Equal(s.words, []string{"The rent was wrong."}) || x.told != 0 || x.ended == 0 {
				t.Errorf("asked %d times, told %d times in words %q", s.rescinds, s.notified["p"], s.words)
			}
		})
	}
}

// lapsed is the session of somebody whose sign-in the service has ended.
type lapsed struct{ looptest.Session }

func (lapsed) SignedOut(err error) bool { return errors.Is(err, esign.ErrSignedOut) }

func TestAWishWaitsForASignInThatTheServiceHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.Session = lapsed{looptest.Session{Client: x.client}}
		x.service.strike("rescind", 99, reply{401, "{}", false})
		x.stands(office.Withdrawal{State: office.WithdrawWanted, Asked: x.Now()})
		noErr(t, x.once(t.Context()))
		if _, w := x.now(); w.State != office.WithdrawWanted || !w.Problem.IsZero() {
			t.Errorf("it is %+v", w)
		}
	})
}

func TestWhatAKillLeavesIsFoundOut(t *testing.T) {
	for name, c := range map[string]struct {
		before office.Withdrawal
		there  string // the package at the service
		want   office.WithdrawalState
		most   int // how often the service may be asked to withdraw it
	}{
		"before it was sent":               {office.Withdrawal{State: office.WithdrawWanted}, "open", office.WithdrawDone, 1},
		"on its way":                       {office.Withdrawal{State: office.WithdrawAsked}, "open", office.WithdrawDone, 1},
		"after it came there":              {office.Withdrawal{State: office.WithdrawAsked}, "rescinded", office.WithdrawDone, 0},
		"after the answer was kept":        {office.Withdrawal{State: office.WithdrawAccepted}, "rescinded", office.WithdrawDone, 0},
		"accepted, and not shown":          {office.Withdrawal{State: office.WithdrawAccepted}, "open", office.WithdrawAccepted, 0},
		"after one that was let go of":     {office.Withdrawal{State: office.WithdrawWanted, AskFirst: true}, "rescinded", office.WithdrawDone, 0},
		"everybody has signed":             {office.Withdrawal{State: office.WithdrawAsked}, "executed", office.WithdrawLate, 0},
		"it has expired":                   {office.Withdrawal{State: office.WithdrawAsked}, "expired", office.WithdrawLate, 0},
		"its record is damaged":            {office.Withdrawal{State: office.WithdrawAsked, Damaged: true}, "open", office.WithdrawRefused, 0},
		"damaged, and it was done already": {office.Withdrawal{State: office.WithdrawAsked, Damaged: true}, "rescinded", office.WithdrawDone, 0},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			c.before.Asked = x.Now()
			x.stands(c.before)
			x.service.states["p"] = c.there
			x.runs(time.Minute)
			if _, w := x.now(); w.State != c.want || x.service.rescinds > c.most {
				t.Errorf("it is %+v; asked %d times", w, x.service.rescinds)
			}
		})
	}
}

func TestARefusedWithdrawalSaysWhyAndLeavesThePackageOpen(t *testing.T) {
	for name, c := range map[string]struct {
		reply reply
		why   message.Message
	}{
		"no permission":               {reply{403, `{"error":"access_denied"}`, false}, message.MayNotWithdraw()},
		"no permission, says a proxy": {reply{403, "<h1>Forbidden</h1>", false}, message.MayNotWithdraw()},
		"the service says no":         {reply{400, `{"error":"package_locked","message":"No."}`, false}, message.ServiceRefusedBecause("No.")},
		"it says no without a word":   {reply{400, "{}", false}, message.ServiceRefused()},
		"it has no such call":         {reply{404, "<h1>Not Found</h1>", false}, message.CannotWithdrawHere()},
		"nor may it be made":          {reply{405, "no", false}, message.CannotWithdrawHere()},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			missing, times := c.why == message.CannotWithdrawHere(), 1
			if missing {
				times = 2 // with and without /api/v1, see esign's http.go
			}
			x.service.strike("rescind", times, c.reply)
			w := x.withdraws()
			expect(t, x.shown.Load(), 1, "%d lines are shown")
			if p, _ := x.now(); w.State != office.WithdrawRefused || w.Problem.ID() != c.why.ID() || p.State != office.PackageOpen || x.told != 1 || x.Offered() == missing {
				t.Errorf("it is %+v, offered %v, people were told %d times", w, x.Offered(), x.told)
			}
			lines, err := x.Activity(9)
			if err != nil || len(lines) != 1 || lines[0].PackageID != "p" {
				t.Errorf("the activity says %+v, %v", lines, err)
			}
			if missing { // it is believed for an hour, as the first such answer
				if list, err := x.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{"p"}}); err != nil || list[0].State != office.WithdrawRefused || x.service.rescinds > 2 {
					t.Errorf("asked again: %+v, %v", list, err)
				}
				time.Sleep(61 * time.Minute)
			}
			if w := x.withdraws(); w.State != office.WithdrawDone {
				t.Errorf("once more: %+v", w)
			}
		})
	}
}

func TestAWithdrawalThatWaitsSaysWhatTheServiceAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		answer reply
		want   message.Message
		state  office.WithdrawalState
	}{
		"that it ails":          {reply{status: 503}, message.ServiceAiling(), office.WithdrawAsked},
		"that it is busy":       {reply{429, `{"error":"too_many_requests"}`, false}, message.ServiceBusy(), office.WithdrawWanted},
		"nothing":               {reply{}, message.ServiceSilent(), office.WithdrawWanted},
		"nothing in time":       {reply{408, "", false}, message.ServiceSilent(), office.WithdrawAsked},
		"a web page":            {reply{200, "<html>", false}, message.ServiceOdd(), office.WithdrawAsked},
		"yes, and shows it not": {reply{200, `{"packageId":"p"}`, false}, message.Message{}, office.WithdrawAccepted},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.service.strike("rescind", 999, c.answer)
			x.service.during = func(call string) {
				if _, w := x.now(); call == "rescind" && w.State != office.WithdrawAsked {
					t.Errorf("while it is asked for it is %+v", w)
				}
			}
			w := x.withdraws()
			if w.Problem != c.want || w.State != c.state || x.service.rescinds > 30 || c.state == office.WithdrawAccepted && x.service.rescinds > 1 {
				t.Errorf("it says %+v; asked %d times", w, x.service.rescinds)
			}
		})
	}
}

func TestEachOfSeveralPackagesIsWithdrawnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.put(office.Package{ID: "signed", State: office.PackageExecuted})
		x.put(office.Package{ID: "expired", State: office.PackageExpired})
		x.put(office.Package{ID: "rescinded", State: office.PackageRescinded})
		x.put(office.Package{ID: "draft", State: "draft"})
		x.put(office.Package{ID: "q", State: office.PackageOpen})
		looptest.Run(t, x.Run)
		time.Sleep(time.Second)
		began, stored := time.Now(), 0
		packages := []string{"q", "signed", "p", "nobody's", "q", "expired", "rescinded", "draft"}
		list, err := x.Withdraw(t.Context(), office.NewWithdrawal{Packages: packages, Quiet: true, Stored: func() { stored++ }})
		noErr(t, err)
		if took := time.Since(began); took > time.Minute || stored != 1 {
			t.Errorf("it took %v; stored %d times", took, stored)
		}
		var got []string
		for _, w := range list {
			got = append(got, w.PackageID+" "+string(w.State)+" "+w.Problem.ID())
		}
		want := []string{"q done ", "signed late " + message.SignedAlready().ID(), "p done ", "nobody's refused " + message.NoSuchPackage("").ID(),
			"expired late " + message.ExpiredAlready().ID(), "rescinded done ", "draft refused " + message.NothingToWithdraw().ID()}
		expect(t, got, want, "told %q, want %q", want)
		if len(x.service.notified) != 0 {
			t.Errorf("people were told though nobody should be: %v", x.service.notified)
		}
	})
}

func TestNoOtherServiceIsAskedToWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.stands(office.Withdrawal{State: office.WithdrawWanted, Asked: x.Now()})
		use := func(home string) {
			noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.UseService(home) }))
			x.runs(time.Minute)
		}
		use("another")
		list, err := x.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{"p"}})
		if err != nil || list[0].Problem != message.AtAnotherService() || x.service.rescinds != 0 {
			t.Errorf("%+v, %v, asked %d times", list, err, x.service.rescinds)
		}
		if use(x.client.Home()); x.service.states["p"] != "rescinded" {
			t.Error("it is not withdrawn where it is")
		}
	})
}

func TestAWishIsTakenBackWhileTheServiceDoesNotKnowOfIt(t *testing.T) {
	for _, before := range []bool{false, true} { // an earlier wish was let go of
		looptest.Bubble(t, "", func(t *testing.T) {
			x := newService(t)
			x.stands(office.Withdrawal{State: office.WithdrawWanted, Asked: x.Now(), AskFirst: before})
			for i, want := range []bool{true, false} {
				if inTime, err := x.Keep("p"); inTime != want || err != nil || x.ended != i+1 || x.changed.Load() != int64(i+1) {
					t.Errorf("taken back: %v, %v; %d ended, %d shown", inTime, err, x.ended, x.changed.Load())
				}
			}
			x.runs(time.Minute)
			if _, w := x.now(); x.service.rescinds != 0 || (w.State == office.WithdrawUnknown) != before {
				t.Errorf("it is %+v; asked %d times", w, x.service.rescinds)
			}
		})
	}
}

// While the service is asked about p, it is to be withdrawn in other words, which can be undone.
func TestAWishMadeAgainInOtherWordsCanBeUndone(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.stands(office.Withdrawal{State: office.WithdrawWanted, Asked: x.Now(), AskFirst: true})
		x.service.during = func(string) {
			x.service.during = nil
			must(x.wish(office.NewWithdrawal{Packages: []string{"p"}, Message: "The date was wrong.", Undo: 10 * time.Second}))
		}
		x.runs(time.Second)
		if x.service.during != nil || x.service.states["p"] != "open" {
			t.Errorf("before it could be undone: %v", x.service.states)
		}
		x.runs(time.Minute)
		if words := x.service.words; x.service.states["p"] != "rescinded" || words[len(words)-1] != "The date was wrong." {
			t.Errorf("when nobody has undone it: %v, %q", x.service.states, words)
		}
	})
}

func TestAWithdrawalWithoutAnAnswerHoldsUpNoOther(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		many := []string{"q"}
		for n := range 2 * atOnce {
			many = append(many, fmt.Sprint("q", n))
		}
		for _, id := range many {
			x.put(office.Package{ID: id, Name: id, State: office.PackageOpen})
		}
		answer := make(chan struct{})
		var asked atomic.Int64
		x.service.during = func(call string) {
			if call == "rescind" && asked.Add(1) == 1 {
				<-answer
			}
		}
		stop := looptest.Run(t, x.Run)
		withdraw := func(ids ...string) []office.Withdrawn {
			return must(x.Withdraw(t.Context(), office.NewWithdrawal{Packages: ids, Patience: 10 * time.Second}))
		}
		for range 2 { // also where somebody wishes for it once more
			if w := withdraw("p"); w[0].State != office.WithdrawAsked {
				t.Errorf("what is not answered is %+v", w)
			}
		}
		for _, w := range withdraw(many...) {
			if w.State != office.WithdrawDone {
				t.Errorf("beside what is not answered it is %+v", w)
			}
		}
		close(answer)
		time.Sleep(time.Minute)
		stop()
		if _, w := x.now(); w.State != office.WithdrawDone || asked.Load() != int64(len(many)+1) {
			t.Errorf("it is %+v; asked %d times", w, asked.Load())
		}
	})
}

// Right after it was sent, a service may not know a package yet; after an answer that was lost that proves nothing, however often.
func TestAPackageThatTheServiceDoesNotKnowEndsAWishOnlyWhereThatProvesSomething(t *testing.T) {
	unknown := reply{404, `{"error":"package_not_found","message":"No such package."}`, false}
	for state, want := range map[office.WithdrawalState]office.WithdrawalState{
		office.WithdrawWanted: office.WithdrawRefused, office.WithdrawAccepted: office.WithdrawDone, office.WithdrawAsked: office.WithdrawAsked,
	} {
		for _, times := range []int{1, 999} {
			looptest.Bubble(t, string(state), func(t *testing.T) {
				x := newService(t)
				x.service.strike("status", times, unknown)
				x.service.strike("rescind", times, unknown)
				x.stands(office.Withdrawal{State: state, Asked: x.Now()})
				then := want
				if times == 1 {
					x.service.states["p"] = "executed"
					then = office.WithdrawLate
				}
				x.runs(10 * time.Minute)
				if _, w := x.now(); w.State != then || x.service.rescinds > 6 {
					t.Errorf("unknown %d times: it is %+v; asked %d times", times, w, x.service.rescinds)
				}
			})
		}
	}
}

// A service that gives one reason and then another is asked less and less often all the same.
func TestReasonsThatChangeDoNotShortenThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.stands(office.Withdrawal{State: office.WithdrawAsked, Asked: x.Now()})
		for i := range 10 {
			x.service.strike("status", 1, []reply{{404, `{"error":"package_not_found"}`, false}, {403, `{"error":"package_not_authorized"}`, false}}[i%2])
			_, w := x.now()
			x.runs(w.NextTry.Sub(x.Now()) + time.Second)
		}
		if _, w := x.now(); w.Tries != 10 || w.NextTry.Sub(x.Now()) < time.Minute {
			t.Errorf("after ten answers it is %+v", w)
		}
	})
}

func TestAWithdrawalThatNobodyConfirmsIsToldAndLetGoByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.service.strike("status", 999, reply{status: 503})
		x.stands(office.Withdrawal{State: office.WithdrawAsked, Asked: x.Now()})
		if x.runs(lateAfter / 2); x.Health.Has(health.WithdrawalWaits) {
			t.Error("told too early")
		}
		if x.runs(lateAfter); !x.Health.Has(health.WithdrawalWaits) {
			t.Error("nobody is told")
		}
		changed, ended := x.changed.Load(), x.ended
		for range 2 {
			noErr(t, x.LetGo("p"))
		}
		lines, err := x.Activity(9)
		if err != nil || len(lines) != 1 || lines[0].Text != message.WithdrawalLeft("Offer") || x.shown.Load() != 1 ||
			x.changed.Load() != changed+1 || x.ended != ended+1 {
			t.Errorf("the activity says %+v, %v; %d shown, %d changes, %d ended", lines, err, x.shown.Load(), x.changed.Load(), x.ended)
		}
		if _, w := x.now(); w.State != office.WithdrawUnknown || x.Health.Has(health.WithdrawalWaits) || x.told != 0 || x.service.rescinds != 0 {
			t.Errorf("it is %+v; told %d, asked %d times", w, x.told, x.service.rescinds)
		}

		// Somebody wishes for it once more, twice, and it was done long ago.
		x.service.strike("status", 0, reply{})
		x.service.states["p"] = "rescinded"
		_, err = x.Withdraw(t.Context(), office.NewWithdrawal{Packages: []string{"p"}, Patience: time.Millisecond, Undo: time.Minute})
		noErr(t, err)
		noErr(t, x.LetGo("p"))
		if _, w := x.now(); w.State != office.WithdrawWanted || w.NextTry.Before(x.Now()) {
			t.Errorf("a person may take it back, and it is %+v", w)
		}
		w := x.withdraws()
		noErr(t, errors.Join(x.refuse("p", message.ServiceRefused()), x.refuse("nobody's", message.ServiceRefused())))
		if _, now := x.now(); w.State != office.WithdrawDone || now.State != w.State || x.service.rescinds != 0 || x.told != 0 {
			t.Errorf("it is %+v, then %+v; asked %d times, told %d times", w, now, x.service.rescinds, x.told)
		}

		// And with other words while the service is asked what became of the first wish.
		x.stands(office.Withdrawal{State: office.WithdrawWanted, Asked: x.Now(), AskFirst: true, Message: "old"})
		x.service.during = func(string) {
			x.service.during = nil
			n := office.NewWithdrawal{Packages: []string{"p"}, Message: "new", Patience: time.Millisecond}
			_, err := x.Withdraw(t.Context(), n)
			noErr(t, err)
		}
		if x.runs(time.Minute); !slices.Equal(x.service.words, []string{"new"}) {
			t.Errorf("it was withdrawn with %q", x.service.words)
		}
		noErr(t, x.Data.Close())
		if x.Run(t.Context()) == nil {
			t.Error("what cannot be read is taken for nothing to do")
		}
	})
}

// A wish that was noted by a clock that ran fast is not kept from people until that time has come.
func TestPeopleAreToldOfAWithdrawalThatIsNotConfirmedAfterAnHour(t *testing.T) {
	const year = 365 * 24 * time.Hour
	one, two := message.WithdrawalUnconfirmed("Offer"), message.WithdrawalsUnconfirmed(2)
	for name, c := range map[string]struct {
		asked  []time.Duration // ago
		change func(w *office.Withdrawal)
		want   message.Message
	}{
		"a minute ago":    {[]time.Duration{time.Minute}, nil, message.Message{}},
		"an hour ago":     {[]time.Duration{lateAfter}, nil, one},
		"in a minute":     {[]time.Duration{-time.Minute}, nil, message.Message{}},
		"in a year":       {[]time.Duration{-year}, nil, one},
		"twice":           {[]time.Duration{lateAfter, year}, nil, two},
		"and not tried":   {[]time.Duration{year}, func(w *office.Withdrawal) { w.Tries = 0 }, message.Message{}},
		"and was refused": {[]time.Duration{year}, func(w *office.Withdrawal) { w.State = office.WithdrawWanted }, one},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			r := New(looptest.Base(t, func() {}), Deps{})
			noErr(t, r.Data.Update(func(tx *store.Tx) (err error) {
				for i, ago := range c.asked {
					w := &office.Withdrawal{State: office.WithdrawAsked, Asked: r.Now().Add(-ago), Tries: 1, NextTry: r.Now()}
					if c.change != nil {
						c.change(w)
					}
					err = errors.Join(err, tx.PutPackage(office.Package{ID: fmt.Sprint(i), Name: "Offer", State: office.PackageOpen, Withdrawal: w}))
				}
				return err
			}))
			var told message.Message
			err := r.tellLate()
			for _, i := range r.Health.List() {
				told = i.Message
			}
			if err != nil || told != c.want {
				t.Errorf("told %q, want %q, %v", told, c.want, err)
			}
		})
	}
}

func TestAWithdrawalThatWaitsForASignInIsWaitedForOnlyWhereSomebodyIsPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.Session = looptest.Session{}
		for patience, want := range map[time.Duration]time.Duration{0: time.Hour, time.Minute: 0} {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			began := time.Now()
			list, err := x.Withdraw(ctx, office.NewWithdrawal{Packages: []string{"p"}, Patience: patience})
			if took := time.Since(began); took != want || len(list) != 1 || list[0].State != office.WithdrawWanted || (err != nil) != (patience == 0) {
				t.Errorf("patient for %v, it took %v and is %+v, %v", patience, took, list, err)
			}
			stop()
		}
	})
}

// A step that the disk refuses is taken again, and nothing is said to be done by it.
func TestAStepThatTheDiskRefusesIsNotTakenForMade(t *testing.T) {
	unknown := reply{404, `{"error":"package_not_found","message":"No such package."}`, false}
	gone := esign.Message(&esign.Error{Kind: esign.NotFound, Said: "No such package."})
	for name, c := range map[string]struct {
		before office.Withdrawal
		there  string
		call   string
		reply  reply
		do     func(x *testService) error
	}{
		"done":          {office.Withdrawal{State: office.WithdrawWanted}, "open", "", reply{}, nil},
		"accepted":      {office.Withdrawal{State: office.WithdrawAccepted}, "open", "", reply{}, nil},
		"damaged":       {office.Withdrawal{State: office.WithdrawAsked, Damaged: true}, "open", "", reply{}, nil},
		"not shown":     {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{200, `{"packageId":"p"}`, false}, nil},
		"busy":          {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{429, `{"error":"too_many_requests"}`, false}, nil},
		"ailing":        {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{status: 503}, nil},
		"in no time":    {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{408, "", false}, nil},
		"not permitted": {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{403, `{"error":"access_denied"}`, false}, nil},
		"refused":       {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{400, `{"error":"x","message":"No."}`, false}, nil},
		"no word":       {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{400, "{}", false}, nil},
		"no such call":  {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", reply{404, "<h1>Not Found</h1>", false}, nil},
		"not known":     {office.Withdrawal{State: office.WithdrawWanted}, "open", "rescind", unknown, nil},
		"nor ever":      {office.Withdrawal{State: office.WithdrawWanted, AskFirst: true, Alike: patience, Problem: gone}, "open", "status", unknown, nil},
		"not any more":  {office.Withdrawal{State: office.WithdrawAccepted, Alike: patience, Problem: gone}, "open", "status", unknown, nil},
		"not yet":       {office.Withdrawal{State: office.WithdrawAsked, Tries: patience}, "open", "status", unknown, nil},
		"a person waits": {office.Withdrawal{State: office.WithdrawWanted, AskFirst: true}, "open", "", reply{},
			func(x *testService) error { _, err := x.Keep("p"); return err }},
		"let go": {office.Withdrawal{State: office.WithdrawAsked}, "open", "", reply{}, func(x *testService) error { return x.LetGo("p") }},
		"wished for": {office.Withdrawal{State: office.WithdrawRefused}, "open", "", reply{}, func(x *testService) error {
			_, err := x.Withdraw(x.t.Context(), office.NewWithdrawal{Packages: []string{"p", "q"}, Patience: time.Microsecond})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) {
				x := newService(t)
				c.before.Asked = x.Now()
				x.stands(c.before)
				x.service.states["p"] = c.there
				x.service.strike(c.call, 99, c.reply)
				return x, x.Data
			}, func(x *testService) error {
				if c.do != nil {
					return c.do(x)
				}
				return x.once(t.Context())
			})
		})
	}
}
