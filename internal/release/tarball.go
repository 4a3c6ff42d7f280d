package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// tarball makes the archive for Linuxes without Debian's packages: the files and a script that installs them for one
// person.
func (p product) tarball(ctx context.Context, program string) (string, error) {
	m, err := machineOf(program)
	if err != nil {
		return "", err
	}
	files, err := p.linuxFiles(ctx, program)
	if err != nil {
		return "", err
	}
	name := "countersign-" + p.version
	files = below(name+"/files", files)
	for to, mode := range map[string]os.FileMode{"countersign-autostart.desktop": 0o644, "install.sh": 0o755} {
		content, err := os.ReadFile(p.packaging("linux", to))
		if err != nil {
			return "", err
		}
		files = append(files, file{name + "/" + to, mode, content})
	}
	path := filepath.Join(p.out, name+"-linux-"+m.arch+".tar.xz")
	say("Packing %s.", filepath.Base(path))
	if err := p.writeTar(ctx, path, files); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

// writeTar writes files with the owner root, the time of the commit and no others; xz packs it, on one processor, since
// more would divide it differently.
func (p product) writeTar(ctx context.Context, path string, files []file) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range sorted(files) {
		err := w.WriteHeader(&tar.Header{
			Name: f.path, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: p.made, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return pack(ctx, path, &b)
}

func pack(ctx context.Context, path string, content io.Reader) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if errClose := out.Close(); err == nil {
			err = errClose
		}
	}()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "xz", "--threads=1", "-6", "--stdout")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = content, out, &said
	if err := cmd.Run(); err != nil {
		return explain("xz", err, said.Bytes())
	}
	return nil
}
