package agent

import (
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// sendDueIn sends the draft with a due date so many days ahead.
func (o *testOffice) sendDueIn(c *wallClock, days int) string {
	o.t.Helper()
	d := o.draft()
	d.Due = c.now().AddDate(0, 0, days)
	state, err := o.Send(o.t.Context(), d, nil)
	if err != nil || state.State != office.DraftSent {
		o.t.Fatalf("send: %+v, %v", state, err)
	}
	return state.PackageID
}

// looked has it looked for what is due soon until that is told which is the last of what there is to tell.
func (o *testOffice) looked(marker string) {
	o.t.Helper()
	o.eventually(marker, func() bool { o.packages.WakeDeadlines(); return o.count(marker) > 0 })
}

func TestAPackageThatIsDueSoonIsToldOnceEver(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{}, func(s *office.Settings) { s.DueDays = 3 })
	id := o.sendDueIn(c, 10)
	archived := o.sendDueIn(c, 10)
	noErr(t, o.Archive(archived, true))
	o.packages.WakeDeadlines()
	o.wake(c, 8*24*time.Hour)
	o.looked("“Offer” is due in 2 days. Not signed yet by Ana Ruiz, Jan Weber.")
	o.restart()
	c.jump(24 * time.Hour)
	noErr(t, o.Archive(archived, false)) // now it may be told, and is the sign that the other one was passed over
	o.looked("“Offer” is due tomorrow.")
	if n := o.count("is due"); n != 2 {
		t.Errorf("told %d times: %q", n, o.notifications())
	}
	if a := o.Activity(50); len(a) == 0 || id == "" {
		t.Errorf("activity: %+v", a)
	}
}

func TestWhatIsDueSoonIsOwedUntilPeopleWantToHear(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{})
	o.sendDueIn(c, 5)
	o.Snooze(c.now().Add(3*24*time.Hour + time.Hour))
	c.jump(3 * 24 * time.Hour)
	noErr(t, o.packages.TellDueSoon())
	if n := o.count("is due"); n != 0 {
		t.Errorf("told %d times during a snooze", n)
	}
	c.jump(2 * time.Hour)
	o.looked("“Offer” is due")
}

func TestNobodyIsToldOfDueDatesWhereTheOfficeWantsNone(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{}, func(s *office.Settings) { s.DueDays = office.NoDueDays })
	o.sendDueIn(c, 5)
	c.jump(4 * 24 * time.Hour)
	noErr(t, o.packages.TellDueSoon())
	s := o.Settings()
	s.DueDays = 2
	noErr(t, o.Configure(t.Context(), s, office.Secrets{}))
	o.looked("“Offer” is due")
	if n := o.count("is due"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

func TestAnExpiredPackageIsToldOnceWithWhoHadNotSigned(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{}, func(s *office.Settings) { s.DueDays = office.NoDueDays })
	id := o.sendDueIn(c, 2)
	o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
	o.wake(c, 3*24*time.Hour)
	o.eventually("told", func() bool {
		o.packages.Wake()
		return o.count("“Offer” has expired before everyone signed. Not signed yet by Ana Ruiz, Jan Weber.") == 1
	})
	o.restart()
	o.stop()
	if n := o.count("expired"); n != 1 {
		t.Errorf("told %d times: %q", n, o.notifications())
	}
}
