// Package motion turns off the animations of Fyne's widgets for people whom motion disturbs: buttons do not flash, cursors do not
// blink, and progress spinners show three dots. Fyne reads that setting from its own file, which no program may write. This package
// does not know who asks for it.
package motion

import (
	"reflect"

	"fyne.io/fyne/v2"
)

// Of returns a function that turns off the animations of widgets made or used from then on, or restores Fyne's setting. Call it on
// Fyne's goroutine. It modifies the settings that Fyne made instead of replacing them, because Fyne follows the system's light and
// dark only with those, and its macOS code asserts their type.
func Of(a fyne.App) func(still bool) {
	disabled := animationsDisabled(a.Settings())
	if disabled == nil { // a test's settings
		return func(bool) {}
	}
	asked, without := false, *disabled
	a.Settings().AddListener(func(fyne.Settings) { // Fyne may have read its file again
		if !asked || !*disabled { // the file says so, not we
			without = *disabled
		}
		*disabled = without || asked
	})
	return func(still bool) {
		asked = still
		*disabled = without || still
	}
}

// animationsDisabled returns the private field of Fyne's settings for the value from its file (app.SettingsSchema); nil if there is
// no such field.
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
