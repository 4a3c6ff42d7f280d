package archive

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/powercut"
)

// The power fails while files are being listed. Lines reported as written are there, complete, and after the next run every
// file is listed once.
func TestAnIndexSurvivesALossOfPower(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		f, err := OpenFolder(home)
		if err != nil {
			return err
		}
		defer f.Close()
		for n := 1; n <= 3; n++ {
			x, err := f.OpenIndex(indexTitles, ';', Mark{})
			if err != nil {
				return err
			}
			var lines [][]string
			if line := indexLine(n); !x.Has(line[1], line[2]) {
				lines = append(lines, line)
			}
			_, err = x.Append(lines)
			if err := errors.Join(err, x.Close()); err != nil {
				return err
			}
		}
		return nil
	}, Look: func(t *testing.T, found powercut.Found) {
		text := string(found.Files[IndexName])
		lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
		if found.Done && (len(lines) != 4 || !strings.HasSuffix(text, "\r\n")) {
			t.Errorf("done, and it is\n%s", text)
		}
		f := open(t, found.Home)
		addLines(t, f, Mark{}, 1, 3)
		if len(lines) > 1 && slices.Contains(lines[1:len(lines)-1], "") {
			t.Errorf("an empty line in\n%s", text)
		}
		wantLines(t, found.Home, IndexName, 3)
	}}.Run(t)
}
