package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// service takes files and packages. It does with packages/add what the test says.
type service struct {
	add    func(w http.ResponseWriter)
	upload func(w http.ResponseWriter) // nil for one that takes the file

	mu       sync.Mutex
	uploads  [][]byte          // what was sent each time
	packages []json.RawMessage // the external data of those that were added
	bodies   [][]byte          // all that was said of them
}

func (s *service) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the program has given it up
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(q.URL.Path, "/files/upload"):
		if s.upload != nil {
			s.upload(w)
			return
		}
		s.uploads = append(s.uploads, body)
		io.WriteString(w, `{"fileId":"f"}`)
	case strings.HasSuffix(q.URL.Path, "/packages/add"):
		var p struct {
			ExternalData json.RawMessage `json:"externalData"`
		}
		json.Unmarshal(body, &p)
		s.packages, s.bodies = append(s.packages, p.ExternalData), append(s.bodies, body)
		s.add(w)
	}
}

// added is how many packages the service was asked for.
func (s *service) added() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.packages)
}

// answer has it answer so from now on.
func (s *service) answer(add, upload func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add, s.upload = add, upload
}

// sent are the bodies of all uploads.
func (s *service) sent() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uploads)
}

func accept(w http.ResponseWriter) { io.WriteString(w, `{"packageId":"p1"}`) }

func refuse(w http.ResponseWriter) {
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, `{"error":"access_denied","message":"You may not."}`)
}

func loseAnswer(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// found has the service's packages claimed, as whoever reads its list does.
func (x *testService) found() {
	x.service.mu.Lock()
	packages := slices.Clone(x.service.packages)
	x.service.mu.Unlock()
	err := x.Data.Update(func(tx *store.Tx) error {
		for _, data := range packages {
			p := office.Package{ID: "p1"}
			x.Claim(tx, &p, data)
			tx.PutPackage(p)
		}
		return nil
	})
	if err != nil {
		x.Log.Error("claim", "err", err)
	}
	x.Wake()
}

// testService is a Service with what it needs in the test's hands.
type testService struct {
	*Service
	service *service
	dir     string
	wakes   chan struct{} // rings for each package that was added
	end     func()        // ends what runs

	unlisted atomic.Bool  // the service's list is not read yet
	looked   atomic.Int64 // how often it was asked whether that is so
	strayed  atomic.Bool  // files of watched folders were changed there
	passed   atomic.Int64 // how much time has, besides, as a time.Duration
}

// Resolve decides where it does not matter whether an earlier decision stands.
func (x *testService) Resolve(draftID string, send bool, undo time.Duration) error {
	_, err := x.Service.Resolve(draftID, send, undo)
	return err
}

// newService is a Service that runs until the test ends.
func newService(t *testing.T, add func(http.ResponseWriter)) *testService {
	t.Helper()
	x := &testService{service: &service{add: add}, dir: t.TempDir(), wakes: make(chan struct{}, 9)}
	server := httptest.NewServer(x.service)
	t.Cleanup(server.Close)
	client := esign.NewClient(esign.Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c"}, looptest.Token{})
	var watchers loop.Watchers[office.Change]
	base := looptest.Base(t, func() {})
	base.Pace, base.Signal = loop.Pace{Retry: 10 * time.Millisecond}.Complete(), watchers.Signal
	base.Now = func() time.Time { return time.Now().Add(time.Duration(x.passed.Load())) }
	base.Watch, base.Session = watchers.Watch, looptest.Session{Client: client}
	noErr(t, base.Data.Update(func(tx *store.Tx) error { return tx.UseService(client.Home()) }))
	x.Service = New(base, Deps{
		Installation:      func() string { return "here" },
		DataDir:           x.dir,
		Pages:             func(context.Context, string) (int, error) { return 1, nil },
		Sealed:            func(string) bool { return false },
		Service:           func() (*esign.Client, string, bool) { return client, "me", true },
		DefaultRecipients: func() []office.Recipient { return nil },
		Home:              client.Home,
		Sender:            func() string { return "" },
		FindPackages:      func() { x.found() },
		Listed:            func() bool { x.looked.Add(1); return !x.unlisted.Load() },
		Strayed: func(office.Draft) (why message.Message, err error) {
			if x.strayed.Load() {
				why = message.FileChangedSince("Lease.pdf")
			}
			return why, nil
		},
		PackageAdded: func() { x.wakes <- struct{}{} },
		Replaced:     func(*store.Tx, office.Draft, office.Draft) {},
	})
	x.end = looptest.Run(t, x.Run)
	return x
}

func (x *testService) newPackage(t *testing.T) office.NewPackage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Lease.pdf")
	noErr(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	return office.NewPackage{Name: "Lease", Files: []string{path}, Signers: []office.Signer{{FirstName: "Ana", Email: "ana@example.com"}}}
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (x *testService) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := x.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = x.Stop(state.DraftID)
	return state.DraftID, err
}

// copiesKept is how many copies of files there are.
func (x *testService) copiesKept() int {
	entries, _ := os.ReadDir(locations.Outbox(x.dir))
	return len(entries)
}

// eventually waits until ok, which the Service works on.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestCopiesOfADraftRefusedLongAgoGo(t *testing.T) {
	r := newService(t, refuse)
	if state, err := r.Send(t.Context(), r.newPackage(t), nil); err != nil || state.State != office.DraftFailed {
		t.Fatalf("%+v, %v", state, err)
	}
	day := time.Now()
	work := func(days int) {
		for range days {
			day = day.AddDate(0, 0, 1)
			noErr(t, r.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(day); return err }))
		}
		noErr(t, r.ForgetCopies())
		r.sweepCopies()
	}
	work(1)
	if work(refusedKeep); r.copiesKept() != 1 {
		t.Errorf("after %d days %d copies are kept", refusedKeep, r.copiesKept())
	}
	work(1)
	eventually(t, "the copy is gone", func() bool { return r.copiesKept() == 0 })
}

func TestACopyStaysForADraftThatCannotBeRead(t *testing.T) {
	r := newService(t, refuse)
	if state, err := r.Send(t.Context(), r.newPackage(t), nil); err != nil || state.State != office.DraftFailed {
		t.Fatalf("%+v, %v", state, err)
	}
	r.end() // what runs has the store that is opened anew
	looptest.Spoil(t, &r.Base, "", "drafts")
	if r.sweepCopies(); r.copiesKept() != 1 {
		t.Errorf("%d copies are kept", r.copiesKept())
	}
}

// Whoever sent it first waits for it still when it is stopped and sent after all.
func TestADraftThatWasStoppedIsSentWhenItIsToBe(t *testing.T) {
	r := newService(t, accept)
	for _, undo := range []time.Duration{0, time.Millisecond} {
		id := must(r.Hold(r.newPackage(t)))
		waits := r.live.begin(id, nil)
		defer r.live.end(id, waits)
		if stopped, err := r.Stop(id); err != nil || !stopped {
			t.Fatal(stopped, err)
		}
		noErr(t, r.Resolve(id, true, undo))
		eventually(t, "it is sent", func() bool {
			state, err := r.draftState(id)
			return err == nil && state.State == office.DraftSent
		})
	}
}

func TestNobodyIsToldOfProgressOnceSendHasReturned(t *testing.T) {
	var live liveDrafts
	told := 0
	d := live.begin("d", func(office.SendState) { told++ })
	live.progress(office.Draft{ID: "d"}, 0, 1)
	live.end("d", d)
	d.tell(office.SendState{})
	live.progress(office.Draft{ID: "d"}, 0, 2)
	expect(t, told, 1, "told %d times, want once")
	nobody := live.begin("n", nil)
	nobody.tell(office.SendState{})
}

func TestWhatTheWindowRefusesIsRefusedToEverybodyBeforeAnythingIsStored(t *testing.T) {
	r := newService(t, accept)
	for want, change := range map[string]func(*office.NewPackage){
		"The due date has passed. Choose a later one.":        func(d *office.NewPackage) { d.Due = time.Now().Add(-time.Hour) },
		"The e-mail address is missing or incomplete: “Ana”.": func(d *office.NewPackage) { d.Signers[0].Email = "ana@" },
		message.SignerTwice("Ana@example.com").String(): func(d *office.NewPackage) {
			d.Signers = append(d.Signers, office.Signer{FirstName: "Ana", Email: "Ana@example.com"})
		},
		message.ReferenceOurs(correlationKey).String():         func(d *office.NewPackage) { d.ExternalData = json.RawMessage(`{"countersign":"7"}`) },
		"There is no document to send. Add at least one file.": func(d *office.NewPackage) { d.Files = nil },
		"Eva signs this package and cannot also get a copy.": func(d *office.NewPackage) {
			d.Recipients = []office.Recipient{{FirstName: "Eva", Email: "ANA@example.com"}}
		},
		"Not an e-mail address for a copy: “Eva”.": func(d *office.NewPackage) {
			d.Recipients = []office.Recipient{{FirstName: "Eva", Email: "eva"}}
		},
		message.DraftTooLarge("Lease", office.Largest+1, office.Largest).String(): func(d *office.NewPackage) {
			noErr(t, os.Truncate(d.Files[0], office.Largest+1)) // it takes no room
		},
	} {
		d := r.newPackage(t)
		change(&d)
		_, err := r.Send(t.Context(), d, nil)
		if bad, ok := errors.AsType[*DraftError](err); !ok || bad.Text.String() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if r.copiesKept() != 0 || r.service.added() != 0 {
		t.Errorf("%d copies are kept, %d packages were sent", r.copiesKept(), r.service.added())
	}
}

// A copy belongs to its draft alone, whatever else was given under the same path.
func TestADocumentIsNeverTakenFromAnotherDraft(t *testing.T) {
	r := newService(t, refuse)
	forAna := r.newPackage(t)
	must(r.Send(t.Context(), forAna, nil))
	noErr(t, os.Remove(forAna.Files[0]))
	forBob := forAna
	forBob.Signers = []office.Signer{{FirstName: "Bob", Email: "bob@example.com"}}
	if info := r.Inspect(t.Context(), forBob.Files[0]); info.Problem.IsZero() {
		t.Errorf("a file that is gone is shown as %+v", info)
	}
	if state, err := r.Send(t.Context(), forBob, nil); err == nil {
		t.Errorf("a file that is gone was sent: %+v", state)
	}
}

// Whoever sends something like a package of the past, or corrects it, finds the documents that it had, or is told.
func TestWhatIsSentAgainHasTheSameBytesOrIsLeftOut(t *testing.T) {
	r := newService(t, accept)
	d := r.newPackage(t)
	state := must(r.Send(t.Context(), d, nil))
	eventually(t, "the copy is gone", func() bool { return r.copiesKept() == 0 })
	keep := func(_ context.Context, name string, size int64, from io.Reader) (string, error) {
		b, err := io.ReadAll(from)
		return string(b), err
	}
	same := func() {
		t.Helper()
		if again, lost, err := r.Again(t.Context(), state.DraftID, keep); err != nil || len(lost) != 0 || !slices.Equal(again.Files, []string{"%PDF-1.7"}) {
			t.Errorf("%+v, lost %q, %v", again, lost, err)
		}
	}
	same()
	noErr(t, os.WriteFile(d.Files[0], []byte("%PDF-2.0"), 0o600))
	same() // the copy that was sent is kept
	noErr(t, os.RemoveAll(r.sentDir()))
	if again, lost, err := r.Again(t.Context(), state.DraftID, keep); err != nil || len(again.Files) != 0 || !slices.Equal(lost, []string{"Lease.pdf"}) {
		t.Errorf("another file came: %+v, lost %q, %v", again, lost, err)
	}
}

func TestWhatWasDecidedIsDoneOnceItCannotBeUndoneAndNotBefore(t *testing.T) {
	for name, c := range map[string]struct {
		send bool
		want office.DraftState
	}{"sent": {true, office.DraftSent}, "discarded": {false, office.DraftCancelled}} {
		r := newService(t, accept)
		now := time.Now()
		r.end()
		r.Service.Now = func() time.Time { return now }
		id := must(r.Hold(r.newPackage(t)))
		pass := func(d time.Duration) office.DraftState {
			t.Helper()
			now = now.Add(d)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() { <-r.wakes; stop() }()
			if next, err := r.carryOut(); err != nil || next > 10*time.Second {
				t.Errorf("%s: next after %v, %v", name, next, err)
			}
			if _, err := r.sendDue(ctx); err != nil {
				t.Error(err)
			}
			d2, _, err := r.Data.Draft(id)
			noErr(t, err)
			return d2.State
		}
		decide := func() {
			t.Helper()
			noErr(t, r.Resolve(id, c.send, 10*time.Second))
			if again, err := r.Service.Resolve(id, !c.send, 10*time.Second); again || err != nil { // pressed again, or elsewhere
				t.Errorf("%s: decided once more: %v, %v", name, again, err)
			}
		}
		decide()
		if state := pass(9 * time.Second); state != office.DraftHeld {
			t.Errorf("%s: while it can be undone it is %s", name, state)
		}
		if inTime, err := r.Undo(id); err != nil || !inTime {
			t.Errorf("%s: undone %v, %v", name, inTime, err)
		}
		if state := pass(time.Hour); state != office.DraftHeld {
			t.Errorf("%s: undone, it is %s", name, state)
		}
		decide()
		if state := pass(-time.Hour); state == office.DraftHeld { // the clock was wrong
			t.Errorf("%s: with a clock that was set back it is %s", name, state)
		}
		if state := pass(0); state != c.want {
			t.Errorf("%s: it is %s", name, state)
		}
		if inTime, err := r.Undo(id); err != nil || inTime {
			t.Errorf("%s: undone too late: %v, %v", name, inTime, err)
		}
	}
}

func TestADraftIsAsItWasOnceADecisionAboutItIsUndone(t *testing.T) {
	r := newService(t, accept)
	r.deps.DefaultRecipients = func() []office.Recipient { return []office.Recipient{{Email: "new@example.com"}} }
	was := office.Draft{
		ID: "draft", Name: "Lease", State: office.DraftHeld, By: "ana", Signers: []office.Signer{{Email: "jan@example.com"}},
		Recipients: []office.Recipient{{Email: "old@example.com"}}, CopyDefaults: office.CopyDefaults{DefaultRecipients: []string{"old@example.com"}},
	}
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(was) }))
	before, _, err := r.Data.Draft(was.ID)
	noErr(t, err)
	noErr(t, r.Resolve(was.ID, true, 10*time.Second))
	if inTime, err := r.Undo(was.ID); err != nil || !inTime {
		t.Fatalf("undone %v, %v", inTime, err)
	}
	after, _, err := r.Data.Draft(was.ID)
	after.Changed = before.Changed // when it was stored last
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("undone, it is %+v, %v\nand was %+v", after, err, before)
	}
	noErr(t, r.Resolve(was.ID, true, 0))
	if sent, _, err := r.Data.Draft(was.ID); err != nil || sent.By != "" || !slices.Equal(sent.DefaultRecipients, []string{"new@example.com"}) {
		t.Errorf("whoever sends it is %q, and who gets a copy is %q, %v", sent.By, sent.DefaultRecipients, err)
	}
}

// Somebody else signs in while a draft is uploaded or recorded, or while another one was added.
func TestWhatIsDueForAnAccountIsNotSentByTheNextOne(t *testing.T) {
	for when, added := range map[string]int{"upload": 0, "recorded": 0, "added": 1} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		r.deps.PackageAdded = func() {}
		client, _, _ := r.deps.Service()
		var who atomic.Value
		who.Store("ana")
		r.deps.Sender = func() string { return who.Load().(string) }
		r.deps.Service = func() (*esign.Client, string, bool) { return client, who.Load().(string), true }
		for range 2 {
			id, err := r.Hold(r.newPackage(t))
			noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
			noErr(t, r.Data.Update(func(tx *store.Tx) error { // as a folder that Ana has set up sends it
				d, _, err := tx.Draft(id)
				d.By = "ana"
				return errors.Join(err, tx.PutDraft(d))
			}))
		}
		becomes := func(is string) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				if is == when {
					who.Store("max")
				}
				if is == "upload" {
					io.WriteString(w, `{"fileId":"f"}`)
				} else {
					accept(w)
				}
			}
		}
		r.service.answer(becomes("added"), becomes("upload"))
		r.Service.Signal = func(office.Change) { // there is one for each step
			if adding, err := r.adding(); err == nil && adding && when == "recorded" {
				who.Store("max")
			}
		}
		must(r.sendDue(t.Context()))
		drafts := must(r.Drafts())
		if r.service.added() != added || len(drafts) != 2-added {
			t.Errorf("%s: %d were added, and %d wait", when, r.service.added(), len(drafts))
		}
		for _, d := range drafts {
			if d.State != office.DraftHeld || d.Problem != message.ForAnotherAccount() || d.Files[0].UploadedBy == "max" || when == "upload" && d.Files[0].FileID != "" {
				t.Errorf("%s: %+v", when, d)
			}
		}
	}
}

// adding reports whether a draft is about to be added.
func (x *testService) adding() (bool, error) {
	drafts, err := x.Drafts()
	return slices.ContainsFunc(drafts, func(d office.Draft) bool { return d.State == office.DraftAdding }), err
}

// newServiceOf is a service that does not run: the test does what it would. Who is signed in may change.
func newServiceOf(t *testing.T, who *string) *testService {
	t.Helper()
	r := newService(t, accept)
	r.end()
	r.deps.PackageAdded = func() {}
	client, _, _ := r.deps.Service()
	r.deps.Sender = func() string { return *who }
	r.deps.Service = func() (*esign.Client, string, bool) { return client, *who, true }
	return r
}

// However it is made, and whoever signs in while it waits.
func TestADraftIsSentByTheAccountThatMadeIt(t *testing.T) {
	who := ""
	r := newServiceOf(t, &who)
	ended, end := context.WithCancel(t.Context())
	end()
	made := map[string]func(p office.NewPackage) (id string){
		"sent": func(p office.NewPackage) string {
			state, _ := r.Send(ended, p, nil)
			return state.DraftID
		},
		"sent, to be undone": func(p office.NewPackage) string {
			p.Undo = time.Nanosecond
			state, _ := r.Send(ended, p, nil)
			return state.DraftID
		},
		"decided": func(p office.NewPackage) string {
			id := must(r.Hold(p))
			noErr(t, r.Resolve(id, true, time.Nanosecond))
			return id
		},
		"from a folder": func(p office.NewPackage) (id string) {
			file := must(os.Open(p.Files[0]))
			defer file.Close()
			also := func(_ *store.Tx, d *office.Draft) error { id = d.ID; return nil }
			noErr(t, r.FromFolder(t.Context(), office.HotFolder{ID: "f", Signers: p.Signers}, file, p.Files[0], also))
			return id
		},
		"from a list": func(p office.NewPackage) string {
			p.Template, p.Files = &office.Template{ID: "t"}, nil
			noErr(t, r.FromList(t.Context(), office.Draft{}, "line of "+who, p, func(*store.Tx, *office.Draft) error { return nil }))
			return "line of " + who
		},
	}
	for how, make := range made {
		for maker, want := range map[string]office.DraftState{"ana": office.DraftHeld, "": office.DraftSent, "max": office.DraftSent} {
			who = maker
			id := make(r.newPackage(t))
			who = "max"
			must(r.sendDue(t.Context()))
			if d, _, err := r.Data.Draft(id); err != nil || d.State != want {
				t.Errorf("%s by %q: it is %s, %v", how, maker, d.State, err)
			}
		}
	}
}

func TestADraftForAnotherAccountWaitsForAPerson(t *testing.T) {
	r := newService(t, accept)
	r.end() // the test does what it runs
	r.deps.PackageAdded = func() {}
	r.deps.Sender = func() string { return "ana" }
	id, err := r.Hold(r.newPackage(t))
	noErr(t, errors.Join(err, r.Resolve(id, true, 0)))
	work := func() office.Draft {
		t.Helper()
		must(r.sendDue(t.Context()))
		d, _, err := r.Data.Draft(id)
		noErr(t, err)
		return d
	}
	for _, who := range []string{"max", ""} { // the service may not say who it is
		r.deps.Sender = func() string { return who }
		noErr(t, r.Data.Update(func(tx *store.Tx) error { // as a folder that Ana has set up sends it
			d, _, err := tx.Draft(id)
			d.By, d.State = "ana", office.DraftQueued
			return errors.Join(err, tx.PutDraft(d))
		}))
		if d := work(); d.State != office.DraftHeld || d.Problem != message.ForAnotherAccount() || r.service.added() != 0 {
			t.Errorf("%q is signed in: %+v", who, d)
		}
	}
	noErr(t, r.Resolve(id, true, 0))
	if d := work(); d.State != office.DraftSent {
		t.Errorf("at his word: %+v", d)
	}
	var lines []office.Activity
	noErr(t, r.Data.Store.View(func(tx *store.Tx) (err error) {
		lines, _, err = tx.Activities("", 100)
		return err
	}))
	lines = slices.DeleteFunc(lines, func(a office.Activity) bool {
		return a.Text != message.Then(message.NotSent("Lease"), message.ForAnotherAccount())
	})
	expect(t, len(lines), 2, "told %d times that he must decide")
}

// What the last try said is not why it waits after a sign-out.
func TestADraftThatWaitsForASignInSaysNothingElse(t *testing.T) {
	r := newService(t, accept)
	r.end() // the test does what it runs
	client, _, _ := r.deps.Service()
	problem := func() message.Message { return must(r.Drafts())[0].Problem }
	noErr(t, r.Resolve(must(r.Hold(r.newPackage(t))), true, 0))
	busy := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	r.service.answer(busy, busy)
	must(r.sendDue(t.Context()))
	if problem().IsZero() {
		t.Fatal("a refused try leaves no word")
	}
	r.deps.Service = func() (*esign.Client, string, bool) { return client, "", false }
	must(r.sendDue(t.Context()))
	expect(t, problem(), message.Message{}, "signed out, it says %v")
}

// Whoever is signed in meanwhile: what she has sent goes out, and nobody has to send it again.
func TestADraftThatWaitedForItsAccountIsSentOnceThatIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(x *testService, id string) error
		wants     office.DraftState
	}{
		"nothing":                  {func(*testService, string) error { return nil }, office.DraftSent},
		"a fortnight":              {func(x *testService, _ string) error { x.passed.Store(int64(14 * 24 * time.Hour)); return nil }, office.DraftHeld},
		"cancelled":                {func(x *testService, id string) error { _, err := x.Stop(id); return err }, office.DraftHeld},
		"discarded":                {func(x *testService, id string) error { return x.Resolve(id, false, 0) }, office.DraftCancelled},
		"discarded, can be undone": {func(x *testService, id string) error { return x.Resolve(id, false, 10*time.Second) }, office.DraftHeld},
		"the state was restored": {func(x *testService, _ string) error {
			return x.Data.Update(func(tx *store.Tx) error { Doubt(tx, x.Now()); return nil })
		}, office.DraftHeld},
	} {
		who := "ana"
		r := newServiceOf(t, &who)
		id := must(r.Hold(r.newPackage(t)))
		noErr(t, r.Resolve(id, true, 0))
		for _, who = range []string{"max", ""} {
			must(r.sendDue(t.Context()))
		}
		noErr(t, c.meanwhile(r, id))
		who = "ana"
		must(r.sendDue(t.Context()))
		d, _, err := r.Data.Draft(id)
		noErr(t, err)
		expect(t, d.State, c.wants, name+": it is %s")
		expect(t, r.service.added(), map[bool]int{true: 1}[c.wants == office.DraftSent], name+": added %d times")
	}
}

// What an event or a list brings is followed all the same: an error would have it dropped.
func TestAPackageWhoseDraftCannotBeReadIsFollowedAsOneMadeElsewhere(t *testing.T) {
	r := New(looptest.Base(t, func() {}), Deps{})
	noErr(t, r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "draft", Name: "Lease", State: office.DraftUnknown})
	}))
	claim := func() (p office.Package) {
		t.Helper()
		err := r.Data.Update(func(tx *store.Tx) error {
			p = office.Package{ID: "p", Origin: office.MadeElsewhere}
			r.Claim(tx, &p, json.RawMessage(`{"countersign":"draft"}`))
			return tx.PutPackage(p)
		})
		if err != nil {
			t.Error(err)
		}
		return p
	}
	looptest.Spoil(t, &r.Base, "Lease", "drafts")
	if p := claim(); p.Origin != office.MadeElsewhere || p.DraftID != "" {
		t.Errorf("without its draft: %+v", p)
	}
}

// What a package carries outlives what is kept here: after a restore it tells which packages are our own, and where they came from.
func TestAPackageOfALostDraftIsOursWhenThisInstallationHasSentIt(t *testing.T) {
	r := newService(t, refuse)
	d := office.Draft{ID: "draft", Folder: "folder", Home: office.Home{Service: "one"}, ExternalData: json.RawMessage(`{"reference":"7"}`)}
	ours := newPackage(d, r.sourceOf(d)).ExternalData
	asText, _ := json.Marshal(string(ours))
	byHand := withCorrelation(nil, source{"by hand", office.TagAt("one", "here"), ""}.String())
	for name, c := range map[string]struct {
		data json.RawMessage
		want office.Package
	}{
		"ours": {ours,
			office.Package{Origin: office.MadeHere, Source: office.Source{DraftID: "draft", Folder: office.TagAt("one", "folder")}}},
		"ours, as a text": {asText,
			office.Package{Origin: office.MadeHere, Source: office.Source{DraftID: "draft", Folder: office.TagAt("one", "folder")}}},
		"ours, sent by a person":      {byHand, office.Package{Origin: office.MadeHere, Source: office.Source{DraftID: "by hand"}}},
		"ours, of which there is one": {withCorrelation(nil, "twice/"+office.TagAt("one", "here")), office.Package{Origin: office.MadeElsewhere}},
		"ours, at another service":    {withCorrelation(nil, "draft/"+office.TagAt("other", "here")), office.Package{Origin: office.MadeElsewhere}},
		"another computer's":          {withCorrelation(nil, "draft/there/folder"), office.Package{Origin: office.MadeElsewhere}},
		"nobody's":                    {json.RawMessage(`{"reference":"7"}`), office.Package{Origin: office.MadeElsewhere}},
	} {
		p := office.Package{ID: "p", Origin: office.MadeElsewhere, Home: office.Home{Service: "one"}}
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			tx.PutPackage(office.Package{ID: "other", Source: office.Source{DraftID: "twice"}})
			r.Claim(tx, &p, c.data)
			return nil
		}))
		if c.want.ID = "p"; p.Origin != c.want.Origin || p.DraftID != c.want.DraftID || p.Folder != c.want.Folder {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Its first event may come before the answer that tells its id, and write that in capitals.
func TestAPackageThatAnEventMadeKnownInCapitalsIsTheOneThatWasAdded(t *testing.T) {
	const id, capitals = "5b1e0000-0000-4000-8000-00000000000a", "5B1E0000-0000-4000-8000-00000000000A"
	for want, refused := range map[string]time.Time{capitals: {}, id: time.Now()} { // by that name the service does not know it
		r := newService(t, refuse)
		d := office.Draft{ID: "draft", Name: "Lease", State: office.DraftAdding}
		err := r.Data.Update(func(tx *store.Tx) error {
			p := office.Package{ID: capitals, Origin: office.MadeElsewhere, State: office.PackageOpen, Saving: office.Saving{Refused: refused}}
			return errors.Join(tx.PutDraft(d), tx.PutPackage(p))
		})
		noErr(t, err)
		noErr(t, r.accepted(d, esign.Added{PackageID: id}))
		if now, _, err := r.Data.Draft("draft"); err != nil || now.PackageID != want {
			t.Errorf("the draft became %+v, %v", now, err)
		}
	}
}

func TestADocumentOfAFolderIsNotRefusedForTheShareThatItLiesOn(t *testing.T) {
	r := newService(t, accept)
	for _, moment := range []error{archive.ErrUnread, archive.ErrChanged, archive.ErrFull, errors.New("what else the system says")} {
		if err := r.copyError(office.DraftFile{Name: "Lease.pdf"}, moment); !Passes(err) {
			t.Errorf("%v: it is refused, for %v", moment, err)
		}
	}
}

func turnAway(w http.ResponseWriter) {
	w.WriteHeader(http.StatusTooManyRequests)
	io.WriteString(w, `{"error":"too_many_requests","message":"Later."}`)
}

func (x *testService) draftState(id string) (office.SendState, error) {
	d, _, err := x.Data.Draft(id)
	return sendState(d), err
}

// The state may be an old copy that somebody has put back, and what waits in it a package by now.
func TestWhatWaitedBeforeTheStartWaitsForTheList(t *testing.T) {
	x := newService(t, accept)
	x.end()
	x.unlisted.Store(true)
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "before", Name: "Lease", Signers: []office.Signer{{Email: "ana@example.com"}}, Template: &office.Template{ID: "t"}})
	}))
	x.end = looptest.Run(t, x.Run)
	eventually(t, "it knows what waits", func() bool { return x.looked.Load() > 0 })
	state, err := x.Send(t.Context(), x.newPackage(t), nil)
	if before, err2 := x.draftState("before"); err != nil || err2 != nil || state.State != office.DraftSent || before.State != office.DraftQueued || x.service.added() != 1 {
		t.Errorf("the one of now: %+v, %v; the one of before: %+v, %v; %d packages", state, err, before, err2, x.service.added())
	}
	x.unlisted.Store(false)
	x.Wake()
	x.settled(t)
	expect(t, x.service.added(), 2, "%d packages")
}

// restored has the service sent packages of which the state that was restored knows nothing.
func (x *testService) restored(t *testing.T, sent ...office.Package) {
	t.Helper()
	x.end()
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		data.MarkRestored(tx, x.Now())
		home, _ := tx.Service()
		for _, p := range sent {
			x.Claim(tx, &p, withCorrelation(nil, source{"of " + p.ID, office.TagAt(home, "here"), ""}.String()))
			tx.PutPackage(p)
		}
		return nil
	}))
	x.end = looptest.Run(t, x.Run)
}

func TestOnePackageThatTheServiceDoesNotTellOfHoldsUpOthersForAnHourAtMost(t *testing.T) {
	x := newService(t, accept)
	x.restored(t, office.Package{ID: "lost"}, office.Package{ID: "lost lease", Name: "Lease"})
	send := func(name string) string {
		d := x.newPackage(t)
		d.Name, d.Patience = name, time.Millisecond
		state, err := x.Send(t.Context(), d, nil)
		if now := must(x.draftState(state.DraftID)); err == nil || now.State != office.DraftQueued || now.Problem != message.DraftOfBeforeWaits() {
			t.Errorf("%s: %+v, %v", name, now, err)
		}
		return state.DraftID
	}
	lease, offer, other := send("Lease"), send("Offer"), send("Other")
	x.passed.Store(int64(office.WithheldAfter))
	x.Wake()
	eventually(t, "what is neither is sent", func() bool { return must(x.draftState(other)).State == office.DraftSent })
	for _, id := range []string{lease, offer} { // the one by its name, the first other one because it may be what has none
		if now := must(x.draftState(id)); now.State != office.DraftUnknown || now.Problem != message.DraftOfBefore() {
			t.Errorf("what may have been sent: %+v", now)
		}
	}
}

// What the service tells of a package later is compared, though another draft has waited for a person meanwhile.
func TestAPackageToldLateStillMakesItsSecondSendingWait(t *testing.T) {
	for name, known := range map[string]office.Package{"without a name": {ID: "lost"}, "without signers": {ID: "lost", Name: "Mandate"}} {
		x := newService(t, accept)
		x.restored(t, known)
		x.passed.Store(int64(office.WithheldAfter) + 1)
		send := func(name string, to office.Signer) office.DraftState {
			d := x.newPackage(t)
			d.Name, d.Signers = name, []office.Signer{to}
			return must(x.Send(t.Context(), d, nil)).State
		}
		ana, ben := office.Signer{FirstName: "Ana", Email: "ana@example.com"}, office.Signer{FirstName: "Ben", Email: "ben@example.com"}
		expect(t, send(cmp.Or(known.Name, "Offer"), ben), office.DraftUnknown, "%[2]s: what may be it is %[1]v", name)
		expect(t, send(cmp.Or(known.Name, "Offer"), ben), office.DraftSent, "%[2]s: the next one is %[1]v", name)
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			p, _, err := tx.Package("lost")
			p.Name, p.Checked, p.Signers = "Mandate", x.Now(), []office.Signer{ana}
			tx.PutPackage(p)
			return err
		}))
		expect(t, send("Mandate", ana), office.DraftUnknown, "%[2]s: the second sending is %[1]v", name)
		expect(t, send("Mandate", ana), office.DraftSent, "%[2]s: the third, which a person wants, is %[1]v", name)
	}
}

func TestWhatWasSentBeforeTheRestoringIsForgottenOnceTheRestoringIsLongAgo(t *testing.T) {
	x := newService(t, accept)
	d := x.newPackage(t)
	x.restored(t, office.Package{ID: "lost", Name: d.Name, Signers: d.Signers})
	x.passed.Store(int64(40 * 24 * time.Hour))
	noErr(t, x.ForgetCopies())
	x.passed.Store(0)
	first := d
	expect(t, must(x.Send(t.Context(), first, nil)).State, office.DraftUnknown, "after the clock was ahead for a moment the same is %v")
	x.restored(t, office.Package{ID: "lost too", Name: d.Name, Signers: d.Signers})
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		for day := range restoredLately + 1 {
			tx.CountDay(x.Now().AddDate(0, 0, day))
		}
		return nil
	}))
	noErr(t, x.ForgetCopies())
	expect(t, must(x.Send(t.Context(), d, nil)).State, office.DraftSent, "a month later the same is %v")
}

// Of packages, names are kept as they are shown.
func TestWhatWasSentBeforeTheRestoringIsKnownByAnyName(t *testing.T) {
	for _, name := range []string{"Offer  2026", "Offer\u00a02026", "Of\u00adfer", strings.Repeat("A long name of a lease ", 10)} {
		x := newService(t, accept)
		d := x.newPackage(t)
		d.Name = name
		x.restored(t, office.Package{ID: "lost", Name: name, Signers: d.Signers})
		if state, err := x.Send(t.Context(), d, nil); err != nil || state.State != office.DraftUnknown {
			t.Errorf("%q: %+v, %v", name, state, err)
		}
	}
}

// Whoever shows how far the files are is told when nothing is on its way any more.
func TestAnUploadThatFailedIsNotSaidToBeOnItsWay(t *testing.T) {
	r := newService(t, accept)
	r.service.answer(accept, func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var told []office.SendState
	var running sync.WaitGroup
	running.Go(func() {
		r.Send(ctx, r.newPackage(t), func(s office.SendState) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, s)
		})
	})
	eventually(t, "it is told that nothing is on its way, and why", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(told, func(s office.SendState) bool {
			return s.State == office.DraftQueued && s.Sent == 0 && s.Total > 0 && !s.Problem.IsZero()
		})
	})
	stop()
	running.Wait()
}

// That a package was sent of which nobody knew for a while stands in the diary once, as of any other.
func TestThatALostPackageWasSentStandsInTheDiary(t *testing.T) {
	r := newService(t, loseAnswer)
	state := must(r.Send(t.Context(), r.newPackage(t), nil))
	eventually(t, "it is found", func() bool {
		d, _, err := r.Data.Draft(state.DraftID)
		return err == nil && d.State == office.DraftSent
	})
	r.end()
	var lines []office.Activity
	noErr(t, r.Data.Store.View(func(tx *store.Tx) (err error) {
		lines, _, err = tx.Activities("", 100)
		return err
	}))
	lines = slices.DeleteFunc(lines, func(a office.Activity) bool { return a.Kind != "sent" || a.PackageID != "p1" })
	if len(lines) != 1 {
		t.Errorf("the diary says %+v", lines)
	}
}
