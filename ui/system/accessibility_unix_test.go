//go:build !windows && !darwin

package system

import (
	"testing"

	"countersign/internal/sessionbus/bustest"

	"github.com/godbus/dbus/v5"
)

// settingsPortal answers as org.freedesktop.portal.Settings does.
type settingsPortal map[string]map[string]dbus.Variant

func (p settingsPortal) ReadAll([]string) (map[string]map[string]dbus.Variant, *dbus.Error) {
	return p, nil
}

// TestTheDesktopsComfortIsRead asks a portal on a bus of the test's own, set as GNOME's accessibility settings set it.
func TestTheDesktopsComfortIsRead(t *testing.T) {
	v := dbus.MakeVariant
	for name, c := range map[string]struct {
		portal settingsPortal
		want   Accessibility
	}{
		"nothing set":       {settingsPortal{}, Accessibility{}},
		"as it comes":       {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(1.0), "enable-animations": v(true)}}, Accessibility{Text: 100}},
		"portal's contrast": {settingsPortal{"org.freedesktop.appearance": {"contrast": v(uint32(1))}}, Accessibility{Contrast: true}},
		"GNOME's contrast":  {settingsPortal{"org.gnome.desktop.a11y.interface": {"high-contrast": v(true)}}, Accessibility{Contrast: true}},
		"GTK's theme":       {settingsPortal{"org.gnome.desktop.interface": {"gtk-theme": v("HighContrastInverse")}}, Accessibility{Contrast: true}},
		"large text":        {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(1.25)}}, Accessibility{Text: 125}},
		"huge text":         {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(3.0)}}, Accessibility{Text: 200}},
		"small text":        {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(0.8)}}, Accessibility{Text: 100}},
		"no animations":     {settingsPortal{"org.gnome.desktop.interface": {"enable-animations": v(false)}}, Accessibility{ReducedMotion: true}},
		"reduced motion":    {settingsPortal{"org.freedesktop.appearance": {"reduced-motion": v(uint32(1))}}, Accessibility{ReducedMotion: true}},
		"other types":       {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v("2"), "enable-animations": v(0), "gtk-theme": v(1)}}, Accessibility{}},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.OfSession(t, nil)
			conn, err := dbus.ConnectSessionBus()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.Export(c.portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue); err != nil {
				t.Fatal(err)
			}
			if got, err := ReadAccessibility(t.Context()); err != nil || got != c.want {
				t.Errorf("read %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestADesktopThatDoesNotAnswerSaysNothing(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	if got, err := ReadAccessibility(t.Context()); err == nil {
		t.Errorf("read %+v", got)
	}
}
