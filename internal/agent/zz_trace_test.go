package agent

import (
	"fmt"
	"testing"
	"time"

	"countersign/internal/store"
)

func BenchmarkZZ(b *testing.B) {
	service := newBenchService()
	defer service.Close()
	for range 3 {
		t := time.Now()
		floorDownloads(b, service, benchPackages)
		fmt.Println("floor", time.Since(t))
		o := newBenchOffice(b, service)
		o.knowAll(benchPackages)
		_, stop := o.start()
		t = time.Now()
		done := make(chan bool)
		go func() {
			o.deliverAll(benchPackages)
			fmt.Println("delivered", time.Since(t))
			close(done)
		}()
		for {
			var e store.EventCounts
			var p store.PackageCounts
			var j store.JobCounts
			o.st.View(func(tx *store.Tx) error {
				e, _ = tx.EventCounts()
				p, _ = tx.PackageCounts()
				j, _ = tx.JobCounts()
				return nil
			})
			fmt.Printf("%4d ms received %d pending %d  executed %d planned %d saved %d told %d\n", time.Since(t).Milliseconds(), e.Received, e.Pending, p.Executed, j.Pending+j.Done, p.Saved, o.told.Load())
			if p.Saved == benchPackages && o.told.Load() > 0 {
				break
			}
			time.Sleep(25 * time.Millisecond)
		}
		<-done
		stop()
		for b.Loop() {
		}
	}
}
