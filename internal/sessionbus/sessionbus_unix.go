//go:build !windows && !darwin

package sessionbus

import (
	"context"
	"errors"

	"github.com/godbus/dbus/v5"
)

// Open returns a connection of the caller's own, made before ctx ends; the one that D-Bus libraries share belongs to the
// tray. No bus is started where there is none.
func Open(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // neither of the two takes a context
	err = conn.Auth(nil)
	if err == nil {
		err = conn.Hello()
	}
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
