package system

import (
	"testing"

	"golang.org/x/sys/windows/registry"
)

// private puts the person's choice back after the test: there is one registry.
func private(t *testing.T) {
	t.Helper()
	before, there, err := runValue(runKey, registry.Key.GetStringValue)
	if err != nil {
		t.Fatal(err)
	}
	if err := noAutostart(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := noAutostart(); err != nil {
			t.Error(err)
		}
		if !there {
			return
		}
		key, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
		if err != nil {
			t.Fatal(err)
		}
		defer key.Close()
		if err := key.SetStringValue(runName, before); err != nil {
			t.Error(err)
		}
	})
}

func TestTheTaskManagerCanSwitchAutostartOff(t *testing.T) {
	private(t)
	if err := (Autostart{}).Set(true); err != nil {
		t.Fatal(err)
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, approvedKey, registry.SET_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	if err := key.SetBinaryValue(runName, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	wantAutostart(t, false)
	if err := (Autostart{}).Set(true); err != nil {
		t.Fatal(err)
	}
	wantAutostart(t, true)
}
