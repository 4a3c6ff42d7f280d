package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestThatABackupWasRestoredIsSaidUntilSomebodyHasReadIt(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	o.loseData()
	o.open()
	said := o.issue(IssueRestored)
	if said == nil {
		t.Fatalf("not said at all: %+v", o.Status().Health)
	}
	for range 2 {
		o.stop()
		o.open()
		if now := o.issue(IssueRestored); now == nil || now.Message != said.Message || now.Action != ActDismiss {
			t.Fatalf("after a restart: %+v", now)
		}
	}
	noErr(t, o.Act(t.Context(), *said))
	for range 2 {
		if now := o.issue(IssueRestored); now != nil {
			t.Errorf("said to somebody who has read it: %+v", now)
		}
		o.stop()
		o.open()
	}
}

// Somebody may read a notice while it changes.
func TestReadingWhatWasSaidBeforeEndsNothingNew(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.tellUntilRead(message.DataWasMissing())
	before := o.issue(IssueRestored)
	o.tellUntilRead(message.DataRestored())
	noErr(t, o.Act(t.Context(), *before))
	o.restart()
	if now := o.issue(IssueRestored); now == nil || now.Message != message.DataRestored() {
		t.Errorf("%+v", now)
	}
}

func TestAPackageIsToldOfOnceWithItsCertificateUnlessThatDoesNotCome(t *testing.T) {
	for name, times := range map[string]int{"it is slow": 4, "it does not come": 0} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveCAC = true })
			id := o.send()
			o.service.Inject(sandbox.Fault{Path: "*/cac/download", Status: 404, Times: times})
			signAll(o, id)
			o.eventually("people are told", func() bool { return o.count("Everyone has signed “") == 1 })
			if n := o.count("1 more file is not ready yet."); (n == 1) != (times == 0) || times == 0 && o.count("Offer 2026-118.pdf” saved in") != 1 {
				t.Errorf("told: %q", o.notifications())
			}
			o.service.Heal(0)
			o.eventually("the certificate comes", func() bool { row, _ := o.Package(id); return row.Saved && row.Problem.IsZero() })
			o.stop()
			if n := o.count("Everyone has signed “"); n != 1 {
				t.Errorf("told: %q", o.notifications())
			}
		})
	}
}

func TestAPackageThatIsListedInPartIsSavedInPartAndNotComplete(t *testing.T) {
	const first, second = `{"documentId":"d1","name":"First"}`, `{"documentId":"d2","name":"Second"}`
	for name, c := range map[string]struct {
		before, after string
		files         int
	}{
		"one without an id":       {first + `,{"name":"Second"}`, first + "," + second, 2},
		"one with null":           {`{"documentId":null},` + second, first + "," + second, 2},
		"one that is no object":   {first + `,"d2"`, second + "," + first, 2},
		"one that is nothing":     {first + `,null`, first + "," + second, 2},
		"one that was none after": {first + `,{}`, first, 1},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			var mu sync.Mutex
			listed, told, begun := c.before, 0, false
			answered := func(path string) string {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case !begun:
				case strings.HasSuffix(path, "/p0/status"):
					return `{"state":"executed","documents":[` + listed + `]}`
				case strings.HasSuffix(path, "/download"):
					return "%PDF-1.7\n" + path + "\n%%EOF\n"
				}
				return ""
			}
			a, _, stop := quietOffice(t, 1, func(p *Params) {
				p.HTTP.Transport.(*canned).say = answered
				p.Notify = func(n office.Notice) error {
					mu.Lock()
					defer mu.Unlock()
					if strings.HasPrefix(n.Title, "Everyone has signed") && !strings.Contains(n.Title, ", but") {
						told++
					}
					return nil
				}
			})
			defer stop()
			time.Sleep(time.Second)
			mu.Lock()
			begun = true
			mu.Unlock()
			receive(t, a, map[string]string{"action": "package_executed", "eventId": "e", "packageId": "p0"})
			time.Sleep(time.Minute)
			row, _, _ := a.Package("p0")
			if row.FilesDone != 1 || row.Saved || row.Planned || row.Final() {
				t.Errorf("listed in part: %d of %d files, saved %v, planned %v", row.FilesDone, row.FilesTotal, row.Saved, row.Planned)
			}
			time.Sleep(office.WithheldAfter + time.Hour)
			mu.Lock()
			if told != 0 || !a.Health.Has(health.FilesRefused) {
				t.Errorf("after an hour: told %d times, health %+v", told, a.Health.List())
			}
			listed = c.after
			mu.Unlock()
			time.Sleep(2 * time.Hour)
			row, _, _ = a.Package("p0")
			if row.FilesDone != c.files || row.FilesTotal != c.files || !row.Saved || !row.Final() || !row.Problem.IsZero() {
				t.Errorf("listed in full: %d of %d files, saved %v, problem %q", row.FilesDone, row.FilesTotal, row.Saved, row.Problem)
			}
			mu.Lock()
			defer mu.Unlock()
			if told != 1 || a.Health.Has(health.FilesRefused) {
				t.Errorf("in the end: told %d times, health %+v", told, a.Health.List())
			}
		})
	}
}

// opened writes down what is opened for whoever presses on a notification.
type opened struct {
	mu      sync.Mutex
	notices []office.Notice
	files   []string
}

func (x *opened) last() office.Notice {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.notices[len(x.notices)-1]
}

func (x *opened) take() (files []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	files, x.files = x.files, nil
	return files
}

func TestAPressOpensWhatWasSavedAndNothingElse(t *testing.T) {
	var x opened
	o := newOfficeWith(t, func(p *Params) {
		p.Windowed = true
		raise := p.Notify
		p.Notify = func(n office.Notice) error {
			x.mu.Lock()
			x.notices = append(x.notices, n)
			x.mu.Unlock()
			return raise(n)
		}
		p.OpenSaved = func(path string, inFolder bool, token string) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			how := "open "
			if inFolder {
				how = "folder "
			}
			x.files = append(x.files, how+filepath.Base(path)+" "+token)
			return nil
		}
	}, sandbox.Options{})
	changes, stop := o.Watch()
	defer stop()
	id := o.send()
	noErr(t, o.service.SignAll(id))
	o.eventually("people are told", func() bool { return o.count("Everyone has signed") == 1 })
	said := x.last()
	var deeds []office.Action
	for _, b := range said.Buttons {
		deeds = append(deeds, b.Action)
	}
	if want := []office.Action{office.ActionShow, office.ActionOpen, office.ActionFolder}; said.About != office.PackageSubject(id) || !slices.Equal(deeds, want) {
		t.Fatalf("%+v offers %q", said, deeds)
	}
	shown := func() office.Subject {
		for c := range changes {
			if s, asked := c.Shows(); asked {
				return s
			}
		}
		return "nothing"
	}
	press := func(about office.Subject, deed office.Action) {
		o.Click(office.Click{About: about, Action: deed, Token: "t"})
	}
	press(said.About, office.ActionOpen)
	press(said.About, office.ActionFolder)
	expect(t, x.take(), []string{"open Offer - Offer 2026-118.pdf t", "folder Offer - Offer 2026-118.pdf t"}, "opened %q")
	press(said.About, office.ActionShow)
	expect(t, shown(), said.About, "shown %q")
	for _, strange := range []office.Subject{"", "package/", "package/unknown", "problem/folder", "/etc/passwd", "package/../../etc/passwd"} {
		press(strange, office.ActionOpen)
		if got := shown(); got != strange || len(x.take()) > 0 {
			t.Errorf("a press on %q shows %q", strange, got)
		}
	}
	press(said.About, "run")

	// What has taken the file's name since is not ours.
	file := filepath.Join(o.Settings().SaveTo, "Offer - Offer 2026-118.pdf")
	noErr(t, os.Remove(file))
	noErr(t, os.Symlink("/bin/sh", file))
	press(said.About, office.ActionOpen)
	expect(t, shown(), said.About, "instead, %q is shown")
	if got := x.take(); len(got) > 0 {
		t.Errorf("opened %s", strings.Join(got, ", "))
	}
}
