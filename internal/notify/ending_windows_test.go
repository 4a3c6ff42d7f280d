package notify

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"countersign/internal/office"
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
