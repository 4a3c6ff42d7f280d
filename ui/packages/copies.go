package packages

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// copiesTo lists who gets a copy and does not sign.
func copiesTo(recipients []office.Recipient) fyne.CanvasObject {
	list := widgets.Stack(8)
	for _, r := range recipients {
		kind := lang.L("CC")
		if r.Blind {
			kind = lang.L("BCC")
		}
		how := widgets.NewCaption(kind)
		how.Shorten = false
		icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MailComposeIcon(), theme.Secondary))
		list.Add(widgets.Across(icon, widgets.Aside(150, whoIs(r.Person()), how), nil))
	}
	return widgets.Section(lang.L("Copies"), 0, list)
}
