package proof

import (
	"archive/zip"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/archive"
	"countersign/internal/compare"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/record"
	"countersign/internal/store"

	"github.com/digitorus/timestamp"
)

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

// open opens what was sent: a file beside the saved ones.
func (x *testService) open(f office.DraftFile) (*os.File, error) {
	return os.Open(filepath.Join(x.folder, f.Copy))
}

// compare takes documents for the same when their texts are.
func (x *testService) compare(_ context.Context, original, returned *os.File) ([]byte, error) {
	text := func(f *os.File) string {
		return strings.TrimSuffix(strings.TrimPrefix(string(must(os.ReadFile(f.Name()))), "%PDF-1.4\n"), "\n%%EOF\n")
	}
	if r := x.result; r.State != "" {
		return json.Marshal(r)
	}
	sent, back := text(original), text(returned)
	switch {
	case strings.Contains(sent, "office file"):
		return nil, preview.ErrNotPDF
	case sent == back:
		return json.Marshal(compare.Result{State: compare.Same})
	}
	return json.Marshal(compare.Result{State: compare.Changed, Places: []compare.Place{
		{Kind: compare.KindAltered, Page: 2, Was: sent}, {Kind: compare.KindAltered, Page: 2, Now: back}, {Kind: compare.KindAltered, Page: 3, Back: 3, Was: sent, Now: back}, {Kind: compare.KindAltered, Page: 4, Now: back}}})
}

// send has a package sent from here with a file of each text; "" for one that is not kept any more.
func (x *testService) send(id string, texts ...string) {
	x.t.Helper()
	d := office.Draft{ID: "draft-" + id, State: office.DraftSent, Delivery: office.Delivery{PackageID: id}}
	p := office.Package{ID: id, State: office.PackageExecuted, Source: office.Source{DraftID: d.ID}}
	for i, text := range texts {
		name := fmt.Sprintf("%s-%d", d.ID, i+1)
		if text != "" {
			noErr(x.t, os.WriteFile(filepath.Join(x.folder, name), []byte(text), 0o600))
		}
		d.Files = append(d.Files, office.DraftFile{Name: name, Copy: name, ExternalID: name, SHA256: "sum"})
		p.Documents = append(p.Documents, office.Document{ID: string(rune('d' + i)), ExternalID: name})
	}
	noErr(x.t, x.Data.Update(func(tx *store.Tx) error {
		if err := tx.PutDraft(d); err != nil {
			return err
		}
		return tx.PutPackage(p)
	}))
}

func TestWhatCameBackIsComparedWithWhatWasSentForIt(t *testing.T) {
	x := newService(t)
	for _, c := range []struct {
		name string
		sent []string
		kind office.FileKind
		want office.Match
	}{
		{"elsewhere", nil, office.FileSigned, office.Match{State: office.MatchNone}},
		{"as it was", []string{"as it was", "annex"}, office.FileSigned, office.Match{State: office.MatchSame}},
		{"9,250", []string{"5,200", "annex"}, office.FileSigned, office.Match{State: office.MatchChanged, Page: 3, Was: "5,200", Now: "9,250", More: 3}},
		{"letter", []string{"office file"}, office.FileSigned, office.Match{State: office.MatchUnread, Why: office.WhyConverted}},
		{"forgotten", []string{""}, office.FileSigned, office.Match{State: office.MatchUnread, Why: office.WhyNotKept}},
		{"cover", []string{"lease", "annex"}, office.FileMaster, office.Match{State: office.MatchNone}},
		{"certificate", []string{"lease"}, office.FileCertificate, office.Match{State: office.MatchNone}},
		{"112345678", []string{"lease"}, office.FileSigned, office.Match{State: office.MatchAdded, Now: "1; 2; 3; 4; 5; 6; 7; 8"}},
		{"123456789", []string{"lease"}, office.FileSigned, office.Match{State: office.MatchAdded, Now: "1; 2; 3; 4; 5; 6; 7; 8; …"}},
	} {
		if x.result = (compare.Result{}); c.want.State == office.MatchAdded {
			x.result = compare.Result{State: compare.Added, Places: []compare.Place{{Kind: compare.KindPage, Now: "a page"}, {Kind: compare.KindAdded}}}
			for _, n := range c.name {
				x.result.Places = append(x.result.Places, compare.Place{Kind: compare.KindAdded, Now: string(n)})
			}
		}
		if c.sent != nil {
			x.send(c.name, c.sent...)
		}
		j := office.Job{PackageID: c.name, DocumentID: "d", Kind: c.kind, Folder: x.folder, Target: c.name + ".pdf"}
		x.saveJob(j, c.name)
		x.look()
		expect(t, x.now(j).Match, c.want, "it is %+v of %s", c.name)
	}
}

func TestAChangedDocumentIsToldOnceAndWhatWasFoundStaysWhenWhatWasSentIsGone(t *testing.T) {
	x := newService(t)
	x.send("p", "5,200")
	j := office.Job{PackageID: "p", DocumentID: "d", Kind: office.FileSigned, Folder: x.folder, Target: "p.pdf"}
	x.saveJob(j, "sealed 9,250")
	x.look()
	told := message.Then(message.MatchBecame(3, "5,200", "sealed 9,250"), message.MatchMore(3))
	lines := must(x.Activity(9))
	if len(lines) != 1 || lines[0].Text != told {
		t.Errorf("the activity says %+v", lines)
	}
	p, _, err := x.Data.Package("p")
	noErr(t, err)
	expect(t, p.Problem, told, "its problem is %v")
	if v := x.verify(x.path(j))[0]; !v.Wrong() || !strings.Contains(v.Text().String(), told.String()) {
		t.Errorf("verified it is %v", v.Text())
	}
	issues := x.Health.List()
	if len(issues) != 1 || issues[0].ID != health.DocumentsWrong.ID {
		t.Errorf("health says %+v", issues)
	}
	x.deps.Draw = func(_ context.Context, document *os.File, page, width int) (image.Image, error) {
		return image.NewGray(image.Rect(0, page, width, len(must(io.ReadAll(document))))), nil
	}
	for original, size := range map[bool]int{true: len("5,200"), false: int(x.now(j).Size)} {
		drawn := must(x.Page(t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned}, original, 3, 80))
		expect(t, drawn.Bounds(), image.Rect(0, 3, 80, size), "original %[3]v: it draws %[1]v", original)
	}
	x.result = compare.Result{State: compare.Unread, Why: compare.WhyDamaged}
	if _, err := x.Differences(t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned}); message.For(err) != (office.Match{State: office.MatchUnread, Why: office.WhyDamaged}).Text() {
		t.Errorf("of what nobody can read it shows %v", err)
	}
	noErr(t, os.Remove(filepath.Join(x.folder, "draft-p-1")))
	noErr(t, x.Trust(x.mine)) // which has the seal judged anew
	x.look()
	j = x.now(j)
	expect(t, j.Match.State, office.MatchChanged, "then it is %q")
	expect(t, j.Seal.State, office.SealIntact, "then its seal is %q")
	if lines, err = x.Activity(9); err != nil || len(lines) != 1 {
		t.Errorf("then the activity says %+v, %v", lines, err)
	}
	_, err = x.Differences(t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned})
	_, err2 := x.Page(t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned}, true, 1, 80)
	for _, err := range []error{err, err2} {
		if !errors.Is(err, fs.ErrNotExist) || message.For(err) != message.MatchNotKept() {
			t.Errorf("it is shown: %v", err)
		}
	}
}

// saveJob is save for a job of any kind.
func (x *testService) saveJob(j office.Job, text string) office.Job {
	x.t.Helper()
	folder := must(archive.OpenFolder(j.Folder))
	defer folder.Close()
	saved := must(folder.Save(x.t.Context(), archive.Request{Target: j.Target, Key: j.Key(), Declared: -1, Before: "", Body: strings.NewReader("%PDF-1.4\n" + text + "\n%%EOF\n")}))
	noErr(x.t, x.Data.Update(func(tx *store.Tx) error {
		if _, err := tx.PlanJob(j); err != nil {
			return err
		}
		j.State, j.Size, j.Digest, j.Done = office.JobDone, saved.Size, saved.Digest, x.Now()
		return tx.PutJob(j)
	}))
	return j
}
