package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"countersign/internal/agent/issuer"

	"countersign/internal/locations"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

func TestADamagedDataFileIsSetAsideToldAndRebuilt(t *testing.T) {
	damages := map[string]func(t *testing.T, path string){
		"truncated": func(t *testing.T, path string) {
			noErr(t, os.Truncate(path, 5000))
		},
		"empty": func(t *testing.T, path string) {
			noErr(t, os.Truncate(path, 0))
		},
		"overwritten": func(t *testing.T, path string) {
			noErr(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 10_000), 0o600))
		},
		"missing": func(t *testing.T, path string) {
			noErr(t, os.Remove(path))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			executed := o.send()
			signAll(o, executed)
			o.eventually("saved", func() bool { return saved(o, executed) })
			open := o.send()
			o.stop()
			waits := filepath.Join(locations.Outbox(o.data), "of-a-draft-that-waited")
			noErr(t, os.WriteFile(waits, []byte("%PDF-"), 0o600))
			damage(t, locations.State(o.data))
			o.open()
			o.run()
			if o.issue("data-restored") == nil {
				t.Errorf("health: %+v", o.Status().Health)
			}
			if s := o.Settings(); s.SaveTo != o.folder || !o.Status().SignedIn {
				t.Errorf("settings: %+v, status: %+v", s, o.Status())
			}
			if set, _, _ := o.HasSecrets(); !set {
				t.Error("the client secret is lost")
			}
			o.eventually("packages are read again", func() bool {
				p := o.Status().Packages
				return p.Total == 2 && p.Saved == 1
			})
			signAll(o, open)
			o.eventually("work goes on", func() bool { return o.Status().Packages.Saved == 2 })
			if got := o.files(); len(got) != 2 {
				t.Errorf("files: %q", got)
			}
			if kept, err := filepath.Glob(filepath.Join(locations.Outbox(o.data)+".lost-*", filepath.Base(waits))); err != nil || len(kept) != 1 {
				t.Errorf("the copies of a draft that waited: %q, %v", kept, err)
			}
			aside, err := filepath.Glob(locations.State(o.data) + ".damaged-*")
			if err != nil || (len(aside) == 1) != (name != "missing") {
				t.Errorf("set aside: %q, %v", aside, err)
			}
		})
	}
}

func TestDamageMetWhileRunningIsToldAndMendedByTheNextStart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.Data.Note(&store.CorruptError{Path: locations.State(o.data), Reason: "a test says so"})
	if i := o.issue("data"); i == nil {
		t.Fatalf("health: %+v", o.Status().Health)
	}
	o.restart()
	o.eventually("it is rebuilt", func() bool { return o.Status().Packages.Total == 1 && o.issue("data") == nil })
	signAll(o, id)
	o.eventually("work goes on", func() bool { return o.Status().Packages.Saved == 1 })
	if aside, err := filepath.Glob(locations.State(o.data) + ".damaged-*"); err != nil || len(aside) != 1 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

func TestTheBackupHoldsNoSecretInTheClearAndIsWrittenOnlyOnChange(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.stop()
	path := locations.Backup(o.data)
	text, err := os.ReadFile(path)
	noErr(t, err)
	var registered struct{ Secret string }
	if b, err := o.account.Vault().Get(issuer.Endpoint.Of(issuer.Of(o.Settings()))); err != nil || json.Unmarshal(b, &registered) != nil || registered.Secret == "" {
		t.Fatal("the endpoint's secret is not known", err)
	}
	for name, secret := range map[string]string{
		"client secret": sandbox.DemoClient().Secret, "endpoint secret": registered.Secret,
	} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the %s is in the backup", name)
		}
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	o.open()
	if again, err := os.Stat(path); err != nil || !os.SameFile(info, again) && slices.Equal(text, mustRead(t, path)) {
		t.Errorf("the backup was written again without a change: %v", err)
	}
	o.Close()
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noErr(t, err)
	return b
}
