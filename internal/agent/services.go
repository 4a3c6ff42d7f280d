package agent

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"image"
	"os"
	"runtime"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/bulk"
	"countersign/internal/agent/data"
	"countersign/internal/agent/dropped"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/network"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/proof"
	"countersign/internal/agent/updates"
	"countersign/internal/agent/webhook"
	"countersign/internal/compare"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/table"
	"countersign/internal/update"
)

// Sign-in and account; see package account.
type (
	FirstRun = account.FirstRun
	Preset   = account.Preset
	// SignInOptions choose how a sign-in runs.
	SignInOptions = account.SignInOptions
)

// SignIn runs a whole sign-in: it passes the address for the browser to open, waits for the return that the settings chose (or
// Paste), and returns once the tokens are stored. It ends early with ctx, or when another SignIn starts.
func (a *Agent) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	if _, away := a.movedAway(); away {
		return message.Error(message.MovingNow(), nil)
	}
	inBrowser := false
	err := a.account.SignIn(ctx, o, func(address string) error {
		inBrowser = true
		return open(address)
	})
	if inBrowser && !network.Suspicious(err) { // an answer of the person or the service
		return err
	}
	return a.orNetwork(ctx, a.Settings(), err)
}

// More of the account; see package account.
func (a *Agent) HasSecrets() (clientSecret, ngrokAuthtoken bool, err error) {
	return a.account.HasSecrets()
}
func (a *Agent) Paste(address string) error                   { return a.account.Paste(address) }
func (a *Agent) SignOut(ctx context.Context) error            { return a.account.SignOut(ctx) }
func (a *Agent) KeepFirstRun(f FirstRun) error                { return a.account.KeepFirstRun(f) }
func (a *Agent) FirstRun() (f FirstRun, kept bool, err error) { return a.account.FirstRun() }
func (a *Agent) Services() []Preset                           { return a.account.Presets() }

// TestService checks that there is a signing service at both addresses of s; see account.Service.Test.
func (a *Agent) TestService(ctx context.Context, s office.Settings) error {
	return a.orNetwork(ctx, s, a.account.Test(ctx, s))
}

// TestClient checks whether the service accepts the client of s; see account.Service.TestClient.
func (a *Agent) TestClient(ctx context.Context, s office.Settings, secret string) error {
	return a.account.TestClient(ctx, s, secret)
}

// Refusal is a sample of the refused requests.
type Refusal = webhook.Refusal

// Refused returns the samples, newest first.
func (a *Agent) Refused() []Refusal { return a.webhook.Refused() }

// TestTunnel briefly opens the public address of s and returns it; see webhook.Service.Test.
func (a *Agent) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	publicURL, err = a.webhook.Test(ctx, s, secrets)
	return publicURL, a.orNetwork(ctx, s, err)
}

// orNetwork returns the error of a test or sign-in, or that the network demands a sign-in in the browser, if that is the cause.
// Health then reports that, too, with a link to the page, until the network is free.
func (a *Agent) orNetwork(ctx context.Context, s office.Settings, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, asks := a.network.Asks(ctx, s); asks {
		a.network.Look()
		return message.Error(message.NetworkWantsBrowser(), err)
	}
	return err
}

// NetworkPage returns the network's sign-in page, while health reports one.
func (a *Agent) NetworkPage() string { return a.network.Page() }

// LocalhostCertificate returns the certificate for addresses on this computer, for people to trust.
func (a *Agent) LocalhostCertificate() (*x509.Certificate, error) {
	cert, err := a.account.Certificate()
	return cert.Leaf, err
}

// Packages and events; see package reconcile.
func (a *Agent) Lines() ([]office.PackageLine, error) { return a.packages.Lines() }
func (a *Agent) LinesSince(version uint64) (office.Lines, error) {
	return a.packages.LinesSince(version)
}
func (a *Agent) Find(q office.Query) ([]office.Package, error)      { return a.packages.Find(q) }
func (a *Agent) Package(id string) (office.PackageRow, bool, error) { return a.packages.Package(id) }
func (a *Agent) Archive(packageID string, archived bool) (changed bool, err error) {
	return a.packages.Archive(packageID, archived)
}
func (a *Agent) NoteLetter(packageID, address string) error {
	return a.packages.NoteLetter(packageID, address)
}
func (a *Agent) Events(before office.Cursor, limit int) ([]office.EventRow, office.Cursor, error) {
	return a.packages.Events(before, limit)
}
func (a *Agent) EventLines(q office.EventQuery) ([]office.EventLine, error) {
	return a.packages.EventLines(q)
}
func (a *Agent) Follow(ctx context.Context, since time.Time, tell func(office.EventLine) error) error {
	return a.packages.Follow(ctx, since, tell)
}
func (a *Agent) RetryEvent(eventID string) error { return a.packages.RetryEvent(eventID) }
func (a *Agent) EditPage(ctx context.Context, packageID string) (string, error) {
	return a.packages.EditPage(ctx, packageID)
}
func (a *Agent) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	return a.packages.SignerPage(ctx, packageID, signerID)
}
func (a *Agent) LinksOffered() bool { return a.packages.LinksOffered() }

// Files of packages; see package download.
func (a *Agent) Saved(limit int) ([]office.Job, error) { return a.saves.Recent(limit) }
func (a *Agent) SaveAgain(packageID string) error      { return a.saves.SaveAgain(packageID) }
func (a *Agent) AcceptFolder() error                   { return a.saves.AcceptFolder() }
func (a *Agent) Held() (map[string]bool, error)        { return a.saves.Held() }
func (a *Agent) Export(ctx context.Context, packageIDs []string, folder string) (office.Exported, error) {
	return a.saves.Export(ctx, packageIDs, folder)
}
func (a *Agent) PreviewName(s office.Settings) (string, error) { return a.saves.PreviewName(s) }

// Preview draws page 1 of a document on this computer, width pixels wide.
func (a *Agent) Preview(ctx context.Context, path string, width int) (image.Image, error) {
	return a.documents.FirstPage(ctx, path, width)
}

// DraftPage draws page 1 of the copy of a draft's file, which is what is or was sent.
func (a *Agent) DraftPage(ctx context.Context, f office.DraftFile, width int) (image.Image, error) {
	file, err := a.outbox.OpenSent(f)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return a.documents.Page(ctx, file, 1, width)
}
func (a *Agent) Original(f office.DraftFile) (path string, err error) { return a.outbox.Original(f) }

// Withdrawals; see package withdraw.
func (a *Agent) Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	return a.withdrawals.Withdraw(ctx, n)
}
func (a *Agent) KeepPackage(id string) (inTime bool, err error) { return a.withdrawals.Keep(id) }
func (a *Agent) LetWithdrawalGo(id string) error                { return a.withdrawals.LetGo(id) }
func (a *Agent) CanWithdraw() bool                              { return a.withdrawals.Offered() }

// Types for drafts.
type (
	DraftError = outbox.DraftError
	FileInfo   = outbox.FileInfo
)

// Delivery stores files from another program that have no path.
type Delivery = dropped.Delivery

// NewDelivery returns a delivery for one drop on the window.
func (a *Agent) NewDelivery() *Delivery { return DeliverInto(locations.Dropped(a.p.DataDir)) }

// DeliverInto returns a delivery into any folder.
func DeliverInto(folder string) *Delivery { return dropped.New(folder) }

// forgetDropped removes files dropped long ago that neither a draft nor the form refers to.
func (a *Agent) forgetDropped() error {
	drafts, err := a.outbox.Drafts()
	if err != nil {
		return err
	}
	if a.Data.Store.Unreadable() > 0 {
		return nil // an unreadable record may be a draft that can be repaired later
	}
	needed := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			needed[f.Path] = true
		}
	}
	form := a.form.Form()
	needed[form.List.Path] = true
	for _, f := range form.Files {
		needed[f.Path] = true
	}
	if form.Template != nil {
		for _, d := range form.Template.Documents {
			needed[d.File] = true
		}
	}
	return dropped.Sweep(locations.Dropped(a.p.DataDir), a.Now(), needed)
}

func (a *Agent) newOutbox() *outbox.Service {
	return outbox.New(a.Base, outbox.Deps{
		DataDir: a.p.DataDir, Pages: a.documents.Pages, Sealed: proof.Sealed,
		Installation:      func() string { return a.installation },
		DefaultRecipients: func() []office.Recipient { return a.Settings().DefaultRecipients() },
		Service: func() (*esign.Client, string, bool) {
			o := a.account.Current()
			client, online := a.account.OnlineIn(o)
			return client, o.Caller() + " " + o.Sender(), online
		},
		Sender:       func() string { return a.account.Current().Sender() },
		Home:         func() string { return issuer.Home(a.Settings()) },
		Strayed:      func(d office.Draft) (message.Message, error) { return a.folders.Strayed(d) },
		PackageAdded: a.packages.Wake, FindPackages: a.packages.ReadList, Listed: a.packages.Listed,
		Requeued: func(tx *store.Tx, list string) error { return a.lists.Requeued(tx, list) }, Replaced: bulk.Replaced,
	})
}

// Drafts and decisions on them; see package outbox.
func (a *Agent) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	return a.outbox.Send(ctx, d, progress)
}

// Cancel is the outbox's. The form, which may have taken the draft back, is written first.
func (a *Agent) Cancel(draftID string) (bool, error) {
	a.form.Flush()
	return a.outbox.Cancel(draftID)
}
func (a *Agent) Stop(draftID string) (bool, error) { return a.outbox.Stop(draftID) }
func (a *Agent) Decide(draftID string, send bool, undo time.Duration) (decided bool, err error) {
	return a.outbox.Resolve(draftID, send, undo)
}
func (a *Agent) UndoDecision(draftID string) (inTime bool, err error) { return a.outbox.Undo(draftID) }
func (a *Agent) Inspect(ctx context.Context, path string) FileInfo {
	return a.outbox.Inspect(ctx, path)
}
func (a *Agent) People() ([]office.Signer, error) { return a.outbox.People() }
func (a *Agent) Drafts() ([]office.Draft, error)  { return a.outbox.Drafts() }
func (a *Agent) DraftOf(packageID string) (office.Draft, bool, error) {
	return a.outbox.DraftOf(packageID)
}

// Again returns the contents of a draft, to change or send once more; lost names the documents that are missing or have changed.
func (a *Agent) Again(ctx context.Context, draftID string) (d office.NewPackage, lost []string, err error) {
	return a.outbox.Again(ctx, draftID, a.NewDelivery().Take)
}

func (a *Agent) newLists() *bulk.Service {
	return bulk.New(a.Base, bulk.Deps{
		Read: func(ctx context.Context, file *os.File) ([]byte, error) {
			return a.documents.Ask(ctx, file, "table", table.MaxAnswer)
		},
		Sums: a.outbox.Sums, Sender: func() string { return a.account.Current().Sender() },
		Keep: a.outbox.KeepList, Send: a.outbox.FromList, TakeBack: a.outbox.TakeBackList, TookBack: a.outbox.Wake, LetGo: outbox.LetListGo,
		Refused: func(err error) (message.Message, bool, bool) {
			refused, ok := errors.AsType[*outbox.DraftError](err)
			if !ok {
				return message.Message{}, false, false
			}
			return refused.Text, outbox.Passes(err), true
		},
	})
}

// Lists with one package per line; see package bulk.
func (a *Agent) PrepareList(ctx context.Context, path string, common office.NewPackage, order string) (office.BulkList, error) {
	return a.lists.Prepare(ctx, path, common, order)
}
func (a *Agent) SendList(ctx context.Context, l office.BulkList, again bool, undo time.Duration) (id string, err error) {
	return a.lists.Send(ctx, l, again, undo)
}
func (a *Agent) Lists() ([]office.Bulk, error) { return a.lists.Lists() }
func (a *Agent) SentList(id string) (office.BulkProgress, []office.BulkResult, bool, error) {
	return a.lists.List(id)
}
func (a *Agent) DecideList(id string, to office.BulkState) error { return a.lists.Decide(id, to) }

func (a *Agent) newHotFolders() *hotfolder.Service {
	return hotfolder.New(a.Base, hotfolder.Deps{
		DataDir: a.p.DataDir, Installation: func() string { return a.installation }, Settings: a.Settings, FolderAway: a.saves.FolderAway, Words: a.p.Words,
		Unmounted: a.saves.Unmounted, AcceptMount: a.saves.AcceptMount,
		Account: func() (hotfolder.Account, bool) {
			o := a.account.Current()
			return hotfolder.Account{ID: o.Sender(), Email: o.Account.Email}, o.SignedIn()
		},
		Send: a.outbox.FromFolder, Passes: outbox.Passes, Moved: outbox.FileMoved,
		Queue: a.announcer.Queue, Announce: a.announcer.Announce, Events: a.p.FolderEvents,
		Changed: func() {
			a.backUp()
			a.Signal(office.SettingsChanged)
		},
	})
}

// saved records that a file of p has been saved, and returns what to tell people of it.
func (a *Agent) saved(tx *store.Tx, p office.Package, jobs []office.Job) []office.Fact {
	hotfolder.WakeReturn(tx, p)
	return a.announcer.Saved(tx, p, jobs)
}

// fileEnded is called when work on a file has ended.
func (a *Agent) fileEnded() {
	a.announcer.WorkEnded()
	a.proof.Wake()
}

// Documents, their seals, the record and trusted authorities; see package proof.
func (a *Agent) Verify(ctx context.Context, paths []string, after string, tell func(office.Verified) error) error {
	return a.proof.Verify(ctx, paths, after, tell)
}

// TestStamp requests a time stamp from a service without storing it, and returns the authority.
func (a *Agent) TestStamp(ctx context.Context, s office.Settings) (string, error) {
	return a.proof.TestStamp(ctx, s.StampURL)
}

func (a *Agent) RecordState() (office.Record, error) { return a.proof.RecordState() }
func (a *Agent) CheckRecord(line string) (said message.Message, fits bool, err error) {
	return a.proof.CheckRecord(line)
}

// The result of comparing a saved document with what was sent; see package proof.
type (
	Comparison = compare.Result
	Difference = compare.Place
)

func (a *Agent) Differences(ctx context.Context, packageID string, f office.File) (Comparison, error) {
	return a.proof.Differences(ctx, packageID, f)
}
func (a *Agent) ComparedPage(ctx context.Context, packageID string, f office.File, original bool, page, width int) (image.Image, error) {
	return a.proof.Page(ctx, packageID, f, original, page, width)
}

func (a *Agent) SealAuthority(ctx context.Context, path string) (*x509.Certificate, error) {
	return a.proof.Authority(ctx, path)
}
func (a *Agent) Authorities(ctx context.Context, path string) ([]*x509.Certificate, error) {
	return a.proof.Authorities(ctx, path)
}
func (a *Agent) TrustedSeals() ([]*x509.Certificate, error) { return a.proof.Trusted() }
func (a *Agent) TrustSeals(more ...*x509.Certificate) error {
	return a.backedUp(a.proof.Trust(more...))
}
func (a *Agent) DistrustSeals(some ...*x509.Certificate) error {
	return a.backedUp(a.proof.Distrust(some...))
}

// backedUp triggers a backup of what was changed, and returns err.
func (a *Agent) backedUp(err error) error {
	a.backUp()
	return err
}

// Prove writes a new file at path that proves a package to people without this program; see package proof.
func (a *Agent) Prove(ctx context.Context, packageID, path string, replace bool) error {
	events, err := a.EventLines(office.EventQuery{PackageID: packageID})
	if err != nil {
		return err
	}
	return a.proof.Prove(ctx, packageID, events, path, replace)
}

// MayGo returns the signed packages matching q whose papers need not be kept any longer, including archived ones.
func (a *Agent) MayGo(q office.Query) (list []office.Package, err error) {
	rule, _ := office.ParseRetention(a.Settings().KeepYears)
	if rule.Years == 0 && len(rule.Of) == 0 {
		return nil, nil
	}
	folders, err := a.HotFolders()
	q.States, q.Archived = []office.Status{office.StatusDone}, true
	all, err2 := a.Find(q)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, p := range all {
		var names []string
		lost := p.Folder != "" // its origin is no longer known
		for _, f := range folders {
			if p.Folder != "" && (p.Folder == f.ID || p.Folder == office.TagAt(p.Service, f.ID)) {
				lost = false
				for _, around := range folders {
					if f.In(around.HotFolder) {
						names = append(names, around.Called())
					}
				}
			}
		}
		d, known, err := a.Data.Draft(p.DraftID)
		switch {
		case err != nil:
			return nil, err
		case !known:
			lost = lost || p.DraftID != ""
		case d.Template != nil:
			names = append(names, d.Template.Name)
		}
		signed := p.Executed.Time.In(a.Now().Location()) // the year is that of the date people see
		until := rule.Until(signed, names...)
		if lost {
			until = rule.Latest(signed)
		}
		if !until.IsZero() && until.Before(a.Now()) {
			list = append(list, p)
		}
	}
	return list, nil
}

// claim marks p as made here if its external data says so; see outbox.Service.Claim.
func (a *Agent) claim(tx *store.Tx, p *office.Package, data json.RawMessage) {
	a.outbox.Claim(tx, p, data)
	hotfolder.WakeReturn(tx, *p)
}

// The form, hot folders and templates; see packages form, hotfolder and outbox.
func (a *Agent) KeepForm(f office.Form)                                    { a.form.Keep(f) }
func (a *Agent) Form() office.Form                                         { return a.form.Form() }
func (a *Agent) FormPresets() ([]office.FormPreset, error)                 { return a.form.Presets() }
func (a *Agent) KeepFormPreset(x office.FormPreset) error                  { return a.form.KeepPreset(x) }
func (a *Agent) HotFolders() ([]office.HotFolderRow, error)                { return a.folders.Folders() }
func (a *Agent) PutHotFolder(f office.HotFolder) (office.HotFolder, error) { return a.folders.Put(f) }
func (a *Agent) RemoveHotFolder(id string) (known bool, err error)         { return a.folders.Remove(id) }
func (a *Agent) Templates(ctx context.Context, search string) ([]office.Template, error) {
	return a.outbox.Templates(ctx, search)
}
func (a *Agent) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return a.outbox.UsedTemplates(limit)
}
func (a *Agent) TemplatesOffered() bool { return a.outbox.TemplatesOffered() }

// TryHotFolder checks a folder like PutHotFolder without storing it, and says that it works.
func (a *Agent) TryHotFolder(f office.HotFolder) (message.Message, error) {
	documents, err := a.folders.Try(f)
	if err != nil {
		return message.Message{}, err
	}
	if documents == 0 {
		return message.SendFolderWorksEmpty(), nil
	}
	return message.SendFolderWorks(documents), nil
}

// newUpdates wires the search for newer versions. An invalid source is logged and ignored.
func (a *Agent) newUpdates() (*updates.Service, error) {
	p := a.p.Updates
	source := update.ParseSource(p.Address, p.Keys)
	client, err := update.New(source, a.p.HTTP)
	if err != nil {
		a.Log.Error("this program was built with a source of updates that cannot be used", "err", err)
	}
	return updates.New(a.Base, updates.Deps{
		Client: client, Keys: source.Keys, Version: a.p.Version, Kind: update.Here(p.Server), System: runtime.GOOS, Arch: runtime.GOARCH,
		Folder:   locations.Update(a.p.DataDir),
		Settings: a.Settings, Silent: a.announcer.Silent, News: a.announcer.NewVersion, Announce: a.announcer.Announce, Busy: a.busy,
		Start: func(installer *os.File) error { return update.Start(installer, p.Again) },
	})
}

// busy reports whether something is, or could now be, being sent or saved. What waits for its next try does not count, as it may
// wait for days.
func (a *Agent) busy() bool {
	if a.outbox.Sending() || a.saves.UnderWay() > 0 {
		return true
	}
	events, files, _ := a.workDue()
	return events+files > 0
}

// Update returns what is known of newer versions of the program, from memory.
func (a *Agent) Update() office.Update { return a.updates.State() }

// CheckUpdate asks for newer versions now.
func (a *Agent) CheckUpdate(ctx context.Context) (office.Update, error) {
	err := a.updates.Check(ctx)
	return a.updates.State(), err
}

// InstallUpdate is updates.Service.Install: if path is empty and err nil, the program must end.
func (a *Agent) InstallUpdate(ctx context.Context, progress func(office.UpdateStep)) (path string, err error) {
	return a.updates.Install(ctx, progress)
}

// networkFree is called when somebody has signed in to the network: everything it delayed is retried at once.
func (a *Agent) networkFree() {
	a.Breaker.Close()
	a.webhook.Reopen()
	a.goOn("the network is free")
}

// goOn retries all waiting work at once, except what the service has asked to delay.
func (a *Agent) goOn(why string) {
	a.saves.Retry()
	a.Quarantine.Now()
	a.packages.Sweep(why)
	a.wakeAll()
}

// wokeUp is called when the wall clock has jumped by that much: earlier work is obsolete, and everything waiting for a time is
// retried at once.
func (a *Agent) wokeUp(by time.Duration) {
	a.Log.Info("the computer slept, or its clock was set", "by", by.Round(time.Second))
	a.p.Network.Forget() // the network may have changed
	a.webhook.WokeUp(by)
	a.account.WokeUp()
	if by < 0 {
		a.account.MendSince(by)
		a.Health.MendSince()
	}
	a.goOn("the computer woke up")
}

// workDue counts the work that can be done now, up to one of each kind: events, files that can be saved, and packages about which
// the service can be asked.
func (a *Agent) workDue() (events, files, packages int) {
	_, online := a.account.Online()
	asking, saving := online && a.Breaker.Left(a.Now()) == 0, a.saves.Flowing()
	_, err := data.Read(a.Data, "whether something is under way", func(tx *store.Tx) (none struct{}, err error) {
		waiting, _, _ := tx.PendingEvents("", 1)
		events = len(waiting)
		if asking {
			due, _ := tx.PackagesDue(a.Due(loop.MaxPackageWait), 1)
			packages = len(due)
		}
		if saving {
			due, _ := tx.JobsDue(a.Due(loop.MaxJobWait), 1, nil)
			files = len(due)
		}
		return none, nil
	})
	if err != nil { // health reports it
		return 0, 0, 0
	}
	return events, files, packages
}

// moreToCome reports whether work in progress may result in a fact: an event, a call to the service, a file. Everything that has
// ended has announced its facts.
func (a *Agent) moreToCome() bool {
	events, files, packages := a.workDue()
	// Checked last: recorded facts are announced a moment later, while the work still counts.
	return events+files+packages+a.packages.Backlog()+a.saves.UnderWay() > 0
}

// While more packages or files wait than this, the agent is catching up.
const catchingUpMany = 5

// catchingUp reports whether more waits than usual: packages to ask about, or files that can be saved.
func (a *Agent) catchingUp() bool {
	if a.packages.Backlog() > catchingUpMany {
		return true
	}
	if !a.saves.Flowing() {
		return false
	}
	due, err := data.Read(a.Data, "how much is under way", func(tx *store.Tx) ([]office.Job, error) {
		return tx.JobsDue(a.Due(loop.MaxJobWait), catchingUpMany+1, nil)
	})
	return err == nil && len(due) > catchingUpMany
}
