package system

import (
	"testing"

	"golang.org/x/sys/windows/registry"
)

// private puts the person's choice back after the test: there is one registry.
func private(t *testing.T) {
	t.Helper()
	before, there, err := runValue(runKey, registry.Key.GetStringValue)
	must(t, err)
	must(t, noAutostart())
	t.Cleanup(func() {
		if err := noAutostart(); err != nil {
			t.Error(err)
		}
		if !there {
			return
		}
		key, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
		must(t, err)
		defer key.Close()
		if err := key.SetStringValue(runName, before); err != nil {
			t.Error(err)
		}
	})
}

func TestTheTaskManagerCanSwitchAutostartOff(t *testing.T) {
	private(t)
	must(t, (Autostart{}).Set(true))
	key, _, err := registry.CreateKey(registry.CURRENT_USER, approvedKey, registry.SET_VALUE)
	must(t, err)
	defer key.Close()
	must(t, key.SetBinaryValue(runName, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
	wantAutostart(t, false)
	must(t, (Autostart{}).Set(true))
	wantAutostart(t, true)
}
