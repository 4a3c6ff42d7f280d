package compose

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestAListBesideADocumentIsShownCellByCellAndSent(t *testing.T) {
	o := officetest.Busy()
	b := newBench(t, told(o))
	b.screen.Add([]string{"/x/Mieter.csv"})
	b.Settle()
	if b.screen.lists.panel != nil || len(b.screen.docs) != 0 || len(b.Notices) != 1 {
		t.Fatalf("a list without a document: %q", b.Notices)
	}
	b = listed(t, o)
	p := b.screen.lists.panel
	cell := func(row, column int) string {
		c := p.newCell().(*listCell)
		p.cell(widget.TableCellID{Row: row, Col: column}, c)
		return c.line.Text + "|" + c.More
	}
	for at, want := range map[[2]int]string{
		{0, 0}: "2  ready|", {1, 0}: "3  not sent|The e-mail address of “Ana Ruiz” is missing or incomplete.", {1, 2}: "ana@|The e-mail address of “Ana Ruiz” is missing or incomplete.", {2, 0}: "4  sent before|",
		{4, 4}: "#BEZUG!|The spreadsheet shows an error here: “#BEZUG!”.", {5, 3}: "31.12.2026|",
	} {
		if got := cell(at[0], at[1]); got != want {
			t.Errorf("cell %v: %q, want %q", at, got, want)
		}
	}
	if p.send.Text != "Send 3 packages" || !strings.HasPrefix(p.text.Text, "2 lines have mistakes") {
		t.Errorf("%q, %q", p.send.Text, p.text.Text)
	}
	p.again.SetChecked(true)
	if p.send.Text != "Send 5 packages" {
		t.Errorf("with those that were sent before: %q", p.send.Text)
	}
	p.only.SetChecked(true)
	if !slices.Equal(p.rows, []int{1, 4}) {
		t.Errorf("lines with mistakes: %v", p.rows)
	}
	p.table.Select(widget.TableCellID{Col: 2})
	if !strings.Contains(p.text.Text, "“Ana Ruiz”") {
		t.Errorf("of the chosen cell it says %q", p.text.Text)
	}
	p.again.SetChecked(false)
	b.screen.Send() // Ctrl+Enter
	b.Settle()
	if p.note.Text != "1 of 7 packages sent · 3 not sent" || len(b.screen.docs) != 0 || p.send.Visible() {
		t.Errorf("while it is sent: %q", p.note.Text)
	}
	b.Tap(p.pause)
	b.Settle()
	if o.Bulk[0].State != office.BulkPaused || p.pause.Text != "Resume" || !strings.HasSuffix(p.note.Text, "paused") {
		t.Errorf("paused: %+v, %q", o.Bulk[0], p.note.Text)
	}
	b.screen.Drop([]string{"/x/Next.csv"}, fyne.NewPos(100, 100))
	b.Settle()
	b.screen.Reload()
	b.Settle()
	if b.screen.lists.panel != nil || b.screen.lists.button.Hidden {
		t.Error("the list cannot be found again")
	}
}

// A workbook may be the document.
func TestAWorkbookIsAListOnlyIfSomebodySaysSo(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.Office.Table = people
	b.add("Prices.xlsx")
	b.screen.Add([]string{"/x/People.xlsx"})
	b.Settle()
	if len(b.screen.docs) != 1 || b.Window.Canvas().Overlays().Top() == nil {
		t.Fatalf("it is not asked: %q", b.names())
	}
	b.Press(screentest.Top(b.Window), "Add as a document")
	b.Settle()
	if !slices.Equal(b.names(), []string{"Prices.xlsx", "People.xlsx"}) || b.screen.lists.panel != nil {
		t.Errorf("as a document: %q", b.names())
	}
}
