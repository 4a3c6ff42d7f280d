package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/message"
	"countersign/internal/office"
)

// foldersCmd is about the folders that send. Each of its commands prints the folders as they are then.
type foldersCmd struct {
	List   foldersListCmd   `cmd:"" default:"withargs" help:"Show the folders that send."`
	Add    foldersAddCmd    `cmd:"" help:"Send what appears in a folder, or change how that is done."`
	Remove foldersRemoveCmd `cmd:"" help:"Send nothing from a folder any more. Its files stay."`
}

type foldersListCmd struct {
	JSON bool `name:"json" help:"Print JSON, as README.md documents it."`
}

type foldersAddCmd struct {
	Folder     string   `arg:"" help:"The folder; it is made where it is missing."`
	To         []string `required:"" complete:"person" sep:"none" help:"A signer; repeat it for more, in their order." placeholder:"\"NAME <E-MAIL>\""`
	Name       string   `help:"Name of the packages; {document} and {date} are filled in." default:"{document}"`
	Message    string   `help:"A message to the signers."`
	Sequential bool     `help:"One signs after the other, in the order of --to."`
	DueDays    int      `help:"Sign within so many days." placeholder:"N"`
	Ask        bool     `help:"Send nothing before somebody says so in the window."`
	Pause      bool     `help:"Send nothing for now."`
	JSON       bool     `name:"json" help:"Print JSON, as README.md documents it."`
}

type foldersRemoveCmd struct {
	Folder string `arg:"" help:"The folder, or its id."`
	JSON   bool   `name:"json" help:"Print JSON, as README.md documents it."`
}

// pathFolders is foldersRequest's path on the control socket.
const pathFolders = "/folders"

// foldersRequest changes the folders that send, unless it is empty.
type foldersRequest struct {
	Put    *office.HotFolder `json:"put,omitempty"`
	Remove string            `json:"remove,omitempty"` // an absolute path, or any that ends with an id
}

func (c *controller) Folders(_ context.Context, change foldersRequest) ([]office.HotFolderRow, error) {
	rows, err := c.agent.HotFolders()
	if err != nil {
		return nil, err
	}
	find := func(name string) (office.HotFolder, bool) {
		i := slices.IndexFunc(rows, func(f office.HotFolderRow) bool { return f.Path == name || f.ID == filepath.Base(name) })
		if i < 0 {
			return office.HotFolder{}, false
		}
		return rows[i].HotFolder, true
	}
	switch {
	case change.Put != nil:
		f := *change.Put
		if old, known := find(f.Path); known {
			f.ID = old.ID
		}
		_, err = c.agent.PutHotFolder(f)
	case change.Remove != "":
		f, known := find(change.Remove)
		if !known {
			return nil, message.Error(message.SendFolderUnknown(filepath.Base(change.Remove)), errors.New("unknown folder"))
		}
		_, err = c.agent.RemoveHotFolder(f.ID)
	default:
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	return c.agent.HotFolders()
}

func (r *remote) Folders(ctx context.Context, change foldersRequest) (rows []office.HotFolderRow, err error) {
	err = r.call(ctx, pathFolders, change, func(m reply) error {
		rows = m.Folders
		return nil
	})
	return rows, err
}

func (c *foldersListCmd) Run(r *run) error { return r.folders(foldersRequest{}, c.JSON) }

func (c *foldersAddCmd) Run(r *run) error {
	path, err := filepath.Abs(c.Folder)
	if err != nil {
		return err
	}
	f := office.HotFolder{Path: path, Name: c.Name, Message: c.Message, Sequential: c.Sequential, DueDays: c.DueDays, Ask: c.Ask, Paused: c.Pause}
	for _, to := range c.To {
		s, err := parseSigner(to)
		if err != nil {
			return err
		}
		f.Signers = append(f.Signers, s)
	}
	return r.folders(foldersRequest{Put: &f}, c.JSON)
}

func (c *foldersRemoveCmd) Run(r *run) error {
	path, err := filepath.Abs(c.Folder)
	if err != nil {
		return err
	}
	return r.folders(foldersRequest{Remove: path}, c.JSON)
}

// folders has the office change its folders, and prints them.
func (r *run) folders(change foldersRequest, asJSON bool) error {
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	rows, err := o.Folders(r.ctx, change)
	if err != nil {
		return err
	}
	if asJSON {
		return r.out.JSON(listedFolders(rows))
	}
	if len(rows) == 0 {
		return r.out.Line("No folder sends.")
	}
	for _, f := range rows {
		if err := r.out.Line("%s: %s", f.Path, foldersLine(f)); err != nil {
			return err
		}
	}
	return nil
}

// folderList is what folders --json prints.
type folderList struct {
	Folders []listedFolder `json:"folders"`
}

// listedFolder is a folder that sends as folders --json prints it. Its fields are stable, always there, and documented in
// README.md.
type listedFolder struct {
	ID         string         `json:"id"`
	Path       string         `json:"path"`
	Signers    []folderSigner `json:"signers"`
	Sequential bool           `json:"sequential"`
	Name       string         `json:"name"`
	Message    string         `json:"message"`
	DueDays    int            `json:"due_days"`
	Ask        bool           `json:"ask"`
	Paused     bool           `json:"paused"`
	Waiting    int            `json:"waiting"`
	Problem    string         `json:"problem"`
}

type folderSigner struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

func listedFolders(rows []office.HotFolderRow) folderList {
	out := folderList{[]listedFolder{}}
	for _, f := range rows {
		l := listedFolder{
			ID: f.ID, Path: f.Path, Signers: []folderSigner{}, Sequential: f.Sequential, Name: f.Name, Message: f.Message,
			DueDays: f.DueDays, Ask: f.Ask, Paused: f.Paused, Waiting: f.Waiting, Problem: f.Problem.String(),
		}
		for _, s := range f.Signers {
			l.Signers = append(l.Signers, folderSigner{s.FirstName, s.LastName, s.Email})
		}
		out.Folders = append(out.Folders, l)
	}
	return out
}

// foldersLine is a folder in a few words.
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
