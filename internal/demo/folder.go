package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/office"
)

// sendFolder is the name of the demo's watched folder.
const sendFolder = "To sign"

// addFolder adds a watched folder. It lies outside state: what people put there is theirs, and may be their only copy.
func (d *Demo) addFolder() error {
	parent, err := os.MkdirTemp("", "countersign-demo-folder-")
	if err != nil {
		return fmt.Errorf("make a folder that sends: %w", err)
	}
	d.sends = filepath.Join(parent, sendFolder)
	if err := os.Mkdir(d.sends, 0o700); err != nil {
		return fmt.Errorf("make a folder that sends: %w", err)
	}
	if _, err := d.Agent.PutHotFolder(office.HotFolder{Path: d.sends, Signers: []office.Signer{ana}}); err != nil {
		return fmt.Errorf("have a folder send: %w", err)
	}
	return nil
}

// removeFolder removes that folder if nobody has put anything into it.
func (d *Demo) removeFolder() error {
	if d.sends == "" {
		return nil
	}
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotSigned, office.HotProblems} {
		os.Remove(filepath.Join(d.sends, place)) // fails if it is not empty, which is intended
	}
	if left, err := os.ReadDir(d.sends); err != nil || len(left) > 0 {
		return err
	}
	return errors.Join(os.Remove(d.sends), os.Remove(filepath.Dir(d.sends)))
}
