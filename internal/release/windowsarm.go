package main

import (
	"cmp"
	"context"
	"debug/pe"
	"fmt"
	"os"
)

type windowsARMCmd struct{}

// Run makes the program with its window for Windows on ARM, without installers. Debian has a compiler for it, and nothing to link
// with; Zig brings Windows' libraries along, and ZIG names its program.
func (windowsARMCmd) Run(ctx context.Context, c *commandLine) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	zig := cmp.Or(os.Getenv("ZIG"), "zig")
	// Zig overlooks -mwindows, by which Go asks for a program without a console.
	path, err := p.windowsProgramFor(ctx, "arm64", "Countersign-arm64.exe", "-s -w -H=windowsgui -extldflags=-Wl,--subsystem,windows",
		fmt.Sprintf("'%s' cc -target aarch64-windows-gnu", zig), "llvm-windres-14", "--target=aarch64-w64-mingw32")
	if err != nil {
		return err
	}
	if err := checkWindowed(path, pe.IMAGE_FILE_MACHINE_ARM64); err != nil {
		return err
	}
	return ready(path)
}

// checkWindowed refuses a program that is for another kind of processor, or would open a console.
func checkWindowed(path string, machine uint16) error {
	f, err := pe.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	header, is := f.OptionalHeader.(*pe.OptionalHeader64)
	if !is || f.Machine != machine || header.Subsystem != pe.IMAGE_SUBSYSTEM_WINDOWS_GUI {
		return fmt.Errorf("%s is no program with a window for this kind of processor", path)
	}
	return nil
}
