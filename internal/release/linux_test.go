package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tiny builds a program that is linked with one library of Wayland's, and opens what is named.
func tiny(t *testing.T, opens ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no gcc for Linux here")
	}
	dir := t.TempDir()
	code := "package main\n\n// #cgo LDFLAGS: -l:libwayland-client.so.0\n// #include <dlfcn.h>\n// void *wl_display_connect(const char *);\n" +
		"// static void opens() { wl_display_connect(0);\n"
	for _, name := range opens {
		code += "// dlopen(\"" + name + "\", RTLD_LAZY);\n"
	}
	must(t, write(filepath.Join(dir, "go.mod"), []byte("module tiny\n")))
	must(t, write(filepath.Join(dir, "main.go"), []byte(code+"// }\nimport \"C\"\n\nfunc main() { C.opens() }\n")))
	program := filepath.Join(dir, "tiny")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no program can be linked with Wayland here: %s", out)
	}
	return program
}

func TestPackagesNeedWhatTheProgramLinksAndOpens(t *testing.T) {
	program := tiny(t, "libXcursor.so.1", "libdecor-0.so.0", "libvulkan.so.1", "libwayland-client.so.0")
	asks, err := librariesOf(program)
	if err != nil || !slices.Equal(asks.always, []string{"libXcursor.so.1"}) || !slices.Equal(asks.better, []string{"libdecor-0.so.0"}) {
		t.Errorf("it asks for %+v, %v", asks, err)
	}
	if _, err := librariesOf(tiny(t, "libtomato.so.2")); err == nil || !strings.Contains(err.Error(), "libtomato.so.2") {
		t.Errorf("of a library that nobody knows it said %v", err)
	}
	p := here(t)
	p.arch = runtime.GOARCH
	byName, opened, err := p.needs(t.Context(), "rpm", program)
	for _, name := range []string{"libc.so.6()(64bit)", "libwayland-client.so.0()(64bit)", "libXcursor.so.1()(64bit)"} {
		if err != nil || !slices.Contains(byName, name) {
			t.Errorf("%s is not in %q, %v", name, byName, err)
		}
	}
	if !slices.ContainsFunc(byName, func(name string) bool { return strings.HasPrefix(name, "libc.so.6(GLIBC_2.") }) || len(opened) != 1 {
		t.Errorf("it needs %q and recommends %q", byName, opened)
	}
	for _, tool := range []string{"dpkg-shlibdeps", "/usr/share/doc/libxcursor1", "/usr/share/doc/libdecor-0-0"} {
		_, err := exec.LookPath(tool)
		if _, errFile := os.Stat(tool); err != nil && errFile != nil {
			t.Skipf("there is no %s here", tool)
		}
	}
	depends, recommends, err := p.needs(t.Context(), "deb", program)
	for _, name := range []string{"libc6 (>= ", "libwayland-client0 (>= ", "libxcursor1"} {
		if err != nil || !slices.ContainsFunc(depends, func(d string) bool { return strings.HasPrefix(d, name) }) {
			t.Errorf("%s is not in %q, %v", name, depends, err)
		}
	}
	if !slices.Equal(recommends, []string{"libdecor-0-0"}) || strings.Contains(strings.Join(depends, " "), "vulkan") {
		t.Errorf("it recommends %q and depends on %q", recommends, depends)
	}
}
