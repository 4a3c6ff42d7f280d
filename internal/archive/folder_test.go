package archive

import (
	"bytes"
	"context"
	"errors"
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

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

func TestOpenFolderSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	noErr(t, os.WriteFile(file, nil, 0o600))
	below := ErrNotFolder
	says := `“below” is not a folder`
	if runtime.GOOS == "windows" { // where a file in the path looks like a missing path
		below, says = ErrMissing, `The folder “below” cannot be found.`
	}
	tests := []struct {
		dir  string
		want error
		says string
	}{
		{filepath.Join(dir, "gone"), ErrMissing, `The folder “gone” cannot be found.`},
		{filepath.Join(file, "below"), below, says},
		{file, ErrNotFolder, `“file” is not a folder`},
		{"relative", ErrNotFolder, `“relative” is not a folder`},
	}
	for _, tt := range tests {
		_, err := OpenFolder(tt.dir)
		if !errors.Is(err, tt.want) || !strings.Contains(Message(err).String(), tt.says) {
			t.Errorf("%s: got %v: %s", tt.dir, err, Message(err).String())
		}
	}
	at, err := disk.OpenDir(dir)
	noErr(t, err)
	f := must(In(at))
	_, err = f.Save(t.Context(), request("a.pdf", pdf(2000)))
	noErr(t, errors.Join(err, f.Close(), at.Close()))
	if _, err := In(at); err == nil {
		t.Error("documents are saved in a folder that was closed")
	}
}

func TestOneFilesTroubleIsNotSaidOfItsFolder(t *testing.T) {
	f := open(t, t.TempDir())
	for cause, says := range map[error]string{fs.ErrPermission: "the folder “Lease”", fs.ErrNotExist: "“a.pdf” could not be saved"} {
		err := f.because("Lease/a.pdf", cause)
		if got := Message(err).String(); !strings.Contains(got, says) || f.Refuses(err) || !f.Refuses(f.because(".", cause)) {
			t.Errorf("%v: %q", cause, got)
		}
	}
}

func TestFolderThatVanishesIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Signed")
	noErr(t, os.Mkdir(dir, 0o755))
	f := open(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Skip("this system keeps open folders: ", err)
	}
	for _, target := range []string{"a.pdf", "sub/a.pdf"} {
		_, err := f.Save(t.Context(), request(target, pdf(2000)))
		if !errors.Is(err, ErrMissing) || !strings.Contains(Message(err).String(), "“Signed”") {
			t.Errorf("%s: got %v", target, err)
		}
	}
	if _, err := f.Exists("a.pdf"); !errors.Is(err, ErrMissing) {
		t.Errorf("exists: got %v", err)
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "Lease")); err != nil {
		t.Skip("no links here: ", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "Lease")); err != nil || !info.IsDir() {
		t.Skip("links lead nowhere here, as under Wine: ", err)
	}
	f := open(t, dir)
	for _, target := range []string{"Lease/a.pdf", "Lease/deeper/a.pdf"} {
		if _, err := f.Save(t.Context(), request(target, pdf(2000))); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: got %v", target, err)
		}
		if same, err := f.Matches(target, 2000, ""); same || err == nil {
			t.Errorf("%s: matches (%v)", target, err)
		}
	}
	wantFiles(t, outside)
}

func TestAFileInTheWayOfASubfolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	noErr(t, os.WriteFile(filepath.Join(dir, "Lease"), nil, 0o600))
	for _, target := range []string{"Lease/a.pdf", "Lease/b/a.pdf"} {
		_, err := f.Save(t.Context(), request(target, pdf(2000)))
		if !errors.Is(err, ErrNotFolder) || !strings.Contains(Message(err).String(), "subfolder") {
			t.Errorf("%s: got %v", target, err)
		}
		if there, err := f.Exists(target); there || err != nil {
			t.Errorf("%s: exists %v, %v", target, there, err)
		}
		if same, err := f.Matches(target, 1, "00"); same || err != nil {
			t.Errorf("%s: matches %v, %v", target, same, err)
		}
	}
}

func TestExistsKnowsTwins(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	for _, target := range []string{"Lease/Café.pdf", "lease/other.pdf", "Straße.pdf"} {
		must(f.Save(t.Context(), request(target, pdf(2000))))
	}
	for target, want := range map[string]bool{
		"Lease/Café.pdf":       true,
		"lease/CAFÉ.PDF":       true,
		"LEASE/cafe\u0301.pdf": true,
		"LEASE/OTHER.pdf":      true,
		"Lease":                true,
		"STRASSE.pdf":          true,
		"Lease/cafe.pdf":       false,
		"other.pdf":            false,
		"gone/x/Café.pdf":      false,
	} {
		if got, err := f.Exists(target); got != want || err != nil {
			t.Errorf("%q: got %v, %v", target, got, err)
		}
		_, gone := os.Lstat(filepath.Join(dir, target))
		if got, err := f.Twin(target); got != (want && gone != nil) || err != nil {
			t.Errorf("%q: a twin %v, %v", target, got, err)
		}
	}
}

func TestASavedDocumentIsReadAgain(t *testing.T) {
	dir, body := t.TempDir(), pdf(2000)
	f := open(t, dir)
	saved := must(f.Save(t.Context(), request("Lease/a.pdf", body)))
	for name, c := range map[string]struct {
		rel, digest, want string
		size              int64
	}{
		"it":            {"Lease/a.pdf", saved.Digest, sha256Of(body), saved.Size},
		"another":       {"Lease/a.pdf", digest(nil), "", saved.Size},
		"a longer one":  {"Lease/a.pdf", saved.Digest, "", saved.Size + 1},
		"none":          {"Lease/b.pdf", saved.Digest, "", saved.Size},
		"in no folder":  {"Deed/a.pdf", saved.Digest, "", saved.Size},
		"below no file": {"Lease/a.pdf/a.pdf", saved.Digest, "", saved.Size},
	} {
		if got, err := f.SHA256(c.rel, c.size, c.digest); got != c.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	file := must(OpenSaved(dir, "Lease/a.pdf"))
	defer file.Close()
	for digest, want := range map[string]bool{saved.Digest: true, digest(nil): false} {
		for _, size := range []int64{saved.Size, saved.Size - 1} {
			if is, err := IsSaved(file, size, digest); is != (want && size == saved.Size) || err != nil {
				t.Errorf("%d bytes with the digest %s: %v, %v", size, digest, is, err)
			}
		}
	}
	if got, err := io.ReadAll(file); !bytes.Equal(got, body) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for folder, rel := range map[string]string{dir: "Deed/a.pdf", filepath.Join(dir, "gone"): "a.pdf", t.TempDir(): "a.pdf"} {
		if _, err := OpenSaved(folder, rel); err == nil {
			t.Errorf("%s in %s was opened", rel, folder)
		}
	}
}

func TestNothingIsLookedForUnderANameThatLeadsOut(t *testing.T) {
	f := open(t, t.TempDir())
	for what, look := range map[string]func(rel string) error{
		"exists":  func(rel string) error { _, err := f.Exists(rel); return err },
		"twin":    func(rel string) error { _, err := f.Twin(rel); return err },
		"series":  func(rel string) error { _, err := f.Series(rel); return err },
		"matches": func(rel string) error { _, err := f.Matches(rel, 0, ""); return err },
		"sum":     func(rel string) error { _, err := f.SHA256(rel, 0, ""); return err },
	} {
		if err := look("../a.pdf"); !errors.Is(err, ErrBadName) || !strings.HasPrefix(err.Error(), "save ../a.pdf in "+f.dir) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNamesAreReadOnceForFilesSavedSideBySide(t *testing.T) {
	dir := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(dir, "Lease.pdf"), nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		exists := func(looks *DirCache, name string) bool {
			f := open(t, dir)
			f.Cache = looks
			return must(f.Exists(name))
		}
		var looks DirCache
		if !exists(&looks, "LEASE.pdf") || exists(&looks, "OFFER.pdf") {
			t.Error("the first look")
		}
		noErr(t, os.WriteFile(filepath.Join(dir, "Offer.pdf"), nil, 0o600))
		_, err := os.Lstat(filepath.Join(dir, "OFFER.pdf"))
		if err != nil && exists(&looks, "OFFER.pdf") { // otherwise the file system treats the two as one name
			t.Error("the names were read again at once")
		}
		if !exists(&looks, "Offer.pdf") || !exists(nil, "OFFER.pdf") {
			t.Error("a file that is there to the letter, and one for who looks anew")
		}
		time.Sleep(cacheTime)
		synctest.Wait()
		if !exists(&looks, "OFFER.pdf") || !exists(&looks, "LEASE.pdf") {
			t.Error("the second look")
		}
		time.Sleep(cacheTime)
		synctest.Wait()
		expect(t, len(looks.folders), 0, "the names in %d folders are held for ever")
	})
}

func TestANameThatIsFreeAgainIsFreeAtOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Lease", "Offer.pdf")
	noErr(t, os.Mkdir(filepath.Dir(file), 0o700))
	noErr(t, os.WriteFile(file, nil, 0o600))
	f := open(t, dir)
	f.Cache = &DirCache{}
	for _, name := range []string{"Lease/Offer.pdf", "lease/OFFER.pdf"} {
		if there, err := f.Exists(name); !there || err != nil {
			t.Fatalf("%s: %v, %v", name, there, err)
		}
	}
	noErr(t, os.Remove(file))
	for _, name := range []string{"Lease/Offer.pdf", "lease/OFFER.pdf"} {
		if there, err := f.Exists(name); there || err != nil {
			t.Errorf("%s, which was removed: %v, %v", name, there, err)
		}
	}
}

// Several computers may save the same documents into one share.
func TestANameThatAnotherComputerJustGaveIsSeenWhenASaveMeetsIt(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	f.Cache = &DirCache{}
	if there, err := f.Series("Lease.pdf"); len(there) > 0 || err != nil {
		t.Fatal(there, err)
	}
	body := pdf(2000)
	noErr(t, os.WriteFile(filepath.Join(dir, "Lease.pdf"), body, 0o600))
	_, err := f.Save(t.Context(), request("Lease.pdf", body))
	there, _ := f.Series("Lease.pdf")
	if !errors.Is(err, ErrExists) || len(there) != 1 {
		t.Error("not seen:", there, err)
	}
}

func TestANameThatIsBeingGivenIsNoTwinOfItself(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	f.Cache = &DirCache{}
	look := f.Cache.of(dir)
	look.mu.Lock() // the folder is slow
	twin := make(chan bool)
	go func() {
		is, _ := f.Twin("Lease.pdf")
		twin <- is
	}()
	time.Sleep(50 * time.Millisecond)
	noErr(t, os.WriteFile(filepath.Join(dir, "Lease.pdf"), nil, 0o600))
	look.mu.Unlock()
	if <-twin {
		t.Error("taken for another name")
	}
}

func TestAFolderThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	var looks DirCache
	asked, answer, other := make(chan bool), make(chan bool), make(chan bool)
	var all sync.WaitGroup
	defer all.Wait()
	defer close(answer)
	all.Go(func() {
		looks.in("/share", func() (*names, error) {
			close(asked)
			<-answer
			return nil, nil
		})
	})
	<-asked
	all.Go(func() {
		looks.in("/disk", func() (*names, error) { return nil, nil })
		close(other)
	})
	select {
	case <-other:
	case <-time.After(time.Minute):
		t.Error("it was not looked into")
	}
}

func TestASeriesOfNamesGoesOnAfterAGap(t *testing.T) {
	dir := t.TempDir()
	noErr(t, os.Mkdir(filepath.Join(dir, "2026"), 0o700))
	long := filename.Numbered(strings.Repeat("Lease ", 60)+".pdf", 9) // as long as a name can be
	for _, name := range []string{
		"Lease (3).pdf", "lease (12).PDF", "Lease (x).pdf", "Lease (2).docx", "Lease (07).pdf", "Offer.pdf", "2026/Lease.pdf", "2026/Lease (4).pdf",
		filename.Numbered(long, 5),
	} {
		noErr(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	f := open(t, dir)
	for _, looks := range []*DirCache{nil, {}} {
		f.Cache = looks
		for rel, want := range map[string][]string{
			"Lease.pdf": {"Lease (3).pdf", "Lease (12).pdf"}, "Offer.pdf": {"Offer.pdf"}, "Deed.pdf": nil,
			"2026/Lease.pdf": {"2026/Lease.pdf", "2026/Lease (4).pdf"}, "2027/Lease.pdf": nil, long: {filename.Numbered(long, 5)},
		} {
			if got, err := f.Series(rel); !slices.Equal(got, want) || err != nil {
				t.Errorf("%q: %q, %v, want %q", rel, got, err, want)
			}
		}
	}
}

func TestSweepRemovesOnlyOurLeftovers(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	mine, other := Token("mine"), Token("another computer's")
	for _, name := range []string{
		".countersign-" + mine + "-0123456789abcdef.part",
		"a/b/.countersign-" + mine + "-fedcba9876543210.part",
		"a/.countersign-" + other + "-0123456789abcdef.part",
		".git/.countersign-" + mine + "-0123456789abcdef.part",
		".countersign-notes.part",
		"x.countersign-" + mine + "-0123456789abcdef.part",
		".countersign-" + mine + "-0123456789abcdef.part.pdf",
		"a/Contract.pdf",
		strings.Repeat("deep/", filename.MaxDepth) + ".countersign-" + mine + "-0123456789abcdef.part", // no document is that deep
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		noErr(t, os.MkdirAll(filepath.Dir(path), 0o755))
		noErr(t, os.WriteFile(path, nil, 0o600))
	}
	before := len(files(t, dir))
	n, err := f.Sweep(t.Context(), func(token string) bool { return token != mine })
	if n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if left := files(t, dir); len(left) != before-2 {
		t.Errorf("left %q", left)
	}
	if n, err := f.Sweep(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("then removed %d, %v", n, err)
	}
}

func TestSweepStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, t.TempDir()).Sweep(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
