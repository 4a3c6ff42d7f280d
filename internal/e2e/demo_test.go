//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"

	"github.com/pdfcpu/pdfcpu/pkg/api"
)

// demoFiles are the documents that the demo leaves behind.
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

// demo is a demo that runs in a session, with its own folder for temporary files.
type demo struct {
	*harness.Process
	folder, temp string
}

func startDemo(t testing.TB, desk *harness.Desktop, flags ...string) *demo {
	t.Helper()
	d := &demo{folder: filepath.Join(harness.ShortDir(t), "Signed"), temp: harness.ShortDir(t)}
	d.Process = harness.Start(t, desk.Env("TMPDIR="+d.temp), harness.Program, append([]string{"demo", "--dir", d.folder}, flags...)...)
	return d
}

// files returns the saved documents.
func (d *demo) files() []string {
	d.T.Helper()
	list, err := filepath.Glob(filepath.Join(d.folder, "*", "*"))
	harness.Must(d.T, err)
	for i, name := range list {
		if list[i], err = filepath.Rel(d.folder, name); err != nil {
			d.T.Fatal(err)
		}
	}
	return list
}

// tidy checks that an ended demo has left nothing but the documents.
func (d *demo) tidy() {
	d.T.Helper()
	left, err := os.ReadDir(d.temp)
	if err != nil || len(left) != 0 {
		d.T.Errorf("the demo left %v behind, %v", left, err)
	}
}

func TestTheDemoShowsTheWholeJob(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"headless": {"--headless"}, "without a display": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := harness.NewDesktop(t)
			d := startDemo(t, desk, flags...)
			if code := d.Wait(); code != 0 {
				t.Fatalf("the demo ended with %d: %s", code, d.Stderr)
			}
			for _, want := range []string{
				"Signed in as " + harness.Olivia, "“Lease Sonnenweg 4” was sent to Jan Weber, Ana Ruiz.", "Jan Weber signed “Mandate Keller”",
				"Everyone has signed “Offer 2026-118”.", "Notification: Everyone has signed “Offer 2026-118”. Zoë Keller signed last.", "Done. The documents are in " + d.folder,
			} {
				if !strings.Contains(d.Stdout.String(), want) {
					t.Errorf("the timeline does not tell %q:\n%s", want, d.Stdout)
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
			if told := desk.Notes.List(); len(told) < 4 {
				t.Errorf("told was %q", told)
			}
			d.tidy()
		})
	}
}

func TestTheDemoRunsInAWindow(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	d := startDemo(t, desk)
	w := desk.Window("Countersign")
	empty := w.Drawn()
	harness.Eventually(t, "a document is saved", func() bool { return len(d.files()) > 0 })
	w.ChangesFrom(empty)
	if told := desk.Notes.List(); len(told) == 0 || told[0].App != "Countersign demo" {
		t.Errorf("notifications: %q", told)
	}
	if code := d.Stop(); code != 0 {
		t.Errorf("the demo ended with %d: %s", code, d.Stderr)
	}
	if !strings.Contains(d.Stdout.String(), "The signed documents are in "+d.folder) {
		t.Errorf("the demo says %q", d.Stdout)
	}
	d.tidy()
}
