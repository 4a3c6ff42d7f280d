package autostart

import (
	"testing"

	"countersign/internal/message"

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
	must(t, (Entry{}).Set(true))
	key, _, err := registry.CreateKey(registry.CURRENT_USER, approvedKey, registry.SET_VALUE)
	must(t, err)
	defer key.Close()
	must(t, key.SetBinaryValue(runName, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
	wantAutostart(t, false)
	must(t, (Entry{}).Set(true))
	wantAutostart(t, true)
}

func TestAStartForEverybodyIsTheAdministrators(t *testing.T) {
	private(t)
	everybodysKey = `Software\Countersign test`
	t.Cleanup(func() { everybodysKey = runKey })
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, everybodysKey, registry.SET_VALUE|registry.WOW64_64KEY)
	if err != nil {
		t.Skip("only an administrator can write there:", err)
	}
	t.Cleanup(func() { registry.DeleteKey(registry.LOCAL_MACHINE, everybodysKey) })
	defer key.Close()
	must(t, key.SetStringValue(runName, `"C:\Program Files\Countersign\Countersign.exe" --hidden`))
	wantAutostart(t, true)
	if m, _ := message.Of(Entry{}.Set(false)); m != message.AutostartDecided() {
		t.Errorf("switched off: %v", m)
	}
	must(t, (Entry{}).Set(true))
	if _, there, err := runValue(runKey, registry.Key.GetStringValue); there || err != nil {
		t.Errorf("it starts twice (%v)", err)
	}
	must(t, Forget())
}
