// Package hotfolder watches the office's hot folders: a file that appears in one becomes a package for the folder's people, once,
// and the signed result is put beside it.
//
// A file's path is this. It is left alone until it has been unchanged for a while and nobody is writing it. Then it is recorded, and
// moved to Waiting under a unique name, so that of several computers on one share only one gets it. There it becomes a draft
// (Deps.Send); once the service has accepted that, the file is moved to Sent, and copies of its signed documents are saved in Signed
// after they are safe in the office's own folder. A file that cannot be sent is moved to Problems, with a text that says why. Every
// step is recorded first (office.Intake), and the next start continues.
//
// It promises that a file becomes one package, whatever is interrupted; that nothing is replaced or removed; that the same bytes are
// not sent a second time unless a person says so; that problems with one folder do not affect others, and end by themselves; that
// nothing is sent from an account that has neither set up nor confirmed the folder.
//
// Change events (Events) only speed it up: shares send none, so it scans each folder now and then. It must not know how drafts are
// sent, how people sign in, nor how its folders are shown.
package hotfolder

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	DataDir      string
	Installation func() string // identifies this data folder
	Settings     func() office.Settings
	FolderAway   func(folder string) error                                  // why a folder for documents is out of reach, if it is; see package download
	Unmounted    func(path string, mine func() (bool, error)) (bool, error) // see package download
	AcceptMount  func(path string) error                                    // likewise
	Account      func() (a Account, signedIn bool)
	Words        func() *message.Printer // in the current language

	// Send stores a draft for a file, which is open and lies at path; also runs in the same commit, possibly more than once. If the
	// file cannot be sent, the error has a message for people.
	Send   func(ctx context.Context, f office.HotFolder, file *os.File, path string, also func(*store.Tx, *office.Draft) error) error
	Passes func(err error) bool // reports whether an error of Send is temporary
	// Moved records that a draft's file has moved.
	Moved func(tx *store.Tx, draftID, from, to string) error

	Queue    func(*store.Tx, ...office.Fact) // records, in a commit, that facts are to be reported
	Announce func(...office.Fact)            // reports them after the commit
	Changed  func()                          // the list of folders has changed
	Events   func(ring func()) Events        // starts to listen for changes
}

// Account is the sender of documents.
type Account struct {
	ID    string // unique per organization and member; empty if the service does not supply it
	Email string // may be empty
}

// Events signals that something has changed in a folder, as far as the system reports it.
type Events interface {
	Set(folders []string) // watches exactly these
	Close()
}

// gap is how long to wait for further changes after one.
const gap = 300 * time.Millisecond

// Service watches hot folders. Safe for concurrent use.
type Service struct {
	loop.Base
	deps    Deps
	ring    chan struct{} // signals that something may have changed in a folder
	changes sync.Mutex    // held while changing the list of folders

	mu       sync.Mutex
	problems map[string]message.Message // why folders cannot send, by id
	waiting  map[string]message.Message // what folders' files wait for, likewise

	looks     map[string]look // used only by Run's goroutine
	recovered map[string]bool // folders searched for unknown files; used only by Run's goroutine
	swept     map[string]bool // folders cleaned of an earlier run's temporary files; used only by Run's goroutine
	retries   loop.Retries    // for files in progress, by intake id
}

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, ring: make(chan struct{}, 1), problems: map[string]message.Message{},
		waiting: map[string]message.Message{}, looks: map[string]look{}, recovered: map[string]bool{}, swept: map[string]bool{}}
}

func (r *Service) Wake() { loop.Wake(r.ring) }

// Run takes what appears in the folders, until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	events := r.deps.Events(r.Wake)
	defer events.Close()
	changes, stop := r.Watch()
	defer stop()
	looked, pause, err := r.Now(), time.Duration(0), r.tellNotSent()
	if err != nil {
		return err
	}
	note := func(c office.Change) {
		if c == office.SettingsChanged {
			pause = 0
		}
	}
	for {
		due := pause - r.Now().Sub(looked)
		scan := due <= 0 || due > pause // the latter if the clock was set back
		if scan {
			looked = r.Now()
			if pause, err = r.look(ctx, events); err != nil {
				return err
			}
			due = pause
		} else if err := errors.Join(r.settle(ctx), r.tell()); err != nil {
			return err
		}
		timer := time.NewTimer(due)
		select {
		case <-timer.C:
			pause = 0
		case <-r.ring:
			pause = 0
			loop.Sleep(ctx, gap)
		case c := <-changes:
			note(c)
			loop.Sleep(ctx, gap)
		case <-ctx.Done():
		}
		timer.Stop()
		for drained := false; !drained; {
			select {
			case c := <-changes:
				note(c)
			default:
				drained = true
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// look advances the files in progress, scans every folder, and returns when to look again.
func (r *Service) look(ctx context.Context, events Events) (time.Duration, error) {
	folders, err := r.owned()
	if err != nil {
		return 0, err
	}
	var paths []string
	for _, f := range folders {
		if !f.Paused {
			paths = append(paths, f.Path)
		}
	}
	events.Set(paths)
	if err := r.settle(ctx); err != nil {
		return 0, err
	}
	pause := time.Hour
	if len(paths) > 0 {
		pause = r.Pace.Look
	}
	problems := map[string]message.Message{}
	for _, f := range folders {
		if f.Paused {
			continue
		}
		soon, err := r.lookInto(ctx, f, folders)
		if ctx.Err() != nil {
			return pause, nil
		}
		var told message.Message
		switch {
		case err == nil:
		case errors.As(err, new(*folderError)):
			told = message.For(err)
			problems[f.ID] = told
		default:
			return 0, err
		}
		if soon > 0 {
			pause = min(pause, soon)
		}
	}
	r.forgetLooks(paths)
	if r.back(folders, problems) { // what waited for it need not wait longer
		r.retries.Now()
		if err := r.settle(ctx); err != nil {
			return 0, err
		}
	}
	r.tellProblems(folders, problems)
	return pause, r.tell()
}

// back reports whether a folder that could not send the last time can again, given the folders that cannot.
func (r *Service) back(folders []office.HotFolder, problems map[string]message.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(folders, func(f office.HotFolder) bool { return !r.problems[f.ID].IsZero() && problems[f.ID].IsZero() })
}

// lookInto takes what can be taken from one folder, and returns how long until something else may be ready; 0 for nothing.
func (r *Service) lookInto(ctx context.Context, f office.HotFolder, all []office.HotFolder) (soon time.Duration, err error) {
	if m := r.refusal(f, all); !m.IsZero() {
		return 0, &folderError{m}
	}
	dir, err := r.open(f)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	ready, soon, err := r.scan(f, dir)
	if err == nil {
		err = r.recover(f, dir)
	}
	if err != nil {
		return soon, err
	}
	if m, may := r.sender(f); !m.IsZero() {
		return soon, &folderError{m}
	} else if !may {
		return soon, nil
	}
	if len(ready) == 0 {
		return soon, nil
	}
	recorded, err := r.recorded(f.Path)
	if err != nil {
		return 0, err
	}
	for _, file := range ready {
		if recorded[file.Name()] {
			continue
		}
		key := "file " + f.ID + "/" + file.Name()
		if ctx.Err() != nil {
			return 0, nil
		}
		if r.LeftAlone(key) {
			continue
		}
		err := r.One(key, func() error { return r.take(ctx, f, dir, file) })
		if err != nil {
			return soon, err
		}
	}
	return soon, nil
}

// longestRest is the longest pause before a file that could not proceed is retried.
const longestRest = 5 * time.Minute

// settle advances every file in progress. One that cannot proceed does not affect others, and is retried later.
func (r *Service) settle(ctx context.Context) error {
	intakes, err := r.intakes()
	if err != nil {
		return err
	}
	waiting := map[string]message.Message{}
	there := map[string]bool{}
	for _, in := range intakes {
		there[in.ID] = true
		key := "intake " + in.ID
		if ctx.Err() != nil {
			return nil
		}
		if r.LeftAlone(key) {
			continue
		}
		if r.retries.Waits(in.ID, r.Now()) {
			waiting[in.Folder] = r.waitingIn(in.Folder)
			continue
		}
		err := r.One(key, func() error { return r.advance(ctx, in) })
		var trouble *folderError
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			r.retries.Worked(in.ID)
		case !errors.As(err, &trouble):
			return err
		default:
			waiting[in.Folder] = trouble.text
			if tries, _ := r.retries.Failed(in.ID, r.Now(), func(n int) time.Duration { return r.Backoff(n, r.Pace.Folder, longestRest) }); tries == 1 {
				r.Log.Warn("a file of a hot folder waits", "intake", in.ID, "err", err)
			}
		}
	}
	r.retries.Keep(func(id string) bool { return there[id] })
	r.mu.Lock()
	changed := !maps.Equal(waiting, r.waiting)
	r.waiting = waiting
	r.mu.Unlock()
	if changed {
		r.deps.Changed()
	}
	return nil
}

// waitingIn returns what a folder's files wait for, zero for nothing.
func (r *Service) waitingIn(folder string) message.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[folder]
}

// folderError is why a folder cannot send now.
type folderError struct{ text message.Message }

func (e *folderError) Error() string { return e.text.String() }

func (e *folderError) Message() message.Message { return e.text }

// tellProblems updates the health issues about folders: those that cannot send, and those with waiting files. Each folder's problem
// is reported once, and none that the folder for documents has, too.
func (r *Service) tellProblems(folders []office.HotFolder, problems map[string]message.Message) {
	r.mu.Lock()
	changed := !maps.Equal(problems, r.problems)
	r.problems = problems
	waiting := maps.Clone(r.waiting)
	r.mu.Unlock()
	var stopped, waits message.Message
	for _, f := range folders { // files of a folder no longer listed wait without a report
		m := problems[f.ID]
		switch {
		case m == message.SendFolderAway(f.Called()) && r.explained(f):
		case !m.IsZero() && stopped.IsZero():
			stopped = message.Then(message.SendFolderStopped(f.Called()), m)
		case m.IsZero() && !waiting[f.ID].IsZero() && waits.IsZero():
			waits = message.Then(message.SendFolderWaits(f.Called()), waiting[f.ID])
		}
	}
	r.Health.Update(health.HotFolderFails, stopped)
	r.Health.Update(health.HotFolderWaits, waits)
	if changed {
		r.deps.Changed()
	}
}

// explained reports whether f is away because the share is that the folder for documents is on, too, and people are told of that.
func (r *Service) explained(f office.HotFolder) bool {
	saveTo := r.deps.Settings().SaveTo
	if !r.Health.Stands(health.FolderFails) && !r.Health.Stands(health.FolderAway) || r.deps.FolderAway(saveTo) == nil {
		return false
	}
	own, other := gone(f.Path), gone(saveTo)
	place := filepath.Dir(own)
	return own == other || place == filepath.Dir(other) && disk.Empty(place) // where a share is mounted
}

// gone returns the topmost parent of a missing path that is missing.
func gone(path string) string {
	for {
		parent := filepath.Dir(path)
		if _, err := disk.Stat(parent); err == nil || parent == path {
			return path
		}
		path = parent
	}
}

// A folder sends from the account that set it up. If somebody else signs in, it pauses until a person adopts it by saving it again.

// sender reports whether documents of f may be sent now, and what to tell people if a person must confirm that first. What is not
// sent stays in place.
func (r *Service) sender(f office.HotFolder) (confirm message.Message, may bool) {
	now, signedIn := r.deps.Account()
	switch {
	case !signedIn: // the sender would be unknown
		return message.Message{}, false
	case f.By == "" || now.ID == "" || f.By == now.ID:
		return message.Message{}, true
	case now.Email == "":
		return message.SendFolderOtherAccount(), false
	default:
		return message.SendFolderOtherAccountAs(now.Email), false
	}
}

// owned returns the hot folders. Those set up while nobody was signed in are assigned to the first who signs in.
func (r *Service) owned() ([]office.HotFolder, error) {
	list, err := r.folders()
	now, signedIn := r.deps.Account()
	orphan := func(f office.HotFolder) bool { return f.By == "" }
	if err != nil || !signedIn || now.ID == "" || !slices.ContainsFunc(list, orphan) {
		return list, err
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		list = foldersIn(tx)
		for i := range list {
			if orphan(list[i]) {
				list[i].By = now.ID
			}
		}
		return tx.PutDoc(DocFolders, list)
	})
	return list, err
}

// own sets the owner of f, which replaces old. Saving a folder confirms it; pausing does not.
func (r *Service) own(f *office.HotFolder, old office.HotFolder) {
	f.By = old.By
	now, signedIn := r.deps.Account()
	if signedIn && now.ID != "" && f.Paused == old.Paused {
		f.By = now.ID
	}
}

// tell reports everything that waits for a person's decision, and everything that was not sent: together once a batch is complete,
// and only once, even after a kill.
func (r *Service) tell() error {
	if len(r.looks) > 0 && r.pending() {
		return nil // the rest of the batch is still arriving
	}
	all, err := r.intakes()
	if err != nil {
		return err
	}
	ask := slices.DeleteFunc(slices.Clone(all), func(in office.Intake) bool { return !in.Ask })
	unsent := slices.DeleteFunc(all, func(in office.Intake) bool { return !in.Tell })
	var facts []office.Fact
	if len(ask) > 0 {
		facts = append(facts, askFact(ask))
	}
	if len(unsent) > 0 {
		facts = append(facts, unsentFact(unsent))
	}
	if len(facts) == 0 {
		return nil
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		r.deps.Queue(tx, facts...)
		noteNotSent(tx, unsent)
		for _, in := range append(ask, unsent...) {
			in.Ask, in.Tell = false, false
			putIntake(tx, in)
		}
		return nil
	})
	if err == nil {
		r.deps.Announce(facts...)
		r.Wake() // reported files may need no more work
		err = r.tellNotSent()
	}
	return err
}

// notSent is the list of files that lie in Problems without having become drafts, since somebody last read of them: nothing else
// shows them.
type notSent struct {
	N    int             `json:"n"`
	Text message.Message `json:"text"`
}

func noteNotSent(tx *store.Tx, files []office.Intake) {
	files = slices.DeleteFunc(slices.Clone(files), func(in office.Intake) bool { return in.Draft != "" })
	if len(files) == 0 {
		return
	}
	var x notSent
	tx.GetDoc(docNotSent, &x)
	fact := unsentFact(files)
	if x.N += len(files); x.N > len(files) {
		fact.Title, fact.Body = message.FilesNotSentSomewhere(x.N), message.FilesInProblems()
	}
	if x.Text = message.Then(fact.Title, fact.Body); x.N == 1 {
		x.Text = message.Then(x.Text, message.FileInProblems(calledFolder(files[0])))
	}
	tx.PutDoc(docNotSent, x)
}

func (r *Service) tellNotSent() error {
	x, _, err := data.Doc[notSent](r.Data, docNotSent)
	if err != nil && !store.OfOneRecord(err) {
		return err
	}
	r.Health.Update(health.FilesNotSent, x.Text)
	return nil
}

// Read records that somebody has read of the files that were not sent, unless there are more by now.
func (r *Service) Read(text message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		var x notSent
		if tx.GetDoc(docNotSent, &x); x.Text == text {
			tx.PutDoc(docNotSent, nil)
		}
		return nil
	})
	return errors.Join(err, r.tellNotSent())
}

func askFact(files []office.Intake) office.Fact {
	title := message.WaitForOKSomewhere(len(files))
	if oneFolder(files) {
		title = message.WaitForOK(len(files), calledFolder(files[0]))
	}
	return office.Fact{Key: "hot-folder/" + files[0].ID, Subject: office.DraftSubject(files[0].Draft), Title: title, Body: message.LookInOutbox()}
}

func unsentFact(files []office.Intake) office.Fact {
	f := office.Fact{Key: "hot-folder/" + files[0].ID + "/" + files[0].At, Subject: office.ActivitySubject}
	if oneFolder(files) {
		f.Subject = office.HotFolderSubject(files[0].Folder)
	}
	switch {
	case len(files) == 1:
		f.Title, f.Body = message.FileNotSent(files[0].Name), files[0].Problem
	case oneFolder(files):
		f.Title, f.Body = message.FilesNotSent(len(files), calledFolder(files[0])), message.FilesInProblems()
	default:
		f.Title, f.Body = message.FilesNotSentSomewhere(len(files)), message.FilesInProblems()
	}
	return f
}

func oneFolder(files []office.Intake) bool {
	return !slices.ContainsFunc(files, func(in office.Intake) bool { return in.Path != files[0].Path })
}

func calledFolder(in office.Intake) string { return office.HotFolder{Path: in.Path}.Called() }
