// Package keys defines the window's keys: which they are, what they do in a word or two, and their names in the person's language.
// Help lists them, and a test finds keys bound elsewhere. It does nothing itself.
package keys

import (
	"cmp"
	"runtime"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
)

// Key is a key with its modifiers. On a Mac, Command takes the place of Ctrl.
type Key struct {
	Name fyne.KeyName
	Held fyne.KeyModifier
}

// Binding is a set of keys with the same effect; Help names the first.
type Binding []Key

const (
	ctrl  = fyne.KeyModifierShortcutDefault
	shift = fyne.KeyModifierShift
	alt   = fyne.KeyModifierAlt
)

// Everywhere in the window:
var (
	New      = Binding{{fyne.KeyN, ctrl}}
	Search   = Binding{{fyne.KeyF, ctrl}}
	CheckNow = Binding{{fyne.KeyF5, 0}}
	Settings = Binding{{fyne.KeyComma, ctrl}}
	Close    = Binding{{fyne.KeyW, ctrl}}
	Quit     = Binding{{fyne.KeyQ, ctrl}}
	Undo     = Binding{{fyne.KeyZ, ctrl}}
	Send     = Binding{{fyne.KeyReturn, ctrl}, {fyne.KeyEnter, ctrl}} // also confirms anything else that is sent out
	Enter    = Binding{{fyne.KeyReturn, 0}, {fyne.KeyEnter, 0}}
	Leave    = Binding{{fyne.KeyEscape, 0}}
	Next     = Binding{{fyne.KeyTab, 0}, {fyne.KeyTab, shift}} // Fyne's own
	Press    = Binding{{fyne.KeySpace, 0}}
	Sideways = Binding{{fyne.KeyRight, 0}, {fyne.KeyLeft, 0}}
)

// In lists:
var (
	Move    = Binding{{fyne.KeyDown, 0}, {fyne.KeyUp, 0}}
	Page    = Binding{{fyne.KeyPageDown, 0}, {fyne.KeyPageUp, 0}}
	Ends    = Binding{{fyne.KeyHome, 0}, {fyne.KeyEnd, 0}}
	Several = Binding{{fyne.KeyDown, shift}, {fyne.KeyUp, shift}}
	All     = Binding{{fyne.KeyA, ctrl}}
	Menu    = Binding{{fyne.KeyF10, 0}, {desktop.KeyMenu, 0}}
)

// In a new package, and where files are chosen:
var (
	Carry  = Binding{{fyne.KeyDown, alt}, {fyne.KeyUp, alt}}
	Remove = Binding{{fyne.KeyDelete, 0}, {fyne.KeyBackspace, 0}}
	Upward = Binding{{fyne.KeyBackspace, 0}}
)

// Entry is a line of Help.
type Entry struct {
	Binding Binding
	Does    string
}

// Group is a titled set of entries for one place.
type Group struct {
	Title   string
	Entries []Entry
}

// Groups returns all keys in Help's order.
func Groups() []Group {
	return []Group{
		{lang.L("Anywhere"), []Entry{
			{New, lang.L("New package")},
			{Search, lang.L("Search packages")},
			{CheckNow, lang.L("Check now")},
			{Send, lang.L("Send")},
			{Undo, lang.L("Undo")},
			{Settings, lang.L("Settings")},
			{Close, lang.L("Close the window; Countersign keeps running")},
			{Quit, lang.L("Quit")},
		}},
		{lang.L("Forms and tabs"), []Entry{
			{Enter, lang.L("Open, next field, or confirm")},
			{Leave, lang.L("Cancel or go back")},
			{Next, lang.L("Next field")},
			{Press, lang.L("Press, tick or choose")},
			{Sideways, lang.L("Next tab")},
		}},
		{lang.L("Lists"), []Entry{
			{Move, lang.L("Next line")},
			{Page, lang.L("Next page")},
			{Ends, lang.L("First line")},
			{Several, lang.L("Select several packages")},
			{All, lang.L("Select all packages")},
			{Menu, lang.L("Menu of the package")},
		}},
		{lang.L("Documents, signers and files"), []Entry{
			{Carry, lang.L("Move a document or signer")},
			{Remove, lang.L("Remove a document or signer")},
			{Upward, lang.L("Go up one folder")},
		}},
	}
}

// Name returns the first key's name for Help, with + after each modifier.
func (b Binding) Name() string { return b[0].name() }

func (k Key) name() string {
	name := nameOf(k.Name)
	switch key := map[string]any{"Key": name}; {
	case k.Held == ctrl && runtime.GOOS == "darwin":
		return lang.L("Cmd+{{.Key}}", key)
	case k.Held == ctrl:
		return lang.L("Ctrl+{{.Key}}", key)
	case k.Held == shift:
		return lang.L("Shift+{{.Key}}", key)
	case k.Held == alt:
		return lang.L("Alt+{{.Key}}", key)
	}
	return name
}

func nameOf(key fyne.KeyName) string {
	names := map[fyne.KeyName]string{
		fyne.KeyReturn: lang.L("Enter"), fyne.KeyEnter: lang.L("Enter"), fyne.KeyEscape: lang.L("Escape"), fyne.KeyTab: lang.L("Tab"),
		fyne.KeySpace: lang.L("Space"), fyne.KeyDelete: lang.L("Delete"), fyne.KeyBackspace: lang.L("Backspace"),
		fyne.KeyHome: lang.L("Home"), fyne.KeyEnd: lang.L("End"), fyne.KeyPageUp: lang.L("Page up"), fyne.KeyPageDown: lang.L("Page down"),
		fyne.KeyUp: "↑", fyne.KeyDown: "↓", fyne.KeyLeft: "←", fyne.KeyRight: "→",
	}
	return cmp.Or(names[key], string(key))
}

func (b Binding) Are(shortcut fyne.Shortcut) bool {
	custom, is := shortcut.(*desktop.CustomShortcut)
	return is && slices.Contains(b, Key{custom.KeyName, custom.Modifier})
}

// Is reports whether a key pressed without modifiers is one of these.
func (b Binding) Is(e *fyne.KeyEvent) bool { return slices.Contains(b, Key{Name: e.Name}) }

func (k Key) Shortcut() fyne.Shortcut {
	if k == Undo[0] { // Fyne has its own type for it
		return &fyne.ShortcutUndo{}
	}
	return &desktop.CustomShortcut{KeyName: k.Name, Modifier: k.Held}
}
