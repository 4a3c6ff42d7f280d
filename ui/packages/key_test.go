package packages

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/officetest"
)

// leases is an office with n packages of all kinds, which have people and documents.
func leases(n int) *officetest.Office {
	o := many(n)
	like := officetest.Busy().Rows[2]
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range o.Rows {
		r := &o.Rows[i]
		r.Name, r.State = fmt.Sprintf("Lease Sonnenweg %d, second floor", i), states[i%4]
		r.Signers, r.Documents = like.Signers, like.Documents
	}
	return o
}

func TestPagesOfPackagesDoNotPileUp(t *testing.T) {
	b := newBench(t, leases(20))
	page := b.screen.detail.Objects[0]
	for range 15 {
		b.screen.search.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
		b.Settle()
	}
	if now := b.screen.detail.Objects; len(now) != 1 || now[0] != page {
		t.Error("another package is in another scroll")
	}
}

// BenchmarkKeyIn50000 types and deletes a word in the search of windows that show 50,000 packages, as fast as they take it: what
// a person waits for before the next letter, the first key after a window has opened included. The floor beside it, measured in
// turns, is to look for a word in each of the texts.
func BenchmarkKeyIn50000(b *testing.B) {
	const windows, words, word = 5, 20, "Lease 4"
	var floor, first, keys []time.Duration
	o := leases(50_000)
	for b.Loop() {
		for range windows {
			bench := newBench(b, o)
			search := bench.screen.search
			bench.Window.Canvas().Focus(search)
			runtime.GC() // a person is slower to type than the window to open
			key := func(press func()) time.Duration {
				floor = append(floor, timeOf(func() {
					for _, text := range bench.screen.all.texts.of() {
						sink = strings.Contains(text, "sonnenallee")
					}
				}))
				took := timeOf(func() { press(); bench.Run() })
				keys = append(keys, took)
				return took
			}
			for n := range words {
				for i, letter := range word {
					if took := key(func() { search.TypedRune(letter) }); n+i == 0 {
						first = append(first, took)
					}
				}
				for range word {
					key(func() { search.TypedKey(&fyne.KeyEvent{Name: fyne.KeyBackspace}) })
				}
			}
			bench.Settle()
		}
	}
	share := func(of []time.Duration, hundredths int) float64 {
		slices.Sort(of)
		return float64(of[(len(of)-1)*hundredths/100]) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(share(floor, 50), "ms-floor")
	b.ReportMetric(share(keys, 50), "ms/key")
	b.ReportMetric(share(first, 100), "ms/slowest-first-key")
	b.ReportMetric(share(keys, 99), "ms/99th-of-100-keys")
	b.ReportMetric(share(keys, 100), "ms/slowest-key")
}

func timeOf(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}

// sink keeps the compiler from leaving out what nobody asks for.
var sink bool
