package notify

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"

	"golang.org/x/sys/windows/registry"
)

const childEnds = "NOTIFY_TEST_CHILD_ENDS"

// TestEndingChild is the process for whose end TestAProgramThatHasNotifiedEnds waits.
func TestEndingChild(t *testing.T) {
	how := os.Getenv(childEnds)
	if how == "" {
		t.Skip("only as a child")
	}
	d := newDesktop(Options{App: "Countersign test"}, slog.New(slog.DiscardHandler), func(office.Click) {})
	listen()
	_ = d.toast(office.Notice{Title: "Lease"}) // Wine accepts the class, but has no toasts
	if how == "fault" {
		go func() { panic("a fault") }()
		select {}
	}
	os.Exit(3)
}

func TestAProgramThatHasNotifiedEnds(t *testing.T) {
	t.Cleanup(func() { noErr(t, Forget("Countersign test")) })
	for how, code := range map[string]int{"exit": 3, "fault": 2} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestEndingChild$")
		child.Env = append(os.Environ(), childEnds+"="+how)
		said, err := child.CombinedOutput()
		if ctx.Err() != nil || child.ProcessState.ExitCode() != code {
			t.Errorf("%s: %v\n%s", how, err, said)
		}
	}
}

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
