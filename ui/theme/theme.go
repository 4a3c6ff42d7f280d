// Package theme is how Countersign looks: its colours, sizes and marks. It is the only place in ui with a colour
// literal, apart from what is drawn for tests; everything else names a role. It knows nothing of screens or of the office.
package theme

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// Colour roles, beside Fyne's own. Done, Waiting and Attention are also Fyne's success, warning and error, so that its
// widgets use the same three.
const (
	Text      = theme.ColorNameForeground
	Secondary = theme.ColorNamePlaceHolder
	Ink       = theme.ColorNamePrimary
	Done      = theme.ColorNameSuccess
	Waiting   = theme.ColorNameWarning
	Attention = theme.ColorNameError
	Paper     = theme.ColorNameBackground
	Line      = theme.ColorNameSeparator

	Surface fyne.ThemeColorName = "countersignSurface" // cards and lists on the paper
	Chosen  fyne.ThemeColorName = "countersignChosen"  // behind the chosen entry of the sidebar
	Wash    fyne.ThemeColorName = "countersignWash"    // behind the health strip
	Calm    fyne.ThemeColorName = "countersignCalm"    // behind the notice and the demo banner
	Veil    fyne.ThemeColorName = "countersignVeil"    // over the window behind a question
	Edge    fyne.ThemeColorName = "countersignEdge"    // around buttons, in high contrast alone
)

// Text sizes.
const (
	Body    = theme.SizeNameText
	Caption = theme.SizeNameCaptionText
	Heading = theme.SizeNameHeadingText
	Title   = theme.SizeNameSubHeadingText
)

// Theme is Countersign's theme, in light and dark. It is built on Fyne's default for fonts and icons.
type Theme struct {
	base fyne.Theme
	look Look
}

// Look is what a person chooses of the theme. The zero value is the theme as it was drawn.
type Look struct {
	Variant  string // "light", "dark", or as the system is for anything else
	Contrast bool   // high
	Text     int    // size in percent, 0 for 100
}

// New returns the theme.
func New() *Theme { return &Theme{theme.DefaultTheme(), Look{}} }

// Theme returns the theme with this look.
func (l Look) Theme() fyne.Theme {
	t := New()
	t.look = l
	switch l.Variant {
	case "light":
		return fixed{t, theme.VariantLight}
	case "dark":
		return fixed{t, theme.VariantDark}
	}
	return t
}

// fixed is the theme in one variant, whatever the system prefers.
type fixed struct {
	*Theme
	variant fyne.ThemeVariant
}

// Color returns the colour of a role in the one variant.
func (f fixed) Color(name fyne.ThemeColorName, _ fyne.ThemeVariant) color.Color {
	return f.Theme.Color(name, f.variant)
}

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xFF}
}

// veil is a translucent colour that Fyne lays over whatever is below (hover, focus, selection).
func veil(v uint32, alpha uint8) color.NRGBA {
	c := rgb(v)
	c.A = alpha
	return c
}

// pair is one role's colour on light and on dark.
type pair struct{ light, dark color.NRGBA }

var colours = map[fyne.ThemeColorName]pair{
	Paper:     {rgb(0xFAF9F6), rgb(0x15181D)},
	Surface:   {rgb(0xFFFFFF), rgb(0x1D2127)},
	Text:      {rgb(0x1C2430), rgb(0xE8EAED)},
	Secondary: {rgb(0x5E6977), rgb(0x9AA4B1)},
	Ink:       {rgb(0x24507A), rgb(0x7FB0DD)},
	Done:      {rgb(0x2F7D5B), rgb(0x6FC29B)},
	Waiting:   {rgb(0x936010), rgb(0xE0AE5A)},
	Attention: {rgb(0xB8432F), rgb(0xEE8570)},
	Line:      {rgb(0xE4E1DA), rgb(0x2D333C)},
	Chosen:    {rgb(0xE3EAF1), rgb(0x26323F)},
	Wash:      {rgb(0xFDF3F0), rgb(0x33231F)},
	Calm:      {rgb(0xF1F5F9), rgb(0x1F2B38)},
	Veil:      {veil(0x1C2430, 0x59), veil(0x000000, 0x8C)},
	Edge:      {veil(0x000000, 0x00), veil(0xFFFFFF, 0x00)},

	theme.ColorNameButton:              {rgb(0xEFEDE7), rgb(0x2A3039)},
	theme.ColorNameDisabledButton:      {rgb(0xF1EFEA), rgb(0x22272E)},
	theme.ColorNameDisabled:            {rgb(0x8A929C), rgb(0x6C7683)},
	theme.ColorNameFocus:               {veil(0x24507A, 0x4D), veil(0x7FB0DD, 0x59)},
	theme.ColorNameHover:               {veil(0x1C2430, 0x0F), veil(0xFFFFFF, 0x12)},
	theme.ColorNamePressed:             {veil(0x1C2430, 0x1F), veil(0xFFFFFF, 0x1F)},
	theme.ColorNameSelection:           {veil(0x24507A, 0x24), veil(0x7FB0DD, 0x33)},
	theme.ColorNameHyperlink:           {rgb(0x24507A), rgb(0x7FB0DD)},
	theme.ColorNameForegroundOnPrimary: {rgb(0xFFFFFF), rgb(0x10161D)},
	theme.ColorNameForegroundOnSuccess: {rgb(0xFFFFFF), rgb(0x10161D)},
	theme.ColorNameForegroundOnWarning: {rgb(0xFFFFFF), rgb(0x10161D)},
	theme.ColorNameForegroundOnError:   {rgb(0xFFFFFF), rgb(0x10161D)},
	theme.ColorNameInputBackground:     {rgb(0xFFFFFF), rgb(0x14171C)},
	theme.ColorNameInputBorder:         {rgb(0x888C93), rgb(0x6E7886)},
	theme.ColorNameHeaderBackground:    {rgb(0xF3F1EB), rgb(0x1A1E24)},
	theme.ColorNameMenuBackground:      {rgb(0xFFFFFF), rgb(0x1D2127)},
	theme.ColorNameOverlayBackground:   {rgb(0xFFFFFF), rgb(0x1D2127)},
	theme.ColorNameScrollBar:           {veil(0x1C2430, 0x55), veil(0xFFFFFF, 0x55)},
	theme.ColorNameShadow:              {veil(0x1C2430, 0x1C), veil(0x000000, 0x66)},
}

// strong are the colours that high contrast changes: black on white or white on black, edges around all that can be used,
// and no shade that has to be told from another.
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

	theme.ColorNameButton:              {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameDisabledButton:      {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameDisabled:            {rgb(0x595959), rgb(0xA6A6A6)},
	theme.ColorNameFocus:               {veil(0x00366F, 0x33), veil(0x9CCBFF, 0x40)},
	theme.ColorNameSelection:           {veil(0x00366F, 0x24), veil(0x9CCBFF, 0x33)},
	theme.ColorNameHyperlink:           {rgb(0x00366F), rgb(0x9CCBFF)},
	theme.ColorNameForegroundOnPrimary: {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameForegroundOnSuccess: {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameForegroundOnWarning: {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameForegroundOnError:   {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameInputBackground:     {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameInputBorder:         {rgb(0x000000), rgb(0xFFFFFF)},
	theme.ColorNameHeaderBackground:    {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameMenuBackground:      {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameOverlayBackground:   {rgb(0xFFFFFF), rgb(0x000000)},
	theme.ColorNameScrollBar:           {rgb(0x5A5A5A), rgb(0xB4B4B4)},
	theme.ColorNameShadow:              {veil(0x000000, 0xCC), veil(0xFFFFFF, 0xCC)}, // all the edge that Fyne's menus have
}

// Color returns the colour of a role.
func (t *Theme) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	c, ok := colours[name]
	if s, changes := strong[name]; changes && t.look.Contrast {
		c = s
	}
	switch {
	case !ok:
		return t.base.Color(name, variant)
	case variant == theme.VariantLight:
		return c.light
	default:
		return c.dark
	}
}

// Size returns a size in steps of four, or Fyne's own where the house has no opinion. Larger text takes the icons beside it
// along, and leaves the room between things as it is.
func (t *Theme) Size(name fyne.ThemeSizeName) float32 {
	size := t.size(name)
	switch name {
	case Body, Caption, Title, Heading, theme.SizeNameInlineIcon:
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
	case theme.SizeNameInlineIcon:
		return 18
	case theme.SizeNameScrollBar:
		return 10
	case theme.SizeNameInputRadius, theme.SizeNameButtonRadius, theme.SizeNameCardRadius, theme.SizeNameDialogRadius,
		theme.SizeNamePopupRadius, theme.SizeNameMenuRadius, theme.SizeNameSelectionRadius:
		return 6
	}
	return t.base.Size(name)
}

// Font returns Fyne's font.
func (t *Theme) Font(style fyne.TextStyle) fyne.Resource { return t.base.Font(style) }

// Icon returns Fyne's icon.
func (t *Theme) Icon(name fyne.ThemeIconName) fyne.Resource { return t.base.Icon(name) }
