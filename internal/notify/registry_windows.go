package notify

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

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
