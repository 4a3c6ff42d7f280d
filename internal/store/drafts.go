package store

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"countersign/internal/office"
)

var drafts = shelf{rows: bucketDrafts, ids: bucketDraftIDs}

// DraftCounts counts drafts by state.
type DraftCounts struct {
	Queued    int
	Adding    int
	Unknown   int
	Sent      int
	Failed    int
	Cancelled int
}

func draftFacets(d office.Draft, row []byte) (f facets) {
	f.entry(bucketDraftStates, nil, stateKey(d.State), row)
	f.count("drafts."+string(d.State), 1)
	if d.State == office.DraftQueued && !d.Away {
		f.entry(bucketDraftsDue, nil, stamp(d.NextTry), row)
	}
	return f
}

func stateKey(s office.DraftState) []byte { return append([]byte(s), 0) }

// PutDraft stores a draft, new or changed. An empty State becomes DraftQueued, a zero Created now; Changed is set to
// now.
func (tx *Tx) PutDraft(d office.Draft) error {
	row, value, err := tx.find(drafts, d.ID)
	if err != nil {
		return err
	}
	var old facets
	if value != nil {
		stored, err := recall[office.Draft](tx, bucketDrafts, row, value)
		if err != nil {
			return err
		}
		old = draftFacets(stored, row)
	}
	d.Changed = tx.now()
	return tx.putDraft(d, row, old)
}

func (tx *Tx) putDraft(d office.Draft, row []byte, old facets) error {
	if err := tx.home(&d.Service, &d.Away); err != nil {
		return err
	}
	if d.State == "" {
		d.State = office.DraftQueued
	}
	if d.Created.IsZero() {
		d.Created = tx.now()
	}
	inUTC(&d.Created, &d.Changed, &d.Due, &d.NextTry)
	d.Files = slices.Clone(d.Files)
	for i := range d.Files {
		inUTC(&d.Files[i].Uploaded)
	}
	row, err := tx.place(drafts, d.ID, row, d.Created, d)
	if err != nil {
		return fmt.Errorf("store draft: %w", err)
	}
	return tx.refacet(old, draftFacets(d, row))
}

// Draft returns a stored draft.
func (tx *Tx) Draft(id string) (office.Draft, bool, error) {
	row, value, err := tx.find(drafts, id)
	if err != nil || value == nil {
		return office.Draft{}, false, err
	}
	d, err := recall[office.Draft](tx, bucketDrafts, row, value)
	return d, err == nil, err
}

// Drafts returns the drafts in any of the states, or all of them when none is given, newest first by Created.
func (tx *Tx) Drafts(states ...office.DraftState) ([]office.Draft, error) {
	var list []office.Draft
	if len(states) == 0 {
		err := tx.newest(bucketDrafts, "", func(row, value []byte) (bool, error) {
			d, err := recall[office.Draft](tx, bucketDrafts, row, value)
			return true, collect(tx, &list, d, err)
		})
		return list, err
	}
	for i, state := range states {
		if slices.Contains(states[:i], state) {
			continue
		}
		prefix := stateKey(state)
		if err := tx.oldest(bucketDraftStates, prefix, func(key, _ []byte) (bool, error) {
			d, err := at[office.Draft](tx, bucketDrafts, key[len(prefix):])
			return true, collect(tx, &list, d, err)
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b office.Draft) int { return b.Created.Compare(a.Created) })
	return list, nil
}

var sums = maphash.MakeSeed()

// DraftsSum is the same for as long as the drafts in any of the states are what they are, and this program runs. It reads none
// of them.
func (tx *Tx) DraftsSum(states ...office.DraftState) (uint64, error) {
	var sum maphash.Hash
	sum.SetSeed(sums)
	for _, state := range states {
		prefix := stateKey(state)
		err := tx.oldest(bucketDraftStates, prefix, func(key, _ []byte) (bool, error) {
			value, err := tx.get(bucketDrafts, key[len(prefix):])
			sum.Write(key)
			sum.Write(value)
			return true, err
		})
		if err != nil {
			return 0, err
		}
	}
	return sum.Sum64(), nil
}

// DraftsDue returns the drafts in DraftQueued that are due by their NextTry, longest due first. Drafts in other states are
// never due by themselves: packages/add may have been sent for them, and what became of it is not a matter of time.
func (tx *Tx) DraftsDue(due Due) ([]office.Draft, error) {
	return listed(tx, -1, func(each visit) error { return tx.due(bucketDraftsDue, due, each) },
		func(key []byte) (office.Draft, error) { return at[office.Draft](tx, bucketDrafts, key[8:]) })
}

// NextDraft is the earliest NextTry of all queued drafts: 1970 when one has none and is due at once, the zero time
// when none is queued.
func (tx *Tx) NextDraft() (time.Time, error) { return tx.first(bucketDraftsDue) }

// DraftCounts reads the counters; it does not scan.
func (tx *Tx) DraftCounts() (c DraftCounts, err error) {
	err = tx.counters(map[string]*int{
		"drafts." + string(office.DraftQueued):    &c.Queued,
		"drafts." + string(office.DraftAdding):    &c.Adding,
		"drafts." + string(office.DraftUnknown):   &c.Unknown,
		"drafts." + string(office.DraftSent):      &c.Sent,
		"drafts." + string(office.DraftFailed):    &c.Failed,
		"drafts." + string(office.DraftCancelled): &c.Cancelled,
	})
	return c, err
}
