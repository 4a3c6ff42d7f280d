package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

func benchEvent(n int64) office.Event {
	return office.Event{
		ID:        fmt.Sprintf("%08x-4f89-11d3-9a0c-%012x", uint32(n*2654435761), n), // scattered, as UUIDs are
		Action:    "package_executed",
		PackageID: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
		Time:      day,
		Received:  day.Add(time.Duration(n) * time.Millisecond),
		URL:       "https://office.example.ngrok.app/events/6ba7b810",
		Body: []byte(`{"action":"package_executed","packageId":"3f2504e0-4f89-11d3-9a0c-0305e82c3301","externalData":null,"eventId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8",` +
			`"eventOwnerOrganizationId":"6ba7b811-9dad-11d1-80b4-00c04fd430c8","eventOwnerMemberId":"6ba7b812-9dad-11d1-80b4-00c04fd430c8","eventTime":"2026-11-21T09:00:00.1234567Z"}`),
	}
}

// BenchmarkIngest compares storing an event through Update (ours) with a bare bbolt Update per event with the same
// bytes (floor), from 1, 8 and 50 callers at once.
func BenchmarkIngest(b *testing.B) {
	for _, callers := range []int{1, 8, 50} {
		b.Run(fmt.Sprintf("floor/callers=%d", callers), func(b *testing.B) {
			db, err := bolt.Open(filepath.Join(b.TempDir(), "floor.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
			must(b, err)
			defer db.Close()
			spread(b, callers, func(n int64) error {
				e := benchEvent(n)
				value, err := json.Marshal(e)
				if err != nil {
					return err
				}
				return db.Update(func(tx *bolt.Tx) error {
					bucket, err := tx.CreateBucketIfNotExists([]byte("events"))
					if err != nil {
						return err
					}
					return bucket.Put([]byte(e.ID), value)
				})
			})
		})
		b.Run(fmt.Sprintf("ours/callers=%d", callers), func(b *testing.B) {
			s := newTest(b)
			spread(b, callers, func(n int64) error {
				e := benchEvent(n)
				return s.Update(func(tx *Tx) error {
					added, err := tx.AddEvent(e)
					if err == nil && !added {
						return fmt.Errorf("event %d was there already", n)
					}
					return err
				})
			})
		})
	}
}

// spread runs do b.N times from so many goroutines.
func spread(b *testing.B, callers int, do func(n int64) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
