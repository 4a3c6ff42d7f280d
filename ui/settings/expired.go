package settings

import (
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// showExpired lists the packages whose papers need not be kept any longer, earliest signed first.
func showExpired(s *Screen) {
	env.Get(s.env, func(context.Context) ([]office.Package, error) {
		return s.office.MayGo(office.Query{Sort: office.ByExecuted, Reverse: true})
	}, func(list []office.Package) {
		rows := widgets.Stack(8)
		for _, p := range list {
			when := widgets.NewCaption(lang.L("signed {{.Date}}", i18n.V{"Date": p.Executed.Local().Format(time.DateOnly)}))
			rows.Add(widgets.Across(nil, widgets.NewFullName(i18n.Title(p.Name)), when))
		}
		says := lang.L("Countersign never deletes them. Delete them in their folders if you no longer need them.")
		if len(list) == 0 {
			says = lang.L("No document is past its retention period yet.")
			if s.kept.KeepYears == "" {
				says = lang.L("No retention period is set.")
			}
		}
		parts := []fyne.CanvasObject{widgets.NewHeading(lang.L("Documents past their retention period")), widgets.NewParagraph(says)}
		if len(list) > 0 {
			parts = append(parts, widgets.Tall(260, widgets.NewVScroll(rows)))
		}
		var pop *widgets.PopUp
		leave := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
		parts = append(parts, widgets.Row(8, layout.NewSpacer(), leave))
		pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, parts...)), fyne.NewSize(460, 0), leave, nil)
	})
}
