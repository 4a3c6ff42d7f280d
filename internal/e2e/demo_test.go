//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// demoFiles are what the demo leaves behind.
var demoFiles = []string{
	"Lease Sonnenweg 4/Lease Sonnenweg 4 - certificate.pdf",
	"Lease Sonnenweg 4/Lease Sonnenweg 4 - signed.pdf",
	"Lease Sonnenweg 4/Mandate Keller - certificate.pdf",
	"Lease Sonnenweg 4/Mandate Keller - signed.pdf",
	"Lease Sonnenweg 4/master file.pdf",
	"Offer 2026-118/Offer 2026-118 - certificate.pdf",
	"Offer 2026-118/Offer 2026-118 - signed.pdf",
	"Offer 2026-118/master file.pdf",
}

// demo is a demo that runs in a session, with a folder for temporary files of its own.
type demo struct {
	*process
	folder, temp string
}

func startDemo(t testing.TB, desk *desktop, flags ...string) *demo {
	t.Helper()
	d := &demo{folder: filepath.Join(shortDir(t), "Signed"), temp: shortDir(t)}
	d.process = start(t, desk.env("TMPDIR="+d.temp), program, append([]string{"demo", "--dir", d.folder}, flags...)...)
	return d
}

// files returns the saved documents.
func (d *demo) files() []string {
	d.t.Helper()
	list, err := filepath.Glob(filepath.Join(d.folder, "*", "*"))
	if err != nil {
		d.t.Fatal(err)
	}
	for i, name := range list {
		if list[i], err = filepath.Rel(d.folder, name); err != nil {
			d.t.Fatal(err)
		}
	}
	return list
}

// tidy checks that an ended demo has left nothing but the documents.
func (d *demo) tidy() {
	d.t.Helper()
	left, err := os.ReadDir(d.temp)
	if err != nil || len(left) != 0 {
		d.t.Errorf("the demo left %v behind, %v", left, err)
	}
}

func TestTheDemoShowsTheWholeJob(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"headless": {"--headless"}, "without a display": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := newDesktop(t)
			d := startDemo(t, desk, flags...)
			if code := d.wait(); code != 0 {
				t.Fatalf("the demo ended with %d: %s", code, d.stderr)
			}
			for _, want := range []string{
				"Signed in as " + olivia, "Sent “Lease Sonnenweg 4” to 2 people.", "Jan Weber signed “Mandate Keller”",
				"Everyone has signed “Offer 2026-118”.", "Notification: Everyone has signed “Offer 2026-118”. Zoë Keller signed last.", "Done. The documents are in " + d.folder,
			} {
				if !strings.Contains(d.stdout.String(), want) {
					t.Errorf("the timeline does not tell %q:\n%s", want, d.stdout)
				}
			}
			files := d.files()
			if !slices.Equal(files, demoFiles) {
				t.Errorf("saved: %q", files)
			}
			for _, f := range files {
				if err := api.ValidateFile(filepath.Join(d.folder, f), nil); err != nil {
					t.Errorf("%s is no valid PDF: %v", f, err)
				}
			}
			told := desk.notes.list()
			if len(told) != 4 { // two signers of two packages
				t.Errorf("%d notifications, want 4: %q", len(told), told)
			}
			d.tidy()
		})
	}
}

func TestTheDemoRunsInAWindow(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	desk.startDisplay()
	d := startDemo(t, desk)
	w := desk.window("Countersign")
	empty := w.drawn()
	eventually(t, "a document is saved", func() bool { return len(d.files()) > 0 })
	w.changesFrom(empty)
	if told := desk.notes.list(); len(told) == 0 || told[0].App != "Countersign demo" {
		t.Errorf("notifications: %q", told)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("the demo ended with %d: %s", code, d.stderr)
	}
	if !strings.Contains(d.stdout.String(), "The signed documents are in "+d.folder) {
		t.Errorf("the demo says %q", d.stdout)
	}
	d.tidy()
}
