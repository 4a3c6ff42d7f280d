// Command barewindow is a bare Fyne window, the baseline for Countersign's start and idle measurements.
package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/widget"
)

func main() {
	w := app.NewWithID("ch.countersign.barewindow").NewWindow("Bare window")
	w.SetContent(widget.NewLabel("Nothing"))
	w.Resize(fyne.NewSize(1100, 720))
	w.ShowAndRun()
}
