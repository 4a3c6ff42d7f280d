package system

import "os/exec"

func addressCommand(address string) []string { return []string{"open", address} }

func fileCommand(path string) []string { return []string{"open", path} }

func revealCommand(path string) []string { return []string{"open", "-R", path} }

func prepare(*exec.Cmd, []string) {}
