package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

// foldersCmd manages the watched folders. After a change, each of its commands prints them.
type foldersCmd struct {
	List   foldersListCmd   `cmd:"" default:"withargs" help:"Show the watched folders."`
	Add    foldersAddCmd    `cmd:"" help:"Send what appears in a folder, or change how that is done: what is not named stays as it is."`
	Pause  foldersPauseCmd  `cmd:"" help:"Send nothing from a folder for now."`
	Resume foldersResumeCmd `cmd:"" help:"Send from a paused folder again."`
	Remove foldersRemoveCmd `cmd:"" help:"Stop sending from a folder. Its files stay."`
}

type foldersListCmd struct{ jsonFlag }

type foldersAddCmd struct {
	Folder string   `arg:"" help:"The folder; it is made where it is missing."`
	To     []string `sep:"none" help:"A signer; repeat it for more, in their order. A new folder needs one." placeholder:"\"NAME <E-MAIL>\""`
	folderChange
	jsonFlag
}

type (
	foldersPauseCmd  struct{ namedFolder }
	foldersResumeCmd struct{ namedFolder }
	foldersRemoveCmd struct{ namedFolder }
)

type namedFolder struct {
	Folder string `arg:"" help:"The folder, or its id."`
	jsonFlag
}

// foldersRequest changes one of the watched folders, or none if it names none.
type foldersRequest struct {
	Folder string        `json:"folder,omitempty"` // its id, or its path as typed
	Path   string        `json:"path,omitempty"`   // absolute
	Add    bool          `json:"add,omitempty"`    // add it if it is not one yet
	Remove bool          `json:"remove,omitempty"`
	Change *folderChange `json:"change,omitempty"`
}

// folderChange is a change to a watched folder, with the same JSON names; nil fields stay as they are.
type folderChange struct {
	Signers    []office.Signer `json:"signers,omitempty" kong:"-"` // from --to
	Name       *string         `json:"name,omitempty" help:"Name of the packages; {document} and {date} are filled in. {document} at first."`
	Message    *string         `json:"message,omitempty" help:"A message to the signers."`
	Sequential *bool           `json:"sequential,omitempty" negatable:"" help:"One signs after the other, in the order of --to."`
	DueDays    *int            `json:"due_days,omitempty" help:"Sign within so many days; 0 for no due date." placeholder:"N"`
	Ask        *bool           `json:"ask,omitempty" negatable:"" help:"Send nothing before somebody says so in the window."`
	Paused     *bool           `json:"paused,omitempty" name:"pause" negatable:"" help:"Send nothing for now."`
}

func (l *local) folders(_ context.Context, q foldersRequest) ([]office.HotFolderRow, error) {
	rows, err := l.agent.HotFolders()
	if err != nil || q.Folder == "" {
		return rows, err
	}
	f := office.HotFolder{Path: q.Path}
	i := slices.IndexFunc(rows, func(f office.HotFolderRow) bool { return f.Path == q.Path || f.ID == q.Folder })
	if i >= 0 {
		f = rows[i].HotFolder
	} else if !q.Add {
		return nil, message.Error(message.SendFolderUnknown(filepath.Base(q.Folder)), errors.New("unknown folder"))
	}
	if q.Remove {
		_, err = l.agent.RemoveHotFolder(f.ID)
	} else if q.Change != nil {
		_, err = l.agent.PutHotFolder(changed(f, q.Change))
	}
	if err != nil {
		return nil, err
	}
	return l.agent.HotFolders()
}

func (c *foldersListCmd) Run(r *run) error { return c.folders(r, foldersRequest{}) }

func (c *foldersAddCmd) Run(r *run) error {
	for _, to := range c.To {
		s, err := parseSigner(to)
		if err != nil {
			return err
		}
		c.Signers = append(c.Signers, s)
	}
	return c.folders(r, foldersRequest{Folder: c.Folder, Add: true, Change: &c.folderChange})
}

func (c *foldersPauseCmd) Run(r *run) error {
	return c.folders(r, foldersRequest{Folder: c.Folder, Change: &folderChange{Paused: new(true)}})
}

func (c *foldersResumeCmd) Run(r *run) error {
	return c.folders(r, foldersRequest{Folder: c.Folder, Change: &folderChange{Paused: new(false)}})
}

func (c *foldersRemoveCmd) Run(r *run) error {
	return c.folders(r, foldersRequest{Folder: c.Folder, Remove: true})
}

// folders applies a change to the watched folders and prints them.
func (f jsonFlag) folders(r *run, q foldersRequest) (err error) {
	if q.Folder != "" {
		if q.Path, err = filepath.Abs(q.Folder); err != nil {
			return err
		}
	}
	rows, err := callFolders.alone(r, idle, q)
	if err != nil {
		return err
	}
	return f.print(r, listedFolders(rows), func(w *terminal.Writer) (err error) {
		if len(rows) == 0 {
			return w.Line("No folder sends.")
		}
		for _, f := range rows {
			err = errors.Join(err, w.Line("%s: %s", f.Path, foldersLine(f)))
		}
		return err
	})
}

// folderList is what folders --json prints.
type folderList struct {
	Folders []listedFolder `json:"folders"`
}

// listedFolder is a folder that sends as folders --json prints it. Its fields are stable, always there, and documented in
// assets/docs/admin.md.
type listedFolder struct {
	ID         string         `json:"id"`
	Path       string         `json:"path"`
	Signers    []folderSigner `json:"signers"`
	Sequential bool           `json:"sequential"` // they sign in this order
	Name       string         `json:"name"`       // of the packages, with placeholders; empty for `{document}`
	Message    string         `json:"message"`    // to the signers
	DueDays    int            `json:"due_days"`   // days to sign; 0 for no due date
	Ask        bool           `json:"ask"`
	Paused     bool           `json:"paused"`
	Waiting    int            `json:"waiting"` // documents that are taken, and that the service does not have yet
	Problem    string         `json:"problem"` // what keeps the folder from sending, in words
}

type folderSigner struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

func listedFolders(rows []office.HotFolderRow) folderList {
	signer := func(s office.Signer) folderSigner { return folderSigner{s.FirstName, s.LastName, s.Email} }
	return folderList{each(rows, func(f office.HotFolderRow) listedFolder {
		return listedFolder{
			ID: f.ID, Path: f.Path, Signers: each(f.Signers, signer), Sequential: f.Sequential, Name: f.Name, Message: f.Message,
			DueDays: f.DueDays, Ask: f.Ask, Paused: f.Paused, Waiting: f.Waiting, Problem: f.Problem.String(),
		}
	})}
}

func foldersLine(f office.HotFolderRow) string {
	var people []string
	for _, s := range f.Signers {
		people = append(people, s.DisplayName())
	}
	how := "sends at once"
	if f.Ask {
		how = "asks first"
	}
	if f.Paused {
		how = "pauses"
	}
	line := fmt.Sprintf("%s, to %s", how, strings.Join(people, ", "))
	if f.Waiting > 0 {
		line += fmt.Sprintf("; %d waiting", f.Waiting)
	}
	if !f.Problem.IsZero() {
		line += "; " + f.Problem.String()
	}
	return line
}
