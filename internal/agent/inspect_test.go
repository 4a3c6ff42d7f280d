package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

func TestAFileIsLookedAtBeforeItIsSent(t *testing.T) {
	o := &testOffice{t: t, data: t.TempDir(), keeper: secret.Memory(), adjust: readDocuments}
	o.open()
	defer o.stop()
	write := func(name, body string) string {
		path := filepath.Join(t.TempDir(), name)
		noErr(t, os.WriteFile(path, []byte(body), 0o600))
		return path
	}
	for _, tt := range []struct {
		path             string
		pages            int
		problem, warning string
	}{
		{path: o.sample(), pages: 1},
		{path: write("a.pdf", "PK"), problem: "not a PDF document, although its name says so"},
		{path: write("b.pdf", "%PDF-1.7\n%%EOF\n"), warning: "cannot be read on this computer and may be damaged; it can still be sent"},
		{path: write("c.docx", "%PDF-1.7\n%%EOF\n")},
		{path: filepath.Join(t.TempDir(), "d.pdf"), problem: "d.pdf"},
		{path: write("Office.countersign", "{}"), problem: "is a file of Countersign"},
		{path: write("000001-2026-11-23.Countersign-Backup", "x"), problem: "is a file of Countersign"},
	} {
		i := o.Inspect(t.Context(), tt.path)
		if i.Pages != tt.pages || (i.Problem.IsZero()) != (tt.problem == "") || (i.Warning.IsZero()) != (tt.warning == "") ||
			!strings.Contains(i.Problem.String(), tt.problem) || !strings.Contains(i.Warning.String(), tt.warning) {
			t.Errorf("%s: %+v", filepath.Base(tt.path), i)
		}
	}
	if picture, err := o.Preview(t.Context(), o.sample(), 90); err != nil || picture.Bounds().Dx() != 90 {
		t.Errorf("a picture: %v", err)
	}
}

func TestAFileThatCannotBeReadHereCanStillBeSent(t *testing.T) {
	o := newOfficeWith(t, func(p *Params) { quick(p); readDocuments(p) }, sandbox.Options{})
	d := o.draft()
	d.Files = []string{filepath.Join(t.TempDir(), "Odd.pdf")}
	noErr(t, os.WriteFile(d.Files[0], []byte("%PDF-1.7\nnothing that anybody understands\nstartxref\n9\n%%EOF\n"), 0o600))
	if i := o.Inspect(t.Context(), d.Files[0]); !i.Problem.IsZero() || !strings.Contains(i.Warning.String(), "can still be sent") {
		t.Errorf("%+v", i)
	}
	if state, err := o.Send(t.Context(), d, nil); err != nil || state.State != office.DraftSent {
		t.Errorf("%+v, %v", state, err)
	}
}
