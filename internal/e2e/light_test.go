//go:build linux

package e2e

import (
	"image"
	"image/color"
	"testing"

	"github.com/godbus/dbus/v5"

	"countersign/internal/e2e/harness"
)

// TestTheWindowIsAsLightAsTheSystem has no theme of its own chosen: it comes up light where the system has no preference, and
// follows what the person changes there while it is open.
func TestTheWindowIsAsLightAsTheSystem(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	system := serveScheme(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	w.Drawn()
	const noPreference, dark, light = 0, 1, 2
	becomes := func(what string, bright bool) {
		t.Helper()
		harness.Eventually(t, what, func() bool { return isBright(w.Picture()) == bright })
	}
	becomes("it is light by itself", true)
	system.set(dark)
	becomes("it is dark as the system", false)
	system.set(light)
	becomes("it is light as the system", true)
	system.set(dark)
	becomes("it is dark again", false)
	system.set(noPreference)
	becomes("it is light again", true)
}

// isBright says whether most of a picture is.
func isBright(p image.Image) bool {
	bright, all := 0, 0
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 4 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x += 4 {
			all++
			if color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y > 0x80 {
				bright++
			}
		}
	}
	return bright > all/2
}

// scheme is a portal that knows whether the system is light or dark
// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html).
type scheme struct {
	t    testing.TB
	conn *dbus.Conn
	now  chan uint32 // holds one
}

const (
	portalObject   = "/org/freedesktop/portal/desktop"
	portalSettings = "org.freedesktop.portal.Settings"
	appearance     = "org.freedesktop.appearance"
	colorScheme    = "color-scheme"
)

func serveScheme(t testing.TB, conn *dbus.Conn) *scheme {
	t.Helper()
	s := &scheme{t, conn, make(chan uint32, 1)}
	s.now <- 0
	harness.Must(t, conn.Export(schemeCalls{s}, portalObject, portalSettings))
	if _, err := conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return s
}

// set changes the system's look, as its own settings do.
func (s *scheme) set(v uint32) {
	s.t.Helper()
	<-s.now
	s.now <- v
	harness.Must(s.t, s.conn.Emit(portalObject, portalSettings+".SettingChanged", appearance, colorScheme, dbus.MakeVariant(v)))
}

func (s *scheme) get() dbus.Variant {
	v := <-s.now
	s.now <- v
	return dbus.MakeVariant(v)
}

type schemeCalls struct{ s *scheme }

func (c schemeCalls) ReadOne(namespace, key string) (dbus.Variant, *dbus.Error) {
	if namespace != appearance || key != colorScheme {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.portal.Error.NotFound", nil)
	}
	return c.s.get(), nil
}

func (c schemeCalls) ReadAll([]string) (map[string]map[string]dbus.Variant, *dbus.Error) {
	return map[string]map[string]dbus.Variant{appearance: {colorScheme: c.s.get()}}, nil
}
