package status

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/agent/health"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

func shown(t *testing.T, o *officetest.Office) (*screentest.Bench, *Screen) {
	t.Helper()
	b := screentest.New(t, o)
	s := New(b.Env, b.Office)
	b.Open(s, screentest.Big)
	s.ShowStatus(officetest.Must(b.Office.Status()))
	b.Settle()
	return b, s
}

// count is how many rows have a mark.
func count(s *Screen, mark theme.Mark) (n int) {
	for _, r := range s.drawn {
		if r.mark() == mark {
			n++
		}
	}
	return n
}

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	opened, asks := officetest.Busy(), officetest.Wrong()
	opened.Steps = officetest.OpenedWay()
	asks.State.Health = append(asks.State.Health, agent.Issue{ID: "notify", Severity: agent.Info, Since: officetest.Now, Message: message.NotificationsFail()})
	for _, c := range []struct {
		name, language, theme string
		office                *officetest.Office
		size                  fyne.Size
		scale                 float32
	}{
		{"fine", "en", "light", officetest.Busy(), screentest.Big, 1},
		{"wrong-dark", "en", "dark", asks, screentest.Big, 1},
		{"de-opened-200", "de", "light", opened, screentest.Small, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			screentest.Speak(t, c.language)
			b, _ := shown(t, c.office)
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}

// TestWhatIsWrongIsTickedNowhere sets everything that can be wrong, one after the other, also after all steps were tried and found fine.
func TestWhatIsWrongIsTickedNowhere(t *testing.T) {
	o := officetest.Busy()
	o.State.Events.Problems = 0
	b, s := shown(t, o)
	fine := officetest.Must(b.Office.Status())
	test.Tap(s.try)
	b.Settle()
	all := count(s, theme.MarkSigned)
	if s.headline.Text != "Everything works" || all != len(parts) {
		t.Fatalf("%q, and %d steps are fine", s.headline.Text, all)
	}
	for _, state := range append(health.States(), health.Stopped("loop")) {
		bad, step := fine, 0
		bad.Health = []agent.Issue{{ID: state.ID, Severity: state.Severity, Action: state.Action, Since: officetest.Now, Message: message.Stopped()}}
		if !state.Step.IsZero() {
			step = 1
		}
		s.ShowStatus(bad)
		b.Settle()
		works := 0 // the headline's tick
		if state.Severity == agent.Info {
			works = 1
		}
		if n := count(s, theme.MarkSigned); n != all-step || (s.headline.Text == "Works, with 1 note") != (works == 1) {
			t.Errorf("%s: %q, and %d of %d steps are ticked", state.ID, s.headline.Text, n, all)
		}
		ticks := 0
		for _, icon := range screentest.All[*widget.Icon](s.content) {
			if icon.Visible() && icon.Resource == theme.MarkSigned.Resource() {
				ticks++
			}
		}
		screentest.Equal(t, state.ID+": ticks", ticks, all-step+works)
		if says := strings.Count(screentest.Text(s.content), i18n.Message(message.Stopped())); says != 1 {
			t.Errorf("%s: it is said %d times", state.ID, says)
		}
		if word := i18n.Action(state.Action); word != "" {
			b.Press(s.content, word)
			screentest.Equal(t, "went", b.Went[len(b.Went)-1], "act "+state.ID)
		}
	}
	s.ShowStatus(fine)
	screentest.Equal(t, "in the end", s.headline.Text, "Everything works")
}

func TestARowLeadsToItsCause(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	for _, step := range []message.Message{message.StepService(), message.StepAddress(), message.StepEvent(), message.StepDocuments()} {
		at := slices.IndexFunc(s.drawn, func(r row) bool { return r.name == step })
		test.Tap(s.row(s.drawn[at], false).(fyne.Tappable))
		screentest.Equal(t, "went", b.Went[len(b.Went)-1], fmt.Sprint("step ", step))
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) {
		o.State.Health = []agent.Issue{{ID: health.FilesAstray.ID, Severity: agent.Problem, Action: health.FilesAstray.Action, Message: message.FilesAstray(1, []string{"a.pdf"})}}
	})
	s.ShowStatus(b.Office.State)
	at := slices.IndexFunc(s.drawn, func(r row) bool { return r.name == message.StepDocuments() })
	widgets.FirstIn(s.row(s.drawn[at], false)).TypedKey(&fyne.KeyEvent{Name: fyne.KeySpace})
	screentest.Equal(t, "went", b.Went[len(b.Went)-1], "act ")
}

func TestFilesThatWereNotSentAreShownInTheirFolders(t *testing.T) {
	o := officetest.Busy()
	o.Folders = []office.HotFolderRow{{HotFolder: office.HotFolder{ID: "a", Path: "/x/Scans"}, Refused: 2}, {HotFolder: office.HotFolder{ID: "b", Path: "/x/Leases"}}}
	o.State.Health = []agent.Issue{{ID: agent.IssueNotSent, Severity: agent.Problem, Action: agent.ActDismiss, Message: message.FilesNotSent(2, "Scans")}}
	b, s := shown(t, o)
	b.Press(s.content, "Show in folder")
	b.Settle()
	screentest.Equal(t, "opened", b.System.Opened, []string{"file " + filepath.Join("/x/Scans", office.HotProblems)})
}

func TestWhatIsWrongWithSavedDocumentsLeadsToThem(t *testing.T) {
	for _, id := range []string{agent.IssueWrong, agent.IssueAstray} {
		o := officetest.Busy()
		o.State.Health = []agent.Issue{{ID: id, Severity: agent.Problem, Action: agent.ActDismiss, Message: message.DocumentsWrong(1)}}
		b, s := shown(t, o)
		b.Press(s.content, "Show in Packages")
		b.Settle()
		screentest.Equal(t, "it leads", b.Went, []string{"act "})
	}
}

func TestTheCheckOfTheFilesShowsItsProgress(t *testing.T) {
	_, s := shown(t, officetest.Busy())
	s.cancel = func() {}
	way := officetest.Way()
	last := &way[len(way)-1]
	last.Result, last.Found = office.CheckUnderWay, message.FilesBeingChecked(1, 3)
	s.progress(way)
	if said := screentest.Text(s.content); !strings.Contains(said, "1 of 3 saved files checked") {
		t.Errorf("it says %s", said)
	}
}

func TestNothingIsToBeCheckedOfAnOfficeThatHasMoved(t *testing.T) {
	o := officetest.Busy()
	o.Steps = []office.Check{}
	o.State.Health = []agent.Issue{{ID: "moved", Severity: agent.Problem, Action: agent.ActTakeBack, Since: officetest.Now, Message: message.MovedAway("x.countersign")}}
	_, s := shown(t, o)
	if len(s.drawn) != 1 || s.around[2].Visible() || s.around[3].Visible() || s.headline.Text != "1 problem needs your attention" {
		t.Errorf("it says %s", screentest.Text(s.content))
	}
}

// TestNothingIsTickedBeforeItIsKnownAndNothingMoves follows the rows while they are tried, and when somebody comes back.
func TestNothingIsTickedBeforeItIsKnownAndNothingMoves(t *testing.T) {
	o := officetest.Busy()
	o.State.Events.Problems = 0
	asked, goOn := make(chan bool), make(chan bool)
	o.Do("TryConnection", func() error {
		asked <- true
		<-goOn
		return nil
	})
	empty := screentest.New(t, o)
	unread := New(empty.Env, empty.Office)
	screentest.Equal(t, "ticks before anything is known", count(unread, theme.MarkSigned), 0)
	screentest.Equal(t, "it says", unread.headline.Text, "Checking…")

	b, s := shown(t, o)
	places := func() (all []fyne.Position) {
		for _, card := range s.cards {
			for _, row := range card.Objects {
				all = append(all, fyne.CurrentApp().Driver().AbsolutePositionForObject(row))
			}
		}
		return all
	}
	before := places()
	screentest.Equal(t, "rows", len(s.drawn), len(parts))
	stays := func(when string) {
		t.Helper()
		if now := places(); !slices.Equal(now, before) {
			t.Errorf("%s: the rows were at %v, and are at %v", when, before, now)
		}
	}
	test.Tap(s.try)
	<-asked
	screentest.Equal(t, "the button says", s.try.Text, "Stop")
	under := officetest.Way()
	for i := range under {
		under[i].Result, under[i].Found = office.CheckUnderWay, message.BeingTried()
	}
	s.progress(under)
	screentest.Equal(t, "ticks while it is tried", count(s, theme.MarkSigned), 0)
	stays("while it is tried")
	test.Tap(s.try)
	close(goOn)
	b.Settle()
	screentest.Equal(t, "after it was stopped", fmt.Sprint(s.try.Text, count(s, theme.MarkSigned)), fmt.Sprint("Run all checks", len(parts)))
	go func() { <-asked }()
	test.Tap(s.try)
	b.Settle()
	stays("once it was tried")
	s.Enter()
	screentest.Equal(t, "ticks for somebody who comes back, before it is read", count(s, theme.MarkSigned), 0)
	stays("before it is read")
	b.Settle()
	screentest.Equal(t, "and then", count(s, theme.MarkSigned), len(parts))
	stays("once it is read")
}

// TestAStepThatFailsWhenTriedIsAProblem shows what health does not know yet.
func TestAStepThatFailsWhenTriedIsAProblem(t *testing.T) {
	o := officetest.Busy()
	o.Steps = officetest.OpenedWay()
	_, s := shown(t, o)
	screentest.Equal(t, "of one reason", s.headline.Text, "1 problem needs your attention")
}

func TestTheAddressesToAllowCanBeCopied(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	test.Tap(s.copy.Button)
	b.Settle()
	if want := strings.Join(b.Office.Hosts(), "\n"); !slices.Equal(b.Copied, []string{want}) {
		t.Errorf("copied %q, want %q", b.Copied, want)
	}
}

// TestOneProblemIsSaidOnce lets the service be down, which health and the checks each find in their own words.
func TestOneProblemIsSaidOnce(t *testing.T) {
	o := officetest.Busy()
	o.State.Health = []agent.Issue{{ID: agent.IssueService, Severity: agent.Warning, Action: agent.ActRetry, Since: officetest.Now, Message: message.ServiceUnreachable()}}
	o.State.Tried, o.State.Next = officetest.Now, officetest.Now.Add(2*time.Minute)
	_, s := shown(t, o)
	way := officetest.Way()
	for i := range way {
		if way[i].Step == message.StepSignInAddress() || way[i].Step == message.StepService() {
			way[i].Result, way[i].Found = office.CheckWrong, message.ServiceNotFound()
		}
	}
	s.ended(way, nil)
	said := screentest.Text(s.cards[0])
	if n := count(s, theme.MarkNext); n != 1 || count(s, theme.MarkProblem) != 0 || len(s.cards[0].Objects) != 1 {
		t.Errorf("%d rows, which say %s", n, said)
	}
	for _, want := range []string{"could not be reached", "tried 14:02, next 14:04", "Try again"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	o.State.Checking = true
	s.ShowStatus(o.State)
	if said := screentest.Text(s.cards[0]); !strings.Contains(said, "Trying…") || strings.Contains(said, "Try again") {
		t.Errorf("while it is tried, it says %q", said)
	}
}

func TestACardSaysACountOnce(t *testing.T) {
	o := officetest.Busy()
	o.State.Saves = agent.JobCounts{Pending: 3}
	_, s := shown(t, o)
	if said := screentest.Text(s.content); !strings.Contains(said, "Saving to “Signed” · 3 waiting") || strings.Contains(said, "files saved") {
		t.Errorf("it says %s", said)
	}
	o.State.Health = []agent.Issue{{ID: agent.IssueFolder, Severity: agent.Problem, Action: agent.ActChooseFolder, Since: officetest.Now, Message: message.WaitForFolder("Signed", 3)}}
	s.ShowStatus(o.State)
	if said := screentest.Text(s.content); strings.Contains(said, "3 waiting") || !strings.Contains(said, "3 files are waiting") {
		t.Errorf("it says %s", said)
	}
}

func TestANoteIsMarkedAndFirst(t *testing.T) {
	o := officetest.Busy()
	o.State.Events.Problems = 0
	o.State.Health = []agent.Issue{{ID: health.NoAddress.ID, Severity: agent.Info, Since: officetest.Now, Message: message.NoAddress()}}
	_, s := shown(t, o)
	if s.drawn[0].mark() != theme.MarkNote || count(s, theme.MarkNote) != 1 || !strings.Contains(screentest.Text(s.cards[1]), "There is no public address") {
		t.Errorf("first is %+v", s.drawn[0])
	}
}
