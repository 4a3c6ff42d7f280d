package proof

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitorus/timestamp"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/record"
	"countersign/internal/store"
)

// verify is what is said of files.
func (x *testService) verify(paths ...string) (all []office.Verified) {
	x.t.Helper()
	noErr(x.t, x.Verify(x.t.Context(), paths, "", func(v office.Verified) error { all = append(all, v); return nil }))
	return all
}

// nextDay is a day later by the count of the store.
func (x *testService) nextDay() {
	x.t.Helper()
	x.daysLater(1)
}

func (x *testService) daysLater(n int) {
	x.t.Helper()
	for range n {
		x.days++
		noErr(x.t, x.Data.Update(func(tx *store.Tx) error {
			_, err := tx.CountDay(time.Now().AddDate(0, 0, x.days))
			return err
		}))
	}
}

func (x *testService) log(n int) {
	x.t.Helper()
	noErr(x.t, x.Data.Update(func(tx *store.Tx) (err error) {
		for range n {
			err = errors.Join(err, tx.AddFact(record.Fact{Kind: record.Sent, Package: "p"}))
		}
		return err
	}))
}

// said is what health says under an id.
func (x *testService) said(s health.State) (text message.Message) {
	for _, i := range x.Health.List() {
		if i.ID == s.ID {
			text = i.Message
		}
	}
	return text
}

func TestALineOfTheRecordFitsAsLongAsNothingWasChanged(t *testing.T) {
	x := newService(t)
	x.log(3)
	first := must(x.RecordState())
	expect(t, first.Size, 4, "with its key, the record has %d facts") // the key is one
	x.log(700)
	check := func(line string, want message.Message) {
		t.Helper()
		said, fits, err := x.CheckRecord(line)
		noErr(t, err)
		expect(t, said, want, "of %q it says %v", line)
		expect(t, fits, want == message.RecordConsistent(4), "it fits: %v")
	}
	check(first.Line, message.RecordConsistent(4))
	check("> Countersign record: 4\n> "+strings.Fields(first.Line)[3]+" and so on", message.RecordConsistent(4))
	check(strings.Replace(first.Line, " 4 ", " 5 ", 1), message.RecordDiffers())
	check(strings.Replace(first.Line, " 4 ", " 709 ", 1), message.RecordLater(5))
	check("4", message.RecordNoLine())
}

// authority stamps what it is sent, after tamper had its way with the answer.
func authority(t *testing.T, usage x509.ExtKeyUsage, tamper func(*timestamp.Timestamp)) (*httptest.Server, *x509.Certificate) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	id := must(asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}}))
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Stamps"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	if usage == x509.ExtKeyUsageTimeStamping {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: id}}
	} else {
		c.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	}
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	c = must(x509.ParseCertificate(der))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must(io.ReadAll(r.Body))
		asked := must(timestamp.ParseRequest(body))
		stamp := &timestamp.Timestamp{HashAlgorithm: asked.HashAlgorithm, HashedMessage: asked.HashedMessage, Time: time.Now(), Nonce: asked.Nonce, Policy: asn1.ObjectIdentifier{1, 2, 3}, AddTSACertificate: true}
		tamper(stamp)
		answer := must(stamp.CreateResponseWithOpts(c, key, crypto.SHA256))
		w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s, c
}

func TestOnlyAStampThatAnswersTheQuestionIsKept(t *testing.T) {
	as, other := func(*timestamp.Timestamp) {}, big.NewInt(7)
	for name, c := range map[string]struct {
		usage   x509.ExtKeyUsage
		tamper  func(*timestamp.Timestamp)
		trusted bool
		want    int64
	}{
		"good":             {x509.ExtKeyUsageTimeStamping, as, true, 3},
		"stranger":         {x509.ExtKeyUsageTimeStamping, as, false, 0},
		"other purpose":    {x509.ExtKeyUsageServerAuth, as, true, 0},
		"other nonce":      {x509.ExtKeyUsageTimeStamping, func(s *timestamp.Timestamp) { s.Nonce = other }, true, 0},
		"no nonce":         {x509.ExtKeyUsageTimeStamping, func(s *timestamp.Timestamp) { s.Nonce = nil }, true, 0},
		"other document":   {x509.ExtKeyUsageTimeStamping, func(s *timestamp.Timestamp) { s.HashedMessage = bytes.Repeat([]byte{1}, 32) }, true, 0},
		"after its expiry": {x509.ExtKeyUsageTimeStamping, func(s *timestamp.Timestamp) { s.Time = time.Now().Add(2 * time.Hour) }, true, 0},
	} {
		x := newService(t)
		asked := 0
		server, own := authority(t, c.usage, func(s *timestamp.Timestamp) { asked++; c.tamper(s) })
		x.settings.StampURL = server.URL
		x.deps.HTTP = server.Client()
		if c.trusted {
			noErr(t, x.Trust(own))
		}
		x.log(2)
		x.nextDay()
		_, err := x.TestStamp(t.Context(), server.URL)
		expect(t, err == nil, c.want > 0, name+": tested, it is good: %v")
		expect(t, message.For(err) == message.StampStranger(server.URL), name == "stranger" || name == "other purpose" || name == "after its expiry", name+": tested, it is a stranger's: %v")
		noErr(t, x.keepRecord(t.Context()))
		got := must(x.RecordState())
		expect(t, got.Stamped, c.want, name+": stamped are %d facts")
		expect(t, x.said(health.RecordWaits).IsZero(), c.want > 0, name+": health says nothing: %v")
		if c.want > 0 {
			x.openSSL(own)
			expect(t, asked, 2, "it was asked %d times, once for a test, for a record that has not grown")
		}
	}
}

// openSSL has OpenSSL check what is kept of a stamp in a copy of the record.
func (x *testService) openSSL(own *x509.Certificate) {
	x.t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		x.t.Log("NOT RUN: there is no openssl to check the stamp with")
		return
	}
	x.settings.MirrorRecord, x.settings.SaveTo = true, x.folder
	x.nextDay()
	noErr(x.t, x.keepRecord(x.t.Context()))
	root := filepath.Join(x.t.TempDir(), "root.pem")
	noErr(x.t, os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Raw}), 0o600))
	at := filepath.Join(x.folder, "Countersign record 0a1b2c3d", "000000003")
	out, err := exec.Command(openssl, "ts", "-verify", "-token_in", "-in", at+".tst", "-data", at+".head.txt", "-CAfile", root).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Verification: OK") {
		x.t.Errorf("openssl says %s (%v)", out, err)
	}
}

func TestACopyOfTheRecordVerifiesByItselfAndIsNeverOverwritten(t *testing.T) {
	x := newService(t)
	x.settings = office.Settings{SaveSettings: office.SaveSettings{SaveTo: x.folder}, ProofSettings: office.ProofSettings{MirrorRecord: true}}
	own := filepath.Join(x.folder, "Countersign record 0a1b2c3d")
	keep := func(facts int) {
		t.Helper()
		x.log(facts)
		x.nextDay()
		noErr(t, x.keepRecord(t.Context()))
	}
	fits := func(folder string, want message.Message) {
		t.Helper()
		said, fits, err := x.CheckRecord(folder)
		noErr(t, err)
		expect(t, said, want, "of the copy it says %v")
		expect(t, fits, want != message.RecordDiffers(), "the copy fits: %v")
	}
	noErr(t, os.Mkdir(own, 0o700)) // a copy that was interrupted
	keep(copyLines + 5)
	fits(own, message.RecordConsistent(copyLines+6))
	keep(10)
	fits(own, message.RecordConsistent(copyLines+16))
	heads := must(filepath.Glob(filepath.Join(own, "*.head.txt")))
	last := heads[len(heads)-1]
	head := must(os.ReadFile(last))
	noErr(t, os.WriteFile(last, must(os.ReadFile(heads[0])), 0o600))
	fits(own, message.RecordDiffers())
	noErr(t, os.WriteFile(last, head, 0o600))
	x.log(1)
	noErr(t, x.keepRecord(t.Context())) // once a day
	if list, err := os.ReadDir(own); err != nil || len(list) != 5 {
		t.Errorf("the copy has %d files (%v)", len(list), err)
	}

	// A backup of before the last facts is restored.
	older := newService(t)
	older.settings, older.folder = x.settings, x.folder
	noErr(t, x.Data.Store.View(func(from *store.Tx) error {
		return older.Data.Update(func(to *store.Tx) error {
			return from.Log().From(0, func(n int64, line []byte) bool {
				return n < copyLines && to.Import(store.Record{Kind: store.KindLogged, Key: binary.BigEndian.AppendUint64(nil, uint64(n)), Bytes: line}) == nil
			})
		})
	}))
	older.vault.Kept = x.vault.Kept
	older.nextDay()
	now := x.Now()
	older.Now = func() time.Time { return now }
	other := own + now.UTC().Format(" until 2006-01-02 150405")
	noErr(t, os.Mkdir(other, 0o700))
	noErr(t, older.keepRecord(t.Context()))
	expect(t, older.said(health.RecordWaits), message.RecordCopyFails(x.folder), "where the name for the other copy is taken, health says %v")
	noErr(t, os.Remove(other))
	noErr(t, older.keepRecord(t.Context()))
	expect(t, older.said(health.RecordOlder), message.RecordOlder(x.folder), "health says %v")
	expect(t, len(must(older.Activity(9))), 1, "the activity has %d lines")
	said, _, err := older.CheckRecord(own)
	noErr(t, err)
	expect(t, said, message.RecordConsistent(copyLines+1), "of the new copy it says %v")
	kept := must(filepath.Glob(own + " until *"))
	expect(t, len(kept), 1, "%d copies are kept beside")
	fits(kept[0], message.RecordConsistent(copyLines+16))

	noErr(t, os.WriteFile(filepath.Join(own, "000000001-000010000.jsonl"), []byte("{}\n"), 0o600))
	said, _, err = older.CheckRecord(own)
	noErr(t, err)
	expect(t, said, message.RecordDiffers(), "of a copy that was tampered with it says %v")
}

func TestACopyThatCannotBeReadIsNotCalledChanged(t *testing.T) {
	lines := "000000001-000000005.jsonl"
	for name, make := range map[string]func(at string) error{
		"empty":   func(string) error { return nil },
		"no head": func(at string) error { return os.WriteFile(filepath.Join(at, lines), []byte("1\n2\n3\n4\n5\n"), 0o600) },
		"a pipe":  func(at string) error { return exec.Command("mkfifo", filepath.Join(at, lines)).Run() },
		"a link":  func(at string) error { return os.Symlink(os.DevNull, filepath.Join(at, lines)) },
	} {
		t.Run(name, func(t *testing.T) {
			if at := t.TempDir(); make(at) != nil {
				t.Skip("this system cannot")
			} else {
				_, fits, err := newService(t).CheckRecord(at)
				said, _ := message.Of(err)
				expect(t, said, message.RecordCopyUnread(at), "it says %v")
				expect(t, fits, false, "it fits: %v")
			}
		})
	}
	at := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(at, lines), nil, 0o600))
	noErr(t, os.Truncate(filepath.Join(at, lines), 4<<30)) // one line without an end
	said, _, err := newService(t).CheckRecord(at)
	noErr(t, err)
	expect(t, said, message.RecordDiffers(), "of a line without an end it says %v")
}

func TestACopyThatIsTurnedOnComesAtOnceThoughTheRecordWasStampedToday(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.log(2)
		x.nextDay()
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			day, err := tx.Day()
			return errors.Join(err, tx.PutDoc(docKept, kept{Record: day}))
		}))
		looptest.Run(t, x.RunRecord)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		x.settings.MirrorRecord, x.settings.SaveTo = true, x.folder
		for heads, busy := range []bool{true, false} {
			if x.busy.Store(busy); busy {
				x.WakeRecord()
			} else {
				time.Sleep(time.Minute)
			}
			synctest.Wait()
			copies := must(filepath.Glob(filepath.Join(x.folder, "Countersign record *", "*.head.txt")))
			expect(t, len(copies), heads, "while people wait: %[3]v, the copy has %[1]d heads", busy)
		}
	})
}

func TestAnyFileIsToldFromThoseThatWereSentAndSaved(t *testing.T) {
	x := newService(t)
	lease, rent := x.save("Lease", "sealed"), x.save("Rent", "plain")
	x.log(pageOfLines)
	sent := filepath.Join(t.TempDir(), "Draft.pdf")
	noErr(t, os.WriteFile(sent, []byte("%PDF-1.4 draft"), 0o600))
	for id, in := range map[string]string{"d": "Lease", "e": "Rent"} {
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			return tx.PutDraft(office.Draft{ID: id, State: office.DraftSent, Delivery: office.Delivery{PackageID: in},
				Files: []office.DraftFile{{Name: "Draft.pdf", Size: 14, SHA256: record.Sum([]byte("%PDF-1.4 draft"))}}})
		}))
	}
	x.look()
	elsewhere := filepath.Join(t.TempDir(), "renamed.pdf")
	whole := must(os.ReadFile(x.path(lease)))
	noErr(t, os.WriteFile(elsewhere, whole, 0o600))
	noErr(t, os.WriteFile(x.path(rent), []byte("%PDF-1.4\nother\n%%EOF\n"), 0o600))
	noErr(t, os.WriteFile(filepath.Join(x.folder, "list.csv"), []byte("a;b"), 0o600))
	noErr(t, os.WriteFile(filepath.Join(x.folder, "foreign.pdf"), []byte("%PDF-1.4 foreign"), 0o600))
	for path, want := range map[string]office.Knowledge{elsewhere: office.KnownSaved, sent: office.KnownSent, x.path(rent): office.KnownDiffers, filepath.Join(x.folder, "foreign.pdf"): office.Unknown} {
		if got := x.verify(path); len(got) != 1 || got[0].Known != want || (want != office.Unknown) != (got[0].PackageID != "") {
			t.Errorf("of %s it says %+v", path, got)
		}
	}
	sealed := filepath.Join(t.TempDir(), "sealed.pdf")
	noErr(t, os.WriteFile(sealed, []byte("%PDF-1.7 << /ByteRange [0 10 20 30] >>"), 0o600))
	if !Sealed(sealed) || Sealed(sent) {
		t.Error("what is sealed, and what is not, is not told apart")
	}
	if v := x.verify(sent)[0]; len(v.Also) != 1 || v.Also[0] == v.Package || !strings.Contains(v.Text().String(), v.Also[0]) {
		t.Errorf("it was sent with two packages: %+v", v)
	}
	before := x.examined.Load()
	var names []string
	for _, v := range x.verify(x.folder) {
		names = append(names, filepath.Base(v.Path)+" "+string(v.Known)+" "+string(v.Seal.State))
	}
	expect(t, strings.Join(names, ", "), "Lease.pdf saved stranger, Rent.pdf differs none, foreign.pdf unknown none", "in the folder are %s")
	expect(t, x.examined.Load()-before, 2, "%d were examined anew")
	link := filepath.Join(t.TempDir(), "link")
	noErr(t, os.Symlink(x.folder, link))
	if all := x.verify(link); len(all) != 3 || all[0].Path != filepath.Join(link, "Lease.pdf") || all[0].Known != office.KnownSaved {
		t.Errorf("through a link are %+v", all)
	}
	names = nil
	rest := func(after string) error {
		return x.Verify(t.Context(), []string{x.folder}, filepath.Join(x.folder, after), func(v office.Verified) error {
			names = append(names, filepath.Base(v.Path))
			return nil
		})
	}
	noErr(t, rest("Lease.pdf"))
	expect(t, strings.Join(names, ", "), "Rent.pdf, foreign.pdf", "behind the first one are %s")
	told := 0
	if err := x.Verify(t.Context(), []string{x.folder, sent}, "", func(office.Verified) error { told++; return looptest.ErrFault }); !errors.Is(err, looptest.ErrFault) || told != 1 {
		t.Errorf("whoever has heard enough is told of %d: %v", told, err)
	}
	if err := rest("gone.pdf"); message.For(err) != message.FileNotRead("gone.pdf") {
		t.Errorf("behind one that is gone: %v", err)
	}
}

func TestTheQuietCheckTellsOfWhatIsNotAsItWasSaved(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.CheckFiles = 30
		x.nextDay()
		fine, changed, lost, renamed := x.save("fine", "a"), x.save("changed", "b"), x.save("lost", "c"), x.save("again", "c") // the last two hold the same
		check := func() message.Message {
			t.Helper()
			noErr(t, x.checkFiles(t.Context()))
			return x.said(health.FilesAstray)
		}
		expect(t, check(), message.Message{}, "of files that are as they were saved it says %v")
		noErr(t, os.WriteFile(x.path(changed), []byte("other"), 0o600))
		noErr(t, os.Remove(x.path(lost)))
		noErr(t, os.Rename(x.path(renamed), filepath.Join(x.folder, "other name.pdf")))
		expect(t, check(), message.Message{}, "before it is time it says %v")
		x.daysLater(30)
		away := x.folder + " away"
		noErr(t, os.Rename(x.folder, away))
		expect(t, check(), message.Message{}, "of a folder out of reach it says %v")
		noErr(t, os.Mkdir(x.folder, 0o700))
		x.daysLater(30)
		expect(t, check(), message.Message{}, "of a folder without its disk it says %v")
		noErr(t, os.Remove(x.folder))
		noErr(t, os.Symlink(away, x.folder)) // as to a share
		x.daysLater(30)
		want := message.FilesAstray(2, []string{"changed.pdf", "lost.pdf"})
		shown := 0
		x.Show = func(office.Activity) { shown++ }
		x.Data.Committed = x.Committed
		expect(t, check(), want, "it says %v")
		expect(t, shown, 3, "%d lines are shown")
		lines := must(x.Activity(9))
		kinds := map[message.Message]office.ActivityKind{}
		for _, l := range lines {
			kinds[l.Text] = l.Kind
		}
		expect(t, kinds[message.FileRenamed("again.pdf", "other name.pdf")], office.ActivityRenamed, "a file under another name is %q")
		for _, text := range []message.Message{message.FileNotAsSaved("changed.pdf"), message.FileLost("lost.pdf", x.folder), message.FileRenamed("again.pdf", "other name.pdf")} {
			if kinds[text] == "" || len(lines) != 3 {
				t.Errorf("activity lacks %v, it has %d lines", text, len(lines))
			}
		}
		noErr(t, x.ReadAstray(message.FilesAstray(1, []string{"changed.pdf"})))
		expect(t, x.said(health.FilesAstray), want, "after somebody has read something else it says %v")
		noErr(t, x.ReadAstray(want))
		x.daysLater(30)
		expect(t, check(), message.Message{}, "what somebody has read is told again: %v")
		noErr(t, os.Remove(x.path(fine)))
		x.daysLater(30)
		expect(t, x.said(health.FilesAstray), message.Message{}, "%v")
		expect(t, check(), message.FilesAstray(3, []string{"changed.pdf", "fine.pdf", "lost.pdf"}), "of one more it says %v")
	})
}

func TestTheQuietCheckGoesOnWhereItWasStopped(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.CheckFiles = 1
		var files []office.Job
		for i := range jobsTogether + 9 {
			files = append(files, x.save(fmt.Sprintf("%03d", i), "a"))
		}
		noErr(t, os.Remove(x.path(files[0])))
		body := must(os.ReadFile(x.path(files[9]))) // they all hold the same
		noErr(t, os.Remove(x.path(files[8])))
		noErr(t, os.WriteFile(x.path(files[9]), []byte("other"), 0o600))
		x.nextDay()
		ctx, stop := context.WithTimeout(t.Context(), (jobsTogether+1)*breath)
		defer stop()
		if err := x.checkFiles(ctx); err == nil {
			t.Error("it was not stopped")
		}
		for _, j := range files[8:10] { // they are back before it ends
			noErr(t, os.WriteFile(x.path(j), body, 0o600))
		}
		noErr(t, os.Remove(x.path(files[1])))
		noErr(t, os.Remove(x.path(files[jobsTogether+1])))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(2, []string{"000.pdf", fmt.Sprintf("%03d.pdf", jobsTogether+1)}), "it says %v")
		x.nextDay()
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(3, []string{"000.pdf", "001.pdf", fmt.Sprintf("%03d.pdf", jobsTogether+1)}), "from the beginning it says %v")
	})
}

func TestTheQuietCheckTakesBackNothingThatSomebodyAskedForMeanwhile(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.CheckFiles = 30
		first, far := x.save("a", "a"), filepath.Join(x.folder, "far")
		x.save("b", "b")
		noErr(t, os.Mkdir(far, 0o700))
		x.saveJob(office.Job{PackageID: "c", DocumentID: "d", Kind: office.FileSigned, Folder: far, Target: "c.pdf"}, "c")
		looked := 0
		x.deps.Busy = func() bool {
			if looked++; looked == 2 { // before the second file
				noErr(t, os.Remove(x.path(first)))
				noErr(t, os.Rename(far, far+" away"))
				noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
			}
			return false
		}
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FolderMissing("far"), "it says %v")
		noErr(t, x.ReadAstray(message.FolderMissing("far")))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{"a.pdf"}), "then it says %v")
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		x.deps.FolderAway = func(folder string) error {
			if folder == far { // followed at the end of the quiet check
				x.deps.FolderAway = stat
				noErr(t, os.Remove(filepath.Join(x.folder, "b.pdf")))
				noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
			}
			return stat(folder)
		}
		noErr(t, os.Rename(far+" away", far))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(2, []string{"a.pdf", "b.pdf"}), "after it followed it says %v")
	})
}

func TestWhoReadsThatAFolderIsAwayHasReadOfNothingElse(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo, x.settings.CheckFiles = x.folder, 30
		x.save("fine", "a")
		lost, other := message.FilesAstray(1, []string{"lost.pdf"}), x.save("other", "b")
		noErr(t, os.Remove(x.path(x.save("lost", "c"))))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), lost, "of a lost file it says %v")
		for _, name := range []string{"far", "further"} {
			folder := filepath.Join(t.TempDir(), name)
			noErr(t, os.Mkdir(folder, 0o700))
			x.saveJob(office.Job{PackageID: name, DocumentID: "d", Kind: office.FileSigned, Folder: folder, Target: "a.pdf"}, "a")
			noErr(t, os.Rename(folder, folder+" away"))
		}
		away := x.folder + " away"
		noErr(t, os.Rename(x.folder, away))
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		for _, name := range []string{filepath.Base(x.folder), "far"} {
			expect(t, x.said(health.FilesAstray), message.FolderMissing(name), "of folders out of reach it says %v")
			noErr(t, x.ReadAstray(message.FolderMissing(name)))
		}
		noErr(t, os.Rename(away, x.folder))
		noErr(t, os.Remove(x.path(other)))
		x.daysLater(30)
		asked := 0
		x.deps.FolderAway = func(folder string) error {
			if filepath.Base(folder) == "further" {
				if asked++; asked == 2 { // once the check has looked at every file
					noErr(t, x.ReadAstray(message.FolderMissing("further")))
				}
			}
			return stat(folder)
		}
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(2, []string{"lost.pdf", "other.pdf"}), "of the files it says %v")
	})
}

func TestAFileThatIsLostOnceMoreIsToldOnceMore(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.CheckFiles = 1
		x.save("other", "b")
		noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(office.Package{ID: "a"}) }))
		for range 2 {
			noErr(t, os.Remove(x.path(x.save("a", "a")))) // saved again and lost within the hour
			x.nextDay()
			noErr(t, x.checkFiles(t.Context()))
			expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{"a.pdf"}), "it says %v")
		}
		noErr(t, os.WriteFile(x.path(x.save("a", "a")), []byte("b"), 0o600))
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		p, _, err := x.Data.Package("a")
		noErr(t, err)
		var told []string
		for _, m := range p.History {
			told = append(told, m.What)
		}
		expect(t, told, []string{office.EntryMissing, office.EntryMissing, office.EntryChanged}, "its history has %v")
	})
}

func TestARenamedFileIsComparedAndExaminedUnderItsNewName(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.send("p", "5,200")
		j := x.save("p", "sealed 9,250")
		noErr(t, os.Rename(x.path(j), filepath.Join(x.folder, "renamed.pdf")))
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		x.look()
		expect(t, x.of(j), office.SealStranger, "its seal is %q")
		_, err := x.Differences(t.Context(), "p", office.File{DocumentID: "d", Kind: office.FileSigned})
		noErr(t, err)
	})
}

func TestWithoutItsShareNoFileIsTakenForLost(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo, x.settings.MirrorRecord, x.settings.CheckFiles = x.folder, true, 1
		for name := range 3 {
			x.save(fmt.Sprint(name), "a")
		}
		noErr(t, os.Remove(x.path(x.save("lost", "b"))))
		noErr(t, x.checkFiles(t.Context()))
		share, note := x.folder+" share", filepath.Join(x.folder, "NOT MOUNTED")
		noErr(t, errors.Join(os.Rename(x.folder, share), os.Mkdir(x.folder, 0o700), os.WriteFile(note, nil, 0o600)))
		x.deps.FolderAway = func(string) error { return archive.ErrMissing }
		x.nextDay()
		noErr(t, x.keepRecord(t.Context()))
		expect(t, x.said(health.RecordWaits), message.RecordCopyFails(x.folder), "of the copy it says %v")
		expect(t, must(filepath.Glob(filepath.Join(x.folder, "*"))), []string{note}, "in the mount point are %q")
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{"lost.pdf"}), "by itself it says %v")
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		expect(t, x.said(health.FolderAway), message.FolderMissing(filepath.Base(x.folder)), "asked it says %v")
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FolderAway), message.FolderMissing(filepath.Base(x.folder)), "an hour later it says %v")
		expect(t, len(must(x.Activity(9))), 1, "activity has %d lines")
		noErr(t, errors.Join(os.RemoveAll(x.folder), os.Rename(share, x.folder)))
		x.deps.FolderAway = stat
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{"lost.pdf"}), "with the share it says %v")
	})
}

func TestAFolderThatIsBackIsNoticedWithinAMinute(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo = x.folder
		x.save("a", "a")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, run := range []func(context.Context) error{x.Run, x.RunRecord} {
			running.Go(func() { noErr(t, run(ctx)) })
		}
		time.Sleep(90 * time.Second) // both rest
		noErr(t, os.Rename(x.folder, x.folder+" away"))
		noErr(t, x.CheckFiles(ctx, func(int, int) {}))
		expect(t, x.said(health.FolderAway), message.FolderMissing(filepath.Base(x.folder)), "it says %v")
		time.Sleep(time.Minute)
		noErr(t, os.Rename(x.folder+" away", x.folder))
		time.Sleep(time.Minute + time.Second)
		expect(t, x.said(health.FolderAway), message.Message{}, "a minute after it is back it says %v")
		cancel()
		running.Wait()
	})
}

func TestARenamedFileIsWhereItWasFound(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo, x.settings.CheckFiles = x.folder, 1
		moved, read := x.folder+" moved", x.save("0 read", "read")
		a, twin, fine := x.save("a", "same"), x.save("twin", "same"), x.save("fine", "fine")
		noErr(t, os.Remove(x.path(read)))
		noErr(t, x.checkFiles(t.Context()))
		noErr(t, x.ReadAstray(x.said(health.FilesAstray)))
		for _, c := range []struct {
			what string
			do   func()
			at   string // where a is
			says message.Message
		}{
			{"renamed", func() { x.rename(a, "b.pdf") }, "b.pdf", message.Message{}},
			{"its twin lost", func() { x.rename(twin, "twin.txt") }, "b.pdf", message.FilesAstray(2, []string{"0 read.pdf", "twin.pdf"})},
			{"its twin back", func() { noErr(t, os.Rename(filepath.Join(x.folder, "twin.txt"), x.path(twin))) }, "b.pdf", message.FilesAstray(1, []string{"0 read.pdf"})},
			{"renamed again", func() { x.rename(a, "c.pdf") }, "c.pdf", message.FilesAstray(1, []string{"0 read.pdf"})},
			{"renamed and replaced", func() {
				x.rename(a, "a.pdf")
				noErr(t, os.WriteFile(filepath.Join(x.folder, "c.pdf"), []byte("other"), 0o600))
			}, "a.pdf", message.FilesAstray(1, []string{"0 read.pdf"})},
			{"renamed once more", func() { x.rename(a, "d.pdf") }, "d.pdf", message.FilesAstray(1, []string{"0 read.pdf"})},
			{"moved", func() { noErr(t, os.Rename(x.folder, moved)); x.settings.SaveTo = moved }, "d.pdf", message.FilesAstray(1, []string{"0 read.pdf"})},
			{"changed", func() { noErr(t, os.WriteFile(x.now(a).Path(), []byte("other"), 0o600)) }, "d.pdf", message.FilesAstray(2, []string{"d.pdf", "0 read.pdf"})},
		} {
			c.do()
			x.nextDay()
			noErr(t, x.checkFiles(t.Context()))
			expect(t, x.now(a).Path(), filepath.Join(x.settings.SaveTo, c.at), c.what+": it is at %s")
			expect(t, x.now(fine).Path(), filepath.Join(x.settings.SaveTo, "fine.pdf"), c.what+": another is at %s")
			expect(t, x.said(health.FilesAstray), c.says, c.what+": it says %v")
		}
	})
}

func TestManyRenamedFilesHideNoLostOne(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		for i := range mostAstray + 1 {
			x.rename(x.save(fmt.Sprintf("%04d", i), fmt.Sprint(i)), fmt.Sprint(i, ".pdf"))
		}
		for range 2 {
			noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		}
		expect(t, x.said(health.FilesAstray), message.Message{}, "of renamed files it says %v")
		noErr(t, os.Remove(filepath.Join(x.folder, fmt.Sprint(mostAstray, ".pdf"))))
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{fmt.Sprintf("%04d.pdf", mostAstray)}), "of a lost one it says %v")
	})
}

func TestAQuitDoesNotWaitForAMovedFolder(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		j := x.save("a", "a")
		noErr(t, os.Rename(x.folder, x.folder+" moved"))
		noErr(t, x.CheckFiles(t.Context(), func(int, int) {}))
		x.settings.SaveTo = x.folder + " moved"
		ctx, quit := context.WithCancel(t.Context())
		quit()
		if err := x.checkFiles(ctx); err == nil {
			t.Error("it was not stopped")
		}
		expect(t, must(x.job(j.Key())).Folder, x.folder, "it has followed to %s")
		noErr(t, x.checkFiles(t.Context()))
		expect(t, must(x.job(j.Key())).Folder, x.settings.SaveTo, "later it is taken to be in %s")
	})
}

func TestAFileIsLostThoughAnotherHasItsBytesAndNothingElseIsLeft(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.CheckFiles = 30
		check := func(names ...string) {
			t.Helper()
			x.nextDay()
			noErr(t, x.checkFiles(t.Context()))
			expect(t, x.said(health.FilesAstray), message.FilesAstray(len(names), names), "it says %v")
		}
		twin, other := x.save("copy", "same"), x.save("other", "same")
		below := filepath.Join(x.folder, "below") // of a folder in the folder
		noErr(t, os.Mkdir(below, 0o700))
		x.saveJob(office.Job{PackageID: "below", DocumentID: "d", Kind: office.FileSigned, Folder: below, Target: "twin.pdf"}, "same")
		body := must(os.ReadFile(x.path(twin)))
		noErr(t, os.Remove(x.path(twin)))
		check("copy.pdf") // at first at once
		x.settings.CheckFiles = 1
		noErr(t, os.WriteFile(filepath.Join(x.folder, "notes.txt"), nil, 0o600))
		noErr(t, os.Remove(x.path(other)))
		check("copy.pdf", "other.pdf")
		x.settings.CheckFiles = 0
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(2, []string{"copy.pdf", "other.pdf"}), "though nobody looks for more it says %v")
		noErr(t, os.WriteFile(x.path(twin), body, 0o600))
		noErr(t, os.WriteFile(x.path(other), body, 0o600))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.Message{}, "once all are back it says %v")
	})
}

func TestTheCheckThatSomebodyAsksForTellsOfEverythingAtOnce(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.settings.SaveTo = x.folder
		fine, changed, lost := x.save("fine", "a"), x.save("changed", "b"), x.save("lost", "c")
		for _, j := range []office.Job{fine, changed, lost} {
			noErr(t, x.Data.Update(func(tx *store.Tx) error {
				return tx.PutPackage(office.Package{ID: j.PackageID, State: office.PackageExecuted, Saving: office.Saving{Planned: true, Saved: true}})
			}))
		}
		known := func(id string) office.Package {
			return must(data.Read(x.Data, "", func(tx *store.Tx) (office.Package, error) { p, _, err := tx.Package(id); return p, err }))
		}
		wrong := func() (all string) {
			for _, id := range []string{"fine", "changed", "lost"} {
				if !known(id).Problem.IsZero() {
					all += id + " "
				}
			}
			return all
		}
		progress := ""
		check := func() message.Message {
			t.Helper()
			progress = ""
			began := x.Now()
			noErr(t, x.CheckFiles(t.Context(), func(done, all int) { progress += fmt.Sprintf("%d/%d ", done, all) }))
			expect(t, x.Now().Sub(began), 0, "it rested for %v")
			return x.said(health.FilesAstray)
		}
		expect(t, check(), message.Message{}, "of files that are as they were saved it says %v")
		expect(t, progress, "1/3 2/3 3/3 ", "its progress was %s")
		body, gone := must(os.ReadFile(x.path(changed))), must(os.ReadFile(x.path(lost)))
		noErr(t, os.WriteFile(x.path(changed), []byte("other"), 0o600))
		noErr(t, os.Remove(x.path(lost)))
		want := message.FilesAstray(2, []string{"changed.pdf", "lost.pdf"})
		expect(t, check(), want, "it says %v")
		expect(t, wrong(), "changed lost ", "wrong are %s")
		noErr(t, os.WriteFile(x.path(changed), body, 0o600))
		expect(t, check(), message.FilesAstray(1, []string{"lost.pdf"}), "of the one still missing it says %v")
		expect(t, wrong(), "lost ", "then wrong are %s")
		noErr(t, x.ReadAstray(message.FilesAstray(1, []string{"lost.pdf"})))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.Message{}, "what somebody has read is told again: %v")
		expect(t, wrong(), "", "of what somebody has read wrong are %s")
		expect(t, known("lost").Astray, true, "of a file that is still missing the package knows: %v")
		expect(t, check(), message.FilesAstray(1, []string{"lost.pdf"}), "to somebody who asks again it says %v")
		noErr(t, os.WriteFile(filepath.Join(x.folder, "renamed.pdf"), gone, 0o600))
		expect(t, check(), message.Message{}, "of a file under another name it says %v")
		expect(t, known("lost").Astray, false, "of a file under another name the package knows: %v")
		expect(t, must(x.job(lost.Key())).At(), "renamed.pdf", "it is taken to be at %s")
		noErr(t, os.Remove(filepath.Join(x.folder, "renamed.pdf")))
		expect(t, check(), message.FilesAstray(1, []string{"lost.pdf"}), "of one that is missing again it says %v")

		away := x.folder + " away"
		noErr(t, os.Rename(x.folder, away))
		expect(t, check(), message.FolderMissing(filepath.Base(x.folder)), "of a folder out of reach it says %v")
		expect(t, x.Health.List()[0].Action, health.FolderAway.Action, "one can %v")
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FolderAway), message.FolderMissing(filepath.Base(x.folder)), "an hour later it says %v")
		noErr(t, x.ReadAstray(message.FolderMissing(filepath.Base(x.folder))))
		expect(t, x.said(health.FolderAway), message.Message{}, "to somebody who has read it it says %v")
		check()
		noErr(t, os.Mkdir(x.folder, 0o700))
		expect(t, check(), message.FilesAstray(3, []string{"changed.pdf", "fine.pdf", "lost.pdf"}), "of an empty folder it says %v")
		noErr(t, x.checkFiles(t.Context()))
		expect(t, wrong(), "fine changed lost ", "an hour later wrong are %s")
		noErr(t, os.Remove(x.folder))
		noErr(t, os.Rename(away, x.folder))
		noErr(t, x.checkFiles(t.Context()))
		expect(t, x.said(health.FilesAstray), message.FilesAstray(1, []string{"lost.pdf"}), "once the folder is back it says %v")
		noErr(t, os.Rename(x.folder, away))
		check()
		x.settings.SaveTo = away
		noErr(t, x.checkFiles(t.Context()))
		expect(t, must(x.job(fine.Key())).Folder, away, "of a moved folder that was chosen, a file is taken to be in %s")
		expect(t, must(x.job(lost.Key())).Folder, x.folder, "a file that is not there is taken to be in %s")
		noErr(t, os.WriteFile(filepath.Join(away, "lost.pdf"), gone, 0o600))
		expect(t, check(), message.Message{}, "once all are in it it says %v")
		stopped, stop := context.WithCancel(t.Context())
		if err := x.CheckFiles(stopped, func(int, int) { stop() }); err == nil {
			t.Error("it was not stopped")
		}
	})
}
