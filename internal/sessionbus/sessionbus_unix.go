//go:build !windows && !darwin

package sessionbus

import (
	"context"
	"errors"

	"github.com/godbus/dbus/v5"
)

// Open returns a private connection, made before ctx ends; the connection that D-Bus libraries share belongs to the tray. If
// there is no bus, none is started.
func Open(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // Auth and Hello take no context
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
