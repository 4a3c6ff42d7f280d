package proof

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestAnAccessToTheDataThatFailsIsNeverTakenForOneThatWasMade(t *testing.T) {
	server, own := authority(t, x509.ExtKeyUsageTimeStamping, func(*timestamp.Timestamp) {})
	came := func(x *testService) office.Job {
		return office.Job{PackageID: "p", DocumentID: "d", Kind: office.FileSigned, Folder: x.folder, Target: "p.pdf"}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	// What is put off, as health or the log says, is not noted as done.
	unless := func(x *testService, done func() bool, err error) error {
		if x.Data.Store.Fault = nil; err == nil && !done() {
			return looptest.ErrFault
		}
		return err
	}
	for name, do := range map[string]func(*testService) error{
		"found": func(x *testService) error {
			_, err := x.examineDue(x.t.Context())
			return unless(x, func() bool { j := x.now(came(x)); return j.Seal.State != "" && j.Match.State == office.MatchChanged }, err)
		},
		"kept": func(x *testService) error {
			return unless(x, func() bool {
				done, today, err := x.today()
				state := must(x.RecordState())
				return err == nil && done.Record == today && state.Stamped == state.Size
			}, x.keepRecord(x.t.Context()))
		},
		"the record": func(x *testService) error {
			state, err := x.RecordState()
			return unless(x, func() bool { return state.Head != "" }, err)
		},
		"proven": func(x *testService) error {
			path := filepath.Join(x.t.TempDir(), "proof.zip")
			err := x.Prove(x.t.Context(), "p", []office.EventLine{{ID: "e"}}, path, false)
			return unless(x, func() bool {
				head, err := os.ReadFile(filepath.Join(unpack(x.t, path), "record", "head.txt"))
				return err == nil && strings.Contains(string(head), "\n— ") && x.of(came(x)) != ""
			}, err)
		},
		"a line": func(x *testService) error {
			_, _, err := x.CheckRecord("Countersign record: 2 " + strings.Repeat("0", 64))
			return err
		},
		"a stamp": func(x *testService) error { _, err := x.TestStamp(x.t.Context(), server.URL); return err },
		"at the start": func(x *testService) error {
			x.busy.Store(true)
			return errors.Join(x.Run(ended), x.RunRecord(ended))
		},
		"in time": func(x *testService) error {
			ctx, stop := context.WithTimeout(x.t.Context(), 2*time.Minute)
			defer stop()
			err := x.RunRecord(ctx)
			return unless(x, func() bool {
				done, today, err := x.today()
				return err == nil && done.Record == today && done.Checked == today
			}, err)
		},
		"read": func(x *testService) error { return x.Read(message.DocumentsWrong(1)) },
		"read astray": func(x *testService) error {
			return x.ReadAstray(message.FilesAstray(1, []string{"old.pdf"}))
		},
		"asked": func(x *testService) error {
			err := x.CheckFiles(x.t.Context(), func(int, int) {})
			return unless(x, func() bool { return !x.said(health.FilesAstray).IsZero() }, err)
		},
		"trusted":     func(x *testService) error { return x.Trust(x.mine) },
		"not trusted": func(x *testService) error { return x.Distrust(own) },
		"differences": func(x *testService) error {
			_, err := x.Differences(x.t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned})
			return err
		},
		"verified": func(x *testService) error {
			return x.Verify(x.t.Context(), []string{x.path(came(x))}, "", func(office.Verified) error { return nil })
		},
		"adopted": func(x *testService) error {
			return x.Data.Update(func(tx *store.Tx) error {
				lines := []store.Record{{Kind: store.KindLogged, Key: make([]byte, 8), Bytes: []byte("{}")}}
				Adopt(tx, lines, []json.RawMessage{[]byte(`{"size": 1}`), []byte(`{"size": 2}`), []byte("{}")})
				if stamps := Stamps(tx); tx.Err() == nil && len(stamps) != 1 {
					return fmt.Errorf("of a record of one line there are %d stamps", len(stamps))
				}
				return nil
			})
		},
	} {
		test := func(t *testing.T) {
			looptest.EachFault(t, func() (*testService, *data.Data) {
				x := newService(t)
				x.settings.SaveTo, x.deps.HTTP, x.deps.Words = t.TempDir(), server.Client(), message.English
				noErr(t, x.Trust(own))
				x.save("old", "forged")
				noErr(t, os.Remove(x.path(x.save("gone", "sealed"))))
				x.look()
				x.nextDay()
				if x.settings.CheckFiles, x.settings.MirrorRecord = 1, true; name != "in time" {
					x.settings.StampURL = server.URL
				}
				if name == "kept" || name == "proven" {
					noErr(t, x.keepRecord(t.Context()))
					x.nextDay()
				}
				x.send("p", "5,200")
				noErr(t, x.Data.Update(func(tx *store.Tx) error {
					_, err := tx.AddEvent(office.Event{ID: "e", Received: x.Now(), Body: []byte("{}")})
					return errors.Join(err, tx.PutDoc(docAstray, astrayFiles{Files: []astray{{Name: "old.pdf"}}}))
				}))
				x.save("p", "9,250")
				return x, x.Data
			}, do)
		}
		if name == "in time" {
			looptest.Bubble(t, name, test)
		} else {
			t.Run(name, test)
		}
	}
}
