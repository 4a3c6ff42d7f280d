// Package autostart makes Countersign start in the tray when the person signs in to the computer, or stops that. It knows nothing of
// the window or of the office.
package autostart

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/ui/system"
)

// Entry is what the system follows: an entry in the desktop's autostart folder (Desktop Application Autostart Specification), in the
// Run key of the Windows registry, or a launch agent on macOS. It belongs to the person, never to the whole computer. The zero value
// is ready; its methods may be called from any goroutine.
type Entry struct{}

// hiddenFlag starts the program in the tray; see the open command.
const hiddenFlag = "--hidden"

// Enabled reports whether Countersign starts by itself, whoever arranged that.
func (Entry) Enabled() (bool, error) {
	on, err := autostarts()
	if err != nil {
		return false, message.Error(message.AutostartUnknown(), err)
	}
	return on, nil
}

// Set turns it on or off. Turning it on again updates the path after the program was moved.
func (Entry) Set(on bool) error {
	program, err := os.Executable()
	if err == nil && on {
		err = autostart(program)
	} else if err == nil {
		err = noAutostart()
	}
	if _, told := message.Of(err); err == nil || told {
		return err
	}
	return message.Error(message.AutostartFixed(), err)
}

// Forget removes the person's own entry; an administrator's stays.
func Forget() error {
	err := Entry{}.Set(false)
	if m, _ := message.Of(err); m == message.AutostartDecided() {
		return nil
	}
	return err
}

// remove removes a settings file if it exists.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace writes a settings file atomically, creating its folder if needed.
func replace(path string, content []byte) error {
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return system.WriteFile(path, true, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
