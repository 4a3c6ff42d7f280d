package officetest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// outbox is what is about to be sent or was sent, and helpers for that.
type outbox struct {
	Typed    office.Form
	Presets  []office.FormPreset
	Waiting  []office.Draft
	Sent     []office.NewPackage
	Known    []office.Signer
	Infos    map[string]agent.FileInfo // by document name; other documents are valid files of one page
	Arriving string                    // the folder for dropped files without a path
	Library  []office.Template         // the service's templates
	Used     []office.UsedTemplate
	Table    []office.ListRow // rows of the list being opened
	Before   []office.Before  // for its lines
	Bulk     []office.BulkProgress
	Results  []office.BulkResult
	held     sync.Map // by id: ends the wait of a draft that can be undone

	// OnSend decides the outcome of sending; nil accepts at once.
	OnSend func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error)
}

func (o *Office) Drafts() ([]office.Draft, error) {
	return kept(o, func() []office.Draft { return append([]office.Draft{}, o.Waiting...) })
}

func (o *Office) KeepForm(form office.Form) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Typed = form
}

func (o *Office) Form() office.Form { return read(o, func() office.Form { return o.Typed }) }

func (o *Office) FormPresets() ([]office.FormPreset, error) {
	return kept(o, func() []office.FormPreset { return o.Presets })
}

func (o *Office) KeepFormPreset(x office.FormPreset) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Presets = office.WithPreset(o.Presets, x)
	return nil
}

func (o *Office) People() ([]office.Signer, error) {
	return kept(o, func() []office.Signer { return append([]office.Signer{}, o.Known...) })
}

func (o *Office) Inspect(_ context.Context, path string) agent.FileInfo {
	info, told := o.Infos[filepath.Base(path)]
	if !told {
		info = agent.FileInfo{Size: 48_211, Pages: 1}
	}
	info.Name = filepath.Base(path)
	return info
}

func (o *Office) NewDelivery() *agent.Delivery { return agent.DeliverInto(o.Arriving) }

func (o *Office) Templates(_ context.Context, search string) ([]office.Template, error) {
	if err := o.first("Templates"); err != nil {
		return nil, err
	}
	return kept(o, func() []office.Template {
		return slices.DeleteFunc(slices.Clone(o.Library), func(t office.Template) bool { return !t.Mentions(search) })
	})
}

func (o *Office) TemplatesOffered() bool { return !o.lacks("templates") }

func (o *Office) UsedTemplates(limit int) ([]office.UsedTemplate, error) {
	return kept(o, func() []office.UsedTemplate { return slices.Clone(o.Used[:min(len(o.Used), limit)]) })
}

func (o *Office) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	if o.Patient && d.Undo > 0 {
		held := office.Draft{State: office.DraftHeld, Name: d.Name, Message: d.Message, Signers: d.Signers, Recipients: d.Recipients, Created: Now,
			Delivery: office.Delivery{Decision: office.Decision{Send: true, At: Now.Add(d.Undo)}}}
		for _, path := range d.Files {
			held.Files = append(held.Files, office.DraftFile{Path: path, Name: filepath.Base(path)})
		}
		o.Change(office.OutboxChanged, func(o *Office) {
			o.Done = append(o.Done, "press")
			held.ID = fmt.Sprint("pressed-", len(o.Done))
			o.Waiting = append(o.Waiting, held)
		})
		state := office.SendState{DraftID: held.ID, State: office.DraftHeld, Undo: true}
		wait := o.undoable()
		waiting, cancel := context.WithCancel(ctx)
		o.held.Store(held.ID, cancel)
		progress(state)
		if err := wait(waiting); ctx.Err() == nil && err != nil {
			state.State, state.Undo = office.DraftCancelled, false
			return state, nil
		} else if err != nil {
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
		Sequential: d.Sequential, Signers: d.Signers, Recipients: d.Recipients, Due: d.Due, Created: time.Now(), Signing: office.Signing{SignersTotal: len(d.Signers)}}}
	o.Change(office.PackagesChanged, func(o *Office) { o.Rows = append([]office.PackageRow{row}, o.Rows...) })
	return office.SendState{DraftID: "sent", State: office.DraftSent, PackageID: row.ID}, nil
}

// Again imitates the agent's, with all documents unchanged.
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

// Cancel imitates the agent's. It is too late for a draft that is already with the service, here one that is "adding".
func (o *Office) Cancel(draftID string) (inTime bool, err error) {
	if err := o.first("Cancel"); err != nil {
		return false, err
	}
	o.note(office.OutboxChanged, "cancel", draftID)
	o.unhold(draftID)
	inTime = true
	o.Change(office.OutboxChanged, func(o *Office) {
		o.Waiting = slices.DeleteFunc(slices.Clone(o.Waiting), func(d office.Draft) bool {
			ours := d.ID == draftID
			late := ours && d.State != office.DraftQueued && d.State != office.DraftHeld
			inTime = inTime && !late
			return ours && !late
		})
	})
	return inTime, nil
}

// unhold ends a Send that waits until it can no longer be undone.
func (o *Office) unhold(draftID string) {
	if cancel, waits := o.held.Load(draftID); waits {
		cancel.(context.CancelFunc)()
	}
}

// eachDraft changes the draft with an id.
func (o *Office) eachDraft(id string, change func(*office.Draft)) {
	o.Change(office.OutboxChanged, func(o *Office) {
		for i := range o.Waiting {
			if o.Waiting[i].ID == id {
				change(&o.Waiting[i])
			}
		}
	})
}

// Stop imitates the agent's. It is too late for a draft that is already with the service.
func (o *Office) Stop(draftID string) (inTime bool, err error) {
	if err := o.first("Stop"); err != nil {
		return false, err
	}
	o.unhold(draftID)
	o.eachDraft(draftID, func(d *office.Draft) {
		if d.State == office.DraftQueued || d.Decision.Pending() {
			d.State, d.Stopped, d.Problem, d.Decision, inTime = office.DraftHeld, true, message.Message{}, office.Decision{}, true
		}
	})
	return inTime, nil
}

// Decide imitates the agent's: of two decisions that can be undone, the first one stands.
func (o *Office) Decide(draftID string, send bool, undo time.Duration) (decided bool, err error) {
	if err := o.first("Decide"); err != nil {
		return false, err
	}
	waits := o.Patient && undo > 0
	if o.eachDraft(draftID, func(d *office.Draft) { decided = !waits || !d.Decision.Pending() }); !decided {
		return false, nil
	}
	decide := func() {
		o.Change(office.OutboxChanged, func(o *Office) {
			o.Waiting = slices.DeleteFunc(slices.Clone(o.Waiting), func(d office.Draft) bool {
				return d.ID == draftID && !send && (!waits || d.Decision.Pending())
			})
		})
		o.eachDraft(draftID, func(d *office.Draft) {
			if !waits || d.Decision.Pending() {
				d.State, d.Problem, d.Stopped, d.Decision = office.DraftQueued, message.Message{}, false, office.Decision{}
			}
		})
	}
	if !waits {
		decide()
		return true, nil
	}
	o.eachDraft(draftID, func(d *office.Draft) { d.Decision = office.Decision{Send: send, At: Now.Add(undo)} })
	o.Change(office.OutboxChanged, func(o *Office) { o.passed = append(o.passed, decide) })
	return true, nil
}

func (o *Office) UndoDecision(draftID string) (inTime bool, err error) {
	o.eachDraft(draftID, func(d *office.Draft) {
		if d.Decision.Pending() {
			d.Decision, inTime = office.Decision{}, true
		}
	})
	return inTime, nil
}

// PrepareList validates Table as the agent does; none of its lines was sent before.
func (o *Office) PrepareList(_ context.Context, path string, common office.NewPackage, order string) (office.BulkList, error) {
	return kept(o, func() office.BulkList {
		l := office.ReadList(filepath.Base(path), o.Table, common, nil, Now, order)
		for i := range min(len(l.Lines), len(o.Before)) {
			l.Lines[i].Before = o.Before[i]
		}
		return l
	})
}

// SendList stores a running list with one line sent and one not.
func (o *Office) SendList(_ context.Context, l office.BulkList, again bool, _ time.Duration) (id string, err error) {
	o.Change(office.OutboxChanged, func(o *Office) {
		left := l.Left(again)
		b := office.BulkProgress{Bulk: office.Bulk{ID: "list-1", File: l.File, Documents: l.Common.Titles(), Lines: len(l.Lines), State: office.BulkRunning, Created: Now.Add(-time.Minute)}, Sent: 1, Wrong: 1 + len(l.Faulty()), Open: len(left) - 2}
		for _, c := range l.Columns {
			b.Heads = append(b.Heads, c.Head)
		}
		o.Bulk, o.Results = []office.BulkProgress{b}, nil
		for i, x := range left {
			r := office.BulkResult{ListRow: x.ListRow, Name: x.Package.Name}
			switch i {
			case 0:
				r.State, r.PackageID = office.DraftSent, "sent-1"
			case 1:
				r.State, r.Problem = office.DraftFailed, message.MayNotSendDocuments()
			}
			o.Results = append(o.Results, r)
		}
		for _, x := range l.Faulty() {
			o.Results = append(o.Results, office.BulkResult{ListRow: x.ListRow, State: office.DraftFailed, Problem: x.Wrong[0].Text})
		}
		slices.SortFunc(o.Results, func(a, b office.BulkResult) int { return a.Line - b.Line })
	})
	return "list-1", nil
}

func (o *Office) Lists() ([]office.Bulk, error) {
	return kept(o, func() (list []office.Bulk) {
		for _, p := range o.Bulk {
			list = append(list, p.Bulk)
		}
		return list
	})
}

func (o *Office) SentList(id string) (p office.BulkProgress, lines []office.BulkResult, known bool, err error) {
	p, err = kept(o, func() (p office.BulkProgress) {
		for _, p = range o.Bulk {
			if known = p.ID == id; known {
				lines = slices.Clone(o.Results)
				break
			}
		}
		return p
	})
	return p, lines, known, err
}

func (o *Office) DecideList(id string, to office.BulkState) error {
	o.Change(office.OutboxChanged, func(o *Office) {
		for i := range o.Bulk {
			if o.Bulk[i].ID == id {
				o.Bulk[i].State = to
			}
		}
	})
	return nil
}
