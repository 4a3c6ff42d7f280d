package agent

import (
	"testing"

	"countersign/internal/message"
	"countersign/internal/secret"
)

// An empty list says that there is nothing, which would be a lie about somebody's contracts.
func TestWhatCannotBeReadIsAnErrorForPeople(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"})
	noErr(t, err)
	if err := a.Close(); err != nil { // nothing can be read from here on
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"the status":        func() error { _, err := a.Status(); return err },
		"the packages":      func() error { _, err := a.Lines(); return err },
		"a package":         func() error { _, _, err := a.Package("p"); return err },
		"its draft":         func() error { _, _, err := a.DraftOf("p"); return err },
		"a file name":       func() error { _, err := a.PreviewName(a.Settings()); return err },
		"the drafts":        func() error { _, err := a.Drafts(); return err },
		"the people":        func() error { _, err := a.People(); return err },
		"the activity":      func() error { _, err := a.Activity(10); return err },
		"the events":        func() error { _, _, err := a.Events("", 10); return err },
		"the saved files":   func() error { _, err := a.Saved(10); return err },
		"which secrets":     func() error { _, _, err := a.HasSecrets(); return err },
		"what was entered":  func() error { _, _, err := a.FirstRun(); return err },
		"the office's file": func() error { _, err := a.Office(a.Settings()); return err },
	} {
		if m, ok := message.Of(read()); !ok || m != message.Closing() {
			t.Errorf("%s: %v", name, read())
		}
	}
}
