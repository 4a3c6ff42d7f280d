package compose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// presets are the forms that people store under a name.
type presets struct {
	button *widgets.Button
	kept   []office.FormPreset
}

// offerPresets shows the menu of presets: to fill one in, store the input as one, or delete one.
func (s *Screen) offerPresets() {
	var use, drop []*fyne.MenuItem
	for _, x := range s.presets.kept {
		use = append(use, fyne.NewMenuItem(x.Name, func() { s.UsePreset(x.Form) }))
		drop = append(drop, fyne.NewMenuItem(x.Name, func() { s.deletePreset(x) }))
	}
	keep := fyne.NewMenuItem(lang.L("Save as preset…"), s.namePreset)
	keep.Disabled = s.asPreset().Empty()
	if len(use) > 0 {
		use = append(use, fyne.NewMenuItemSeparator())
	}
	use = append(use, keep)
	if len(drop) > 0 {
		deleting := fyne.NewMenuItem(lang.L("Delete preset"), nil)
		deleting.ChildMenu = fyne.NewMenu("", drop...)
		use = append(use, deleting)
	}
	widgets.OpenMenu(s.env.Window.Canvas(), fyne.NewMenu("", use...), s.presets.button)
}

// asPreset returns the input without what belongs only to this package.
func (s *Screen) asPreset() office.Form {
	f := s.form()
	kept := office.Form{Message: f.Message, Sequential: f.Sequential, Recipients: f.Recipients, NoCopy: f.NoCopy}
	for _, x := range f.Signers {
		kept.Signers = append(kept.Signers, office.Signer{FirstName: x.FirstName, LastName: x.LastName, Email: x.Email})
	}
	now := s.env.Now()
	if due, ok := s.days().Read(f.Due, now); ok {
		today, _ := s.days().Read("+0", now)
		kept.Due = fmt.Sprintf("+%.0f", due.Sub(today).Round(24*time.Hour).Hours()/24)
	}
	return kept
}

// UsePreset fills in a preset, keeping the documents.
func (s *Screen) UsePreset(x office.Form) {
	if s.busy() {
		return
	}
	f, docs := s.form(), s.docs
	before := f
	for _, p := range x.Signers {
		if !slices.ContainsFunc(f.Signers, func(old office.Signer) bool { return strings.EqualFold(old.Email, p.Email) }) {
			f.Signers = append(f.Signers, p)
		}
	}
	for _, r := range x.Recipients {
		if !slices.ContainsFunc(f.Recipients, func(old office.Recipient) bool { return old.Same(r.Email) }) {
			f.Recipients = append(f.Recipients, r)
		}
	}
	if f.Message == "" || slices.ContainsFunc(s.presets.kept, func(old office.FormPreset) bool { return old.Form.Message == f.Message }) {
		f.Message = cmp.Or(x.Message, f.Message)
	}
	f.Due, f.Sequential, f.NoCopy = cmp.Or(x.Due, f.Due), f.Sequential || x.Sequential, append(f.NoCopy, x.NoCopy...)
	f.Files = nil // they stay as they are
	s.Fill(f)
	s.Focus()
	if !before.Empty() {
		s.offerBack(lang.L("The preset was filled in."), before, docs)
	}
}

// namePreset asks for the name under which to store the input.
func (s *Screen) namePreset() {
	canvas := s.env.Window.Canvas()
	name := widgets.NewEntry("")
	var pop *widgets.PopUp
	save := widgets.NewButton(lang.L("Save"), func() {
		pop.Close()
		s.keepPreset(office.FormPreset{Name: name.Typed(), Form: s.asPreset()}, func() { s.env.Notice(lang.L("Preset saved.")) })
	}).Primary()
	name.OnChanged = func(string) {
		widgets.Enable(save, name.Typed() != "")
		text := lang.L("Save")
		if slices.ContainsFunc(s.presets.kept, func(x office.FormPreset) bool { return strings.EqualFold(x.Name, name.Typed()) }) {
			text = lang.L("Replace")
		}
		save.SetText(text)
	}
	name.OnSubmitted = func(string) { save.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn}) }
	name.OnChanged("")
	foot := widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), func() { pop.Close() }), save)
	content := widgets.Stack(12, widgets.NewHeading(lang.L("Save as preset")),
		widgets.NewField(lang.L("Name"), name, lang.L("Keeps people, order, message, copies and days to sign, not the documents.")), foot)
	pop = widgets.Open(canvas, widgets.Pad(20, content), fyne.NewSize(420, 0), name, nil)
}

func (s *Screen) keepPreset(x office.FormPreset, then func()) {
	s.env.Do(func(context.Context) error { return s.office.KeepFormPreset(x) }, func() {
		then()
		s.Reload()
	})
}

func (s *Screen) deletePreset(x office.FormPreset) {
	s.keepPreset(office.FormPreset{Name: x.Name}, func() {
		s.env.Soon(env.Undoable{Says: lang.L("Preset “{{.Name}}” deleted.", i18n.V{"Name": x.Name}),
			Undone: func() { s.keepPreset(x, func() {}) }})
	})
}
