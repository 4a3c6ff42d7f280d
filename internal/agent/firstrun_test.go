package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/office"
	"countersign/internal/secret"
)

func TestWhatWasEnteredOutlivesTheProgramSealedAndGoesWithTheFirstSettings(t *testing.T) {
	dir, keeper := t.TempDir(), secret.Memory()
	open := func() *Agent {
		t.Helper()
		a, err := Open(t.Context(), Params{DataDir: dir, Keeper: keeper})
		noErr(t, err)
		return a
	}
	a := open()
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("nothing was entered yet")
	}
	entered := FirstRun{Step: "address", Settings: theOffice().Settings, Secrets: office.Secrets{ClientSecret: "cl13nt-s3cret", NgrokAuthtoken: "t0ken-s3cret"}}
	noErr(t, a.KeepFirstRun(entered))
	a.Close()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("s3cret")) {
			t.Errorf("%s holds a secret as it is", path)
		}
		return err
	})
	noErr(t, err)
	a = open()
	defer a.Close()
	got, kept, _ := a.FirstRun()
	if !kept || got.Step != "address" || got.Secrets != entered.Secrets || got.Settings.AuthURL != entered.Settings.AuthURL {
		t.Errorf("kept %v: %+v", kept, got)
	}
	s := entered.Settings
	s.SaveTo, s.NgrokCA = t.TempDir(), ""
	noErr(t, a.Configure(t.Context(), s, entered.Secrets))
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("what was entered is kept beside the settings")
	}
}

func TestWithoutTheKeyNothingIsKept(t *testing.T) {
	ring := &ringOf{keeper: secret.Memory(), locked: true}
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: ring})
	noErr(t, err)
	defer a.Close()
	if err := a.KeepFirstRun(FirstRun{Step: "address"}); err == nil {
		t.Error("kept, with what key?")
	}
	if _, kept, _ := a.FirstRun(); kept {
		t.Error("read without a key")
	}
}
