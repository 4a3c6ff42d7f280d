package download

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// giver is a service that gives documents. Safe for concurrent use.
type giver struct {
	mu    sync.Mutex
	asked map[string]int                                    // by package: how often a file of it was asked for
	say   func(packageID string, n int, path string) answer // the nth answer for a package; nil for its document
}

type answer struct {
	status    int           // 0 for 200
	body      string        // "" for the document of the package
	undeclare bool          // its length is not announced
	cut       bool          // it breaks off in the middle
	pause     time.Duration // before its last byte
	wait      string        // Retry-After
	err       error         // instead of an answer
}

// document is what a package's files hold: more than is looked at before it is written.
func document(packageID string) string {
	return "%PDF-1.7\nof " + packageID + strings.Repeat(" ", 4096) + "\n%%EOF\n"
}

func (g *giver) RoundTrip(r *http.Request) (*http.Response, error) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v1")
	if !ok { // its other form, which this service does not know
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
	}
	id := strings.Split(path, "/")[2]
	g.mu.Lock()
	g.asked[id]++
	n := g.asked[id]
	g.mu.Unlock()
	a := answer{}
	if g.say != nil {
		a = g.say(id, n, path)
	}
	if a.err != nil {
		return nil, a.err
	}
	a.body, a.status = cmp.Or(a.body, document(id)), cmp.Or(a.status, http.StatusOK)
	length := int64(len(a.body))
	if a.cut {
		a.body = a.body[:len(a.body)/2]
	}
	if a.undeclare {
		length = -1
	}
	header := http.Header{"Content-Type": {"application/pdf"}, "Retry-After": {a.wait}}
	end := readerFunc(func([]byte) (int, error) {
		if a.pause > 0 && !loop.Sleep(r.Context(), a.pause) {
			return 0, r.Context().Err()
		}
		return 0, io.EOF
	})
	return &http.Response{StatusCode: a.status, Header: header, ContentLength: length, Request: r,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(a.body), end))}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// planMany plans the files of so many packages.
func (x *testService) planMany(n int) (jobs []office.Job) {
	x.t.Helper()
	for i := range n {
		jobs = append(jobs, x.plan(fmt.Sprint("p", i))...)
	}
	return jobs
}

// times is how often a file of the package was asked for.
func (g *giver) times(packageID string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[packageID]
}

// from has x get its documents there, from when it is called until the function that it returns is.
func (x *testService) from(g *giver) (stop func()) {
	x.t.Helper()
	g.asked = map[string]int{}
	client := esign.NewClient(esign.Config{AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "c", HTTP: &http.Client{Transport: g}, Now: time.Now}, looptest.Token{})
	x.Session = looptest.Session{Client: client, Noted: func(error) { x.answers.Add(1) }}
	x.update(func(tx *store.Tx) error { return tx.UseService(client.Home()) })
	return x.run()
}

// run has x do its work until the function that it returns is called.
func (x *testService) run() (stop func()) {
	stop = looptest.Run(x.t, x.Run, x.RunIndex)
	synctest.Wait()
	return stop
}

// wantSaved checks that the folder has the documents of these packages, each once and under its name, and that they are recorded and told.
func (x *testService) wantSaved(jobs ...office.Job) {
	x.t.Helper()
	synctest.Wait()
	for _, j := range jobs {
		j = x.job(j)
		p, _, err := x.Data.Package(j.PackageID)
		noErr(x.t, err)
		body, _ := os.ReadFile(filepath.Join(j.Folder, j.Target))
		if j.State != office.JobDone || !j.Problem.IsZero() || !p.Saved || !p.Problem.IsZero() || string(body) != document(j.PackageID) || j.Done.IsZero() || j.Found {
			x.t.Errorf("%s: %+v, package %+v, file %q", j.PackageID, j, p, body)
		}
		if last := len(p.History) - 1; last < 0 || p.History[last].What != office.EntrySaved || p.History[last].Ref != j.Target || p.History[last].Time.By {
			x.t.Errorf("%s: its history is %+v", j.PackageID, p.History)
		}
		told := slices.DeleteFunc(slices.Clone(x.told), func(f office.Fact) bool { return f.PackageID != j.PackageID })
		expect(x.t, len(told), 1, j.PackageID+": told %d times")
	}
	lines := must(x.Activity(1000))
	for _, j := range jobs {
		line := office.Activity{Kind: "saved", PackageID: j.PackageID, Text: message.Saved(x.job(j).Target, j.Folder)}
		expect(x.t, x.shown[line.Text], 1, "people are shown %d times that it is saved")
		said := slices.DeleteFunc(slices.Clone(lines), func(a office.Activity) bool { a.Time = time.Time{}; return a != line })
		expect(x.t, len(said), 1, "%d lines say of %s that it is saved: %+v", j.Target, lines)
	}
	names, _ := filepath.Glob(filepath.Join(x.settings.SaveTo, "*.part"))
	if x.UnderWay() == 0 && len(names) > 0 {
		x.t.Errorf("in the folder: %q", names)
	}
}

func TestAFileIsAskedForUntilItIsWholeAndLessAndLessOften(t *testing.T) {
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		first  []answer      // what comes before the document
		within time.Duration // it is saved
		least  time.Duration // but not sooner
		says   string        // of the file meanwhile; "" for nothing
	}{
		"at once":             {nil, time.Second, 0, ""},
		"busy":                {[]answer{{status: 429, wait: "90"}}, 3 * time.Minute, 90 * time.Second, ""},
		"down":                {[]answer{{status: 500}, {status: 500}}, time.Minute, 5 * time.Second, "technical problem"},
		"unreachable":         {[]answer{{err: broken}}, time.Minute, time.Second, "did not answer"},
		"not there yet":       {[]answer{{status: 404}}, time.Minute, time.Second, "has not finished"},
		"forbidden":           {[]answer{{status: 403}}, time.Minute, time.Second, "permission"},
		"a web page":          {[]answer{{body: "<html>Sign in</html>"}}, time.Minute, time.Second, "."},
		"no PDF":              {[]answer{{body: "of no use at all"}}, time.Minute, time.Second, "did not send a PDF"},
		"cut off":             {[]answer{{cut: true}}, time.Minute, time.Second, "interrupted"},
		"cut off, undeclared": {[]answer{{cut: true, undeclare: true}}, time.Minute, time.Second, "end of"},
		"cut off for hours":   {slices.Repeat([]answer{{cut: true}}, 12), 12 * time.Hour, time.Hour, "interrupted"},
		"for a long time":     {slices.Repeat([]answer{{status: 503}}, 12), 12 * time.Hour, time.Hour, "technical problem"},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			var told atomic.Int64
			x.Signal = func(c office.Change) {
				if c == office.PackagesChanged {
					told.Add(1)
				}
			}
			g := &giver{say: func(_ string, n int, _ string) answer {
				if n <= len(c.first) {
					return c.first[n-1]
				}
				return answer{}
			}}
			defer x.from(g)()
			began, j := x.Now(), x.plan("p")[0]
			told.Store(0)
			x.Wake()
			synctest.Wait()
			p, _, err := x.Data.Package("p")
			noErr(t, err)
			if says := x.job(j).Problem.String(); len(c.first) > 0 && (!strings.Contains(says, c.says) || (says == "") != (c.says == "") || p.Problem.String() != says) {
				t.Errorf("meanwhile it says %q, and its package %q", says, p.Problem)
			} else if says != "" && told.Load() == 0 {
				t.Errorf("nobody who shows the package is told that it says %q", says)
			}
			withheld := false
			for x.job(j).State != office.JobDone && x.Now().Sub(began) < c.within {
				time.Sleep(time.Second)
				synctest.Wait()
				withheld = withheld || x.Health.Has(health.FilesRefused)
			}
			expect(t, withheld, c.least >= time.Hour, "said to be withheld: %v")
			if took := x.Now().Sub(began); took < c.least {
				t.Errorf("it came after %v", took)
			}
			x.wantSaved(j)
			expect(t, g.times("p"), len(c.first)+1, "asked %d times")
			if x.answers.Load() < int64(len(c.first)) && c.says != "interrupted" {
				t.Errorf("%d answers were noted", x.answers.Load())
			}
		})
	}
}

// Where a service is in trouble, it is not asked for every other file as well.
func TestAServiceThatGivesNothingIsLeftAloneAndAskedAgainAtAWord(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		looptest.Bubble(t, http.StatusText(status), func(t *testing.T) {
			x := newService(t)
			var well atomic.Bool
			g := &giver{say: func(string, int, string) answer {
				if well.Load() {
					return answer{}
				}
				return answer{status: status}
			}}
			defer x.from(g)()
			jobs := x.planMany(40)
			x.Wake()
			time.Sleep(time.Hour)
			synctest.Wait() // for what is asked at the same moment
			asked := 0
			for _, j := range jobs {
				asked += g.times(j.PackageID)
			}
			if asked < 20 || asked > 200 || x.Flowing() {
				t.Errorf("asked %d times in an hour, flowing %v", asked, x.Flowing())
			}
			well.Store(true)
			for _, j := range jobs {
				x.again(x.job(j))
			}
			x.Retry()
			x.Wake()
			time.Sleep(5 * time.Second)
			x.wantSaved(jobs...)
			if !x.Flowing() || x.UnderWay() != 0 {
				t.Errorf("flowing %v, %d under way", x.Flowing(), x.UnderWay())
			}
			well.Store(false)
			more := x.planned(x.settings.SaveTo, office.Package{ID: "more", Documents: []office.Document{{ID: "1"}, {ID: "2"}, {ID: "3"}, {ID: "4"}, {ID: "5"}, {ID: "6"}}})
			x.Wake()
			time.Sleep(time.Second)
			fresh := x.plan("fresh")
			well.Store(true)
			x.Resume()
			x.Wake()
			synctest.Wait()
			x.wantSaved(fresh...)
			time.Sleep(time.Minute)
			for _, j := range more {
				expect(t, x.job(j).State, office.JobDone, "what failed once, after a time without trouble, is %q after a minute")
			}
			x.update(func(tx *store.Tx) error { return tx.UseService("another") })
			x.plan("at another")
			x.Wake()
			time.Sleep(time.Minute)
			expect(t, g.times("at another"), 0, "asked %d times for what another service has")
		})
	}
}

// What fails was asked for before the person's word.
func TestAFileThatIsUnderWayWhenAPersonWantsEverythingTriedIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		g := &giver{say: func(_ string, n int, _ string) answer {
			if n < 10 {
				return answer{status: 500}
			}
			return answer{cut: n == 10, pause: time.Minute}
		}}
		defer x.from(g)()
		j := x.plan("p")[0]
		x.Wake()
		for g.times("p") < 10 {
			time.Sleep(time.Second)
		}
		x.Retry()
		time.Sleep(2*time.Minute + time.Second)
		x.wantSaved(j)
	})
}

func TestFilesThatComeSlowlyHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.SaveCAC = true
		g := &giver{say: func(id string, n int, _ string) answer {
			switch {
			case id == "slow":
				return answer{pause: time.Duration(n)*time.Hour + time.Second/2} // one after the other
			case n == 1: // which ends nothing that is under way
				return answer{status: 429}
			}
			return answer{}
		}}
		stop := x.from(g)
		documents := []office.Document{{ID: "1", Name: "A"}, {ID: "2", Name: "B"}, {ID: "3", Name: "C"}}
		slow := x.planned(x.settings.SaveTo, office.Package{ID: "slow", Documents: documents})
		x.Wake()
		synctest.Wait()
		expect(t, g.times("slow"), packageShare, "%d of its files are under way")
		x.mu.Lock()
		x.settings.SaveCAC = false
		x.mu.Unlock()
		others := x.planMany(3 * atOnce)
		x.Wake()
		time.Sleep(30 * time.Minute) // several may be refused at once, which makes the pause longer
		x.wantSaved(others...)
		time.Sleep(30*time.Minute + time.Second/2)
		synctest.Wait()
		expect(t, g.times("slow"), packageShare+1, "once the first of them is there, %d were asked for")
		time.Sleep(9 * time.Hour)
		stop()
		for _, j := range slow {
			expect(t, x.job(j).State, office.JobDone, "in the end it is %q")
		}
		expect(t, g.times("slow"), len(slow), "its files were asked for %d times")
	})
}

func TestFilesThatWaitForTheDiskHoldUpNoDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		flushed := make(chan struct{})
		x.Crash = func(point string) {
			if point == "save "+string(archive.StepFlushed) {
				<-flushed
			}
		}
		g := &giver{say: func(string, int, string) answer { return answer{pause: time.Second} }}
		defer x.from(g)()
		jobs := x.planMany(3 * atOnce)
		x.Wake()
		synctest.Wait()
		g.mu.Lock()
		expect(t, len(g.asked), atOnce, "%d downloads begin at once")
		g.mu.Unlock()
		time.Sleep(5 * time.Second)
		for _, j := range jobs {
			expect(t, g.times(j.PackageID), 1, "%d downloads of "+j.PackageID)
		}
		close(flushed)
		x.wantSaved(jobs...)
	})
}

func TestOneFolderInTroubleLeavesTheOthersAlone(t *testing.T) {
	for name, c := range map[string]struct {
		trouble, well func(folder string) error
		says          string
	}{
		"away":          {os.Remove, func(f string) error { return os.Mkdir(f, 0o700) }, "cannot be found"},
		"a file by now": {func(f string) error { return errors.Join(os.Remove(f), os.WriteFile(f, nil, 0o600)) }, func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) }, "1 file"},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			g := &giver{}
			here, lost := x.settings.SaveTo, filepath.Join(t.TempDir(), "lost")
			noErr(t, os.Mkdir(lost, 0o700))
			noErr(t, c.trouble(lost))
			defer x.from(g)()
			x.settings.SaveTo = lost
			waits := x.plan("waits")[0]
			x.Wake()
			synctest.Wait()
			told := x.Health.List()
			if len(told) != 1 || told[0].ID != health.FolderFails.ID || !strings.Contains(told[0].Text(), c.says) || x.Flowing() {
				t.Fatalf("told: %+v, flowing %v", told, x.Flowing())
			}
			var others []office.Job
			for i := range 9 {
				others = append(others, x.planIn(here, fmt.Sprint("p", i))...)
			}
			x.Wake()
			time.Sleep(time.Second)
			x.wantSaved(others...)
			time.Sleep(time.Hour)
			later := x.planIn(here, "later")[0]
			later.NextTry = x.Now().Add(time.Minute)
			x.update(func(tx *store.Tx) error { return tx.PutJob(later) })
			x.Wake()
			time.Sleep(time.Minute)
			x.wantSaved(later)
			expect(t, x.Health.Has(health.FolderFails), true, "it is still said to be in trouble: %v")
			x.planIn(here, "waits nowhere")
			held, err := x.Held()
			expect(t, held, map[string]bool{"waits": true}, "held are %v")
			noErr(t, err)
			noErr(t, c.well(lost))
			left(t, lost, x.tempKey(waits))
			x.FolderChosen(lost, lost) // a person has settled something
			x.Wake()
			synctest.Wait()
			x.wantSaved(append(others, waits, later)...)
			expect(t, inside(t, lost), []string{waits.Target}, "in the folder are %q")
			expect(t, g.times("waits"), 1, "asked %d times for what could not be saved")
			if len(x.Health.List()) > 0 || !x.Flowing() {
				t.Errorf("told: %+v, flowing %v", x.Health.List(), x.Flowing())
			}
		})
	}
}

// Its share is not mounted, and its mount point can be written.
func TestAnEmptyMountPointIsNotTheFolderThatWasMountedThere(t *testing.T) {
	for name, first := range map[string]bool{"after others": false, "the first document": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.settings.Index = true
			here, share := x.settings.SaveTo, filepath.Join(t.TempDir(), "share")
			var gone atomic.Bool
			x.mount = func(path string) (string, error) {
				if gone.Load() {
					path = filepath.Dir(path)
				}
				return path, nil
			}
			unmount := func() {
				noErr(t, os.Rename(here, share))
				noErr(t, os.Mkdir(here, 0o700))
				gone.Store(true)
			}
			defer x.from(&giver{})()
			save := func(id string) office.Job {
				j := x.plan(id)[0]
				x.Wake()
				time.Sleep(maxFolderPause)
				return j
			}
			if !first {
				x.wantSaved(save("before"))
			}
			time.Sleep(time.Second) // it has seen the share

			unmount()
			j := save("waits")
			time.Sleep(time.Hour)
			expect(t, x.job(j).State, office.JobPending, "without the share its file is %v")
			expect(t, inside(t, here), []string(nil), "in the mount point are %q")
			expect(t, x.Health.Has(health.FolderFails), true, "told of the folder: %v")
			if err := x.FindFolder(here); !errors.Is(err, archive.ErrMissing) {
				t.Errorf("the check finds %v", err)
			}
			noErr(t, os.Remove(here))
			noErr(t, os.Rename(share, here))
			gone.Store(false)
			time.Sleep(time.Hour)
			x.wantSaved(j)
			expect(t, len(x.Health.List()), 0, "with the share it still tells of %d things")

			unmount()
			noErr(t, os.Rename(filepath.Join(share, j.Target), filepath.Join(here, j.Target))) // brought back to a folder of this computer
			x.wantSaved(save("local"))
			noErr(t, os.RemoveAll(share))
			gone.Store(false) // another disk, which is new
			noErr(t, os.Rename(here, share))
			noErr(t, os.Mkdir(here, 0o700))
			x.wantSaved(save("new"))

			noErr(t, os.RemoveAll(share))
			unmount()
			j = save("accepted")
			expect(t, x.job(j).State, office.JobPending, "before the folder is chosen anew its file is %v")
			noErr(t, x.AcceptFolder())
			time.Sleep(time.Second)
			x.wantSaved(j)

			point := filepath.Join(t.TempDir(), "point") // what was accepted once is not for ever
			noErr(t, os.Rename(here, point))
			noErr(t, os.Rename(share, here))
			gone.Store(false)
			x.wantSaved(save("mounted"))
			noErr(t, os.Rename(here, share))
			noErr(t, os.Rename(point, here))
			gone.Store(true)
			j = save("unmounted")
			expect(t, x.job(j).State, office.JobPending, "in a mount point that holds a file its file is %v")
		})
	}
}

// Of the folder for documents, which lies on the same share, nobody has said anything.
func TestAFolderChosenWhileItsShareIsAwayIsTheOnlyOneAccepted(t *testing.T) {
	x := newService(t)
	share, gone := t.TempDir(), false
	x.mount = func(string) (string, error) {
		if gone {
			return filepath.Dir(share), nil
		}
		return share, nil
	}
	away := func(path string) bool {
		err := x.FolderAway(path)
		if err != nil && !errors.Is(err, archive.ErrMissing) {
			t.Fatal(err)
		}
		return err != nil
	}
	contracts, scans := filepath.Join(share, "Contracts"), filepath.Join(share, "Scans")
	noErr(t, errors.Join(os.Mkdir(contracts, 0o700), os.Mkdir(scans, 0o700)))
	expect(t, away(contracts), false, "with the share it is away: %v")
	gone = true
	noErr(t, x.AcceptMount(scans))
	expect(t, away(scans), false, "chosen in the mount point, it is away: %v")
	expect(t, away(contracts), true, "the other one is away: %v")
	gone = false
	expect(t, away(scans), false, "with the share again it is away: %v")
	gone = true
	expect(t, away(scans), true, "without the share once more it is away: %v")
}

func TestAnEmptyMountPointIsNotAFolderThatIsNoLongerOrNotTheOffices(t *testing.T) {
	for name, beside := range map[string]bool{"beside an original": true, "a former folder": false} {
		t.Run(name, func(t *testing.T) {
			x := newService(t)
			x.settings.BesideOriginal = beside
			clients, gone := t.TempDir(), false
			x.mount = func(path string) (string, error) {
				if path == clients && gone {
					path = filepath.Dir(path)
				}
				return path, nil
			}
			if !beside {
				x.settings.SaveTo = clients
			}
			noErr(t, x.Data.Update(func(tx *store.Tx) error {
				return tx.PutDraft(office.Draft{ID: "draft", Name: "Lease", State: office.DraftSent, Files: []office.DraftFile{{Name: "Lease.pdf", Path: filepath.Join(clients, "Lease.pdf")}}})
			}))
			p := office.Package{ID: "p", Source: office.Source{DraftID: "draft"}}
			expect(t, must(x.Folder(x.settings, p)), clients, "with its share it goes to %s")
			noErr(t, errors.Join(x.FolderAway(clients), os.RemoveAll(clients), os.Mkdir(clients, 0o700)))
			if gone = true; !beside {
				x.settings.SaveTo = t.TempDir()
			}
			expect(t, must(x.Folder(x.settings, p)), x.settings.SaveTo, "without its share it goes to %s")
			expect(t, errors.Is(x.FolderAway(clients), archive.ErrMissing), true, "it is away: %v")
		})
	}
}

// The service's answers tell the time.
func TestAFileIsSavedAfterItWasSignedThoughTheClockIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		right := time.Now().UTC()
		x.Now = func() time.Time { return time.Now().AddDate(-7, 0, 0) }
		x.Served.Note(right)
		defer x.from(&giver{})()
		j := x.plan("p")[0]
		x.Wake()
		time.Sleep(time.Minute)
		x.wantSaved(j)
		p, _, err := x.Data.Package("p")
		noErr(t, err)
		for _, m := range p.History {
			if m.What == office.EntrySaved && m.Time.Before(right) || x.job(j).Done.Before(right) {
				t.Errorf("signed by %v, saved at %v and %v", right, m.Time, x.job(j).Done)
			}
		}
	})
}

func TestAFolderInWhichNothingCanBeSavedIsAwayOnlyWithoutItsShare(t *testing.T) {
	const folder = "/proc/sys"
	if _, err := archive.OpenFolder(folder); !errors.Is(err, archive.ErrReadOnly) {
		t.Skip("not here, or not for this user: ", err)
	}
	for at, away := range map[string]bool{folder: false, "/": true} {
		x := newService(t)
		x.settings.SaveTo = folder
		x.mount = func(string) (string, error) { return at, nil }
		noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docMounts, mounts{Known: []string{folder}}) }))
		err := x.FolderAway(folder)
		expect(t, errors.Is(err, archive.ErrMissing), away, "%[3]v: it is away: %[1]v", err)
		expect(t, err != nil, away, "%[3]v: it is out of reach: %[1]v", err)
		expect(t, errors.Is(x.FindFolder(folder), archive.ErrReadOnly), !away, "it cannot be written: %v")
	}
}

// An original may lie where nothing can be saved, or on a stick that never comes back.
func TestWhatCannotBeSavedBesideItsOriginalGoesToTheOfficesFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		here, beside := x.settings.SaveTo, t.TempDir()
		defer x.from(&giver{})()
		x.settings.SaveTo = beside
		j := x.plan("p")[0]
		x.settings.SaveTo = here
		noErr(t, os.Remove(beside))
		x.Wake()
		time.Sleep(time.Second)
		expect(t, inside(t, here), []string{"Offer - Lease.pdf"}, "in the office's folder are %q")
		if j = x.job(j); j.State != office.JobDone || j.Folder != here || len(x.Health.List()) > 0 || !x.Flowing() {
			t.Errorf("%s in %s, told: %+v", j.State, j.Folder, x.Health.List())
		}
	})
}

func TestAFolderThatOpensButTakesNoFileIsInTroubleAllTheTime(t *testing.T) {
	const folder = "/proc/tty" // may be written by root, but takes no file, like a folder on Windows without permission
	f, err := archive.OpenFolder(folder)
	if err != nil {
		t.Skip("not here, or not by this user: ", err)
	}
	f.Close()
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo = folder
		g := &giver{}
		defer x.from(g)()
		began := x.Now()
		x.plan("p")
		x.Wake()
		time.Sleep(time.Hour)
		synctest.Wait()
		if told := x.Health.List(); len(told) != 1 || told[0].ID != health.FolderFails.ID || !told[0].Since.Equal(began) || x.Flowing() {
			t.Errorf("told: %+v, flowing %v", told, x.Flowing())
		}
		expect(t, g.times("p"), 1, "%d downloads of what could not be saved")
	})
}

func TestOneFilesTroubleLeavesItsFolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		folder, subfolder := x.settings.SaveTo, "A"
		g := &giver{}
		var scanner atomic.Bool
		scanner.Store(true)
		g.say = func(packageID string, _ int, _ string) (a answer) {
			if packageID == "scanned" && scanner.Load() { // as a virus scanner does
				a.pause = 2 * time.Second
				time.AfterFunc(time.Second, func() {
					for _, name := range must(filepath.Glob(filepath.Join(folder, ".countersign-*"))) {
						noErr(t, os.Remove(name))
					}
				})
			}
			return a
		}
		noErr(t, os.WriteFile(filepath.Join(folder, subfolder), nil, 0o600)) // a file in the way of a subfolder
		defer x.from(g)()
		within, scanned := x.plan("within")[0], x.plan("scanned")[0]
		within.Target = subfolder + "/" + within.Target
		x.update(func(tx *store.Tx) error { return tx.PutJob(within) })
		x.Wake()
		time.Sleep(10 * time.Minute)
		other := x.plan("other")[0]
		x.Wake()
		x.wantSaved(other)
		for _, j := range []office.Job{within, scanned} {
			if n := g.times(j.PackageID); n < 2 || n > 12 || x.job(j).Problem.IsZero() {
				t.Errorf("%s: %d downloads, %+v", j.PackageID, n, x.job(j))
			}
		}
		if x.Health.Has(health.FolderFails) || !x.Flowing() {
			t.Errorf("told: %+v, flowing %v", x.Health.List(), x.Flowing())
		}
		scanner.Store(false)
		noErr(t, os.Remove(filepath.Join(folder, subfolder)))
		time.Sleep(maxSavePause)
		x.wantSaved(within, scanned)
	})
}

// The id came from an event that spells it in its own way (RFC 9562, 4). What is not finished yet is not asked for twice each time.
func TestADocumentIsFoundUnderTheSpellingThatTheServiceKnows(t *testing.T) {
	lower := "0a1b2c3d-0000-4000-8000-00000000abcd"
	upper := strings.ToUpper(lower)
	for name, c := range map[string]struct {
		came, known string
		late        time.Duration
		asked       int // at most
	}{"in capitals": {upper, lower, 0, 2}, "in small letters": {lower, upper, 0, 2}, "finished late": {lower, lower, time.Hour, 16}} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			began := x.Now()
			defer x.from(&giver{say: func(_ string, n int, path string) answer {
				if n > c.asked {
					t.Errorf("asked %d times", n)
				}
				if strings.Contains(path, c.known) && x.Now().Sub(began) >= c.late {
					return answer{}
				}
				return answer{status: http.StatusNotFound}
			}})()
			jobs := x.planned(x.settings.SaveTo, office.Package{ID: "p", Documents: []office.Document{{ID: c.came, Name: "Lease"}}})
			x.Wake()
			time.Sleep(2 * c.late)
			x.wantSaved(jobs...)
		})
	}
}

// A share whose server is gone does not even say that it is.
func TestAFolderThatDoesNotAnswerHoldsUpNeitherOthersNorPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		here, silent := x.settings.SaveTo, t.TempDir()
		answers := make(chan struct{})
		_, _ = disk.Ask(silent, func() (none struct{}, err error) { <-answers; return none, nil }, nil)
		defer x.from(&giver{})()
		x.settings.SaveTo = silent
		waits, named := x.plan("waits")[0], x.plan("named")[0]
		named.Size, named.Digest = 1, "blake3:00"
		x.update(func(tx *store.Tx) error { return tx.PutJob(named) })
		x.settings.SaveTo = here
		other := x.plan("other")[0]
		x.Wake()
		time.Sleep(time.Minute)
		x.wantSaved(other, x.job(waits))
		if told := x.Health.List(); len(told) != 1 || told[0].ID != health.FolderFails.ID || !strings.Contains(told[0].Text(), "until the folder is back") {
			t.Errorf("told: %+v", told)
		}
		start := time.Now()
		expect(t, must(x.Named(silent)), map[string]bool{named.Key(): true}, "perhaps named there: %v")
		expect(t, x.TryFolder(silent), office.CodeNotWritable, "chosen: %q")
		if err := x.FindFolder(silent); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("checked: %v", err)
		}
		if took := time.Since(start); took > disk.Silence {
			t.Errorf("people wait for it for %v", took)
		}
		close(answers)
		time.Sleep(2 * maxFolderPause)
		x.wantSaved(named)
		noErr(t, x.FindFolder(silent))
		if len(x.Health.List()) > 0 || !x.Flowing() {
			t.Errorf("told: %+v, flowing %v", x.Health.List(), x.Flowing())
		}
	})
}

// What breaks connections at one place does so again a moment later; a service may make a document anew for whoever asks.
func TestADocumentWithoutItsEndIsTakenOnceTriesThatLieApartConfirmIt(t *testing.T) {
	endless := strings.TrimSuffix(document("p"), "%%EOF\n")
	anew := func(n int) string { return endless + strings.Repeat("x", n%3) }
	for name, c := range map[string]struct {
		say       func(n int) answer
		open      time.Duration // it is not saved by then
		within    time.Duration
		asked     [2]int // by then, and in the end
		undoubted bool
	}{
		"twice the same":        {func(int) answer { return answer{body: endless, undeclare: true} }, unprovenApart - time.Second, 2 * unprovenApart, [2]int{2, 3}, false},
		"another one each time": {func(n int) answer { return answer{body: anew(n), undeclare: n == unprovenEnough+1} }, 2 * time.Hour, 8 * time.Hour, [2]int{12, 14}, false},
		"whole in the end": {func(n int) answer {
			if n > unprovenEnough {
				return answer{}
			}
			return answer{body: anew(n)}
		}, 2 * time.Hour, 8 * time.Hour, [2]int{12, 13}, true},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			g := &giver{say: func(_ string, n int, _ string) answer { return c.say(n) }}
			defer x.from(g)()
			j := x.plan("p")[0]
			x.Wake()
			time.Sleep(c.open)
			if x.job(j).State == office.JobDone || g.times("p") != c.asked[0] {
				t.Errorf("asked %d times after %v: %+v", g.times("p"), c.open, x.job(j))
			}
			expect(t, x.Health.Has(health.FilesRefused), c.open > office.WithheldAfter, "said to be withheld: %v")
			time.Sleep(c.within - c.open)
			if x.job(j).State != office.JobDone || g.times("p") != c.asked[1] {
				t.Errorf("asked %d times after %v: %+v", g.times("p"), c.within, x.job(j))
			}
			lines := must(x.Activity(10))
			if len(lines) != 1 || strings.Contains(lines[0].Text.String(), "open it and check that it is complete") == c.undoubted {
				t.Errorf("told: %+v", lines)
			}
		})
	}
}

func TestAFileThatGotItsNameBeforeTheProgramWasKilledIsNotFetchedAgain(t *testing.T) {
	for point, asked := range map[string]int{"save written": 2, "save named": 1} {
		looptest.Bubble(t, point, func(t *testing.T) {
			x, g := newService(t), &giver{}
			j := x.plan("p")[0]
			var killed atomic.Bool
			x.Crash = func(p string) {
				if p == point && !killed.Swap(true) {
					runtime.Goexit()
				}
			}
			defer x.from(g)()
			synctest.Wait()
			if now := x.job(j); now.State != office.JobDone || now.Found != (asked == 1) || x.shown[message.Saved(j.Target, j.Folder)] != 1 || g.times("p") != asked || len(inside(t, j.Folder)) != 1 {
				t.Errorf("asked %d times; there are %q: %+v", g.times("p"), inside(t, j.Folder), now)
			}
		})
	}
}

// The files of a package whose state was lost are planned anew, and are found under whatever name they have.
func TestADocumentThatIsThereIsFoundWhateverItsNameIsReservedFor(t *testing.T) {
	for name, c := range map[string]struct {
		names   [2]string // of the documents of the packages p and q, as they lie there
		reserve [2]string // how they are planned
	}{
		"as planned":                        {[2]string{"A.pdf", "A (2).pdf"}, [2]string{"A.pdf", "A (2).pdf"}},
		"crosswise":                         {[2]string{"A.pdf", "A (2).pdf"}, [2]string{"A (2).pdf", "A.pdf"}},
		"behind a name that a Mac takes":    {[2]string{"A.pdf", "A (3).pdf"}, [2]string{"A (3).pdf", "A.pdf"}},
		"under a name that nobody reserved": {[2]string{"A (5).pdf", "A (4).pdf"}, [2]string{"A.pdf", "A (2).pdf"}},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			x.settings.Index = true
			x.settings.SaveTo = t.TempDir()
			noErr(t, os.WriteFile(filepath.Join(x.settings.SaveTo, "a (2).PDF"), []byte("the office's own"), 0o600))
			jobs := []office.Job{x.plan("p")[0], x.plan("q")[0]}
			for i, j := range jobs {
				if c.names[i] != "A (2).pdf" {
					noErr(t, os.WriteFile(filepath.Join(x.settings.SaveTo, c.names[i]), []byte(document(j.PackageID)), 0o600))
				}
				j.Target, j.Wanted = "away "+j.PackageID, "A.pdf"
				x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
			}
			for i := range jobs {
				jobs[i].Target, jobs[i].Wanted = c.reserve[i], "A.pdf"
				x.update(func(tx *store.Tx) error { return tx.PutJob(jobs[i]) })
			}
			before := inside(t, x.settings.SaveTo)
			defer x.from(&giver{})()
			time.Sleep(time.Minute)
			for i, j := range jobs {
				p, _, err := x.Data.Package(j.PackageID)
				noErr(t, err)
				found := slices.Contains(before, c.names[i]) // else it gets a name that nobody has
				if j = x.job(j); j.State != office.JobDone || found != (j.Target == c.names[i]) || j.Found != found || p.History[0].Time.By != found {
					t.Errorf("%s, of %s: %+v; %+v", j.PackageID, c.names[i], j, p.History)
				}
				lines := must(x.Activity(10))
				was := func(a office.Activity) bool { return a.Text == message.SavedBefore(j.Target, j.Folder) }
				expect(t, slices.ContainsFunc(lines, was), found, "people read %v that it was there")
			}
			if after := inside(t, x.settings.SaveTo); slices.Contains(c.names[:], "A (2).pdf") == (len(after) == len(before)+1) {
				t.Errorf("before %q, after %q", before, after)
			}
			lines := index(t, x.settings.SaveTo, ',')
			expect(t, len(lines), 3, "the index has %d lines")
		})
	}
}

// left is a file that a run which was killed has left of what it downloads.
func left(t *testing.T, folder, key string) (path string) {
	t.Helper()
	path = filepath.Join(folder, ".countersign-"+archive.Token(key)+"-0123456789abcdef.part")
	noErr(t, os.WriteFile(path, []byte("half a document"), 0o600))
	return path
}

// People take a saved file away, and another computer of the office gives its name to a document of a package that comes after it.
func TestADocumentIsFoundUnderTheNameOfOneThatWasTakenAway(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		gone := x.saved("gone", "body")
		path := filepath.Join(gone.Folder, gone.Target)
		noErr(t, os.Remove(path))
		j := x.plan("p")[0]
		noErr(t, os.WriteFile(path, []byte(document("p")), 0o600))
		defer x.from(&giver{})()
		time.Sleep(time.Minute)
		expect(t, len(inside(t, j.Folder)), 1, "the folder has %d files")
		if is, was := x.job(j), x.job(gone); is.State != office.JobDone || is.Target != gone.Target || was.State != office.JobDone || was.Target == gone.Target {
			t.Errorf("%+v, and the one that is gone: %+v", is, was)
		}
	})
}

func TestADocumentThatComesWhileAnotherFolderIsChosenIsSavedThereAlone(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		j, next := x.plan("p")[0], t.TempDir()
		defer x.from(&giver{say: func(_ string, n int, _ string) answer {
			if n == 1 {
				x.update(func(tx *store.Tx) error { MoveJobs(tx, j.Folder, next, nil, x.Now()); return nil })
			}
			return answer{}
		}})()
		time.Sleep(time.Minute)
		x.wantSaved(x.job(j))
		expect(t, inside(t, j.Folder), []string(nil), "in the former folder are %q")
		expect(t, inside(t, next), []string{j.Target}, "in the one that was chosen are %q")
	})
}

func TestLeftoversOfAnEarlierRunAreRemovedWithTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		folder, j, begun := x.settings.SaveTo, x.plan("p")[0], x.plan("q")[0]
		x.state.begin(begun.Key())
		there := map[string]bool{left(t, folder, x.tempKey(j)): false, left(t, folder, x.tempKey(begun)): true, left(t, folder, "another computer's/"+j.Key()): true}
		x.run()()
		for path, want := range there {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s is there: %v", path, err)
			}
		}
	})
}

func TestFilesAreFetchedOnceMoreAtAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.SaveCAC, x.settings.Index = true, true
		body := ""
		g := &giver{say: func(string, int, string) answer { return answer{body: body} }}
		defer x.from(g)()
		j := x.plan("p")
		x.Wake()
		synctest.Wait()
		compared := x.job(j[0])
		compared.Match, compared.Compared = office.Match{State: office.MatchSame}, compared.Digest
		x.update(func(tx *store.Tx) error { return tx.PutJob(compared) })
		again := func() {
			t.Helper()
			noErr(t, x.SaveAgain("p"))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		noErr(t, os.Remove(filepath.Join(j[0].Folder, j[0].Target)))
		noErr(t, os.WriteFile(filepath.Join(j[1].Folder, j[1].Target), []byte("changed by a person"), 0o600))
		again()
		expect(t, g.times("p"), 4, "its two files were asked for %d times")
		for i, want := range []string{j[0].Target, filename.Numbered(j[1].Target, 2)} {
			now := x.job(j[i])
			if body, err := os.ReadFile(filepath.Join(now.Folder, now.Target)); string(body) != document("p") || now.Target != want || now.State != office.JobDone {
				t.Errorf("%q, %v: %+v", body, err, now)
			}
		}
		expect(t, string(must(os.ReadFile(filepath.Join(j[1].Folder, j[1].Target)))), "changed by a person", "what a person changed is %q")
		former := x.settings.SaveTo
		x.settings.SaveTo = t.TempDir() // chosen meanwhile
		again()
		expect(t, len(inside(t, x.settings.SaveTo)), 3, "%d files in the folder of now, with its index")
		expect(t, len(inside(t, former)), 4, "%d files in the former one")
		wantListed(t, x.settings.SaveTo, ',', x.job(j[0]), x.job(j[1]))
		if p, _, _ := x.Data.Package("p"); !p.Saved || !p.Planned {
			t.Errorf("%+v", p)
		}
		expect(t, x.job(j[0]).Match, compared.Match, "what was compared with what was sent, which may be gone by now, is %+v")
		body = document("other bytes")
		again()
		p, _, err := x.Data.Package("p")
		noErr(t, err)
		times := map[string]int{}
		for _, m := range p.History {
			times[m.What]++
		}
		expect(t, times, map[string]int{office.EntrySaved: 2, office.EntryAgain: 6}, "its history has %v")
		expect(t, x.job(j[0]).Match, office.Match{}, "other bytes are said to be %+v")
		noErr(t, x.SaveAgain("unknown"))
	})
}

func TestWhatIsAskedForOnceMoreIsAsNew(t *testing.T) {
	x := newService(t)
	var j office.Job
	for _, j = range x.plan("p") {
		j.State, j.Tries, j.Problem, j.NextTry = office.JobFailed, 40, message.NobodySignedIn(), x.Now().Add(time.Hour)
		j.Unproven, j.Planned, j.Size, j.Digest = "half", x.Now().Add(-time.Hour), 1, "other bytes"
		x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
	}
	began, told := x.Now(), []office.Change(nil)
	x.Signal = func(c office.Change) { told = append(told, c) }
	noErr(t, x.SaveAgain("p"))
	expect(t, told, []office.Change{office.PackagesChanged}, "people see %v")
	j = x.job(j)
	if j.State != office.JobPending || j.Tries != 0 || !j.Problem.IsZero() || j.Unproven+j.Digest != "" || j.Planned.Before(began) || j.NextTry.After(x.Now()) {
		t.Errorf("%+v", j)
	}
	noErr(t, x.SaveAgain("p"))
	if p, _, err := x.Data.Package("p"); err != nil || p.Saved || !p.Planned || p.NextCheck.Before(began) {
		t.Errorf("%+v, %v", p, err)
	}
	x.planned(x.settings.SaveTo, office.Package{ID: "bare"})
	noErr(t, x.SaveAgain("bare"))
	if p, _, err := x.Data.Package("bare"); err != nil || p.Planned {
		t.Errorf("one of which nothing was planned is not planned anew: %+v, %v", p, err)
	}
}

func TestANameIsShownAsItWillBe(t *testing.T) {
	x := newService(t)
	x.settings.NameTemplate, x.settings.Language = "{package} - {document} {kind}", "de"
	name := func() string {
		t.Helper()
		return must(x.PreviewName(x.settings))
	}
	expect(t, name(), "Lease Sonnenweg 4 - Lease unterschrieben.pdf", "without a package it is %q")
	x.plan("an old one")
	j := x.planned(x.settings.SaveTo, office.Package{ID: "latest", Created: x.Now(), Documents: []office.Document{{ID: "d", Name: "Rent"}}})[0]
	x.planned(x.settings.SaveTo, office.Package{ID: "without documents", Created: x.Now().Add(time.Hour)})
	expect(t, name(), j.Target, "it is %q")
	x.settings.NameTemplate = "{nobody}"
	var config *office.ConfigError
	if _, err := x.PreviewName(x.settings); !errors.As(err, &config) || config.Fields[0].Field != office.FieldTemplate {
		t.Errorf("a pattern that is wrong: %v", err)
	}
}
