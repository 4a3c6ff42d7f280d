// Package motion lets Fyne's widgets stand still for people whom motion disturbs: buttons flash no more, cursors stop
// blinking, and what turns to show that work goes on shows three dots. Fyne asks its settings for that, and reads them from a
// file of its own that no program may write. This package knows nothing of who asks for it.
package motion

import (
	"sync/atomic"

	"fyne.io/fyne/v2"
)

// App is an app whose widgets can stand still. Its methods may be called from any goroutine.
type App struct {
	fyne.App
	still atomic.Bool
}

// Use makes app, as an App, the one that Fyne's widgets ask.
func Use(app fyne.App) *App {
	a := &App{App: app}
	fyne.SetCurrentApp(a)
	return a
}

// Rest says whether widgets that are made or used from now on stand still.
func (a *App) Rest(still bool) { a.still.Store(still) }

// Settings is Fyne's.
func (a *App) Settings() fyne.Settings { return settings{a.App.Settings(), a} }

type settings struct {
	fyne.Settings
	app *App
}

// ShowAnimations is Fyne's.
func (s settings) ShowAnimations() bool { return !s.app.still.Load() && s.Settings.ShowAnimations() }
