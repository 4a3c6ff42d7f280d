package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"log/slog"
	"slices"
	"sync"
	"time"

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

// The service's signals about notifications: pressed (where, and with which token), and closed.
const (
	pressedSignal = service + ".ActionInvoked"
	tokenSignal   = service + ".ActivationToken"
	closedSignal  = service + ".NotificationClosed"
)

const (
	mostShown  = 200              // remembered at most, in case a service never reports them as closed
	closedKept = 10 * time.Second // a service may report that a notification was closed before it reports the press

	closedExpired   = 1 // reasons of closedSignal; an expired notification may still be in a list where it can be pressed
	closedUndefined = 4

	pressItself = "default" // the action for a press on the notification itself
)

// presses tracks our notifications and reports presses on them. A notification's number counts only together with the
// service that assigned it: a restarted service counts from 1 again. Safe for concurrent use.
type presses struct {
	press func(office.Click)

	mu    sync.Mutex // also held while one is being shown: it may be pressed before we have its number
	shown []shownOnce
}

// shownOnce is a notification on the screen, or in the desktop's list.
type shownOnce struct {
	owner  string // the service's unique name on the bus
	id     uint32
	about  office.Subject
	byName map[string]office.Action // by action name
	token  string
	ended  time.Time // when it was closed; zero while open
}

// show calls notify with the buttons in the service's format, and remembers the notification.
func (p *presses) show(owner string, n office.Notice, notify func(actions []string) (uint32, error)) error {
	byName := map[string]office.Action{}
	actions := []string{}
	for i, b := range n.Buttons {
		name := string(b.Action)
		if i == 0 {
			name = pressItself
		}
		byName[name] = b.Action
		actions = append(actions, name, b.Label)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := notify(actions)
	if err != nil || len(byName) == 0 {
		return err
	}
	p.shown = slices.DeleteFunc(p.shown, func(s shownOnce) bool { return s.owner != owner || s.id == id || s.over() })
	if len(p.shown) >= mostShown {
		p.shown = slices.Delete(p.shown, 0, 1)
	}
	p.shown = append(p.shown, shownOnce{owner: owner, id: id, about: n.About, byName: byName})
	return nil
}

func (s shownOnce) over() bool { return !s.ended.IsZero() && time.Since(s.ended) > closedKept }

// listen handles the service's signals until the connection ends.
func (p *presses) listen(ctx context.Context, conn *dbus.Conn) error {
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(service), dbus.WithMatchObjectPath(object), dbus.WithMatchInterface(service)); err != nil {
		return err
	}
	said := make(chan *dbus.Signal, 64)
	conn.Signal(said)
	go func() {
		for {
			select {
			case <-conn.Context().Done():
				return
			case s, open := <-said:
				if !open {
					return
				}
				p.hear(s)
			}
		}
	}()
	return nil
}

// hear reports a press. It ignores signals that are not about our notifications, or not from the service that showed them.
func (p *presses) hear(s *dbus.Signal) {
	if len(s.Body) < 2 {
		return
	}
	id, ok := s.Body[0].(uint32)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.shown, func(o shownOnce) bool { return o.id == id && o.owner == s.Sender && !o.over() })
	if at < 0 {
		return
	}
	one := &p.shown[at]
	switch s.Name {
	case tokenSignal:
		one.token, _ = s.Body[1].(string)
	case closedSignal:
		if why, _ := s.Body[1].(uint32); why != closedExpired && why != closedUndefined {
			one.ended = time.Now()
		}
	case pressedSignal:
		name, _ := s.Body[1].(string)
		if action, offered := one.byName[name]; offered {
			p.press(office.Click{About: one.about, Action: action, Token: one.token})
		}
	}
}

// picture is an image in the format of the "image-data" hint: (iiibiiay).
type picture struct {
	Width, Height, Stride int32
	Alpha                 bool
	Bits, Channels        int32
	Data                  []byte
}

func imageData(icon []byte) (picture, error) {
	src, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		return picture{}, err
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Src)
	return picture{int32(w), int32(h), int32(dst.Stride), true, 8, 4, dst.Pix}, nil
}
