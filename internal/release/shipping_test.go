//go:build shipping

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	_ "image/png"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests with this tag install the shipped packages where they belong: Windows programs in Wine, the Debian package in a
// fresh Debian, the archive in an empty home. `make test-shipping` runs them, and installs what they need.

// built is a published release, made once for all tests.
type built struct {
	p                                        product
	linux, windows, setup, deb, rpm, tarball string
	server, serverDeb                        string // for this computer's processor
}

var build = sync.OnceValues(func() (built, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "countersign-shipping-")
	if err != nil {
		return built{}, err
	}
	leftovers = append(leftovers, dir)
	c := commandLine{Root: filepath.Join("..", ".."), Out: dir, Version: "9.8.7", Arch: runtime.GOARCH}
	p, err := c.product(ctx)
	if err != nil {
		return built{}, err
	}
	return built{
		p: p, linux: filepath.Join(dir, "countersign-9.8.7-linux-amd64"),
		windows: filepath.Join(dir, "Countersign-9.8.7-windows-amd64.exe"), setup: filepath.Join(dir, "Countersign-9.8.7-setup.exe"),
		server:    filepath.Join(dir, "countersign-server-9.8.7-linux-"+runtime.GOARCH),
		serverDeb: filepath.Join(dir, "countersign-server_9.8.7_"+runtime.GOARCH+".deb"),
		deb:       filepath.Join(dir, "countersign_9.8.7_amd64.deb"),
		rpm:       filepath.Join(dir, "countersign-9.8.7-1.x86_64.rpm"), tarball: filepath.Join(dir, "countersign-9.8.7-linux-amd64.tar.gz"),
	}, p.release(ctx)
})

// leftovers are shared by all tests and removed at the end.
var leftovers []string

func shipped(t *testing.T) built {
	t.Helper()
	b := must(build())
	return b
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "sign" { // called back by the installer's compiler, like the real program
		if err := signWindows(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	for _, dir := range leftovers {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// command is an environment for running tools.
type command struct {
	env []string
	dir string
}

// run runs a tool to its end and returns its combined output and its exit code.
func (c command) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // not the test's, because cleanups use it, too
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.env...), c.dir
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its children end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a tool that must succeed.
func (c command) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := c.run(t, args...)
	if code != 0 {
		t.Fatalf("%s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// wantDocuments checks that the demo saved the signed documents of its two packages completely.
func wantDocuments(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, ".pdf") || !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("%s is no PDF document", path)
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 8 {
		t.Errorf("%d documents were saved", n)
	}
}

func wantFile(t *testing.T, path string, there bool) {
	t.Helper()
	if _, err := os.Lstat(path); (err == nil) != there {
		t.Errorf("%s: there is %v, want %v", path, err == nil, there)
	}
}

func TestTheSameTreeGivesTheSameBytesElsewhere(t *testing.T) {
	first := shipped(t)
	elsewhere := filepath.Join(t.TempDir(), "another folder")
	p := first.p
	p.root, p.out = elsewhere, t.TempDir()
	// What is committed or about to be, without what a build left in the tree.
	files := must(output(t.Context(), first.p.root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard"))
	for _, name := range strings.Split(files, "\n") {
		noErr(t, os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, name)), 0o755))
		noErr(t, copyFile(filepath.Join(first.p.root, name), filepath.Join(elsewhere, name)))
	}
	noErr(t, p.release(t.Context()))
	want, got := sums(t, first.p.out), sums(t, p.out)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(want) != len(got) || len(want) != 19 {
		t.Errorf("%d files are published, %d elsewhere", len(want), len(got))
	}
	command{dir: p.out}.must(t, "sha256sum", "--check", "--strict", "SHA256SUMS")
}

func sums(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	entries := must(os.ReadDir(dir))
	found := map[string][sha256.Size]byte{}
	for _, e := range entries {
		content := must(os.ReadFile(filepath.Join(dir, e.Name())))
		found[e.Name()] = sha256.Sum256(content)
	}
	return found
}

func TestWhatIsSignedIsSignedThroughout(t *testing.T) {
	dir := t.TempDir()
	c := command{dir: dir}
	c.must(t, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Countersign test", "-days", "2",
		"-addext", "extendedKeyUsage=codeSigning", "-keyout", "key.pem", "-out", "cert.pem")
	c.must(t, "openssl", "pkcs12", "-export", "-inkey", "key.pem", "-in", "cert.pem", "-passout", "pass:for tests", "-out", "cert.pfx")
	noErr(t, os.WriteFile(filepath.Join(dir, "password"), []byte("for tests"), 0o600))
	t.Setenv("SIGN_PFX", filepath.Join(dir, "cert.pfx"))
	t.Setenv("SIGN_PASSWORD_FILE", filepath.Join(dir, "password"))
	// A small Go program replaces the real one, which takes long to pack.
	write(filepath.Join(dir, "go.mod"), []byte("module small\n"))
	write(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"))
	small := filepath.Join(dir, "small.exe")
	command{dir: dir, env: []string{"GOOS=windows", "CGO_ENABLED=0", "GOFLAGS="}}.must(t, "go", "build", "-o", small, ".")
	p := shipped(t).p
	p.out = dir
	noErr(t, p.sign(t.Context(), small))
	setup := must(p.windowsInstaller(t.Context(), small, "Countersign-setup.exe"))
	w, home := newWine(t, "")
	w.must(t, "wine", setup, "/S")
	installed := filepath.Join(home, "AppData", "Local", "Programs", "Countersign")
	for _, path := range []string{small, setup, filepath.Join(installed, "Countersign.exe"), filepath.Join(installed, "uninstall.exe")} {
		out, _ := exec.Command("osslsigncode", "verify", "-CAfile", filepath.Join(dir, "cert.pem"), path).CombinedOutput()
		if !bytes.Contains(out, []byte("CN=Countersign test")) || !bytes.Contains(out, []byte("Signature verification: ok")) {
			t.Errorf("%s: %s", path, out)
		}
	}
	t.Setenv("SIGN_PASSWORD_FILE", filepath.Join(dir, "cert.pem"))
	if err := p.sign(t.Context(), small); err == nil {
		t.Error("a wrong password was taken")
	}
}

// inWineToo are the packages whose tests also run on Windows; the tests of the Windows keyring skip themselves.
var inWineToo = []string{
	"internal/archive", "internal/store", "internal/secret", "internal/private", "internal/locations", "internal/single", "internal/esign", "internal/inbox",
	"internal/notify", "internal/tunnel", "internal/sandbox", "internal/demo", "internal/preview",
	"internal/agent", "internal/cli", "internal/policy", "ui/autostart", "ui/system", "ui/drop", "internal/agent/dropped",
}

func TestPackagesKeepTheirPromisesOnWindows(t *testing.T) {
	w, _ := newWine(t, "")
	root := shipped(t).p.root
	toWindows := command{dir: root, env: []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}}
	for _, name := range inWineToo {
		t.Run(filepath.Base(name), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "test.exe")
			toWindows.must(t, "go", "test", "-c", "-o", program, "./"+name)
			there := command{dir: filepath.Join(root, name), env: w.env} // for its testdata
			out, code := there.run(t, "wine", program, "-test.v", "-test.timeout=3m")
			if code != 0 || !strings.Contains(out, "\nPASS") {
				t.Errorf("it ended with %d\n%s", code, out)
			}
			for line := range strings.Lines(out) {
				if strings.Contains(line, "--- SKIP") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// No Mac is available: code without C is compiled and vetted for it, and for Windows, which is faster than Wine. Fyne needs
// C for its driver, and on macOS even for its widgets.
func TestOtherSystemsCompile(t *testing.T) {
	root := shipped(t).p.root
	for system, needsC := range map[string][]string{
		"GOOS=darwin":  {"fyne.io/fyne/v2/internal/widget", "fyne.io/fyne/v2/app", "fyne.io/fyne/v2/test", "github.com/go-gl/glfw/v3.4/glfw"},
		"GOOS=windows": {"fyne.io/fyne/v2/app", "github.com/go-gl/glfw/v3.4/glfw"},
	} {
		c := command{dir: root, env: []string{system, "GOARCH=amd64", "CGO_ENABLED=0"}}
		packages := []string{"go", "vet"}
		// Ignore its messages about downloading modules.
		list := must(output(t.Context(), root, c.env, "go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}} {{join .TestImports " "}}`, "./..."))
		for line := range strings.Lines(list) {
			words := strings.Fields(line)
			if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(needsC, w) }) {
				packages = append(packages, words[0])
			}
		}
		if len(packages) < 20 {
			t.Fatalf("%s: only %q need no C", system, packages)
		}
		c.must(t, packages...)
	}
}

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
