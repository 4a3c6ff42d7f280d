package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

func TestOneFolderInTroubleLeavesTheOthersAlone(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.BesideOriginal = true })
	d := o.draft()
	state, err := o.Send(t.Context(), d, nil)
	noErr(t, err)
	beside := filepath.Dir(d.Files[0])
	o.service.Inject(sandbox.Fault{Path: "/packages/*/download", Status: 500, Times: 2})
	signAll(o, state.PackageID)
	o.eventually("its file is planned", func() bool { row, _ := o.Package(state.PackageID); return row.Planned })
	// On Windows a folder in use, if only for a try, cannot be moved.
	o.eventually("the folder is moved", func() bool { return os.Rename(beside, beside+"-away") == nil })
	o.eventually("people are told", func() bool { return o.issue("folder") != nil })
	foreign := o.foreign("Elsewhere")
	signAll(o, foreign)
	o.eventually("the other one is saved", func() bool { row, _ := o.Package(foreign); return row.Saved })
	noErr(t, os.Rename(beside+"-away", beside))
	o.eventually("and so is this", func() bool { return o.Status().Packages.Saved == 2 && o.issue("folder") == nil })
}

func TestADocumentIsRecognisedUnderANameThatAnotherOneHasReserved(t *testing.T) {
	const first, twin, second = "Offer - Offer 2026-118.pdf", "OFFER - Offer 2026-118 (2).pdf", "Offer - Offer 2026-118 (3).pdf"
	for name, reserve := range map[string]func(a, b *office.Job){ // how the two are planned anew after a loss
		"crosswise": func(a, b *office.Job) { a.Target, b.Target = second, first },
		"crosswise, with other bytes promised": func(a, b *office.Job) {
			a.Target, b.Target = second, first
			b.Size, b.Digest = 1, strings.Repeat("0", 64)
		},
		"a name that a Mac takes for taken": func(a, b *office.Job) { a.Target, b.Target = "Offer - Offer 2026-118 (2).pdf", first },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			noErr(t, os.WriteFile(filepath.Join(o.folder, twin), []byte("the office's own"), 0o600))
			var ids []string
			for n, file := range []string{first, second} {
				ids = append(ids, o.send())
				signAll(o, ids[n])
				o.eventually("saved", func() bool { return slices.Contains(o.files(), file) && o.Status().Packages.Saved == n+1 })
			}
			a, b := o.job(ids[0]), o.job(ids[1])
			o.stop()
			o.open()
			noErr(t, o.Data.Update(func(tx *store.Tx) error {
				before := []office.Job{a, b}
				for _, j := range []*office.Job{&a, &b} {
					j.State, j.NextTry, j.Size, j.Digest = office.JobPending, time.Now(), 0, ""
				}
				reserve(&a, &b)
				for i, j := range []*office.Job{&a, &b} { // no name is reserved twice, not even for a moment
					before[i].Target = "away " + j.PackageID
					if err := tx.PutJob(before[i]); err != nil {
						return err
					}
				}
				for _, j := range []office.Job{a, b} {
					p, _, err := tx.Package(j.PackageID)
					if err != nil {
						return err
					}
					p.Saved = false
					if err := errors.Join(tx.PutJob(j), tx.PutPackage(p)); err != nil {
						return err
					}
				}
				return nil
			}))
			o.run()
			o.eventually("both are found again", func() bool { return o.Status().Packages.Saved == 2 })
			if got := o.files(); len(got) != 3 {
				t.Errorf("files: %q", got)
			}
			if a, b := o.job(ids[0]), o.job(ids[1]); a.Target != first || b.Target != second {
				t.Errorf("%q and %q", a.Target, b.Target)
			}
		})
	}
}

// job is the one file of a package.
func (o *testOffice) job(packageID string) office.Job {
	o.t.Helper()
	var jobs []office.Job
	err := o.Data.Store.View(func(tx *store.Tx) (err error) {
		jobs, err = tx.JobsOf(packageID)
		return err
	})
	if err != nil || len(jobs) != 1 {
		o.t.Fatalf("jobs: %+v, %v", jobs, err)
	}
	return jobs[0]
}

// loseState ends the agent, damages its data file and starts another agent.
func (o *testOffice) loseState() {
	o.t.Helper()
	o.stop()
	noErr(o.t, os.Truncate(locations.State(o.data), 5000))
	o.open()
	o.run()
}

func TestLeftoversOfAFormerFolderAreRemovedWithTheNextStart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	old := o.folder
	o.service.Inject(sandbox.Fault{Path: "/packages/*/download", Status: 500})
	signAll(o, id)
	o.eventually("it is planned", func() bool { row, _ := o.Package(id); return row.Planned })
	left := o.leftover(old)
	s := o.Settings()
	s.SaveTo = t.TempDir()
	noErr(t, o.Configure(t.Context(), s, office.Secrets{}))
	o.restart()
	o.eventually("it is gone", func() bool { _, err := os.Stat(left); return os.IsNotExist(err) })
}

// leftover leaves a temporary file of the one job in the folder, as a crash would.
func (o *testOffice) leftover(folder string) (path string) {
	o.t.Helper()
	var jobs []office.Job
	err := o.Data.Store.View(func(tx *store.Tx) (err error) {
		jobs, err = tx.PendingJobs()
		return err
	})
	if err != nil || len(jobs) != 1 {
		o.t.Fatalf("jobs: %+v, %v", jobs, err)
	}
	path = filepath.Join(folder, ".countersign-"+archive.Token(o.installation+"/"+jobs[0].Key())+"-0123456789abcdef.part")
	noErr(o.t, os.WriteFile(path, []byte("half a document"), 0o600))
	return path
}

// downloads counts what was asked of the service. It notes a request after it has answered it.
func (o *testOffice) downloads() int {
	return calls(o.service, "GET /packages/{packageId}/documents/{documentId}/pdf/executed/download")
}

// What breaks connections at one place does so again a moment later.
func TestTwoTriesWithoutALengthConfirmEachOtherOnlyWhenTheyLieApart(t *testing.T) {
	o, clock := sleepy(t, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", EndAfter: 2000, Framing: sandbox.FramingClose})
	signAll(o, id)
	var j office.Job
	waits := func() bool {
		err := o.Data.Store.View(func(tx *store.Tx) error {
			jobs, err := tx.JobsOf(id)
			if len(jobs) == 1 {
				j = jobs[0]
			}
			return err
		})
		return err == nil && j.Tries >= 2
	}
	o.eventually("it came twice", waits)
	if wait := j.NextTry.Sub(j.UnprovenAt); wait < time.Minute || len(o.files()) != 0 || o.downloads() != 2 {
		t.Errorf("tried again after %v, %d downloads, files %q", wait, o.downloads(), o.files())
	}
	clock.jump(2 * time.Minute)
	o.restart()
	o.eventually("saved, of the third download", func() bool { return saved(o, id) && o.downloads() == 3 })
	if o.toldInActivity("open it and check that it is complete") != 1 {
		t.Errorf("nobody is told: %+v", o.Activity(20))
	}
}

// errUnchanged stands for an error where there is none to return.
var errUnchanged = errors.New("nothing changed")

func TestMemoryNeverLeadsTheCommit(t *testing.T) {
	tests := map[string]func(o *testOffice) error{
		"sign-out": func(o *testOffice) error { return o.SignOut(o.t.Context()) },
		"settings": func(o *testOffice) error {
			s := o.Settings()
			s.SaveTo, s.ClientID, s.Scopes = o.t.TempDir(), "another", []string{"profile"}
			return o.Configure(o.t.Context(), s, office.Secrets{ClientSecret: "another"})
		},
		"sign-in": func(o *testOffice) error {
			return o.SignIn(o.t.Context(), SignInOptions{Prompt: "login"}, visit)
		},
		"endpoint": func(o *testOffice) error {
			return o.webhook.Register(o.t.Context(), true)
		},
		"snooze": func(o *testOffice) error {
			o.Snooze(time.Now().Add(time.Hour))
			return errUnchanged // it has no error to return
		},
		"lapse": func(o *testOffice) error {
			if err := o.service.ExpireAccessTokens(); err != nil {
				return err
			}
			if err := o.service.RevokeRefreshTokens(); err != nil {
				return err
			}
			o.status(o.t.Context(), "p") // by which the program notices
			o.eventually("the lapse is said", func() bool { return o.Health.Has(health.SignInLapsed) })
			return errUnchanged
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			noErr(t, o.Data.Store.Close()) // nothing can be committed from here on
			was, snoozed := o.account.Current(), o.Snoozed()
			endpoint, _, _ := o.webhook.Endpoint()
			if err := do(o); err == nil {
				t.Error("it went well without a commit")
			}
			same := func(when string) {
				is := o.account.Current()
				if !reflect.DeepEqual(is.Settings, was.Settings) || !reflect.DeepEqual(is.Account, was.Account) {
					t.Errorf("%s: %+v %+v, was %+v %+v", when, is.Settings, is.Account, was.Settings, was.Account)
				}
				if id, _, _ := o.webhook.Endpoint(); id != endpoint {
					t.Errorf("%s: the endpoint is %q", when, id)
				}
				if !o.Snoozed().Equal(snoozed) {
					t.Errorf("%s: snoozed until %v", when, o.Snoozed())
				}
			}
			same("in memory")
			is := o.account.Current()
			client, _ := o.account.OnlineIn(is)
			if before, _ := o.account.OnlineIn(was); client != before {
				t.Error("another service is in use")
			}
			o.stop()
			o.open()
			same("after a restart")
		})
	}
}

// exchanges is an HTTP client that notes the refresh tokens that were given out, by grant_type, and those that were spent.
type exchanges struct {
	http.Transport
	mu    sync.Mutex
	given map[string][]string
	spent []string
}

func (x *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/connect/token" {
		return x.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	res, err := x.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	var said struct {
		Refresh string `json:"refresh_token"`
	}
	json.Unmarshal(answer, &said)
	x.mu.Lock()
	defer x.mu.Unlock()
	kind := form.Get("grant_type")
	x.given[kind] = append(x.given[kind], said.Refresh)
	if token := form.Get("refresh_token"); token != "" {
		x.spent = append(x.spent, token)
	}
	return res, nil
}

func TestSigningInAgainWhileTheOldSignInIsRenewedKeepsTheNewToken(t *testing.T) {
	for _, point := range []string{"renewed", "renewal kept"} {
		t.Run(point, func(t *testing.T) {
			x := &exchanges{given: map[string][]string{}}
			t.Cleanup(x.CloseIdleConnections)
			reached, release := make(chan struct{}), make(chan struct{})
			var armed sync.Mutex
			arm := false
			o := newOfficeWith(t, func(p *Params) {
				quick(p)
				p.HTTP = &http.Client{Transport: x}
				p.Crash = func(here string) {
					armed.Lock()
					hold := arm && here == point
					arm = arm && !hold
					armed.Unlock()
					if hold {
						close(reached)
						<-release
					}
				}
			}, sandbox.Options{})
			armed.Lock()
			arm = true
			armed.Unlock()
			noErr(t, o.service.ExpireAccessTokens())
			client, _ := o.account.Online()
			go client.List(t.Context(), esign.ListQuery{})
			<-reached
			signedIn := make(chan error, 1)
			go func() { signedIn <- o.SignIn(t.Context(), SignInOptions{Prompt: "login"}, visit) }()
			o.eventually("the code is exchanged", func() bool {
				x.mu.Lock()
				defer x.mu.Unlock()
				return len(x.given["authorization_code"]) == 2
			})
			close(release)
			noErr(t, <-signedIn)
			kept, err := o.account.Vault().Get(issuer.Refresh.Of(issuer.Of(o.Settings())))
			if err != nil || string(kept) != x.given["authorization_code"][1] {
				t.Errorf("another token than the new one is kept (%v)", err)
			}
			o.restart()
			o.eventually("the sign-in goes on", func() bool {
				client, online := o.account.Online()
				if !online {
					return false
				}
				_, err := client.List(t.Context(), esign.ListQuery{})
				return err == nil
			})
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.spent) != 2 || x.spent[1] != x.given["authorization_code"][1] {
				t.Errorf("%d tokens were spent, and the last is not the new one", len(x.spent))
			}
		})
	}
}

func TestASignInDoesNotOutliveTheSettingsItBeganWith(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	err := o.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		s := o.Settings()
		s.ClientID = "another"
		if err := o.Configure(t.Context(), s, office.Secrets{ClientSecret: "another"}); err != nil {
			return err
		}
		return visit(address)
	})
	if Message(err) != message.SettingsChanged() {
		t.Errorf("signed in: %v", err)
	}
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}
