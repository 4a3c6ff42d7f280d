//go:build linux

package harness

import (
	"slices"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Note is one notification as the desktop was asked to show it.
type Note struct{ App, Title, Body string }

// Notes is a notification service that remembers everything. Safe for concurrent use.
type Notes struct {
	mu     sync.Mutex
	all    []Note
	markup bool
}

// serveNotifications makes conn the notification service of its bus.
func serveNotifications(t testing.TB, conn *dbus.Conn) *Notes {
	t.Helper()
	n := &Notes{}
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

// notesService is the D-Bus side of notes: the Desktop Notifications Specification 1.2.
type notesService struct{ n *Notes }

func (s notesService) Notify(app string, _ uint32, _, title, body string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.all = append(s.n.all, Note{app, title, body})
	return uint32(len(s.n.all)), nil
}

func (s notesService) GetCapabilities() ([]string, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.n.markup {
		return []string{"body", "body-markup"}, nil
	}
	return []string{"body"}, nil
}

func (s notesService) CloseNotification(uint32) *dbus.Error { return nil }

func (s notesService) GetServerInformation() (string, string, string, string, *dbus.Error) {
	return "notes", "countersign", "1", "1.2", nil
}
