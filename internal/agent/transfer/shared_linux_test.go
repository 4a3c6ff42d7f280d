package transfer

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/powercut"
)

// An administrator hands the file on: half of one would be found out by the people of the office.
func TestAnOfficeFileIsWholeAfterALossOfPower(t *testing.T) {
	powercut.Trial{Steps: 8, Do: func(home string) error {
		err := WriteShared(filepath.Join(home, "Office.countersign"), theOffice())
		if err != nil && strings.Contains(said(err).String(), "already") {
			return nil // the first try had come so far
		}
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		if _, there := found.Files["Office.countersign"]; !there {
			return
		}
		if _, err := ReadShared(filepath.Join(found.Home, "Office.countersign")); err != nil {
			t.Error(err)
		}
	}}.Run(t)
}
