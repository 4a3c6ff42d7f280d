// Package proof examines saved documents: whether they are sealed, by whom, and whether they are unchanged since; and whether they
// are what was sent from here, apart from what signing adds. It keeps the record of what happened provable, and says of any file
// what the record knows of it. Nothing waits for it, and it writes to no document. The results are stored with the file; a document
// that is not what was sealed or sent is reported to health until somebody has read it.
//
// It must not know how a seal is judged (package seal), how pages are compared (package compare), nor in which process a document is
// read (Deps.Examine, Comparing).
package proof

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/seal"
	"countersign/internal/store"
)

// MaxFound limits the size in bytes of the result for a document.
const MaxFound = 16 << 20

type Deps struct {
	// Examine reads an open document in a bounded process for its "seal", or the "authorities" it names, and returns what package
	// seal finds, as JSON.
	Examine func(ctx context.Context, document *os.File, what string) ([]byte, error)
	Busy    func() bool // there is work that people wait for
	Comparing
	Words   func() *message.Printer
	Version string // the program's version, for what it writes

	FolderAway   func(folder string) error // why a folder for documents is out of reach, if it is; see package download
	Settings     func() office.Settings
	Installation func() string
	Vault        Vault
	HTTP         *http.Client // for time stamps
}

// Service examines saved documents. Safe for concurrent use.
type Service struct {
	loop.Base
	deps     Deps
	work     chan struct{}
	settled  chan struct{} // signals that the settings have changed
	away     loop.Retries  // unreachable folders
	again    loop.Retries  // files that could not be examined yet, see again
	next     []office.Job  // to be examined
	signing  sync.Mutex    // held while making the record's key
	trusting sync.Mutex    // held while storing a verdict or changing the trusted authorities, so that each verdict considers all of them
}

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, work: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
}

// Wake makes Run look for work.
func (r *Service) Wake() { loop.Wake(r.work) }

// Run examines one document after the other, a hundred at a time, those saved last first.
func (r *Service) Run(ctx context.Context) error {
	if err := r.tellWrong(); err != nil {
		return err
	}
	return loop.Repeat(ctx, r.work, r.examineDue)
}

// awayPause is how long to leave an unreachable folder alone, and at first a file; backPause, one that people were told of; againPause
// how long to leave a file alone in the end; breath is the pause between two documents, because this is never urgent.
const (
	awayPause  = 10 * time.Minute
	backPause  = time.Minute
	againPause = 24 * time.Hour
	busyPause  = 5 * time.Second
	breath     = 100 * time.Millisecond
)

// examineDue examines the next document and returns how long there is nothing to do.
func (r *Service) examineDue(ctx context.Context) (pause time.Duration, err error) {
	if r.deps.Busy() {
		return busyPause, nil
	}
	if r.next = slices.DeleteFunc(r.next, r.waits); len(r.next) == 0 {
		r.next, err = data.Read(r.Data, "the documents to examine", func(tx *store.Tx) ([]office.Job, error) { return tx.JobsToExamine(100, r.waits) })
		if err != nil {
			return awayPause, err
		}
		if len(r.next) == 0 {
			return r.watchAway()
		}
	}
	j := r.next[0]
	r.next = r.next[1:]
	return breath, r.One("seal "+j.Key(), func() error { return r.examine(ctx, j) })
}

// watchAway has RunRecord follow as soon as a folder that the last check found out of reach is back, and returns how long to rest.
func (r *Service) watchAway() (pause time.Duration, err error) {
	last, _, err := data.Doc[astrayFiles](r.Data, docAstray)
	if err != nil || len(last.Away) == 0 {
		return awayPause, err
	}
	if slices.ContainsFunc(last.Away, func(folder string) bool { return r.deps.FolderAway(folder) == nil }) {
		r.WakeRecord()
	}
	return backPause, nil
}

// waits reports whether j's file must not be examined now.
func (r *Service) waits(j office.Job) bool {
	return r.away.Waits(j.Folder, r.Now()) || r.again.Waits(saved(j), r.Now()) || r.LeftAlone("seal "+j.Key())
}

// saved identifies a saved file, and differs for a later one saved in its place.
func saved(j office.Job) string { return j.Key() + " " + j.Digest }

// enoughTries is how often a document is examined before it counts as unreadable: the examining process may be killed through no
// fault of the document.
const enoughTries = 3

// examine examines j's file and stores the result. A file that is missing or changed, or that nothing could examine, may be examined
// again; only an unreadable one stays unjudged.
func (r *Service) examine(ctx context.Context, j office.Job) error {
	found, err := r.find(ctx, j)
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, errAway):
		r.away.Failed(j.Folder, r.Now(), func(int) time.Duration { return awayPause })
		return nil
	case err != nil && !errors.Is(err, preview.ErrNotPDF):
		r.Log.Info("a document cannot be examined now", "file", j.Target, "err", err)
		tries, _ := r.again.Failed(saved(j), r.Now(), func(tries int) time.Duration { return r.Backoff(tries, awayPause, againPause) })
		if tries < enoughTries || !isUnread(err) {
			return nil
		}
	}
	r.again.Worked(saved(j))
	r.trusting.Lock()
	defer r.trusting.Unlock()
	verdict := office.Seal{State: office.SealUnjudged}
	if found.read {
		trust, err := r.trust()
		if err != nil {
			return err
		}
		verdict = seal.Judge(found.seal, trust)
	}
	verdict.SHA256 = found.sum
	if err := r.keep(j, verdict, found.match); err != nil {
		return fmt.Errorf("keep what is known of %s: %w", j.Target, err)
	}
	r.Signal(office.PackagesChanged)
	return errors.Join(r.tellWrong(), r.tellAstray())
}

func isUnread(err error) bool {
	return errors.Is(err, errUnjudged) && !errors.Is(err, preview.ErrNotStarted)
}

// keep records the result for j's file, unless it is a different file by now.
func (r *Service) keep(j office.Job, verdict office.Seal, match office.Match) error {
	return r.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Job(j.Key())
		if err != nil || !ok || stored.State != office.JobDone || stored.Digest != j.Digest {
			return err
		}
		told := stored.Wrong() && !verdict.Wrong() // its seal is not worse than before
		verdict.Read = told && stored.Seal.Read
		stored.Seal, stored.Match, stored.Compared = verdict, match, j.Digest
		tx.PutJob(stored)
		if err := tellPackage(tx, j.PackageID); err != nil || !stored.Wrong() || told {
			return err
		}
		return tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivityProblem, PackageID: j.PackageID, Text: stored.Fault()})
	})
}

// tellPackage records with a package whether all its saved files are sealed, what is wrong with one, if anything, and what was found.
func tellPackage(tx *store.Tx, id string, found ...office.HistoryEntry) error {
	jobs, err := tx.JobsOf(id)
	if err != nil {
		return err
	}
	p, ok, err := tx.Package(id)
	if store.OfOneRecord(err) || err == nil && !ok {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range found {
		p.AddHistory(entry)
	}
	p.Sealed = office.AllSealed(jobs)
	p.Astray = slices.ContainsFunc(jobs, func(j office.Job) bool { return !j.Astray.IsZero() })
	if problem := office.FirstProblem(jobs); p.Saved || !problem.IsZero() {
		p.Problem = problem
	}
	return tx.PutPackage(p)
}

var errAway = errors.New("the folder is out of reach")

type found struct {
	seal  seal.Found
	read  bool   // whether the seal was read
	sum   string // its SHA-256
	match office.Match
}

// find examines j's file, if it is the one saved, and compares it unless that was done before: what was sent may be deleted by now.
func (r *Service) find(ctx context.Context, j office.Job) (f found, err error) {
	file, sum, err := r.openSaved(j)
	if err != nil {
		return f, err
	}
	defer file.Close()
	f = found{sum: sum, match: j.Match}
	err = r.look(ctx, file, "seal", &f.seal)
	f.read = err == nil
	if f.match.State == "" && (err == nil || isUnread(err)) {
		var failed error
		f.match, failed = r.match(ctx, j, file)
		err = errors.Join(err, failed)
	}
	return f, err
}

// openThere opens what is at the place of j's file. It fails with errAway if the folder is unreachable.
func (r *Service) openThere(j office.Job) (*os.File, error) {
	file, err := archive.OpenSaved(j.Folder, j.At())
	if err == nil {
		return file, nil
	}
	if away := r.deps.FolderAway(j.Folder); away != nil {
		return nil, fmt.Errorf("%w: %w", errAway, away)
	}
	return nil, err
}

// openSaved opens j's file, if it is the one saved. sum is its SHA-256.
func (r *Service) openSaved(j office.Job) (file *os.File, sum string, err error) {
	if file, err = r.openThere(j); err != nil {
		return nil, "", err
	}
	saved, sum, err := archive.Sums(io.LimitReader(file, j.Size+1))
	if err == nil && saved != (archive.Saved{Size: j.Size, Digest: j.Digest}) {
		err = errors.New("it is not the file that was saved")
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, "", err
	}
	return file, sum, nil
}

// look examines an open file; it fails with errUnjudged unless ctx has ended.
func (r *Service) look(ctx context.Context, file *os.File, what string, found any) error {
	answer, err := r.deps.Examine(ctx, file, what)
	if err == nil {
		err = json.Unmarshal(answer, found)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errUnjudged, err)
	}
	return err
}

// Authority returns the certificate to trust so that a file's seal counts as trusted. The error is for people.
func (r *Service) Authority(ctx context.Context, path string) (*x509.Certificate, error) {
	var found seal.Found
	err := r.lookAt(ctx, path, "seal", &found)
	c := found.Authority()
	if errors.Is(err, errUnjudged) || err == nil && c == nil {
		return nil, message.Error(message.SealUnjudged(), err)
	}
	return c, err
}

var errUnjudged = errors.New("the document cannot be examined")

// lookAt examines any file, see look. The error is for people, or errUnjudged.
func (r *Service) lookAt(ctx context.Context, path, what string, found any) error {
	file, _, err := disk.OpenFile(path)
	if err != nil {
		return message.Error(message.FileNotRead(filepath.Base(path)), err)
	}
	defer file.Close()
	if err = r.look(ctx, file, what, found); errors.Is(err, preview.ErrNotPDF) {
		err = message.Error(message.FileNotPDF(filepath.Base(path)), preview.ErrNotPDF)
	}
	return err
}

// tellWrong updates the health issue about documents that are not what was sealed or sent.
func (r *Service) tellWrong() error {
	wrong, err := data.Read(r.Data, "the documents with a wrong seal", (*store.Tx).JobsWrong)
	if err != nil {
		return err
	}
	var text message.Message
	if len(wrong) > 0 {
		text = message.DocumentsWrong(len(wrong))
	}
	r.Health.Update(health.DocumentsWrong, text)
	return nil
}

// Read records that somebody has read that issue, unless another document was found since.
func (r *Service) Read(said message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		wrong, err := tx.JobsWrong()
		if err != nil || message.DocumentsWrong(len(wrong)).String() != said.String() {
			return err
		}
		for _, j := range wrong {
			j.Seal.Read = true
			tx.PutJob(j)
		}
		return err
	})
	return errors.Join(err, r.tellWrong())
}
