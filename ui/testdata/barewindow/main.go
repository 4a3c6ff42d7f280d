// Command barewindow is a window of Fyne's and nothing else: what Countersign's start and rest are measured against.
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
