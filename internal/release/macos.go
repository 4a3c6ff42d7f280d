package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

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
