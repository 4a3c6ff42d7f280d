package locations

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/disk"
	"countersign/internal/e2e/powercut"
)

// A move that was interrupted, by a kill or by a loss of power, loses nothing: one folder is in force, and all of the data
// is in it.
func TestAMoveSurvivesALossOfPower(t *testing.T) {
	for name, between := range map[string]bool{"on one disk": false, "between disks": true} {
		t.Run(name, func(t *testing.T) {
			var s *scene
			powercut.Trial{
				Steps: 60,
				Before: func(home string) error {
					s = newSceneIn(t, home)
					s.data[state] = "state"
					write(t, filepath.Join(s.From, state), "state")
					if between {
						s.betweenDisks()
					}
					return nil
				},
				Do: func(string) error { return s.Do() },
				Look: func(t *testing.T, found powercut.Found) {
					s.held = 0 // by whom the power left
					folder := InForce(s.To, s.From)
					if found.Done && folder != s.To {
						t.Errorf("in force is %s", folder)
					}
					s.wantIn(t, folder)
				},
			}.Run(t)
		})
	}
}

// The key lies in the keyring under a name that a loss of power must not take back.
func TestTheNameOfTheKeyringsEntryStays(t *testing.T) {
	given := ""
	powercut.Trial{Steps: 12, Do: func(home string) (err error) {
		folder := filepath.Join(home, "data")
		if given, err = "", disk.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		name, err := Entry(folder)
		if err == nil {
			given = name
		}
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		if kept := strings.TrimSpace(string(found.Files["data/"+entry])); given != "" && kept != given {
			t.Errorf("it is %q, was %q", kept, given)
		}
	}}.Run(t)
}
