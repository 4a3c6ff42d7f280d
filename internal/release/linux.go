package main

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// machine is a kind of processor that the program with its window is built for on Linux.
type machine struct {
	arch     string // as Go and Debian call it
	rpm      string // as RPM and Flatpak call it
	elf      elf.Machine
	compiler string // of Debian's cross toolchain (gcc-aarch64-linux-gnu)
	triplet  string // where Debian keeps libraries for it
}

var machines = []machine{
	{"amd64", "x86_64", elf.EM_X86_64, "x86_64-linux-gnu-gcc", "x86_64-linux-gnu"},
	{"arm64", "aarch64", elf.EM_AARCH64, "aarch64-linux-gnu-gcc", "aarch64-linux-gnu"},
}

// machineCalled is the one that Go calls so.
func machineCalled(arch string) (machine, error) {
	i := slices.IndexFunc(machines, func(m machine) bool { return m.arch == arch })
	if i < 0 {
		return machine{}, fmt.Errorf("packages are made for amd64 and arm64, and not for %s", arch)
	}
	return machines[i], nil
}

// machineOf is the one that a program was built for, whatever was asked for.
func machineOf(program string) (machine, error) {
	f, err := elf.Open(program)
	if err != nil {
		return machine{}, fmt.Errorf("read %s: %w", filepath.Base(program), err)
	}
	defer f.Close()
	i := slices.IndexFunc(machines, func(m machine) bool { return m.elf == f.Machine })
	if i < 0 {
		return machine{}, fmt.Errorf("packages are made for amd64 and arm64, and not for %s", f.Machine)
	}
	return machines[i], nil
}

// gcc is the compiler for m: this computer's own where that makes such programs.
func (m machine) gcc() string {
	if m.arch == runtime.GOARCH {
		return "gcc"
	}
	return m.compiler
}

// linuxProgram builds the program for p's kind of processor. It lies in memory where chance has it (PIE), and what it calls is
// bound before it starts and then write-protected (bindnow, relro).
func (p product) linuxProgram(ctx context.Context) (string, error) {
	m, err := machineCalled(p.arch)
	if err != nil {
		return "", err
	}
	env := []string{"GOOS=linux", "GOARCH=" + m.arch, "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildmode=pie")}
	if m.arch != runtime.GOARCH {
		libraries := "/usr/lib/" + m.triplet + "/pkgconfig:/usr/share/pkgconfig"
		env = append(env, "CC="+m.compiler, "PKG_CONFIG_LIBDIR="+libraries)
	}
	say("Building Countersign %s for Linux on %s. The first time its graphics library is compiled too, which takes some minutes.", p.version, m.arch)
	path := filepath.Join(p.out, "linux-"+m.arch, "countersign")
	return path, p.build(ctx, path, "-s -w -extldflags '-Wl,-z,relro -Wl,-z,now'", env...)
}

// need is how much the program needs a library.
type need int

const (
	never  need = iota // another way to draw, which Fyne does not take
	better             // does without, not as well
	always
)

// opened are the libraries that the window opens by itself when it comes to them (GLFW's src/*_init.c and *_context.c), so that
// the linker knows nothing of them. All that X11 and all that Wayland ask for is needed: which of them a desktop has, shows when
// the program starts.
var opened = map[string]need{
	"libEGL.so.1":            always,
	"libGL.so.1":             always,
	"libX11-xcb.so.1":        always,
	"libX11.so.6":            always,
	"libXcursor.so.1":        always,
	"libXext.so.6":           always,
	"libXi.so.6":             always,
	"libXinerama.so.1":       always,
	"libXrandr.so.2":         always,
	"libXrender.so.1":        always,
	"libXxf86vm.so.1":        always,
	"libwayland-client.so.0": always,
	"libwayland-cursor.so.0": always,
	"libwayland-egl.so.1":    always,
	"libxkbcommon.so.0":      always,
	"libdecor-0.so.0":        better, // the window's frame where the desktop draws none
	"libGLESv1_CM.so.1":      never,
	"libGLESv2.so.2":         never,
	"libGLES_CM.so.1":        never,
	"libGLX.so.0":            never, // libGL has what is in it
	"libOSMesa.so.6":         never,
	"libOSMesa.so.8":         never,
	"libOpenGL.so.0":         never,
	"libvulkan.so.1":         never,
}

// libraryName matches the names of libraries as C writes them down.
var libraryName = regexp.MustCompile(`\x00(lib[A-Za-z0-9_+-]+\.so\.[0-9]+)\x00`)

// libraries are those that a program opens by itself, by how much it needs them, each sorted. A name that opened does not have is
// an error: somebody has to say what it is for.
func libraries(program string) (map[need][]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(program), err)
	}
	defer f.Close()
	linked, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("find the libraries of %s: %w", filepath.Base(program), err)
	}
	constants := f.Section(".rodata")
	if constants == nil {
		return nil, fmt.Errorf("%s has no constants to find names of libraries in", filepath.Base(program))
	}
	text, err := constants.Data()
	if err != nil {
		return nil, err
	}
	found := map[need]map[string]bool{}
	for at := 0; ; {
		hit := libraryName.FindSubmatchIndex(text[at:])
		if hit == nil {
			break
		}
		name := string(text[at+hit[2] : at+hit[3]])
		at += hit[3] // the zero that ends a name begins the next
		if slices.Contains(linked, name) {
			continue
		}
		n, known := opened[name]
		if !known {
			return nil, fmt.Errorf("the program opens %s by itself; name in opened (linux.go) how much it needs that", name)
		}
		if found[n] == nil {
			found[n] = map[string]bool{}
		}
		found[n][name] = true
	}
	lists := map[need][]string{}
	for n, names := range found {
		lists[n] = slices.Sorted(maps.Keys(names))
	}
	return lists, nil
}
