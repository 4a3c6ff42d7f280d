package outbox

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/store"
)

func turnAway(w http.ResponseWriter) {
	w.WriteHeader(http.StatusTooManyRequests)
	io.WriteString(w, `{"error":"too_many_requests","message":"Later."}`)
}

func TestAServiceThatTakesNothingIsNotAskedForEachDraft(t *testing.T) {
	r := newService(t, turnAway)
	r.end() // the test does what it runs
	r.deps.PackageAdded = func() {}
	r.Pace.Retry = time.Minute
	client, _, _ := r.deps.Service()
	put := func(id string, tries int) {
		t.Helper()
		d := office.Draft{ID: id, Name: id, State: office.DraftQueued, Service: client.Home(), Tries: tries, NextTry: time.Now()}
		if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }); err != nil {
			t.Fatal(err)
		}
	}
	work := func(asked int, what string) {
		t.Helper()
		before := r.service.added()
		if pause, err := r.sendDue(t.Context()); err != nil || pause < 30*time.Second || pause > 2*time.Minute {
			t.Errorf("%s: it pauses for %v, %v", what, pause, err)
		}
		if n := r.service.added() - before; n != asked {
			t.Errorf("%s: the service was asked %d times, want %d", what, n, asked)
		}
	}
	for i := range 20 {
		put(fmt.Sprintf("tried before %d", i), 1)
	}
	work(restAfter, "twenty wait")
	work(0, "they rest")
	put("fresh", 0)
	work(1, "one is new")
	r.service.add = accept
	put("fresher", 0)
	if _, err := r.sendDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, _, err := r.draft("tried before 19"); err != nil || d.State != office.DraftSent {
		t.Errorf("the service takes drafts again, and one that waits is %s, %v", d.State, err)
	}
}
