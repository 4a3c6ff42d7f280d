//go:build !windows && !darwin

package proxy

import (
	"context"
	"net/url"
	"time"

	"countersign/internal/sessionbus"
)

// portalTime is how long the desktop may take; a desktop that does not answer must not delay the first call.
const portalTime = 3 * time.Second

// askSystem asks the desktop, whichever it is: org.freedesktop.portal.ProxyResolver. It reads the settings of GNOME and KDE,
// and runs scripts. Without a desktop there is no answer.
func askSystem(ctx context.Context, to *url.URL) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, portalTime)
	defer cancel()
	bus, err := sessionbus.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer bus.Close()
	portal := bus.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
	var list []string
	if err := portal.CallWithContext(ctx, "org.freedesktop.portal.ProxyResolver.Lookup", 0, to.String()).Store(&list); err != nil {
		return Answer{}, err
	}
	answer := Answer{Ways: waysFromURLs(list), Source: System}
	if answer.First() == nil && len(answer.Ways) < 2 {
		answer.Source = Nothing
	}
	return answer, nil
}
