package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"countersign/internal/office"
	"countersign/internal/sessionbus"

	"github.com/godbus/dbus/v5"
)

// The Desktop Notifications Specification 1.2.
const (
	service = "org.freedesktop.Notifications"
	object  = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// desktop is the session's notification service. raise is called by one goroutine at a time, close by any.
type desktop struct {
	app  string
	hint map[string]dbus.Variant
	log  *slog.Logger

	presses presses

	mu     sync.Mutex
	closed bool
	conn   *dbus.Conn // kept open: GNOME removes notifications when the connection that sent them closes
}

// entry is the program's desktop entry, by which desktops attribute a notification.
const entry = "ch.countersign.app"

func newDesktop(o Options, log *slog.Logger, press func(office.Click)) *desktop {
	d := &desktop{app: o.App, log: log, presses: presses{press: press}, hint: map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(byte(1)), // normal
		"desktop-entry": dbus.MakeVariant(entry),
	}}
	if len(o.Icon) == 0 {
		return d
	}
	image, err := imageData(o.Icon)
	if err != nil {
		log.Warn("notifications have no icon", "err", err)
		return d
	}
	d.hint["image-data"] = dbus.MakeVariant(image)
	return d
}

// raise shows a notification, or returns why it cannot.
func (d *desktop) raise(ctx context.Context, n office.Notice) error {
	conn, err := d.connection(ctx)
	if err != nil {
		return fmt.Errorf("reach the desktop session: %w", err)
	}
	err = d.call(ctx, conn, n)
	var answer dbus.Error
	if errors.As(err, &answer) && (answer.Name == "org.freedesktop.DBus.Error.ServiceUnknown" || answer.Name == "org.freedesktop.DBus.Error.NameHasNoOwner") {
		err = d.call(ctx, conn, n) // the service went away between two calls without showing anything; there may be a new one
	}
	if err != nil && ctx.Err() == nil && !errors.As(err, &answer) {
		d.drop(conn)
	}
	return err
}

// call sends one Notify. It escapes the body exactly if the service reads markup, and adds buttons if the service shows
// them. The title is never markup. The instance of the service that reported its capabilities is the one asked to show the
// notification, and the only one from which a press counts.
func (d *desktop) call(ctx context.Context, conn *dbus.Conn, n office.Notice) error {
	var can []string
	if err := conn.Object(service, object).CallWithContext(ctx, service+".GetCapabilities", 0).Store(&can); err != nil {
		return fmt.Errorf("ask the notification service: %w", err)
	}
	var owner string
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, service).Store(&owner); err != nil {
		return fmt.Errorf("ask for the notification service: %w", err)
	}
	if slices.Contains(can, "body-markup") {
		n.Body = escaped.Replace(n.Body)
	}
	if !slices.Contains(can, "actions") {
		n.Buttons = nil
	}
	err := d.presses.show(owner, n, func(actions []string) (id uint32, err error) {
		err = conn.Object(owner, object).CallWithContext(ctx, service+".Notify", 0,
			d.app, uint32(0), "", n.Title, n.Body, actions, d.hint, int32(-1)).Store(&id)
		return id, err
	})
	if err != nil {
		return fmt.Errorf("call the notification service: %w", err)
	}
	return nil
}

// connection is our own connection to the session bus. If there is no bus, none is started.
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
	if err := d.presses.listen(ctx, conn); err != nil {
		d.log.Warn("notifications cannot be pressed", "err", err)
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

// drop discards a broken connection; the next notification makes a new one.
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

// Forget is only needed on Windows: here nothing is stored.
func Forget(...string) error { return nil }
