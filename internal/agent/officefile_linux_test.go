package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/powercut"
)

// An administrator hands the file on: half of one would be found out by the people of the office.
func TestAnOfficeFileIsWholeAfterALossOfPower(t *testing.T) {
	powercut.Trial{Steps: 8, Do: func(home string) error {
		err := WriteOffice(filepath.Join(home, OfficeName), theOffice())
		if err != nil && strings.Contains(Message(err).String(), "already") {
			return nil // the first try had come so far
		}
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		if _, there := found.Files[OfficeName]; !there {
			return
		}
		if _, err := ReadOffice(filepath.Join(found.Home, OfficeName)); err != nil {
			t.Error(err)
		}
	}}.Run(t)
}
