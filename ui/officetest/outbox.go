package officetest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

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

// Send is env.Office's.
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

// Again is env.Office's, of documents that are all where they were.
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

// Cancel is env.Office's. A draft that is with the service, here one that is "adding", comes too late.
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

// Stop is env.Office's. A draft that is with the service comes too late here, too.
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

// Decide is env.Office's.
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

// UndoDecision is env.Office's.
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
