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

func TestPackagesNeedWhatTheProgramIsLinkedWith(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no gcc for Linux here")
	}
	p := here(t)
	p.arch = runtime.GOARCH
	noErr(t, write(filepath.Join(p.out, "go.mod"), []byte("module tiny\n")))
	noErr(t, write(filepath.Join(p.out, "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -l:libwayland-client.so.0\n"+
		"// void *wl_display_connect(const char *);\nimport \"C\"\n\nfunc main() { C.wl_display_connect(nil) }\n")))
	program := filepath.Join(p.out, "tiny")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir, cmd.Env = p.out, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no program can be linked with Wayland here: %s", out)
	}
	kinds := map[string][]string{"rpm": {"libc.so.6()(64bit)", "libc.so.6(GLIBC_2.", "libwayland-client.so.0()(64bit)"}, "tar": nil}
	if _, err := exec.LookPath("dpkg-shlibdeps"); err == nil {
		kinds["deb"] = []string{"libc6 (>= ", "libwayland-client0 (>= "}
	}
	for kind, names := range kinds {
		depends, err := p.linked(t.Context(), kind, program)
		if err != nil || names == nil && depends != nil {
			t.Errorf("%s depends on %q, %v", kind, depends, err)
		}
		for _, name := range names {
			if !slices.ContainsFunc(depends, func(d string) bool { return strings.HasPrefix(d, name) }) {
				t.Errorf("%s is not in %q", name, depends)
			}
		}
	}
}
