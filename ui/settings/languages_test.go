package settings

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/test"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestTheScreenHoldsInGerman(t *testing.T) {
	i18n.Use("de")
	t.Cleanup(func() { i18n.Use("en") })
	for name, tab := range map[string]int{"de-documents": 0, "de-notices": tabNotices, "de-program": tabProgram, "de-service": tabService} {
		t.Run(name, func(t *testing.T) {
			b, s := shown(t, officetest.Busy())
			s.tabs.Choose(tab)
			b.Settle()
			b.Looks(name, "light", screentest.Small, 1)
		})
	}
}

func TestAPercentageIsWrittenAsItsLanguageDoes(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	for language, want := range map[string]string{"en": "200%", "de": "200 %", "fr": "200 %", "es": "200 %"} {
		i18n.Use(language)
		b, s := shown(t, officetest.Busy())
		s.tabs.Choose(tabProgram)
		b.Settle()
		found := false
		for _, o := range test.LaidOutObjects(s.Content()) {
			list, is := o.(*widgets.Select)
			found = found || is && slices.Contains(list.Options, want)
		}
		if !found {
			t.Errorf("%s: no choice reads %q", language, want)
		}
	}
}

func TestNoSectionIsCalledAsAnotherPage(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	for _, language := range i18n.Languages() {
		i18n.Use(language)
		b, s := shown(t, officetest.Busy())
		for tab := range tabConnection {
			s.tabs.Choose(tab)
			b.Settle()
			for _, o := range test.LaidOutObjects(s.Content()) {
				if line, is := o.(*widgets.Line); is && line.Bold && line.Text == lang.L("Connection") {
					t.Errorf("%s: page %d has a section %q", language, tab, line.Text)
				}
			}
		}
	}
}

func TestAPatternIsShownInTheLanguageOfTheWindowAndKeptInOneForm(t *testing.T) {
	i18n.Use("de")
	t.Cleanup(func() { i18n.Use("en") })
	o := officetest.Busy()
	b, s := shown(t, o)
	kept := s.settings().NameTemplate
	if s.form.template.Text != i18n.Pattern(kept) || s.form.template.Text == kept {
		t.Errorf("%q is shown as %q", kept, s.form.template.Text)
	}
	for typed, want := range map[string]string{"{datum} {Paket}/{Zeichen}": "{date} {package}/{reference}", "{date} {package}": "{date} {package}"} {
		s.form.template.SetText(typed)
		b.Settle()
		if got := s.settings().NameTemplate; got != want {
			t.Errorf("%q is kept as %q", typed, got)
		}
	}
	s.form.shapes.SetSelected("Ein Ordner je Monat")
	b.Settle()
	if got := s.form.template.Text; got != "{Monat}/{Paket} - {Dokument}" || s.settings().NameTemplate != "{month}/{package} - {document}" {
		t.Errorf("a ready-made pattern is shown as %q, kept as %q", got, s.settings().NameTemplate)
	}
}
