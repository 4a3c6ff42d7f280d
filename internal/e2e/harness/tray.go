//go:build linux

package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// Tray is the panel of a desktop: a StatusNotifierWatcher, and the host that shows its items.
type Tray struct {
	t          testing.TB
	bus        *dbus.Conn
	registered chan TrayItem
}

// TrayItem is one icon and its menu.
type TrayItem struct {
	tray   *Tray
	object dbus.BusObject
	menu   dbus.BusObject
}

func ServeTray(t testing.TB, conn *dbus.Conn) *Tray {
	t.Helper()
	const path, name = "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher"
	x := &Tray{t: t, bus: conn, registered: make(chan TrayItem, 8)}
	Must(t, conn.Export(watcher{x}, path, name))
	if _, err := prop.Export(conn, path, prop.Map{name: {
		"RegisteredStatusNotifierItems":  {Value: []string{}},
		"IsStatusNotifierHostRegistered": {Value: true},
		"ProtocolVersion":                {Value: int32(0)},
	}}); err != nil {
		t.Fatal(err)
	}
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("become the tray: %v, %v", reply, err)
	}
	return x
}

// watcher is the D-Bus side of tray.
type watcher struct{ tray *Tray }

// RegisterStatusNotifierItem takes a bus name, or the path of an object of the sender.
func (w watcher) RegisterStatusNotifierItem(service string, sender dbus.Sender) *dbus.Error {
	path := dbus.ObjectPath("/StatusNotifierItem")
	if strings.HasPrefix(service, "/") {
		path = dbus.ObjectPath(service)
	}
	w.tray.registered <- TrayItem{tray: w.tray, object: w.tray.bus.Object(string(sender), path)}
	return nil
}

func (w watcher) RegisterStatusNotifierHost(string) *dbus.Error { return nil }

// Item waits for the program's icon.
func (x *Tray) Item() TrayItem {
	x.t.Helper()
	select {
	case i := <-x.registered:
		Eventually(x.t, "the icon has a menu", func() bool {
			v, err := i.object.GetProperty("org.kde.StatusNotifierItem.Menu")
			path, ok := v.Value().(dbus.ObjectPath)
			if err != nil || !ok {
				return false
			}
			i.menu = x.bus.Object(i.object.Destination(), path)
			return true
		})
		return i
	case <-time.After(Patience):
		x.t.Fatal("no icon came to the tray")
		return TrayItem{}
	}
}

// property is one that a StatusNotifierItem has.
func (i TrayItem) property(name string) dbus.Variant {
	i.tray.t.Helper()
	v, err := i.object.GetProperty("org.kde.StatusNotifierItem." + name)
	Must(i.tray.t, err)
	return v
}

func (i TrayItem) Title() string {
	i.tray.t.Helper()
	title, _ := i.property("Title").Value().(string)
	return title
}

// Tooltip is what the panel shows over the icon.
func (i TrayItem) Tooltip() string {
	i.tray.t.Helper()
	var tip struct {
		Icon    string
		Picture []struct {
			Width, Height int32
			Pixels        []byte
		}
		Title, Text string
	}
	if err := dbus.Store([]any{i.property("ToolTip").Value()}, &tip); err != nil {
		i.tray.t.Fatal(err)
	}
	return tip.Title
}

// entry is one line of the menu. Its id changes whenever the menu does.
type entry struct {
	id    int32
	label string
}

func (i TrayItem) entries() (list []entry) {
	i.tray.t.Helper()
	type layout struct {
		ID       int32
		Props    map[string]dbus.Variant
		Children []dbus.Variant
	}
	var revision uint32
	var root layout
	err := i.menu.Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	if err != nil {
		i.tray.t.Fatalf("read the tray's menu: %v", err)
	}
	for _, child := range root.Children {
		var l layout
		if err := dbus.Store([]any{child.Value()}, &l); err != nil {
			i.tray.t.Fatalf("read the tray's menu: %v", err)
		}
		label, _ := l.Props["label"].Value().(string)
		list = append(list, entry{l.ID, strings.ReplaceAll(label, "_", "")})
	}
	return list
}

// Labels are the words of the menu, from the top; a line between others is empty.
func (i TrayItem) Labels() (list []string) {
	i.tray.t.Helper()
	for _, e := range i.entries() {
		list = append(list, e.label)
	}
	return append(list, "")[:max(1, len(list))]
}

// Click chooses the entry with this label, once the menu has been the same for a moment: Fyne makes all of it anew at every
// change, and what is clicked while it does so reaches nobody.
func (i TrayItem) Click(label string) {
	i.tray.t.Helper()
	var all []entry
	find := func() int { return slices.IndexFunc(all, func(e entry) bool { return e.label == label }) }
	Eventually(i.tray.t, "the tray's menu has "+label+" and is at rest", func() bool {
		before := i.entries()
		time.Sleep(200 * time.Millisecond)
		all = i.entries()
		return slices.Equal(before, all) && find() >= 0
	})
	call := i.menu.Call("com.canonical.dbusmenu.Event", 0, all[find()].id, "clicked", dbus.MakeVariant(""), uint32(time.Now().Unix()))
	if call.Err != nil {
		i.tray.t.Fatalf("click %q in the tray: %v", label, call.Err)
	}
}

func Contains(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}
