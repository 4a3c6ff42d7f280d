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

// activator is the class by which Windows knows whom to tell of a press (CustomActivator of the AppUserModelID).
const activator = "{B85DE858-D538-4C47-98EC-F0A9DA700DAC}"

// desktops are those of this process, by the name that Windows shows: it knows one listener for all of them.
var desktops sync.Map // of *desktop

// listen tells Windows once where presses go. The library registers its class and never revokes it, so that COM lets go of it
// while the process ends, also after a fault: a call into Go hangs there for ever, and with it the process, which keeps its data
// folder. The class is never freed, so that any function of the system that changes nothing does in the place of its Release.
var listen = sync.OnceFunc(func() {
	wintoast.ClassFactory.VTable.Release = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetCurrentProcessId").Addr()
	wintoast.SetActivationCallback(func(_, arguments string, _ []wintoast.UserData) { pressedToast(arguments) })
})

// desktop shows toasts (the Windows Runtime). It cannot be told to give up, which is why Notify waits on another goroutine.
type desktop struct {
	app      string
	iconFile string
	press    func(office.Click)
}

func newDesktop(o Options, log *slog.Logger, press func(office.Click)) *desktop {
	d := &desktop{app: o.App, press: press}
	if len(o.Icon) > 0 && o.IconFile != "" {
		if err := keepIcon(o.IconFile, o.Icon); err != nil {
			log.Warn("notifications have no icon", "err", err)
		} else {
			d.iconFile = o.IconFile
		}
	}
	return d
}

// keepIcon writes the icon, unless it is there: Windows reads it whenever it shows a notification of ours, also one of
// yesterday.
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

// toast shows one, without the library's way through PowerShell. On a Windows without toasts the library panics.
func (d *desktop) toast(n office.Notice) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("show a toast: %v", p)
		}
	}()
	if err := register(d.app, d.iconFile); err != nil {
		return fmt.Errorf("register for toasts: %w", err)
	}
	if err := wintoast.SetAppData(wintoast.AppData{AppID: d.app, GUID: activator, IconPath: d.iconFile}); err != nil {
		return fmt.Errorf("register for toasts: %w", err)
	}
	return wintoast.Push(toastXML(d.app, d.iconFile, n))
}

// pressedToast passes a press on. Its toast may be one of an earlier start: it says itself what it is about.
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
