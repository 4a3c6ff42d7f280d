// Command release makes what people install: the Windows program and its installer, the Debian package, the archive
// for other Linuxes, the bundle for macOS, and a whole release with check sums, licence notices and a bill of
// materials. The Makefile calls it, and has installed the tools of the system that it calls in turn.
//
// It promises that the same commit and version give the same bytes, on any day and in any folder, as long as the tools are
// the same: times come from the commit, nothing of this computer's paths goes in, and lists are sorted. The texts and forms it
// fills in are in assets/packaging. It knows nothing of how Countersign works, apart from its command line, for the
// manual page.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/alecthomas/kong"
)

// commandLine is what the Makefile says.
type commandLine struct {
	Root    string `help:"The source tree." default:"." type:"existingdir"`
	Out     string `help:"Where the results go." default:"build" type:"path"`
	Version string `name:"set-version" help:"The version; what git describes when left out."`
	Arch    string `help:"The kind of processor on Linux: amd64 or arm64." default:"${arch}"`

	Windows windowsCmd `cmd:"" help:"Countersign.exe, its installer, its package for administrators, and winget's manifest."`
	Deb     debCmd     `cmd:"" help:"The Debian package."`
	Rpm     rpmCmd     `cmd:"" help:"The package for Fedora, openSUSE and their like."`
	Tar     tarCmd     `cmd:"" help:"The archive with its install script."`
	Sign    signCmd    `cmd:"" help:"Sign one file for Windows, with SIGN_PFX and SIGN_PASSWORD_FILE."`
	Macos   macosCmd   `cmd:"" help:"The bundle; needs a Mac."`
	Renew   renewCmd   `cmd:"" help:"Sign the manifest of the last release anew, with RELEASE_KEY, before it expires."`
	All     allCmd     `cmd:"" help:"A release, from a clean tree: everything but the bundle for macOS, with sums, notices and bill of materials."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c commandLine
	chosen := kong.Parse(&c, kong.Name("release"), kong.UsageOnError(), kong.Vars{"arch": runtime.GOARCH}, kong.BindTo(ctx, (*context.Context)(nil)))
	if err := chosen.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// make builds a program and packs it.
func (c *commandLine) make(ctx context.Context, build func(product, context.Context) (string, error), pack func(product, context.Context, string) (string, error)) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	program, err := build(p, ctx)
	if err != nil {
		return err
	}
	path, err := pack(p, ctx, program)
	if err != nil {
		return err
	}
	return ready(path)
}

// ready tells where a result lies.
func ready(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
			path = short
		}
	}
	say("Done: %s (%.1f MB).", path, float64(info.Size())/1e6)
	return nil
}

type windowsCmd struct{}

func (windowsCmd) Run(ctx context.Context, c *commandLine) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	program, err := p.windowsProgram(ctx)
	if err != nil {
		return err
	}
	setup, msi, winget, err := p.windowsFiles(ctx, program, "Countersign")
	if err != nil {
		return err
	}
	for _, path := range append([]string{program, setup, msi}, winget...) {
		if err := ready(path); err != nil {
			return err
		}
	}
	return nil
}

type debCmd struct{}

func (debCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.deb)
}

type rpmCmd struct{}

func (rpmCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.rpm)
}

type tarCmd struct{}

func (tarCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.tarball)
}
