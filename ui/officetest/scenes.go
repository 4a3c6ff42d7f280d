package officetest

import (
	"context"
	"fmt"
	"image"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Now is the moment at which all scenes play: a Saturday afternoon in an office one hour east of UTC.
var Now = time.Date(2026, 11, 21, 14, 2, 0, 0, time.FixedZone("office", 3600))

func signer(id, first, last string) office.Signer {
	return office.Signer{ID: id, FirstName: first, LastName: last, Email: id + "@example.com"}
}

var (
	jan  = signer("jan.weber", "Jan", "Weber")
	ana  = signer("ana.ruiz", "Ana", "Ruiz")
	bea  = signer("bjorn", "Björn", "Åkesson")
	nova = signer("novak", "Irena", "Novák")
	tom  = signer("keller", "Thomas", "Keller")
)

// inFolder is a saved file.
func inFolder(kind office.FileKind, documentID, name string) office.File {
	return office.File{Path: filepath.FromSlash("/home/office/Documents/Signed/" + name), Kind: kind, DocumentID: documentID, State: office.JobDone}
}

// waitsFor is files of which the last is not saved yet.
func waitsFor(files []office.File) []office.File {
	files = slices.Clone(files)
	files[len(files)-1].State = office.JobPending
	return files
}

// Empty is an office on its first day: nobody signed in, nothing sent.
func Empty() *Office {
	return &Office{State: agent.Status{Version: "0.1.0", Tunnel: agent.TunnelStatus{Kind: "ngrok", State: "off"}},
		Kept: Settings()}
}

// Settings are complete settings.
func Settings() office.Settings {
	return office.Settings{AuthURL: "https://sandbox.example.com", BaseURL: "https://sandbox.example.com/api/v1",
		ClientID: "countersign-office", Scopes: []string{"openid", "profile", "offline_access", "organization"},
		SignatureHeader: "X-Service-Signature", Redirect: office.RedirectTunnel, Tunnel: office.TunnelNgrok,
		NgrokDomain: "office.ngrok.app", SaveTo: filepath.FromSlash("/home/office/Documents/Signed"), NameTemplate: "{package} - {document}"}
}

// Busy is an ordinary day: some wait, some are back, one is being saved.
func Busy() *Office {
	o := Empty()
	o.State.SignedIn = true
	o.State.Account = agent.Account{Email: "office@weber-partner.example", OrganizationID: "5b1e"}
	o.State.Tunnel = agent.TunnelStatus{Kind: "ngrok", State: "up", URL: "https://office.ngrok.app"}
	o.State.Packages = agent.PackageCounts{Total: 5, Open: 2, Executed: 2, Saved: 1}
	o.State.Saves = agent.SaveCounts{Done: 3, Pending: 1}
	o.Secret = office.Secrets{ClientSecret: "x"}
	lease := office.PackageRow{Package: office.Package{ID: "p1", Name: "Lease Sonnenweg 4", State: "open", Sequential: true,
		Created: Now.Add(-75 * time.Hour), Due: Now.AddDate(0, 0, 9), Signers: []office.Signer{jan, ana, bea},
		Documents: []office.Document{{ID: "d1", Name: "Lease Sonnenweg 4", SignedBy: []string{jan.ID}}, {ID: "d2", Name: "House rules", SignedBy: []string{jan.ID}}},
		History: []office.HistoryEntry{{Time: office.When{Time: Now.Add(-75 * time.Hour)}, What: "sent"}, {Time: office.When{Time: Now.Add(-28 * time.Hour)}, What: "signed", Who: jan.ID, Ref: "d1"},
			{Time: office.When{Time: Now.Add(-28 * time.Hour)}, What: "signed", Who: jan.ID, Ref: "d2"}},
		SignersDone: 1, SignersTotal: 3}}
	offer := office.PackageRow{Package: office.Package{ID: "p2", Name: "Offer 2026-118", State: "open", Created: Now.Add(-time.Hour),
		Signers: []office.Signer{tom, nova}, Documents: []office.Document{{ID: "d3", Name: "Offer 2026-118"}},
		SignersTotal: 2}}
	mandate := office.PackageRow{Package: office.Package{ID: "p3", Name: "Mandate Keller", State: "executed", Created: Now.Add(-49 * time.Hour), Executed: office.When{Time: Now.Add(-20 * time.Minute)},
		Signers: []office.Signer{nova, tom}, Documents: []office.Document{{ID: "d4", Name: "Letter of mandate", Executed: true, SignedBy: []string{nova.ID, tom.ID}}},
		History: []office.HistoryEntry{{Time: office.When{Time: Now.Add(-49 * time.Hour)}, What: "sent"}, {Time: office.When{Time: Now.Add(-30 * time.Hour)}, What: "signed", Who: nova.ID, Ref: "d4"},
			{Time: office.When{Time: Now.Add(-20 * time.Minute)}, What: "signed", Who: tom.ID, Ref: "d4"}, {Time: office.When{Time: Now.Add(-20 * time.Minute)}, What: "executed"},
			{Time: office.When{Time: Now.Add(-19 * time.Minute)}, What: "saved", Ref: "Mandate Keller - Letter of mandate.pdf"}},
		SignersDone: 2, SignersTotal: 2}, FilesDone: 2, FilesTotal: 2,
		Files: []office.File{inFolder(office.FileSigned, "d4", "Mandate Keller - Letter of mandate.pdf"), inFolder(office.FileCertificate, "d4", "Mandate Keller - certificate.pdf")}}
	saving := mandate
	saving.ID, saving.Name, saving.FilesDone, saving.Saved = "p4", "Annual accounts 2025", 1, false
	saving.Files = waitsFor(mandate.Files)
	withdrawn := office.PackageRow{Package: office.Package{ID: "p5", Name: "Old offer", State: "rescinded", Created: Now.Add(-400 * 24 * time.Hour),
		Signers: []office.Signer{tom}, SignersTotal: 1}}
	o.Rows = []office.PackageRow{offer, mandate, lease, saving, withdrawn}
	o.Happened = []office.Activity{
		{Time: Now.Add(-19 * time.Minute), Kind: "saved", PackageID: "p3", Text: message.Then(message.EveryoneSigned("Mandate Keller"), message.FilesSaved(2, "Signed"))},
		{Time: Now.Add(-20 * time.Minute), Kind: "event", PackageID: "p3", Text: message.Signed("Thomas Keller", "Mandate Keller")},
		{Time: Now.Add(-time.Hour), Kind: "sent", PackageID: "p2", Text: message.SentTo("Offer 2026-118", 2)},
		{Time: Now.Add(-5 * time.Hour), Kind: "problem", Text: message.Then(message.NotSent("Letter"), message.ServiceSilent())},
		{Time: Now.Add(-28 * time.Hour), Kind: "event", PackageID: "p1", Text: message.Then(message.Signed("Jan Weber", "Lease Sonnenweg 4"), message.NextSigner("Ana Ruiz"))},
		{Time: Now.Add(-76 * time.Hour), Kind: "signed_in", Text: message.SignedInAs("office@weber-partner.example")},
	}
	signed := filepath.FromSlash("/home/office/Documents/Signed")
	o.Files = []office.Job{{PackageID: "p3", Folder: signed, Target: "Mandate Keller - Letter of mandate.pdf"},
		{PackageID: "p3", Folder: signed, Target: "Mandate Keller - certificate.pdf"}}
	o.Origins = map[string]office.Draft{"p1": {ID: "sent-p1", Name: lease.Name, Sequential: true, Signers: lease.Signers, Message: "As discussed.",
		Files: []office.DraftFile{{Path: filepath.FromSlash("/home/office/Documents/Lease Sonnenweg 4.pdf"), Name: "Lease Sonnenweg 4.pdf"}}}}
	o.Pictures = map[string]image.Image{"Lease Sonnenweg 4.pdf": Page(), "Mandate Keller - Letter of mandate.pdf": Page(), "Mandate Keller - certificate.pdf": Page()}
	o.Arrived = arrived()
	o.Turned = []agent.Refusal{
		{Time: Now.Add(-2 * time.Hour), Reason: message.RequestForged(), Remote: "203.0.113.9", More: 41},
		{Time: Now.Add(-30 * time.Hour), Reason: message.RequestUnsigned(), Remote: "198.51.100.4"}}
	o.State.Events = agent.EventCounts{Received: len(o.Arrived), Rejected: 43, Pending: 1, Problems: 1}
	return o
}

// Wrong is a bad day: an expired sign-in, a full disk, a package that ran out of time.
func Wrong() *Office {
	o := Busy()
	o.State.SignedIn, o.State.Account = false, agent.Account{}
	o.State.Health = []agent.Issue{
		{ID: "signin", Severity: agent.Problem, Since: Now.Add(-26 * time.Minute), Message: message.SignInLapsed(), Action: agent.ActSignIn},
		{ID: "tunnel", Severity: agent.Warning, Since: Now.Add(-time.Hour), Message: message.Then(message.NoConnection(), message.TryingAgain()), Action: agent.ActRetry},
	}
	full := o.Rows[1]
	full.Saved = false
	full.Problem, full.FilesDone, full.Files = message.WaitForRoom("Signed", 1), 1, waitsFor(full.Files)
	expired := o.Rows[0]
	expired.State = "expired"
	o.Rows = []office.PackageRow{full, expired, o.Rows[2]}
	o.Waiting = []office.Draft{{ID: "x", Name: "Offer 2026-119", State: office.DraftUnknown, Created: Now.Add(-2 * time.Hour), Signers: []office.Signer{tom},
		Files: []office.DraftFile{{Name: "Offer 2026-119.pdf", Path: filepath.FromSlash("/home/office/Documents/Offer 2026-119.pdf")}}},
		{ID: "y", Name: "Letter", State: office.DraftFailed, Created: Now.Add(-5 * time.Hour), Signers: []office.Signer{ana}, Problem: message.FileProtected("Offer.pdf")}}
	return o
}

// World is an office with long names, many signers and several scripts.
func World() *Office {
	o := Busy()
	long := o.Rows[2]
	long.ID, long.Name = "w1", "Μισθωτήριο κατοικίας – Договор аренды квартиры – Hợp đồng thuê nhà – a name that does not end where the column ends"
	long.Signers = []office.Signer{signer("e.papadopoulou", "Ελένη", "Παπαδοπούλου"), signer("n", "Наталья", "Александровна-Преображенская"),
		signer("nguyen", "Nguyễn", "Thị Minh Khai"), signer("o", "Ólöf", "Þórðardóttir"),
		{ID: "very", Email: "a.very.long.address.that.never.seems.to.end@subdomain.of.a.long.company.example.com"}}
	long.NextSigners, long.SignersTotal, long.SignersDone = []string{"n", "nguyen", "o", "very"}, 5, 1
	many := o.Rows[0]
	many.ID, many.Name, many.SignersTotal, many.SignersDone = "w2", "Resolution of the owners", 12, 7
	many.NextSigners = []string{tom.ID, nova.ID}
	for i := range 12 {
		many.Signers = append(many.Signers, signer(fmt.Sprintf("owner%d", i), "Owner", fmt.Sprint(i)))
	}
	nameless := office.PackageRow{Package: office.Package{ID: "w3", State: "open", Origin: office.MadeElsewhere, Created: Now.Add(-time.Minute)}}
	o.Rows = append([]office.PackageRow{long, many, nameless}, o.Rows...)
	o.State.Account.Email = "a.very.long.account.name@subdomain.of.a.long.company.example.com"
	return o
}

// Events is the agent's. Its cursor is the id of the last event of the page before.
func (o *Office) Events(before office.Cursor, limit int) ([]office.Event, office.Cursor, error) {
	if err := o.unread(); err != nil {
		return nil, "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	from := 1 + slices.IndexFunc(o.Arrived, func(e office.Event) bool { return e.ID == string(before) })
	to := min(from+limit, len(o.Arrived))
	next := office.Cursor("")
	if from < to && to < len(o.Arrived) {
		next = office.Cursor(o.Arrived[to-1].ID)
	}
	return append([]office.Event{}, o.Arrived[from:to]...), next, nil
}

func (o *Office) Refused() []agent.Refusal {
	return read(o, func() []agent.Refusal { return append([]agent.Refusal{}, o.Turned...) })
}

// RetryEvent is the agent's: the event waits again.
func (o *Office) RetryEvent(eventID string) error {
	err := message.Error(message.EventUnreadable(), nil)
	o.Change(office.ActivityChanged, func(o *Office) {
		for i := range o.Arrived {
			if o.Arrived[i].ID == eventID {
				o.Arrived[i].Outcome, o.Arrived[i].Reason, err = office.EventPending, message.Message{}, nil
			}
		}
	})
	return err
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

// Pass lets the time pass in which something can be undone.
func (o *Office) Pass() {
	for _, do := range read(o, func() []func() { do := o.passed; o.passed = nil; return do }) {
		do()
	}
}

// waits returns once the time has passed in which something can be undone; whatever ends ctx ends that.
func (o *Office) waits(ctx context.Context) error {
	passed := make(chan struct{})
	o.Change(office.OutboxChanged, func(o *Office) { o.passed = append(o.passed, func() { close(passed) }) })
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *Office) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	if o.Patient && d.Undo > 0 {
		held := office.Draft{State: office.DraftHeld, Name: d.Name, Message: d.Message, Signers: d.Signers, Recipients: d.Recipients, Created: Now,
			Decision: office.Decision{Send: true, At: Now.Add(d.Undo)}}
		for _, path := range d.Files {
			held.Files = append(held.Files, office.DraftFile{Path: path, Name: filepath.Base(path)})
		}
		o.Change(office.OutboxChanged, func(o *Office) {
			o.pressed++
			held.ID = fmt.Sprint("pressed-", o.pressed)
			o.Waiting = append(o.Waiting, held)
		})
		state := office.SendState{DraftID: held.ID, State: office.DraftHeld, Undo: true}
		progress(state)
		if err := o.waits(ctx); err != nil {
			return state, err
		}
		d.Replaces = append(slices.Clone(d.Replaces), held.ID)
	}
	o.Change(office.OutboxChanged, func(o *Office) {
		o.Waiting = slices.DeleteFunc(slices.Clone(o.Waiting), func(kept office.Draft) bool { return slices.Contains(d.Replaces, kept.ID) })
		d.Replaces = slices.DeleteFunc(append([]string(nil), d.Replaces...), func(id string) bool { return strings.HasPrefix(id, "pressed-") })
		d.Undo = 0
		o.Sent = append(o.Sent, d)
	})
	if o.OnSend != nil {
		return o.OnSend(ctx, d, progress)
	}
	row := office.PackageRow{Package: office.Package{ID: "sent-1", Name: d.Name, State: "open", Origin: office.MadeHere,
		Sequential: d.Sequential, Signers: d.Signers, Recipients: d.Recipients, Due: d.Due, Created: time.Now(), SignersTotal: len(d.Signers)}}
	o.Change(office.PackagesChanged, func(o *Office) { o.Rows = append([]office.PackageRow{row}, o.Rows...) })
	return office.SendState{State: office.DraftSent, PackageID: row.ID}, nil
}

// Again is the agent's, of documents that are all where they were.
func (o *Office) Again(_ context.Context, draftID string) (d office.NewPackage, lost []string, err error) {
	d, err = kept(o, func() office.NewPackage {
		drafts := slices.Collect(maps.Values(o.Origins))
		for _, draft := range append(drafts, o.Waiting...) {
			if draft.ID != draftID {
				continue
			}
			again := draft.Again()
			for _, f := range draft.Files {
				if f.Original > 0 {
					again.Template.Documents[f.Original-1].File = f.Path
				} else {
					again.Files = append(again.Files, f.Path)
				}
			}
			return again
		}
		return office.NewPackage{}
	})
	return d, nil, err
}

// Cancel is the agent's. A draft that is with the service, here one that is "adding", comes too late.
func (o *Office) Cancel(draftID string) (inTime bool, err error) {
	o.Change(office.OutboxChanged, func(o *Office) {
		o.Cancelled = append(o.Cancelled, draftID)
		inTime = true
		for i, d := range o.Waiting {
			if d.ID == draftID && d.State != office.DraftQueued && d.State != office.DraftHeld {
				inTime = false
			} else if d.ID == draftID {
				o.Waiting = append(o.Waiting[:i:i], o.Waiting[i+1:]...)
			}
		}
	})
	return inTime, nil
}

// Stop is the agent's. A draft that is with the service comes too late here, too.
func (o *Office) Stop(draftID string) (inTime bool, err error) {
	o.Change(office.OutboxChanged, func(o *Office) {
		for i, d := range o.Waiting {
			if d.ID == draftID && d.State == office.DraftQueued {
				o.Waiting[i].State, o.Waiting[i].Stopped, o.Waiting[i].Problem, inTime = office.DraftHeld, true, message.Message{}, true
			}
		}
	})
	return inTime, nil
}

func (o *Office) Decide(draftID string, send bool, undo time.Duration) error {
	do := func() {
		o.Change(office.OutboxChanged, func(o *Office) {
			left := []office.Draft{}
			for _, d := range o.Waiting {
				switch undone := o.Patient && undo > 0 && !d.Decision.Pending(); {
				case d.ID != draftID || undone:
				case send:
					d.State, d.Problem, d.Stopped, d.Decision = office.DraftQueued, message.Message{}, false, office.Decision{}
				default:
					continue
				}
				left = append(left, d)
			}
			o.Waiting = left
		})
	}
	if !o.Patient || undo == 0 {
		do()
		return nil
	}
	o.Change(office.OutboxChanged, func(o *Office) {
		for i := range o.Waiting {
			if o.Waiting[i].ID == draftID {
				o.Waiting[i].Decision = office.Decision{Send: send, At: Now.Add(undo)}
			}
		}
		o.passed = append(o.passed, do)
	})
	return nil
}

func (o *Office) UndoDecision(draftID string) (inTime bool, err error) {
	o.Change(office.OutboxChanged, func(o *Office) {
		for i := range o.Waiting {
			if d := &o.Waiting[i]; d.ID == draftID && d.Decision.Pending() {
				d.Decision, inTime = office.Decision{}, true
			}
		}
	})
	return inTime, nil
}
