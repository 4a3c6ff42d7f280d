//go:build linux

package harness

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Note is one notification as the desktop was asked to show it.
type Note struct {
	App, Title, Body string
	Actions          string // their names and labels, as they came, a line each
}

// Notes is a notification service that remembers everything. Safe for concurrent use.
type Notes struct {
	conn    *dbus.Conn
	mu      sync.Mutex
	all     []Note
	markup  bool
	buttons bool
}

// serveNotifications makes conn the notification service of its bus.
func serveNotifications(t testing.TB, conn *dbus.Conn) *Notes {
	t.Helper()
	n := &Notes{conn: conn}
	Must(t, conn.Export(notesService{n}, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"))
	reply, err := conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("become the notification service: %v, %v", reply, err)
	}
	return n
}

// List returns what was shown so far, oldest first.
func (n *Notes) List() []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// ReadMarkup makes it a service that takes "<b>" in a body for a wish.
func (n *Notes) ReadMarkup() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.markup = true
}

// ShowButtons makes it a service that shows what can be pressed.
func (n *Notes) ShowButtons() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buttons = true
}

// Press presses on the newest notification whose title begins with some words: on a button, or, by the name of "default", on
// the notification itself.
func (n *Notes) Press(t testing.TB, title, action, token string) {
	t.Helper()
	var id uint32
	for i, note := range n.List() {
		if strings.HasPrefix(note.Title, title) {
			id = uint32(i + 1)
		}
	}
	if id == 0 {
		t.Fatalf("no notification begins with %q: %q", title, n.List())
	}
	const path, name = "/org/freedesktop/Notifications", "org.freedesktop.Notifications"
	if token != "" {
		Must(t, n.conn.Emit(path, name+".ActivationToken", id, token))
	}
	Must(t, n.conn.Emit(path, name+".ActionInvoked", id, action))
	Must(t, n.conn.Emit(path, name+".NotificationClosed", id, uint32(2)))
}

// notesService is the D-Bus side of notes: the Desktop Notifications Specification 1.2.
type notesService struct{ n *Notes }

func (s notesService) Notify(app string, _ uint32, _, title, body string, actions []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.all = append(s.n.all, Note{app, title, body, strings.Join(actions, "\n")})
	return uint32(len(s.n.all)), nil
}

func (s notesService) GetCapabilities() ([]string, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	can := []string{"body"}
	if s.n.markup {
		can = append(can, "body-markup")
	}
	if s.n.buttons {
		can = append(can, "actions")
	}
	return can, nil
}

func (s notesService) CloseNotification(uint32) *dbus.Error { return nil }

func (s notesService) GetServerInformation() (string, string, string, string, *dbus.Error) {
	return "notes", "countersign", "1", "1.2", nil
}
