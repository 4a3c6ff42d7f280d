//go:build shipping

package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/goreleaser/nfpm/v2"
)

func TestTheDebianPackageInAFreshDebian(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a Debian to install into")
	}
	root := filepath.Join(t.TempDir(), "root")
	host := command{env: []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}}
	host.must(t, "debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", root)
	for _, name := range []string{"resolv.conf", "hosts"} {
		if content, err := os.ReadFile("/etc/" + name); err == nil {
			noErr(t, os.WriteFile(filepath.Join(root, "etc", name), content, 0o644))
		}
	}
	noErr(t, copyFile(shipped(t).deb, filepath.Join(root, "countersign.deb")))
	in := func(args ...string) string {
		t.Helper()
		return host.must(t, append([]string{"chroot", root, "env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
			"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}, args...)...)
	}
	before := in("dpkg-query", "--show")
	in("apt-get", "update", "-qq")
	in("apt-get", "install", "-qq", "--no-install-recommends", "/countersign.deb")
	// The declared dependencies suffice for the linker and for what the window loads when it opens.
	if out := in("ldd", "/usr/bin/countersign"); strings.Contains(out, "not found") {
		t.Errorf("libraries are missing:\n%s", out)
	}
	libraries := in("ldconfig", "-p")
	for _, name := range []string{"libX11.so.6", "libXcursor.so.1", "libXi.so.6", "libXinerama.so.1", "libXrandr.so.2", "libXrender.so.1",
		"libXext.so.6", "libX11-xcb.so.1", "libXxf86vm.so.1", "libxkbcommon.so.0", "libGL.so.1", "libwayland-client.so.0"} {
		if !strings.Contains(libraries, name+" ") {
			t.Errorf("nothing that the package depends on brings %s", name)
		}
	}
	if out := in("countersign", "version"); out != "countersign 9.8.7 ("+shipped(t).p.commit+")\n" {
		t.Errorf("its version is %q", out)
	}
	if out := in("countersign", "--help"); !strings.Contains(out, "Usage: countersign") {
		t.Errorf("its help is %q", out)
	}
	in("countersign", "demo", "--headless", "--dir", "/root/Signed")
	wantDocuments(t, filepath.Join(root, "root", "Signed"))
	in("sh", "-c", "cd / && md5sum --quiet --check /var/lib/dpkg/info/countersign.md5sums")
	files := in("dpkg", "--listfiles", "countersign")
	noErr(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
	host.must(t, "mount", "-t", "proc", "proc", filepath.Join(root, "proc"))
	defer host.must(t, "umount", filepath.Join(root, "proc"))
	runs := exec.CommandContext(t.Context(), "chroot", root, "/usr/bin/countersign", "serve", "--data", "/root/data", "--key-file", "/root/key")
	noErr(t, runs.Start())
	ended := make(chan error, 1)
	go func() { ended <- runs.Wait() }()
	for tries := 0; !isFile(filepath.Join(root, "root", "data", "state.db")) && tries < 300; tries++ {
		time.Sleep(100 * time.Millisecond)
	}
	in("apt-get", "remove", "-qq", "countersign")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("what ran when it was removed ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("what ran when it was removed runs on")
	}
	in("apt-get", "purge", "-qq", "countersign")
	for _, path := range strings.Fields(files) {
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && !info.IsDir() {
			t.Errorf("%s is still there", path)
		}
	}
	in("apt-get", "autoremove", "--purge", "-qq")
	if after := in("dpkg-query", "--show"); after != before {
		t.Errorf("before the package was installed there was\n%s\nafterwards\n%s", before, after)
	}
	wantDocuments(t, filepath.Join(root, "root", "Signed"))
	if !isFile(filepath.Join(root, "root", "data", "state.db")) {
		t.Error("the data of a person went with the package")
	}
}

// Its service was run by hand under systemd 252 in a container; here it is checked, and installed where systemd does not
// run.
func TestTheServersPackageIsAServiceThatIsOff(t *testing.T) {
	dir := t.TempDir()
	c := command{dir: dir, env: []string{"LC_ALL=C"}}
	c.must(t, "dpkg-deb", "--extract", shipped(t).serverDeb, "root")
	c.must(t, "lintian", "--fail-on", "error,warning", "--allow-root", shipped(t).serverDeb)
	unit := filepath.Join("root", "usr", "lib", "systemd", "system", "countersign-server.service")
	if out, code := c.run(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", unit); code != 0 {
		t.Errorf("its unit leaves too much open:\n%s", out)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a Debian to install into")
	}
	c.must(t, "rpm", "--query", "--package", "--requires", filepath.Join(shipped(t).p.out, "countersign-server-9.8.7-1.x86_64.rpm"))
	root := filepath.Join(dir, "debian")
	c.must(t, "debootstrap", "--variant=minbase", "--include=ca-certificates,systemd", "bookworm", root)
	noErr(t, copyFile(shipped(t).serverDeb, filepath.Join(root, "server.deb")))
	in := func(args ...string) string { return c.must(t, append([]string{"chroot", root}, args...)...) }
	in("dpkg", "--install", "/server.deb")
	for path, want := range map[string]string{"/etc/countersign/key": "600 root", "/usr/bin/countersign-server": "755 root"} {
		if out := in("stat", "--format=%a %U", path); out != want+"\n" {
			t.Errorf("%s is %s", path, out)
		}
	}
	if out := in("systemd-analyze", "verify", "--man=no", "countersign-server.service"); out != "" {
		t.Errorf("its unit: %s", out)
	}
	key := in("cat", "/etc/countersign/key")
	in("id", "countersign")
	in("runuser", "-u", "countersign", "--", "countersign-server", "version")
	in("dpkg", "--install", "/server.deb")
	in("dpkg", "--purge", "countersign-server")
	if now := in("cat", "/etc/countersign/key"); len(key) < 44 || now != key {
		t.Errorf("the key was %d characters, and changed or went", len(key))
	}
}

func TestAptAndDnfTakeTheNextVersionFromTheSignedRepository(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a Debian to install into")
	}
	key := must(openpgp.NewEntity("Countersign", "", "packages@countersign.example", nil))
	root, c := filepath.Join(t.TempDir(), "root"), command{env: []string{"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}}
	c.must(t, "debootstrap", "--variant=minbase", "--include=ca-certificates,systemd", "bookworm", root)
	in := func(args ...string) string { return c.must(t, append([]string{"chroot", root}, args...)...) }
	noErr(t, os.WriteFile(filepath.Join(root, "etc", "apt", "sources.list"), []byte("deb [signed-by=/srv/countersign.asc] file:/srv ./\n"), 0o644))
	p := shipped(t).p
	p.key, p.out = key, filepath.Join(root, "srv")
	fedora, system := filepath.Join(t.TempDir(), "root"), t.TempDir() // its packages are simulated by one stand-in
	noErr(t, standIn(filepath.Join(system, "system.rpm"), "ca-certificates", "systemd", "/bin/sh"))
	c.must(t, "createrepo_c", "--quiet", system)
	dnf := []string{"dnf", "--quiet", "--assumeyes", "--installroot=" + fedora, "--releasever=1", "--disableplugin=*", "--setopt=reposdir=" + fedora,
		"--setopt=cachedir=" + t.TempDir(), "--setopt=tsflags=noscripts", "--repofrompath=system,file://" + system, "--setopt=system.gpgcheck=0",
		"--repofrompath=countersign,file://" + p.out, "--setopt=countersign.gpgcheck=1", "--setopt=countersign.repo_gpgcheck=1",
		"--setopt=countersign.gpgkey=file://" + p.out + "/countersign.asc", "--setopt=metadata_expire=0"}
	take := "install"
	for _, version := range []string{"1.2.0-rc.1", "1.2.0", "1.10.0"} {
		p.version = version
		must(p.pack(t.Context(), "countersign-server", shipped(t).server, "deb", "rpm"))
		noErr(t, p.repository(t.Context()))
		in("apt-get", "update", "-qq")
		in("apt-get", "install", "-qq", "countersign-server") // upgrades an installed package to the next version
		if got := in("dpkg-query", "--show", "--showformat=${Version}", "countersign-server"); got != p.packageVersion() {
			t.Errorf("apt has %s, want %s", got, p.packageVersion())
		}
		c.must(t, append(dnf, take, "countersign-server")...)
		take = "upgrade"
		if got := c.must(t, "rpm", "--root", fedora, "--query", "--queryformat=%{VERSION}", "countersign-server"); got != p.packageVersion() {
			t.Errorf("dnf has %s, want %s", got, p.packageVersion())
		}
	}
	list := filepath.Join(p.out, "Packages")
	text := must(os.ReadFile(list))
	noErr(t, os.WriteFile(list, bytes.Replace(text, []byte("1.10.0"), []byte("1.11.0"), 1), 0o644))
	in("rm", "-rf", "/var/lib/apt/lists")
	if out, code := c.run(t, "chroot", root, "apt-get", "update"); code == 0 && !strings.Contains(out, "Err:") && !strings.Contains(out, "Failed") {
		t.Errorf("apt believes a list that was changed:\n%s", out)
	}
}

// standIn writes an RPM that provides what others require.
func standIn(path string, provides ...string) error {
	packager, err := nfpm.Get("rpm")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	info := nfpm.WithDefaults(&nfpm.Info{Name: "system", Arch: "all", Version: "1", Overridables: nfpm.Overridables{Provides: provides}})
	return errors.Join(packager.Package(info, &b), write(path, b.Bytes()))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// lintian, which knows Debian's policy, reports no error or warning; each override has a reason.
func TestTheDebianPackageKeepsDebiansPolicy(t *testing.T) {
	args := []string{"lintian", "--fail-on", "error,warning", "--allow-root", shipped(t).deb}
	if out, code := (command{}).run(t, args...); code != 0 {
		t.Errorf("lintian ended with %d:\n%s", code, out)
	}
}

// RPM itself has no repository here to take libraries from, so a test can only check that they are required by name.
// TestPackagesNeedWhatTheWindowOpensByItself looks for library names in the program: each must be in the packages' template,
// or be an alternative way to draw that Fyne does not use.
func TestPackagesNeedWhatTheWindowOpensByItself(t *testing.T) {
	other := strings.Fields("libGLESv1_CM.so.1 libGLESv2.so.2 libGLES_CM.so.1 libGLX.so.0 libOSMesa.so.6 libOSMesa.so.8 libOpenGL.so.0 libvulkan.so.1")
	program := must(elf.Open(shipped(t).linux))
	defer program.Close()
	linked := must(program.ImportedLibraries())
	constants := must(program.Section(".rodata").Data())
	form := must(os.ReadFile(shipped(t).p.packaging("linux", "countersign.yaml")))
	isLibrary := regexp.MustCompile(`^lib[A-Za-z0-9_+-]+\.so\.[0-9]+$`)
	found := 0
	for constant := range bytes.SplitSeq(constants, []byte{0}) {
		name := string(constant)
		if !isLibrary.Match(constant) || slices.Contains(linked, name) || slices.Contains(other, name) {
			continue
		}
		found++
		owner, _, _ := strings.Cut(command{}.must(t, "dpkg-query", "--search", "*/"+gnu["amd64"]+"/"+name), ":")
		for _, capability := range []string{name + "()(64bit)", owner} {
			if !bytes.Contains(form, []byte("- "+capability+"\n")) && !bytes.Contains(form, []byte("}"+capability+"{")) {
				t.Errorf("the program opens %s; countersign.yaml does not name %s", name, capability)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d libraries were found", found)
	}
}

func TestTheRPMInstallsTheSameFiles(t *testing.T) {
	dir := t.TempDir()
	c := command{dir: dir}
	c.must(t, "dpkg-deb", "--extract", shipped(t).deb, "deb")
	c.must(t, "rpm", "--root", dir+"/rpm", "--initdb")
	c.must(t, "rpm", "--root", dir+"/rpm", "--install", "--nodeps", "--noscripts", "--ignorearch", shipped(t).rpm)
	for _, own := range []string{"deb/usr/share/lintian", "deb/usr/share/doc/countersign/changelog.gz", "rpm/var", "rpm/root"} {
		noErr(t, os.RemoveAll(filepath.Join(dir, own)))
	}
	c.must(t, "diff", "--recursive", "deb", "rpm")
	needs := c.must(t, "rpm", "--query", "--package", "--requires", shipped(t).rpm)
	for _, name := range []string{"libX11.so.6", "libGL.so.1", "libwayland-client.so.0", "libEGL.so.1", "libc.so.6"} {
		if !strings.Contains(needs, name+"()(64bit)\n") {
			t.Errorf("it does not ask for %s:\n%s", name, needs)
		}
	}
	if out := c.must(t, "rpm", "--query", "--package", "--queryformat", "%{VERSION} %{ARCH}", shipped(t).rpm); out != "9.8.7 x86_64" {
		t.Errorf("it is %s", out)
	}
	for older, newer := range map[string]string{"1.2.0-rc.1": "1.2.0", "1.2.0": "1.2.0-3-gabc1234", "1.2.0-rc.9": "1.2.0-rc.10"} {
		older, newer = product{version: older}.packageVersion(), product{version: newer}.packageVersion()
		if out := c.must(t, "rpm", "--eval", "%{lua: print(rpm.vercmp('"+older+"', '"+newer+"'))}"); strings.TrimSpace(out) != "-1" {
			t.Errorf("%s sorts before %s: %s", older, newer, out)
		}
	}
}

func TestMenuEntryAndDescriptionAreValid(t *testing.T) {
	dir := t.TempDir()
	c := command{dir: dir}
	c.must(t, "dpkg-deb", "--extract", shipped(t).deb, dir)
	c.must(t, "desktop-file-validate", "usr/share/applications/ch.countersign.app.desktop",
		"etc/xdg/autostart/countersign.desktop")
	c.must(t, "appstreamcli", "validate", "--no-net", "usr/share/metainfo/ch.countersign.app.metainfo.xml")
	c.must(t, "sh", "-c", "zcat usr/share/man/man1/countersign.1.gz | mandoc -T lint -W warning")
}

func TestTheArchiveInstallsForOnePerson(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home of $ana")
	noErr(t, os.Mkdir(home, 0o755))
	c := command{dir: dir, env: []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "PATH=/usr/bin:/bin"}}
	c.must(t, "tar", "--extract", "--file", shipped(t).tarball)
	install := filepath.Join(dir, "countersign-9.8.7", "install.sh")
	out := c.must(t, install, "--autostart")
	program := filepath.Join(home, ".local", "bin", "countersign")
	if !strings.Contains(out, program) || !strings.Contains(out, "not in your PATH") {
		t.Errorf("it said %q", out)
	}
	c.must(t, program, "demo", "--headless", "--dir", filepath.Join(dir, "Signed"))
	wantDocuments(t, filepath.Join(dir, "Signed"))
	for _, entry := range []string{".local/share/applications/ch.countersign.app.desktop", ".config/autostart/countersign.desktop"} {
		c.must(t, "desktop-file-validate", filepath.Join(home, entry))
		content, err := os.ReadFile(filepath.Join(home, entry))
		if want := `Exec="` + strings.ReplaceAll(program, "$", `\\$`) + `" `; err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s has no line that begins with %s: %v\n%s", entry, want, err, content)
		}
	}
	c.must(t, install) // over the first one, as an upgrade does
	c.must(t, install, "--uninstall")
	left, err := exec.Command("find", home, "-type", "f").Output()
	if err != nil || len(left) != 0 {
		t.Errorf("left: %s, %v", left, err)
	}
	wantFile(t, filepath.Join(home, ".local"), false)
	if out, code := c.run(t, install, "--tomato"); code != 2 || !strings.Contains(out, "Usage") {
		t.Errorf("a wrong flag ends with %d: %s", code, out)
	}
}

// A server may have nothing but a network: not even the C library.
func TestTheServersProgramRunsOnItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a program where there is nothing else")
	}
	empty := t.TempDir()
	for _, dir := range []string{"tmp", "home", "etc"} {
		noErr(t, os.Mkdir(filepath.Join(empty, dir), 0o755))
	}
	noErr(t, os.WriteFile(filepath.Join(empty, "etc", "hosts"), []byte("127.0.0.1 localhost\n"), 0o644))
	noErr(t, copyFile(shipped(t).server, filepath.Join(empty, "countersign")))
	alone := command{env: []string{"HOME=/home", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent"}}
	if out := alone.must(t, "chroot", empty, "/countersign", "version"); out != "countersign 9.8.7 ("+shipped(t).p.commit+")\n" {
		t.Errorf("its version is %q", out)
	}
	alone.must(t, "chroot", empty, "/countersign", "demo", "--dir", "/home/Signed")
	wantDocuments(t, filepath.Join(empty, "home", "Signed"))
}
