package system

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// readAccessibility asks macOS: "Increase contrast" and "Reduce motion" of System Settings, Accessibility, Display. It has no text size
// that is for all programs.
func readAccessibility(ctx context.Context) (Accessibility, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	is := func(key string) bool {
		said, err := exec.CommandContext(ctx, "/usr/bin/defaults", "read", "com.apple.universalaccess", key).Output()
		return err == nil && strings.TrimSpace(string(said)) == "1"
	}
	c := Accessibility{Contrast: is("increaseContrast"), ReducedMotion: is("reduceMotion")}
	return c, ctx.Err()
}
