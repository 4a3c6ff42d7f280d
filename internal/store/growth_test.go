package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// practice is an office that sends and saves packages, day after day, on a clock of its own.
type practice struct {
	t   testing.TB
	s   *Store
	rng *rand.Rand
	now time.Time

	lastSaved time.Time // when the last file was
}

func newPractice(t testing.TB) *practice {
	t.Helper()
	o := &practice{t: t, rng: rand.New(rand.NewPCG(8, 19)), now: day}
	o.open(filepath.Join(t.TempDir(), "state.db"))
	return o
}

// open opens the file without waiting for the disk: what is measured is its size.
func (o *practice) open(path string) {
	o.t.Helper()
	s, err := Open(path, Options{Now: func() time.Time { return o.now }})
	must(o.t, err)
	s.db.NoSync = true
	o.s = s
}

func (o *practice) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", o.rng.Uint32(), o.rng.IntN(1<<16), o.rng.IntN(1<<12), o.rng.IntN(1<<12), o.rng.Int64N(1<<48))
}

func (o *practice) event(action, packageID, documentID, signerID string) office.Event {
	id := o.id()
	body, err := json.Marshal(map[string]any{
		"action": action, "packageId": packageID, "documentId": documentID, "signerId": signerID, "eventId": id,
		"externalData":             map[string]any{"countersign": map[string]string{"draft": o.id(), "office": o.id()}},
		"eventOwnerOrganizationId": o.id(), "eventOwnerMemberId": o.id(), "eventTime": o.now.Format(time.RFC3339Nano),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return office.Event{ID: id, Action: action, PackageID: packageID, Time: o.now, Received: o.now, Body: body,
		URL: "https://office.example.ngrok.app/webhook/" + packageID}
}

// parcel is one package from the draft to the saved file, as the agent records it: two people, one document.
func (o *practice) parcel() {
	p := office.Package{ID: o.id(), Name: "Lease Sonnenweg 4, second floor", Origin: office.MadeHere, DraftID: o.id(), OrganizationID: o.id(), MemberID: o.id(),
		State: "open", Created: o.now, NextCheck: o.now.Add(time.Hour), SignersTotal: 2,
		Signers:   []office.Signer{{ID: o.id(), FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}, {ID: o.id(), FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}},
		Documents: []office.Document{{ID: o.id(), Name: "Lease Sonnenweg 4", FileName: "Lease Sonnenweg 4.pdf", ExternalID: o.id()}}}
	p.ExternalData = json.RawMessage(`{"countersign":{"draft":"` + p.DraftID + `"}}`)
	doc := p.Documents[0].ID
	d := office.Draft{ID: p.DraftID, Name: p.Name, Message: "This is the lease that we talked about on Monday.", Signers: p.Signers, State: office.DraftQueued,
		Files: []office.DraftFile{{Path: `C:\Users\office\Documents\Leases\Lease Sonnenweg 4.pdf`, Name: "Lease Sonnenweg 4.pdf", Size: 123456, SHA256: fmt.Sprintf("%064x", 1), ExternalID: p.Documents[0].ExternalID}}}
	tell := func(e office.Event, key, what string) func(tx *Tx) error {
		return func(tx *Tx) error {
			if _, err := tx.AddEvent(e); err != nil {
				return err
			}
			e.Outcome, e.Handled = office.EventHandled, o.now
			if err := tx.SetEvent(e); err != nil {
				return err
			}
			if _, err := tx.Once(key); err != nil {
				return err
			}
			p.History = append(p.History, office.HistoryEntry{Time: office.When{Time: o.now}, What: what, Who: e.PackageID, Ref: doc})
			if err := tx.AddActivity(office.Activity{Time: o.now, Kind: "event", PackageID: p.ID, EventID: e.ID, Text: message.Signed("Ana Ruiz", "Lease Sonnenweg 4, second floor")}); err != nil {
				return err
			}
			return tx.PutPackage(p)
		}
	}
	j := office.Job{PackageID: p.ID, DocumentID: doc, Kind: "executed", Folder: `C:\Users\office\Documents\Signed`,
		Target: "Lease Sonnenweg 4, second floor - Lease Sonnenweg 4 " + p.ID[24:] + ".pdf", Planned: o.now}
	for _, step := range []func(tx *Tx) error{
		func(tx *Tx) error { return tx.PutDraft(d) },
		func(tx *Tx) error {
			d.State, d.PackageID, d.Files[0].FileID, d.Files[0].Uploaded = office.DraftSent, p.ID, o.id(), o.now
			if err := tx.PutDraft(d); err != nil {
				return err
			}
			return tx.PutPackage(p)
		},
		tell(o.event("package_sent", p.ID, "", ""), "sent/"+p.ID, "sent"),
		tell(o.event("document_signed", p.ID, doc, p.Signers[0].ID), "signed/"+doc+"/"+p.Signers[0].ID, "signed"),
		tell(o.event("document_signed", p.ID, doc, p.Signers[1].ID), "signed/"+doc+"/"+p.Signers[1].ID, "signed"),
		tell(o.event("document_executed", p.ID, doc, ""), "executed/"+doc, "document_executed"),
		func(tx *Tx) error {
			p.State, p.Executed, p.Planned = "executed", office.When{Time: o.now}, true
			_, err := tx.PlanJob(j)
			return err
		},
		tell(o.event("package_executed", p.ID, "", ""), "executed/"+p.ID, "executed"),
		func(tx *Tx) error {
			j.State, j.Done, j.Size, j.Digest = office.JobDone, o.now, 234567, fmt.Sprintf("%064x", 2)
			if err := tx.PutJob(j); err != nil {
				return err
			}
			p.Saved, o.lastSaved = true, o.now
			return tx.PutPackage(p)
		},
	} {
		o.now = o.now.Add(time.Second)
		update(o.t, o.s, step)
	}
}

// work is so many days with so many packages each, after which events are forgotten that were done before the last keep
// of them.
func (o *practice) work(days, packages, keep int) {
	for range days {
		morning := o.now
		update(o.t, o.s, func(tx *Tx) error { _, err := tx.CountDay(o.now); return err })
		for forget(o.t, o.s, keep) > 0 {
		}
		for range packages {
			o.parcel()
		}
		o.now = morning.Add(24 * time.Hour)
	}
}

func (o *practice) size() int64 {
	o.t.Helper()
	info, err := os.Stat(o.s.path)
	must(o.t, err)
	return info.Size()
}

// shares is how many bytes each bucket takes on the disk.
func (o *practice) shares() map[string]int {
	out := map[string]int{}
	err := o.s.db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			st := b.Stats()
			out[string(name)] = st.LeafAlloc + st.BranchAlloc
			return nil
		})
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

func TestEventsTakeNoMoreRoomAfterTheirTime(t *testing.T) {
	o := newPractice(t)
	defer o.s.Close()
	o.work(60, 4, 20)
	before := o.shares()["events"]
	o.work(120, 4, 20)
	if after := o.shares()["events"]; after > before*5/4 {
		t.Errorf("events took %d bytes after 60 days and %d after 180", before, after)
	}
}

func TestTheListOfWhatWasSavedDoesNotGrow(t *testing.T) {
	o := newPractice(t)
	defer o.s.Close()
	o.work(1, mostRecent, 90)
	before := o.shares()[bucketJobsDone]
	o.work(5, mostRecent, 90)
	if after := o.shares()[bucketJobsDone]; after > before*3/2 {
		t.Errorf("it took %d bytes after %d files and %d after six times as many", before, mostRecent, after)
	}
	saved := read(t, o.s, func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(2 * mostRecent) })
	if len(saved) != mostRecent || !saved[0].Done.Equal(o.lastSaved) {
		t.Errorf("%d files, the newest of %v, not %v", len(saved), saved[0].Done, o.lastSaved)
	}
}

// BenchmarkAYear measures what an office of 200 packages a day leaves on the disk in a year, and what a copy of what is in
// use costs.
func BenchmarkAYear(b *testing.B) {
	days := 365
	if testing.Short() {
		days = 36
	}
	for b.Loop() {
		o := newPractice(b)
		o.work(days, 200, 90)
		b.ReportMetric(float64(o.size())/(1<<20), "MiB")
		for name, n := range o.shares() {
			if n > 1<<20 {
				b.ReportMetric(float64(n)/(1<<20), name+"-MiB")
			}
		}
		began, small := time.Now(), o.s.Path()+".compact"
		must(b, o.s.copyTo(b.Context(), small, time.Second))
		b.ReportMetric(time.Since(began).Seconds(), "s-to-copy")
		b.ReportMetric(float64(len(readFile(b, small)))/(1<<20), "MiB-copied")
		o.s.Close()
	}
}
