package autostart

import (
	"errors"

	"countersign/internal/message"

	"golang.org/x/sys/windows/registry"
)

// The installer writes the same value on request.
const (
	runKey      = `Software\Microsoft\Windows\CurrentVersion\Run`
	approvedKey = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
	runName     = "Countersign"
)

// everybodysKey is where the package for everyone on a computer writes the same value if its administrator requested that. Test
// builds use another key.
var everybodysKey = runKey

// everybodys reports whether Countersign starts for everyone on the computer.
func everybodys() bool {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, everybodysKey, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return false
	}
	defer key.Close()
	command, _, err := key.GetStringValue(runName)
	return err == nil && command != ""
}

func autostarts() (bool, error) {
	if everybodys() {
		return true, nil
	}
	switch _, there, err := runValue(runKey, registry.Key.GetStringValue); {
	case err != nil, !there:
		return false, err
	}
	state, _, err := runValue(approvedKey, registry.Key.GetBinaryValue)
	return err == nil && approved(state), err
}

func autostart(program string) error {
	if everybodys() {
		return nil
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if err := key.SetStringValue(runName, runCommand(program)); err != nil {
		return err
	}
	return forget(approvedKey) // the Task Manager's veto
}

func noAutostart() error {
	err := forget(runKey)
	if err == nil && everybodys() {
		return message.Error(message.AutostartDecided(), nil)
	}
	return err
}

func runValue[T any](path string, get func(registry.Key, string) (T, uint32, error)) (value T, there bool, err error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return value, false, nil
	}
	if err != nil {
		return value, false, err
	}
	defer key.Close()
	value, _, err = get(key, runName)
	if errors.Is(err, registry.ErrNotExist) {
		return value, false, nil
	}
	return value, err == nil, err
}

func forget(path string) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer key.Close()
	if err := key.DeleteValue(runName); !errors.Is(err, registry.ErrNotExist) {
		return err
	}
	return nil
}
