package agent

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/internal/locations"
)

// aDay is how many packages an office completes in a day.
const aDay = 50

// days lets an office work for so many days, from the day from on: packages that are known, their events, their files and
// notifications, and what is forgotten once a day. Its clock is set ahead by the night.
func (o *benchOffice) days(from, n int) {
	o.b.Helper()
	for day := from; day < from+n; day++ {
		first := day * aDay
		o.know(first, first+aDay)
		saved, told := o.saved.expect(aDay), o.told.expect(aDay)
		spread(8, aDay, func(i int) { o.deliver("package_executed", first+i) })
		o.wait(saved)
		if day == from+n-1 {
			o.wait(told)
		}
		if err := o.forget(o.b.Context()); err != nil {
			o.b.Fatal(err)
		}
		o.ahead.Add(int64(24 * time.Hour))
	}
}

// holding is what an office holds while nothing goes on.
type holding struct {
	goroutines int
	heap       float64  // MiB, after the garbage is gone
	temporary  []string // files in the office's folder and in its data folder that are neither documents nor state
	state      float64  // MiB of the data file
}

func (o *benchOffice) holds() (l holding) {
	o.b.Helper()
	o.service.client.CloseIdleConnections()
	time.Sleep(2 * time.Second) // connections and what looks ahead a moment have ended
	runtime.GC()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	l.goroutines, l.heap = runtime.NumGoroutine(), float64(m.HeapAlloc)/(1<<20)
	for _, dir := range []string{o.Settings().SaveTo, o.p.DataDir} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if info, err := d.Info(); err == nil && path == locations.State(o.p.DataDir) {
				l.state = float64(info.Size()) / (1 << 20)
			}
			if strings.HasSuffix(path, ".part") || strings.HasSuffix(path, ".tmp") || strings.HasSuffix(path, ".room") {
				l.temporary = append(l.temporary, path)
			}
			return nil
		})
		if err != nil {
			o.b.Fatal(err)
		}
	}
	return l
}

// heapNoise is what differs from one look at the heap to the next, in MiB.
const heapNoise = 1

// BenchmarkAYearOfPackages is what an office that completes 50 packages on each of 250 days holds after a quarter, and after
// the year: nothing but the data file is to grow.
func BenchmarkAYearOfPackages(b *testing.B) {
	const quarter = 250 / 4
	for b.Loop() {
		service := newBenchServiceOf(1 << 10)
		o := newBenchOffice(b, service)
		stop := o.start()
		o.days(0, quarter)
		first := o.holds()
		o.days(quarter, 3*quarter)
		year := o.holds()
		stop()
		service.Close()
		if year.goroutines > first.goroutines || year.heap > first.heap+heapNoise || len(year.temporary) > 0 {
			b.Errorf("after a quarter there were %d goroutines and %.1f MiB, after a year %d and %.1f MiB, and the files %v",
				first.goroutines, first.heap, year.goroutines, year.heap, year.temporary)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(year.goroutines), "goroutines")
		b.ReportMetric(first.heap, "MiB-heap-quarter")
		b.ReportMetric(year.heap, "MiB-heap-year")
		b.ReportMetric(first.state, "MiB-state-quarter")
		b.ReportMetric(year.state, "MiB-state-year")
	}
}
