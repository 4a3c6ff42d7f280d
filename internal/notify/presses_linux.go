package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"countersign/internal/office"

	"github.com/godbus/dbus/v5"
)

// What the service says of notifications: that one was pressed, where and with which token, and that one is closed.
const (
	pressedSignal = service + ".ActionInvoked"
	tokenSignal   = service + ".ActivationToken"
	closedSignal  = service + ".NotificationClosed"
)

const (
	mostShown  = 200              // that are remembered; a service that never says that one is closed costs no more
	closedKept = 10 * time.Second // a service may say that one is closed before it says that it was pressed

	closedExpired   = 1 // reasons of closedSignal; an expired one may still be in a list where it can be pressed
	closedUndefined = 4

	pressItself = "default" // the action of a press on the notification itself
)

// presses know which notifications are ours, and pass on who presses them. A number counts only together with the
// service that gave it: one that was started anew counts from 1 again. Safe for concurrent use.
type presses struct {
	press func(office.Click)

	mu    sync.Mutex // also held while one is shown: it may be pressed before we have its number
	shown []shownOnce
}

// shownOnce is a notification on the screen, or in the desktop's list.
type shownOnce struct {
	owner string // the service's own name on the bus
	id    uint32
	about office.Subject
	deeds map[string]office.Action // by the names of the actions
	token string
	ended time.Time // when it was closed; zero before
}

// show has a notification shown, with its buttons as the service wants them, and remembers it.
func (p *presses) show(owner string, n office.Notice, notify func(actions []string) (uint32, error)) error {
	deeds := map[string]office.Action{}
	actions := []string{}
	for i, b := range n.Buttons {
		name := string(b.Action)
		if i == 0 {
			name = pressItself
		}
		deeds[name] = b.Action
		actions = append(actions, name, b.Label)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := notify(actions)
	if err != nil || len(deeds) == 0 {
		return err
	}
	p.shown = slices.DeleteFunc(p.shown, func(s shownOnce) bool { return s.owner != owner || s.id == id || s.over() })
	if len(p.shown) >= mostShown {
		p.shown = slices.Delete(p.shown, 0, 1)
	}
	p.shown = append(p.shown, shownOnce{owner: owner, id: id, about: n.About, deeds: deeds})
	return nil
}

func (s shownOnce) over() bool { return !s.ended.IsZero() && time.Since(s.ended) > closedKept }

// listen follows what the service says, until the connection ends.
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

// hear passes on a press. What is not about one of ours, or not from the service that showed it, means nothing.
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
		if deed, offered := one.deeds[name]; offered {
			p.press(office.Click{About: one.about, Action: deed, Token: one.token})
		}
	}
}
