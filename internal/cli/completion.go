package cli

import (
	"fmt"

	"countersign/assets"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"Your shell: ${enum}."`
}

func (c *completionCmd) Run(r *run) error {
	script, err := Completion(c.Shell)
	if err != nil {
		return err
	}
	_, err = r.out.Write(script)
	return err
}

// Completion is the script that has a shell (bash, zsh, fish or powershell) complete what is typed after countersign. It
// asks `countersign complete` each time, and so knows every command that the program knows.
func Completion(shell string) ([]byte, error) {
	if shell == "powershell" {
		shell = "ps1"
	}
	script, err := assets.Completions.ReadFile("completions/countersign." + shell)
	if err != nil {
		return nil, fmt.Errorf("read the completion of %s: %w", shell, err)
	}
	return script, nil
}
