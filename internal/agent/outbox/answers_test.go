package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

const page = "<html>Sign in to the guest network</html>"

// answering is a service that answers so.
func answering(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		if body == page {
			w.Header().Set("Content-Type", "text/html")
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			io.WriteString(w, body)
		}
	}
}

func cut(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, `{"packageId":`)
}

func TestWhatIsAnsweredSaysWhatBecomesOfADraftWhichIsNeverSentTwice(t *testing.T) {
	const failed, queued, unknown = office.DraftFailed, office.DraftQueued, office.DraftUnknown
	no := `{"error":"access_denied","message":"No."}`
	for name, c := range map[string]struct {
		answer        func(http.ResponseWriter)
		upload, added office.DraftState // what becomes of it when that is the answer to the one or the other
	}{
		"400":              {answering(400, no), failed, failed},
		"401":              {answering(401, no), queued, queued},
		"403":              {answering(403, no), failed, failed},
		"404":              {answering(404, `{"error":"template_not_found","message":"No."}`), failed, failed}, // though it has no template
		"429 with seconds": {answering(429, no, "Retry-After", "1"), queued, queued},
		"429 with a date":  {answering(429, no, "Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)), queued, queued},
		"500":              {answering(500, no), queued, unknown},
		"a web page":       {answering(200, page), queued, unknown},
		"nothing":          {answering(200, "\n"), queued, unknown},
		"a redirect":       {answering(307, "", "Location", "http://127.0.0.1:1/elsewhere"), queued, unknown},
		"dropped":          {loseAnswer, queued, unknown},
		"cut":              {cut, queued, unknown},
	} {
		for i, want := range []office.DraftState{c.upload, c.added} {
			r := newService(t, accept)
			r.end() // the test does what it runs
			r.Pace.Retry = time.Minute
			r.deps.FindPackages = func() {}
			r.deps.PackageAdded = func() {}
			work := func(want office.DraftState) string {
				t.Helper()
				must(r.sendDue(t.Context()))
				all, err := r.Drafts()
				if want == office.DraftSent && len(all) == 0 {
					return ""
				}
				if err != nil || len(all) != 1 || all[0].State != want || all[0].Problem.IsZero() {
					t.Fatalf("%s: %+v, %v, want %s", name, all, err, want)
				}
				return all[0].ID
			}
			if i == 0 {
				r.service.answer(accept, c.answer)
			} else {
				r.service.answer(c.answer, nil)
			}
			id, err := r.Hold(r.newPackage(t))
			noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
			work(want)
			asked := r.service.added()
			r.service.answer(accept, nil)
			r.Service.Now = func() time.Time { return time.Now().Add(time.Hour) }
			if want != queued { // the service did nothing, which nobody here can know: a person decides
				noErr(t, r.Resolve(id, true, 0))
			}
			r.Crash = func(at string) {
				if all, err := r.Drafts(); at == "adding" && (err != nil || !all[0].Problem.IsZero()) {
					t.Errorf("%s: it is still held up: %+v, %v", name, all, err)
				}
			}
			if work(office.DraftSent); r.service.added() != asked+1 {
				t.Errorf("%s: sent %d times more", name, r.service.added()-asked)
			}
		}
	}
}

// The list shows the package that was made.
func TestWhateverIsAnsweredAfterTheWorkThereIsOnePackage(t *testing.T) {
	answers := map[string]func(http.ResponseWriter){
		"a captive portal": answering(200, page), "no id": answering(200, "{}"), "another package's shape": answering(200, `{"package":{"packageId":null}}`),
		"no content": answering(204, ""), "503 with a time": answering(503, "", "Retry-After", "1"), "cut": cut, "lost": loseAnswer,
		"an exception": answering(400, `{"error":"package_exception_mail","message":"Mail failed."}`),
	}
	for _, status := range []int{400, 401, 403, 404, 405, 408, 413, 425, 429, 500} {
		answers[strconv.Itoa(status)+" by a proxy"] = answering(status, page)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for where, to := range map[string]string{"the same host": "/api/v1/packages/add", "another host": "http://127.0.0.1:1/elsewhere"} {
			answers[strconv.Itoa(status)+" to "+where] = answering(status, "", "Location", to)
		}
	}
	for name, answer := range answers {
		r := newService(t, answer)
		state, err := r.Send(t.Context(), r.newPackage(t), nil)
		if err != nil || state.State != office.DraftUnknown && state.State != office.DraftSent {
			t.Errorf("%s: %+v, %v", name, state, err)
			continue
		}
		eventually(t, name+": the list tells that it was sent, and people are told", func() bool {
			state, err = r.draftState(state.DraftID)
			return err == nil && state.State == office.DraftSent && !r.Health.Has(health.OutcomeUnknown)
		})
		expect(t, r.service.added(), 1, name+": %d added")
		r.end()
	}
}

// The program was killed while it asked: nobody knows what became of it.
func TestADraftThatWasBeingAddedWhenTheProgramWasKilledIsNotSentAgain(t *testing.T) {
	r := newService(t, accept)
	r.end() // the test does what it runs
	id := must(r.Hold(r.newPackage(t)))
	d, _, err := r.Data.Draft(id)
	noErr(t, err)
	d.State = office.DraftAdding
	noErr(t, errors.Join(r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }), r.recoverAdding()))
	if state, err := r.draftState(id); err != nil || state.State != office.DraftUnknown {
		t.Errorf("%+v, %v", state, err)
	}
}

// Nothing is sent by itself that may have been sent in a time of which the state knows nothing.
func TestAfterARestoringAPersonDecidesAboutEachDraft(t *testing.T) {
	refused := message.MayNotSendDocuments()
	for state, want := range map[office.DraftState]struct {
		becomes office.DraftState
		says    message.Message
	}{
		office.DraftQueued:    {office.DraftUnknown, message.DraftOfBefore()},
		office.DraftAdding:    {office.DraftUnknown, message.DraftOfBefore()},
		office.DraftHeld:      {office.DraftHeld, message.DraftOfBefore()},
		office.DraftUnknown:   {office.DraftUnknown, message.DraftOfBefore()},
		office.DraftFailed:    {office.DraftFailed, message.Then(message.DraftOfBefore(), refused)},
		office.DraftSent:      {office.DraftSent, refused},
		office.DraftCancelled: {office.DraftCancelled, refused},
	} {
		r := newService(t, accept)
		r.end()
		d := office.Draft{ID: "d", State: state, Delivery: office.Delivery{Problem: refused, Decision: office.Decision{Send: true, At: time.Now()}}}
		noErr(t, r.Data.Update(func(tx *store.Tx) error { tx.PutDraft(d); Doubt(tx, time.Now()); return nil }))
		must(r.sendDue(t.Context()))
		if d, _, err := r.Data.Draft("d"); err != nil || d.State != want.becomes || d.Problem != want.says || r.service.added() > 0 {
			t.Errorf("what was %s is %s, for %v; %v", state, d.State, d.Problem, err)
		}
	}
}

// The service is asked for its list once for all of them, more and more rarely, and at once when one more is lost; what an event has
// told of needs no list.
func TestThePackagesOfDraftsAreLookedForTogether(t *testing.T) {
	r := newService(t, accept)
	r.end() // the test does what it runs
	r.deps.PackageAdded = func() {}
	r.Pace.Retry = time.Minute
	asked, now := 0, time.Now()
	r.deps.FindPackages = func() { asked++ }
	r.Service.Now = func() time.Time { return now }
	client, _, _ := r.deps.Service()
	noErr(t, r.Data.Update(func(tx *store.Tx) (err error) {
		for n := range 40 {
			err = errors.Join(err, tx.PutDraft(office.Draft{ID: fmt.Sprint("draft ", n), State: office.DraftUnknown}))
		}
		return errors.Join(err, tx.PutPackage(office.Package{ID: "p", Source: office.Source{DraftID: "draft 7"}}))
	}))
	look := func(want int, pause time.Duration) {
		t.Helper()
		if left, err := r.findUnknown(client, 9*time.Hour); err != nil || left != pause || asked != want {
			t.Errorf("asked %d times, and again in %v, %v", asked, left, err)
		}
	}
	look(1, 2*time.Minute)
	look(1, 2*time.Minute)
	now = now.Add(2 * time.Minute)
	look(2, 4*time.Minute)
	if d, _, err := r.Data.Draft("draft 7"); err != nil || d.State != office.DraftSent {
		t.Errorf("an event has told of its package: %+v, %v", d, err)
	}
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "added", State: office.DraftAdding, Home: office.Home{Service: client.Home()}})
	}))
	added, _, err := r.Data.Draft("added")
	noErr(t, errors.Join(err, r.refused(t.Context(), added, esign.ErrOutcomeUnknown)))
	look(3, 2*time.Minute)
}

func TestAPauseThatComesWithAnUnknownOutcomeIsToldToo(t *testing.T) {
	r := newService(t, answering(503, "", "Retry-After", "7200"))
	r.end() // the test does what it runs
	client, _ := r.Base.Session.Online()
	noted := []error{nil}
	r.Base.Session = looptest.Session{Client: client, Noted: func(err error) { noted = append(noted, err) }}
	id, err := r.Hold(r.newPackage(t))
	noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
	must(r.sendDue(t.Context()))
	if got := esign.Message(noted[len(noted)-1]); got != message.ServicePauses(2) {
		t.Errorf("told %q of %v", got, noted)
	}
}

// An account that may not send is not told that its package will be sent.
func TestASignInThatIsRefusedAgainAndAgainMayNotSend(t *testing.T) {
	r := newService(t, accept)
	r.end()                    // the test does what it runs
	r.Pace.Retry = time.Minute // no second try on a busy machine
	r.service.answer(answering(401, `{"error":"access_denied"}`), nil)
	id, err := r.Hold(r.newPackage(t))
	noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
	for try := range mayNotSend + 1 {
		r.Service.Now = func() time.Time { return time.Now().AddDate(0, 0, try) }
		must(r.sendDue(t.Context()))
		all, err := r.Drafts()
		want := office.DraftQueued
		if try == mayNotSend {
			want = office.DraftFailed
		}
		if err != nil || len(all) != 1 || all[0].State != want || all[0].Problem != message.MayNotSendDocuments() {
			t.Fatalf("try %d: %+v, %v", try, all, err)
		}
	}
}

func TestAnAccountThatMayNotSendIsToldSoWithoutTheServicesTerms(t *testing.T) {
	for missing, want := range map[bool]message.Message{true: message.MayNotSend(), false: message.NotAllowedBecause("The member scope is needed.")} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		refuse := answering(403, `{"error":"package_not_authorized","error_description":"The member scope is needed."}`)
		r.service.answer(refuse, refuse)
		if missing {
			r.Health.Set(health.MayNotSend, message.MayNotSend())
		}
		noErr(t, r.Resolve(must(r.Hold(r.newPackage(t))), true, 0))
		must(r.sendDue(t.Context()))
		if d := must(r.Drafts())[0]; d.State != office.DraftFailed || d.Problem != want {
			t.Errorf("%+v", d)
		}
	}
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	due := office.Delivery{Decision: office.Decision{Send: true, At: time.Unix(1, 0)}, Replaces: []string{"other"}}
	in := func(do func(x *testService, tx *store.Tx) error) func(*testService) error {
		return func(x *testService) error {
			return x.Data.Update(func(tx *store.Tx) error { return do(x, tx) })
		}
	}
	not := func(done bool, err error) error { // what failed is not said to be done
		if done && err != nil {
			return errors.New("it is said to be done")
		}
		return err
	}
	orTold := func(x *testService, err error) error { // in health alone, for it is looked at again
		if err == nil && x.Health.Has(health.DataNotRead) {
			return looptest.ErrFault
		}
		return err
	}
	send := func(x *testService) error {
		_, err := x.sendDue(t.Context())
		return orTold(x, err)
	}
	refused := func(x *testService) error {
		err := send(x)
		d, _, err1 := x.Data.Draft("d")
		lines, err2 := x.Activity(9)
		if err == nil && d.State == office.DraftFailed && len(lines) == 0 { // only the diary does not have it
			return looptest.ErrFault
		}
		return errors.Join(err, err1, err2)
	}
	ail := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	claim := in(func(x *testService, tx *store.Tx) error {
		x.Claim(tx, &office.Package{ID: "p"}, withCorrelation(nil, x.sourceOf(office.Draft{ID: "d"}).String()))
		return nil
	})
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		before office.Draft
		do     func(x *testService) error
	}{
		"stored in the place of another": {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error {
			n := x.newPackage(t)
			n.Replaces = []string{"d"}
			_, err := x.Send(ended(t), n, nil)
			return err
		}},
		"stored for a while": {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error {
			n := x.newPackage(t)
			n.Replaces, n.Undo = []string{"d"}, time.Minute
			_, err := x.Send(ended(t), n, nil)
			return err
		}},
		"cancelled": {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error { return not(x.Cancel("d")) }},
		"decided":   {nil, office.Draft{State: office.DraftHeld}, func(x *testService) error { return x.Resolve("d", true, time.Hour) }},
		"undone":    {nil, office.Draft{State: office.DraftHeld, Delivery: due}, func(x *testService) error { return not(x.Undo("d")) }},
		"stopped":   {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error { return not(x.Stop("d")) }},
		"once more": {nil, office.Draft{State: office.DraftFailed}, func(x *testService) error { _, _, err := x.Again(t.Context(), "d", nil); return err }},
		"answered": {nil, office.Draft{State: office.DraftQueued}, func(x *testService) error {
			return orTold(x, x.accepted(office.Draft{ID: "d", State: office.DraftQueued}, esign.Added{PackageID: "q"}))
		}},
		"carried out": {nil, office.Draft{State: office.DraftHeld, Delivery: due}, func(x *testService) error {
			_, err := x.carryOut()
			return orTold(x, err)
		}},
		"begun anew":    {nil, office.Draft{State: office.DraftAdding}, func(x *testService) error { return orTold(x, x.recoverAdding()) }},
		"in doubt":      {nil, office.Draft{State: office.DraftQueued}, in(func(_ *testService, tx *store.Tx) error { Doubt(tx, time.Now()); return nil })},
		"sent":          {accept, office.Draft{State: office.DraftQueued}, send},
		"put off":       {ail, office.Draft{State: office.DraftQueued}, send},
		"a correction":  {accept, office.Draft{State: office.DraftQueued, Corrects: "p"}, refused},
		"not known":     {loseAnswer, office.Draft{State: office.DraftQueued}, send},
		"found":         {nil, office.Draft{State: office.DraftUnknown}, claim},
		"another's":     {nil, office.Draft{}, claim},
		"looked for":    {nil, office.Draft{State: office.DraftUnknown}, func(x *testService) error { _, err := x.Drafts(); return err }},
		"its package's": {nil, office.Draft{State: office.DraftSent}, func(x *testService) error { _, _, err := x.DraftOf("p"); return err }},
		"forgotten":     {nil, office.Draft{State: office.DraftSent}, func(x *testService) error { return x.ForgetCopies() }},
		"all people": {nil, office.Draft{}, in(func(_ *testService, tx *store.Tx) error {
			PutPeople(tx, []office.Signer{{Email: "ana@example.com"}})
			return nil
		})},
		"people":    {nil, office.Draft{}, func(x *testService) error { _, err := x.People(); return err }},
		"templates": {nil, office.Draft{}, func(x *testService) error { _, err := x.UsedTemplates(9); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) {
				x := newService(t, c.answer)
				x.end()
				x.deps.FindPackages = func() {}
				d, other := c.before, office.Draft{ID: "other", State: office.DraftFailed}
				d.ID, d.Name, d.Signers = "d", "Lease", []office.Signer{{Email: "ana@example.com"}}
				noErr(t, x.Data.Update(func(tx *store.Tx) error {
					return errors.Join(tx.PutDraft(other), tx.PutDraft(d), tx.PutPackage(office.Package{ID: "p", Source: office.Source{DraftID: "other"}}))
				}))
				return x, x.Data
			}, func(x *testService) error {
				if err := c.do(x); !errors.Is(err, context.Canceled) {
					return err
				}
				return nil
			})
		})
	}
}

// ended is a context that has.
func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}

// A held draft that is changed in a form can be sent from the outbox, too. Of all orders in which somebody can press both, none
// makes two packages.
func TestPressingSendInTheFormAndInTheOutboxMakesOnePackage(t *testing.T) {
	type desk struct {
		*testService
		t      *testing.T
		old    string // what is held
		change office.NewPackage
	}
	hold := func(d *desk) string { // as the form does, some seconds before it sends
		id, err := d.Hold(d.change)
		if err != nil {
			d.t.Log(err)
			return ""
		}
		return id
	}
	send := func(d *desk, held string) {
		change := d.change
		if held != "" {
			change.Replaces = append(change.Replaces, held)
		}
		state, err := d.Send(d.t.Context(), change, nil)
		d.t.Log(state, err)
	}
	press := func(d *desk, id string) {
		if err := d.Resolve(id, true, 0); err != nil {
			d.t.Error(err)
		}
	}
	for name, both := range map[string]func(d *desk){
		"the form first":   func(d *desk) { send(d, hold(d)); press(d, d.old) },
		"the outbox first": func(d *desk) { press(d, d.old); send(d, hold(d)) },
		"the outbox while the form waits": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			send(d, id)
		},
		"the outbox, and the form once it is sent": func(d *desk) {
			press(d, d.old)
			<-d.wakes
			send(d, hold(d))
		},
		"the outbox, sent while the form waits": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			<-d.wakes
			send(d, id)
		},
		"both in the outbox, after a kill": func(d *desk) {
			id := hold(d)
			press(d, id)
			press(d, d.old)
			d.settled(d.t)
		},
		"both in the outbox, the old one first": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			press(d, id)
			d.settled(d.t)
		},
		"both in the outbox, the old one sent first": func(d *desk) {
			id := hold(d)
			press(d, d.old)
			<-d.wakes
			press(d, id)
			d.settled(d.t)
		},
		"the outbox after a kill, and the form that was kept": func(d *desk) {
			press(d, hold(d))
			<-d.wakes
			send(d, hold(d))
		},
		"everything at once": func(d *desk) {
			var all sync.WaitGroup
			id := hold(d)
			all.Go(func() { press(d, d.old) })
			all.Go(func() { press(d, id) })
			all.Go(func() { send(d, id) })
			all.Wait()
			d.settled(d.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newService(t, accept)
			given := r.newPackage(t)
			old := must(r.Hold(given))
			d := &desk{r, t, old, given}
			d.change.Name, d.change.Replaces = "Lease, changed", []string{old}
			both(d)
			d.settled(t)
			expect(t, r.service.added(), 1, "%d packages")
		})
	}
}

func TestAVersionThatCameTooLateSaysSoAndCanBeSentAllTheSame(t *testing.T) {
	r := newService(t, accept)
	given := r.newPackage(t)
	old := must(r.Hold(given))
	given.Replaces = []string{old}
	held := must(r.Hold(given))
	for _, id := range []string{old, held} {
		noErr(t, r.Resolve(id, true, 0))
		r.settled(t)
	}
	if d, _, err := r.Data.Draft(held); err != nil || d.State != office.DraftHeld || d.Problem != message.EarlierVersionSent("Lease") {
		t.Errorf("%+v, %v", d, err)
	}
	noErr(t, r.Resolve(held, true, 0))
	if r.settled(t); r.service.added() != 2 {
		t.Errorf("%d packages though a person wants both", r.service.added())
	}
	if people, err := r.People(); err != nil || len(people) != 1 || people[0].Email != "ana@example.com" {
		t.Errorf("remembered: %+v, %v", people, err)
	}
}

// A draft that goes on although another was to replace it is not halted: its upload would be tried again and again without a pause.
func TestADraftIsHaltedOnlyByOneThatIsSentInItsPlace(t *testing.T) {
	r := newService(t, accept)
	r.end()
	for name, send := range map[string]bool{"the other is discarded": false, "another it replaces was sent": true} {
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			tx.PutDraft(office.Draft{ID: "sent", State: office.DraftSent})
			tx.PutDraft(office.Draft{ID: "waits", State: office.DraftQueued})
			return tx.PutDraft(office.Draft{ID: "new", State: office.DraftHeld, Delivery: office.Delivery{Decision: office.Decision{Send: send, At: r.Now()}, Replaces: []string{"waits", "sent"}}})
		}))
		live := r.live.begin("waits", nil)
		if _, err := r.carryOut(); err != nil || r.live.cancelled("waits") {
			t.Errorf("%s: halted %v, %v", name, r.live.cancelled("waits"), err)
		}
		r.live.end("waits", live)
	}
}

// Of a draft that may have become a package, nothing else is sent in its place, also once nobody looks for that one any more.
func TestWhatMayHaveBeenSentIsNotReplacedThoughItWasGivenUp(t *testing.T) {
	r := newService(t, accept)
	r.end()
	for was, refused := range map[office.DraftState]bool{office.DraftUnknown: true, office.DraftFailed: false} {
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "d", Name: "Lease", State: was}) }))
		noErr(t, r.Resolve("d", false, 0))
		d := r.newPackage(t)
		d.Replaces = []string{"d"}
		if _, err := r.Send(ended(t), d, nil); (message.For(err) == message.EarlierVersionSent("Lease")) != refused {
			t.Errorf("what was %s, and was given up: %v", was, err)
		}
	}
	// Sent again, and taken back before that, it may be there from the first time still.
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "d", Name: "Lease", State: office.DraftUnknown})
	}))
	noErr(t, r.Resolve("d", true, 0))
	if back, err := r.Cancel("d"); err != nil || !back {
		t.Fatal(back, err)
	}
	d := r.newPackage(t)
	d.Replaces = []string{"d"}
	if _, err := r.Send(ended(t), d, nil); message.For(err) != message.EarlierVersionSent("Lease") {
		t.Errorf("what was sent again, and taken back: %v", err)
	}
}

// Two of one contract, both signed, must not come about.
func TestACorrectionGoesOutOnceTheFirstOneIsOutOfTheWayAndNotBefore(t *testing.T) {
	withdrawn := &office.Withdrawal{State: office.WithdrawWanted}
	for name, c := range map[string]struct {
		first office.Package
		want  office.DraftState
		says  message.Message
	}{
		"withdrawn":          {office.Package{ID: "p", State: office.PackageRescinded, Withdrawal: withdrawn}, office.DraftSent, message.Message{}},
		"not known any more": {office.Package{ID: "other"}, office.DraftSent, message.Message{}},
		"to be withdrawn":    {office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Withdrawal: withdrawn}, office.DraftQueued, message.CorrectedWaits("Lease")},
		"still open":         {office.Package{ID: "p", Name: "Lease", State: office.PackageOpen}, office.DraftFailed, message.CorrectedNotWithdrawn("Lease")},
		"signed by all":      {office.Package{ID: "p", Name: "Lease", State: office.PackageExecuted, Withdrawal: withdrawn}, office.DraftFailed, message.CorrectedTooLate("Lease")},
	} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		r.deps.PackageAdded = func() {}
		c.first.Folder = "scans"
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(c.first) }))
		d := r.newPackage(t)
		d.Corrects = "p"
		state, _ := r.Send(ended(t), d, nil)
		work := func() office.Draft {
			t.Helper()
			must(r.sendDue(t.Context()))
			d, _, err := r.Data.Draft(state.DraftID)
			noErr(t, err)
			return d
		}
		if d := work(); d.State != c.want || d.Problem != c.says || (d.Folder == "scans") != (c.first.ID == "p") {
			t.Errorf("%s: it is %s, for %v, of folder %q", name, d.State, d.Problem, d.Folder)
		}
		if c.want == office.DraftSent {
			continue
		}
		c.first.State = office.PackageRescinded
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(c.first) }))
		if d := work(); (d.State == office.DraftSent) != (c.want == office.DraftQueued) {
			t.Errorf("%s, and withdrawn in the end: it is %s", name, d.State)
		}
	}
}

// settled waits until nothing is on its way.
func (x *testService) settled(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is on its way", func() bool {
		var waiting []office.Draft
		err := x.Data.Store.View(func(tx *store.Tx) (err error) {
			waiting, err = tx.Drafts(office.DraftQueued, office.DraftAdding, office.DraftUnknown)
			return err
		})
		return err == nil && len(waiting) == 0
	})
}
