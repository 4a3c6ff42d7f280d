package desks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/desk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
)

// askEvery is how often a desk asks whether the hub receives events.
var askEvery = 30 * time.Second // tests ask more often

// tellTime is how long a hub that became a desk tells the other desks so: until each has asked once.
const tellTime = 45 * time.Second

// beDesk receives what the hub passes on, until ctx or the connection ends.
func (r *Service) beDesk(ctx context.Context, s office.Settings) error {
	r.Health.Clear(health.HubFails)
	seed, err := r.seed()
	if err != nil {
		return err
	}
	conn, err := r.Stream.Connect(ctx, desk.Way{Servers: s.Office, Pin: s.OfficePin, Seed: seed, Dial: r.Dial})
	if err != nil {
		return err
	}
	defer conn.Close()
	a, err := r.ask(ctx, conn)
	if err != nil {
		return r.why(conn, err)
	}
	epoch := a.Epoch
	had, _, err := data.Doc[desk.Mark](r.Data, docMark)
	if err != nil {
		return err
	}
	var read atomic.Pointer[desk.Mark]
	read.Store(&had)
	reads := func(is desk.Mark, err error) error {
		if err == nil {
			read.Store(&is)
		}
		return err
	}
	kept := had
	keep := func() (err error) { // not with each event: a kill at worst makes it ask for known events again
		if is := *read.Load(); is != kept {
			if err = r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docMark, is) }); err == nil {
				kept = is
			}
		}
		return err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return conn.Receive(ctx, epoch, had, func(e desk.Event, is desk.Mark) error { return reads(is, r.take(ctx, e)) },
			func(is desk.Mark) error { return reads(is, r.fetch(ctx, conn)) })
	})
	both.Go(func() error {
		for since := (time.Time{}); ; {
			r.heard(a, since)
			if !loop.Wait(ctx, askEvery, conn.Closed()) {
				return ctx.Err()
			}
			if err := keep(); err != nil {
				return err
			}
			since = a.Since
			if a, err = r.ask(ctx, conn); err != nil {
				return err
			}
			if a.Epoch != epoch {
				return errLater
			}
		}
	})
	err = both.Wait()
	return r.why(conn, errors.Join(err, keep()))
}

// heard records what the hub said: since when events reach it, compared with what it said before.
func (r *Service) heard(a desk.Answer, before time.Time) {
	listening := !a.Since.IsZero()
	if !a.Since.Equal(before) { // it received none meanwhile
		r.hear(false)
	}
	r.hear(listening)
	if !listening {
		r.tell(errSilent, office.Settings{TunnelSettings: office.TunnelSettings{Tunnel: office.TunnelOffice}})
		return
	}
	r.Health.Clear(health.HubAway)
}

// why returns err, or, if that is the cause, that the hub no longer knows this desk.
func (r *Service) why(conn Conn, err error) error {
	if conn.Removed() {
		return desk.ErrRemoved
	}
	return err
}

func (r *Service) take(ctx context.Context, e desk.Event) error {
	return r.Take(ctx, e.URL, e.Service, e.Signature, e.Body)
}

// ask asks for the hub's state, and records which hub it is and which desks it has, one of which may replace it some day.
func (r *Service) ask(ctx context.Context, conn Conn) (desk.Answer, error) {
	met, err := r.epoch()
	if err != nil {
		return desk.Answer{}, err
	}
	a, err := conn.Ask(ctx, desk.Question{Person: r.Person(), Met: met})
	switch {
	case err != nil:
		return a, err
	case a.Epoch < max(met, 1):
		return a, errEarlier
	case a.Epoch > met+desk.MaxHubs:
		return a, fmt.Errorf("hub %d is beyond all reason", a.Epoch)
	case a.Epoch > met:
		err = r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docEpoch, a.Epoch) })
	}
	if a.Moved != nil && err == nil {
		r.Log.Info("the hub is another one now", "at", a.Moved.Servers)
		err = r.Adopt(ctx, a.Moved.Servers, a.Moved.Pin)
	}
	return a, errors.Join(err, r.note(members(a)))
}

const maxMembers = 512

// members returns the hub's desks, as far as they are valid: this computer admits them if it becomes the hub.
func members(a desk.Answer) (list []office.Desk) {
	for _, d := range a.Desks {
		if name := message.OneLine(d.Name, office.MaxDeskName); name != "" && desk.IsKey(d.Key) && len(list) < maxMembers {
			list = append(list, office.Desk{Name: name, Key: d.Key, Made: d.Made})
		}
	}
	return list
}

func (r *Service) note(list []office.Desk) error {
	same := func(a, b office.Desk) bool { return a.Name == b.Name && a.Key == b.Key && a.Made.Equal(b.Made) }
	if slices.EqualFunc(r.desks.Get(), list, same) {
		return nil
	}
	return r.change(func([]office.Desk) ([]office.Desk, error) { return list, nil })
}

// fetch receives events that the hub has stored and this desk has not, because one that should have arrived is missing.
func (r *Service) fetch(ctx context.Context, conn Conn) error {
	r.Log.Info("events are missing, and are asked for")
	for q := (desk.Question{Events: true}); ; {
		a, err := conn.Ask(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range a.Events {
			known, err := data.Read(r.Data, "an event", func(tx *store.Tx) (bool, error) {
				known, other, err := tx.KnowsEvent(e.ID, e.Body)
				return known && !other, err
			})
			if err != nil {
				return err
			}
			if !known {
				if err := r.take(ctx, e); err != nil {
					return err
				}
			}
		}
		if len(a.Events) == 0 || a.Next == q.Before {
			a.Next = "" // otherwise it would never end
		}
		if q.Before = a.Next; q.Before == "" {
			r.Returned() // the service still knows what is older
			return nil
		}
	}
}
