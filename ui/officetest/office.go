// Package officetest is an office made of values, for tests of the window and for looking at it. It behaves like the
// agent where the window can tell: it remembers settings, tells watchers, and sends and signs in when it is told to.
package officetest

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
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

// Status and the following are the agent's.
func (o *Office) Status() (agent.Status, error) {
	return read(o, func() agent.Status { return o.State }), o.unread()
}

func (o *Office) Activity(limit int) ([]office.Activity, error) {
	return kept(o, func() []office.Activity {
		return append([]office.Activity{}, o.Happened[:min(limit, len(o.Happened))]...)
	})
}

func (o *Office) Drafts() ([]office.Draft, error) {
	return kept(o, func() []office.Draft { return append([]office.Draft{}, o.Waiting...) })
}

func (o *Office) Settings() office.Settings { return read(o, func() office.Settings { return o.Kept }) }

func (o *Office) HasSecrets() (clientSecret, ngrokToken bool, err error) {
	s := read(o, func() office.Secrets { return o.Secret })
	return s.ClientSecret != "", s.NgrokAuthtoken != "", o.unread()
}

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

func (o *Office) SignOut(context.Context) error {
	o.Change(office.StatusChanged, func(o *Office) { o.State.SignedIn, o.State.Account = false, agent.Account{} })
	return nil
}

func (o *Office) Templates(_ context.Context, search string) ([]office.Template, error) {
	if o.OnTemplates != nil {
		return o.OnTemplates(search)
	}
	return kept(o, func() []office.Template {
		return slices.DeleteFunc(append([]office.Template{}, o.Library...), func(t office.Template) bool { return !t.Mentions(search) })
	})
}

func (o *Office) TemplatesOffered() bool { return read(o, func() bool { return !o.NoLibrary }) }

func (o *Office) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return kept(o, func() []office.UsedTemplate { return slices.Clone(o.Used[:min(len(o.Used), limit)]) })
}

func (o *Office) KeepForm(form office.Form) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Typed = form
}

func (o *Office) Form() office.Form { return read(o, func() office.Form { return o.Typed }) }

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

// English loads the translations for a process whose system speaks English, whatever the computer's does: tests
// compare English texts. It belongs into TestMain.
func English() error {
	return errors.Join(os.Setenv("LC_ALL", "C"), os.Setenv("LANG", "C"), os.Unsetenv("LANGUAGE"), i18n.Load())
}

// ReadOffice is the agent's: the files of Handed can be read.
func (o *Office) ReadOffice(path string) (agent.OfficeFile, error) {
	file, ok := o.Handed[path]
	if !ok {
		return agent.OfficeFile{}, message.Error(message.OfficeFileForeign("x.countersign"), nil)
	}
	return file, nil
}

// MovePassword opens every file of another computer.
const MovePassword = "correct horse battery"

func (o *Office) MoveOut(_ context.Context, path, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.MovedTo = path
	return nil
}

func (o *Office) ReadMove(_ context.Context, path, password string) (agent.Arrival, error) {
	if password != MovePassword {
		return agent.Arrival{}, message.Error(message.SealedPassword(path), nil)
	}
	return agent.Arrival{
		Digest: "d", Computer: "front-desk", Made: time.Date(2026, 11, 23, 16, 5, 0, 0, time.Local), SignIn: "sign.example.com", Service: "api.example.com",
		Account: "olivia.office@example.com", Folder: "/home/olivia/Signed", Watched: []string{"/home/olivia/To sign", "/srv/leases"}, Packages: 214, Drafts: 2,
		LeftOut: []message.Message{message.CopiesLeftOut("Ana Ruiz <ana@example.com>")},
	}, nil
}

func (o *Office) MoveIn(_ context.Context, path, password, digest, saveTo string) error {
	switch {
	case password != MovePassword || digest != "d":
		return message.Error(message.SealedChanged(path), nil)
	case saveTo == "":
		return message.Error(message.ChooseFolder(), nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.BroughtTo = saveTo
	return nil
}

// LockKeyring locks the keyring, or unlocks it: while it is locked, what was entered can be neither kept nor read.
func (o *Office) LockKeyring(locked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locked = locked
}

func (o *Office) KeepFirstRun(f agent.FirstRun) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.locked {
		return message.Error(message.KeyringStillLocked(), nil)
	}
	o.Entered = &f
	return nil
}

func (o *Office) FirstRun() (agent.FirstRun, bool, error) {
	f, err := kept(o, func() *agent.FirstRun { return o.Entered })
	if err != nil || f == nil || read(o, func() bool { return o.locked }) {
		return agent.FirstRun{}, false, err
	}
	return *f, true, nil
}

// TestService is the agent's; OnTestService decides, nil is content.
func (o *Office) TestService(_ context.Context, s office.Settings) error {
	if o.OnTestService != nil {
		return o.OnTestService(s)
	}
	return nil
}

// TestTunnel is the agent's; OnTestTunnel decides, nil is content.
func (o *Office) TestTunnel(_ context.Context, s office.Settings, secrets office.Secrets) (string, error) {
	if o.OnTestTunnel != nil {
		return o.OnTestTunnel(s, secrets)
	}
	return "https://office.ngrok.app", nil
}

// PreviewName is the agent's; OnPreviewName decides, nil fills in the lease.
func (o *Office) PreviewName(s office.Settings) (string, error) {
	if o.OnPreviewName != nil {
		return o.OnPreviewName(s)
	}
	return strings.NewReplacer("{package}", "Lease Sonnenweg 4", "{document}", "Lease", "{date}", "2026-11-21",
		"{signer}", "Jan Weber", "{reference}", "2026-118", "{kind}", "signed").Replace(s.NameTemplate) + ".pdf", nil
}

func (o *Office) Services() []agent.Preset {
	return []agent.Preset{{Name: "Other service", SignatureHeader: "X-Service-Signature"},
		{Name: "Example Sign", AuthURL: "https://sign.example.com", BaseURL: "https://sign.example.com", SignatureHeader: "X-Example-Signature"}}
}

func (o *Office) About() agent.About {
	return agent.About{Version: "1.0", DataDir: "/home/office/.config/countersign", LogFile: "/home/office/.config/countersign/logs/countersign.log"}
}

func (o *Office) NetworkPage() string { return "http://login.network.test/" }

func (o *Office) Diagnostics(context.Context) string { return "Countersign 1.0\n" }

// Update is what Newest says.
func (o *Office) Update() office.Update { return read(o, func() office.Update { return o.Newest }) }

// Fixed are the settings in Rules.
func (o *Office) Fixed(setting string) bool {
	return read(o, func() bool { return slices.Contains(o.Rules, setting) })
}

// CheckUpdate finds Release, and fails with NoUpdate.
func (o *Office) CheckUpdate(context.Context) (office.Update, error) {
	o.Change(office.StatusChanged, func(o *Office) {
		if o.NoUpdate == nil {
			o.Newest = o.Release
		}
	})
	return o.Update(), read(o, func() error { return o.NoUpdate })
}

// InstallUpdate counts in Installed, and fails with NoUpdate. Where it takes more than a click, the file is then at Update.Path.
func (o *Office) InstallUpdate(_ context.Context, progress func(office.UpdateStep)) (path string, err error) {
	progress(office.UpdateStep{Got: 1, Total: 2})
	progress(office.UpdateStep{Got: 2, Total: 2, Waits: true})
	o.Change(office.StatusChanged, func(o *Office) {
		if o.NoUpdate == nil {
			o.Installed++
			if !o.Newest.OneClick {
				o.Newest.Path = "/home/ana/.config/countersign/update/countersign_1.2.0_amd64.deb"
				o.Newest.Todo = message.UpdateWithPackage(o.Newest.Path)
			}
		}
	})
	return o.Update().Path, read(o, func() error { return o.NoUpdate })
}

// Way is a way to the service and back on which everything works.
func Way() []office.Check {
	fine := func(step, found message.Message) office.Check {
		return office.Check{Step: step, Result: office.CheckFine, Found: found}
	}
	list := []office.Check{
		fine(message.StepProxy(), message.WaySystem("proxy.office.example:8080")),
		fine(message.StepSignInAddress(), message.Answers()),
		fine(message.StepService(), message.Answers()),
		fine(message.StepSignIn(), message.SignedInNowAs("office@example.com")),
		fine(message.StepNgrokName(), message.NameByProxy()),
		fine(message.StepNgrokConnect(), message.ConnectionMade()),
		fine(message.StepNgrokTLS(), message.Secure()),
		fine(message.StepNgrokTunnel(), message.Answers()),
		fine(message.StepAddress(), message.AddressOpen("https://office.ngrok.app")),
		fine(message.StepEndpoint(), message.Registered("https://office.ngrok.app/webhook")),
		fine(message.StepEvent(), message.EventArrived()),
	}
	for i := len(list) - 3; i < len(list); i++ {
		list[i].At = Now.Add(-3 * 3600e9)
	}
	return list
}

// OpenedWay is one on which the network opens the encryption, so that ngrok is out of reach.
func OpenedWay() []office.Check {
	list := Way()
	wrong := func(i int, found message.Message) {
		list[i].Result, list[i].Found = office.CheckWrong, found
	}
	opened := message.ConnectionInspected("Office inspection", "connect.ngrok-agent.com:443")
	wrong(6, opened)
	list[7].Result, list[7].Found = office.CheckUnknown, message.NotReached()
	wrong(8, message.SameReason())
	return list
}

func (o *Office) Connection(context.Context) []office.Check {
	return read(o, func() []office.Check {
		known := slices.Clone(o.Steps)
		if known == nil {
			known = Way()
			for i := 4; i < 8; i++ {
				known[i].Result, known[i].Found = office.CheckUnknown, message.NotTried()
			}
		}
		return known
	})
}

func (o *Office) TryConnection(ctx context.Context, show func([]office.Check)) []office.Check {
	found := Way()
	if o.OnTry != nil {
		found = o.OnTry(found)
	}
	show(found)
	return found
}

func (o *Office) TryNgrok(ctx context.Context, _ office.Settings, show func([]office.Check)) []office.Check {
	found := Way()
	if o.OnTry != nil {
		found = o.OnTry(found)
	}
	show(found[4:8])
	return found[4:8]
}

func (o *Office) Hosts() []string {
	return []string{"sign.example.com:443", "connect.ngrok-agent.com:443"}
}
