//go:build !windows && !darwin

package system

import (
	"os/exec"
	"path/filepath"
)

func addressCommand(address string) []string { return []string{"xdg-open", address} }

func fileCommand(path string) []string { return []string{"xdg-open", path} }

// revealCommand opens the folder: file managers differ in how a file is marked, and none is sure to be there.
func revealCommand(path string) []string { return []string{"xdg-open", filepath.Dir(path)} }

func prepare(*exec.Cmd, []string) {}
