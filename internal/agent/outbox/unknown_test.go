package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// countedList is a list of one page that counts how often it is read.
type countedList struct {
	page []esign.Status
	err  error
	read int
}

func (l *countedList) Next(context.Context) (page []esign.Status, more bool, err error) {
	l.read++
	return l.page, false, l.err
}

// Forty answers lost together are one question to the service, however it answers, and one that is lost later does not begin anew
// with a list that cannot be read.
func TestTheListIsReadOnceForAllDraftsWhoseOutcomeIsUnknown(t *testing.T) {
	r := newService(t, accept)
	r.end() // the test does what it runs
	r.deps.PackageAdded = func() {}
	r.Pace.Retry = time.Minute
	list := &countedList{err: errors.New("half an answer")}
	var back time.Time
	r.deps.List = func(_ *esign.Client, oldest office.Draft) List { back = oldest.Created; return list }
	client, _, _ := r.deps.Service()
	began := time.Now()
	put := func(n int) string {
		t.Helper()
		id := fmt.Sprint("draft ", n)
		d := office.Draft{ID: id, Name: id, State: office.DraftUnknown, Service: client.Home(), Created: began.Add(-time.Duration(n) * time.Hour), NextTry: time.Now()}
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }))
		return id
	}
	work := func(reads int, what string) {
		t.Helper()
		before := list.read
		if pause, err := r.sendDue(t.Context()); err != nil || pause < time.Minute {
			t.Errorf("%s: it pauses for %v, %v", what, pause, err)
		}
		if n := list.read - before; n != reads {
			t.Errorf("%s: the list was read %d times, want %d", what, n, reads)
		}
	}
	for n := range 40 {
		put(n)
	}
	work(1, "forty wait")
	put(40)
	work(0, "the list cannot be read, and one is new")
	if want := began.Add(-39 * time.Hour); !back.Equal(want) {
		t.Errorf("it is read back to %v, want %v, when the oldest draft was made", back, want)
	}

	waits := office.Draft{ID: "waits", Name: "waits", State: office.DraftQueued, Service: client.Home(), NextTry: time.Now().Add(30 * time.Second)}
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(waits) }))
	if pause, err := r.sendDue(t.Context()); err != nil || pause > 30*time.Second {
		t.Errorf("one is to be sent in half a minute, and it pauses for %v, %v", pause, err)
	}
	waits.State = office.DraftSent
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(waits) }))

	list.err, r.list = nil, loop.Retry{}
	for n := range 40 {
		id := put(n)
		if n%2 == 0 {
			list.page = append(list.page, esign.Status{PackageID: "package of " + id, ExternalData: json.RawMessage(withCorrelation(nil, id))})
		}
	}
	work(2, "the list tells") // where the reading for the first ones goes on, and then for the new one
	for n := range 41 {
		id := fmt.Sprint("draft ", n)
		d, _, err := r.Data.Draft(id)
		noErr(t, err)
		if sent := n%2 == 0 && n < 40; sent && (d.State != office.DraftSent || d.PackageID != "package of "+id) || !sent && (d.State != office.DraftUnknown || d.Tries == 0) {
			t.Errorf("%s is %s, as package %q, after %d tries", id, d.State, d.PackageID, d.Tries)
		}
	}
}
