package window

import (
	"regexp"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/theme"
)

// inLanguage is an office whose window speaks a language.
func inLanguage(t *testing.T, code string, o *officetest.Office) *bench {
	t.Helper()
	o.Kept.Language = code
	t.Cleanup(func() { i18n.Use("en") })
	return newBench(t, o)
}

// TestTheWindowLooksAsApprovedInEveryLanguage looks most at German, whose words are the longest.
func TestTheWindowLooksAsApprovedInEveryLanguage(t *testing.T) {
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen) } }
	for _, c := range []struct {
		name     string
		language string
		office   *officetest.Office
		act      func(*bench)
		size     fyne.Size
	}{
		{"packages", "de", officetest.Busy(), func(*bench) {}, screentest.Big},
		{"packages-small", "de", officetest.Busy(), func(*bench) {}, screentest.Small},
		{"packages-wrong", "de", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, screentest.Small},
		{"packages-saved", "de", officetest.Busy(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, screentest.Big},
		{"send-empty", "de", officetest.Busy(), to(showCompose), screentest.Small},
		{"send-filled", "de", officetest.Busy(), fill, screentest.Small},
		{"send-wrong", "de", officetest.Wrong(), func(b *bench) { b.window.Go(showCompose); b.send() }, screentest.Small},
		{"activity", "de", officetest.Busy(), to(showActivity), screentest.Small},
		{"events", "de", officetest.Busy(), events, screentest.Small},
		{"refused", "de", officetest.Busy(), func(b *bench) { b.window.Go(showActivity); b.window.activity.ShowRefused() }, screentest.Small},
		{"status", "de", officetest.Wrong(), to(showStatus), screentest.Small},
		{"help", "de", officetest.Busy(), to(showAbout), screentest.Small},
		{"signing-in", "de", officetest.Empty(), signingIn, screentest.Small},
		{"packages", "fr", officetest.Wrong(), func(*bench) {}, screentest.Small},
		{"send-filled", "fr", officetest.Busy(), fill, screentest.Small},
		{"status", "fr", officetest.Wrong(), to(showStatus), screentest.Small},
		{"packages", "es", officetest.Busy(), func(*bench) {}, screentest.Small},
		{"send-filled", "es", officetest.Busy(), fill, screentest.Small},
		{"activity", "es", officetest.Busy(), to(showActivity), screentest.Small},
	} {
		name := c.language + "-" + c.name
		t.Run(name, func(t *testing.T) {
			b := inLanguage(t, c.language, c.office)
			b.App.Settings().SetTheme(theme.Look{Variant: "light"}.Theme())
			c.act(b)
			b.looks(name, c.size, 1)
		})
	}
}

// english are words that German texts do not have. Names of people, documents and files are made up of others.
var english = regexp.MustCompile(`(?i)(^|\PL)(the|and|is|were|not|to|of|by|with|for|from|your|you|sign|signed|signing|saved|waiting|document|documents|package|packages|people)(\PL|$)`)

// names are what the made-up office calls its documents, and the message it writes; they stay as they are.
var names = regexp.MustCompile(`Letter of ma\pL*|Signed/[^.]*\.pdf|in Signed|^Signed$|„Signed“|\{\w+\}|https://\S*|Here is the lease.*|the phone\.|/home/office/Documents/\w*|"\w+":.*`)

func TestNoScreenLeavesEnglishBehind(t *testing.T) {
	for name, office := range map[string]*officetest.Office{"busy": officetest.Busy(), "wrong": officetest.Wrong(), "empty": officetest.Empty()} {
		t.Run(name, func(t *testing.T) {
			b := inLanguage(t, "de", office)
			for screen := range b.window.screens {
				b.window.Go(screen)
				b.Settle()
				wantGerman(t, b)
			}
			fill(b)
			b.Settle()
			wantGerman(t, b)
			events(b)
			b.Settle()
			wantGerman(t, b)
			b.window.activity.ShowRefused()
			b.Settle()
			wantGerman(t, b)
			for _, row := range office.Rows {
				b.window.ShowPackage(row.ID)
				b.Settle()
				wantGerman(t, b)
			}
			for _, item := range b.window.tray.menu.Items {
				if text := names.ReplaceAllString(item.Label, ""); english.MatchString(text) {
					t.Errorf("the tray says %q", text)
				}
			}
		})
	}
}

func wantGerman(t *testing.T, b *bench) {
	t.Helper()
	for _, o := range test.LaidOutObjects(b.window.window.Content()) {
		shown, ok := o.(*canvas.Text)
		if !ok {
			continue
		}
		if text := names.ReplaceAllString(shown.Text, ""); english.MatchString(text) {
			t.Errorf("%q is English", text)
		}
	}
}

func TestTheSidebarIsAsWideWhileSomebodySignsIn(t *testing.T) {
	for _, language := range i18n.Languages() {
		t.Run(language, func(t *testing.T) {
			b := inLanguage(t, language, officetest.Empty())
			left := func() float32 {
				b.fill(screentest.Big)
				return b.App.Driver().AbsolutePositionForObject(b.window.stage).X
			}
			before := left()
			signingIn(b)
			if after := left(); after != before || before == 0 {
				t.Errorf("what is beside it moved from %v to %v", before, after)
			}
			b.fill(screentest.Small)
			top := func(o fyne.CanvasObject) float32 { return b.App.Driver().AbsolutePositionForObject(o).Y }
			if last := b.window.nav[len(b.window.nav)-1]; top(last)+last.Size().Height > top(b.window.account.content) {
				t.Errorf("the entries end at %v, the sign-in begins at %v", top(last)+last.Size().Height, top(b.window.account.content))
			}
		})
	}
}
