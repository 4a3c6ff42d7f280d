package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// asUninstaller is where this program, as the uninstaller of a test, says how it was called.
const asUninstaller = "called.txt"

func init() {
	if strings.EqualFold(filepath.Base(os.Args[0]), "uninstall.exe") {
		if err := os.WriteFile(filepath.Join(os.Getenv("COUNTERSIGN_TEST_FOLDER"), asUninstaller), []byte(strings.Join(os.Args[1:], "\n")), 0o600); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func TestTheProgramForEverybodyTakesOver(t *testing.T) {
	installedKey = `Software\Countersign test`
	t.Cleanup(func() { installedKey = `Software\Countersign` })
	notes := t.TempDir()
	t.Setenv("COUNTERSIGN_TEST_FOLDER", notes)
	note := func(root registry.Key, folder string) {
		t.Helper()
		key, _, err := registry.CreateKey(root, installedKey, registry.SET_VALUE|registry.WOW64_64KEY)
		if err != nil {
			t.Skip("only an administrator can write there:", err)
		}
		t.Cleanup(func() { registry.DeleteKey(root, installedKey) })
		defer key.Close()
		must(t, key.SetStringValue("InstallDir", folder))
	}
	program, err := os.Executable()
	must(t, err)
	own := filepath.Join(t.TempDir(), "Jörgs Büro")
	must(t, os.Mkdir(own, 0o700))
	content, err := os.ReadFile(program)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(own, "uninstall.exe"), content, 0o700))
	note(registry.CURRENT_USER, own)
	called := func() string {
		text, err := os.ReadFile(filepath.Join(notes, asUninstaller))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	must(t, TakeOver())
	if how := called(); how != "" {
		t.Fatalf("a program that is not for everybody had %q", how)
	}
	note(registry.LOCAL_MACHINE, filepath.Dir(program)+`\`)
	for range 2 { // the second time there is nothing
		must(t, TakeOver())
	}
	if how, want := called(), "/S\n/REPLACEDBY="+program+"\n_?="+own; how != want && how != strings.ReplaceAll(want, own, strings.ReplaceAll(own, " ", "\n")) {
		t.Errorf("the uninstaller was called with %q, want %q", how, want)
	}
	if _, err := os.Stat(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the other one: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheWindowsBelongToTheStartMenusEntry(t *testing.T) {
	NameProcess()
	var name *uint16
	get := windows.NewLazySystemDLL("shell32.dll").NewProc("GetCurrentProcessExplicitAppUserModelID")
	code, _, _ := get.Call(uintptr(unsafe.Pointer(&name)))
	if windows.Handle(code) == windows.E_NOTIMPL {
		t.Skip("nobody can ask for it here, as in Wine 8")
	}
	if code != 0 {
		t.Fatalf("the process has no name: %#x", code)
	}
	defer windows.CoTaskMemFree(unsafe.Pointer(name))
	if text := windows.UTF16PtrToString(name); text != "Countersign" {
		t.Errorf("it is called %q", text)
	}
}
