// Package officetest is an office made of values, for tests of the window and for looking at it. It behaves like the
// agent where the window can tell: it remembers settings, tells watchers, and sends and signs in when it is told to.
package officetest

import (
	"context"
	"fmt"
	"image"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Office is the office. Its exported fields may be changed before it is handed over, later only through Change.
type Office struct {
	mu       sync.Mutex
	Unread   error // why nothing can be read; nil when it can
	State    agent.Status
	Rows     []office.PackageRow
	Happened []office.Activity
	Waiting  []office.Draft
	Asked    int  // how often CheckNow was called
	Patient  bool // what was pressed waits until Pass; else it is done at once
	pressed  int  // how often Send was, for ids
	passed   []func()
	Typed    office.Form
	Kept     office.Settings
	Secret   office.Secrets
	Pages    map[string]string       // signer or package id to the address of the page
	Origins  map[string]office.Draft // package id to the draft it was sent from
	Pictures map[string]image.Image  // file name to page 1
	Files    []office.Job            // saved last
	Known    []office.Signer
	Arrived  []office.Event // newest first
	Turned   []agent.Refusal
	Folders  []office.HotFolderRow
	Arriving string    // the folder for what is dropped without a place of its own
	Quiet    time.Time // notifications are paused until then
	watchers map[chan office.Change]bool

	// OnSend decides how sending ends; nil accepts at once. OnSignIn decides how signing in ends; nil waits for Paste.
	OnSend      func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error)
	OnSignIn    func(ctx context.Context, o agent.SignInOptions, open func(string) error) error
	OnConfigure func(office.Settings, office.Secrets) error
	OnAct       func(agent.Issue) error // why an action did not help; nil does

	OnInspect     func(path string) agent.FileInfo
	OnTestService func(office.Settings) error
	OnTestTunnel  func(office.Settings, office.Secrets) (string, error)
	OnPreviewName func(office.Settings) (string, error)

	Steps []office.Check // of the connection, as they are known; OnTry decides how they end, nil finds all fine
	OnTry func([]office.Check) []office.Check

	OnWithdraw    func(id string) (office.WithdrawalState, message.Message) // how it ends; nil withdraws
	NoWithdrawing bool                                                      // the service cannot

	Withdrawn []office.NewWithdrawal

	Sent       []office.NewPackage
	Acted      []agent.Issue
	SavedAgain []string // packages to be saved again

	Exports  []string        // what was to be exported: "folder: ids"
	OnExport office.Exported // and what becomes of it

	Entered            *agent.FirstRun             // what the first run kept
	locked             bool                        // the keyring, so that nothing of that can be kept or read
	MovedTo, BroughtTo string                      // see MoveOut and MoveIn
	Handed             map[string]agent.OfficeFile // files of administrators, by path

	Cancelled []string

	Library     []office.Template // of the service; OnTemplates decides instead where it is set
	NoLibrary   bool              // the service has none, and has said so
	Used        []office.UsedTemplate
	OnTemplates func(search string) ([]office.Template, error)
	paste       chan string

	Newest    office.Update // what is known of newer versions
	Release   office.Update // what a question finds
	NoUpdate  error         // what a question or an installation fails with
	Installed int

	Rules []string // the settings that an administrator has fixed
}

// Change changes the office and tells the watchers.
func (o *Office) Change(kind office.Change, change func(o *Office)) {
	o.mu.Lock()
	change(o)
	watchers := make([]chan office.Change, 0, len(o.watchers))
	for c := range o.watchers {
		watchers = append(watchers, c)
	}
	o.mu.Unlock()
	for _, c := range watchers {
		select {
		case c <- kind:
		default: // merged with the one that waits
		}
	}
}

func read[T any](o *Office, f func() T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return f()
}

// kept is read for what the office keeps on disk.
func kept[T any](o *Office, f func() T) (found T, err error) {
	if err := o.unread(); err != nil {
		return found, err
	}
	return read(o, f), nil
}

func (o *Office) unread() error { return read(o, func() error { return o.Unread }) }

// Status and the following are env.Office.
func (o *Office) Status() (agent.Status, error) {
	return read(o, func() agent.Status { return o.State }), o.unread()
}

// Activity is env.Office's.
func (o *Office) Activity(limit int) ([]office.Activity, error) {
	return kept(o, func() []office.Activity {
		return append([]office.Activity{}, o.Happened[:min(limit, len(o.Happened))]...)
	})
}

// Drafts is env.Office's.
func (o *Office) Drafts() ([]office.Draft, error) {
	return kept(o, func() []office.Draft { return append([]office.Draft{}, o.Waiting...) })
}

// Settings is env.Office's.
func (o *Office) Settings() office.Settings { return read(o, func() office.Settings { return o.Kept }) }

// HasSecrets is env.Office's.
func (o *Office) HasSecrets() (clientSecret, ngrokToken bool, err error) {
	s := read(o, func() office.Secrets { return o.Secret })
	return s.ClientSecret != "", s.NgrokAuthtoken != "", o.unread()
}

// Configure is env.Office's.
func (o *Office) Configure(_ context.Context, s office.Settings, secrets office.Secrets) error {
	s = s.Normal()
	if bad := s.Check(); len(bad) > 0 {
		return &agent.ConfigError{Fields: bad}
	}
	if o.OnConfigure != nil {
		if err := o.OnConfigure(s, secrets); err != nil {
			return err
		}
	}
	o.Change(office.SettingsChanged, func(o *Office) {
		o.Kept = s
		if secrets.ClientSecret != "" {
			o.Secret.ClientSecret = secrets.ClientSecret
		}
		if secrets.NgrokAuthtoken != "" {
			o.Secret.NgrokAuthtoken = secrets.NgrokAuthtoken
		}
	})
	return nil
}

// SignIn is env.Office's.
func (o *Office) SignIn(ctx context.Context, options agent.SignInOptions, open func(string) error) error {
	pasted := make(chan string, 1)
	o.Change(office.StatusChanged, func(o *Office) { o.paste = pasted })
	if o.OnSignIn != nil {
		if err := o.OnSignIn(ctx, options, open); err != nil {
			return err
		}
	} else {
		if err := open("https://sign.example.com/connect/authorize"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pasted:
		}
	}
	o.Change(office.StatusChanged, func(o *Office) {
		o.State.SignedIn, o.State.Account.Email = true, "office@example.com"
	})
	return nil
}

// Paste is env.Office's.
func (o *Office) Paste(address string) error {
	pasted := read(o, func() chan string { return o.paste })
	if pasted == nil {
		return message.Error(message.NotExpected(), nil)
	}
	if len(address) < 8 || address[:8] != "https://" {
		return message.Error(message.PasteWholeAddress(), nil)
	}
	pasted <- address
	return nil
}

// SignOut is env.Office's.
func (o *Office) SignOut(context.Context) error {
	o.Change(office.StatusChanged, func(o *Office) { o.State.SignedIn, o.State.Account = false, agent.Account{} })
	return nil
}

// Templates is env.Office's.
func (o *Office) Templates(_ context.Context, search string) ([]office.Template, error) {
	if o.OnTemplates != nil {
		return o.OnTemplates(search)
	}
	return kept(o, func() []office.Template {
		return slices.DeleteFunc(append([]office.Template{}, o.Library...), func(t office.Template) bool { return !t.Mentions(search) })
	})
}

// TemplatesOffered is env.Office's.
func (o *Office) TemplatesOffered() bool { return read(o, func() bool { return !o.NoLibrary }) }

// UsedTemplates is env.Office's.
func (o *Office) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return kept(o, func() []office.UsedTemplate { return slices.Clone(o.Used[:min(len(o.Used), limit)]) })
}

// KeepForm is env.Office's.
func (o *Office) KeepForm(form office.Form) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Typed = form
}

// Form is env.Office's.
func (o *Office) Form() office.Form { return read(o, func() office.Form { return o.Typed }) }

// Act is env.Office's.
func (o *Office) Act(_ context.Context, issue agent.Issue) error {
	if o.OnAct != nil {
		return o.OnAct(issue)
	}
	o.Change(office.StatusChanged, func(o *Office) {
		o.Acted = append(o.Acted, issue)
		o.State.Health = nil
	})
	return nil
}

// Watch is env.Office's.
func (o *Office) Watch() (<-chan office.Change, func()) {
	c := make(chan office.Change, 8)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watchers == nil {
		o.watchers = map[chan office.Change]bool{}
	}
	o.watchers[c] = true
	return c, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.watchers, c)
	}
}

// SignerPage is env.Office's.
func (o *Office) SignerPage(_ context.Context, _, signerID string) (string, error) {
	if page := read(o, func() string { return o.Pages[signerID] }); page != "" {
		return page, nil
	}
	return "", message.Error(message.NoLinks(), agent.ErrNoLinks)
}

// Must is what an office has read that can read everything.
func Must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}

// Must2 is what is found of an office that can read everything and has it.
func Must2[T any](found T, known bool, err error) T {
	if err != nil || !known {
		panic(fmt.Sprint("not found: ", err))
	}
	return found
}
