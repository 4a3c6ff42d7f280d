package packages

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
)

// mostMarks is how many signers a row shows as shapes; more are said in words.
const mostMarks = 5

// item is one row of the list: name and age, then a shape for each signer and where the package stands.
type item struct {
	widget.BaseWidget
	name, age, line *widgets.Line
	marks           [mostMarks]*widget.Icon
	cells           [mostMarks]*fyne.Container // around the marks
	content         fyne.CanvasObject
}

func newItem() *item {
	i := &item{name: widgets.NewTitle(""), age: widgets.NewCaption(""), line: widgets.NewCaption("")}
	i.age.Shorten = false
	row := container.New(layout.NewCustomPaddedHBoxLayout(3))
	for n := range i.marks {
		i.marks[n] = widget.NewIcon(look.MarkLater.Resource())
		i.cells[n] = container.NewGridWrap(fyne.NewSquareSize(15), i.marks[n])
		row.Add(i.cells[n])
	}
	i.content = widgets.PadHV(12, 7, widgets.Stack(4,
		widgets.Across(nil, i.name, i.age),
		widgets.Across(row, i.line, nil)))
	i.ExtendBaseWidget(i)
	return i
}

// CreateRenderer is Fyne's.
func (i *item) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(i.content) }

func (i *item) show(now time.Time, row agent.PackageRow) {
	i.name.Set(words.Title(row))
	i.age.Set(words.Age(now, row.Created))
	marks, text := marksOf(now, row), words.Line(row)
	if row.SignersTotal > mostMarks {
		text = words.Progress(row) + " · " + text
	}
	for n, icon := range i.marks {
		if n >= len(marks) {
			i.cells[n].Hide()
			continue
		}
		icon.SetResource(marks[n].Resource())
		i.cells[n].Show()
	}
	i.line.Colour = look.Secondary
	if words.StandingOf(row) == words.Wrong {
		i.line.Colour = look.Attention
	}
	i.line.Text = text
	i.line.Refresh()
	i.content.Refresh()
}

// marksOf is a shape for each signer, after a triangle when something is wrong; one shape where there are too many
// signers or none is known.
func marksOf(now time.Time, row agent.PackageRow) []look.Mark {
	standing := words.StandingOf(row)
	if standing == words.Wrong || standing == words.Saved || len(row.Signers) == 0 || len(row.Signers) > mostMarks {
		return []look.Mark{standing.Mark()}
	}
	var marks []look.Mark
	for _, s := range row.Signers {
		marks = append(marks, words.StateOf(now, row, s).Mark)
	}
	return marks
}
