package window

import (
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestAPressOnANotificationShowsWhatItIsAbout(t *testing.T) {
	b := newBench(t, officetest.Busy())
	last := b.Office.Rows[len(b.Office.Rows)-1]
	b.window.Go(showSettings)
	b.window.show("")
	if b.window.at != showSettings {
		t.Errorf("a press on what is about several packages leads to %d", b.window.at)
	}
	b.Office.Change(office.ShowSubject(office.PackageSubject(last.ID)), func(*officetest.Office) {})
	b.Until(func() bool { return b.window.at == showPackages })
	b.Settle()
	shown := screentest.Text(b.window.packages.Content())
	if b.window.at != showPackages || strings.Count(shown, i18n.Title(last.Name)) < 2 { // in the list, and as the heading
		t.Errorf("at %d, %q is not shown:\n%s", b.window.at, last.Name, shown)
	}
	b.window.Go(showSettings)
	for subject, at := range map[office.Subject]int{office.DraftSubject("d"): showCompose, office.HotFolderSubject("scans"): showActivity, office.ActivitySubject: showActivity} {
		if b.window.show(subject); b.window.at != at {
			t.Errorf("a press on %s leads to %d", subject, b.window.at)
		}
	}
	first := newBench(t, unset())
	first.window.Go(showSettings)
	first.window.show(office.PackageSubject(last.ID))
	if first.window.setup == nil || first.window.at != showSettings {
		t.Error("the first run is interrupted")
	}
}
