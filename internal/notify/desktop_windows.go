package notify

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/private"

	"git.sr.ht/~jackmordaunt/go-toast/wintoast"
	"golang.org/x/sys/windows"
)

// activator is the class that Windows calls when a toast is pressed (CustomActivator of the AppUserModelID).
const activator = "{B85DE858-D538-4C47-98EC-F0A9DA700DAC}"

// desktops are those of this process, by the name that Windows shows: Windows calls one listener for all of them.
var desktops sync.Map // of *desktop

// listen registers the callback for presses, once. The library never revokes its class, so COM releases it while the process
// exits, even after a crash: a call into Go then hangs for ever, and the process with it, which keeps the data folder
// locked. The class is never freed, so any harmless system function can stand in for its Release.
var listen = sync.OnceFunc(func() {
	wintoast.ClassFactory.VTable.Release = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetCurrentProcessId").Addr()
	wintoast.SetActivationCallback(func(_, arguments string, _ []wintoast.UserData) { pressedToast(arguments) })
})

// desktop shows toasts (the Windows Runtime). Its calls cannot be cancelled, so Notify waits for them on another goroutine.
type desktop struct {
	app      string
	iconFile string
	again    []string
	press    func(office.Click)
}

func newDesktop(o Options, log *slog.Logger, press func(office.Click)) *desktop {
	d := &desktop{app: o.App, again: o.Again, press: press}
	if len(o.Icon) > 0 && o.IconFile != "" {
		if err := keepIcon(o.IconFile, o.Icon); err != nil {
			log.Warn("notifications have no icon", "err", err)
		} else {
			d.iconFile = o.IconFile
		}
	}
	return d
}

// keepIcon writes the icon unless it is there: Windows reads the file whenever it shows one of our notifications, even an
// old one.
func keepIcon(path string, icon []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, icon) {
		return nil
	}
	return private.WriteFile(path, disk.Replace, private.From(bytes.NewReader(icon)))
}

func (d *desktop) raise(_ context.Context, n office.Notice) error {
	listen()
	desktops.Store(d.app, d)
	return d.toast(n)
}

// toast shows a toast without the library's fallback to PowerShell. On a Windows without toasts the library panics.
func (d *desktop) toast(n office.Notice) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("show a toast: %v", p)
		}
	}()
	if err := register(d.app, d.iconFile, d.again); err != nil {
		return fmt.Errorf("register for toasts: %w", err)
	}
	if err := wintoast.SetAppData(wintoast.AppData{AppID: d.app, GUID: activator, IconPath: d.iconFile}); err != nil {
		return fmt.Errorf("register for toasts: %w", err)
	}
	return wintoast.Push(toastXML(d.app, d.iconFile, n))
}

// pressedToast passes a press on. The toast may be from an earlier run: its arguments say what it is about.
func pressedToast(arguments string) {
	app, press, ok := readPress(arguments)
	if !ok {
		return
	}
	if d, known := desktops.Load(app); known {
		d.(*desktop).press(press)
	}
}

func (d *desktop) close() { desktops.CompareAndDelete(d.app, d) }
