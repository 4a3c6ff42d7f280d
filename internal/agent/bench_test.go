package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/secret"
	"countersign/internal/store"
)

// benchPackages is how many packages one round is made of.
const benchPackages = 200

// BenchmarkEventToFileToNotification is the whole way of an executed package: a signed event at the handler, its status,
// its file on the disk, its notification. The floor beside it is the durable download alone. Both end in packages/s.
func BenchmarkEventToFileToNotification(b *testing.B) {
	service := newBenchService()
	defer service.Close()
	b.Run("floor: get, fsync, rename", func(b *testing.B) {
		for b.Loop() {
			floorDownloads(b, service, benchPackages)
		}
		b.ReportMetric(float64(benchPackages*b.N)/b.Elapsed().Seconds(), "packages/s")
	})
	b.Run("agent", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			o := newBenchOffice(b, service)
			o.knowAll(benchPackages)
			run, stop := o.start()
			b.StartTimer()
			o.deliverAll(benchPackages)
			o.waitTold(run)
			b.StopTimer()
			stop()
			b.StartTimer()
		}
		b.ReportMetric(float64(benchPackages*b.N)/b.Elapsed().Seconds(), "packages/s")
	})
}

// BenchmarkCatchUp is a computer that finds its packages executed, with no event at all, at full speed.
func BenchmarkCatchUp(b *testing.B) {
	const many = 1000
	service := newBenchService()
	defer service.Close()
	b.Run("floor: get, fsync, rename", func(b *testing.B) {
		for b.Loop() {
			floorDownloads(b, service, many)
		}
		b.ReportMetric(float64(many*b.N)/b.Elapsed().Seconds(), "packages/s")
	})
	b.Run("agent", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			o := newBenchOffice(b, service)
			o.knowAll(many)
			b.StartTimer()
			run, stop := o.start()
			o.waitSaved(run, many)
			b.StopTimer()
			stop()
			b.StartTimer()
		}
		b.ReportMetric(float64(many*b.N)/b.Elapsed().Seconds(), "packages/s")
	})
}

// floorDownloads is what nobody can be faster than: each file fetched, flushed and renamed, four at a time.
func floorDownloads(b *testing.B, service *benchService, n int) {
	b.Helper()
	dir := b.TempDir()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range savesAtOnce {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := floorDownload(service, dir, int(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

func floorDownload(service *benchService, dir string, i int) error {
	resp, err := service.client.Get(service.url + fmt.Sprintf("/packages/p%d/documents/d%d/pdf/executed/download", i, i))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	name := filepath.Join(dir, fmt.Sprintf("%d.pdf", i))
	f, err := os.Create(name + ".part")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, resp.Body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// benchOffice is an agent of a service that costs next to nothing.
type benchOffice struct {
	*Agent
	b       *testing.B
	service *benchService
	secret  string
	told    atomic.Int64
	toldAll chan struct{}
}

const benchURL = "https://office.test/webhook"

func newBenchOffice(b *testing.B, service *benchService) *benchOffice {
	b.Helper()
	o := &benchOffice{b: b, service: service, secret: "a secret of an endpoint", toldAll: make(chan struct{}, 1)}
	a, err := Open(b.Context(), Params{
		DataDir: b.TempDir(), Keeper: secret.Memory(), HTTP: service.client, Pace: Pace{Statuses: 1e6},
		Notify: func(string, string) error {
			o.told.Add(1)
			poke(o.toldAll)
			return nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	o.Agent = a
	s := DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = service.url, service.url, "office"
	s.Tunnel, s.Redirect, s.RedirectURI, s.SaveTo = TunnelNone, RedirectPaste, "https://localhost/oauth/callback", b.TempDir()
	acc := account{SignedIn: true, Since: time.Now(), Scopes: []string{"organization"}}
	if err := a.keys.put(map[string][]byte{sealedRefresh: []byte("r")}); err != nil {
		b.Fatal(err)
	}
	a.mu.Lock()
	a.account = acc
	a.mu.Unlock()
	if err := a.Configure(b.Context(), s, Secrets{ClientSecret: "secret"}); err != nil {
		b.Fatal(err)
	}
	a.endpoints.replace(&endpoint{ID: "e", URL: benchURL, Secret: o.secret}, a.now())
	return o
}

// knowAll stores n packages as they are before they are executed, due only when an event comes.
func (o *benchOffice) knowAll(n int) {
	o.b.Helper()
	err := o.st.Update(func(tx *store.Tx) error {
		for i := range n {
			p := store.Package{
				ID: fmt.Sprintf("p%d", i), Name: fmt.Sprintf("Package %d", i), Origin: store.MadeHere, State: "open",
				Created: time.Now(), Checked: time.Now(), NextCheck: time.Now().Add(time.Hour),
			}
			if err := putPackage(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		o.b.Fatal(err)
	}
}

func (o *benchOffice) start() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(o.b.Context())
	var running sync.WaitGroup
	running.Go(func() { o.Run(ctx) })
	return ctx, func() {
		cancel()
		running.Wait()
		if err := o.Close(); err != nil {
			o.b.Error(err)
		}
	}
}

// deliverAll hands an event per package to the handler, as the tunnel does with eight connections.
func (o *benchOffice) deliverAll(n int) {
	var next atomic.Int64
	var connections sync.WaitGroup
	for range 8 {
		connections.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if status := deliverEvent(o.serveEvent, o.secret, int(i)); status != http.StatusOK {
					o.b.Errorf("event %d: %d", i, status)
				}
			}
		})
	}
	connections.Wait()
}

// waitTold waits until every package is saved and at least one notification tells.
func (o *benchOffice) waitTold(ctx context.Context) {
	o.waitSaved(ctx, benchPackages)
	for o.told.Load() == 0 {
		select {
		case <-o.toldAll:
		case <-ctx.Done():
			o.b.Fatal("never told")
		}
	}
}

func (o *benchOffice) waitSaved(ctx context.Context, n int) {
	changes, stop := o.Watch()
	defer stop()
	for o.Status().Packages.Saved < n {
		select {
		case <-changes:
		case <-ctx.Done():
			o.b.Fatal("never saved")
		}
	}
}
