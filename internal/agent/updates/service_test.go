package updates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
	"countersign/internal/update"

	"aead.dev/minisign"
	"go.uber.org/goleak"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Service, and the place where its releases are announced.
type world struct {
	*Service
	t        *testing.T
	key      minisign.PrivateKey
	public   string
	manifest update.Manifest
	file     string
	down     bool
	asked    int
	on       bool
	busy     time.Duration // from the first look on
	looked   time.Time
	silent   bool
	told     []string
	started  []string
	noStart  error
}

func newWorld(t *testing.T, version string) *world {
	t.Helper()
	w := &world{t: t, file: strings.Repeat("setup ", 1000), on: true}
	pub, private, err := minisign.GenerateKey(nil)
	noErr(t, err)
	text, _ := pub.MarshalText()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	w.key, w.public = private, lines[len(lines)-1]
	w.release("1.2.0")
	w.restart(looptest.Base(t, func() {}), version)
	return w
}

// release announces a version, by the clock of now.
func (w *world) release(version string) {
	sum := sha256.Sum256([]byte(w.file))
	f := update.File{System: "windows", Arch: "amd64", Kind: update.Installer, Name: "setup.exe", Size: int64(len(w.file)), SHA256: hex.EncodeToString(sum[:])}
	w.manifest = update.Manifest{Product: update.Product, Version: version, Signed: time.Now(), Expires: time.Now().Add(90 * 24 * time.Hour), Files: []update.File{f}}
}

// restart makes the Service anew on the same store, as a new start of a program of that version does.
func (w *world) restart(tools loop.Base, version string) {
	w.t.Helper()
	client, err := update.New(update.Source{Address: "https://example.com/countersign.json", Keys: []string{w.public}}, &http.Client{Transport: w})
	noErr(w.t, err)
	folder := filepath.Join(filepath.Dir(tools.Data.Store.Path()), "update")
	w.Service, err = New(tools, Deps{
		Client: client, Keys: []string{w.public}, Version: version, Kind: update.Installer, System: "windows", Arch: "amd64", Folder: folder,
		Settings: func() office.Settings { return office.Settings{CheckUpdates: w.on} },
		Silent:   func() bool { return w.silent }, Busy: w.isBusy,
		News: func(tx *store.Tx, version string, _ message.Message, tell bool) []office.Fact {
			if first, _ := tx.Once("update/" + version); !first || !tell {
				return nil
			}
			return []office.Fact{{Key: version}}
		},
		Announce: func(facts ...office.Fact) {
			for _, f := range facts {
				w.told = append(w.told, f.Key)
			}
		},
		Start: func(installer *os.File) error {
			b, err := os.ReadFile(installer.Name())
			w.started = append(w.started, string(b))
			return errors.Join(err, w.noStart)
		},
	})
	noErr(w.t, err)
}

func (w *world) isBusy() bool {
	if w.looked.IsZero() {
		w.looked = time.Now()
	}
	return time.Since(w.looked) < w.busy
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.down {
		return nil, errors.New("no network")
	}
	text, _ := json.Marshal(w.manifest)
	var body string
	switch r.URL.Path {
	case "/countersign.json":
		w.asked++
		body = string(text)
	case "/countersign.json.minisig":
		body = string(minisign.Sign(w.key, text))
	case "/setup.exe":
		body = w.file
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// pass lets it work for d.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), d)
	defer stop()
	if err := w.Run(ctx); err != nil {
		w.t.Error(err)
	}
}

const day = 24 * time.Hour

func TestNobodyIsAskedUnlessTheOfficeWantsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		shown := 0
		w.Signal = func(office.Change) { shown++ }
		w.on = false
		w.pass(10 * day)
		if w.asked != 0 || len(w.told) != 0 {
			t.Errorf("asked %d times", w.asked)
		}
		if err := w.Check(t.Context()); err != nil || w.asked != 1 || !w.State().Newer || shown == 0 {
			t.Errorf("a person who asks is answered: %v, %+v", err, w.State())
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := w.Check(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait for it: %v", err)
		}
	})
}

func TestItAsksOnceADayAndTellsOnceAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0 (0a1b2c3d4e5f)")
		w.pass(10*day - time.Hour)
		expect(t, w.asked, 10, "asked %d times in ten days")
		w.restart(w.Base, "1.0.0")
		w.pass(time.Hour)
		if w.asked > 11 {
			t.Errorf("a start asks again")
		}
		w.release("1.3.0-rc.1")
		w.pass(2 * day)
		if !slices.Equal(w.told, []string{"1.2.0", "1.3.0-rc.1"}) {
			t.Errorf("told %q", w.told)
		}
		w.release("1.3.0")
		noErr(t, w.Check(t.Context()))
		w.pass(2 * day)
		if len(w.told) != 2 {
			t.Errorf("who has asked was told all the same: %q", w.told)
		}
		if s := w.State(); s.Newest != "1.3.0" || !s.Newer || !s.OneClick || s.File.Address != "https://example.com/setup.exe" || !s.Trouble.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

func TestQuietHoursPutOffWhatIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.silent = true
		w.pass(2 * day)
		w.silent = false
		if len(w.told) != 0 {
			t.Errorf("told %q", w.told)
		}
		w.pass(2 * day)
		if !slices.Equal(w.told, []string{"1.2.0"}) {
			t.Errorf("told %q", w.told)
		}
	})
}

func TestTheNewestVersionKnownNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		old := w.manifest
		w.release("1.4.0")
		noErr(t, w.Check(t.Context()))
		w.manifest = old // signed, not expired, and kept back
		w.restart(w.Base, "1.0.0")
		err := w.Check(t.Context())
		if message.For(err) != message.UpdateOlder() || w.State().Newest != "1.4.0" {
			t.Errorf("%v, %+v", err, w.State())
		}
		if _, err := w.Install(t.Context(), nil); message.For(err) != message.UpdateOlder() || len(w.started) != 0 {
			t.Errorf("installed an older one: %v", err)
		}
	})
}

func TestAnOlderReleaseIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, own := range []string{"1.2.0", "1.2.1", "2.0.0"} {
			w := newWorld(t, own)
			w.pass(day)
			if _, err := w.Install(t.Context(), nil); message.For(err) != message.UpdateNone(own) || len(w.started)+len(w.told) > 0 || w.State().Newer {
				t.Errorf("%s: %v, %+v", own, err, w.State())
			}
		}
	})
}

// Somebody who has a key can sign the highest of all versions. Once that key is no longer built in, it is forgotten.
func TestOtherKeysBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.release("99999.0.0")
		noErr(t, w.Check(t.Context()))
		tools, fresh := w.Base, newWorld(t, "1.0.0")
		fresh.restart(tools, "1.0.0")
		if err := fresh.Check(t.Context()); err != nil || fresh.State().Newest != "1.2.0" {
			t.Errorf("%v, %+v", err, fresh.State())
		}
	})
}

func TestSilenceIsSaidAfterAWhileAndQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.pass(day)
		w.down = true
		w.pass(10 * day)
		if err := w.Check(t.Context()); err == nil || message.For(err) == message.UpdateOlder() {
			t.Errorf("a place that does not answer: %v", err)
		}
		if s := w.State(); !s.Trouble.IsZero() {
			t.Errorf("too early: %v", s.Trouble)
		}
		w.pass(6 * day)
		if s := w.State(); s.Trouble.ID() != message.UpdateSilence(1).ID() || len(w.Health.List()) > 0 {
			t.Errorf("%v, %v", s.Trouble, w.Health.List())
		}
		w.down = false
		w.release("1.2.0")
		w.pass(2 * day)
		if s := w.State(); !s.Trouble.IsZero() || len(w.told) != 1 {
			t.Errorf("%v, told %q", s.Trouble, w.told)
		}
	})
}

func TestAWrongClockCostsADayAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		var wrong time.Duration
		tools := w.Base
		tools.Now = func() time.Time { return time.Now().Add(wrong) }
		w.restart(tools, "1.0.0")
		for _, wrong = range []time.Duration{20 * 365 * day, -20 * 365 * day, 0, 2 * day, 0} {
			w.pass(day)
		}
		asked := w.asked
		w.pass(day)
		if s := w.State(); w.asked == asked || !s.Newer || !s.Trouble.IsZero() || s.Checked.After(time.Now()) {
			t.Errorf("asked %d times then, %+v", w.asked-asked, s)
		}
	})
}

func TestAnInstallationWaitsForWorkAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.busy = 30 * time.Second
		var waited, got bool
		_, err := w.Install(t.Context(), func(s office.UpdateStep) {
			waited, got = waited || s.Waits, got || s.Got == s.Total && s.Total == int64(len(w.file))
		})
		if err != nil || !waited || !got || !slices.Equal(w.started, []string{w.file}) {
			t.Fatalf("%v, waited %v, got %v, started %d", err, waited, got, len(w.started))
		}
		if !w.State().Trouble.IsZero() {
			t.Error("it is only just being installed")
		}
		w.restart(w.Base, "1.2.0")
		w.pass(time.Minute)
		if _, err := os.Lstat(w.deps.Folder); !os.IsNotExist(err) || !w.State().Trouble.IsZero() || w.State().Newer {
			t.Errorf("%v, %+v", err, w.State())
		}
	})
}

func TestWorkThatDoesNotEndKeepsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.busy = time.Hour
		_, err := w.Install(t.Context(), nil)
		if _, left := os.Lstat(w.deps.Folder); message.For(err) != message.UpdateWorkGoesOn() || len(w.started) > 0 || !os.IsNotExist(left) {
			t.Errorf("%v, started %d, %v", err, len(w.started), left)
		}
	})
}

func TestAnInstallationThatDidNotComeIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		if _, err := w.Install(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.restart(w.Base, "1.0.0")
		expect(t, w.State().Trouble, message.UpdateNotInstalled("1.2.0"), "%v")
		w.pass(time.Minute)
		if _, err := os.Lstat(w.deps.Folder); !os.IsNotExist(err) {
			t.Errorf("what was downloaded for it is still there: %v", err)
		}
		w.noStart = errors.New("blocked")
		w.restart(w.Base, "1.0.0")
		if _, err := w.Install(t.Context(), nil); err == nil || !w.State().Trouble.IsZero() {
			t.Errorf("%v, %v", err, w.State().Trouble)
		}
	})
}

func TestAProgramThatIsNoReleaseAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "dev")
		began := time.Now()
		if w.pass(2 * day); time.Since(began) < 2*day {
			t.Errorf("it ends after %v, and would be started again and again", time.Since(began))
		}
		if err := w.Check(t.Context()); message.For(err) != message.UpdatesNotOffered() || w.State().Offered || w.asked > 0 {
			t.Errorf("%v, %+v, asked %d times", err, w.State(), w.asked)
		}
		if _, err := w.Install(t.Context(), nil); message.For(err) != message.UpdatesNotOffered() || w.asked > 0 {
			t.Errorf("installed: %v", err)
		}
	})
}

func TestWhatAPersonInstallsIsFetchedCheckedAndNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.manifest.Page = "https://example.com/get"
		page, download := message.UpdateFromPage(w.manifest.Page), message.UpdateDownload()
		whole := w.manifest.Files[0]
		for _, kind := range []string{update.Deb, update.RPM, update.Tar, update.Server} {
			f := whole
			f.System, f.Kind = "linux", kind
			w.manifest.Files = append(w.manifest.Files, f)
		}
		path := filepath.Join(w.deps.Folder, "setup.exe")
		for _, c := range []struct {
			system, kind string
			before, then message.Message
		}{
			{"linux", update.Deb, download, message.UpdateWithPackage(path)},
			{"linux", update.RPM, download, message.UpdateWithRPM(path)},
			{"linux", update.Tar, download, message.UpdateWithArchive(path)},
			{"linux", update.Server, message.UpdateDownloadServer(), message.UpdateWithProgram(path)},
			{"linux", "", page, page}, {"darwin", "", page, page}, {"windows", "", page, page},
		} {
			w.deps.System, w.deps.Kind = c.system, c.kind
			w.fetched.Store(nil)
			noErr(t, w.Check(t.Context()))
			offers := c.before != page
			if s := w.State(); s.Todo != c.before || s.OneClick || s.Offers != offers || s.Path != "" {
				t.Errorf("%s %s: %+v", c.system, c.kind, s)
			}
			got, err := w.Install(t.Context(), nil)
			if !offers {
				if message.For(err) != page {
					t.Errorf("%s %s: %v", c.system, c.kind, err)
				}
				continue
			}
			b, _ := os.ReadFile(got)
			if s := w.State(); err != nil || got != path || string(b) != w.file || s.Path != path || s.Todo != c.then || len(w.started) > 0 {
				t.Errorf("%s %s: %q, %v, %+v", c.system, c.kind, got, err, s)
			}
			w.restart(w.Base, "1.0.0")
			w.deps.System, w.deps.Kind = c.system, c.kind
			w.pass(time.Minute)
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("a start of the old version removed what is to be installed: %v", err)
			}
		}
		w.deps.System, w.deps.Kind = "linux", update.Deb
		w.file = strings.Repeat("other ", 1000) // of the same length
		got, err := w.Install(t.Context(), nil)
		if _, left := os.Lstat(path); got != "" || message.For(err) != message.UpdateDamaged() || !os.IsNotExist(left) || w.State().Path != "" {
			t.Errorf("another file than the one that was signed: %q, %v, %v, %+v", got, err, left, w.State())
		}
	})
}

func TestThePathIsOneThatShellsRead(t *testing.T) {
	for path, want := range map[string]string{"/home/ana/a_1.deb": "/home/ana/a_1.deb", "/home/ana r/it's.deb": `'/home/ana r/it'\''s.deb'`, "/x;rm": "'/x;rm'"} {
		if got := quoted(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A place that does not answer is asked more and more rarely, and as before once it does.
func TestAPlaceThatDoesNotAnswerIsAskedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		w.down = true
		var pauses []time.Duration
		for last := time.Now(); len(pauses) < 8; {
			if tries := w.known.Get().Tries; w.askIfDue(t.Context()) > 0 && w.known.Get().Tries > tries {
				pauses = append(pauses, time.Since(last))
				last = time.Now()
			}
			time.Sleep(time.Minute)
		}
		for n, pause := range pauses[2:] {
			if before := pauses[n+1]; pause < 2*before-2*time.Minute && pause < everyDay || pause > everyDay+time.Minute {
				t.Errorf("asked after %v", pauses)
			}
		}
		if last := pauses[len(pauses)-1]; last < time.Hour {
			t.Errorf("asked %d times, and again after %v", len(pauses), last)
		}
		w.down = false
		time.Sleep(everyDay)
		if w.askIfDue(t.Context()); w.known.Get().Tries != 0 || w.known.Get().Rest.Left(time.Now()) < everyDay {
			t.Errorf("once it answers: %+v", w.known.Get())
		}
	})
}

func TestWhatCannotBeNotedIsNotInstalledNorTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "1.0.0")
		full := func() error { return looptest.ErrFault }
		looptest.EachFault(t, func() (*world, *data.Data) { w := newWorld(t, "1.0.0"); return w, w.Data }, func(w *world) error { return w.Check(t.Context()) })
		w.Data.Store.Fault = full
		if err := w.Check(t.Context()); !errors.Is(err, looptest.ErrFault) || w.State().Newest != "" {
			t.Errorf("a newer version: %v, %+v", err, w.State())
		}
		w.pass(day)
		expect(t, len(w.told), 0, "told %d times")
		w.Data.Store.Fault = nil
		_, err := w.Install(t.Context(), func(s office.UpdateStep) {
			if s.Got == s.Total {
				w.Data.Store.Fault = full
			}
		})
		if !errors.Is(err, looptest.ErrFault) || len(w.started) > 0 {
			t.Errorf("which version is installed: %v, started %d", err, len(w.started))
		}
		w.Data.Store.Fault = nil
		if !w.State().Trouble.IsZero() {
			t.Errorf("nothing was installed: %v", w.State().Trouble)
		}
		path := filepath.Join(w.deps.Folder, "setup.exe")
		w.busy, w.looked = time.Minute, time.Time{}
		_, err = w.Install(t.Context(), func(s office.UpdateStep) {
			if s.Waits {
				noErr(t, os.WriteFile(path, []byte("another one"), 0o600))
			}
		})
		if err == nil || len(w.started) > 0 {
			t.Errorf("an installer that was changed while it lay there: %v, started %d", err, len(w.started))
		}
		_, err = New(w.Base, w.deps)
		noErr(t, err)
		w.Data.Store.Fault = full
		if _, err := New(w.Base, w.deps); !errors.Is(err, looptest.ErrFault) {
			t.Errorf("what is known cannot be read: %v", err)
		}
	})
}
