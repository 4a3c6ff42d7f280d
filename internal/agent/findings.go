package agent

import (
	"fmt"

	"countersign/internal/agent/apply"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// applyCheck records a status answer and plans the files of a package that is executed.
func (a *Agent) applyCheck(id string, status esign.Status, quiet bool) error {
	draw := a.drawing(a.packageOrZero(id))
	listening, now := a.webhook.ListeningSince(), a.Now() // of one moment: the clock may jump while it is committed
	var found findings
	var silent bool
	err := a.Data.Update(func(tx *store.Tx) error {
		found = findings{}
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		before := p
		if found, err = draw(tx, &p, status); err != nil {
			return err
		}
		silent = owesEvent(before, p, found.moved, listening, now)
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("record the status of package %s: %w", id, err)
	}
	if silent {
		a.webhook.Missed(id, now)
	}
	for i := range found.facts {
		found.facts[i].CaughtUp = quiet
	}
	a.follow(found)
	a.Signal(office.PackagesChanged)
	return nil
}

// findings are what follows from a status answer or an event once it is recorded.
type findings struct {
	facts   []office.Fact
	planned int  // files
	moved   bool // something happened that an event should have told
}

// follow does what was found; the findings are committed.
func (a *Agent) follow(f findings) {
	if f.planned > 0 {
		a.saves.Wake()
	}
	a.announcer.Announce(f.facts...)
	a.saves.TellGiven()
}

// drawing returns what draws a status answer into p, which is known so far as before: signatures, save jobs once it is
// executed, and the time to ask again.
func (a *Agent) drawing(before office.Package) func(tx *store.Tx, p *office.Package, status esign.Status) (findings, error) {
	s := a.Settings()
	folder := a.saves.Folder(s, before)
	return func(tx *store.Tx, p *office.Package, status esign.Status) (f findings, err error) {
		// Signatures that were there before the package was known are old, unless everything about it is new.
		tell := !p.Checked.IsZero() || a.Now().Sub(p.Created) < office.NewFor
		executed := p.State == office.PackageExecuted
		news := apply.Status(p, status, a.Now())
		f.moved = len(news) > 0 || !executed && p.State == office.PackageExecuted
		if f.facts, err = a.announcer.Signed(tx, *p, news); err != nil {
			return f, err
		}
		declined, err := a.announcer.Declined(tx, *p)
		if err != nil {
			return f, err
		}
		for _, d := range declined {
			line := office.Activity{Time: a.Now(), Kind: "problem", PackageID: p.ID, Text: message.Then(d.Title, d.Body)}
			if err := tx.AddActivity(line); err != nil {
				return f, err
			}
		}
		f.facts = append(f.facts, declined...)
		if !tell {
			f.facts = nil
		}
		if p.DraftID == "" {
			if err := a.outbox.Claim(tx, p, p.ExternalData); err != nil {
				return f, err
			}
		}
		if some, all := status.Lists(); p.State == office.PackageExecuted && !p.Planned && some {
			if f.planned, err = a.saves.Plan(tx, p, s, folder); err != nil {
				return f, err
			}
			if p.Planned = all; all && f.planned == 0 { // the last answer left open whether there are more
				told, err := a.saves.NoteFiles(tx, p, false)
				if err != nil {
					return f, err
				}
				f.facts = append(f.facts, told...)
			}
		}
		noteAnswer(p, a.Now())
		p.NextCheck = a.Now().Add(a.checkPause(*p, s))
		return f, nil
	}
}
