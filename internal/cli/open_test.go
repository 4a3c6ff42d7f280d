package cli

import (
	"os"
	"testing"
)

func TestTheDesktopOfSomebodyWhoNeverUsedItStartsNothing(t *testing.T) {
	s := newShell(t)
	if code, stdout, stderr := s.run("open", "--hidden", "--if-used"); code != 0 || stdout+stderr != "" {
		t.Errorf("it ended with %d and said %q", code, stdout+stderr)
	}
	if _, err := os.Lstat(s.data); err == nil {
		t.Error("it made a data folder")
	}
	s.setUp()
	if code, _, _ := s.run("open", "--hidden", "--if-used"); code == 0 { // there is no display here
		t.Error("it does not start where it was set up")
	}
}
