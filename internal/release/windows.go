package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The tools for 64-bit Windows, from Debian's gcc-mingw-w64-x86-64.
const (
	mingwGCC     = "x86_64-w64-mingw32-gcc"
	mingwWindres = "x86_64-w64-mingw32-windres"
)

// What Windows knows the program's windows and notifications by, and the class that it tells of a press on one: as in
// internal/notify, which internal/release must not know.
const (
	appID     = "Countersign"
	activator = "{B85DE858-D538-4C47-98EC-F0A9DA700DAC}"
)

// windowsProgram builds Countersign.exe, signed where there is a certificate.
func (p product) windowsProgram(ctx context.Context) (string, error) {
	// Go links every .syso beside the main package that is named for the system. It is of no use afterwards.
	resources := filepath.Join(p.root, "resources_windows_amd64.syso")
	defer os.Remove(resources)
	if err := p.windowsResources(ctx, resources); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, "Countersign.exe")
	say("Compiling Countersign for Windows. The first time its graphics library is compiled too, which takes a few minutes.")
	err := p.build(ctx, path, "-s -w -H=windowsgui", append(screenReaders(), "GOOS=windows", "GOARCH=amd64", "CC="+mingwGCC)...)
	if err != nil {
		return "", err
	}
	return path, p.sign(ctx, path)
}

// windowsResources compiles icon, version and manifest. The compiler reads the names in the form as they are, so
// everything is in one folder without spaces in its name.
func (p product) windowsResources(ctx context.Context, path string) error {
	dir, err := os.MkdirTemp("", "countersign-resources-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	icon, err := os.ReadFile(filepath.Join(p.root, "assets", "icons", "icon.ico"))
	if err != nil {
		return err
	}
	manifest, err := p.form("windows/countersign.manifest", map[string]string{"Dotted": strings.Join(p.numbers(4), ".")})
	if err != nil {
		return err
	}
	script, err := p.form("windows/countersign.rc", map[string]string{
		"Icon": "icon.ico", "Manifest": "manifest.xml", "Version": p.version, "Numbers": strings.Join(p.numbers(4), ","),
	})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"icon.ico": icon, "manifest.xml": manifest, "countersign.rc": script} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return run(ctx, dir, nil, mingwWindres, "--codepage=65001", "--output-format=coff", "countersign.rc", path)
}

// windowsFiles packs the program in every way there is; the files' names begin with name.
func (p product) windowsFiles(ctx context.Context, program, name string) (setup, msi string, winget []string, err error) {
	if setup, err = p.windowsInstaller(ctx, program, name+"-setup.exe"); err != nil {
		return "", "", nil, err
	}
	if msi, err = p.windowsPackage(ctx, program, name+".msi"); err != nil {
		return "", "", nil, err
	}
	winget, err = p.winget(setup, msi)
	return setup, msi, winget, err
}

// windowsInstaller packs the program into an installer of that name.
func (p product) windowsInstaller(ctx context.Context, program, name string) (string, error) {
	path := filepath.Join(p.out, name)
	texts, err := p.notices(ctx, program)
	if err != nil {
		return "", err
	}
	notices := filepath.Join(p.out, "windows", "NOTICES.txt")
	// The old editor of Windows shows lines only with both of their ends.
	if err := write(notices, bytes.ReplaceAll(texts, []byte("\n"), []byte("\r\n"))); err != nil {
		return "", err
	}
	define := []string{
		"PROGRAM=" + program, "NOTICES=" + notices, "ICON=" + filepath.Join(p.root, "assets", "icons", "icon.ico"),
		"OUT=" + path, "VERSION=" + p.version, "APP_ID=" + appID, "ACTIVATOR=" + activator, "NUMBERS=" + strings.Join(p.numbers(4), "."),
	}
	welcome, head, err := p.installerPictures()
	if err != nil {
		return "", err
	}
	define = append(define, "WELCOME="+welcome, "HEAD="+head)
	if certificate() {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		define = append(define, fmt.Sprintf("SIGN=%q sign", self))
	}
	say("Packing the installer, which takes a minute or two.")
	args := []string{"-V2", "-WX"}
	for _, d := range define {
		args = append(args, "-D"+d)
	}
	err = run(ctx, p.root, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", p.made.Unix())}, "makensis",
		append(args, p.packaging("windows", "setup.nsi"))...)
	if err != nil {
		return "", err
	}
	return path, p.sign(ctx, path)
}

// certificate reports whether there is one to sign with: SIGN_PFX names the file, SIGN_PASSWORD_FILE the one with its
// password.
func certificate() bool { return os.Getenv("SIGN_PFX") != "" }

// sign signs a program or installer in place, or says plainly that it is not signed.
func (p product) sign(ctx context.Context, path string) error {
	if !certificate() {
		fmt.Printf("%s is not signed: SIGN_PFX names no certificate. Windows will warn people before they run it.\n", filepath.Base(path))
		return nil
	}
	return signWindows(ctx, path)
}

// signWindows calls osslsigncode, which writes a second file. The password stays out of the list of processes.
func signWindows(ctx context.Context, path string) error {
	args := []string{"sign", "-h", "sha256", "-n", "Countersign", "-pkcs12", os.Getenv("SIGN_PFX")}
	if file := os.Getenv("SIGN_PASSWORD_FILE"); file != "" {
		args = append(args, "-readpass", file)
	}
	if server := os.Getenv("SIGN_TIMESTAMP_URL"); server != "" {
		args = append(args, "-ts", server)
	}
	signed := path + ".signed"
	defer os.Remove(signed)
	if err := run(ctx, filepath.Dir(path), nil, "osslsigncode", append(args, "-in", path, "-out", signed)...); err != nil {
		return err
	}
	return os.Rename(signed, path)
}

// signCmd signs one file; the installer's compiler calls it for the uninstaller, which only it ever sees.
type signCmd struct {
	File string `arg:"" type:"existingfile"`
}

func (c *signCmd) Run(ctx context.Context) error { return signWindows(ctx, c.File) }

// write writes a result, and its folder where that is missing.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
