package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// downloads counts what was asked of the service.
func (o *testOffice) downloads() int {
	_, counts := o.service.Requests()
	n := 0
	for route, times := range counts {
		if strings.HasSuffix(route, "/download") {
			n += times
		}
	}
	return n
}

func TestADocumentThatWasCutOffIsNeverSaved(t *testing.T) {
	for _, framing := range []sandbox.Framing{sandbox.FramingClose, sandbox.FramingChunks, sandbox.FramingLength} {
		t.Run(string(framing), func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveCAC, s.SaveMaster = true, true })
			const whole = 200 << 10
			o.service.PadDownloads(whole)
			id := o.send()
			for i, path := range []string{"*/executed/download", "*/cac/download", "/masterfiles/*"} {
				for n := range 3 { // each time at another place
					o.service.Inject(sandbox.Fault{Path: path, Times: 1, EndAfter: int64(1024*(n+1) + i), Framing: framing})
				}
			}
			signAll(o, id)
			o.eventually("saved", func() bool { return saved(o, id) })
			if n := o.downloads(); n != 12 || len(o.files()) != 3 {
				t.Errorf("%d downloads of %q", n, o.files())
			}
			for _, name := range o.files() {
				b, err := os.ReadFile(filepath.Join(o.folder, name))
				if err != nil || !strings.Contains(string(b[max(0, len(b)-1024):]), "%%EOF") {
					t.Errorf("%s: %d bytes without an end, %v", name, len(b), err)
				}
			}
		})
	}
}

func TestAPartIsNeverSaved(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", Range: "bytes=0-2000", Times: 3})
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	if n := o.downloads(); n != 4 || len(o.files()) != 1 {
		t.Errorf("%d downloads of %q", n, o.files())
	}
}

// TestWhatComesPackedIsSavedAsItWas: something on the way packs every answer, however it is asked.
func TestWhatComesPackedIsSavedAsItWas(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", Gzip: true, Times: 3})
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	if n := o.downloads(); n != 1 || len(o.files()) != 1 {
		t.Fatalf("%d downloads of %q", n, o.files())
	}
	b, err := os.ReadFile(filepath.Join(o.folder, o.files()[0]))
	if err != nil || !strings.HasPrefix(string(b), "%PDF-") || !strings.Contains(string(b[max(0, len(b)-1024):]), "%%EOF") {
		t.Errorf("%d bytes that are no document, %v", len(b), err)
	}
}

func TestADocumentThatNeverHadAnEndIsSavedWhenItComesTwiceTheSame(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.service.Inject(sandbox.Fault{Path: "*/executed/download", EndAfter: -12, Framing: sandbox.FramingLength})
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	if n := o.downloads(); n != 2 || len(o.files()) != 1 {
		t.Errorf("%d downloads of %q", n, o.files())
	}
	var told bool
	for _, line := range o.Activity(20) {
		told = told || line.Kind == "saved" && strings.Contains(line.Text.String(), "open it and check that it is complete")
	}
	if !told {
		t.Errorf("nobody is told: %+v", o.Activity(20))
	}
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
	o.eventually("saved", func() bool { return saved(o, id) })
	if n := o.downloads(); n != 3 {
		t.Errorf("%d downloads", n)
	}
}
