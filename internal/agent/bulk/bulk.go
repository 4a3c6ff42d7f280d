// Package bulk sends lists: each line of a list becomes a draft in the outbox, a few at a time, for as long as the list runs.
//
// It promises that a line becomes one package, whatever is interrupted: its turn and its draft are one commit, and the id of its
// draft is chosen when the list is stored. From the commit that stores a list, a line already sent, by this list, a changed version
// of it or another list, is recognized by its documents and signers (office.BulkLine.Who), and sent again only when a person says
// so. A list whose packages are all refused pauses by itself. A stopped list can continue, without the lines that another list has
// sent since.
//
// The outcome of a line is not stored here but in its draft and its package. This package must not know how lists are parsed, how
// drafts are sent, or how they are shown.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
	"countersign/internal/table"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Read   func(ctx context.Context, file *os.File) ([]byte, error) // reads a list in a bounded process, and returns what table.Serve writes
	Sums   func(ctx context.Context, d office.NewPackage) ([]string, error)
	Sender func() string // the sender of packages; empty if unknown

	// Keep stores what a list's packages have in common; Send stores a line's draft. also runs in the same commit.
	Keep  func(ctx context.Context, d office.NewPackage, sums []string, also func(*store.Tx, *office.Draft) error) error
	Send  func(ctx context.Context, common office.Draft, id string, d office.NewPackage, also func(*store.Tx, *office.Draft) error) error
	LetGo func(tx *store.Tx, id string) error // releases what Keep stored, once nothing more is made of it

	TakeBack func(tx *store.Tx, id string) (unsent []string, err error) // takes back a list's waiting drafts
	TookBack func()                                                     // called after the commit

	// Refused returns why Send did not accept a line, if the line or its documents are to blame; passing says that it may be
	// accepted later.
	Refused func(err error) (why message.Message, passing, refused bool)
}

const (
	ahead   = 4  // drafts of a list waiting in the outbox at once
	stalled = 5  // a list pauses after this many packages in a row were not sent
	keep    = 30 // counted days for which a stopped list can continue
	maxUndo = time.Minute
)

// Documents in the store: a list, each of its lines, and the lines known by a Who.
const (
	docLists = "bulk/"
	docLines = "bulk line/"
	docSent  = "bulk sent/"
)

func lineDoc(id string, n int) string { return fmt.Sprintf("%s%s/%06d", docLines, id, n) }

// line is a stored line.
type line struct {
	office.BulkLine
	Draft   string          `json:"draft"` // the id of its draft, present or future
	Handed  bool            `json:"handed,omitempty"`
	Problem message.Message `json:"problem,omitzero"` // why no draft could be made
}

// sent is a line known by its Who.
type sent struct {
	What string `json:"what"` // empty for what was sent in a line's place
	List string `json:"list"`
	Line int    `json:"line"`
}

// Service sends lists. Safe for concurrent use.
type Service struct {
	loop.Base
	deps Deps
	ring chan struct{}
}

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, ring: make(chan struct{}, 1)}
}

func (r *Service) Wake() { loop.Wake(r.ring) }

// Prepare reads and validates the list in a file, with what all its packages have in common. It stores nothing.
func (r *Service) Prepare(ctx context.Context, path string, common office.NewPackage, order string) (l office.BulkList, err error) {
	name := filepath.Base(path)
	file, _, err := disk.OpenFile(path)
	if err != nil {
		return l, message.Error(message.FileMayNotBeRead(name), err)
	}
	defer file.Close()
	answer, err := r.deps.Read(ctx, file)
	var rows []office.ListRow
	if err == nil {
		rows, err = table.Decode(answer)
	}
	var quote *table.QuoteError
	switch {
	case ctx.Err() != nil:
		return l, ctx.Err()
	case errors.Is(err, table.ErrProtected):
		return l, message.Error(message.ListProtected(name), err)
	case errors.Is(err, table.ErrTooLarge):
		return l, message.Error(message.ListTooLarge(name, table.MaxLines), err)
	case errors.Is(err, preview.ErrNotStarted):
		return l, message.Error(message.FileNotRead(name), err)
	case errors.As(err, &quote):
		return l, message.Error(message.ListQuoteOpen(quote.Line, name), err)
	case err != nil:
		return l, message.Error(message.ListUnreadable(name), err)
	}
	sums, err := r.deps.Sums(ctx, common)
	if err != nil {
		return l, err
	}
	l = office.ReadList(name, rows, common, sums, r.Now().Local(), order)
	_, err = data.Read(r.Data, "what was sent before", func(tx *store.Tx) (none struct{}, err error) {
		before, _, err := known(tx, l.Lines, "")
		for i := range l.Lines {
			l.Lines[i].Before = before[i]
		}
		return none, err
	})
	return l, err
}

// known reports for each line whether it was sent before, or will be; given the id of a list that they are all of, by others since it
// was sent or continued. It first matches lines of identical packages; what is then left of a Who stands for lines changed since,
// unless the list would go on without asking and has several of that Who. failed are drafts that were not accepted, to be replaced by
// new ones.
func known(tx *store.Tx, lines []office.BulkLine, since string) (before []office.Before, failed [][]string, err error) {
	before, failed = make([]office.Before, len(lines)), make([][]string, len(lines))
	lists, whos := map[string]office.Bulk{}, map[string][]sent{}
	seen, several := map[string]bool{}, map[string]bool{}
	for _, x := range lines {
		several[x.Who], seen[x.Who] = since != "" && seen[x.Who], true
	}
	find := func(i int, how office.Before) (found bool, err error) {
		who := lines[i].Who
		list, read := whos[who]
		if !read {
			ok, _ := tx.GetDoc(docSent+who, &list)
			if there, _ := tx.DocNames(docSent + who); !ok && len(there) > 0 {
				list = make([]sent, len(lines)) // it cannot be read
			}
			for at, s := range slices.Backward(list) {
				if since != "" && s.List == since && s.What != "" {
					list = list[at+1:]
					break
				}
			}
			whos[who] = list
		}
		at, live, draft, waits := -1, false, "", false
		for n, s := range list { // the first that waits; else the first
			if s.What != lines[i].What && (how != office.BeforeChanged || several[who] && s.List != "") {
				continue
			}
			l, d, w, err := alive(tx, lists, s)
			if err != nil {
				return false, err
			}
			if at < 0 || w {
				at, live, draft, waits = n, l, d, w
			}
			if w {
				break
			}
		}
		if at < 0 {
			return false, nil
		}
		switch {
		case waits:
			before[i] = office.BeforeWaiting
		case live:
			before[i] = how
		case draft != "":
			failed[i] = append(failed[i], draft)
		}
		whos[who] = slices.Delete(list, at, at+1)
		return true, err
	}
	for _, how := range []office.Before{office.BeforeSame, office.BeforeChanged} {
		for i := range lines {
			for found := true; found && before[i] == ""; {
				if found, err = find(i, how); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return before, failed, nil
}

// alive reports whether a line was sent, or waits: for its turn, in the outbox or for the service's answer. draft is its draft that the
// service does not have and that can still be sent. An unreadable line, or one whose outcome is unknown, counts as sent.
func alive(tx *store.Tx, lists map[string]office.Bulk, s sent) (live bool, draft string, waits bool, err error) {
	var x line
	if ok, _ := tx.GetDoc(lineDoc(s.List, s.Line), &x); !ok {
		return true, "", false, nil
	}
	if x.Handed {
		d, ok, err := tx.LatestDraft(x.Draft)
		switch {
		case err != nil && !store.OfOneRecord(err):
			return true, "", false, err
		case err != nil || !ok:
			return x.Problem.IsZero(), "", false, nil
		case d.State == office.DraftQueued, d.State == office.DraftHeld, d.State == office.DraftAdding:
			return true, d.ID, true, nil
		case d.Was == office.DraftUnknown:
			return true, "", false, nil
		case d.State == office.DraftFailed:
			return false, d.ID, false, nil
		}
		return d.State != office.DraftCancelled, "", false, nil
	}
	if _, sent := packageOf(tx, x.Draft); sent {
		return true, "", false, nil
	}
	b, ok := lists[s.List]
	if !ok {
		tx.GetDoc(docLists+s.List, &b)
		lists[s.List] = b
	}
	waits = b.State != office.BulkStopped
	return waits, "", waits, nil
}

// Send stores a prepared list and starts sending it after undo: the valid lines that are Left. It fails if some of them were sent
// meanwhile, or wait in another list.
func (r *Service) Send(ctx context.Context, l office.BulkList, again bool, undo time.Duration) (id string, err error) {
	lines, faulty := l.Left(again), l.Faulty()
	if len(l.Wrong) > 0 {
		return "", message.Error(l.Wrong[0], nil)
	}
	if len(lines) == 0 {
		return "", message.Error(message.ListEmpty(l.File), nil)
	}
	err = r.deps.Keep(ctx, l.Common, l.Documents, func(tx *store.Tx, d *office.Draft) error {
		before, failed, err := known(tx, l.Lines, "")
		if err != nil {
			return err
		}
		id = d.ID
		b := office.Bulk{ID: id, File: l.File, Documents: l.Common.Titles(), Lines: len(lines), Faulty: len(faulty), State: office.BulkRunning, Created: r.Now().UTC(),
			Begins: r.Now().Add(undo).UTC(), By: d.By}
		for _, c := range l.Columns {
			b.Heads = append(b.Heads, c.Head)
		}
		n, marks := 0, map[string][]sent{}
		for i, x := range l.Lines {
			if !x.Left(again) {
				continue
			}
			if !before[i].Left(again) {
				return message.Error(message.ListSentMeanwhile(l.File), nil)
			}
			x.Package.Replaces, x.Package.Files, x.Package.Template, x.Package.Repeat = failed[i], nil, nil, again
			tx.PutDoc(lineDoc(id, n), line{BulkLine: x, Draft: uuid.NewString()})
			marks[x.Who] = append(marks[x.Who], sent{x.What, id, n})
			n++
		}
		mark(tx, id, marks)
		for _, x := range faulty {
			var why []message.Message
			for _, w := range x.Wrong {
				why = append(why, w.Text)
			}
			tx.PutDoc(lineDoc(id, n), line{BulkLine: office.BulkLine{ListRow: x.ListRow}, Problem: message.Then(why...)})
			n++
		}
		put(tx, b)
		return tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivitySent, List: id, Text: message.ListBegun(len(lines), l.File)})
	})
	if err != nil {
		return "", err
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return id, nil
}

// mark records lines of a list as the last ones that are known by a Who.
func mark(tx *store.Tx, id string, marks map[string][]sent) {
	for _, who := range slices.Sorted(maps.Keys(marks)) {
		var list []sent
		tx.GetDoc(docSent+who, &list)
		list = slices.DeleteFunc(list, func(s sent) bool { return s.List == id && slices.Contains(marks[who], s) })
		tx.PutDoc(docSent+who, append(list, marks[who]...))
	}
}

func put(tx *store.Tx, b office.Bulk) error { return tx.PutDoc(docLists+b.ID, b) }

func lists(tx *store.Tx) (all []office.Bulk, err error) {
	for _, b := range store.Docs[office.Bulk](tx, docLists, "") {
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b office.Bulk) int { return a.Created.Compare(b.Created) })
	return all, tx.Err()
}

// Run makes drafts from running lists until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	changes, stop := r.Watch()
	defer stop() // closes changes
	go func() {
		for c := range changes {
			if c == office.OutboxChanged {
				r.Wake()
			}
		}
	}()
	return loop.Repeat(ctx, r.ring, r.feed)
}

// feed makes the drafts that are due, and returns how long nothing will be unless the outbox changes.
func (r *Service) feed(ctx context.Context) (pause time.Duration, err error) {
	const idle = time.Hour
	all, err := data.Read(r.Data, "the lists", lists)
	if err != nil {
		return 0, err
	}
	pause = idle
	for _, b := range all {
		if b.Problem == message.ListOfAnotherAccount(b.File) && b.By == r.deps.Sender() {
			if b, err = r.goOn(b.ID); err != nil {
				return 0, err
			}
		}
		if !active(b) || r.LeftAlone(key(b)) {
			continue
		}
		if left := b.Begins.Sub(r.Now()); left > 0 && left <= maxUndo {
			pause = min(pause, left)
			continue
		}
		for more := true; more && ctx.Err() == nil; {
			more = false
			if err := r.One(key(b), func() (err error) {
				if more, err = r.next(ctx, b.ID); errors.Is(err, errTurned) {
					more, err = true, nil
				}
				return err
			}); err != nil && ctx.Err() == nil {
				return 0, err
			}
		}
	}
	return pause, nil
}

// goOn continues a list that was paused since another account was signed in, unless a person has decided about it meanwhile.
func (r *Service) goOn(id string) (b office.Bulk, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		tx.GetDoc(docLists+id, &b)
		if b.State != office.BulkPaused || b.Problem != message.ListOfAnotherAccount(b.File) {
			return nil
		}
		b.State, b.Problem, b.Since = office.BulkRunning, message.Message{}, b.Next
		put(tx, b)
		return tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivitySent, List: id, Text: message.ListContinued(b.File)})
	})
	r.Signal(office.OutboxChanged)
	return b, err
}

func key(b office.Bulk) string { return "list " + b.ID }

// active reports whether there may be something to do for a list: to make drafts, or to wait for the last ones.
func active(b office.Bulk) bool {
	return b.State == office.BulkRunning || b.State != office.BulkDone && b.Next >= b.Lines
}

// turn is the next line of a list, with what is needed to make its draft.
type turn struct {
	list   office.Bulk
	line   line
	common office.Draft
	full   bool            // enough of its drafts wait in the outbox
	stalls message.Message // why the last ones were not sent
	done   bool            // it already became a package
	last   bool            // every line became a package, and none of them waits in the outbox
}

// next makes a draft of a list's next line, and reports whether there may be more to do.
func (r *Service) next(ctx context.Context, id string) (more bool, err error) {
	t, err := data.Read(r.Data, "the next line of a list", func(tx *store.Tx) (turn, error) { return readTurn(tx, id) })
	if err != nil || t.full || !active(t.list) {
		return false, err
	}
	if t.last {
		return false, r.end(id)
	}
	if sender := r.deps.Sender(); t.list.By != "" && t.list.By != sender {
		if sender == "" {
			return false, nil
		}
		return false, r.change(id, office.BulkPaused, message.ListOfAnotherAccount(t.list.File))
	}
	if !t.stalls.IsZero() {
		return false, r.change(id, office.BulkPaused, message.Then(message.ListStalled(t.list.File), t.stalls))
	}
	hand := func(problem message.Message) func(*store.Tx, *office.Draft) error {
		return func(tx *store.Tx, d *office.Draft) error {
			d.List = id
			return r.hand(tx, t, problem)
		}
	}
	if t.done {
		err = r.Data.Update(func(tx *store.Tx) error { return hand(message.Message{})(tx, new(office.Draft)) })
	} else {
		p := t.line.Package
		if p.Template = office.WithData(t.common.Template, t.line.Data); p.Template != nil {
			p.EmptyFields = true // already validated
		}
		err = r.deps.Send(ctx, t.common, t.line.Draft, p, hand(message.Message{}))
		switch why, passing, refused := r.deps.Refused(err); {
		case refused && passing:
			return false, r.change(id, office.BulkPaused, message.Then(message.ListStalled(t.list.File), why))
		case refused:
			err = r.Data.Update(func(tx *store.Tx) error { return hand(why)(tx, new(office.Draft)) })
		}
	}
	if err == nil {
		r.Signal(office.OutboxChanged)
	}
	return err == nil, err
}

func readTurn(tx *store.Tx, id string) (t turn, err error) {
	if tx.GetDoc(docLists+id, &t.list); !active(t.list) {
		return t, nil
	}
	waiting, _ := tx.Drafts(office.DraftQueued, office.DraftAdding)
	waiting = slices.DeleteFunc(waiting, func(d office.Draft) bool { return d.List != id })
	if t.list.Next >= t.list.Lines {
		t.last, t.full = len(waiting) == 0, len(waiting) > 0
		return t, nil
	}
	if ok, _ := tx.GetDoc(lineDoc(id, t.list.Next), &t.line); !ok { // an unreadable line is skipped
		t.done = true
		return t, nil
	}
	if t.common, _, err = tx.Draft(id); err != nil {
		return t, err
	}
	t.common.By = t.list.By
	if t.list.Away = t.common.Away; t.list.Away {
		t.full = true
		return t, nil
	}
	if t.full = len(waiting) >= ahead; t.full {
		return t, nil
	}
	_, known, err := tx.Draft(t.line.Draft)
	if err != nil {
		return t, err
	}
	_, sent := packageOf(tx, t.line.Draft)
	t.done = t.line.Handed || known || sent
	if t.list.Next-t.list.Since >= stalled {
		t.stalls, err = stalls(tx, t.list)
	}
	return t, err
}

// stalls returns why a list's last packages were not sent; empty if one was. Those that wait in the outbox may yet be.
func stalls(tx *store.Tx, b office.Bulk) (why message.Message, err error) {
	for n, tried := b.Next-1, 0; tried < stalled; n-- {
		var x line
		if n < b.Since {
			return message.Message{}, nil
		}
		if ok, _ := tx.GetDoc(lineDoc(b.ID, n), &x); !ok {
			return message.Message{}, nil
		}
		d, _, err := tx.Draft(x.Draft)
		if err != nil {
			return message.Message{}, err
		}
		switch {
		case !x.Problem.IsZero() && x.Problem != message.ListLineSent():
			why = cmp.Or(why, x.Problem)
		case d.State == office.DraftFailed, d.State == office.DraftUnknown:
			why = cmp.Or(why, d.Problem)
		case d.State == office.DraftQueued, d.State == office.DraftAdding:
			continue
		default:
			return message.Message{}, nil
		}
		tried++
	}
	return why, nil
}

var errTurned = errors.New("the list is not at that line any more")

// hand records, in the commit that stores a line's draft, that its turn is over.
func (r *Service) hand(tx *store.Tx, t turn, problem message.Message) error {
	var b office.Bulk
	tx.GetDoc(docLists+t.list.ID, &b)
	if b.State != office.BulkRunning || b.Next != t.list.Next {
		return errTurned
	}
	var x line
	if tx.GetDoc(lineDoc(b.ID, b.Next), &x); x.Draft != t.line.Draft || x.Handed != t.line.Handed {
		return errTurned
	}
	if !x.Handed {
		x.Handed, x.Problem = true, problem
	}
	if b.Next++; x.Draft != "" {
		tx.PutDoc(lineDoc(b.ID, t.list.Next), x)
	}
	return put(tx, b)
}

// end records that a list is done, unless it has been changed meanwhile.
func (r *Service) end(id string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		t, err := readTurn(tx, id)
		if err != nil || !t.last {
			return err
		}
		t.list.State, t.list.Problem = office.BulkDone, message.Message{}
		return errors.Join(r.deps.LetGo(tx, id), put(tx, t.list))
	})
	r.Signal(office.OutboxChanged)
	return err
}

// Forget lets go of the documents of lists that were stopped long ago.
func (r *Service) Forget() error {
	return r.Data.Update(func(tx *store.Tx) error {
		today, _ := tx.Day()
		all, _ := lists(tx)
		for _, b := range all {
			switch {
			case b.State != office.BulkStopped:
			case b.Day == 0:
				b.Day = today
				put(tx, b)
			case today-b.Day > keep:
				if err := r.deps.LetGo(tx, b.ID); err != nil {
					return err
				}
			}
		}
		return tx.Err()
	})
}

// kept reports whether the documents of a list are still there.
func kept(tx *store.Tx, id string) (bool, error) {
	d, _, err := tx.Draft(id)
	return d.State == office.DraftList, err
}

// Decide pauses a list, continues it (BulkRunning), or stops it: what the service does not have by then is sent only if the list
// continues. Stopping a list before it begins undoes it.
func (r *Service) Decide(id string, to office.BulkState) error {
	return r.change(id, to, message.Message{})
}

// change does so and records it. why is given for a list that pauses by itself.
func (r *Service) change(id string, to office.BulkState, why message.Message) (err error) {
	err = r.Data.Update(func(tx *store.Tx) (err error) {
		var b office.Bulk
		tx.GetDoc(docLists+id, &b)
		stopped := b.State == office.BulkStopped
		if b.State != office.BulkRunning && b.State != office.BulkPaused && (!stopped || b.Undone || to != office.BulkRunning) {
			if !why.IsZero() { // a person was faster
				return errTurned
			}
			return message.Error(message.ListIsOver(), nil)
		}
		if to == office.BulkRunning && b.Problem == message.ListOfAnotherAccount(b.File) { // the person who knows that and decides becomes the sender
			b.By = cmp.Or(r.deps.Sender(), b.By)
		}
		switch b.State, b.Problem = to, why; {
		case to == office.BulkStopped && b.Next == 0 && r.Now().Before(b.Begins):
			b.Undone, err = true, r.deps.LetGo(tx, id)
		case to == office.BulkStopped:
			err = r.takeBack(tx, &b)
		case stopped:
			err = claim(tx, b)
		}
		if err != nil {
			return err
		}
		b.Since, b.Day = b.Next, 0
		told := office.Activity{Time: r.Now(), Kind: office.ActivityProblem, List: id, Text: why}
		if why.IsZero() {
			says := map[office.BulkState]func(string) message.Message{office.BulkPaused: message.ListPaused, office.BulkRunning: message.ListContinued, office.BulkStopped: message.ListStopped}
			told.Kind, told.Text = office.ActivitySent, says[to](b.File)
		}
		put(tx, b)
		return tx.AddActivity(told)
	})
	r.deps.TookBack()
	r.Wake()
	r.Signal(office.OutboxChanged)
	return err
}

// Requeued is called in the commit in which a draft of a list waits again, because the service did not take it.
func (r *Service) Requeued(tx *store.Tx, id string) error {
	var b office.Bulk
	if tx.GetDoc(docLists+id, &b); b.State != office.BulkStopped {
		return nil
	}
	if err := r.takeBack(tx, &b); err != nil {
		return err
	}
	return put(tx, b)
}

// Replaced is called before the commit in which another draft takes the place of old: if that is a line's, so is the other one, also
// when it goes to other people.
func Replaced(tx *store.Tx, old, by office.Draft) {
	var list, there []sent
	tx.GetDoc(docSent+old.Who(), &list)
	tx.GetDoc(docSent+by.Who(), &there)
	for _, s := range list {
		var x line
		tx.GetDoc(lineDoc(s.List, s.Line), &x)
		d, known, _ := tx.LatestDraft(x.Draft)
		if !known || d.ID != old.ID || slices.ContainsFunc(there, func(t sent) bool { return t.List == s.List && t.Line == s.Line }) {
			continue
		}
		mark(tx, s.List, map[string][]sent{by.Who(): {{List: s.List, Line: s.Line}}})
	}
}

// takeBack takes back the waiting drafts of a list that is stopped, and gives their lines another turn. The IDs of their next drafts
// derive from the previous ones, so that a backup knows them, too.
func (r *Service) takeBack(tx *store.Tx, b *office.Bulk) error {
	back, err := r.deps.TakeBack(tx, b.ID)
	for n := b.Next - 1; err == nil && n >= 0; n-- {
		var x line
		if tx.GetDoc(lineDoc(b.ID, n), &x); x.Draft == "" || !slices.Contains(back, x.Draft) {
			continue
		}
		x.Draft, x.Handed, b.Next = nextDraft(x.Draft), false, n
		tx.PutDoc(lineDoc(b.ID, n), x)
	}
	return err
}

// nextDraft returns the ID of a line's next draft, after the one with that ID was taken back.
func nextDraft(id string) string { return uuid.NewSHA1(uuid.Nil, []byte(id)).String() }

// mostStops limits how many drafts of a line are followed, of which each took the place of the one before.
const mostStops = 16

// packageOf returns the package of a line's draft that the state does not know, or of a later one: the line was sent, or the list
// stopped and continued, after the backup that was restored.
func packageOf(tx *store.Tx, draft string) (p office.Package, ok bool) {
	for n := 0; n < mostStops && !ok; n, draft = n+1, nextDraft(draft) {
		p, ok, _ = tx.PackageByDraft(draft)
	}
	return p, ok
}

// claim gives the remaining lines of a stopped list back to it, as the last list that has them. Lines that another list has sent since,
// or will send, are not sent.
func claim(tx *store.Tx, b office.Bulk) error {
	switch there, err := kept(tx, b.ID); {
	case err != nil:
		return err
	case !there:
		return message.Error(message.ListForgotten(b.File), nil)
	}
	var rest []int
	var lines, over []office.BulkLine // over: what was sent of this list, and then perhaps again of another one
	for n := range b.Lines {
		var x line
		switch ok, _ := tx.GetDoc(lineDoc(b.ID, n), &x); {
		case ok && x.Handed:
			over = append(over, x.BulkLine)
		case ok:
			rest, lines = append(rest, n), append(lines, x.BulkLine)
		}
	}
	before, failed, err := known(tx, append(lines, over...), b.ID)
	if err != nil {
		return err
	}
	marks := map[string][]sent{}
	for i, n := range rest {
		var x line
		tx.GetDoc(lineDoc(b.ID, n), &x)
		x.Package.Replaces = append(x.Package.Replaces, failed[i]...)
		if x.Handed = before[i] != ""; x.Handed {
			x.Problem = message.ListLineSent()
		} else {
			marks[x.Who] = append(marks[x.Who], sent{x.What, b.ID, n})
		}
		tx.PutDoc(lineDoc(b.ID, n), x)
	}
	mark(tx, b.ID, marks)
	return nil
}

// Doubt pauses lists of which more may have been sent than the state knows.
func Doubt(tx *store.Tx) {
	all, _ := lists(tx)
	for _, b := range all {
		if b.State == office.BulkDone || b.Undone {
			continue
		}
		if b.Problem = message.ListRestored(b.File); b.State == office.BulkRunning {
			b.State = office.BulkPaused
		}
		put(tx, b)
	}
}

// Unfinished returns the file of a list with lines that are still to be sent; empty for none.
func Unfinished(tx *store.Tx) (file string, err error) {
	all, err := lists(tx)
	for _, b := range all {
		if b.Next < b.Lines && (b.State == office.BulkRunning || b.State == office.BulkPaused) {
			file = b.File
		}
	}
	return file, err
}

// Sent returns the lines that were sent, or may have been, for another computer that knows no list; see Adopt.
func Sent(tx *store.Tx) (known []office.SentLines, err error) {
	lists := map[string]office.Bulk{}
	for key, list := range store.Docs[[]sent](tx, docSent, "") {
		x := office.SentLines{Who: strings.TrimPrefix(key, docSent)}
		for _, s := range list {
			live, draft, _, err := alive(tx, lists, s)
			if err != nil {
				return nil, err
			}
			if draft != "" { // it counts only if the draft is brought over, too
				known = append(known, office.SentLines{Who: x.Who, Whats: []string{s.What}, Draft: draft})
			} else if live {
				x.Whats = append(x.Whats, s.What)
			}
		}
		if len(x.Whats) > 0 {
			known = append(known, x)
		}
	}
	return known, tx.Err()
}

// Adopt stores lines that another computer sent. They belong to no list here, and so count as sent.
func Adopt(tx *store.Tx, known []office.SentLines) {
	for _, x := range known {
		var list []sent
		tx.GetDoc(docSent+x.Who, &list)
		for _, what := range x.Whats {
			list = append(list, sent{What: what})
		}
		tx.PutDoc(docSent+x.Who, list)
	}
}

// Lists returns the lists, newest first.
func (r *Service) Lists() ([]office.Bulk, error) {
	all, err := data.Read(r.Data, "the lists", lists)
	slices.Reverse(all)
	return all, err
}

// List returns a list with the outcome of its lines. id may be a unique prefix.
func (r *Service) List(id string) (p office.BulkProgress, lines []office.BulkResult, known bool, err error) {
	_, err = data.Read(r.Data, "a list", func(tx *store.Tx) (none struct{}, err error) {
		all, err := lists(tx)
		all = slices.DeleteFunc(all, func(b office.Bulk) bool { return !strings.HasPrefix(b.ID, id) })
		if known = err == nil && id != "" && len(all) == 1; known {
			p, lines, err = results(tx, all[0])
		}
		return none, err
	})
	return p, lines, known, err
}

func results(tx *store.Tx, b office.Bulk) (p office.BulkProgress, list []office.BulkResult, err error) {
	there, err := kept(tx, b.ID)
	if err != nil && !store.OfOneRecord(err) {
		return p, nil, err
	}
	p.Bulk, p.Lines, p.Forgotten = b, b.Lines+b.Faulty, b.State == office.BulkStopped && !there && err == nil
	for n := range p.Lines {
		var x line
		tx.GetDoc(lineDoc(b.ID, n), &x)
		x.Handed = x.Handed || x.Draft == "" // unreadable
		res := office.BulkResult{ListRow: x.ListRow, Name: x.Package.Name, Problem: x.Problem}
		if x.Handed && x.Problem.IsZero() {
			d, ok, err := tx.LatestDraft(x.Draft)
			if err != nil && !store.OfOneRecord(err) {
				return p, nil, err
			}
			if res.State, res.PackageID, res.Problem = d.State, d.PackageID, d.Problem; !ok {
				known, _ := packageOf(tx, x.Draft)
				if res.State, res.PackageID = office.DraftSent, known.ID; known.ID == "" {
					res.State = office.DraftUnknown
				}
			}
		} else if x.Handed {
			res.State = office.DraftFailed
		} else if known, ok := packageOf(tx, x.Draft); ok {
			res.State, res.PackageID = office.DraftSent, known.ID
		}
		switch res.State {
		case office.DraftSent:
			p.Sent++
		case office.DraftFailed, office.DraftCancelled:
			p.Wrong++
		case office.DraftUnknown:
			p.Unknown++
		default:
			p.Open++
		}
		list = append(list, res)
	}
	slices.SortStableFunc(list, func(a, b office.BulkResult) int { return a.Line - b.Line })
	return p, list, nil
}
