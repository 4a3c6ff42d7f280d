package officetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Code is the code of every invitation.
const Code = "H7KQ-2MXR-9DTE"

// settings are the office's settings and hot folders, and the stored state of its first run.
type settings struct {
	Kept     office.Settings
	Secret   office.Secrets
	Rules    []string // settings fixed by an administrator
	Folders  []office.HotFolderRow
	DeskRows []office.DeskRow

	Handed map[string]agent.OfficeFile // administrators' files, by path
	Taken  chan struct{}               // ends the offer of a code

	entered *agent.FirstRun
	locked  bool // the keyring is locked, so none of that can be stored or read
}

func (o *Office) Settings() office.Settings { return read(o, func() office.Settings { return o.Kept }) }

func (o *Office) HasSecrets() (clientSecret, ngrokToken bool, err error) {
	s := read(o, func() office.Secrets { return o.Secret })
	return s.ClientSecret != "", s.NgrokAuthtoken != "", o.unread()
}

func (o *Office) ChangeSettings(_ context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error) {
	err := o.first("ChangeSettings")
	s := change(o.Settings()).Normal()
	if bad := s.Check(); len(bad) > 0 {
		err = &agent.ConfigError{Fields: bad}
	}
	if err != nil {
		return s, err
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
	return s, nil
}

func (o *Office) AcceptFolder() error {
	o.note(office.StatusChanged, "accept the folder")
	return o.first("AcceptFolder")
}

// Fixed reports whether a setting is in Rules.
func (o *Office) Fixed(setting string) bool {
	return read(o, func() bool { return slices.Contains(o.Rules, setting) })
}

func (o *Office) Services() []agent.Preset {
	return []agent.Preset{{Name: "Other service", SignatureHeader: "X-Service-Signature"},
		{Name: "Example Sign", AuthURL: "https://sign.example.com", BaseURL: "https://sign.example.com", SignatureHeader: "X-Example-Signature"}}
}

func (o *Office) TestService(context.Context, office.Settings) error { return o.first("TestService") }

func (o *Office) TestStamp(context.Context, office.Settings) (string, error) {
	return "Time Stamp Authority", o.first("TestStamp")
}

func (o *Office) TestClient(context.Context, office.Settings, string) error {
	return o.first("TestClient")
}

func (o *Office) TestTunnel(context.Context, office.Settings, office.Secrets) (string, error) {
	return "https://office.ngrok.app", o.first("TestTunnel")
}

// PreviewName imitates the agent's, for the lease.
func (o *Office) PreviewName(s office.Settings) (string, error) {
	return strings.NewReplacer("{package}", "Lease Sonnenweg 4", "{document}", "Lease", "{date}", "2026-11-21",
		"{signer}", "Jan Weber", "{reference}", "2026-118", "{kind}", "signed").Replace(s.NameTemplate) + ".pdf", o.first("PreviewName")
}

// LockKeyring locks or unlocks the keyring: while it is locked, input can be neither stored nor read.
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
	o.entered = &f
	return nil
}

func (o *Office) FirstRun() (agent.FirstRun, bool, error) {
	f, err := kept(o, func() *agent.FirstRun { return o.entered })
	if err != nil || f == nil || read(o, func() bool { return o.locked }) {
		return agent.FirstRun{}, false, err
	}
	return *f, true, nil
}

// ReadOffice imitates the agent's, for the files in Handed.
func (o *Office) ReadOffice(path string) (agent.OfficeFile, error) {
	file, ok := o.Handed[path]
	if !ok {
		return agent.OfficeFile{}, message.Error(message.OfficeFileForeign("x.countersign"), nil)
	}
	return file, nil
}

// MovePassword opens every file from another computer.
const MovePassword = "correct horse battery"

func (o *Office) MoveOut(_ context.Context, path, _ string) error {
	if err := o.first("MoveOut"); err != nil {
		return err
	}
	o.note(office.StatusChanged, "move out", path)
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
	o.note(office.StatusChanged, "move in", saveTo)
	return nil
}

func (o *Office) HotFolders() ([]office.HotFolderRow, error) {
	return kept(o, func() []office.HotFolderRow { return slices.Clone(o.Folders) })
}

func (o *Office) PutHotFolder(f office.HotFolder) (office.HotFolder, error) {
	f = f.Normal()
	if bad := f.Check(); len(bad) > 0 {
		return f, &office.ConfigError{Fields: bad}
	}
	o.Change(office.SettingsChanged, func(o *Office) {
		if i := slices.IndexFunc(o.Folders, func(x office.HotFolderRow) bool { return x.ID == f.ID }); i >= 0 && f.ID != "" {
			confirmed := o.Folders[i].Confirm && o.Folders[i].Paused == f.Paused
			if o.Folders[i].HotFolder = f; confirmed {
				o.Folders[i].Confirm, o.Folders[i].Problem = false, message.Message{}
			}
			return
		}
		f.ID = f.Path
		o.Folders = append(o.Folders, office.HotFolderRow{HotFolder: f})
	})
	return f, nil
}

func (o *Office) RemoveHotFolder(id string) (known bool, err error) {
	o.Change(office.SettingsChanged, func(o *Office) {
		before := len(o.Folders)
		o.Folders = slices.DeleteFunc(o.Folders, func(x office.HotFolderRow) bool { return x.ID == id })
		known = len(o.Folders) < before
	})
	return known, nil
}

func (o *Office) TryHotFolder(f office.HotFolder) (message.Message, error) {
	if bad := f.Normal().Check(); len(bad) > 0 {
		return message.Message{}, &office.ConfigError{Fields: bad}
	}
	return message.SendFolderWorksEmpty(), nil
}

// Way returns a working way to the service and back.
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
		fine(message.StepDocuments(), message.SavedIn("Signed")),
	}
	for i := len(list) - 4; i < len(list)-1; i++ {
		list[i].At = Now.Add(-3 * 3600e9)
	}
	return list
}

// OpenedWay returns one where the network decrypts TLS, so that ngrok is unreachable.
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

func (o *Office) TryEverything(_ context.Context, show func([]office.Check)) []office.Check {
	return o.try(Way(), show)
}

func (o *Office) TryNgrok(_ context.Context, _ office.Settings, show func([]office.Check)) []office.Check {
	return o.try(Way()[4:8], show)
}

// try finds everything fine, unless that fails.
func (o *Office) try(found []office.Check, show func([]office.Check)) []office.Check {
	if o.first("TryConnection") == nil {
		show(found)
	}
	return found
}

func (o *Office) Hosts() []string {
	return []string{"sign.example.com:443", "connect.ngrok-agent.com:443"}
}

// updates is what is known of newer versions.
type updates struct {
	Newest  office.Update
	Release office.Update // found when asking
}

// Update returns Newest.
func (o *Office) Update() office.Update { return read(o, func() office.Update { return o.Newest }) }

// CheckUpdate finds Release.
func (o *Office) CheckUpdate(context.Context) (office.Update, error) {
	err := o.first("CheckUpdate")
	o.Change(office.StatusChanged, func(o *Office) {
		if err == nil {
			o.Newest = o.Release
		}
	})
	return o.Update(), err
}

// InstallUpdate imitates the agent's. If it takes more than a click, the file is then at Update.Path.
func (o *Office) InstallUpdate(_ context.Context, progress func(office.UpdateStep)) (path string, err error) {
	progress(office.UpdateStep{Got: 1, Total: 2})
	progress(office.UpdateStep{Got: 2, Total: 2, Waits: true})
	if err := o.first("InstallUpdate"); err != nil {
		return o.Update().Path, err
	}
	o.note(office.StatusChanged, "install")
	o.Change(office.StatusChanged, func(o *Office) {
		if !o.Newest.OneClick {
			o.Newest.Path = "/home/ana/.config/countersign/update/countersign_1.2.0_amd64.deb"
			o.Newest.Todo = message.UpdateWithPackage(o.Newest.Path)
		}
	})
	return o.Update().Path, nil
}

func (o *Office) Desks(context.Context) []office.DeskRow {
	return read(o, func() []office.DeskRow { return slices.Clone(o.DeskRows) })
}

func (o *Office) InviteDesk(ctx context.Context, q office.DeskInvite) (agent.OfficeFile, error) {
	if err := o.first("InviteDesk"); err != nil {
		return agent.OfficeFile{}, err
	}
	known := slices.ContainsFunc(o.Desks(ctx), func(d office.DeskRow) bool { return d.Name == q.Name })
	switch {
	case known && !q.Again:
		return agent.OfficeFile{}, message.Error(message.DeskNameTwice(), nil)
	case !known:
		o.Change(office.SettingsChanged, func(o *Office) { o.DeskRows = append(o.DeskRows, office.DeskRow{Desk: office.Desk{Name: q.Name}}) })
	}
	return agent.OfficeFile{Settings: o.invitation(), ClientSecret: map[bool]string{true: "s3cret"}[q.WithSecret]}, nil
}

func (o *Office) MovedHub(string) (agent.OfficeFile, error) {
	return agent.OfficeFile{Settings: o.invitation()}, o.first("MovedHub")
}

func (o *Office) invitation() office.Settings {
	s := o.Settings()
	s.Tunnel, s.Office, s.OfficePin, s.OfficeListen, s.Redirect = office.TunnelOffice, "nats://192.0.2.20:7422", "", "", office.RedirectLoopback
	if s.AuthURL == "" { // of an office elsewhere
		s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com", "office"
	}
	return s
}

// OfferDesk waits for Taken, if set.
func (o *Office) OfferDesk(ctx context.Context, _ agent.OfficeFile, tell func(string) error) error {
	if err := o.first("OfferDesk"); err != nil {
		return err
	}
	if err := tell(Code); err != nil {
		return err
	}
	if o.Taken == nil {
		return nil
	}
	select {
	case <-o.Taken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// FetchOffice returns what a hub offers for Code.
func (o *Office) FetchOffice(_ context.Context, code, _ string) (agent.OfficeFile, error) {
	if code != Code {
		return agent.OfficeFile{}, message.Error(message.CodeNotFound(), nil)
	}
	return agent.OfficeFile{Settings: o.invitation(), DeskKey: "key"}, nil
}

func (o *Office) RemoveDesk(_ context.Context, name string) error {
	if err := o.first("RemoveDesk"); err != nil {
		return err
	}
	o.Change(office.SettingsChanged, func(o *Office) {
		o.DeskRows = slices.DeleteFunc(o.DeskRows, func(d office.DeskRow) bool { return d.Name == name })
	})
	return nil
}
