package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// canned is a service without a network, so that hours pass in a moment. It knows nothing, or answers nothing.
type canned struct {
	asked atomic.Int64
	dead  atomic.Bool
	say   func(path string) string // what is answered instead; "" for what always is. Nil for none
	paths sync.Map                 // path -> how often it was asked for
}

// count is how often a path that ends so was asked for.
func (c *canned) count(end string) (n int64) {
	c.paths.Range(func(path, times any) bool {
		if strings.HasSuffix(path.(string), end) {
			n += times.(*atomic.Int64).Load()
		}
		return true
	})
	return n
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	times, _ := c.paths.LoadOrStore(r.URL.Path, &atomic.Int64{})
	times.(*atomic.Int64).Add(1)
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if c.dead.Load() {
		return nil, errors.New("nobody answers")
	}
	status, body := http.StatusOK, `{"items":[],"total":0}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/connect/token"):
		body = `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`
	case strings.HasSuffix(r.URL.Path, "/status"):
		id := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")[2]
		body = fmt.Sprintf(`{"packageId":%q,"state":"open","documents":[]}`, id)
	case strings.HasPrefix(r.URL.Path, "/.well-known"):
		status, body = http.StatusNotFound, "{}"
	}
	if c.say != nil {
		if said := c.say(r.URL.Path); said != "" {
			status, body = http.StatusOK, said
		}
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// quietOffice starts a signed-in agent without a network, inside a bubble.
func quietOffice(t *testing.T, packages int, adjust ...func(*Params)) (*Agent, *canned, func()) {
	t.Helper()
	c := &canned{}
	p := Params{
		DataDir: t.TempDir(), Keeper: secret.Memory(), HTTP: &http.Client{Transport: c}, Jitter: func() float64 { return 0 },
	}
	for _, f := range adjust {
		f(&p)
	}
	a, err := Open(t.Context(), p)
	noErr(t, err)
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.test", "https://sign.test", "office"
	s.Tunnel, s.Redirect, s.RedirectURI, s.SaveTo = office.TunnelNone, office.RedirectPaste, "https://localhost/oauth/callback", t.TempDir()
	acc := account.Record{SignedIn: true, Since: time.Now(), Scopes: []string{"organization"}}
	err = a.account.Vault().Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(s)): []byte("r")}, func(tx *store.Tx) error {
		for i := range packages {
			p := office.Package{ID: fmt.Sprintf("p%d", i), Origin: office.MadeHere, Created: time.Now(), NextCheck: time.Now()}
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		return tx.PutDoc(account.DocOf(issuer.Of(s)), acc)
	})
	if err == nil {
		err = a.Configure(t.Context(), s, office.Secrets{ClientSecret: "secret"})
	}
	noErr(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	return a, c, func() {
		cancel()
		running.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnIdleOfficeWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(2 * time.Minute)
		files := []string{locations.State(a.p.DataDir), locations.Backup(a.p.DataDir)}
		before, asked := written(t, files), c.asked.Load()
		const hours = 3
		time.Sleep(hours * time.Hour)
		if after := written(t, files); after != before {
			t.Errorf("written in three idle hours:\n%s\n%s", before, after)
		}
		// Without events the list alone tells of packages made elsewhere; an access token lasts for half an hour.
		if n, most := c.asked.Load()-asked, int64(hours*(3+2)); n > most {
			t.Errorf("%d requests in three idle hours, more than %d", n, most)
		}
	})
}

// written is when each file was last written, and how large it is.
func written(t *testing.T, files []string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		noErr(t, err)
		fmt.Fprintln(&b, f, info.ModTime(), info.Size())
	}
	return b.String()
}

func TestADeadServiceIsAskedRarelyAndAtOnceWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 300)
		defer stop()
		time.Sleep(2 * time.Minute)
		if n := c.asked.Load(); n < 300 || n > 1500 {
			t.Errorf("%d requests at the beginning", n)
		}
		c.dead.Store(true)
		a.packages.Sweep("test")
		time.Sleep(5 * time.Minute)
		before := c.asked.Load()
		time.Sleep(time.Hour)
		if n := c.asked.Load() - before; n < 10 || n > 500 {
			t.Errorf("%d requests in an hour of silence", n)
		}
		if !a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
		c.dead.Store(false)
		time.Sleep(3 * time.Minute)
		if a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
		var late int
		err := a.Data.Store.View(func(tx *store.Tx) error {
			return tx.Packages(func(p office.Package) bool {
				if time.Since(p.Checked) > 3*time.Minute {
					late++
				}
				return true
			})
		})
		if err != nil || late > 0 {
			t.Errorf("%d packages were not asked about since, %v", late, err)
		}
	})
}

func TestAServiceThatGivesItsListAgainIsNotReportedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0) // nothing is asked for but the list
		defer stop()
		time.Sleep(2 * time.Minute)
		c.dead.Store(true)
		time.Sleep(time.Hour)
		if !a.Health.Has(health.ServiceFails) {
			t.Fatalf("health: %+v", a.Health.List())
		}
		c.dead.Store(false)
		time.Sleep(3 * time.Hour)
		if a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
	})
}

// failForAPerson has the service fail while a person asks for something, and then no more.
func failForAPerson(t *testing.T, a *Agent, c *canned) {
	t.Helper()
	c.dead.Store(true)
	if _, err := a.Templates(t.Context(), ""); err == nil || !a.Health.Has(health.ServiceFails) {
		t.Fatalf("%v, health: %+v", err, a.Health.List())
	}
	c.dead.Store(false)
}

func TestAServiceThatFailedForAPersonOnceIsSoonAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(2 * time.Minute)
		failForAPerson(t, a, c)
		time.Sleep(2 * time.Minute)
		if a.Health.Has(health.ServiceFails) {
			t.Errorf("health: %+v", a.Health.List())
		}
	})
}

// listless is a service that gives this account no list.
type listless struct{ *canned }

func (l listless) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.canned.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/packages/list") {
		const body = `{"error":"package_not_authorized","message":"No."}`
		answer.StatusCode, answer.ContentLength, answer.Body = http.StatusForbidden, int64(len(body)), io.NopCloser(strings.NewReader(body))
	}
	return answer, err
}

// That it refuses the list, the one thing that it is asked for, is an answer.
func TestAServiceWithoutAListThatFailedForAPersonOnceIsNotReportedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0, func(p *Params) { p.HTTP.Transport = listless{p.HTTP.Transport.(*canned)} })
		defer stop()
		time.Sleep(2 * time.Minute)
		asked := c.count("/packages/list")
		for range 2 {
			failForAPerson(t, a, c)
			time.Sleep(25 * time.Minute)
			if a.Health.Has(health.ServiceFails) {
				t.Errorf("health: %+v", a.Health.List())
			}
		}
		if n := c.count("/packages/list") - asked; n > 4 {
			t.Errorf("it was asked for its list %d times", n)
		}
	})
}

// Its list answers well, and says nothing of why packages cannot be asked about.
func TestAServiceThatSaysNothingOfPackagesIsNotAskedForItsListAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 20, func(p *Params) {
			p.HTTP.Transport.(*canned).say = func(path string) string {
				if strings.HasSuffix(path, "/status") {
					return "nonsense"
				}
				return ""
			}
		})
		defer stop()
		time.Sleep(10 * time.Minute)
		if !a.Health.Has(health.ServiceFails) {
			t.Fatalf("health: %+v", a.Health.List())
		}
		before := c.count("/packages/list")
		time.Sleep(time.Hour)
		if asked := c.count("/packages/list") - before; asked > 20 {
			t.Errorf("it was asked for its list %d times in an hour", asked)
		}
	})
}

func TestALoopThatFailsRestsLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var starts int
		a.Supervise(ctx, loop.Loop{Name: "test", Run: func(context.Context) error {
			starts++
			if starts%2 == 0 {
				panic("a bug")
			}
			return errors.New("a failure")
		}})
		if starts < 50 || starts > 80 {
			t.Errorf("%d starts in an hour", starts)
		}
		if !a.Health.Has(health.Stopped("test")) {
			t.Error("nobody was told")
		}
	})
}

func TestALoopThatIsWellAgainIsNotReportedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		failed := false
		a.Supervise(ctx, loop.Loop{Name: "test", Run: func(ctx context.Context) error {
			if !failed {
				failed = true
				return errors.New("a failure")
			}
			<-ctx.Done()
			return nil
		}})
		if a.Health.Has(health.Stopped("test")) {
			t.Error("still reported")
		}
	})
}
