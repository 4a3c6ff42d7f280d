package desks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/desk"
	"countersign/internal/office"
	"countersign/internal/store"
)

// BenchmarkDesks has the hub store 10,000 events as the inbox does, as fast as it can, and measures how long each takes to the last of 50
// desks, or of one, the floor; and the same for 200 that come one after the other. Desks commit nothing here: each computer has its own disk.
func BenchmarkDesks(b *testing.B) {
	for _, desks := range []int{1, 50} {
		b.Run(fmt.Sprint(desks), func(b *testing.B) {
			for range b.N {
				measure(b, desks, 10_000, 0)
				measure(b, desks, 200, 10*time.Millisecond)
			}
		})
	}
}

func measure(b *testing.B, desks, events int, pause time.Duration) {
	askEvery = time.Minute
	hub, _ := newHub(b)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	at, left := make([]time.Time, events), make([]atomic.Int64, events)
	took, over := make([]time.Duration, events), make(chan struct{})
	var open atomic.Int64
	open.Store(int64(events))
	for n := range desks {
		v, err := hub.Invite(ctx, office.DeskInvite{Name: fmt.Sprint(n)})
		noErr(b, err)
		running.Go(func() {
			conn, err := desk.Connect(ctx, desk.Way{Servers: "nats://" + v.Servers, Pin: v.Pin, Seed: v.Key})
			for ; err != nil; conn, err = desk.Connect(ctx, desk.Way{Servers: "nats://" + v.Servers, Pin: v.Pin, Seed: v.Key}) {
				time.Sleep(10 * time.Millisecond)
			}
			defer conn.Close()
			for ctx.Err() == nil {
				_ = conn.Receive(ctx, 1, desk.Mark{}, func(e desk.Event, _ desk.Mark) error {
					n, err := strconv.Atoi(string(e.Body[:8]))
					if err != nil {
						return err
					}
					if left[n].Add(1) == int64(desks) {
						took[n] = time.Since(at[n])
						if open.Add(-1) == 0 {
							close(over)
						}
					}
					return nil
				}, func(desk.Mark) error { return nil })
			}
		})
	}
	eventually(b, "every desk is connected", func() bool {
		return !slices.ContainsFunc(hub.List(ctx), func(d office.DeskRow) bool { return !d.Connected })
	})
	began := time.Now()
	for n := range events {
		body := append([]byte(fmt.Sprintf("%08d", n)), make([]byte, 1500)...)
		at[n] = time.Now()
		noErr(b, hub.Data.Update(func(tx *store.Tx) error {
			_, err := tx.AddEvent(office.Event{ID: fmt.Sprint(n), Body: body})
			return err
		}))
		hub.Stored(fmt.Sprint(n))
		time.Sleep(pause)
	}
	<-over
	all := time.Since(began)
	cancel()
	running.Wait()
	slices.Sort(took)
	what := map[bool]string{true: "burst", false: "paced"}[pause == 0]
	b.ReportMetric(float64(took[events/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[events*99/100].Microseconds())/1000, what+"-p99-ms")
	b.ReportMetric(float64(all.Milliseconds()), what+"-all-ms")
}
