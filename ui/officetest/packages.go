package officetest

import (
	"cmp"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// packages are the office's packages, and what is known of them elsewhere.
type packages struct {
	Rows      []office.PackageRow
	Files     []office.Job            // saved last
	Pages     map[string]string       // page addresses by signer or package id
	Origins   map[string]office.Draft // drafts by the id of the package sent from them
	Pictures  map[string]image.Image  // page 1 by file name
	Exported  office.Exported         // result of an export
	Withdrawn []office.NewWithdrawal
	Trusted   []*x509.Certificate
	Unsaved   map[string]bool // packages whose files wait for a folder
}

// events are the past events, newest first.
type events struct {
	Happened []office.Activity
	Arrived  []office.Event
}

func (o *Office) Held() (map[string]bool, error) {
	return kept(o, func() map[string]bool { return o.Unsaved })
}

// LinesSince imitates the agent's, without versions.
func (o *Office) LinesSince(uint64) (office.Lines, error) {
	return kept(o, func() office.Lines {
		lines := make([]office.PackedLine, len(o.Rows))
		for i, row := range o.Rows {
			lines[i] = lineOf(row).Pack()
		}
		return office.Lines{All: true, Lines: lines}
	})
}

// lineOf returns what the store keeps of a package for the list.
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
	o.note(office.PackagesChanged, "save again", packageID)
	return nil
}

func (o *Office) Export(_ context.Context, packageIDs []string, folder string) (office.Exported, error) {
	o.note(office.StatusChanged, "export", strings.Join(packageIDs, " "), "to", folder)
	return read(o, func() office.Exported { return o.Exported }), nil
}

func (o *Office) NoteLetter(packageID, address string) error {
	o.note(office.PackagesChanged, "letter", packageID, "to", address)
	return nil
}

func (o *Office) Archive(packageID string, archived bool) (changed bool, err error) {
	if err := o.first("Archive"); err != nil {
		return false, err
	}
	o.each([]string{packageID}, func(row *office.PackageRow) {
		changed = (row.Archived != nil) != archived
		row.Archived = nil
		if archived {
			row.Archived = &office.Archived{}
		}
	})
	return changed, nil
}

// each changes some packages.
func (o *Office) each(ids []string, change func(*office.PackageRow)) {
	o.Change(office.PackagesChanged, func(o *Office) {
		for i := range o.Rows {
			if slices.Contains(ids, o.Rows[i].ID) {
				change(&o.Rows[i])
			}
		}
	})
}

// Withdraw imitates the agent's; it is too late for what it fails with.
func (o *Office) Withdraw(ctx context.Context, n office.NewWithdrawal) (list []office.Withdrawn, err error) {
	patient, stored := o.Patient && n.Undo > 0, n.Stored
	n.Stored = nil
	wait := func(context.Context) error { return nil }
	if patient {
		o.each(n.Packages, func(row *office.PackageRow) {
			row.Withdrawal = &office.Withdrawal{State: office.WithdrawWanted, Message: n.Message, Quiet: n.Quiet, Asked: Now, NextTry: Now.Add(n.Undo)}
		})
		wait = o.undoable()
	}
	if stored != nil {
		stored()
	}
	if err := wait(ctx); err != nil {
		return nil, err
	}
	o.Change(office.PackagesChanged, func(o *Office) { o.Withdrawn = append(o.Withdrawn, n) })
	late := o.first("Withdraw")
	o.each(n.Packages, func(row *office.PackageRow) {
		x := office.Withdrawn{PackageID: row.ID}
		switch {
		case patient && row.Withdrawal == nil: // undone
		case late != nil:
			x = office.Withdrawn{PackageID: row.ID, Name: row.Name, State: office.WithdrawLate, Problem: message.For(late)}
		default:
			x = office.Withdrawn{PackageID: row.ID, Name: row.Name, State: office.WithdrawDone}
			row.State = office.PackageRescinded
		}
		if x.State != "" {
			row.Withdrawal = &office.Withdrawal{State: x.State, Problem: x.Problem, Message: n.Message, Quiet: n.Quiet, Asked: Now}
		}
		list = append(list, x)
	})
	return list, nil
}

func (o *Office) LetWithdrawalGo(id string) error {
	o.each([]string{id}, func(row *office.PackageRow) {
		if w := row.Withdrawal; w.Pending() && w.State != office.WithdrawWanted {
			row.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: w.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		}
	})
	return nil
}

func (o *Office) KeepPackage(id string) (inTime bool, err error) {
	o.each([]string{id}, func(row *office.PackageRow) {
		if w := row.Withdrawal; w != nil && w.State == office.WithdrawWanted {
			row.Withdrawal, inTime = nil, true
		}
	})
	return inTime, nil
}

func (o *Office) CanWithdraw() bool { return !o.lacks("withdrawals") }

func (o *Office) lacks(what string) bool {
	return read(o, func() bool { return slices.Contains(o.Lacks, what) })
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

func (o *Office) SealAuthority(context.Context, string) (*x509.Certificate, error) {
	return &x509.Certificate{Raw: []byte("root"), Subject: pkix.Name{CommonName: "Signing service CA"}}, nil
}

// Differences returns those of a signed two-page document whose price was changed.
func (o *Office) Differences(_ context.Context, packageID string, _ office.File) (agent.Comparison, error) {
	o.note("", "differences", packageID)
	return agent.Comparison{State: "changed", Places: []agent.Difference{
		{Kind: "altered", Page: 1, Back: 1, Was: "5,200.00", Now: "9,250.00", Box: [4]float64{0.5, 0.3, 0.7, 0.33}},
		{Kind: "added", Page: 2, Back: 2, Now: "Ana Ruiz", Box: [4]float64{0.2, 0.7, 0.5, 0.8}}, {Kind: "page", Back: 3}}}, nil
}

func (o *Office) ComparedPage(ctx context.Context, _ string, f office.File, original bool, page, width int) (image.Image, error) {
	o.note("", "page", strconv.FormatBool(original), strconv.Itoa(page))
	return o.Preview(ctx, f.Path, width)
}

func (o *Office) TrustSeals(more ...*x509.Certificate) error {
	for _, c := range more {
		o.note(office.PackagesChanged, "trust", c.Subject.CommonName)
	}
	return nil
}

func (o *Office) DistrustSeals(some ...*x509.Certificate) error {
	o.note(office.PackagesChanged, "distrust", len(some))
	return nil
}

func (o *Office) TrustedSeals() ([]*x509.Certificate, error) {
	return read(o, func() []*x509.Certificate { return o.Trusted }), nil
}

func (o *Office) Authorities(ctx context.Context, path string) ([]*x509.Certificate, error) {
	c, err := o.SealAuthority(ctx, path)
	return []*x509.Certificate{c}, err
}

func (o *Office) MayGo(office.Query) (list []office.Package, err error) {
	return read(o, func() []office.Package {
		for _, row := range o.Rows {
			list = append(list, row.Package)
		}
		return list
	}), nil
}

func (o *Office) Prove(_ context.Context, packageID, path string, _ bool) error {
	o.note("", "prove", packageID, path)
	return nil
}

func (o *Office) SignerPage(_ context.Context, _, signerID string) (string, error) {
	if page := read(o, func() string { return o.Pages[signerID] }); page != "" {
		return page, nil
	}
	o.Change("", func(o *Office) { o.Lacks = append(o.Lacks, "links") })
	return "", message.Error(message.NoLinks(), nil)
}

func (o *Office) LinksOffered() bool { return !o.lacks("links") }

func (o *Office) DraftPage(ctx context.Context, f office.DraftFile, width int) (image.Image, error) {
	return o.Preview(ctx, f.Name, width)
}

func (o *Office) Original(f office.DraftFile) (path string, err error) {
	if o.lacks(f.Path) {
		return "", message.Error(message.OriginalChanged(f.Name), nil)
	}
	return f.Path, nil
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

// Page draws a page of text: grey lines on white, in A4 proportions.
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

func (o *Office) Activity(limit int) ([]office.Activity, error) {
	return kept(o, func() []office.Activity {
		return append([]office.Activity{}, o.Happened[:min(limit, len(o.Happened))]...)
	})
}

// Events imitates the agent's. Its cursor is the id of the previous page's last event.
func (o *Office) Events(before office.Cursor, limit int) (page []office.EventRow, next office.Cursor, err error) {
	if err := o.unread(); err != nil {
		return nil, "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	from := 1 + slices.IndexFunc(o.Arrived, func(e office.Event) bool { return e.ID == string(before) })
	to := min(from+limit, len(o.Arrived))
	if from < to && to < len(o.Arrived) {
		next = office.Cursor(o.Arrived[to-1].ID)
	}
	for _, e := range o.Arrived[from:to] {
		row := office.EventRow{Event: e}
		if i := slices.IndexFunc(o.Rows, func(r office.PackageRow) bool { return r.ID == e.PackageID }); i >= 0 {
			name, signer := o.Rows[i].Name, o.Rows[i].SignerName(signerIn(e.Body))
			row.Line.Package, row.Line.Signer = name, signer
			row.Line.Text = map[string]message.Message{"document_signed": message.Signed(signer, name),
				"document_executed": message.EveryoneSignedADocument(name), "package_executed": message.EveryoneSigned(name)}[e.Action]
		}
		row.Line.Text = cmp.Or(e.Reason, row.Line.Text)
		page = append(page, row)
	}
	return page, next, nil
}

// signerIn returns the id in an event's body.
func signerIn(body []byte) string {
	var e struct{ SignerID string }
	_ = json.Unmarshal(body, &e) // unreadable ones name nobody
	return e.SignerID
}

// Refused returns two kinds of requests if any were refused.
func (o *Office) Refused() []agent.Refusal {
	if read(o, func() bool { return o.State.Events.Rejected == 0 }) {
		return nil
	}
	return []agent.Refusal{{Time: Now.Add(-2 * time.Hour), Reason: message.RequestForged(), Remote: "203.0.113.9", More: 41},
		{Time: Now.Add(-30 * time.Hour), Reason: message.RequestUnsigned(), Remote: "198.51.100.4"}}
}

// RetryEvent imitates the agent's: the event waits again.
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
