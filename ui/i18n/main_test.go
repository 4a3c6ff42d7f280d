package i18n

import (
	"os"
	"testing"
)

// TestMain has the system speak English, whatever the computer's does.
func TestMain(m *testing.M) {
	for _, name := range []string{"LC_ALL", "LANG", "LANGUAGE"} {
		if err := os.Setenv(name, "C"); err != nil {
			panic(err)
		}
	}
	if err := Load(); err != nil {
		panic(err)
	}
	m.Run()
}
