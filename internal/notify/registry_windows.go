package notify

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows/registry"
)

// Where Windows looks up whose a toast is, and what to start when somebody presses one while nothing runs. A build for tests has
// other places.
var (
	appsKey      = `Software\Classes\AppUserModelId`
	activatorKey = `Software\Classes\CLSID\` + activator
)

// register notes an app for its toasts. The library that shows them leaves alone what is noted already: after a move it would
// name an icon and a program that are no longer there.
func register(app, iconFile string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	key := appsKey + `\` + app
	err = errors.Join(note(key, "DisplayName", app), note(key, "CustomActivator", activator),
		note(activatorKey+`\LocalServer32`, "", syscall.EscapeArg(program)))
	if iconFile != "" {
		return errors.Join(err, note(key, "IconUri", iconFile))
	}
	return errors.Join(err, unnote(key, "IconUri"))
}

// note writes a text where another one is, or none.
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

// Forget removes what was noted for the toasts of apps.
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

// absent is err, unless that says that there is nothing.
func absent(err error) error {
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	return err
}
