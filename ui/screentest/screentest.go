// Package screentest is where the window and its screens are tested: on Fyne's test driver, before an office made of
// values, with pictures that are compared with approved ones. It is for tests alone.
package screentest

import (
	"testing"

	"go.uber.org/goleak"

	"countersign/ui/officetest"
)

// Main is the TestMain of a package with screens: its tests read English, and leave no goroutine behind.
func Main(m *testing.M) {
	if err := officetest.English(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
