package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

func draftIDs(drafts []office.Draft) string {
	var ids []string
	for _, d := range drafts {
		ids = append(ids, d.ID)
	}
	return strings.Join(ids, " ")
}

func TestDraftsAreFoundByStateAndOnlyQueuedOnesAreDue(t *testing.T) {
	s := newTest(t)
	for i, state := range []office.DraftState{"", office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled} {
		d := office.Draft{ID: fmt.Sprint(i), State: state, Created: at0(time.Duration(i) * time.Second), NextTry: at0(-time.Duration(i) * time.Minute)}
		update(t, s, func(tx *Tx) error { return tx.PutDraft(d) })
	}
	lists := map[string]func(tx *Tx) ([]office.Draft, error){
		"6 5 4 3 2 1 0": func(tx *Tx) ([]office.Draft, error) { return tx.Drafts() },
		"5 1 0": func(tx *Tx) ([]office.Draft, error) {
			return tx.Drafts(office.DraftQueued, office.DraftFailed, office.DraftQueued)
		},
		"1 0": func(tx *Tx) ([]office.Draft, error) { return tx.DraftsDue(Due{Now: day}) },
		"1":   func(tx *Tx) ([]office.Draft, error) { return tx.DraftsDue(Due{Now: at0(-time.Second)}) },
	}
	for want, list := range lists {
		if got := draftIDs(read(t, s, list)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if c := read(t, s, (*Tx).DraftCounts); c != (DraftCounts{2, 1, 1, 1, 1, 1}) {
		t.Errorf("%+v", c)
	}
	if next := read(t, s, (*Tx).NextDraft); !next.Equal(at0(-time.Minute)) {
		t.Errorf("next at %v", next)
	}
	update(t, s, func(tx *Tx) error {
		d, _, err := tx.Draft("1")
		if err != nil {
			return err
		}
		d.State, d.PackageID = office.DraftSent, "p"
		return tx.PutDraft(d)
	})
	if got := draftIDs(read(t, s, func(tx *Tx) ([]office.Draft, error) { return tx.Drafts(office.DraftSent) })); got != "4 1" {
		t.Errorf("sent: %s", got)
	}
}

func TestTheActivityListKeepsItsNewestLines(t *testing.T) {
	s := newTest(t)
	const extra = 25
	line := func(i int) string { return message.PackageSent(fmt.Sprint(i)).String() }
	update(t, s, func(tx *Tx) error {
		for i := range maxActivities + extra {
			if err := tx.AddActivity(office.Activity{Time: at0(time.Duration(i) * time.Second), Kind: "saved", Text: message.PackageSent(fmt.Sprint(i))}); err != nil {
				return err
			}
		}
		return nil
	})
	var all []string
	var cursor office.Cursor
	for {
		view(t, s, func(tx *Tx) error {
			lines, next, err := tx.Activities(cursor, 3000)
			for _, a := range lines {
				all = append(all, a.Text.String())
			}
			cursor = next
			return err
		})
		if cursor == "" {
			break
		}
	}
	if len(all) != maxActivities || all[0] != line(maxActivities+extra-1) || all[len(all)-1] != line(extra) {
		t.Errorf("%d lines from %s to %s", len(all), all[0], all[len(all)-1])
	}
}

func TestAFactIsFirstOnceEvenAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var firsts []bool
	for range 3 {
		s, err := Open(path, Options{})
		must(t, err)
		for _, fact := range []string{"executed:p1", "executed:p2"} {
			update(t, s, func(tx *Tx) error {
				first, err := tx.Once(fact)
				firsts = append(firsts, first)
				return err
			})
		}
		must(t, s.Close())
	}
	if got := fmt.Sprint(firsts); got != "[true true false false false false]" {
		t.Errorf("firsts %s", got)
	}
}

func TestSealedValuesAreKeptReplacedAndForgotten(t *testing.T) {
	s := newTest(t)
	value := []byte("sealed")
	update(t, s, func(tx *Tx) error {
		err := tx.PutSealed("token", value)
		clear(value) // the store has its own copy
		return errors.Join(err, tx.PutSealed("empty", []byte{}))
	})
	get := func(name string) string {
		var got []byte
		ok := false
		view(t, s, func(tx *Tx) error { got, ok = tx.Sealed(name); return nil })
		return fmt.Sprintf("%s %v", got, ok) // after the transaction
	}
	for name, want := range map[string]string{"token": "sealed true", "empty": " true", "none": " false", "": " false"} {
		if got := get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	update(t, s, func(tx *Tx) error { return tx.PutSealed("token", nil) })
	if got := get("token"); got != " false" {
		t.Errorf("forgotten: %q", got)
	}
}

func TestADocumentComesBackAndOneThatCannotBeReadIsNone(t *testing.T) {
	s := newTest(t)
	type settings struct{ Folder string }
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", settings{"/f"}) })
	var got settings
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); !ok || got.Folder != "/f" {
		t.Errorf("%v %+v", ok, got)
	}
	for name, value := range map[string]string{"another type": `7`, "cut": `{"Folder":"/g`, "half of another": `{"Folder":"/g","More":[],"Folder":{}}`, "no JSON": "\x00"} {
		update(t, s, func(tx *Tx) error { return tx.put(bucketDocs, []byte("settings"), []byte(value)) })
		got := settings{"/before"}
		if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); ok || got.Folder != "/before" {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
	}
	if s.Unreadable() == 0 {
		t.Error("nobody can know of it")
	}
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", settings{"/h"}) })
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); !ok || got.Folder != "/h" {
		t.Errorf("written anew: %v %+v", ok, got)
	}
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", nil) })
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); ok {
		t.Error("the deleted document is there")
	}
}

func TestNothingCanBeChangedInAView(t *testing.T) {
	s := newTest(t)
	for name, fn := range map[string]func(*Tx) error{
		"event":    func(tx *Tx) error { _, err := tx.AddEvent(office.Event{ID: "e"}); return err },
		"package":  func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "p"}) },
		"job":      func(tx *Tx) error { _, err := tx.PlanJob(office.Job{PackageID: "p", Kind: "k"}); return err },
		"draft":    func(tx *Tx) error { return tx.PutDraft(office.Draft{ID: "d"}) },
		"activity": func(tx *Tx) error { return tx.AddActivity(office.Activity{}) },
		"sealed":   func(tx *Tx) error { return tx.PutSealed("s", []byte("x")) },
		"document": putDoc("d"),
	} {
		if err := s.View(fn); err == nil {
			t.Errorf("%s was changed in a View", name)
		}
	}
}

func TestEveryErrorIsOnePlainSentence(t *testing.T) {
	for _, err := range []error{ErrInUse, ErrNewer, &CorruptError{Path: "/x/state.db", Reason: "page 7"}, ErrClosed, ErrTargetTaken, errors.New("bolt: odd")} {
		s := Message(fmt.Errorf("wrapped: %w", err)).String()
		if !strings.HasSuffix(s, ".") || strings.Contains(s, "wrapped") || strings.Contains(s, "bolt") {
			t.Errorf("%v: %q", err, s)
		}
	}
}
