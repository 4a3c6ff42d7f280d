package packages

import (
	"context"
	"image"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// matched is a busy office in which the first signed document was compared with that end.
func matched(m office.Match) *officetest.Office {
	o := officetest.Busy()
	for i, row := range o.Rows {
		if row.ID == "p3" {
			o.Rows[i].Files[0].Match = m
			if m.State == office.MatchChanged {
				o.Rows[i].Problem, o.Rows[i].Saved = m.Text(), true
			}
		}
	}
	return o
}

func TestAPressOnWhatWasChangedShowsBothPagesWithTheChangesOneAfterTheOther(t *testing.T) {
	b := showing(t, matched(office.Match{State: office.MatchChanged, Page: 1, Was: "5,200.00", Now: "9,250.00"}), "p3")
	top := func() fyne.CanvasObject { return b.Env.Window.Canvas().Overlays().Top() }
	b.Press(b.screen.detail, "Show differences")
	b.Settle()
	if top() == nil {
		t.Fatal("nothing is shown")
	}
	says := func(wanted ...string) {
		t.Helper()
		b.Settle()
		said := screentest.Text(top())
		for _, w := range wanted {
			if !strings.Contains(said, w) {
				t.Errorf("it lacks %q: %s", w, said)
			}
		}
	}
	says("1 of 3", "gone, covered or changed: “5,200.00”, now “9,250.00”", "Sent: page 1", "Came back: page 1")
	next := screentest.Button(top(), "Next")
	next.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	says("2 of 3", "“Ana Ruiz”", "Came back: page 2")
	next.OnTapped()
	next.OnTapped() // there are no more
	says("3 of 3", "Not part of what was sent.", "Came back: page 3")
	next.TypedKey(&fyne.KeyEvent{Name: fyne.KeyLeft})
	screentest.Button(top(), "Enlarge").OnTapped()
	says("2 of 3")
	screentest.Button(top(), "Whole page").OnTapped()
	if asked := b.Office.Asked("page false 2"); asked != 1 {
		t.Errorf("page 2 was drawn %d times", asked)
	}
}

func TestWhatIsNotWhatWasSentIsSaidOnceAndGreenNowhere(t *testing.T) {
	for _, of := range []office.File{{Match: office.Match{State: office.MatchChanged, Page: 1, Was: "5,200.00", Now: "9,250.00"}}, {Seal: office.Seal{State: office.SealBroken}}} {
		o := matched(of.Match)
		row := &o.Rows[1]
		row.Files[0].Seal = of.Seal
		row.Problem, row.Saved = office.SavedFile{Seal: of.Seal, Match: of.Match}.Fault(), true
		b := showing(t, o, "p3")
		said := screentest.Text(b.screen.detail)
		if of.Match.State != "" && strings.Count(said, "became") != 1 {
			t.Errorf("it is not said once: %s", said)
		}
		f := b.screen.record.file(row.Files[0])
		screentest.Equal(t, "the file", f.note, "Not what was sealed or sent")
		screentest.Equal(t, "its mark", f.mark, theme.MarkProblem)
		screentest.Equal(t, "the row", textOf(b.screen.env.Now(), 0, b.screen.listed(b.screen.record)), "Not what was sealed or sent")
		first := screentest.All[*widgets.Button](b.screen.sheet)[0]
		if want := of.Match.State != ""; want != (first.Text == "Show differences") || want != (first.Importance == widget.HighImportance) || strings.Contains(said, "Open signed document") {
			t.Errorf("the first button is %q: %s", first.Text, said)
		}
	}
}

// unread is an office that draws no page until nobody waits for it, and then says that it could not be read.
type unread struct{ Office }

func (unread) ComparedPage(ctx context.Context, _ string, _ office.File, _ bool, _, _ int) (image.Image, error) {
	<-ctx.Done()
	return nil, message.Error(office.Match{State: office.MatchUnread}.Text(), ctx.Err())
}

func TestAPageThatIsLeftIsNotSaidToBeUnreadable(t *testing.T) {
	b := showing(t, matched(office.Match{State: office.MatchChanged}), "p3")
	b.screen.office = unread{b.Office}
	b.screen.showDifferences("p3", b.screen.record.row.Files[0])
	b.Until(func() bool { return screentest.Top(b.Window) != nil })
	screentest.Button(screentest.Top(b.Window), "Next").OnTapped()
	screentest.Button(screentest.Top(b.Window), "Close").OnTapped()
	b.Settle()
	screentest.Equal(t, "said", b.Notices, nil)
}

func TestPagesWithoutADifferenceFollowInTheirOrder(t *testing.T) {
	missing, added, one, three := agent.Difference{Page: 2, Kind: "missing"}, agent.Difference{Back: 1, Kind: "page"}, agent.Difference{Page: 1, Back: 2}, agent.Difference{Page: 3, Back: 3}
	steps := inOrder(agent.Comparison{Places: []agent.Difference{missing, added}, Same: []agent.Difference{one, three}})
	screentest.Equal(t, "steps", steps, []agent.Difference{missing, added, one, three})
}
