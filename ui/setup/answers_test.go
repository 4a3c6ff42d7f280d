package setup

import (
	"path/filepath"
	"testing"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
)

func TestTheFolderIsProposedInTheLanguageInUseUntilAnotherIsChosen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", t.TempDir())
	t.Cleanup(func() { i18n.Use("en") })
	o := officetest.Empty()
	o.Kept = office.DefaultSettings()
	var a Answers
	for code, want := range map[string]string{"en": "Signed", "de": "Unterschrieben", "fr": "Signés", "es": "Firmados"} {
		i18n.Use(code)
		a.begin(o)
		if got := filepath.Base(a.settings.SaveTo); got != want || !a.untouched() {
			t.Errorf("%s: %q, want %q; untouched %v", code, got, want, a.untouched())
		}
	}
	a.settings.SaveTo = "/srv/contracts"
	i18n.Use("de")
	a.begin(o)
	if a.settings.SaveTo != "/srv/contracts" {
		t.Errorf("what was chosen became %q", a.settings.SaveTo)
	}
}
