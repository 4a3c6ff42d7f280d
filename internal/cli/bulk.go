package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

// bulkFlags are the flags of send that go with --list.
type bulkFlags struct {
	List  string `help:"One package for each line of this list (.csv, .xlsx): its columns say who signs. {column} stands for its cell in --name, --message and --field." placeholder:"FILE"`
	Again bool   `help:"With --list: send the lines, too, that were sent before."`
	Check bool   `help:"With --list: say what is wrong with the list, and send nothing."`
}

// bulkRequest asks for a list to be sent.
type bulkRequest struct {
	Path   string            `json:"path"`
	Common office.NewPackage `json:"common"`
	Again  bool              `json:"again,omitempty"`
	Check  bool              `json:"check,omitempty"`
}

// bulkAnswer says what is wrong with a list, or how far sending it has got.
type bulkAnswer struct {
	List     office.BulkList     `json:"list"` // only its faulty lines
	Lines    int                 `json:"lines"`
	Left     int                 `json:"left"` // lines to be sent
	Before   int                 `json:"before"`
	Waiting  int                 `json:"waiting"` // of those before: in a list that is not sent to its end
	Progress office.BulkProgress `json:"progress"`
	Results  []office.BulkResult `json:"results,omitempty"` // at the end: those that were not sent
}

// sendList reads, checks and sends a list, and reports progress until it is over, paused, or the caller goes away.
func (l *local) sendList(ctx context.Context, q bulkRequest, tell func(bulkAnswer) error) (a bulkAnswer, err error) {
	changes, stop := l.agent.Watch()
	defer stop()
	list, err := l.agent.PrepareList(ctx, q.Path, q.Common, "")
	if err != nil {
		return a, err
	}
	a.List, a.Lines, a.Left = list, len(list.Lines), len(list.Left(q.Again))
	a.List.Lines = nil
	for _, line := range list.Lines {
		if len(line.Wrong) > 0 {
			a.List.Lines = append(a.List.Lines, line)
		}
		if line.Before != "" {
			a.Before++
		}
		if line.Before == office.BeforeWaiting {
			a.Waiting++
		}
	}
	if q.Check || len(a.List.Wrong)+len(a.List.Lines) > 0 || a.Left == 0 {
		return a, nil
	}
	id, err := l.agent.SendList(ctx, list, q.Again, 0)
	if err != nil {
		return a, err
	}
	a.Progress.ID = id
	for last := -1; ; {
		p, results, _, err := l.agent.SentList(id)
		if err != nil {
			return a, err
		}
		a.Progress = p
		if p.Over() || p.State == office.BulkPaused {
			for _, r := range results {
				if r.State != office.DraftSent {
					a.Results = append(a.Results, r)
				}
			}
			return a, nil
		}
		if p.Open != last {
			last = p.Open
			_ = tell(a) // the final answer repeats it
		}
		select {
		case <-ctx.Done():
			return a, &failure{message.WaitingStopped().String()}
		case <-changes:
		case <-time.After(time.Minute):
		}
		select { // limits how often thousands of lines are read again
		case <-ctx.Done():
		case <-time.After(3 * time.Second):
		}
	}
}

func (c *sendCmd) sendList(r *run, o *instance, d office.NewPackage) error {
	path, err := filepath.Abs(c.List)
	if err != nil {
		return err
	}
	a, err := callSendList.news(r.ctx, o, bulkRequest{path, d, c.Again, c.Check}, func(a bulkAnswer) error {
		return r.err.Progress(fmt.Sprintf("%d of %d sent", a.Progress.Sent, a.Progress.Lines))
	})
	_ = r.err.Progress("")
	switch {
	case r.ctx.Err() != nil:
		return &failure{message.WaitingStopped().String()}
	case errors.Is(err, errSilent): // the list is stored, and sending continues
		return &failure{"Countersign ended before it said whether the list was sent. Look at countersign lists before sending it again."}
	case err != nil:
		return err
	}
	if err := printWrong(r.out, a.List); err != nil {
		return err
	}
	waiting := fmt.Sprintf("%d lines are in a list that is not sent to its end: see countersign lists.", a.Waiting)
	switch p := a.Progress; {
	case len(a.List.Wrong) > 0:
		return &failure{a.List.Wrong[0].String()}
	case len(a.List.Lines) > 0:
		return &failure{fmt.Sprintf("Nothing was sent, since something is wrong in %s: %d of %d lines.", filepath.Base(path), len(a.List.Lines), a.Lines)}
	case c.Check:
		if err := r.out.Line("%d packages would be sent; %d were sent before.", a.Left, a.Before-a.Waiting); err != nil || a.Waiting == 0 {
			return err
		}
		return r.out.Line("%s", waiting)
	case a.Waiting > 0 && a.Left == 0:
		return &failure{"Nothing was sent. " + waiting}
	case a.Left == 0:
		return r.out.Line("Nothing to send: every line was sent before. Send them again with --again.")
	default:
		for _, x := range a.Results {
			err = errors.Join(err, r.out.Line("line %d: %s", x.Line, cmp.Or(x.Problem.String(), "not sent")))
		}
		if sent := a.Before - a.Waiting; sent > 0 && !c.Again {
			err = errors.Join(err, r.out.Line("%d lines were sent before and left out.", sent))
		}
		if a.Waiting > 0 {
			err = errors.Join(err, r.out.Line("%s", waiting))
		}
		err = errors.Join(err, r.out.Line("Sent %d of %d packages. List %s", p.Sent, p.Lines, p.ID))
		if err != nil || p.Sent == p.Lines {
			return err
		}
		return &failure{cmp.Or(p.Problem.String(), fmt.Sprintf("%d packages were not sent, and %d are unconfirmed.", p.Lines-p.Sent-p.Unknown, p.Unknown))}
	}
}

// printWrong prints what is wrong with the cells of a list, a line each.
func printWrong(w *terminal.Writer, l office.BulkList) (err error) {
	for _, line := range l.Lines {
		for _, x := range line.Wrong {
			at := fmt.Sprint("line ", line.Line)
			if x.Column >= 0 {
				at += ", " + l.Columns[x.Column].Head
			}
			err = errors.Join(err, w.Line("%s: %s", at, x.Text))
		}
	}
	return err
}

// listsCmd shows and controls the lists that were sent.
type listsCmd struct {
	ID     string `arg:"" optional:"" help:"A list, or the beginning of its ID; all of them when left out."`
	CSV    string `name:"csv" help:"Write what became of its lines to a new file." placeholder:"FILE"`
	Pause  bool   `xor:"do" help:"Send no more of it for now."`
	Resume bool   `xor:"do" help:"Go on with it."`
	Stop   bool   `xor:"do" help:"Send no more of it."`
	jsonFlag
}

type listsRequest struct {
	ID string           `json:"id,omitempty"`
	To office.BulkState `json:"to,omitempty"`
}

type listsAnswer struct {
	Lists []office.BulkProgress `json:"lists"`
	Lines []office.BulkResult   `json:"lines,omitempty"`
}

func (l *local) bulkLists(_ context.Context, q listsRequest) (a listsAnswer, err error) {
	if q.ID == "" {
		all, err := l.agent.Lists()
		for _, b := range all {
			p, _, _, failed := l.agent.SentList(b.ID)
			a.Lists, err = append(a.Lists, p), errors.Join(err, failed)
		}
		return a, err
	}
	p, _, known, err := l.agent.SentList(q.ID)
	switch {
	case err != nil:
		return a, err
	case !known:
		return a, &failure{fmt.Sprintf("There is no list %q. List them with countersign lists.", q.ID)}
	}
	if q.To != "" {
		if err := l.agent.DecideList(p.ID, q.To); err != nil {
			return a, err
		}
	}
	p, a.Lines, _, err = l.agent.SentList(p.ID)
	a.Lists = []office.BulkProgress{p}
	return a, err
}

func (c *listsCmd) Run(r *run) error {
	q := listsRequest{ID: c.ID}
	for to, wanted := range map[office.BulkState]bool{office.BulkPaused: c.Pause, office.BulkRunning: c.Resume, office.BulkStopped: c.Stop} {
		if wanted {
			q.To = to
		}
	}
	if c.ID == "" && (c.CSV != "" || q.To != "") {
		return &usage{"--csv, --pause, --resume and --stop go with the ID of a list."}
	}
	a, err := callLists.alone(r, idle, q)
	if err != nil {
		return err
	}
	if c.CSV != "" {
		file, err := os.OpenFile(c.CSV, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return &failure{fmt.Sprintf("%s cannot be written, or is there already.", c.CSV)}
		}
		if err := errors.Join(office.WriteCSV(file, slices.Values(office.BulkTable(a.Lists[0].Bulk, a.Lines, message.Message.String)), ','), file.Close()); err != nil {
			return err
		}
	}
	return c.print(r, listedBulk(a), func(w *terminal.Writer) (err error) {
		for _, p := range a.Lists {
			err = errors.Join(err, w.Line("%s  %s  %s  %d of %d sent, %d not sent, %d unconfirmed", p.ID, p.Created.Local().Format(time.DateTime), p.State, p.Sent, p.Lines, p.Wrong, p.Unknown),
				w.Line("  %s", strings.TrimSpace(p.File+" "+p.Problem.String())))
		}
		return err
	})
}

// bulkLists is what lists --json prints. Its fields are stable, always there, and documented in assets/docs/admin.md.
type bulkLists struct {
	Lists []listedList `json:"lists"`
}

type listedList struct {
	ID      string           `json:"id"`
	File    string           `json:"file"`
	Created time.Time        `json:"created"`
	State   office.BulkState `json:"state"` // running, paused, stopped, done (nothing of it waits)
	Lines   int              `json:"lines"`
	Sent    int              `json:"sent"`
	NotSent int              `json:"not_sent"` // refused or taken back
	Unknown int              `json:"unknown"`  // with an unknown outcome
	Problem string           `json:"problem"`  // why it was paused
	Results []listedResult   `json:"results"`  // of one list alone, null of all
}

type listedResult struct {
	Line      int               `json:"line"` // of the file
	Name      string            `json:"name"`
	State     office.DraftState `json:"state"` // as in "outbox"; empty while its turn has not come
	PackageID string            `json:"package_id"`
	Problem   string            `json:"problem"`
}

func listedBulk(a listsAnswer) bulkLists {
	return bulkLists{each(a.Lists, func(p office.BulkProgress) listedList {
		l := listedList{ID: p.ID, File: p.File, Created: p.Created, State: p.State, Lines: p.Lines, Sent: p.Sent, NotSent: p.Wrong, Unknown: p.Unknown, Problem: p.Problem.String()}
		for _, x := range a.Lines {
			l.Results = append(l.Results, listedResult{x.Line, x.Name, x.State, x.PackageID, x.Problem.String()})
		}
		return l
	})}
}
