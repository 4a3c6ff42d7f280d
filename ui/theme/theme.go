// Package theme is Countersign's appearance: colours, sizes and marks. It is the only place in ui with colour literals, apart from
// test drawings; everything else names a role. It knows nothing of screens or of the office.
package theme

import (
	"image/color"

	"fyne.io/fyne/v2"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/assets"
)

// Colour roles in addition to Fyne's. Done, Waiting and Attention are also Fyne's success, warning and error, so that its widgets
// use the same three.
const (
	Text      = fynetheme.ColorNameForeground
	Secondary = fynetheme.ColorNamePlaceHolder
	Ink       = fynetheme.ColorNamePrimary
	Done      = fynetheme.ColorNameSuccess
	Waiting   = fynetheme.ColorNameWarning
	Attention = fynetheme.ColorNameError
	Paper     = fynetheme.ColorNameBackground
	Line      = fynetheme.ColorNameSeparator

	Surface fyne.ThemeColorName = "countersignSurface" // cards and lists on the paper
	Chosen  fyne.ThemeColorName = "countersignChosen"  // behind the chosen sidebar entry
	Wash    fyne.ThemeColorName = "countersignWash"    // behind the health strip
	Calm    fyne.ThemeColorName = "countersignCalm"    // behind the notice and the demo banner
	Veil    fyne.ThemeColorName = "countersignVeil"    // over the window behind a question
	Edge    fyne.ThemeColorName = "countersignEdge"    // around buttons, in high contrast only
)

const (
	Body    = fynetheme.SizeNameText
	Caption = fynetheme.SizeNameCaptionText
	Heading = fynetheme.SizeNameHeadingText
	Title   = fynetheme.SizeNameSubHeadingText

	Code fyne.ThemeSizeName = "countersignCode" // text to be read aloud or typed elsewhere
)

// Theme is Countersign's theme, light and dark. Fonts and icons come from Fyne's default.
type Theme struct {
	base fyne.Theme
	look Look
}

// Look is the appearance a person chooses. The zero value is the default.
type Look struct {
	Variant  string // "light" or "dark"; anything else follows the system
	Contrast bool   // high
	Text     int    // text size in percent, 0 for 100
}

func New() *Theme { return &Theme{fynetheme.DefaultTheme(), Look{}} }

func (l Look) Theme() fyne.Theme { return &Theme{fynetheme.DefaultTheme(), l} }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xFF}
}

// veil is a translucent colour that Fyne draws over others (hover, focus, selection).
func veil(v uint32, alpha uint8) color.NRGBA {
	c := rgb(v)
	c.A = alpha
	return c
}

type pair struct{ light, dark color.NRGBA }

var colours = map[fyne.ThemeColorName]pair{
	Paper:     {rgb(0xFAF9F6), rgb(0x13161A)},
	Surface:   {rgb(0xFFFFFF), rgb(0x20252D)},
	Text:      {rgb(0x1C2430), rgb(0xE8EAED)},
	Secondary: {rgb(0x5E6977), rgb(0x9AA4B1)},
	Ink:       {rgb(0x24507A), rgb(0x7FB0DD)},
	Done:      {rgb(0x2F7D5B), rgb(0x6FC29B)},
	Waiting:   {rgb(0x936010), rgb(0xE0AE5A)},
	Attention: {rgb(0xB8432F), rgb(0xEE8570)},
	Line:      {rgb(0xE4E1DA), rgb(0x37404C)},
	Chosen:    {rgb(0xE3EAF1), rgb(0x26384B)},
	Wash:      {rgb(0xFDF3F0), rgb(0x33231F)},
	Calm:      {rgb(0xF1F5F9), rgb(0x22303F)},
	Veil:      {veil(0x1C2430, 0x59), veil(0x000000, 0x8C)},
	Edge:      {veil(0x000000, 0x00), veil(0xFFFFFF, 0x00)},

	fynetheme.ColorNameButton:              {rgb(0xEFEDE7), rgb(0x333C48)},
	fynetheme.ColorNameDisabledButton:      {rgb(0xF1EFEA), rgb(0x292F38)},
	fynetheme.ColorNameDisabled:            {rgb(0x8A929C), rgb(0x6C7683)},
	fynetheme.ColorNameFocus:               {veil(0x24507A, 0x4D), veil(0x7FB0DD, 0x59)},
	fynetheme.ColorNameHover:               {veil(0x1C2430, 0x0F), veil(0xFFFFFF, 0x12)},
	fynetheme.ColorNamePressed:             {veil(0x1C2430, 0x1F), veil(0xFFFFFF, 0x1F)},
	fynetheme.ColorNameSelection:           {veil(0x24507A, 0x24), veil(0x7FB0DD, 0x33)},
	fynetheme.ColorNameHyperlink:           {rgb(0x24507A), rgb(0x7FB0DD)},
	fynetheme.ColorNameForegroundOnPrimary: {rgb(0xFFFFFF), rgb(0x10161D)},
	fynetheme.ColorNameForegroundOnSuccess: {rgb(0xFFFFFF), rgb(0x10161D)},
	fynetheme.ColorNameForegroundOnWarning: {rgb(0xFFFFFF), rgb(0x10161D)},
	fynetheme.ColorNameForegroundOnError:   {rgb(0xFFFFFF), rgb(0x10161D)},
	fynetheme.ColorNameInputBackground:     {rgb(0xFFFFFF), rgb(0x15181D)},
	fynetheme.ColorNameInputBorder:         {rgb(0x888C93), rgb(0x6E7886)},
	fynetheme.ColorNameHeaderBackground:    {rgb(0xF3F1EB), rgb(0x1A1E24)},
	fynetheme.ColorNameMenuBackground:      {rgb(0xFFFFFF), rgb(0x282F38)},
	fynetheme.ColorNameOverlayBackground:   {rgb(0xFFFFFF), rgb(0x282F38)},
	fynetheme.ColorNameScrollBar:           {veil(0x1C2430, 0x55), veil(0xFFFFFF, 0x55)},
	fynetheme.ColorNameShadow:              {veil(0x1C2430, 0x34), veil(0x000000, 0x80)},
}

// strong holds the colours that high contrast changes: black on white or white on black, borders around all controls, and no shades
// that must be told apart.
var strong = map[fyne.ThemeColorName]pair{
	Paper:     {rgb(0xFFFFFF), rgb(0x000000)},
	Surface:   {rgb(0xFFFFFF), rgb(0x000000)},
	Text:      {rgb(0x000000), rgb(0xFFFFFF)},
	Secondary: {rgb(0x2B2B2B), rgb(0xE6E6E6)},
	Ink:       {rgb(0x00366F), rgb(0x9CCBFF)},
	Done:      {rgb(0x0A4A2E), rgb(0x8CEBBB)},
	Waiting:   {rgb(0x553600), rgb(0xFFD37A)},
	Attention: {rgb(0x7E1200), rgb(0xFFB3A3)},
	Line:      {rgb(0x5A5A5A), rgb(0xB4B4B4)},
	Chosen:    {rgb(0xDCE9FA), rgb(0x12304F)},
	Wash:      {rgb(0xFFFFFF), rgb(0x000000)},
	Calm:      {rgb(0xFFFFFF), rgb(0x000000)},
	Edge:      {rgb(0x000000), rgb(0xFFFFFF)},

	fynetheme.ColorNameButton:              {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameDisabledButton:      {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameDisabled:            {rgb(0x595959), rgb(0xA6A6A6)},
	fynetheme.ColorNameFocus:               {veil(0x00366F, 0x33), veil(0x9CCBFF, 0x40)},
	fynetheme.ColorNameSelection:           {veil(0x00366F, 0x24), veil(0x9CCBFF, 0x33)},
	fynetheme.ColorNameHyperlink:           {rgb(0x00366F), rgb(0x9CCBFF)},
	fynetheme.ColorNameForegroundOnPrimary: {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameForegroundOnSuccess: {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameForegroundOnWarning: {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameForegroundOnError:   {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameInputBackground:     {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameInputBorder:         {rgb(0x000000), rgb(0xFFFFFF)},
	fynetheme.ColorNameHeaderBackground:    {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameMenuBackground:      {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameOverlayBackground:   {rgb(0xFFFFFF), rgb(0x000000)},
	fynetheme.ColorNameScrollBar:           {rgb(0x5A5A5A), rgb(0xB4B4B4)},
	fynetheme.ColorNameShadow:              {veil(0x000000, 0xCC), veil(0xFFFFFF, 0xCC)}, // the only border of Fyne's menus
}

func (t *Theme) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	switch t.look.Variant {
	case "light":
		variant = fynetheme.VariantLight
	case "dark":
		variant = fynetheme.VariantDark
	}
	c, ok := colours[name]
	if s, changes := strong[name]; changes && t.look.Contrast {
		c = s
	}
	switch {
	case !ok:
		return t.base.Color(name, variant)
	case variant == fynetheme.VariantLight:
		return c.light
	default:
		return c.dark
	}
}

// OnPage returns a colour for use on a page's picture, which is white even in the dark theme.
func OnPage(name fyne.ThemeColorName) color.Color { return colours[name].light }

// Size returns a size in steps of four, or Fyne's own for those not defined here. Larger text enlarges icons beside it but not the
// spacing.
func (t *Theme) Size(name fyne.ThemeSizeName) float32 {
	size := t.size(name)
	switch name {
	case Body, Caption, Title, Heading, Code, fynetheme.SizeNameInlineIcon:
		if t.look.Text > 0 {
			size = size * float32(t.look.Text) / 100
		}
	}
	return size
}

func (t *Theme) size(name fyne.ThemeSizeName) float32 {
	switch name {
	case Body:
		return 14
	case Caption:
		return 12
	case Title:
		return 16
	case Heading:
		return 20
	case Code:
		return 32
	case fynetheme.SizeNameInlineIcon:
		return 18
	case fynetheme.SizeNameScrollBar:
		return 10
	case fynetheme.SizeNameInputRadius, fynetheme.SizeNameButtonRadius, fynetheme.SizeNameCardRadius, fynetheme.SizeNameDialogRadius,
		fynetheme.SizeNamePopupRadius, fynetheme.SizeNameMenuRadius, fynetheme.SizeNameSelectionRadius:
		return 6
	}
	return t.base.Size(name)
}

func (t *Theme) Font(style fyne.TextStyle) fyne.Resource { return t.base.Font(style) }

func (t *Theme) Icon(name fyne.ThemeIconName) fyne.Resource { return t.base.Icon(name) }

// Mark is a state drawn as a shape. Each has its own outline, so that colour is never the only sign.
type Mark string

const (
	MarkSigned  Mark = "signed"  // a disc with a check: this person has signed
	MarkNext    Mark = "next"    // a ring with a dot: it is this person's turn
	MarkLater   Mark = "later"   // a ring: not yet
	MarkEnded   Mark = "ended"   // a ring with a bar: ended unsigned
	MarkNote    Mark = "note"    // a square with an i: worth knowing
	MarkProblem Mark = "problem" // a triangle
	MarkSealed  Mark = "sealed"  // a shield with a check: digitally sealed and unchanged
	MarkSaved   Mark = "saved"   // a sheet with a check: the files are in the folder
	MarkSent    Mark = "send"    // a paper plane: on its way to the signers
	MarkDrop    Mark = "drop"    // an arrow into a tray: drop files here
)

func (m Mark) Colour() fyne.ThemeColorName {
	return map[Mark]fyne.ThemeColorName{MarkSigned: Done, MarkSaved: Done, MarkSealed: Done, MarkNext: Waiting, MarkProblem: Attention, MarkDrop: Ink,
		MarkLater: Secondary, MarkSent: Secondary, MarkEnded: Secondary, MarkNote: Ink}[m]
}

var marks = loadMarks()

func loadMarks() map[Mark]fyne.Resource {
	all := map[Mark]fyne.Resource{}
	for _, m := range []Mark{MarkSigned, MarkNext, MarkLater, MarkEnded, MarkNote, MarkProblem, MarkSaved, MarkSealed, MarkSent, MarkDrop} {
		all[m] = Icon(string(m), m.Colour())
	}
	return all
}

// Icon returns one of our drawings in a theme colour, following light and dark.
func Icon(name string, colour fyne.ThemeColorName) fyne.Resource {
	data, err := assets.Mark(name)
	if err != nil {
		panic(err) // embedded; the tests of assets read them all
	}
	return fynetheme.NewColoredResource(fyne.NewStaticResource(name+".svg", data), colour)
}

// Resource returns the mark as a picture in its colour, following light and dark.
func (m Mark) Resource() fyne.Resource { return marks[m] }
