package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// flatpak writes the manifest with which flatpak-builder(1) packs the archive, and the archive beside it.
func (p product) flatpak(ctx context.Context, program string) (string, error) {
	archive, err := p.tarball(ctx, program)
	if err != nil {
		return "", err
	}
	return p.flatpakOf(archive)
}

func (p product) flatpakOf(archive string) (string, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return "", err
	}
	manifest, err := p.form("linux/ch.countersign.app.yml", map[string]string{
		"Archive": filepath.Base(archive), "Sum": fmt.Sprintf("%x", sha256.Sum256(content)),
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(archive), "ch.countersign.app.yml")
	return path, write(path, manifest)
}
