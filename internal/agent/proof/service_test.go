package proof

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/compare"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/seal"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"github.com/digitorus/timestamp"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// testService examines documents whose text says what is to be found in them.
type testService struct {
	*Service
	t        *testing.T
	folder   string
	busy     atomic.Bool
	settings office.Settings
	vault    *looptest.Vault
	days     int
	examined atomic.Int32
	result   compare.Result // of comparing; by the texts where it is none
	mine     *x509.Certificate
}

func newService(t *testing.T) *testService {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	noErr(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Signing service"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	der := must(x509.CreateCertificate(rand.Reader, c, c, public, private))
	x := &testService{t: t, folder: t.TempDir()}
	x.mine = must(x509.ParseCertificate(der))
	base := looptest.Base(t, func() {})
	x.vault = looptest.NewVault(base.Data)
	x.Service = New(base, Deps{Busy: x.busy.Load, Examine: x.find, FolderAway: stat, Comparing: Comparing{Compare: x.compare, Sent: x.open},
		Settings: func() office.Settings { return x.settings }, Installation: func() string { return "0a1b2c3d-4e5f" }, Vault: x.vault})
	return x
}

func stat(path string) error {
	_, err := os.Stat(path)
	return err
}

func (x *testService) find(_ context.Context, document *os.File, what string) ([]byte, error) {
	x.examined.Add(1)
	text := must(os.ReadFile(document.Name()))
	found := seal.Found{}
	if what == "authorities" {
		return json.Marshal([][]byte{x.mine.Raw, []byte("no certificate")})
	}
	switch {
	case strings.Contains(string(text), "sealed"):
		found.Signatures = []seal.Signature{{Certificates: [][]byte{x.mine.Raw}}}
	case strings.Contains(string(text), "forged"):
		found.Signatures = []seal.Signature{{Fault: seal.FaultDigest}}
	case strings.Contains(string(text), "bomb"):
		return nil, errors.New("it was killed")
	}
	return json.Marshal(found)
}

// save has a document saved in a folder, as package download does.
func (x *testService) save(name, text string) office.Job {
	x.t.Helper()
	j := office.Job{PackageID: name, DocumentID: "d", Kind: office.FileSigned, Folder: x.folder, Target: name + ".pdf"}
	return x.saveJob(j, text)
}

func (x *testService) path(j office.Job) string { return filepath.Join(j.Folder, j.Target) }

// rename gives a saved file another name, as people do.
func (x *testService) rename(j office.Job, name string) {
	x.t.Helper()
	noErr(x.t, os.Rename(x.now(j).Path(), filepath.Join(j.Folder, name)))
}

// look examines until there is nothing to do.
func (x *testService) look() {
	x.t.Helper()
	for range 1000 {
		pause := must(x.examineDue(x.t.Context()))
		if pause != breath {
			return
		}
	}
	x.t.Fatal("it never ends")
}

// now is a job as it is known.
func (x *testService) now(j office.Job) office.Job {
	x.t.Helper()
	noErr(x.t, x.Data.Store.View(func(tx *store.Tx) (err error) { j, _, err = tx.Job(j.Key()); return err }))
	return j
}

func (x *testService) of(j office.Job) office.SealState {
	x.t.Helper()
	return x.now(j).Seal.State
}

func TestWhatWasSavedIsExaminedOnce(t *testing.T) {
	x := newService(t)
	plain, sealed, forged := x.save("plain", "text"), x.save("sealed", "sealed"), x.save("forged", "forged")
	edited := x.save("edited", "sealed")
	noErr(t, os.WriteFile(x.path(edited), []byte("%PDF-1.4\nsealed by somebody else\n%%EOF\n"), 0o600))
	moved, changed := x.save("moved", "sealed"), 0
	x.Signal = func(c office.Change) {
		if c == office.PackagesChanged {
			changed++
		}
	}
	noErr(t, os.Remove(x.path(moved)))
	x.look()
	for _, c := range []struct {
		job  office.Job
		want office.SealState
	}{
		{plain, office.SealNone}, {sealed, office.SealStranger}, {forged, office.SealBroken},
		{edited, ""}, {moved, ""},
	} {
		expect(t, x.of(c.job), c.want, "the seal is %q in %s", c.job.Target)
	}
	expect(t, changed, 3, "the list is told of %d")
	before := x.examined.Load()
	x.look()
	expect(t, x.examined.Load(), before, "examined %d times")
}

// Reading may be ended from outside, too.
func TestADocumentWhoseReaderEndsIsUnjudgedOnlyAfterSomeTries(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		x.send("once", "sealed")
		bomb, once := x.save("bomb", "bomb"), x.save("once", "sealed")
		x.deps.Compare = func(context.Context, *os.File, *os.File) ([]byte, error) { return nil, preview.ErrUnreadable }
		x.look()
		expect(t, x.of(bomb), office.SealState(""), "at first the seal is %q")
		expect(t, x.of(once), office.SealState(""), "where comparing was ended the seal is %q")
		x.deps.Compare = x.compare
		for range enoughTries - 1 {
			time.Sleep(time.Hour)
			x.look()
		}
		expect(t, x.of(bomb), office.SealUnjudged, "in the end the seal is %q")
		noErr(t, x.Data.Store.View(func(tx *store.Tx) (err error) { once, _, err = tx.Job(once.Key()); return err }))
		expect(t, once.Seal.State, office.SealStranger, "of the other the seal is %q")
		expect(t, once.Match.State, office.MatchSame, "the other is %q")
		noErr(t, x.Trust(x.mine)) // it is read anew
		x.deps.Examine = func(context.Context, *os.File, string) ([]byte, error) { return nil, preview.ErrUnreadable }
		for range enoughTries - 1 {
			x.look()
			time.Sleep(time.Hour)
		}
		expect(t, x.of(once), office.SealStranger, "after fewer tries than that since it was read, the seal is %q")
	})
}

func TestADocumentThatIsNotWhatWasSealedIsToldUntilSomebodyHasRead(t *testing.T) {
	x := newService(t)
	x.save("first", "forged")
	x.look()
	lines := must(x.Activity(9))
	if len(lines) != 1 || lines[0].PackageID != "first" || lines[0].Text != message.SealBroken() {
		t.Errorf("the activity says %+v", lines)
	}
	told := func() message.Message { return x.said(health.DocumentsWrong) }
	expect(t, told(), message.DocumentsWrong(1), "health says %v")
	noErr(t, x.Read(message.DocumentsWrong(2)))
	expect(t, told(), message.DocumentsWrong(1), "when somebody read of two of which one is known, health says %v")
	noErr(t, x.Read(told()))
	expect(t, told(), message.Message{}, "after it was read health says %v")
	again := New(x.Base, x.deps)
	noErr(t, again.tellWrong())
	expect(t, told(), message.Message{}, "after the next start health says %v")
	x.save("second", "forged")
	x.look()
	expect(t, told(), message.DocumentsWrong(1), "of another one health says %v")
}

func TestWhatIsTrustedIsJudgedAnew(t *testing.T) {
	x := newService(t)
	j := x.save("sealed", "sealed")
	x.look()
	expect(t, x.of(j), office.SealStranger, "the seal is %q")
	noErr(t, x.Trust(x.mine))
	x.look()
	expect(t, x.of(j), office.SealIntact, "once its signer is trusted the seal is %q")
	if all, err := x.Trusted(); err != nil || len(all) != 1 || !all[0].Equal(x.mine) {
		t.Errorf("trusted are %v, %v", all, err)
	}
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		return tx.PutPackage(office.Package{ID: "sealed", Saving: office.Saving{Sealed: true}})
	}))
	noErr(t, x.Distrust(x.mine))
	p, _, err := x.Data.Package("sealed")
	noErr(t, err)
	expect(t, p.Sealed, false, "once that is taken back the package is sealed: %v")
	expect(t, x.of(j), office.SealIntact, "before it is judged anew the seal is %q")
	x.look()
	expect(t, x.of(j), office.SealStranger, "then it is %q")
	named := must(x.Authorities(t.Context(), x.path(j)))
	noErr(t, x.Trust(named...))
	x.look()
	expect(t, x.verify(x.path(j))[0].Seal.State, office.SealIntact, "any file is %q")
	gone := filepath.Join(x.folder, "gone.pdf")
	expect(t, x.verify(gone)[0].Problem, message.FileNotRead("gone.pdf"), "of a file that is not there: %v")
	x.deps.Examine = func(context.Context, *os.File, string) ([]byte, error) { return nil, preview.ErrNotPDF }
	noErr(t, os.WriteFile(gone, []byte("text"), 0o600))
	expect(t, x.verify(gone)[0].Problem, message.FileNotPDF("gone.pdf"), "of a text: %v")
	archived := filepath.Join(x.folder, "proof.zip")
	noErr(t, os.WriteFile(archived, []byte("text"), 0o600))
	if v := x.verify(archived)[0]; v.Wrong() || v.Text() != message.VerifyNotPDF() {
		t.Errorf("of what is not meant to be a PDF: %v", v.Text())
	}
}

// What stands in the way of one file now says nothing of its folder, nor of later.
func TestAFileThatCannotBeExaminedIsExaminedLaterAndHoldsUpNoOther(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		var broken atomic.Bool // the program that examines
		x.deps.Examine = func(ctx context.Context, document *os.File, what string) ([]byte, error) {
			if broken.Load() {
				return nil, preview.ErrNotStarted
			}
			return x.find(ctx, document, what)
		}
		other, one := x.save("other", "forged"), x.save("one", "sealed")
		whole := must(os.ReadFile(x.path(one)))
		noErr(t, os.Remove(x.path(one)))
		noErr(t, os.Symlink(x.path(other), x.path(one)))
		x.look()
		expect(t, x.of(other), office.SealBroken, "beside a link, the seal is %q")
		noErr(t, os.Remove(x.path(one)))
		noErr(t, os.WriteFile(x.path(one), whole, 0o600))
		broken.Store(true)
		time.Sleep(awayPause)
		x.look()
		expect(t, x.of(one), office.SealState(""), "where nothing examines, the seal is %q")
		broken.Store(false)
		time.Sleep(awayPause)
		x.look()
		expect(t, x.of(one), office.SealState(""), "before the longer pause is over, the seal is %q")
		time.Sleep(awayPause)
		x.look()
		expect(t, x.of(one), office.SealStranger, "later the seal is %q")
	})
}

func TestWhatWaitsHidesNothingOlder(t *testing.T) {
	x := newService(t)
	old := x.save("old", "sealed")
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		for n := range 101 {
			j := office.Job{PackageID: fmt.Sprint(n), DocumentID: "d", Kind: office.FileSigned, Folder: x.folder + " away", Target: fmt.Sprint(n)}
			_, err := tx.PlanJob(j)
			j.State, j.Done = office.JobDone, x.Now()
			if err := errors.Join(err, tx.PutJob(j)); err != nil {
				return err
			}
		}
		return nil
	}))
	x.look()
	expect(t, x.of(old), office.SealStranger, "behind a folder that is away, the seal is %q")
}

func TestAllThatAreTrustedAtOnceAreTrusted(t *testing.T) {
	x := newService(t)
	var all sync.WaitGroup
	for range 20 {
		c := newService(t).mine
		all.Go(func() {
			if err := x.Trust(c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	trust := must(x.trust())
	expect(t, len(trust.Pinned), 20, "%d are trusted")
	kept := make([][]byte, seal.MaxTrusted-1)
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(DocTrusted, kept) }))
	noErr(t, x.Trust(newService(t).mine))
	expect(t, message.For(x.Trust(x.mine)), message.TooManyTrusted(), "of one more than there may be: %v")
}

func TestNobodyWaitsForProofs(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		j := x.save("sealed", "sealed")
		x.busy.Store(true)
		x.look()
		expect(t, x.of(j), office.SealState(""), "while people wait, the seal is %q")
		x.busy.Store(false)
		away := x.folder + " away"
		noErr(t, os.Rename(x.folder, away))
		x.look()
		expect(t, x.of(j), office.SealState(""), "while the folder is out of reach, the seal is %q")
		expect(t, x.examined.Load(), 0, "%d were examined, and none is there")
		noErr(t, os.Rename(away, x.folder))
		time.Sleep(awayPause)
		x.look()
		expect(t, x.of(j), office.SealStranger, "once it is back, the seal is %q")
	})
}

// A package can be saved again while its file is examined.
func TestAVerdictIsAboutTheFileThatWasExamined(t *testing.T) {
	x := newService(t)
	j := x.save("sealed", "sealed")
	x.deps.Examine = func(ctx context.Context, document *os.File, what string) ([]byte, error) {
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			j.Digest = "another"
			return tx.PutJob(j)
		}))
		return x.find(ctx, document, what)
	}
	noErr(t, loop.Protect("", func() error { return x.examine(t.Context(), j) }))
	expect(t, x.of(j), office.SealState(""), "the seal is %q")
}

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
