package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"countersign/internal/update"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"golang.org/x/sync/errgroup"
)

// releaseCommit makes a release of the last commit. It works on a copy of the commit, so that nothing else in the tree can
// get in, and still requires a clean tree, so that nobody believes uncommitted changes were released.
func (p product) releaseCommit(ctx context.Context, asked string) error {
	if asked == "" {
		return errors.New("a release needs a version: make release VERSION=1.2.0")
	}
	if p.announced.secret != nil && !update.IsVersion(p.version) {
		return fmt.Errorf("%q is no version that programs can compare, as 1.2.0 and 1.3.0-rc.1 are", p.version)
	}
	changed, err := git(ctx, p.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not clean; commit these or put them away first:\n%s", changed)
	}
	copied, err := os.MkdirTemp("", "countersign-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if _, err := git(ctx, p.root, "checkout-index", "--all", "--prefix="+copied+"/"); err != nil {
		return err
	}
	p.out = filepath.Join(p.out, "release")
	p.root = copied
	if err := os.RemoveAll(p.out); err != nil {
		return err
	}
	if err := p.release(ctx); err != nil {
		return err
	}
	say("Countersign %s is in %s. The bundle for macOS is not part of it: `make macos` needs a Mac.", p.said(), p.out)
	return nil
}

// server is a kind of computer on which the server program runs.
type server struct{ system, arch, ending string }

// file is the name under which the program for such a computer is published.
func (s server) file(version string) string {
	return "countersign-server-" + version + "-" + s.system + "-" + s.arch + s.ending
}

// servers are common kinds of servers, and the Windows computers that have no other program of their own.
var servers = []server{{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"windows", "amd64", ".exe"}, {"windows", "arm64", ".exe"}}

// release builds everything that is published for p, in p.out.
func (p product) release(ctx context.Context) error {
	if err := os.MkdirAll(p.out, 0o755); err != nil {
		return err
	}
	linux := filepath.Join(p.out, "countersign-"+p.version+"-linux-"+p.arch)
	windows := filepath.Join(p.out, "Countersign-"+p.version+"-windows-amd64.exe")
	programs := []string{linux, windows}
	if err := p.linuxProgram(ctx, linux); err != nil {
		return err
	}
	for _, s := range servers {
		program := filepath.Join(p.out, s.file(p.version))
		if err := p.serverProgram(ctx, s, program); err != nil {
			return err
		}
		programs = append(programs, program)
	}
	updates := []update.File{{System: "windows", Arch: "amd64", Kind: update.Installer, Name: "Countersign-" + p.version + "-setup.exe"}}
	packing, packCtx := errgroup.WithContext(ctx) // each of them compresses for a long time on one processor
	packing.Go(func() error {
		_, err := p.windows(packCtx, windows, "Countersign-"+p.version)
		return err
	})
	var packages []update.File
	packing.Go(func() error {
		kinds := []string{update.Deb, update.RPM, update.Tar}
		paths, err := p.pack(packCtx, "countersign", linux, kinds...)
		for i, path := range paths {
			packages = append(packages, update.File{System: "linux", Arch: p.arch, Kind: kinds[i], Name: filepath.Base(path)})
		}
		return err
	})
	for _, s := range servers {
		if s.system != "linux" {
			continue // on Windows nothing distinguishes the server program from an unpacked one
		}
		updates = append(updates, update.File{System: s.system, Arch: s.arch, Kind: update.Server, Name: s.file(p.version)})
		packing.Go(func() error {
			there := p
			there.arch = s.arch
			_, err := there.pack(packCtx, "countersign-server", filepath.Join(p.out, s.file(p.version)), update.Deb, update.RPM)
			return err
		})
	}
	if err := packing.Wait(); err != nil {
		return err
	}
	notices, err := p.notices(ctx, programs...)
	if err != nil {
		return err
	}
	bill, err := p.bill(ctx, programs...)
	if err != nil {
		return err
	}
	err = errors.Join(
		write(filepath.Join(p.out, "NOTICES.txt"), notices),
		write(filepath.Join(p.out, "countersign-"+p.version+".cdx.json"), bill),
		p.publishPolicy(filepath.Join(p.out, "Countersign-"+p.version+"-group-policy.zip")),
		p.publishScreenshots(),
		writeSums(p.out),
	)
	if err != nil {
		return err
	}
	if err := p.repository(ctx); err != nil { // after the sums, which without a key are reproducible
		return err
	}
	return p.announced.publish(p.out, p.version, append(updates, packages...))
}

// publishPolicy packs the templates for the Group Policy editor in the layout of PolicyDefinitions.
func (p product) publishPolicy(path string) error {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	folder := os.DirFS(p.packaging("windows", "policy"))
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: p.made.UTC()})
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	})
	return errors.Join(err, w.Close(), write(path, packed.Bytes()))
}

// writeSums writes the SHA-256 sums of the files in dir in the format of sha256sum.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), e.Name()))
	}
	slices.Sort(lines)
	return write(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")))
}

// packageKey is the key that signs packages for Linux and their repository: the secret OpenPGP key in the file named by
// PACKAGE_KEY, unlocked by the password in PACKAGE_KEY_PASSWORD_FILE. It is nil if there is none.
func packageKey() (*openpgp.Entity, error) {
	file := os.Getenv("PACKAGE_KEY")
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("PACKAGE_KEY: %w", err)
	}
	defer f.Close()
	ring, err := openpgp.ReadArmoredKeyRing(f)
	if err != nil || len(ring) != 1 || ring[0].PrivateKey == nil {
		return nil, errors.Join(errors.New("PACKAGE_KEY is no file with one secret key, as gpg --armor --export-secret-keys writes it"), err)
	}
	if !ring[0].PrivateKey.Encrypted {
		return ring[0], nil
	}
	password, err := passwordOf("PACKAGE_KEY")
	if err != nil {
		return nil, err
	}
	if err := ring[0].DecryptPrivateKeys(password); err != nil {
		return nil, fmt.Errorf("PACKAGE_KEY: %w", err)
	}
	return ring[0], nil
}

// signature is a package's embedded signature.
func (p product) signature(content io.Reader) ([]byte, error) {
	var b bytes.Buffer
	err := openpgp.DetachSign(&b, p.key, content, nil)
	return b.Bytes(), err
}

// repository turns p.out into a repository for apt and dnf, too: signed lists of the packages in it, and the public key. The
// lists refer to the files beside them, so the folder works wherever it is put, as long as it stays together.
func (p product) repository(ctx context.Context) error {
	if p.key == nil {
		say("There is no PACKAGE_KEY: packages for Linux are not signed, and apt and dnf get no repository.")
		return nil
	}
	packages, err := output(ctx, p.out, nil, "apt-ftparchive", "packages", ".")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(p.out, "Packages"), []byte(packages+"\n")); err != nil {
		return err
	}
	release, err := output(ctx, p.out, nil, "apt-ftparchive", "-o", "APT::FTPArchive::Release::Origin=Countersign",
		"-o", "APT::FTPArchive::Release::Label=Countersign", "release", ".")
	if err != nil {
		return err
	}
	var signed, signature, public bytes.Buffer
	w, err := clearsign.Encode(&signed, p.key.PrivateKey, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, strings.NewReader(release+"\n"))
	if err := errors.Join(err, w.Close(), write(filepath.Join(p.out, "InRelease"), signed.Bytes())); err != nil {
		return err
	}
	if err := run(ctx, p.out, nil, "createrepo_c", "--quiet", "--no-database", "."); err != nil {
		return err
	}
	index := filepath.Join(p.out, "repodata", "repomd.xml")
	text, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	if err := openpgp.ArmoredDetachSign(&signature, p.key, bytes.NewReader(text), nil); err != nil {
		return err
	}
	a, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err != nil {
		return err
	}
	return errors.Join(p.key.Serialize(a), a.Close(), write(index+".asc", signature.Bytes()), write(filepath.Join(p.out, "countersign.asc"), public.Bytes()))
}

// macos writes everywhere what needs no Mac, and the bundle on a Mac.
func (p product) macos(ctx context.Context) error {
	bundle := filepath.Join(p.out, "Countersign.app")
	if err := p.bundleForms(bundle); err != nil {
		return err
	}
	if runtime.GOOS != "darwin" {
		return errors.New("the program for macOS can be built on a Mac only (Apple's frameworks are needed to link it); " +
			bundle + " has everything else")
	}
	return p.bundle(ctx, bundle)
}

// bundleForms writes the non-code parts of the bundle.
func (p product) bundleForms(bundle string) error {
	plist, err := p.form("macos/Info.plist", map[string]string{"Short": strings.Join(p.numbers(3), ".")})
	if err != nil {
		return err
	}
	resources := filepath.Join(bundle, "Contents", "Resources")
	return errors.Join(
		write(filepath.Join(bundle, "Contents", "Info.plist"), plist),
		write(filepath.Join(bundle, "Contents", "PkgInfo"), []byte("APPL????")),
		os.MkdirAll(resources, 0o755),
		copyFile(p.packaging("macos", "countersign.icns"), filepath.Join(resources, "countersign.icns")),
	)
}

// bundle builds the program for both Mac processors into one file, adds the notices, signs the bundle with SIGN_IDENTITY (or
// only for this Mac) and packs it.
func (p product) bundle(ctx context.Context, bundle string) error {
	var parts []string
	for _, arch := range []string{"amd64", "arm64"} {
		part := filepath.Join(p.out, "macos", "countersign-"+arch)
		if err := p.build(ctx, part, "-s -w", "GOOS=darwin", "GOARCH="+arch); err != nil {
			return err
		}
		parts = append(parts, part)
	}
	notices, err := p.notices(ctx, parts...)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(bundle, "Contents", "Resources", "NOTICES.txt"), notices); err != nil {
		return err
	}
	program := filepath.Join(bundle, "Contents", "MacOS", "countersign")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	if err := run(ctx, p.out, nil, "lipo", append([]string{"-create", "-output", program}, parts...)...); err != nil {
		return err
	}
	identity := os.Getenv("SIGN_IDENTITY")
	if identity == "" {
		identity = "-"
		fmt.Println("Countersign.app is signed for this Mac alone: SIGN_IDENTITY names no certificate.")
	}
	err = run(ctx, p.out, nil, "codesign", "--force", "--options", "runtime", "--entitlements",
		p.packaging("macos", "entitlements.plist"), "--sign", identity, bundle)
	if err != nil {
		return err
	}
	return run(ctx, p.out, nil, "ditto", "-c", "-k", "--keepParent", bundle,
		filepath.Join(p.out, "Countersign-"+p.version+"-macos.zip"))
}
