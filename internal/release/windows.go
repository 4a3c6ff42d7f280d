package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

// mingwGCC is the compiler for 64-bit Windows, from Debian's gcc-mingw-w64-x86-64.
const mingwGCC = "x86_64-w64-mingw32-gcc"

// The identifiers under which Windows knows the program's windows and notifications, and the class that it calls when one is
// pressed: the same as in internal/notify, which internal/release must not import.
const (
	appID     = "Countersign"
	activator = "{B85DE858-D538-4C47-98EC-F0A9DA700DAC}"
)

// windowsProgram builds Countersign.exe, signed if there is a certificate.
func (p product) windowsProgram(ctx context.Context, path string) error {
	// Go links every .syso beside the main package whose name has the target system. It is not needed afterwards.
	resources := filepath.Join(p.root, "resources_windows_amd64.syso")
	defer os.Remove(resources)
	if err := p.windowsResources(resources); err != nil {
		return err
	}
	say("Compiling Countersign for Windows. The first time its graphics library is compiled too, which takes a few minutes.")
	err := p.build(ctx, path, "-s -w -H=windowsgui", "GOOS=windows", "GOARCH=amd64", "CC="+mingwGCC)
	if err != nil {
		return err
	}
	return p.sign(ctx, path)
}

// windowsResources writes what Windows shows about the program: its icon, its version, and the manifest with its
// requirements.
func (p product) windowsResources(path string) error {
	picture, err := os.Open(p.icon())
	if err != nil {
		return err
	}
	defer picture.Close()
	icon, err := winres.LoadICO(picture)
	if err != nil {
		return err
	}
	numbers := strings.Join(p.numbers(4), ".")
	manifest, err := p.form("windows/countersign.manifest", map[string]string{"Dotted": numbers})
	if err != nil {
		return err
	}
	var about version.Info
	for key, value := range map[string]string{
		version.CompanyName: "Countersign", version.FileDescription: "Countersign", version.ProductName: "Countersign",
		version.InternalName: "countersign", version.OriginalFilename: "Countersign.exe",
	} {
		err = errors.Join(err, about.Set(version.LangDefault, key, value))
	}
	about.SetFileVersion(numbers)
	about.SetProductVersion(numbers)
	err = errors.Join(err, about.Set(version.LangDefault, version.FileVersion, p.version), about.Set(version.LangDefault, version.ProductVersion, p.version))
	var resources winres.ResourceSet
	resources.SetVersionInfo(about)
	err = errors.Join(err, resources.SetIcon(winres.ID(1), icon), resources.Set(winres.RT_MANIFEST, winres.ID(1), version.LangDefault, manifest))
	var b bytes.Buffer
	return errors.Join(err, resources.WriteObject(&b, winres.ArchAMD64), write(path, b.Bytes()))
}

func (p product) icon() string { return filepath.Join(p.root, "assets", "icons", "icon.ico") }

// windows builds the program and packs it in every Windows format; the files' names begin with name. It returns all paths.
func (p product) windows(ctx context.Context, program, name string) ([]string, error) {
	if err := p.windowsProgram(ctx, program); err != nil {
		return nil, err
	}
	setup, err := p.windowsInstaller(ctx, program, name+"-setup.exe")
	if err != nil {
		return nil, err
	}
	msi, err := p.windowsPackage(ctx, program, name+".msi")
	if err != nil {
		return nil, err
	}
	manifests, err := p.winget(setup, msi)
	return append([]string{program, setup, msi}, manifests...), err
}

// windowsInstaller packs the program into an installer of that name.
func (p product) windowsInstaller(ctx context.Context, program, name string) (string, error) {
	path := filepath.Join(p.out, name)
	dir, err := os.MkdirTemp("", "countersign-installer-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	notices, err := p.windowsNotices(ctx, program)
	if err != nil {
		return "", err
	}
	define := []string{
		"PROGRAM=" + program, "NOTICES=" + filepath.Join(dir, "NOTICES.txt"), "ICON=" + p.icon(), "OUT=" + path, "VERSION=" + p.version, "APP_ID=" + appID, "ACTIVATOR=" + activator,
		"NUMBERS=" + strings.Join(p.numbers(4), "."),
	}
	if err := write(filepath.Join(dir, "NOTICES.txt"), notices); err != nil {
		return "", err
	}
	if p.quick {
		define = append(define, "QUICK")
	}
	if certificate() {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		define = append(define, fmt.Sprintf("SIGN=%q sign", self)) // for the uninstaller, which only makensis ever sees
	}
	say("Packing the installer; of a release this takes a minute or two.")
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

// windowsNotices are the notices for older versions of Notepad, which need CR LF.
func (p product) windowsNotices(ctx context.Context, program string) ([]byte, error) {
	text, err := p.notices(ctx, program)
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), err
}

// certificate reports whether there is one to sign with: SIGN_PFX names the file, SIGN_PASSWORD_FILE the file with its
// password.
func certificate() bool { return os.Getenv("SIGN_PFX") != "" }

// sign signs a program or installer in place, or says plainly that it is not signed.
func (p product) sign(ctx context.Context, path string) error {
	if !certificate() {
		say("%s is not signed: SIGN_PFX names no certificate. Windows will warn people before they run it.", filepath.Base(path))
		return nil
	}
	return signWindows(ctx, path)
}

// signWindows calls osslsigncode, which writes a second file. The password does not appear in the list of processes.
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

// copyFile copies a file with its mode.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// write writes a result, and its folder where that is missing.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// upgradeCode permanently identifies Countersign's packages to Windows Installer. Other identifiers are derived from it.
var upgradeCode = uuid.MustParse("7b0f1f2e-6c3c-4a53-9a0e-0d6c2c3f5a10")

// msiVersion is the version for Windows Installer: three numbers, the first two of which fit in a byte.
func (p product) msiVersion() (string, error) {
	numbers := p.numbers(3)
	if !strings.Contains(p.version, ".") { // a commit hash, which may consist of digits only
		return strings.Join(numbers, "."), nil
	}
	for i, n := range p.fields() {
		last := 255
		if i == 2 {
			last = 65535
		}
		v, err := strconv.ParseUint(n, 10, 64)
		if i > 2 || errors.Is(err, strconv.ErrSyntax) { // ignores everything from the first part that is not a number
			break
		}
		if err != nil || v > uint64(last) {
			return "", fmt.Errorf("no version like %s is compared by Windows Installer: its first two numbers end at 255, the third at 65535", p.version)
		}
	}
	return strings.Join(numbers, "."), nil
}

// productCode identifies the package to winget and administrators. Every build has a different one.
func (p product) productCode() string {
	return braced(uuid.NewSHA1(upgradeCode, []byte("product "+p.said())))
}

// windowsPackage makes a Windows Installer package that installs for all users of a computer.
func (p product) windowsPackage(ctx context.Context, program, name string) (string, error) {
	version, err := p.msiVersion()
	if err != nil {
		return "", err
	}
	say("Packing the package for Windows Installer.")
	dir, err := os.MkdirTemp("", "countersign-msi-") // wixl looks for files only beside its input
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	notices, err := p.windowsNotices(ctx, program)
	if err != nil {
		return "", err
	}
	text, err := p.form("windows/countersign.wxs", map[string]any{
		"Product": p.productCode(), "Upgrade": braced(upgradeCode), "Version": version, "Said": p.said(),
	})
	err = errors.Join(err, write(filepath.Join(dir, "NOTICES.txt"), notices), write(filepath.Join(dir, "countersign.wxs"), text),
		copyFile(program, filepath.Join(dir, "Countersign.exe")), copyFile(p.icon(), filepath.Join(dir, "icon.ico")))
	for _, file := range []string{"Countersign.exe", "NOTICES.txt", "icon.ico"} { // copied because their times go into the package
		err = errors.Join(err, os.Chtimes(filepath.Join(dir, file), p.made, p.made))
	}
	if err != nil {
		return "", err
	}
	made := filepath.Join(dir, "made.msi")
	if err := run(ctx, dir, nil, "wixl", "--arch", "x64", "--output", made, "countersign.wxs"); err != nil {
		return "", err
	}
	secure := "INSERT INTO `Property` (`Property`, `Value`) VALUES ('SecureCustomProperties', 'AUTOSTART;INSTALLDIR;KEPTAUTOSTART;NEWER;OLDER')"
	if err := run(ctx, dir, nil, "msibuild", made, "-q", secure); err != nil {
		return "", err
	}
	// Replace wixl's random and time-dependent values by reproducible ones. The package code identifies exactly these bytes:
	// it is computed from them with an empty package code.
	if err := p.describe(ctx, made, version, uuid.Nil); err != nil {
		return "", err
	}
	content, err := os.ReadFile(made)
	if err != nil {
		return "", err
	}
	if err := p.describe(ctx, made, version, uuid.NewSHA1(upgradeCode, content)); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, name)
	if err := copyFile(made, path); err != nil {
		return "", err
	}
	return path, p.sign(ctx, path)
}

// describe adds to a package the tables that wixl does not support, and a package code.
func (p product) describe(ctx context.Context, msi, version string, code uuid.UUID) error {
	forms, err := filepath.Glob(p.packaging("windows", "msi", "*.idt"))
	args := []string{msi}
	for _, form := range forms {
		name := filepath.Base(form)
		text, formErr := p.form("windows/msi/"+name, map[string]string{
			"Upgrade": braced(upgradeCode), "Package": braced(code), "Version": version, "Made": p.made.UTC().Format("2006/01/02 15:04:05"),
			"AppID": appID, "Activator": activator,
		})
		table := filepath.Join(filepath.Dir(msi), name)
		err = errors.Join(err, formErr, write(table, text))
		args = append(args, "-i", table)
	}
	if err != nil {
		return err
	}
	return run(ctx, filepath.Dir(msi), []string{"TZ=UTC"}, "msibuild", args...)
}

func braced(code uuid.UUID) string { return strings.ToUpper("{" + code.String() + "}") }

// wingetID is the program's id in winget.
const wingetID = "Countersign.Countersign"

// download is where a file will lie, and its checksum in winget's format.
type download struct{ Address, Sum string }

// winget writes the winget manifest into p.out, for the installer and for the package. Both will lie beside the manifest of
// UPDATE_URL, or at DOWNLOAD_URL. Without either address it says so and writes nothing.
func (p product) winget(setup, msi string) (files []string, err error) {
	folder, err := p.downloads()
	if err != nil {
		return nil, err
	}
	if folder == nil {
		say("There is no manifest for winget: neither DOWNLOAD_URL nor UPDATE_URL says where the installers will lie.")
		return nil, nil
	}
	lies := func(file string) (d download, err error) {
		d.Address = folder.JoinPath(filepath.Base(file)).String()
		content, err := os.ReadFile(file)
		d.Sum = fmt.Sprintf("%X", sha256.Sum256(content))
		return d, err
	}
	numbers, err := p.msiVersion()
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Version": p.version, "Date": p.made.Format("2006-01-02"), "Product": p.productCode(), "Numbers": numbers,
		"Upgrade": braced(upgradeCode), "Page": p.announced.page,
	}
	if values["Setup"], err = lies(setup); err != nil {
		return nil, err
	}
	if values["Package"], err = lies(msi); err != nil {
		return nil, err
	}
	for _, form := range [][2]string{{"version", ""}, {"installer", ".installer"}, {"locale", ".locale.en-US"}} {
		text, err := p.form("windows/winget/"+form[0]+".yaml", values)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(p.out, wingetID+form[1]+".yaml")
		if err := write(file, text); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// downloads is the address of the folder with a release's files; nil if unknown.
func (p product) downloads() (*url.URL, error) {
	address, name := os.Getenv("DOWNLOAD_URL"), "DOWNLOAD_URL"
	if address == "" {
		address, name = p.announced.address, "UPDATE_URL"
	}
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no https address", name)
	}
	if name == "UPDATE_URL" { // the address of a file in that folder
		u.Path = path.Dir(u.Path)
	}
	return u, nil
}
