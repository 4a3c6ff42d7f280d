package notify

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"
)

// noted is a text in the registry.
func noted(t *testing.T, path, name string) string {
	t.Helper()
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	text, _, err := key.GetStringValue(name)
	if err != nil {
		return ""
	}
	return text
}

func TestToastsNameNoIconThatHasGone(t *testing.T) {
	appsKey, activatorKey = `Software\Countersign test\apps`, `Software\Countersign test\activator`
	t.Cleanup(func() {
		registry.DeleteKey(registry.CURRENT_USER, appsKey)
		registry.DeleteKey(registry.CURRENT_USER, `Software\Countersign test`)
	})
	key := appsKey + `\Countersign`
	for _, icon := range []string{`C:\Users\Anna\before\icon.png`, `C:\Users\Anna Müller\now\icon.png`, ""} {
		noErr(t, register("Countersign", icon, []string{"--data", `D:\two words`}))
		expect(t, noted(t, key, "IconUri"), icon, "the icon is %q, want %q", icon)
	}
	program, err := os.Executable()
	noErr(t, err)
	if starts := noted(t, activatorKey+`\LocalServer32`, ""); !strings.HasPrefix(strings.TrimPrefix(starts, `"`), program) || !strings.HasSuffix(starts, ` --data "D:\two words"`) {
		t.Errorf("a press starts %q", starts)
	}
	noErr(t, Forget("Countersign"))
	if noted(t, key, "DisplayName") != "" || noted(t, activatorKey+`\LocalServer32`, "") != "" {
		t.Error("something is kept")
	}
	noErr(t, Forget("Countersign"))
}
