package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"countersign/internal/office"

	"github.com/godbus/dbus/v5"
)

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
