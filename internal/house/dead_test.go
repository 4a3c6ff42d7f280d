package house

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/fasttest"
)

// Code that only tests reach belongs in test files, except what exists for tests (packages called ...test, the harness, the
// powercut and small disks, the controls of the embedded service, the list of health states), structures of other systems,
// and what encoding/json finds only by reflection.
var forTests = regexp.MustCompile(`(test|harness|powercut|smalldisk)/|^internal/notify/toast\.go|` +
	`^internal/(sandbox/control|agent/health/registry)\.go|^ui/(autostart/forms|system/takeover|drop/descriptor)\.go|` +
	`^internal/proxy/(alone|list|scutil)\.go|func: (DropSilent|Issue\.UnmarshalJSON)$`)

func TestEverythingIsCalled(t *testing.T) {
	fasttest.Slow(t)
	cmd := exec.Command("go", "tool", "deadcode", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOGC=400") // a third less time, for 5 GB of memory
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !forTests.MatchString(line) {
			t.Errorf("nothing but tests calls %s", line)
		}
	}
}
