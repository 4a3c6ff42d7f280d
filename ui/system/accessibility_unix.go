//go:build !windows && !darwin

package system

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"countersign/internal/sessionbus"
)

// readAccessibility asks the desktop's portal (org.freedesktop.portal.Settings), which hands on what GNOME and others are set to.
func readAccessibility(ctx context.Context) (c Accessibility, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := sessionbus.Open(ctx)
	if err != nil {
		return c, err
	}
	defer conn.Close()
	const gnome, appearance = "org.gnome.desktop.", "org.freedesktop.appearance"
	var all map[string]map[string]dbus.Variant
	portal := conn.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
	if err := portal.CallWithContext(ctx, "org.freedesktop.portal.Settings.ReadAll", 0, []string{gnome + "*", appearance}).Store(&all); err != nil {
		return c, err
	}
	desktop, access := all[gnome+"interface"], all[gnome+"a11y.interface"]
	contrast, _ := all[appearance]["contrast"].Value().(uint32)
	high, _ := access["high-contrast"].Value().(bool)
	gtk, _ := desktop["gtk-theme"].Value().(string)
	c.Contrast = contrast == 1 || high || strings.HasPrefix(gtk, "HighContrast")
	if factor, is := desktop["text-scaling-factor"].Value().(float64); is {
		c.Text = int(math.Round(min(factor, 10) * 100))
	}
	moves, said := desktop["enable-animations"].Value().(bool)
	less, _ := all[appearance]["reduced-motion"].Value().(uint32)
	c.ReducedMotion = said && !moves || less == 1
	return c, nil
}
