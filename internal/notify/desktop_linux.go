package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"countersign/internal/sessionbus"

	"github.com/gen2brain/beeep"
	"github.com/godbus/dbus/v5"
)

// The Desktop Notifications Specification 1.2.
const (
	service = "org.freedesktop.Notifications"
	object  = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// nobody are the answers that say for certain that no service has shown the notification, so another way cannot show it
// twice.
var nobody = []string{
	"org.freedesktop.DBus.Error.ServiceUnknown",
	"org.freedesktop.DBus.Error.NameHasNoOwner",
	"org.freedesktop.DBus.Error.UnknownMethod",
	"org.freedesktop.DBus.Error.UnknownObject",
	"org.freedesktop.DBus.Error.UnknownInterface",
	"org.freedesktop.DBus.Error.Spawn.ExecFailed",
	"org.freedesktop.DBus.Error.Spawn.ChildExited",
	"org.freedesktop.DBus.Error.Spawn.ServiceNotFound",
}

// desktop is the notification service of the session. raise is called by one goroutine at a time, close by any.
type desktop struct {
	app  string
	icon any // for beeep: a PNG, or "" for none
	hint map[string]dbus.Variant
	log  *slog.Logger

	mu     sync.Mutex
	closed bool
	conn   *dbus.Conn // kept: GNOME takes notifications down when the connection they came over ends
}

func newDesktop(app string, icon []byte, log *slog.Logger) *desktop {
	d := &desktop{app: app, icon: "", log: log, hint: map[string]dbus.Variant{
		"urgency": dbus.MakeVariant(byte(1)), // normal
	}}
	if len(icon) == 0 {
		return d
	}
	image, err := imageData(icon)
	if err != nil {
		log.Warn("notifications have no icon", "err", err)
		return d
	}
	d.icon, d.hint["image-data"] = icon, dbus.MakeVariant(image)
	return d
}

// raise shows a notification, or says why not. A session without a bus has no desktop to fall back on.
func (d *desktop) raise(ctx context.Context, title, body string) error {
	conn, err := d.connection(ctx)
	if err != nil {
		return fmt.Errorf("reach the desktop session: %w", err)
	}
	err = d.call(ctx, conn, title, body)
	if err == nil || ctx.Err() != nil {
		return err
	}
	var answer dbus.Error
	if !errors.As(err, &answer) {
		d.drop(conn)
		return err
	}
	if !slices.Contains(nobody, answer.Name) {
		return err
	}
	d.log.Debug("no notification service, trying another way", "answer", answer.Name)
	beeep.AppName = d.app
	if fallback := beeep.Notify(title, escaped.Replace(body), d.icon); fallback != nil {
		return errors.Join(err, fallback)
	}
	return nil
}

// call is one Notify, with the body escaped when, and only when, the service reads markup. The title is never markup.
func (d *desktop) call(ctx context.Context, conn *dbus.Conn, title, body string) error {
	o := conn.Object(service, object)
	var can []string
	if err := o.CallWithContext(ctx, service+".GetCapabilities", 0).Store(&can); err != nil {
		return fmt.Errorf("ask the notification service: %w", err)
	}
	if slices.Contains(can, "body-markup") {
		body = escaped.Replace(body)
	}
	call := o.CallWithContext(ctx, service+".Notify", 0,
		d.app, uint32(0), "", title, body, []string{}, d.hint, int32(-1))
	if call.Err != nil {
		return fmt.Errorf("call the notification service: %w", call.Err)
	}
	return nil
}

// connection is a connection of our own to the session's bus. None is started where there is none.
func (d *desktop) connection(ctx context.Context) (*dbus.Conn, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	conn := d.conn
	d.mu.Unlock()
	if conn != nil && conn.Connected() {
		return conn, nil
	}
	conn, err := sessionbus.Open(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		conn.Close()
		return nil, ErrClosed
	}
	d.conn = conn
	return conn, nil
}

// drop ends a connection that broke; the next notification makes a new one.
func (d *desktop) drop(conn *dbus.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == conn {
		d.conn = nil
	}
	conn.Close()
}

func (d *desktop) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.conn != nil {
		d.conn.Close()
	}
}
