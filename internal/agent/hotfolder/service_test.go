package hotfolder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"github.com/google/uuid"
	"github.com/zeebo/blake3"
	"go.uber.org/goleak"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is an office with hot folders, without any other service: its drafts go nowhere by themselves.
type desk struct {
	*Service
	t     *testing.T
	tools loop.Base
	deps  Deps

	saveTo    string
	away      error // why that folder is out of reach, though its mount point is there
	unmounted bool  // the disk of the watched folder
	signedOut bool
	account   Account
	bad       map[string]bool // documents that Send refuses, by name
	refuse    error           // by Send
	sent      []string        // names of files, in the order in which they were
	facts     []office.Fact
	owed      []office.Fact
	crash     func(point string)
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, tools: looptest.Base(t, func() {}), saveTo: t.TempDir(), bad: map[string]bool{},
		account: Account{ID: "service office ana", Email: "ana@example.com"}}
	installation := uuid.NewString()
	d.deps = Deps{
		Installation: func() string { return installation },
		DataDir:      t.TempDir(),
		Settings:     func() office.Settings { return office.Settings{SaveSettings: office.SaveSettings{SaveTo: d.saveTo}} },
		FolderAway:   func(string) error { return d.away },
		Unmounted: func(_ string, mine func() (bool, error)) (bool, error) {
			own, err := mine()
			return d.unmounted && !own, err
		},
		AcceptMount: func(string) error { d.unmounted = false; return nil },
		Account:     func() (Account, bool) { return d.account, !d.signedOut },
		Words:       message.English,
		Send:        d.send, Passes: func(err error) bool { return errors.Is(err, errPassing) }, Moved: moved,
		Queue:    func(_ *store.Tx, f ...office.Fact) { d.owed = append(d.owed, f...) },
		Announce: func(f ...office.Fact) { d.facts = append(d.facts, f...) },
		Changed:  func() {},
	}
	d.tools.Crash = func(point string) {
		if d.crash != nil {
			d.crash(point)
		}
	}
	d.restart()
	return d
}

// atDesk has something happen at a desk with a hot folder, in a time of its own.
func atDesk(t *testing.T, happens func(t *testing.T, d *desk, f office.HotFolder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		happens(t, d, d.folder())
	})
}

func runAtDesk(t *testing.T, name string, happens func(t *testing.T, d *desk, f office.HotFolder)) {
	t.Run(name, func(t *testing.T) { atDesk(t, happens) })
}

var errPassing = errors.New("not now")

func (d *desk) update(do func(tx *store.Tx) error) {
	d.t.Helper()
	noErr(d.t, d.tools.Data.Update(do))
}

// restart forgets what is not on disk.
func (d *desk) restart() { d.Service = New(d.tools, d.deps) }

// send stores a draft as the outbox does.
func (d *desk) send(_ context.Context, f office.HotFolder, file *os.File, path string, also func(*store.Tx, *office.Draft) error) error {
	if d.refuse != nil {
		return d.refuse
	}
	if d.bad[filepath.Base(path)] {
		return message.Error(message.FileProtected(filepath.Base(path)), nil)
	}
	bytes, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	d.sent = append(d.sent, filepath.Base(path))
	p := f.Package(path, time.Now())
	sum := sha256.Sum256(bytes)
	draft := office.Draft{ID: uuid.NewString(), Name: p.Name, Signers: p.Signers, Message: p.Message, Sequential: p.Sequential, Due: p.Due, State: office.DraftQueued, Folder: f.ID, By: f.By,
		Files: []office.DraftFile{{Path: path, Name: filepath.Base(path), SHA256: hex.EncodeToString(sum[:])}}}
	if f.Ask {
		draft.State = office.DraftHeld
	}
	return d.tools.Data.Update(func(tx *store.Tx) error {
		if err := also(tx, &draft); err != nil {
			return fmt.Errorf("store the draft: %w", err)
		}
		return tx.PutDraft(draft)
	})
}

func moved(tx *store.Tx, id, from, to string) error {
	d, known, err := tx.Draft(id)
	if err != nil || !known {
		return err
	}
	for i := range d.Files {
		if d.Files[i].Path == from {
			d.Files[i].Path = to
		}
	}
	return tx.PutDraft(d)
}

// takesLease puts Lease.pdf into a folder and has it taken.
func (d *desk) takesLease(f office.HotFolder) {
	d.t.Helper()
	write(d.t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
	d.looks()
}

// sendsLease has Lease.pdf taken and sent.
func (d *desk) sendsLease(f office.HotFolder) {
	d.t.Helper()
	d.takesLease(f)
	d.decide(func(x *office.Draft) { x.State = office.DraftSent })
	d.looks()
}

func (d *desk) folder(change ...func(*office.HotFolder)) office.HotFolder {
	d.t.Helper()
	f := office.HotFolder{Path: filepath.Join(d.t.TempDir(), "Scans"), Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}}
	for _, c := range change {
		c(&f)
	}
	f = must(d.Put(f))
	return f
}

// looks looks into the folders as often as Run would in a minute.
func (d *desk) looks() { d.looksFor(20) }

// looksFor looks so many times. A file is taken after three.
func (d *desk) looksFor(times int) {
	d.t.Helper()
	for range times {
		must(d.look(d.t.Context(), deaf{}))
		time.Sleep(3 * time.Second)
	}
}

func (d *desk) drafts(states ...office.DraftState) []office.Draft {
	d.t.Helper()
	return must(data.Read(d.tools.Data, "drafts", func(tx *store.Tx) ([]office.Draft, error) { return tx.Drafts(states...) }))
}

// decide brings every draft to a state.
func (d *desk) decide(change func(*office.Draft)) {
	d.t.Helper()
	for _, x := range d.drafts() {
		change(&x)
		d.update(func(tx *store.Tx) error { return tx.PutDraft(x) })
	}
}

func pdf(text string) []byte { return []byte("%PDF-1.7\n" + text + "\n%%EOF\n") }

func write(t *testing.T, path string, bytes []byte) {
	t.Helper()
	noErr(t, os.WriteFile(path, bytes, 0o644))
}

// files are the files below a folder, with the names of Waiting's subfolders left out.
func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	noErr(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if parts[0] == office.HotWaiting && len(parts) == 3 {
			parts = []string{parts[0], parts[2]}
		}
		names = append(names, strings.Join(parts, "/"))
		return err
	}))
	slices.Sort(names)
	return names
}

func TestAFileBecomesOnePackageHoweverItComes(t *testing.T) {
	for name, c := range map[string]struct {
		come func(t *testing.T, d *desk, folder string)
		want int
		left []string
	}{
		"at once": {func(t *testing.T, _ *desk, folder string) {
			write(t, filepath.Join(folder, "Lease.pdf"), pdf("lease"))
		}, 1, []string{"Sent/Lease.pdf"}},
		"while it is still being written": {func(t *testing.T, d *desk, folder string) {
			for n := range 5 {
				write(t, filepath.Join(folder, "Lease.pdf"), pdf(strings.Repeat("page", n)))
				d.looksFor(1)
			}
		}, 1, []string{"Sent/Lease.pdf"}},
		"in parts, with long pauses": {func(t *testing.T, d *desk, folder string) {
			for _, text := range []string{"", "%PDF-1.7\nhalf", string(pdf("half and half"))} {
				write(t, filepath.Join(folder, "Lease.pdf"), []byte(text))
				d.looksFor(7)
			}
		}, 1, []string{"Sent/Lease.pdf"}},
		"written twice": {func(t *testing.T, d *desk, folder string) {
			write(t, filepath.Join(folder, "Lease.pdf"), pdf("lease"))
			d.looksFor(4)
			write(t, filepath.Join(folder, "Lease.pdf"), pdf("lease"))
		}, 1, []string{"Sent/Lease (2).pdf", "Sent/Lease.pdf"}},
		"under another name first": {func(t *testing.T, d *desk, folder string) {
			write(t, filepath.Join(folder, "Lease.pdf.part"), pdf("lease"))
			d.looks()
			expect(t, len(d.drafts()), 0, "%d were sent under a name that it had for a while")
			noErr(t, os.Rename(filepath.Join(folder, "Lease.pdf.part"), filepath.Join(folder, "Lease.pdf")))
		}, 1, []string{"Sent/Lease.pdf"}},
		"renamed on the way": {func(t *testing.T, d *desk, folder string) {
			write(t, filepath.Join(folder, "scan.pdf"), pdf("lease"))
			d.looksFor(1)
			noErr(t, os.Rename(filepath.Join(folder, "scan.pdf"), filepath.Join(folder, "Lease.pdf")))
		}, 1, []string{"Sent/Lease.pdf"}},
		"thirty at once": {func(t *testing.T, d *desk, folder string) {
			for n := range 30 {
				write(t, filepath.Join(folder, fmt.Sprintf("scan %02d.pdf", n)), pdf(fmt.Sprint(n)))
			}
		}, 30, nil},
		"one after the other under one name": {func(t *testing.T, d *desk, folder string) {
			write(t, filepath.Join(folder, "scan.pdf"), pdf("one"))
			d.looks()
			write(t, filepath.Join(folder, "scan.pdf"), pdf("two"))
		}, 2, []string{"Sent/scan (2).pdf", "Sent/scan.pdf"}},
		"with what is none": {func(t *testing.T, d *desk, folder string) {
			for _, name := range []string{"~$Lease.docx", ".hidden.pdf", "desktop.ini", "Thumbs.db", "a.crdownload", "b.tmp", "c.part"} {
				write(t, filepath.Join(folder, name), pdf(name))
			}
			noErr(t, os.Mkdir(filepath.Join(folder, "2025"), 0o755))
			write(t, filepath.Join(folder, "2025", "Old.pdf"), pdf("old"))
			elsewhere := filepath.Join(t.TempDir(), "elsewhere.pdf")
			write(t, elsewhere, pdf("elsewhere"))
			if err := os.Symlink(elsewhere, filepath.Join(folder, "link.pdf")); err != nil {
				t.Log(err) // not allowed on every Windows
			}
			write(t, filepath.Join(folder, "Lease.pdf"), pdf("lease"))
		}, 1, nil},
		"signed, from this program": {func(t *testing.T, d *desk, folder string) {
			d.update(func(tx *store.Tx) error {
				_, err := tx.PlanJob(office.Job{PackageID: "p", DocumentID: "d", Kind: office.FileSigned, Folder: folder, Target: "Lease signed.pdf"})
				return err
			})
			write(t, filepath.Join(folder, "Lease signed.pdf"), pdf("signed"))
		}, 0, []string{"Lease signed.pdf"}},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			c.come(t, d, f.Path)
			d.looks()
			expect(t, len(d.drafts()), c.want, "%d packages, want %d", c.want)
			d.decide(func(x *office.Draft) { x.State = office.DraftSent })
			d.restart()
			d.looks()
			expect(t, len(d.drafts()), c.want, "%d packages after a restart, want %d", c.want)
			if got := files(t, f.Path); c.left != nil && !slices.Equal(got, c.left) {
				t.Errorf("left are %q, want %q", got, c.left)
			}
		})
	}
}

// Every point is a place at which the program can be killed: what is on disk then is all that the next life knows.
func TestKilledAnywhereAFileBecomesOnePackageAndComesBackOnce(t *testing.T) {
	for kill, reached := 1, true; reached; kill++ {
		atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
			points := 0
			reached = false
			d.crash = func(string) {
				if points++; points == kill {
					reached = true
					keepParts(t, filepath.Join(f.Path, office.HotSigned))
					runtime.Goexit()
				}
			}
			life := func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					d.looksFor(10)
				}()
				<-done
				d.restart()
			}
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			write(t, filepath.Join(f.Path, "Bad.xyz"), []byte("bad"))
			life()
			life()
			if got := d.drafts(); len(got) != 1 {
				t.Fatalf("killed at %d: %d packages", kill, len(got))
			}
			d.executed("Lease.pdf", pdf("signed"))
			life()
			life()
			want := []string{"Problems/Bad.xyz", "Problems/Bad.xyz.txt", "Sent/Lease.pdf", "Signed/Lease signed.pdf"}
			if got := files(t, f.Path); len(d.drafts()) != 1 || !slices.Equal(got, want) {
				t.Errorf("killed at %d: %d packages, and there are %q", kill, len(d.drafts()), got)
			}
			if left, err := d.intakes(); err != nil || len(left) != 0 || len(d.owed) != 1 { // a notification, of what is not sent
				t.Errorf("killed at %d: %+v is still on its way (%v), owed is %+v", kill, left, err, d.owed)
			}
		})
		if kill > 40 {
			t.Fatal("it never ends")
		}
	}
}

// keepParts keeps what is half done in a folder, which the end of a goroutine clears away and that of a process does not.
func keepParts(t *testing.T, folder string) {
	parts, _ := filepath.Glob(filepath.Join(folder, ".countersign-*.part"))
	for _, part := range parts {
		stem := part[:strings.LastIndex(part, "-")]
		noErr(t, os.Link(part, stem+"-0123456789abcdef.part"))
	}
}

// executed has every draft sent, and its package signed and saved.
func (d *desk) executed(name string, signed []byte) {
	d.t.Helper()
	d.decide(func(x *office.Draft) {
		x.State, x.PackageID = office.DraftSent, "package "+x.ID
		d.saved(office.Package{ID: x.PackageID, Source: office.Source{DraftID: x.ID}, Documents: []office.Document{{ID: "d", Name: name}}}, name, signed)
	})
}

// saved has the document of a package signed and saved, which had that name.
func (d *desk) saved(p office.Package, name string, signed []byte) {
	d.t.Helper()
	target := strings.TrimSuffix(name, ".pdf") + " signed.pdf"
	write(d.t, filepath.Join(d.saveTo, target), signed)
	sum := blake3.Sum256(signed)
	p.Origin, p.State, p.Saving = office.MadeHere, office.PackageExecuted, office.Saving{Planned: true, Saved: true}
	d.update(func(tx *store.Tx) error {
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		j := office.Job{PackageID: p.ID, DocumentID: "d", Kind: office.FileSigned, Folder: d.saveTo, Target: target, State: office.JobPending}
		if _, err := tx.PlanJob(j); err != nil {
			return err
		}
		j.State, j.Size, j.Digest, j.Done = office.JobDone, int64(len(signed)), "blake3:"+hex.EncodeToString(sum[:]), time.Now()
		tx.PutJob(j)
		WakeReturn(tx, p)
		return nil
	})
}

func TestTwoComputersOnOneShareSendAFileOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := newDesk(t), newDesk(t)
		f := one.folder()
		other.folder(func(x *office.HotFolder) { x.Path = f.Path })
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		one.killedAt("folder recorded")
		other.looks() // takes it meanwhile; it waits for the service, in Waiting
		one.looks()
		if n, m := len(one.drafts()), len(other.drafts()); n != 0 || m != 1 {
			t.Errorf("sent %d and %d times", n, m)
		}
	})
}

// days has days go by, one after the other from now on.
func (d *desk) days(n int) {
	d.t.Helper()
	for day := range n {
		d.update(func(tx *store.Tx) error { _, err := tx.CountDay(time.Now().AddDate(0, 0, day)); return err })
	}
}

func TestWhatIsToBeAskedIsToldOnceForTheWholeLot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		f := d.folder(func(f *office.HotFolder) { f.Ask = true })
		for n := range 30 {
			write(t, filepath.Join(f.Path, fmt.Sprintf("scan %02d.pdf", n)), pdf(fmt.Sprint(n)))
			if n%10 == 0 {
				d.looksFor(1)
			}
		}
		d.looks()
		d.restart()
		d.looks()
		expect(t, len(d.drafts(office.DraftHeld)), 30, "%d are held")
		if len(d.facts) != 1 || d.facts[0].Title != message.WaitForOK(30, "Scans") || d.facts[0].About() != office.DraftSubject(must(d.intakes())[0].Draft) {
			t.Errorf("told %v", d.facts)
		}
	})
}

func TestWhatCannotBeSentLiesInProblemsWithTheReason(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.bad["Locked.pdf"] = true
		write(t, filepath.Join(f.Path, "Locked.pdf"), pdf("locked"))
		write(t, filepath.Join(f.Path, "film.mov"), []byte("film"))
		d.takesLease(f)
		d.decide(func(x *office.Draft) { x.State, x.Problem = office.DraftFailed, message.MayNotSendDocuments() })
		d.looks()
		want := []string{"Problems/Lease.pdf", "Problems/Lease.pdf.txt", "Problems/Locked.pdf", "Problems/Locked.pdf.txt", "Problems/film.mov", "Problems/film.mov.txt"}
		expect(t, files(t, f.Path), want, "there are %q")
		for name, reason := range map[string]message.Message{"Locked.pdf": message.FileProtected("Locked.pdf"), "film.mov": message.FileType("film.mov"), "Lease.pdf": message.MayNotSendDocuments()} {
			text := must(os.ReadFile(filepath.Join(f.Path, "Problems", name+".txt")))
			if !strings.Contains(string(text), reason.String()) {
				t.Errorf("%s: %s", name, text)
			}
		}
		// Corrected, and sent from the outbox, it is no problem any more.
		d.corrected(office.DraftSent)
		d.looks()
		if got := files(t, f.Path); !slices.Contains(got, "Sent/Lease.pdf") || slices.Contains(got, "Problems/Lease.pdf.txt") {
			t.Errorf("after it was sent there are %q", got)
		}
	})
}

func TestNothingIsReplacedInSigned(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		noErr(t, os.Mkdir(filepath.Join(f.Path, "Signed"), 0o755))
		write(t, filepath.Join(f.Path, "Signed", "Lease signed.pdf"), []byte("mine"))
		d.takesLease(f)
		d.executed("Lease.pdf", pdf("signed"))
		d.looks()
		for name, want := range map[string]string{"Lease signed.pdf": "mine", "Lease signed (2).pdf": string(pdf("signed"))} {
			expect(t, string(must(os.ReadFile(filepath.Join(f.Path, "Signed", name)))), want, name+" is %q")
		}
		noErr(t, os.Remove(filepath.Join(f.Path, "Signed", "Lease signed (2).pdf")))
		d.restart()
		d.looks()
		expect(t, files(t, filepath.Join(f.Path, "Signed")), []string{"Lease signed.pdf"}, "what a person has taken away came back: %q")
	})
}

func TestNothingIsTakenFromAFolderThatMayNotSend(t *testing.T) {
	for name, stop := range map[string]func(d *desk, f office.HotFolder, stop bool){
		"while nobody is signed in": func(d *desk, _ office.HotFolder, stop bool) { d.signedOut = stop },
		"while it pauses":           func(d *desk, f office.HotFolder, stop bool) { f.Paused = stop; d.put(f) },
		"while signed documents are saved in it": func(d *desk, f office.HotFolder, stop bool) {
			d.saveTo = map[bool]string{true: f.Path, false: t.TempDir()}[stop]
		},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			stop(d, f, true)
			d.takesLease(f)
			if got := files(t, f.Path); len(d.drafts()) != 0 || !slices.Equal(got, []string{"Lease.pdf"}) {
				t.Errorf("%d packages, and there are %q", len(d.drafts()), got)
			}
			stop(d, f, false)
			d.looks()
			expect(t, len(d.drafts()), 1, "%d packages afterwards")
		})
	}
}

func TestFilesThatCannotBeCopiedJustNowAreTriedAgainInTheirOrder(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.refuse = errPassing
		var want []string
		for n := range 9 {
			want = append(want, fmt.Sprintf("Lease %d.pdf", 9-n))
			write(t, filepath.Join(f.Path, want[n]), pdf(want[n]))
			d.looks()
		}
		d.refuse = nil
		d.put(f)
		d.looks()
		expect(t, d.sent, want, "sent were %q")
	})
}

func TestAFolderIsTriedWithoutBeingKept(t *testing.T) {
	d := newDesk(t)
	changed := 0
	d.deps.Changed = func() { changed++ }
	d.restart()
	f := office.HotFolder{Path: t.TempDir(), Ask: true, Signers: []office.Signer{{FirstName: "Ana", Email: "ana@example.com"}}}
	write(t, filepath.Join(f.Path, "Old.pdf"), pdf("old"))
	write(t, filepath.Join(f.Path, "~$Open.docx"), pdf("what an office program leaves beside an open file"))
	noErr(t, os.Mkdir(filepath.Join(f.Path, "Folder.pdf"), 0o700))
	code := func(f office.HotFolder, documents int) office.Code {
		t.Helper()
		n, err := d.Try(f)
		expect(t, n, documents, "%d documents are in it")
		if err == nil {
			return ""
		}
		var wrong *office.ConfigError
		if !errors.As(err, &wrong) {
			t.Fatal(err)
		}
		return wrong.Fields[0].Code
	}
	expect(t, code(f, 1), office.Code(""), "one that asks: %q")
	f.Ask = false
	expect(t, code(f, 1), office.CodeConflict, "one that would send at once: %q")
	if f.Ask = true; runtime.GOOS == "linux" {
		closed := f
		closed.Path = "/proc/sys"
		expect(t, code(closed, 0), office.CodeNotWritable, "one in which nobody writes: %q")
	}
	if expect(t, len(d.rows()), 0, "%d are kept"); changed > 0 {
		t.Errorf("the list is said to have changed %d times", changed)
	}
	<-d.ring // what was waited for may be there
	f = must(d.Put(f))
	for n, known := range []bool{true, false} {
		<-d.ring // it is looked at once
		if was, err := d.Remove(f.ID); was != known || err != nil || changed != n+2 {
			t.Errorf("removed %v, %v, and %d changes", was, err, changed)
		}
	}
}

func TestAFolderInTheWrongPlaceIsRefused(t *testing.T) {
	d := newDesk(t)
	f := d.folder()
	link := filepath.Join(t.TempDir(), "link")
	noErr(t, os.Symlink(f.Path, link))
	home := must(os.UserHomeDir())
	full := t.TempDir()
	write(t, filepath.Join(full, "Old.pdf"), pdf("old"))
	for name, path := range map[string]string{
		"the save folder": d.saveTo, "inside the save folder": filepath.Join(d.saveTo, "new"), "the data folder": d.deps.DataDir,
		"inside the data folder": filepath.Join(d.deps.DataDir, "outbox"), "another one's": f.Path, "inside another one's": filepath.Join(f.Path, "Sent"),
		"around another one's": filepath.Dir(f.Path), "a link to another one": link, "inside a link": filepath.Join(link, "Signed"),
		"the home folder": home, "everything": string(filepath.Separator), "no full path": "Scans", "nothing": "", "one with documents in it": full,
	} {
		_, err := d.Put(office.HotFolder{Path: path, Signers: f.Signers})
		var wrong *office.ConfigError
		if !errors.As(err, &wrong) || wrong.Fields[0].Field != office.FieldHotPath {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows, err := d.Folders(); err != nil || len(rows) != 1 {
		t.Errorf("there are %+v (%v)", rows, err)
	}
	d.put(office.HotFolder{Path: full, Signers: f.Signers, Ask: true}) // people are asked about what is in it
}

func TestChangesAreHeard(t *testing.T) {
	rings := make(chan struct{}, 1)
	events := Listen(func() { loop.Wake(rings) })
	defer events.Close()
	dir := t.TempDir()
	events.Set([]string{dir, filepath.Join(dir, "not there")})
	write(t, filepath.Join(dir, "Lease.pdf"), pdf("lease"))
	<-rings
	events.Set(nil)
	select {
	case <-rings:
	default:
	}
	write(t, filepath.Join(dir, "Offer.pdf"), pdf("offer"))
	time.Sleep(20 * time.Millisecond)
	expect(t, len(rings), 0, "heard %d times of what nobody listens to")
}

func TestAFolderRestsForAnotherAccountUntilSomebodyConfirmsIt(t *testing.T) {
	ana, max := Account{ID: "service office ana", Email: "ana@example.com"}, Account{ID: "service office max", Email: "max@example.com"}
	rests := message.SendFolderOtherAccountAs("max@example.com")
	for name, c := range map[string]struct {
		maker   *Account // nil while nobody is signed in
		now     Account
		decide  func(d *desk, f office.HotFolder)
		problem message.Message
	}{
		"the same account":                       {maker: &ana, now: ana},
		"another account":                        {maker: &ana, now: max, problem: rests},
		"another account, pausing and resuming":  {&ana, max, func(d *desk, f office.HotFolder) { d.put(paused(f)); d.put(f) }, rests},
		"another account, signed out and edited": {&ana, max, func(d *desk, f office.HotFolder) { d.signedOut = true; d.put(named(f)); d.signedOut = false }, rests},
		"another account that confirms":          {&ana, max, func(d *desk, f office.HotFolder) { d.put(f) }, message.Message{}},
		"another account that edits":             {&ana, max, func(d *desk, f office.HotFolder) { d.put(named(f)) }, message.Message{}},
		"another account without an address":     {maker: &ana, now: Account{ID: "x"}, problem: message.SendFolderOtherAccount()},
		"one that the service does not name":     {maker: &ana, now: Account{}},
		"the first account of all":               {now: max},
		"the second account of all": {&Account{}, max, func(d *desk, f office.HotFolder) {
			d.account = ana
			d.looks()
			d.account = max
		}, rests},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			d := newDesk(t)
			if d.signedOut = c.maker == nil; c.maker != nil {
				d.account = *c.maker
			}
			f := d.folder()
			d.signedOut, d.account = false, c.now
			if c.decide != nil {
				c.decide(d, f)
			}
			d.takesLease(f)
			rows := must(d.Folders())
			want := 1
			if !c.problem.IsZero() {
				want = 0
			}
			if len(d.drafts()) != want || rows[0].Problem != c.problem || rows[0].Confirm != (want == 0) || d.Health.Has(health.HotFolderFails) != (want == 0) {
				t.Errorf("sent %d; it says %q, to be confirmed: %v; health has %v", len(d.drafts()), rows[0].Problem, rows[0].Confirm, d.Health.List())
			}
			d.put(f)
			d.looks()
			if len(d.drafts()) != 1 || d.Health.Has(health.HotFolderFails) {
				t.Errorf("once it is confirmed, %d are sent; health has %v", len(d.drafts()), d.Health.List())
			}
		})
	}
}

// What was taken, and did not become a draft before the program ended, is sent by the next one, but by no other account, and only
// once its folder is there: meanwhile none is sent.
func TestWhatWasTakenBeforeAKillIsSentForTheSameAccountOnceItsDiskIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		point     string
		meanwhile func(d *desk, f office.HotFolder)
	}{
		"another account":     {"folder moved", func(d *desk, _ office.HotFolder) { d.account = Account{ID: "service office max"}; d.looks() }},
		"nobody is signed in": {"folder moved", func(d *desk, _ office.HotFolder) { d.signedOut = true; d.looks() }},
		"paused":              {"folder moved", func(d *desk, f office.HotFolder) { d.put(paused(f)); d.looks(); d.put(f) }},
		"no disk yet":         {"folder recorded", func(d *desk, f office.HotFolder) { d.looksWhileAway(f.Path) }},
		"no disk any more":    {"folder moved", func(d *desk, f office.HotFolder) { d.looksWhileAway(f.Path) }},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			d.killedAt(c.point)
			before := d.account
			c.meanwhile(d, f)
			expect(t, len(d.drafts()), 0, "%d were sent")
			d.account, d.signedOut = before, false
			d.looks()
			expect(t, len(d.drafts()), 1, "%d were sent in the end, and there are %q", files(t, f.Path))
		})
	}
}

func (d *desk) put(f office.HotFolder) {
	d.t.Helper()
	must(d.Put(f))
}

func paused(f office.HotFolder) office.HotFolder { f.Paused = true; return f }

func named(f office.HotFolder) office.HotFolder { f.Name = "Scan {document}"; return f }

func TestPeopleAreToldOnceOfEverythingInALotThatIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		files int
		title message.Message
		body  message.Message
	}{
		"one":  {1, message.FileNotSent("scan 00.mov"), message.FileType("scan 00.mov")},
		"many": {12, message.FilesNotSent(12, "Scans"), message.FilesInProblems()},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			for n := range c.files {
				write(t, filepath.Join(f.Path, fmt.Sprintf("scan %02d.mov", n)), []byte("film"))
			}
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			write(t, filepath.Join(f.Path, "vanishes.pdf"), pdf("half"))
			_, err := d.look(t.Context(), deaf{})
			noErr(t, errors.Join(err, os.Remove(filepath.Join(f.Path, "vanishes.pdf"))))
			d.looks()
			expect(t, len(d.facts), 1, "told %d times")
			expect(t, len(d.Service.looks), 0, "%d files are remembered that are gone")
			d.restart()
			d.looks()
			if len(d.facts) != 1 || d.facts[0].Title != c.title || d.facts[0].Body != c.body || d.facts[0].About() != office.HotFolderSubject(f.ID) {
				t.Errorf("told %+v", d.facts)
			}
			expect(t, d.owed, d.facts, "a kill costs what was not owed: %+v")
			if left, err := d.intakes(); err != nil || len(left) != 1 {
				t.Errorf("on their way are %+v, %v", left, err)
			}
			list := d.Health.List()
			if len(list) != 1 || list[0].ID != health.FilesNotSent.ID || !strings.HasPrefix(list[0].Text(), c.title.String()+" "+c.body.String()) {
				t.Fatalf("after another start health says %+v", list)
			}
			write(t, filepath.Join(f.Path, "late.mov"), []byte("late"))
			d.looks()
			noErr(t, d.Read(list[0].Message))
			if more := d.Health.List(); len(more) != 1 || more[0].Message != message.Then(message.FilesNotSentSomewhere(c.files+1), message.FilesInProblems()) {
				t.Errorf("nobody has read of one more, and health says %+v", more)
			} else if noErr(t, d.Read(more[0].Message)); len(d.Health.List()) > 0 {
				t.Errorf("somebody has read it, and health says %+v", d.Health.List())
			}
		})
	}
}

func TestWhatSeveralFoldersCouldNotSendIsOneNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for range 2 {
			write(t, filepath.Join(d.folder().Path, "film.mov"), []byte("film"))
		}
		d.looks()
		if len(d.facts) != 1 || d.facts[0].Title != message.FilesNotSentSomewhere(2) || d.facts[0].About() != office.ActivitySubject {
			t.Errorf("told %+v", d.facts)
		}
	})
}

func TestEachRefusalIsToldAndExplainedAndNoneOfWhatAPersonTookBack(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.takesLease(f)
		for n := 1; n <= 2; n++ {
			d.decide(func(x *office.Draft) { x.State, x.Problem = office.DraftFailed, message.MayNotSendDocuments() })
			d.looks()
			if len(d.facts) != n || !slices.Contains(files(t, f.Path), "Problems/Lease.pdf.txt") {
				t.Errorf("refused %d times: told %d times, there are %q", n, len(d.facts), files(t, f.Path))
			}
			d.decide(func(x *office.Draft) { x.State, x.Problem = office.DraftQueued, message.Message{} })
			d.looks()
			expect(t, len(must(filepath.Glob(filepath.Join(f.Path, "Waiting", "*", "Lease.pdf")))), 1, "%d wait in a subfolder of their own")
		}
		d.decide(func(x *office.Draft) { x.State = office.DraftCancelled })
		d.looks()
		if len(d.facts) != 2 || !slices.Contains(files(t, f.Path), "Problems/Lease.pdf.txt") {
			t.Errorf("told %+v, there are %q", d.facts, files(t, f.Path))
		}
	})
}

func TestAFileThatIsWrittenAllDayKeepsNothingFromBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		log := filepath.Join(d.folder().Path, "scanner.log")
		write(t, filepath.Join(d.folder().Path, "film.mov"), []byte("film"))
		for n := range 60 {
			write(t, log, bytes.Repeat([]byte("line"), n+1))
			d.looksFor(1)
		}
		expect(t, len(d.facts), 1, "told %d times")
	})
}

type deaf struct{}

func (deaf) Set([]string) {}
func (deaf) Close()       {}

// heard notes which folders it is to listen to.
type heard struct {
	mu      sync.Mutex
	folders []string
	sets    int
	closed  bool
}

func (h *heard) Set(folders []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.folders, h.sets = folders, h.sets+1
}

func (h *heard) Close() { h.closed = true }

func (h *heard) looked() int {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sets
}

func TestFoldersAreLookedIntoWhenSomethingChangesAndNowAndThen(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		events, changes := &heard{}, make(chan office.Change, 9)
		d.deps.Events = func(func()) Events { return events }
		d.tools.Watch = func() (<-chan office.Change, func()) { return changes, func() {} }
		d.restart()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		after := func(what string, pause time.Duration, want int) {
			t.Helper()
			n := events.looked()
			if time.Sleep(pause); events.looked()-n != want {
				t.Errorf("%s: looked %d times in %v, want %d", what, events.looked()-n, pause, want)
			}
		}
		after("nothing happens", d.Pace.Look-time.Second, 0)
		after("nothing happens", 2*time.Second, 1)
		after("nothing happens", 10*d.Pace.Look, 10)
		d.Wake()
		after("something has changed in a folder", time.Second, 1)
		for range 5 {
			changes <- office.SettingsChanged
		}
		after("settings have changed several times", time.Second, 1)
		changes <- office.PackagesChanged
		after("a package has changed", time.Second, 0)
		changes <- office.PackagesChanged
		time.Sleep(gap / 2)
		changes <- office.SettingsChanged
		after("settings change right after a package", time.Second, 1)
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		d.Wake()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		expect(t, len(d.drafts()), 1, "%d drafts")
		expect(t, events.folders, []string{f.Path}, "it listens to %q")
		d.put(paused(d.rows()[0].HotFolder))
		changes <- office.SettingsChanged
		after("it is paused", time.Second, 1)
		expect(t, len(events.folders), 0, "it listens to %d folders")
		after("it is paused", 59*time.Minute, 0)
		d.Data.Store.Fault = func() error { return looptest.ErrFault }
		changes <- office.PackagesChanged
		if err := <-ended; !errors.Is(err, looptest.ErrFault) || !events.closed {
			t.Errorf("what cannot be read is taken for nothing: %v; it listens for ever: %v", err, !events.closed)
		}
		d.Data.Store.Fault = nil
		stop()
		noErr(t, d.Run(ctx))
	})
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	looks := func(d *desk) (err error) {
		for n := 0; n < 5 && err == nil; n++ {
			_, err = d.look(d.t.Context(), deaf{})
			time.Sleep(3 * time.Second)
		}
		return err
	}
	looked := func(d *desk) { noErr(d.t, looks(d)) }
	for name, c := range map[string]struct {
		before func(d *desk)
		do     func(d *desk) error
	}{
		"added": {nil, func(d *desk) error {
			_, err := d.Put(office.HotFolder{Path: t.TempDir(), Signers: []office.Signer{{FirstName: "Ana", Email: "ana@example.com"}}})
			return err
		}},
		"listed": {nil, func(d *desk) error { _, err := d.Folders(); return err }},
		"taken":  {nil, looks},
		"sent":   {func(d *desk) { looked(d); d.decide(func(x *office.Draft) { x.State = office.DraftSent }) }, looks},
		"comes back": {func(d *desk) {
			looked(d)
			d.accepted(func(*office.Package) {})
			looked(d)
			d.executed("Lease.pdf", pdf("signed"))
		}, looks},
		"of before": {func(d *desk) { looked(d); d.losesRecords(); d.restart() }, looks},
		"moved, and another of its name is there": {func(d *desk) {
			d.killedAt("folder moved")
			write(d.t, filepath.Join(d.rows()[0].Path, "Lease.pdf"), pdf("another"))
		}, looks},
		"taken away": {func(d *desk) {
			d.killedAt("folder recorded")
			noErr(d.t, os.Remove(filepath.Join(d.rows()[0].Path, "Lease.pdf")))
		}, looks},
		"old": {looked, func(d *desk) error { return d.Forget() }},
		"executed": {looked, func(d *desk) error {
			return d.Data.Update(func(tx *store.Tx) error {
				WakeReturn(tx, office.Package{ID: "p", Source: office.Source{DraftID: "none"}})
				return nil
			})
		}},
		"removed": {nil, func(d *desk) error { _, err := d.Remove("unknown"); return err }},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			looptest.EachFault(t, func() (*desk, *data.Data) {
				d := newDesk(t)
				f := d.folder()
				write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
				if c.before != nil {
					c.before(d)
				}
				return d, d.Data
			}, c.do)
		})
	}
}
