package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

// speak changes the language of the office.
func (o *testOffice) speak(language string) {
	o.t.Helper()
	s := o.Settings()
	s.Language = language
	noErr(o.t, o.Configure(o.t.Context(), s, office.Secrets{}))
}

func TestNewFilesAreNamedInTheLanguageOfTheOffice(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) {
		s.SaveCAC, s.SaveMaster, s.Language = true, true, "de"
	})
	id := o.send()
	signAll(o, id)
	o.eventually("saved", func() bool { return saved(o, id) })
	if got := strings.Join(o.files(), "|"); got != "Offer - Gesamtdatei.pdf|Offer - Offer 2026-118 - Zertifikat.pdf|Offer - Offer 2026-118.pdf" {
		t.Errorf("files: %s", got)
	}
}

func TestAChangeOfLanguageNeitherRenamesNorDoublesAFile(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) {
		s.SaveCAC, s.SaveMaster, s.NameTemplate, s.Language = true, true, "{document} {kind}", "en"
	})
	first := o.send()
	signAll(o, first)
	o.eventually("saved", func() bool { return saved(o, first) })
	english := o.files()
	same := func(when string) {
		t.Helper()
		if got := o.files(); !slices.Equal(got, english) {
			t.Errorf("%s: %q, were %q", when, got, english)
		}
		for _, f := range o.packageRow(first).Files {
			if _, err := os.Stat(f.Path); err != nil || f.State != office.JobDone {
				t.Errorf("%s: %s is not found again: %v", when, f.Path, err)
			}
		}
	}

	o.speak("de")
	o.restart()
	o.eventually("the package is known", func() bool { return saved(o, first) })
	same("after the change")

	o.loseState()
	o.eventually("the package is read again", func() bool { return saved(o, first) })
	same("after the state was lost")

	lost := filepath.Join(o.folder, english[0])
	noErr(t, os.Remove(lost))
	noErr(t, o.SaveAgain(first))
	o.eventually("it is saved again", func() bool { _, err := os.Stat(lost); return err == nil && saved(o, first) })
	same("after it was saved again")
}

func TestTheExampleIsInTheLanguageThatIsChosen(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Language: func() string { return "fr" }})
	noErr(t, err)
	defer a.Close()
	for language, want := range map[string]string{"": "Lease signé.pdf", "es": "Lease firmado.pdf", "tlh": "Lease signed.pdf"} {
		s := theOffice().Settings
		s.SaveTo, s.NgrokCA, s.NameTemplate, s.Language = t.TempDir(), "", "{document} {kind}", language
		if got, err := a.PreviewName(s); err != nil && language != "tlh" || err == nil && got != want {
			t.Errorf("%q: %q, %v", language, got, err)
		}
	}
}

// packageRow is what the window shows of a package.
func (o *testOffice) packageRow(id string) office.PackageRow {
	row, _ := o.Package(id)
	return row
}
