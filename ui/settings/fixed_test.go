package settings

import (
	"testing"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestWhatTheAdministratorHasFixedIsShownAndSaidToBe(t *testing.T) {
	o := officetest.Busy()
	o.Rules = []string{office.FieldSaveTo, office.FieldTemplate, office.FieldTunnel, "index"}
	b, s := shown(t, o)
	const why = "Fixed by the administrator of this computer."
	for _, key := range o.Rules {
		if k := s.form.by[key]; !k.input.Disabled() || said(s, key) != why {
			t.Errorf("%s: disabled %v, says %q", key, k.input.Disabled(), said(s, key))
		}
	}
	if k := s.form.by[office.FieldClientID]; k.input.Disabled() || said(s, office.FieldClientID) == why || !s.form.choose.Disabled() || !s.form.shapes.Disabled() {
		t.Error("only what is fixed is fixed, and with all that changes it")
	}
	b.Looks("fixed", "light", screentest.Big, 1)
	o.Change(office.SettingsChanged, func(o *officetest.Office) { o.Rules = nil })
	s.Reload()
	b.Settle()
	if k := s.form.by[office.FieldSaveTo]; k.input.Disabled() || said(s, office.FieldSaveTo) == why {
		t.Error("it is the office's own again")
	}
}
