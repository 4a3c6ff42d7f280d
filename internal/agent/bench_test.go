package agent

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/blake3"
	bolt "go.etcd.io/bbolt"

	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/semaphore"
)

// benchPackages is how many packages one round is made of.
const benchPackages = 200

// BenchmarkEventToFileToNotification is the whole way of executed packages, 200 at once: signed events at the handler,
// their status, their files on the disk, every one of them recorded as saved and handed on to be told. The summary itself
// waits until the crowd is over (announce), which is a pause for people's sake; it is checked, but not measured. The floor
// beside it, measured in turns, is the durable download alone; the second one is what the promises need besides, and nothing
// else.
func BenchmarkEventToFileToNotification(b *testing.B) {
	beside(b, benchPackages, func(service *benchService, m *measured) {
		m.floor = append(m.floor, floorDownloads(b, service, benchPackages))
		m.promised = append(m.promised, newPromised(b, service).all(benchPackages))
		o := newBenchOffice(b, service)
		defer o.start()()
		o.know(0, benchPackages)
		told := o.told.expect(benchPackages)
		m.whole = append(m.whole, o.timed(benchPackages, &o.saved, func() { o.deliverAll(benchPackages) }))
		o.wait(told)
	})
}

// fewAlone is how many notifications an agent raises one by one, after that of benchWarm: what comes then within the same
// moment would wait for a summary.
const fewAlone = 4

// BenchmarkOneEventToFileToNotification is the same for packages that come one by one, up to their notification: how long
// a person waits.
func BenchmarkOneEventToFileToNotification(b *testing.B) {
	beside(b, 1, func(service *benchService, m *measured) {
		o := newBenchOffice(b, service)
		defer o.start()()
		o.know(0, fewAlone)
		dir := b.TempDir()
		bare := newPromised(b, service)
		for i := range fewAlone {
			m.floor = append(m.floor, costOf(func() { noErr(b, floorDownload(service, dir, i)) }))
			m.promised = append(m.promised, costOf(func() { bare.event(i); bare.save(i); bare.tell(i) }))
			m.whole = append(m.whole, o.timed(1, &o.told, func() { o.deliver(esign.PackageExecuted, i) }))
		}
	})
}

// BenchmarkCatchUp is a computer that finds its packages executed, with no event at all, at full speed. It ends as
// BenchmarkEventToFileToNotification does.
func BenchmarkCatchUp(b *testing.B) {
	const many = 1000
	beside(b, many, func(service *benchService, m *measured) {
		m.floor = append(m.floor, floorDownloads(b, service, many))
		m.promised = append(m.promised, newPromised(b, service).missed(many))
		o := newBenchOffice(b, service)
		defer o.start()()
		o.know(0, many)
		told := o.told.expect(many)
		m.whole = append(m.whole, o.timed(many, &o.saved, func() { o.packages.Sweep("the benchmark") }))
		o.wait(told)
	})
}

// BenchmarkReceive is events that are stored and answered while those before them are handled, from one connection to many.
// The floor beside it, measured in turns, is one bbolt Update for each. The signatures that they tell of are on packages
// whose people are known, so that nobody is asked and nothing is saved: only the data file is worked on. The second floor keeps
// besides what an event and its handling must leave there.
func BenchmarkReceive(b *testing.B) {
	const many = 400
	for _, connections := range []int{1, 8, 50} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			beside(b, many, func(service *benchService, m *measured) {
				m.floor = append(m.floor, floorUpdates(b, connections, many))
				m.promised = append(m.promised, newPromised(b, service).receive(connections, many))
				o := newBenchOffice(b, service)
				defer o.start()()
				o.know(0, many)
				handled := o.handled.expect(many)
				m.whole = append(m.whole, costOf(func() {
					spread(connections, many, func(i int) { o.deliver(esign.DocumentSigned, i) })
				}))
				o.wait(handled)
			})
		})
	}
}

// floorUpdates is an event of the same size in a transaction each.
func floorUpdates(b *testing.B, connections, n int) time.Duration {
	b.Helper()
	db := must(bolt.Open(filepath.Join(b.TempDir(), "floor.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType}))
	defer db.Close()
	return costOf(func() {
		spread(connections, n, func(i int) {
			err := db.Update(func(tx *bolt.Tx) error {
				bucket, err := tx.CreateBucketIfNotExists([]byte("events"))
				if err != nil {
					return err
				}
				return bucket.Put(fmt.Appendf(nil, "00000000-0000-4000-8000-%012d", i), bytes.Repeat([]byte("x"), 600))
			})
			if err != nil {
				b.Error(err)
			}
		})
	})
}

// spread does n things, so many at a time.
func spread(atOnce, n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}

// costOf is how long some work took.
func costOf(work func()) time.Duration {
	start := time.Now()
	work()
	return time.Since(start)
}

// measured is what some work cost each time: as the first floor does it, as the second one does, and as the agent does.
type measured struct{ floor, promised, whole []time.Duration }

// beside measures rounds beside each other, and reports the medians for so many packages a round.
func beside(b *testing.B, packages int, round func(*benchService, *measured)) {
	service := newBenchService()
	defer service.Close()
	var m measured
	for b.Loop() {
		round(service, &m)
	}
	m.report(b, packages)
}

// report reports the medians, how much of each floor's speed is left, and how much of the first one's the second has: more than
// that limit nobody reaches who keeps the promises.
func (m *measured) report(b *testing.B, packages int) {
	median := func(costs []time.Duration) float64 {
		return slices.Sorted(slices.Values(costs))[len(costs)/2].Seconds()
	}
	floor, whole, promised := median(m.floor), median(m.whole), median(m.promised)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(floor*1000, "ms-floor")
	b.ReportMetric(whole*1000, "ms-agent")
	b.ReportMetric(float64(packages)/whole, "packages/s")
	b.ReportMetric(floor/whole, "x-floor")
	b.ReportMetric(promised/whole, "x-promised")
	b.ReportMetric(floor/promised, "x-limit")
}

// promised is the second floor: what the promises ask of the disk and of the network, in their order, with records of the
// size of the agent's that mean nothing. An event is on the disk before it is answered; the service is asked what the package
// is; its file has a name that is kept before the first byte, and a digest before it gets that name; it is flushed, named,
// and the folder flushed before it counts as saved; that people need not be told of it any more is on the disk before they
// are, so that a crash doubles no notification. Commits that wait at the same time are one, as the agent's are.
type promised struct {
	b       *testing.B
	service *benchService
	store   *store.Store
	dir     string
	network *semaphore.Weighted
}

func newPromised(b *testing.B, service *benchService) *promised {
	b.Helper()
	s := must(store.Open(filepath.Join(b.TempDir(), "floor.db"), store.Options{}))
	b.Cleanup(func() { s.Close() })
	return &promised{b: b, service: service, store: s, dir: b.TempDir(), network: semaphore.NewWeighted(4)}
}

func (p *promised) all(n int) time.Duration {
	return costOf(func() {
		var events sync.WaitGroup
		var saves sync.WaitGroup
		events.Go(func() {
			spread(8, n, func(i int) {
				p.event(i)
				saves.Go(func() { p.save(i) })
			})
		})
		events.Wait()
		saves.Wait()
	})
}

// missed is n packages of which no event came.
func (p *promised) missed(n int) time.Duration {
	return costOf(func() { spread(loop.MaxCommits, n, p.save) })
}

func (p *promised) event(i int) { p.keep(p.store.UpdateFirst, "event", i, 600) }

func (p *promised) save(i int) {
	p.network.Acquire(p.b.Context(), 1)
	resp, err := p.service.client.Get(p.service.url + fmt.Sprintf("/packages/p%d/status", i))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	p.network.Release(1)
	p.check(err)
	p.keep(p.store.Update, "planned", i, 1200)
	p.network.Acquire(p.b.Context(), 1)
	file, err := fetchFloor(p.service, p.dir, i)
	p.network.Release(1)
	p.check(err)
	defer file.Close()
	flushed := make(chan error, 1)
	go func() { flushed <- file.Sync() }()
	blake3.New().Write(p.service.pdf) // who has written it has it in memory
	p.keep(p.store.Update, "digest", i, 400)
	p.check(<-flushed)
	p.check(nameFloor(file))
	p.keep(p.store.Update, "saved", i, 1600)
}

func (p *promised) tell(i int) { p.keep(p.store.Update, "told", i, 40) }

// handle is what an event that asks for nothing leaves: what it says is in the record of its package, in the list of what
// happened, and among what people are told once, and the event is handled, all in one commit.
func (p *promised) handle(i int) {
	record := func(size int) string { return strings.Repeat("x", size) }
	p.check(p.store.Update(func(tx *store.Tx) error {
		return errors.Join(tx.PutDoc(fmt.Sprint("event", i), record(700)), tx.PutDoc(fmt.Sprint("package", i), record(1200)),
			tx.PutDoc(fmt.Sprint("activity", i), record(300)), tx.PutDoc(fmt.Sprint("once", i), ""))
	}))
}

// receive is n events, from so many connections, that are handled meanwhile. As with the agent, what is left to be handled when
// the last one has been answered is not waited for.
func (p *promised) receive(connections, n int) time.Duration {
	var handled sync.WaitGroup
	defer handled.Wait()
	return costOf(func() {
		spread(connections, n, func(i int) {
			p.event(i)
			handled.Go(func() { p.handle(i) })
		})
	})
}

func (p *promised) keep(update func(func(*store.Tx) error) error, what string, i, size int) {
	record := strings.Repeat("x", size)
	p.check(update(func(tx *store.Tx) error { return tx.PutDoc(fmt.Sprint(what, i), record) }))
}

func (p *promised) check(err error) {
	if err != nil {
		p.b.Error(err)
	}
}

// floorDownloads is what nobody can be faster than who promises as much: each file fetched, flushed, renamed and its name
// flushed too, as many at a time.
func floorDownloads(b *testing.B, service *benchService, n int) time.Duration {
	b.Helper()
	dir := b.TempDir()
	return costOf(func() {
		spread(4, n, func(i int) {
			if err := floorDownload(service, dir, i); err != nil {
				b.Error(err)
			}
		})
	})
}

func floorDownload(service *benchService, dir string, i int) error {
	f, err := fetchFloor(service, dir, i)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return nameFloor(f)
}

// fetchFloor downloads a file under a temporary name.
func fetchFloor(service *benchService, dir string, i int) (*os.File, error) {
	resp, err := service.client.Get(service.url + fmt.Sprintf("/packages/p%d/documents/d%d/pdf/executed/download", i, i))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.pdf.part", i)))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nameFloor gives a flushed file its name, and flushes that.
func nameFloor(f *os.File) error {
	if err := os.Rename(f.Name(), strings.TrimSuffix(f.Name(), ".part")); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// benchOffice is an agent of a service that costs next to nothing.
type benchOffice struct {
	*Agent
	b       testing.TB
	service *benchService
	secret  string
	handled tally // events
	saved   tally // files that are on the disk and recorded
	told    tally // packages that notifications tell of

	ahead atomic.Int64 // of the clock, in nanoseconds
}

const benchURL = "https://office.test/webhook"

func newBenchOffice(b testing.TB, service *benchService) *benchOffice {
	b.Helper()
	o := &benchOffice{b: b, service: service, secret: "a secret of an endpoint"}
	o.Agent = openSignedIn(b, Params{
		HTTP: service.client, Pace: loop.Pace{Statuses: 1e6}, Desktop: Desktop{Notify: o.notify},
		Now: func() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) },
		ShowSteps: func(x office.Activity) {
			switch x.Kind {
			case "event":
				o.handled.add(1)
			case "saved":
				o.saved.add(1)
			}
		},
	}, service.url, map[issuer.Sealed]string{issuer.Endpoint: fmt.Sprintf(`{"id": "e", "url": %q, "secret": %q}`, benchURL, o.secret)})
	return o
}

// know stores packages as they are before they are executed, due only when an event comes.
func (o *benchOffice) know(from, to int) {
	o.b.Helper()
	noErr(o.b, o.Data.Update(func(tx *store.Tx) error {
		for i := from; i < to; i++ {
			p := office.Package{
				ID: fmt.Sprintf("p%d", i), Name: fmt.Sprintf("Package %d", i), Origin: office.MadeHere, State: "open",
				Created: o.Now(), Inquiry: office.Inquiry{Checked: o.Now(), NextCheck: o.Now().Add(time.Hour)},
				Signers: []office.Signer{{ID: "ana", FirstName: "Ana", LastName: "Ruiz"}, {ID: "jan", FirstName: "Jan", LastName: "Weber"}},
			}
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		return nil
	}))
}

// benchWarm is a package that has gone the whole way before anything is measured.
const benchWarm = 1_000_000

// start runs the agent until stop, signed in and past all that a start asks for.
func (o *benchOffice) start() (stop func()) {
	o.b.Helper()
	o.know(benchWarm, benchWarm+1)
	stop = runUntil(o.b, o.Agent)
	o.timed(1, &o.told, func() { o.deliver(esign.PackageExecuted, benchWarm) })
	return stop
}

// timed is what it takes from begin until what is counted has become n more. By then as many files are on the disk.
func (o *benchOffice) timed(n int, what *tally, begin func()) time.Duration {
	o.b.Helper()
	done := what.expect(n)
	took := costOf(func() {
		begin()
		o.wait(done)
	})
	var saved int
	if err := o.Data.Store.View(func(tx *store.Tx) error {
		c, err := tx.PackageCounts()
		saved = c.Saved
		return err
	}); err != nil || saved != what.all() {
		o.b.Fatalf("counted %d packages, %d are saved, %v", what.all(), saved, err)
	}
	return took
}

func (o *benchOffice) wait(done <-chan struct{}) {
	o.b.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		o.b.Fatal("it does not end")
	}
}

// deliver hands an event of package i to the handler.
func (o *benchOffice) deliver(action string, i int) {
	if status := deliverEvent(o.webhook.ServeEvent, o.secret, action, i); status != http.StatusOK {
		o.b.Errorf("event %d: %d", i, status)
	}
}

// deliverAll hands an event per package to the handler, as the tunnel does with eight connections.
func (o *benchOffice) deliverAll(n int) {
	spread(8, n, func(i int) { o.deliver(esign.PackageExecuted, i) })
}

// notify counts the packages that a notification tells of, one or many in a summary.
func (o *benchOffice) notify(notice office.Notice) error {
	n := 1
	if fmt.Sscanf(strings.ReplaceAll(notice.Title, ",", ""), "%d packages", &n); n < 1 {
		n = 1
	}
	o.told.add(n)
	return nil
}

// tally counts, and says when there is as much as expected.
type tally struct {
	mu        sync.Mutex
	n, wanted int
	reached   chan struct{}
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
	if t.reached != nil && t.n >= t.wanted {
		close(t.reached)
		t.reached = nil
	}
}

// expect returns what is closed when there are n more.
func (t *tally) expect(n int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted, t.reached = t.n+n, make(chan struct{})
	return t.reached
}

func (t *tally) all() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// benchService answers from memory what a signing service answers about packages p0, p1 ... that are all executed.
type benchService struct {
	url    string
	client *http.Client
	server *httptest.Server
	pdf    []byte // what each of its documents is
}

// benchFile is the size of a document of some pages.
const benchFile = 200 << 10

func newBenchService() *benchService { return newBenchServiceOf(benchFile) }

// newBenchServiceOf is one whose documents have so many bytes and some more.
func newBenchServiceOf(size int) *benchService {
	pdf := append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("0123456789abcde\n"), size/16)...)
	pdf = append(pdf, "%%EOF\n"...)
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/api/v1"} {
		mux.HandleFunc("GET "+prefix+"/packages/{p}/status", func(w http.ResponseWriter, r *http.Request) {
			p := r.PathValue("p")
			fmt.Fprintf(w, `{"packageId":%q,"state":"executed","isExecuted":true,"documents":[{"documentId":%q,"name":"Contract","isExecuted":true}]}`,
				p, "d"+strings.TrimPrefix(p, "p"))
		})
		mux.HandleFunc("GET "+prefix+"/packages/{p}/documents/{d}/pdf/executed/download", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			w.Header().Set("Content-Length", fmt.Sprint(len(pdf)))
			w.Write(pdf)
		})
		mux.HandleFunc("POST "+prefix+"/packages/list", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"items":[],"total":0}`)
		})
	}
	mux.HandleFunc("POST /connect/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`)
	})
	s := &benchService{server: httptest.NewServer(mux), pdf: pdf}
	s.url = s.server.URL
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	return s
}

func (s *benchService) Close() {
	s.client.CloseIdleConnections()
	s.server.Close()
}

// deliverEvent signs an event of package i, which Ana signs, and hands it to handle.
func deliverEvent(handle http.HandlerFunc, secret, action string, i int) (status int) {
	body := fmt.Appendf(nil, `{"action":%q,"packageId":"p%d","documentId":"d%d","signerId":"ana","externalData":null,"eventId":"00000000-0000-4000-8000-%012d","eventTime":%q}`,
		action, i, i, i, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(benchURL))
	mac.Write(body)
	r := httptest.NewRequest(http.MethodPost, benchURL, bytes.NewReader(body))
	r.Header.Set("X-Service-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	handle(w, r)
	return w.Code
}

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
		noErr(o.b, o.forget(o.b.Context()))
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
		noErr(o.b, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
		}))
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
