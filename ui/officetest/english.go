package officetest

import (
	"errors"
	"os"

	"countersign/ui/i18n"
)

// English loads the translations for a process whose system speaks English, whatever the computer's does: tests
// compare English texts. It belongs into TestMain.
func English() error {
	return errors.Join(os.Setenv("LC_ALL", "C"), os.Setenv("LANG", "C"), os.Unsetenv("LANGUAGE"), i18n.Load())
}
