package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/private"

	"git.sr.ht/~jackmordaunt/go-toast/wintoast"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
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

// Where Windows looks up which app a toast belongs to, and what to start if one is pressed while nothing runs. Tests use
// other keys.
var (
	appsKey      = `Software\Classes\AppUserModelId`
	activatorKey = `Software\Classes\CLSID\` + activator
)

// register records an app for its toasts. The library that shows them does not update an existing record: after the program
// is moved, it would name an icon and a program that no longer exist. A press starts
// the program with the arguments again.
func register(app, iconFile string, again []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	key := appsKey + `\` + app
	err = errors.Join(note(key, "DisplayName", app), note(key, "CustomActivator", activator),
		note(activatorKey+`\LocalServer32`, "", windows.ComposeCommandLine(append([]string{program}, again...))))
	if iconFile != "" {
		return errors.Join(err, note(key, "IconUri", iconFile))
	}
	return errors.Join(err, unnote(key, "IconUri"))
}

// note writes a value unless it is already there.
func note(path, name, text string) error {
	key, _, err := registry.CreateKey(registry.CURRENT_USER, path, registry.QUERY_VALUE|registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if is, _, err := key.GetStringValue(name); err == nil && is == text {
		return nil
	}
	return key.SetStringValue(name, text)
}

func unnote(path, name string) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if err != nil {
		return absent(err)
	}
	defer key.Close()
	return absent(key.DeleteValue(name))
}

// Forget removes what was recorded for the toasts of apps.
func Forget(apps ...string) error {
	paths := []string{activatorKey + `\LocalServer32`, activatorKey}
	for _, app := range apps {
		paths = append(paths, appsKey+`\`+app)
	}
	var err error
	for _, path := range paths {
		err = errors.Join(err, absent(registry.DeleteKey(registry.CURRENT_USER, path)))
	}
	return err
}

// absent returns err, or nil if err says that there is nothing.
func absent(err error) error {
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	return err
}
