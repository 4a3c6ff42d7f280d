package compose

import (
	"cmp"
	"image"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// document is a file that was added, and its row. The row stays the same while documents change their order, so that a
// drag or the focus never loses it.
type document struct {
	path     string
	from     string         // where it was found, if its bytes are elsewhere now
	info     agent.FileInfo // what the office says of it, once looked is set
	looked   bool
	refused  string    // why it was not taken the last time, a sentence; empty when it was not refused by itself
	original *original // of the template, whose place it takes; nil for none
	draft    string    // what the office keeps of that attempt; sending anew replaces it

	row        fyne.CanvasObject
	edge       *widgets.Back
	dragHandle *dragHandle
	name       *widgets.Prose
	note       *widgets.Line
	busy       *widget.Activity
	picture    *fyne.Container   // page 1, or an icon
	page       fyne.CanvasObject // page 1 in its edge; nil while there is no picture of it
	meter      *meter
	say        *widget.Label // what is wrong, on as many lines as it needs
	remove     *widgets.Button
}

func (d *document) title() string {
	if d.info.Name != "" {
		return d.info.Name
	}
	return filepath.Base(d.path)
}

// pictureSize is the room for page 1 in a row.
var pictureSize = fyne.NewSize(34, 44)

func (s *Screen) newDocument(path string) *document {
	d := &document{path: path, name: widgets.NewFullName(""), note: widgets.NewCaption(""), busy: widget.NewActivity(),
		meter: newMeter(4), say: widget.NewLabel("")}
	d.say.Wrapping, d.say.SizeName = fyne.TextWrapWord, theme.Caption
	d.remove = s.newButton("", fynetheme.DeleteIcon(), func() { s.removeDocument(d) })
	d.remove.Importance = widget.LowImportance
	d.remove.Says = func() string { return cmp.Or(d.remove.Tip, widgets.Removing(d.title())) }
	d.dragHandle = s.newDragHandle(s.fileBox, func() int { return slices.Index(s.docs, d) }, s.placeDocument, func() { s.removeDocument(d) })
	d.dragHandle.Says = func() string { return moving(d.title()) }
	d.picture = container.NewStack()
	sheet := container.NewGridWrap(pictureSize, d.picture)
	left := widgets.Row(4, d.dragHandle, container.NewStack(sheet, container.NewCenter(d.busy)))
	text := widgets.Stack(2, d.name, d.note, d.meter.content)
	d.row, d.edge = tightCard(widgets.Stack(0, widgets.Across(left, text, d.remove), d.say))
	return d
}

// tightCard is a card with less room than usual, so that many documents stay in sight. Its edge can be a mark.
func tightCard(content fyne.CanvasObject) (card fyne.CanvasObject, edge *widgets.Back) {
	edge = widgets.NewBack(theme.Surface)
	edge.Outline(theme.Line)
	return container.NewStack(edge, widgets.PadHV(8, 6, content)), edge
}

// show brings the row up to date. many says that there is an order to change; locked that the document is on its way.
func (d *document) show(many, locked bool) {
	d.name.Set(d.title())
	d.note.Set(d.facts())
	d.dragHandle.Hidden = !many || locked
	d.remove.Hidden = locked
	d.note.Hidden, d.meter.content.Hidden = locked || d.note.Text == "", !locked
	d.sayWhat()
	if d.looked {
		d.busy.Stop()
		d.busy.Hide()
	} else {
		d.busy.Show()
		d.busy.Start()
	}
	d.edge.Outline(theme.Line)
	switch {
	case d.wrong():
		d.edge.Outline(theme.Attention)
		d.showIcon(theme.MarkProblem.Resource())
	case d.page == nil && d.looked:
		d.showIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))
	case d.page != nil:
		widgets.Remake(d.picture, d.page)
	}
	d.row.Refresh()
}

func (d *document) showIcon(icon fyne.Resource) {
	widgets.Remake(d.picture, container.NewCenter(container.NewGridWrap(fyne.NewSquareSize(24), widget.NewIcon(icon))))
}

// unsendable says that it cannot be sent as it is.
func (d *document) unsendable() bool { return !d.info.Problem.IsZero() }

func (d *document) wrong() bool { return !d.info.Problem.IsZero() || d.refused != "" }

// facts are "3 pages · 48 KB".
func (d *document) facts() string {
	if !d.looked {
		return ""
	}
	var facts []string
	if d.info.Pages > 0 {
		facts = append(facts, pages(d.info.Pages))
	}
	if d.info.Size > 0 {
		facts = append(facts, i18n.Size(d.info.Size))
	}
	return strings.Join(facts, " · ")
}

// sayWhat shows the gravest thing there is to know, or nothing.
func (d *document) sayWhat() {
	text, importance := i18n.Message(d.info.Problem), widget.DangerImportance
	switch {
	case text != "":
	case d.refused != "":
		text = d.refused
	default:
		text, importance = i18n.Message(d.info.Warning), widget.WarningImportance
	}
	d.say.Importance, d.say.Hidden = importance, text == ""
	d.say.SetText(text)
}

// showPage puts a picture of page 1 in the icon's place.
func (d *document) showPage(page image.Image) {
	if page.Bounds().Empty() {
		return
	}
	d.page = widgets.Sheet(page, pictureSize, theme.Secondary)
	if !d.wrong() {
		widgets.Remake(d.picture, d.page)
	}
}

// meter is a thin bar that fills from the left.
type meter struct {
	content *fyne.Container
	height  float32
	part    float32
}

func newMeter(height float32) *meter {
	m := &meter{height: height}
	m.content = container.New(m, widgets.NewBack(fynetheme.ColorNameButton), widgets.NewBack(theme.Ink))
	return m
}

// set fills part of it, from 0 to 1.
func (m *meter) set(part float64) {
	m.part = float32(min(1, max(0, part)))
	m.content.Refresh()
}

// Layout is Fyne's.
func (m *meter) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for i, width := range []float32{size.Width, size.Width * m.part} {
		objects[i].Move(fyne.NewPos(0, (size.Height-m.height)/2))
		objects[i].Resize(fyne.NewSize(width, m.height))
	}
}

// MinSize is Fyne's.
func (m *meter) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(0, m.height) }
