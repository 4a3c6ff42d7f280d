package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// deadlineLook is how often it is looked for what is due soon. A look writes nothing unless there is something to tell.
const deadlineLook = 15 * time.Minute

// RunDeadlines tells people of packages that are due soon and not signed, each once ever, until ctx ends. While they want
// to hear nothing it is owed.
func (r *Service) RunDeadlines(ctx context.Context) error {
	for {
		if err := r.TellDueSoon(); err != nil {
			return err
		}
		if !loop.Wait(ctx, deadlineLook, r.deadlines) {
			return nil
		}
	}
}

// WakeDeadlines has it looked at once: the settings or the clock have changed.
func (r *Service) WakeDeadlines() { loop.Wake(r.deadlines) }

// TellDueSoon is one look of RunDeadlines.
func (r *Service) TellDueSoon() error {
	days := r.deps.Settings().DueDays
	if days <= 0 || r.deps.News.Silent() {
		return nil
	}
	now := r.Now()
	due, err := data.Read(r.Data, "the packages that are due soon", func(tx *store.Tx) (ids []string, err error) {
		err = tx.OpenLines(func(l office.PackageLine) {
			if l.DueSoon(now, days) {
				ids = append(ids, l.ID)
			}
		})
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(ids, func(id string) bool { return r.deps.News.ToldDue(tx, id) }), nil
	})
	if err != nil || len(due) == 0 {
		return err
	}
	var facts []office.Fact
	err = r.Data.Update(func(tx *store.Tx) error {
		facts = nil
		for _, id := range due {
			p, ok, err := tx.Package(id)
			if store.OfOneRecord(err) || err == nil && (!ok || p.Away || !p.Line().DueSoon(now, days)) {
				continue
			}
			if err != nil {
				return err
			}
			told, err := r.deps.News.DueSoon(tx, p, now)
			if err != nil {
				return err
			}
			for _, f := range told {
				line := office.Activity{Time: now, Kind: "due", PackageID: p.ID, Text: message.Then(f.Title, f.Body)}
				if err := tx.AddActivity(line); err != nil {
					return err
				}
			}
			facts = append(facts, told...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("tell what is due soon: %w", err)
	}
	r.deps.News.Announce(facts...)
	if len(facts) > 0 {
		r.Signal(office.ActivityChanged)
	}
	return nil
}
