package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
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

// upgradeCode tells Windows Installer which packages are Countersign's, for ever. Names of other things are made from it.
var upgradeCode = uuid.MustParse("7b0f1f2e-6c3c-4a53-9a0e-0d6c2c3f5a10")

// msiTable is a table of a Windows Installer database as Microsoft documents it, in its text archive form.
type msiTable struct {
	name, columns, types string // with blanks in between
	keys                 int    // as many of the first columns
	rows                 [][]string
}

// Custom actions (https://learn.microsoft.com/windows/win32/msi/summary-list-of-all-custom-action-types): a program that the
// package installs, whose failure is no matter; as the person who installs, or as the system once the work has begun.
const (
	installedProgram = 18
	whateverComes    = 0x40
	asTheSystem      = 0x400 | 0x800
)

// msiTables are what wixl cannot say of a version of the package.
//
// A Countersign that runs is ended by its own command: first that of the person who installs, so that Windows Installer does not
// ask for it, then everybody's. It ends before its program is removed, which an update begins with, or repaired.
func msiTables(version string) []msiTable {
	upgrade := strings.ToUpper("{" + upgradeCode.String() + "}")
	return []msiTable{
		{"Upgrade", "UpgradeCode VersionMin VersionMax Language Attributes Remove ActionProperty", "s38 S20 S20 S255 i4 S255 s72", 5, [][]string{
			{upgrade, "0.0.0", version, "", "768", "", "OLDER"}, // both ends belong to it: 1.3.0 replaces 1.3.0-rc.1
			{upgrade, version, "", "", "2", "", "NEWER"},        // which is only looked for
		}},
		{"LaunchCondition", "Condition Description", "s255 l255", 1, [][]string{
			{"Installed OR NOT NEWER", "A newer Countersign is installed already. / Une version plus récente de Countersign est déjà installée. / " +
				"Ein neueres Countersign ist schon installiert. / Ya está instalada una versión más reciente de Countersign."},
		}},
		{"Condition", "Feature_ Level Condition", "s38 i2 S255", 2, [][]string{
			{"Autostart", "1", `AUTOSTART = "1" OR (KEPTAUTOSTART = "1" AND NOT AUTOSTART)`},
		}},
		{"CustomAction", "Action Type Source Target ExtendedType", "s72 i2 S72 S255 I4", 1, [][]string{
			{"EndMine", strconv.Itoa(installedProgram | whateverComes), "Countersign.exe", "quit --this-program", ""},
			{"EndEverybodys", strconv.Itoa(installedProgram | whateverComes | asTheSystem), "Countersign.exe", "quit --this-program", ""},
		}},
		{"InstallUISequence", "Action Condition Sequence", "s72 S255 I2", 1, [][]string{
			{"FindRelatedProducts", "", "25"}, {"AppSearch", "", "50"}, {"LaunchConditions", "", "100"}, {"ValidateProductID", "", "700"},
			{"CostInitialize", "", "800"}, {"FileCost", "", "900"}, {"CostFinalize", "", "1000"}, {"ExecuteAction", "", "1300"},
		}},
		{"InstallExecuteSequence", "Action Condition Sequence", "s72 S255 I2", 1, [][]string{
			{"FindRelatedProducts", "", "25"}, {"AppSearch", "", "50"}, {"LaunchConditions", "", "100"}, {"ValidateProductID", "", "700"},
			{"CostInitialize", "", "800"}, {"FileCost", "", "900"}, {"CostFinalize", "", "1000"},
			{"EndMine", "Installed OR OLDER", "1010"}, {"InstallValidate", "", "1400"}, {"InstallInitialize", "", "1500"},
			{"RemoveExistingProducts", "", "1505"}, {"EndEverybodys", "Installed", "1510"}, {"ProcessComponents", "", "1600"}, {"UnpublishFeatures", "", "1800"},
			{"RemoveRegistryValues", "", "2600"}, {"RemoveShortcuts", "", "3200"}, {"RemoveFiles", "", "3500"}, {"InstallFiles", "", "4000"},
			{"CreateShortcuts", "", "4500"}, {"WriteRegistryValues", "", "5000"}, {"RegisterUser", "", "6000"}, {"RegisterProduct", "", "6100"},
			{"PublishFeatures", "", "6300"}, {"PublishProduct", "", "6400"}, {"InstallFinalize", "", "6600"},
		}},
		// By which Windows knows the program's notifications and groups its windows.
		{"MsiShortcutProperty", "MsiShortcutProperty Shortcut_ PropertyKey PropVariantValue", "s72 s72 s255 s255", 1, [][]string{
			{"AppID", "StartMenu", "System.AppUserModel.ID", appID},
			{"Activator", "StartMenu", "System.AppUserModel.ToastActivatorCLSID", activator},
		}},
	}
}

// text is a table in its archive form (https://learn.microsoft.com/windows/win32/msi/text-archive-files).
func (t msiTable) text() []byte {
	columns := strings.Fields(t.columns)
	lines := [][]string{columns, strings.Fields(t.types), append([]string{t.name}, columns[:t.keys]...)}
	var b bytes.Buffer
	for _, line := range append(lines, t.rows...) {
		b.WriteString(strings.Join(line, "\t") + "\r\n")
	}
	return b.Bytes()
}

// msiVersion is the version as Windows Installer compares it: three numbers, of which the first two are bytes.
func (p product) msiVersion() (string, error) {
	numbers := p.numbers(3)
	if !strings.Contains(p.version, ".") { // a commit, which may consist of digits
		return strings.Join(numbers, "."), nil
	}
	for i, n := range strings.FieldsFunc(p.version, func(r rune) bool { return r == '.' || r == '-' || r == '+' }) {
		last := 255
		if i == 2 {
			last = 65535
		}
		v, err := strconv.ParseUint(n, 10, 64)
		if i > 2 || errors.Is(err, strconv.ErrSyntax) { // from here on it is no number, which is left out
			break
		}
		if err != nil || v > uint64(last) {
			return "", fmt.Errorf("no version like %s is compared by Windows Installer: its first two numbers end at 255, the third at 65535", p.version)
		}
	}
	return strings.Join(numbers, "."), nil
}

// productCode is the package's own name, which winget and administrators use. Every build has another one.
func (p product) productCode() string {
	return strings.ToUpper("{" + uuid.NewSHA1(upgradeCode, []byte("product "+p.said())).String() + "}")
}

// windowsPackage packs the program for Windows Installer, for everybody on a computer.
func (p product) windowsPackage(ctx context.Context, program, name string) (string, error) {
	version, err := p.msiVersion()
	if err != nil {
		return "", err
	}
	say("Packing the package for Windows Installer.")
	dir, err := os.MkdirTemp("", "countersign-msi-") // wixl takes files beside its text alone
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := p.stageForPackage(dir, program); err != nil {
		return "", err
	}
	text, err := p.form("windows/countersign.wxs", map[string]any{
		"Product": p.productCode(), "Upgrade": strings.ToUpper("{" + upgradeCode.String() + "}"), "Version": version, "Said": p.said(),
	})
	if err != nil {
		return "", err
	}
	if err := write(filepath.Join(dir, "countersign.wxs"), text); err != nil {
		return "", err
	}
	if err := run(ctx, dir, nil, "wixl", "--arch", "x64", "--output", "made.msi", "countersign.wxs"); err != nil {
		return "", err
	}
	secure := "INSERT INTO `Property` (`Property`, `Value`) VALUES ('SecureCustomProperties', 'AUTOSTART;INSTALLDIR;KEPTAUTOSTART;NEWER;OLDER')"
	args := []string{"made.msi", "-q", secure}
	for _, t := range msiTables(version) {
		if err := write(filepath.Join(dir, t.name+".idt"), t.text()); err != nil {
			return "", err
		}
		args = append(args, "-i", t.name+".idt")
	}
	if err := run(ctx, dir, nil, "msibuild", args...); err != nil {
		return "", err
	}
	made, err := os.ReadFile(filepath.Join(dir, "made.msi"))
	if err != nil {
		return "", err
	}
	if err := p.settle(made); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, name)
	if err := write(path, made); err != nil {
		return "", err
	}
	return path, p.sign(ctx, path)
}

// stageForPackage puts what is packed into dir, with the time of the commit, which goes into the package.
func (p product) stageForPackage(dir, program string) error {
	for name, from := range map[string]string{
		"Countersign.exe": program, "NOTICES.txt": filepath.Join(p.out, "windows", "NOTICES.txt"), "icon.ico": filepath.Join(p.root, "assets", "icons", "icon.ico"),
	} {
		to := filepath.Join(dir, name)
		if err := copyFile(from, to); err != nil {
			return err
		}
		if err := os.Chtimes(to, p.made, p.made); err != nil {
			return err
		}
	}
	return nil
}

// Properties of the summary information (https://learn.microsoft.com/windows/win32/msi/summary-property-descriptions).
const (
	revisionNumber = 9 // the package code
	createTime     = 12
	lastSaveTime   = 13
)

// settle puts, in place of what wixl draws from chance and the clock, what the same tree always has: the package code, which
// names these bytes and no others, and the times.
func (p product) settle(msi []byte) error {
	places, err := summary(msi)
	if err != nil {
		return err
	}
	code, made, saved := places[revisionNumber], places[createTime], places[lastSaveTime]
	const codeText, fileTime = 4 + 4, 4 // in front of them: the type, of a text its length too
	const codeLength = len("{01234567-0123-0123-0123-0123456789AB}")
	if code == nil || made == nil || saved == nil || len(code) < codeText+codeLength || code[codeText] != '{' {
		return errors.New("the package of wixl has no code or no times where they are looked for")
	}
	const epoch = 11_644_473_600 // seconds from 1601, with which FILETIME begins, to 1970; it counts in 100 ns
	since := uint64(p.made.Unix()+epoch) * 1e7
	binary.LittleEndian.PutUint64(made[fileTime:], since)
	binary.LittleEndian.PutUint64(saved[fileTime:], since)
	clear(code[codeText+1 : codeText+codeLength-1])
	copy(code[codeText:], strings.ToUpper("{"+uuid.NewSHA1(upgradeCode, msi).String()+"}"))
	return nil
}

// summary are the values of the summary information, each with its type in front. The small stream that they are in lies in one
// piece in what wixl writes ([MS-OLEPS] 2.21).
func summary(msi []byte) (map[uint32][]byte, error) {
	format := []byte{0xE0, 0x85, 0x9F, 0xF2, 0xF9, 0x4F, 0x68, 0x10, 0xAB, 0x91, 0x08, 0x00, 0x2B, 0x27, 0xB3, 0xD9}
	const head = 28 // in front of the format
	at := bytes.Index(msi, format)
	if at < head || at+len(format)+4 > len(msi) {
		return nil, errors.New("the package of wixl has no summary")
	}
	set := uint64(at-head) + uint64(binary.LittleEndian.Uint32(msi[at+len(format):]))
	if set+8 > uint64(len(msi)) {
		return nil, errors.New("the summary of the package is cut")
	}
	section := msi[set:]
	count := uint64(binary.LittleEndian.Uint32(section[4:]))
	if 8+8*count > uint64(len(section)) {
		return nil, errors.New("the summary of the package is cut")
	}
	found := map[uint32][]byte{}
	for i := range count {
		entry := section[8+8*i:]
		if start := uint64(binary.LittleEndian.Uint32(entry[4:])); start+12 <= uint64(len(section)) {
			found[binary.LittleEndian.Uint32(entry)] = section[start:]
		}
	}
	return found, nil
}

// wingetID is the program's name among the packages of winget.
const wingetID = "Countersign.Countersign"

// download is where a file will lie, and its sum as winget writes it.
type download struct{ Address, Sum string }

// winget writes the manifest of Windows' package manager into the folder winget of p.out: for the installer and for the package,
// both of which will lie beside the manifest of UPDATE_URL, or where DOWNLOAD_URL says. Without either it says so and makes none.
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
		"Upgrade": strings.ToUpper("{" + upgradeCode.String() + "}"), "Page": p.announced.page,
	}
	if values["Setup"], err = lies(setup); err != nil {
		return nil, err
	}
	if values["Package"], err = lies(msi); err != nil {
		return nil, err
	}
	names := map[string]string{"version": "", "installer": ".installer", "locale": ".locale.en-US"}
	for _, form := range slices.Sorted(maps.Keys(names)) {
		name := names[form]
		text, err := p.form("windows/winget/"+form+".yaml", values)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(p.out, "winget", wingetID+name+".yaml")
		if err := write(file, text); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// downloads is the folder in which the files of a release will lie; nil where nobody says.
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
	if name == "UPDATE_URL" { // the file beside which they lie
		u.Path = path.Dir(u.Path)
	}
	return u, nil
}
