package proof

import (
	"archive/zip"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/record"
	"countersign/internal/store"
)

// unpack unpacks a ZIP into a new folder.
func unpack(t *testing.T, path string) (dir string) {
	t.Helper()
	files := must(zip.OpenReader(path))
	defer files.Close()
	dir = t.TempDir()
	noErr(t, os.CopyFS(dir, files))
	return dir
}

// Whoever checks a proof has its commands, the authority's certificate, and nothing of ours. The end-to-end tests do the same with sealed documents.
func TestTheRecordOfAProofIsCheckedWithOtherPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the commands are for a Unix shell")
	}
	x := newService(t)
	j := x.save("p", "text")
	x.look()
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(office.Package{ID: "p", Name: "Lease"}) }))
	noErr(t, x.Data.Update(func(tx *store.Tx) (err error) {
		for range 300 {
			err = errors.Join(err, tx.AddFact(record.Fact{Kind: record.Sent, Package: "another"}))
		}
		return err
	}))
	server, own := authority(t, x509.ExtKeyUsageTimeStamping, func(*timestamp.Timestamp) {})
	noErr(t, x.Trust(own))
	x.settings.StampURL, x.deps.HTTP, x.deps.Words = server.URL, server.Client(), message.English
	path := filepath.Join(t.TempDir(), "proof.zip")
	var events []office.EventLine
	for _, stamped := range []bool{true, false} {
		if stamped {
			x.nextDay()
			noErr(t, x.keepRecord(t.Context()))
			noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.AddFact(record.Fact{Kind: record.Sent, Package: "another"}) }))
		} else {
			x.log(1)                                          // after the stamp
			noErr(t, x.Data.Update(func(tx *store.Tx) error { // with another spelling of the id
				_, err := tx.AddEvent(office.Event{ID: "e", PackageID: "P", Body: []byte("{}")})
				return err
			}))
			events = []office.EventLine{{ID: "e"}}
			x.saveJob(office.Job{PackageID: "p", DocumentID: "d2", Kind: office.FileSigned, Folder: x.folder, Target: "new.pdf"}, "not examined yet")
		}
		noErr(t, x.Prove(t.Context(), "p", events, path, true))
		dir := unpack(t, path)
		noErr(t, os.WriteFile(filepath.Join(dir, "authority.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Raw}), 0o600))
		if head := must(os.ReadFile(filepath.Join(dir, "record", "head.txt"))); !strings.Contains(string(head), "\n\n\u2014 ") {
			t.Errorf("stamped: %v: its head is not signed:\n%s", stamped, head)
		}
		said := ""
		text := must(os.ReadFile(filepath.Join(dir, "Proof.txt")))
		if strings.Contains(string(text), x.say(message.ProofHistory())) {
			t.Errorf("it has a title above nothing:\n%s", text)
		}
		if strings.Contains(string(text), "Time confirmed by: "+own.Subject.CommonName+"\n") != stamped {
			t.Errorf("stamped: %v: it says\n%s", stamped, text)
		}
		for line := range strings.Lines(string(text)) {
			if command, isOne := strings.CutPrefix(line, "    "); isOne {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v", command, err)
				}
				said += string(out)
			}
		}
		if strings.Contains(said, "Verification: OK") != stamped || strings.Contains(said, "FAILED") || strings.Count(said, ".json: OK") < 1 {
			t.Errorf("stamped: %v: the commands say\n%s", stamped, said)
		}
	}
	noErr(t, errors.Join(os.Remove(x.path(j)), os.Remove(filepath.Join(x.folder, "new.pdf"))))
	noErr(t, x.Prove(t.Context(), "p", nil, path, true))
	if _, err := os.Stat(filepath.Join(unpack(t, path), "documents")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	if err := x.Prove(t.Context(), "p", nil, path, false); message.For(err) != message.NameTaken("proof.zip") {
		t.Errorf("where there is a file already: %v", err)
	}
	if err := x.Prove(t.Context(), "q", nil, path, true); message.For(err) != message.NoSuchPackage("q") {
		t.Errorf("of a package that is not there: %v", err)
	}
}

// The name of a document is somebody else's, and the commands are for copying into a shell.
func TestWhatAProofSaysOfASealIsOfTheFileThatWasSavedAndRunsNothingElse(t *testing.T) {
	x := newService(t)
	x.deps.Words = message.English
	j := office.Job{PackageID: "p", DocumentID: "d", Kind: office.FileSigned, Folder: x.folder, Target: "O'Neill $(touch it) `touch it` 😀.pdf"}
	j = x.saveJob(j, "sealed")
	x.look()
	j, at := x.now(j), time.Date(2026, 11, 23, 20, 9, 0, 0, time.UTC)
	j.Seal.At, j.Seal.Stamped = at, "Stamps Ltd"
	x.send("p", "", "annex")
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		_, err := tx.AddEvent(office.Event{ID: "event-1", Received: at, Action: "signed", Body: []byte("{}")})
		return err
	}))
	p := office.Package{ID: "p", Name: "Lease 😀", Source: office.Source{DraftID: "draft-p"}, Documents: []office.Document{{ID: "d", SignedBy: []string{"a"}}},
		Signers: []office.Signer{{ID: "a", FirstName: "Ana"}, {ID: "b", FirstName: "Ben", Declined: office.When{Time: at.Add(time.Hour)}}, {ID: "c", FirstName: "Cleo"}},
		History: []office.HistoryEntry{{Time: office.When{Time: at.Add(-time.Hour)}, What: office.EntrySigned, Who: "a", Ref: "d"}}}
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		_, err := tx.PlanJob(office.Job{PackageID: "p", Kind: office.FileMaster, Folder: x.folder, Target: "to come.pdf"})
		return errors.Join(err, tx.PutJob(j), tx.PutPackage(p))
	}))
	text := func() string {
		path := filepath.Join(t.TempDir(), "proof.zip")
		noErr(t, x.Prove(t.Context(), "p", []office.EventLine{{ID: "event-1", Action: "signed", Received: at}, {ID: "forgotten"}}, path, false))
		b := must(os.ReadFile(filepath.Join(unpack(t, path), "Proof.txt")))
		return string(b)
	}
	const command = `    pdfsig './documents/O'\''Neill $(touch it) ` + "`touch it` 😀.pdf'\n"
	said := text()
	p.Execute(office.When{Time: at})
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
	executed := text()
	for _, want := range []string{"Ana: signed 2026-11-23 19:09:00 UTC", "Ben: declined 2026-11-23 21:09:00 UTC", "Cleo: signed before 2026-11-23 20:09:00 UTC"} {
		if !strings.Contains(executed, want) {
			t.Errorf("without %q, once it is executed it says\n%s", want, executed)
		}
	}
	for _, want := range []string{
		command, "Sealed by “Signing service”", "Sealed: 2026-11-23 20:09:00 UTC", "Time confirmed by: Stamps Ltd",
		"Ana: signed 2026-11-23 19:09:00 UTC", "Ben: declined 2026-11-23 21:09:00 UTC", "Cleo: not signed",
		"draft-p-1: SHA-256 sum", "sent/draft-p-2: SHA-256 ",
		"2026-11-23 20:09:00 UTC: signed\nevent-1\nevents/2026-11-23T200900Z signed.json\n", "forgotten", "    sh record/check.sh\n",
	} {
		if !strings.Contains(said, want) || strings.Contains(said, "to come") {
			t.Errorf("without %q, of a sealed document it says\n%s", want, said)
		}
	}
	noErr(t, os.WriteFile(x.path(j), []byte("%PDF-1.4\nanother\n%%EOF\n"), 0o600))
	if said := text(); !strings.Contains(said, "no longer the file that was saved") || strings.Contains(said, "Sealed by") || strings.Contains(said, "pdfsig") {
		t.Errorf("of another file in its place it says\n%s", said)
	}
}
