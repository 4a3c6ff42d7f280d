package desks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/trytest"
)

// BenchmarkDesks has the service call the hub and measures how long an event takes from the call to the inbox of the last of 50 desks,
// or of one, the floor: as many as -benchtime says, as fast as the hub answers them on eight connections, and before that at most 200,
// one each 10 ms. All of it is in this process: the server with its stream and the hub's data on the disk, and for each desk a
// connection and data of its own, those in memory, because each computer has its own disk.
func BenchmarkDesks(b *testing.B) {
	for _, desks := range []int{1, 50} {
		b.Run(fmt.Sprint(desks), func(b *testing.B) {
			measure(b, "paced", desks, min(b.N, 200), 1, 10*time.Millisecond)
			measure(b, "burst", desks, b.N, 8, 0)
		})
	}
}

func measure(b *testing.B, what string, desks, events, connections int, pause time.Duration) {
	askEvery = time.Minute
	memory := os.Getenv("TMPDIR")
	noErr(b, os.Setenv("TMPDIR", b.TempDir()))
	hub, _ := newHub(b)
	noErr(b, os.Setenv("TMPDIR", memory))
	front := httptest.NewServer(hub.inbox)
	defer front.Close()
	front.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = connections
	at, took := make([]time.Time, events), make([]time.Duration, events)
	left := make([]atomic.Int64, events)
	open, over := atomic.Int64{}, make(chan struct{})
	open.Store(int64(events))
	arrived := func(id string) {
		n := trytest.Must(strconv.Atoi(id)) - 1
		if left[n].Add(1) == int64(desks) {
			if took[n] = time.Since(at[n]); open.Add(-1) == 0 {
				close(over)
			}
		}
	}
	var all []*computer
	for n := range desks {
		d := hub.invite(fmt.Sprint(n))
		d.added.Store(&arrived)
		all = append(all, d)
	}
	for _, d := range all {
		d.listens()
	}
	began := time.Now()
	var calls sync.WaitGroup
	for first := range connections {
		calls.Go(func() {
			for n := first; n < events; n += connections {
				body := fmt.Appendf(nil, `{"eventId":"%d","action":"document_signed","more":%q}`, n+1, strings.Repeat("x", 1400))
				sum := hmac.New(sha256.New, []byte(hookSecret))
				sum.Write(append([]byte(hookURL), body...))
				r := trytest.Must(http.NewRequest(http.MethodPost, front.URL, bytes.NewReader(body)))
				r.Header.Set("Signature", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
				at[n] = time.Now()
				answer := trytest.Must(front.Client().Do(r))
				if answer.Body.Close(); answer.StatusCode != http.StatusOK {
					b.Errorf("event %d is answered %d", n, answer.StatusCode)
				}
				time.Sleep(pause)
			}
		})
	}
	calls.Wait()
	answered := time.Since(began)
	<-over
	b.ReportMetric(float64(time.Since(began).Milliseconds()), what+"-all-ms")
	b.ReportMetric(float64(answered.Milliseconds()), what+"-answered-ms")
	slices.Sort(took)
	b.ReportMetric(float64(took[events/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[events*99/100].Microseconds())/1000, what+"-p99-ms")
	for _, d := range append(all, hub) {
		d.stop()
	}
}
