package officetest

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// LinesSince is the agent's; it knows no versions.
func (o *Office) LinesSince(uint64) (office.Lines, error) {
	return kept(o, func() office.Lines {
		lines := make([]office.PackedLine, len(o.Rows))
		for i, row := range o.Rows {
			lines[i] = lineOf(row).Pack()
		}
		return office.Lines{All: true, Lines: lines}
	})
}

// lineOf is what the store keeps of a package for the list.
func lineOf(row office.PackageRow) office.PackageLine {
	p := row.Package
	p.Planned, p.Saved = row.FilesTotal > 0, row.FilesTotal > 0 && row.FilesDone == row.FilesTotal
	return p.Line()
}

func (o *Office) Package(id string) (row office.PackageRow, known bool, err error) {
	row, err = kept(o, func() office.PackageRow {
		if i := slices.IndexFunc(o.Rows, func(r office.PackageRow) bool { return r.ID == id }); i >= 0 {
			known = true
			return o.Rows[i]
		}
		return office.PackageRow{}
	})
	return row, known, err
}

func (o *Office) SaveAgain(packageID string) error {
	o.Change(office.PackagesChanged, func(o *Office) { o.SavedAgain = append(o.SavedAgain, packageID) })
	return nil
}

// Export is the agent's; OnExport decides how it ends.
func (o *Office) Export(_ context.Context, packageIDs []string, folder string) (office.Exported, error) {
	o.Exports = append(o.Exports, folder+": "+strings.Join(packageIDs, " "))
	return o.OnExport, nil
}

func (o *Office) Archive(packageID string, archived bool) error {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if o.Rows[i].ID == packageID {
				o.Rows[i].Archived = nil
				if archived {
					o.Rows[i].Archived = &office.Archived{}
				}
			}
		}
	})
	return nil
}

// Withdraw is the agent's; OnWithdraw decides how it ends.
func (o *Office) Withdraw(ctx context.Context, n office.NewWithdrawal) (list []office.Withdrawn, err error) {
	if n.Stored != nil {
		n.Stored()
	}
	n.Stored = nil
	if o.Patient && n.Undo > 0 {
		o.wish(n)
		if err := o.waits(ctx); err != nil {
			return nil, err
		}
	}
	o.Change(office.PackagesChanged, func(o *Office) {
		o.Withdrawn = append(o.Withdrawn, n)
		for _, id := range n.Packages {
			x := office.Withdrawn{PackageID: id, State: office.WithdrawDone}
			for i := range o.Rows {
				row := &o.Rows[i]
				if row.ID != id {
					continue
				}
				if o.Patient && n.Undo > 0 && row.Withdrawal == nil {
					x.State = ""
					continue // undone
				}
				if x.Name = row.Name; o.OnWithdraw != nil {
					x.State, x.Problem = o.OnWithdraw(id)
				}
				row.Withdrawal = &office.Withdrawal{State: x.State, Problem: x.Problem, Message: n.Message, Quiet: n.Quiet, Asked: Now}
				if x.State == office.WithdrawDone {
					row.State = office.PackageRescinded
				}
			}
			list = append(list, x)
		}
	})
	return list, nil
}

// wish notes that packages are to be withdrawn.
func (o *Office) wish(n office.NewWithdrawal) {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if slices.Contains(n.Packages, o.Rows[i].ID) {
				o.Rows[i].Withdrawal = &office.Withdrawal{State: office.WithdrawWanted, Message: n.Message, Quiet: n.Quiet, Asked: Now, NextTry: Now.Add(n.Undo)}
			}
		}
	})
}

func (o *Office) LetWithdrawalGo(id string) error {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if w := o.Rows[i].Withdrawal; o.Rows[i].ID == id && w.Pending() && w.State != office.WithdrawWanted {
				o.Rows[i].Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: w.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
			}
		}
	})
	return nil
}

func (o *Office) KeepPackage(id string) (inTime bool, err error) {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if w := o.Rows[i].Withdrawal; o.Rows[i].ID == id && w != nil && w.State == office.WithdrawWanted {
				o.Rows[i].Withdrawal, inTime = nil, true
			}
		}
	})
	return inTime, nil
}

func (o *Office) CanWithdraw() bool { return read(o, func() bool { return !o.NoWithdrawing }) }

// CheckNow is the agent's; without somebody signed in it fails.
func (o *Office) CheckNow() (err error) {
	o.Change(office.StatusChanged, func(o *Office) {
		o.Asked++
		o.State.Checking = o.State.SignedIn
		if !o.State.SignedIn {
			err = message.Error(message.NotSignedIn(), nil)
		}
	})
	return err
}

func (o *Office) DraftOf(packageID string) (d office.Draft, known bool, err error) {
	d, err = kept(o, func() (d office.Draft) {
		d, known = o.Origins[packageID]
		return d
	})
	return d, known, err
}

func (o *Office) EditPage(_ context.Context, packageID string) (string, error) {
	if page := read(o, func() string { return o.Pages[packageID] }); page != "" {
		return page, nil
	}
	return "", message.Error(message.ServiceKnowsNot(), nil)
}

func (o *Office) Preview(_ context.Context, path string, _ int) (image.Image, error) {
	if picture := read(o, func() image.Image { return o.Pictures[filepath.Base(path)] }); picture != nil {
		return picture, nil
	}
	return nil, errors.New("there is no picture")
}

func (o *Office) Saved(limit int) ([]office.Job, error) {
	return kept(o, func() []office.Job { return append([]office.Job{}, o.Files[:min(limit, len(o.Files))]...) })
}

func (o *Office) People() ([]office.Signer, error) {
	return kept(o, func() []office.Signer { return append([]office.Signer{}, o.Known...) })
}

// Inspect is the agent's; what OnInspect does not say is a good file of one page.
func (o *Office) Inspect(_ context.Context, path string) agent.FileInfo {
	if o.OnInspect != nil {
		return o.OnInspect(path)
	}
	return agent.FileInfo{Path: path, Name: filepath.Base(path), Size: 48_211, Pages: 1}
}

func (o *Office) NewDelivery() *agent.Delivery { return agent.DeliverInto(o.Arriving) }

func (o *Office) Snooze(until time.Time) {
	o.Change(office.StatusChanged, func(o *Office) { o.Quiet = until })
}

func (o *Office) Snoozed() time.Time { return read(o, func() time.Time { return o.Quiet }) }

// Page is a picture of a page of text: grey lines on white, in the proportions of A4.
func Page() image.Image {
	page := image.NewRGBA(image.Rect(0, 0, 210, 297))
	draw.Draw(page, page.Bounds(), image.White, image.Point{}, draw.Src)
	ink := image.NewUniform(color.Gray{0x99})
	for y := 30; y < 260; y += 9 {
		width := 150 - y*7%60
		if y < 40 {
			ink = image.NewUniform(color.Gray{0x44})
			width = 90
		}
		draw.Draw(page, image.Rect(30, y, 30+width, y+3), ink, image.Point{}, draw.Src)
		ink = image.NewUniform(color.Gray{0x99})
	}
	return page
}

// arrived are the events of the ordinary day, newest first.
func arrived() []office.Event {
	at := func(id, action, packageID, more string, back time.Duration, outcome office.Outcome) office.Event {
		when := Now.Add(-back)
		body := fmt.Sprintf(`{"action":%q,"packageId":%q,%s"eventId":%q,"eventTime":%q}`, action, packageID, more, id, when.UTC().Format(time.RFC3339Nano))
		e := office.Event{ID: id, Action: action, PackageID: packageID, Time: when, Received: when.Add(900 * time.Millisecond), Body: []byte(body),
			URL: "https://office.ngrok.app/events/4f1c", Outcome: outcome}
		if outcome == office.EventHandled {
			e.Handled = e.Received.Add(time.Second)
		}
		return e
	}
	odd := office.Event{ID: "sha256:9f86d081884c7d65", Received: Now.Add(-50 * time.Hour), Body: []byte("{\"action\": \"pack"), URL: "https://office.ngrok.app/events/4f1c",
		Outcome: office.EventUnprocessable, Reason: message.EventUnreadable(), Handled: Now.Add(-50 * time.Hour)}
	again := at("e-3", "document_signed", "p3", `"documentId":"d4","signerId":"keller",`, 20*time.Minute, office.EventHandled)
	again.Copies = 2
	return []office.Event{
		at("e-5", "package_executed", "p3", `"externalData":null,`, 20*time.Minute, ""),
		at("e-4", "document_executed", "p3", `"documentId":"d4",`, 20*time.Minute, office.EventHandled), again,
		at("e-2", "document_signed", "p1", `"documentId":"d2","signerId":"jan.weber","nextSignerId":"ana.ruiz",`, 28*time.Hour, office.EventHandled),
		at("e-1", "document_signed", "p1", `"documentId":"d1","signerId":"jan.weber",`, 28*time.Hour, office.EventHandled), odd}
}

// Templates are those of an ordinary office.
func Templates() []office.Template {
	return []office.Template{
		{ID: "t-lease", Name: "Lease agreement", Description: "A flat, with the house rules", Message: "Read both, then sign.", Sequential: true,
			Documents: []office.TemplateDocument{
				{ID: "d-1", Name: "Lease agreement", Fields: []office.TemplateField{{ID: "address", Name: "Address of the flat"},
					{ID: "rent", Name: "Monthly rent", Value: "900"}, {ID: "special", Name: "Special agreements", Multiline: true}}},
				{ID: "d-2", Name: "House rules"}},
			Roles:  []office.TemplateRole{{ID: "s-1", Role: "Landlord"}, {ID: "s-2", Role: "Tenant"}},
			Copies: []office.TemplateRole{{ID: "r-1", Role: "Records", FirstName: "Rita", LastName: "Records", Email: "records@example.com"}}},
		{ID: "t-mandate", Name: "Engagement letter", Description: "For new clients",
			Documents: []office.TemplateDocument{{ID: "d-3", Name: "Engagement letter"}},
			Roles: []office.TemplateRole{{ID: "s-3", Role: "Client"},
				{ID: "s-4", Role: "Lawyer", FirstName: "Laura", LastName: "Lawyer", Email: "laura@example.com"}}},
		{ID: "t-nda", Name: "Non-disclosure agreement", Documents: []office.TemplateDocument{},
			Roles: []office.TemplateRole{{ID: "s-5", Role: "Party"}, {ID: "s-6", Role: "Party"}}},
	}
}
