//go:build linux

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program is the path of the binary under test, built once.
var Program string

// tools are what the tests start, and the Debian package each comes with.
var tools = []struct{ name, debian string }{
	{"dbus-daemon", "dbus"},
	{"gnome-keyring-daemon", "gnome-keyring"},
	{"Xvfb", "xvfb"},
	{"openbox", "openbox"},
	{"xdotool", "xdotool"},
	{"import", "imagemagick"},
	{"chromium", "chromium"},
}

// RunTests is for TestMain: it runs the tests on a fresh build of the program, and after when they have ended.
func RunTests(m *testing.M, after func()) { os.Exit(build(m, after)) }

// BuildWith builds the program with other words for the linker, as a release has them, and returns its path.
func BuildWith(t testing.TB, ldflags string) string {
	t.Helper()
	path := filepath.Join(ShortDir(t), "countersign")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", ldflags, "-o", path, "countersign")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

func build(m *testing.M, after func()) int {
	missing := false
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.name); err != nil {
			fmt.Fprintf(os.Stderr, "The end-to-end tests need %s, which comes with the Debian package %s.\n", tool.name, tool.debian)
			missing = true
		}
	}
	if missing {
		return 1
	}
	dir, err := os.MkdirTemp("", "cs-build-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Program = filepath.Join(dir, "countersign")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", Program, "countersign") // whoever owns the tree
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "The program could not be built: %v\n%s", err, out)
		return 1
	}
	defer after()
	return m.Run()
}
