// Package motion lets Fyne's widgets stand still for people whom motion disturbs: buttons flash no more, cursors stop
// blinking, and what turns to show that work goes on shows three dots. Fyne asks its settings for that, and reads them from a
// file of its own that no program may write. This package knows nothing of who asks for it.
package motion

import (
	"reflect"

	"fyne.io/fyne/v2"
)

// Of returns a function that says whether widgets which are made or used from now on stand still, or move as Fyne's settings
// have it. It must be called where Fyne's widgets are. The settings stay the ones that Fyne made: it follows the system's light
// and dark only where the app has these, and its code for macOS asserts their type.
func Of(a fyne.App) func(still bool) {
	disabled := animationsDisabled(a.Settings())
	if disabled == nil { // the settings of a test
		return func(bool) {}
	}
	asked, without := false, *disabled
	a.Settings().AddListener(func(fyne.Settings) { // the file may have been read again
		if !asked || !*disabled { // it says so, not we
			without = *disabled
		}
		*disabled = without || asked
	})
	return func(still bool) {
		asked = still
		*disabled = without || still
	}
}

// animationsDisabled is where Fyne's settings keep to themselves what its file says of that (app.SettingsSchema); nil where they
// keep nothing of the kind.
func animationsDisabled(s fyne.Settings) *bool {
	v := reflect.Indirect(reflect.ValueOf(s))
	for _, name := range []string{"schema", "DisableAnimations"} {
		if v.Kind() != reflect.Struct || !v.CanAddr() {
			return nil
		}
		v = v.FieldByName(name)
	}
	if v.Kind() != reflect.Bool {
		return nil
	}
	return (*bool)(v.Addr().UnsafePointer())
}
