package settings

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func results(s *Screen) (list []office.CheckResult) {
	for _, c := range s.connection.list.Shown() {
		list = append(list, c.Result)
	}
	return list
}

func count(s *Screen, wanted office.CheckResult) (n int) {
	for _, r := range results(s) {
		if r == wanted {
			n++
		}
	}
	return n
}

func TestTheConnectionIsShownStepByStepAndTriedWhenAsked(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	if len(results(s)) != 0 {
		t.Error("the connection was asked for before anybody looked")
	}
	s.tabs.Choose(tabConnection)
	b.Settle()
	if count(s, office.CheckUnknown) != 4 || count(s, office.CheckFine) != 7 {
		t.Errorf("at first: %v", results(s))
	}
	test.Tap(s.connection.try)
	b.Settle()
	if count(s, office.CheckFine) != 11 || s.connection.try.Text != "Try everything" {
		t.Errorf("after everything was tried: %v, %q", results(s), s.connection.try.Text)
	}
	b.Office.Change(office.StatusChanged, func(*officetest.Office) {})
	s.Reload()
	b.Settle()
	if count(s, office.CheckFine) != 11 {
		t.Errorf("what was tried went away by itself: %v", results(s))
	}
	s.tabs.Choose(tabService)
	s.tabs.Choose(tabConnection)
	b.Settle()
	if count(s, office.CheckUnknown) != 4 {
		t.Errorf("when somebody comes back: %v", results(s))
	}
}

func TestTryingCanBeStopped(t *testing.T) {
	o := officetest.Busy()
	asked, goOn := make(chan bool), make(chan bool)
	o.OnTry = func(found []office.Check) []office.Check {
		asked <- true
		<-goOn
		return found
	}
	b, s := shown(t, o)
	s.tabs.Choose(tabConnection)
	b.Settle()
	test.Tap(s.connection.try)
	<-asked
	if s.connection.try.Text != "Stop" {
		t.Errorf("the button says %q", s.connection.try.Text)
	}
	test.Tap(s.connection.try)
	close(goOn)
	b.Settle()
	if s.connection.try.Text != "Try everything" || count(s, office.CheckUnknown) != 4 {
		t.Errorf("after it was stopped: %q, %v", s.connection.try.Text, results(s))
	}
}

func TestTheAddressesToAllowCanBeCopied(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.tabs.Choose(tabConnection)
	b.Settle()
	test.Tap(s.connection.copy.Button)
	b.Settle()
	if want := strings.Join(b.Office.Hosts(), "\n"); !slices.Equal(b.Copied, []string{want}) {
		t.Errorf("copied %q, want %q", b.Copied, want)
	}
}

func TestTheConnectionLooksAsItWasApproved(t *testing.T) {
	opened := func(o *officetest.Office) { o.Steps = officetest.OpenedWay() }
	for _, c := range []struct {
		name, language, theme string
		set                   func(*officetest.Office)
		scale                 float32
	}{
		{"connection", "en", "light", func(*officetest.Office) {}, 1},
		{"connection-dark", "en", "dark", opened, 1},
		{"connection-200", "en", "light", opened, 2},
		{"de-connection", "de", "light", opened, 1},
		{"fr-connection", "fr", "light", func(o *officetest.Office) {
			o.Steps = officetest.Way()
			o.Steps[2].Result, o.Steps[2].Found = office.CheckWrong, message.NetworkWantsBrowser()
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			i18n.Use(c.language)
			t.Cleanup(func() { i18n.Use("en") })
			o := officetest.Busy()
			c.set(o)
			b, s := shown(t, o)
			s.tabs.Choose(tabConnection)
			b.Settle()
			b.Looks(c.name, c.theme, screentest.Small, c.scale)
		})
	}
}
