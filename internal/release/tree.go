package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"countersign/internal/cli"
)

// file is one file to install, its path relative to where programs of the system lie (/usr, ~/.local).
type file struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// iconSizes are the sizes of the icon theme (freedesktop.org's Icon Theme Specification) that we draw.
var iconSizes = []int{22, 32, 48, 64, 128, 256, 512}

// linuxFiles is what every Linux gets: program, menu entry, entries in the menus of file managers, description for software
// centres, icons, manual page, completion of commands and notices.
func (p product) linuxFiles(ctx context.Context, program string) ([]file, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	manual, err := p.manual()
	if err != nil {
		return nil, err
	}
	metainfo, err := p.metainfo()
	if err != nil {
		return nil, err
	}
	notices, err := p.notices(ctx, program)
	if err != nil {
		return nil, err
	}
	files := []file{
		{"bin/countersign", 0o755, binary},
		{"share/metainfo/ch.countersign.app.metainfo.xml", 0o644, metainfo},
		{"share/man/man1/countersign.1.gz", 0o644, packed(manual)},
		{"share/doc/countersign/NOTICES.gz", 0o644, packed(notices)},
	}
	for to, shell := range map[string]string{
		"share/bash-completion/completions/countersign":    "bash",
		"share/zsh/vendor-completions/_countersign":        "zsh",
		"share/fish/vendor_completions.d/countersign.fish": "fish",
	} {
		script, err := cli.Completion(shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{to, 0o644, script})
	}
	from := map[string]string{
		"share/doc/countersign/copyright":                   p.packaging("linux", "copyright"),
		"share/applications/ch.countersign.app.desktop":     p.packaging("linux", "ch.countersign.app.desktop"),
		"share/kio/servicemenus/countersign.desktop":        p.packaging("linux", "kde-servicemenu.desktop"),
		"share/nemo/actions/countersign.nemo_action":        p.packaging("linux", "countersign.nemo_action"),
		"share/Thunar/sendto/countersign.desktop":           p.packaging("linux", "thunar-sendto.desktop"),
		"share/mime/packages/ch.countersign.app.xml":        p.packaging("linux", "ch.countersign.app.mime.xml"),
		"share/icons/hicolor/scalable/apps/countersign.svg": filepath.Join(p.root, "assets", "icon.svg"),
	}
	for _, size := range iconSizes {
		s := strconv.Itoa(size)
		from["share/icons/hicolor/"+s+"x"+s+"/apps/countersign.png"] = filepath.Join(p.root, "assets", "icons", "icon-"+s+".png")
	}
	for to, source := range from {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		files = append(files, file{to, 0o644, content})
	}
	return sorted(files), nil
}

// forEverybody is what a package of the system installs besides, relative to /: the entry that starts Countersign with each
// person's desktop.
func (p product) forEverybody() ([]file, error) {
	entry, err := os.ReadFile(p.packaging("linux", "countersign-autostart.desktop"))
	return []file{{"etc/xdg/autostart/countersign.desktop", 0o644, entry}}, err
}

// sorted is files by their path.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
}

// packed is text as gzip, without a name or a time in it.
func packed(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(text)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// lay writes the files below dir.
func lay(dir string, files []file) error {
	for _, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, f.content, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(target, f.mode); err != nil { // whatever the umask is
			return err
		}
	}
	return openFolders(dir)
}

// openFolders lets everybody look into dir and below: these folders are unpacked as they are.
func openFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// kibibytes is the size of files on a disk, rounded up each, as Debian's Installed-Size counts.
func kibibytes(files []file) string {
	var sum int
	for _, f := range files {
		sum += (len(f.content) + 1023) / 1024
	}
	return fmt.Sprint(sum)
}

// below moves files into a folder.
func below(dir string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].path = path.Join(dir, moved[i].path)
	}
	return moved
}
