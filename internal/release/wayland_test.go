//go:build shipping

package main

import (
	"context"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The program that uses X11 also opens its window on a desktop without X11, at 200 %: Sway, with an in-memory screen.
func TestTheWindowOpensOnWayland(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become nobody, as whom Sway is started here")
	}
	dir := must(os.MkdirTemp("", "countersign-wayland-")) // t.TempDir is readable by everybody
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"run", "home", "home/.cache", "Signed"} {
		noErr(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	noErr(t, copyFile(shipped(t).linux, filepath.Join(dir, "countersign")))
	noErr(t, write(filepath.Join(dir, "sway"), []byte("xwayland disable\noutput HEADLESS-1 resolution 2600x1800 scale 2\n"+
		"for_window [title=\".*\"] floating enable\nexec "+dir+"/countersign demo --dir "+dir+"/Signed\n")))
	c := command{dir: dir, env: []string{"HOME=" + dir + "/home", "XDG_RUNTIME_DIR=" + dir + "/run", "DISPLAY=", "WAYLAND_DISPLAY=", "LC_ALL=C.UTF-8",
		"WLR_BACKENDS=headless", "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman", "LIBGL_ALWAYS_SOFTWARE=1"}}
	c.must(t, "chown", "--recursive", "nobody", dir)
	nobody := []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}
	ctx, stop := context.WithCancel(t.Context())
	desktop := exec.CommandContext(ctx, nobody[0], append(nobody[1:], "dbus-run-session", "--", "sway", "--config", dir+"/sway")...)
	desktop.Dir, desktop.Env = dir, append(os.Environ(), c.env...)
	desktop.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that it ends together with its bus
	desktop.Cancel = func() error { return syscall.Kill(-desktop.Process.Pid, syscall.SIGTERM) }
	desktop.WaitDelay = 20 * time.Second
	noErr(t, desktop.Start())
	t.Cleanup(func() {
		stop()
		_ = desktop.Wait()
	})
	ask := func(args ...string) (string, bool) {
		sockets, _ := filepath.Glob(dir + "/run/sway-ipc.*")
		displays, _ := filepath.Glob(dir + "/run/wayland-?")
		if len(sockets) == 0 || len(displays) == 0 {
			return "", false
		}
		named := append(nobody[:len(nobody):len(nobody)], "env", "SWAYSOCK="+sockets[0], "WAYLAND_DISPLAY="+displays[0])
		out, code := c.run(t, append(named, args...)...)
		return out, code == 0
	}
	until := time.Now().Add(3 * time.Minute)
	for shown := false; !shown; time.Sleep(500 * time.Millisecond) {
		tree, _ := ask("swaymsg", "--type", "get_tree")
		shown = strings.Contains(tree, `"app_id": "ch.countersign.app"`) && coloursOf(t, ask, dir+"/seen.png") > 500
		if time.Now().After(until) {
			t.Fatalf("there is no window to be seen:\n%s", tree)
		}
	}
	if out, there := ask("swaymsg", "[app_id=ch.countersign.app]", "kill"); !there {
		t.Errorf("the window is gone: %s", out)
	}
}

// coloursOf is the number of colours on the screen. An empty screen has few.
func coloursOf(t *testing.T, ask func(...string) (string, bool), path string) int {
	t.Helper()
	if _, ok := ask("grim", path); !ok {
		return 0
	}
	f := must(os.Open(path))
	defer f.Close()
	seen, _, err := image.Decode(f)
	noErr(t, err)
	colours := map[[3]uint32]bool{}
	for y := seen.Bounds().Min.Y; y < seen.Bounds().Max.Y; y += 3 {
		for x := seen.Bounds().Min.X; x < seen.Bounds().Max.X; x += 3 {
			r, g, b, _ := seen.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	return len(colours)
}
