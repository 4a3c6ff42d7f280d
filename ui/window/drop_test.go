package window

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/message"
	"countersign/ui/drop"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/theme"
)

// over drags something over a place of the window, in Fyne's measure.
func (b *bench) over(x, y float32, files bool) (takes bool) {
	scale := b.window.window.Canvas().Scale()
	return b.window.dragOver(drop.Point{X: int(x * scale), Y: int(y * scale)}, files)
}

func TestWhatIsDraggedOverTheWindowSeesWhereItWouldLand(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for _, c := range []struct {
		name  string
		at    int
		files bool
		takes bool
		says  string
	}{
		{"packages", showPackages, true, true, "Drop to send for signature"},
		{"activity", showActivity, true, true, "Drop to send for signature"},
		{"send", showCompose, true, true, "Drop to add to this package"},
		{"settings", showSettings, true, false, "Nothing can be dropped in Settings."},
		{"a link", showPackages, false, false, "Only files can be dropped here."},
		{"a link on send", showCompose, false, false, "Only files can be dropped here."},
	} {
		b.window.Go(c.at)
		if takes := b.over(500, 300, c.files); takes != c.takes || b.window.dropHint.Takes() != c.takes || !strings.HasPrefix(b.window.dropHint.Text(), c.says) {
			t.Errorf("%s: %v, %q", c.name, takes, b.window.dropHint.Text())
		}
		b.window.dragLeft()
		if b.window.dropHint.Text() != "" {
			t.Errorf("%s: the sign stays", c.name)
		}
	}
	b.over(500, 300, true)
	b.window.vanish()
	if b.window.dropHint.Text() != "" {
		t.Error("the sign stays while the window is closed")
	}
}

func TestAWizardTakesWhatIsDropped(t *testing.T) {
	b := newBench(t, unset())
	if b.window.setup == nil {
		t.Fatal("there is no wizard")
	}
	if !b.over(500, 300, true) || !strings.HasPrefix(b.window.dropHint.Text(), "Drop a file from your administrator") {
		t.Errorf("it says %q", b.window.dropHint.Text())
	}
}

func TestFilesThatAreOnTheirWayAreShown(t *testing.T) {
	b := newBench(t, officetest.Busy())
	says := func(when, want string) {
		t.Helper()
		b.Settle()
		if got := b.window.dropHint.Text(); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", when, got)
		}
	}
	b.window.fetching(true)
	says("at once", "") // most are there by now, and nothing flashes
	b.noticed()
	says("a moment later", "Fetching the dropped files")
	b.window.fetching(true)
	b.over(500, 300, true)
	says("while something else is over the window", "Drop to send")
	b.window.dragLeft()
	says("when that has left", "Fetching")
	b.window.fetching(false)
	b.window.dropped(drop.Point{}, []string{b.file("a.pdf", 10)}, nil)
	says("when one of two is there", "Fetching")
	b.window.enter(b.window.options.Office, false)
	says("in another view", "Fetching")
	b.window.fetching(false)
	b.window.dropped(drop.Point{}, nil, []error{message.Error(message.DropSilent(), nil)})
	says("at last", "")
}

// noticed lets the moment pass after which files that are on their way are shown.
func (b *bench) noticed() {
	b.pass(noticeable)
	b.Until(func() bool { return b.window.fetchSeen })
}

func TestADropThatNothingCanComeOfIsRefusedWithASentence(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.Go(showSettings)
	b.window.dropped(drop.Point{}, []string{b.file("a.pdf", 10)}, nil)
	b.Settle()
	if b.window.at != showSettings || !strings.Contains(b.window.notice.Text(), "Nothing can be dropped in Settings") {
		t.Errorf("said is %q", b.window.notice.Text())
	}
	b.window.dropped(drop.Point{}, nil, []error{message.Error(message.DropNoFile(), errors.New("a link"))})
	if !strings.Contains(b.window.notice.Text(), "Only files can be dropped") {
		t.Errorf("said is %q", b.window.notice.Text())
	}
}

func TestWhereADropLandsLooksAsItWasApproved(t *testing.T) {
	for _, c := range []struct {
		name     string
		language string
		theme    string
		act      func(*bench)
	}{
		{"drop-packages", "en", "light", func(b *bench) { b.over(500, 300, true) }},
		{"drop-packages-dark", "de", "dark", func(b *bench) { b.over(500, 300, true) }},
		{"drop-send", "en", "light", func(b *bench) { fill(b); b.over(400, 152, true) }},
		{"drop-send-empty-dark", "fr", "dark", func(b *bench) { b.window.Go(showCompose); b.Settle(); b.over(500, 300, true) }},
		{"drop-fetching", "de", "light", func(b *bench) {
			fill(b)
			b.window.fetching(true)
			b.noticed()
		}},
		{"drop-refused", "de", "light", func(b *bench) { b.window.Go(showSettings); b.Settle(); b.over(500, 300, true) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := inLanguage(t, c.language, officetest.Busy())
			b.App.Settings().SetTheme(theme.Look{Variant: c.theme}.Theme())
			c.act(b)
			b.looks(c.name, screentest.Big, 1)
		})
	}
}
