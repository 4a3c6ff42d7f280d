package settings

import (
	"testing"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
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
