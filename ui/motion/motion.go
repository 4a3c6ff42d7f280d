// Package motion lets Fyne's widgets stand still for people whom motion disturbs: buttons flash no more, cursors stop
// blinking, and what turns to show that work goes on shows three dots. Fyne asks its settings for that, and reads them from a
// file of its own that no program may write. This package knows nothing of who asks for it.
package motion

import (
	"reflect"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
)

// Of returns a function that says whether widgets which are made or used from now on stand still, or move as Fyne's settings
// have it. It must be called where Fyne's widgets are. The settings stay the ones that Fyne made: it follows the system's light
// and dark only where the app has these, and its code for macOS asserts their type.
func Of(a fyne.App) func(still bool) {
	schema := schemaOf(a.Settings())
	if schema == nil { // the settings of a test
		return func(bool) {}
	}
	asked, without := false, schema.DisableAnimations
	a.Settings().AddListener(func(fyne.Settings) { // the file was read again
		schema.DisableAnimations = schema.DisableAnimations || asked
	})
	return func(still bool) {
		asked = still
		schema.DisableAnimations = without || still
	}
}

// schemaOf is what Fyne read from its file, which its settings keep to themselves; nil where they keep nothing of the kind.
func schemaOf(s fyne.Settings) *app.SettingsSchema {
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct || !v.CanAddr() {
		return nil
	}
	schema := v.FieldByName("schema")
	if !schema.IsValid() || schema.Type() != reflect.TypeFor[app.SettingsSchema]() {
		return nil
	}
	return (*app.SettingsSchema)(schema.Addr().UnsafePointer())
}
