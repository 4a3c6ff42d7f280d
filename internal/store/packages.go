package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"countersign/internal/office"
	"countersign/internal/record"
)

var packages = shelf{rows: bucketPackages, ids: bucketPackageIDs}

// PackageCounts counts packages. Expired and rescinded packages count only in Total.
type PackageCounts struct {
	Total    int `json:"total"`
	Open     int `json:"open"`     // wait for signatures, and still in the list
	Declined int `json:"declined"` // by a signer, and still in the list
	Executed int `json:"executed"`
	Saved    int `json:"saved"` // every wanted file is on disk
}

func packageFacets(p office.Package, row []byte) (f facets) {
	line := p.Line()
	f.entry(bucketPackageLines, encodeLine(line), row)
	f.countPackage(p, line)
	if !p.Final() && !p.Away {
		f.entry(bucketPackagesDue, nil, stamp(p.NextCheck), row)
	}
	if p.State == office.PackageExecuted && !p.Planned && !p.Away && !p.Refused.IsZero() {
		f.entry(bucketPackagesRefused, nil, stamp(p.Refused), row)
	}
	if p.Withdrawal.Pending() && !p.Away {
		f.entry(bucketWithdrawalsDue, nil, stamp(p.Withdrawal.NextTry), row)
	}
	if p.DraftID != "" {
		f.entry(bucketPackagesByDraft, nil, draftKey(p.DraftID), row)
	}
	return f
}

// countPackage adds p's share of PackageCounts; line is p's line.
func (f *facets) countPackage(p office.Package, line office.PackageLine) {
	f.count("packages", 1)
	switch {
	case p.State == office.PackageExecuted:
		f.count("packages.executed", 1)
	case line.Archived:
	case line.Status() == office.StatusDeclined:
		f.count("packages.declined", 1)
	case !p.State.Over() && !line.Refused():
		f.count("packages.open", 1)
	}
	if p.Saved {
		f.count("packages.saved", 1)
	}
}

func draftKey(id string) []byte {
	key, err := idKey(id)
	if err != nil {
		return nil
	}
	return append(bytes.Clone(key), 0)
}

func (tx *Tx) Package(id string) (office.Package, bool, error) {
	row, value := tx.find(packages, id)
	if value == nil {
		return office.Package{}, false, tx.err
	}
	p, err := tx.packageOf(row, value)
	return p, err == nil, err
}

func (tx *Tx) FirstPackage(ids []string) (p office.Package, ok bool, err error) {
	for _, id := range ids {
		if p, ok, err = tx.Package(id); ok || err != nil {
			break
		}
	}
	return p, ok, err
}

// PutPackage stores a new or changed package, with its derived fields (office.Package.Derived). Its position in lists
// follows Created; a zero Created becomes now.
func (tx *Tx) PutPackage(p office.Package) error {
	row, value := tx.find(packages, p.ID)
	var old facets
	if value != nil {
		stored, err := tx.packageOf(row, value)
		if err != nil {
			return tx.fail(err)
		}
		old = packageFacets(stored, row)
	}
	if p.Created.IsZero() {
		p.Created = tx.now()
	}
	tx.home(&p.Home)
	p = p.Derived()
	p.State = p.State.Normal()
	inUTC(&p.Created, &p.Due, &p.Executed.Time, &p.Checked, &p.Heard, &p.NextCheck, &p.Refused)
	if p.Withdrawal != nil {
		w := *p.Withdrawal
		inUTC(&w.Asked, &w.NextTry)
		p.Withdrawal = &w
	}
	for i := range p.History { // safe: Derived has copied it
		inUTC(&p.History[i].Time.Time)
	}
	row = tx.place(packages, p.ID, row, p.Created, p)
	return tx.refacet(old, packageFacets(p, row))
}

// Packages calls take with all packages, newest first by Created, until it returns false. If a line of each is enough,
// PackageLines is many times faster.
func (tx *Tx) Packages(take func(office.Package) bool) error {
	return each(tx, tx.in(bucketPackages), tx.packageOf, take)
}

// PackagesDue returns up to limit packages that are not [Package.Final] and whose NextCheck is due, longest due first.
func (tx *Tx) PackagesDue(d Due, limit int) ([]office.Package, error) {
	return tx.packages(limit, func(each visit) { tx.due(bucketPackagesDue, d, each) })
}

// packages returns the packages to whose rows walk leads in an index by time.
func (tx *Tx) packages(limit int, walk func(visit)) ([]office.Package, error) {
	return listed(tx, limit, walk, func(key, _ []byte) (office.Package, error) { return tx.packageAt(key[8:]) })
}

// AllOpen returns every package of the service in use that is not [Package.Final], in the order of NextCheck.
func (tx *Tx) AllOpen() ([]office.Package, error) {
	return tx.packages(-1, func(each visit) { tx.oldest(bucketPackagesDue, nil, each) })
}

// CountOpen returns how many packages AllOpen returns, or most if there are more.
func (tx *Tx) CountOpen(most int) (n int, err error) {
	tx.oldest(bucketPackagesDue, nil, func(_, _ []byte) bool { n++; return n < most })
	return n, tx.err
}

// Unfinished returns every package of any service that is not [Package.Final]. It reads all packages.
func (tx *Tx) Unfinished() (list []office.Package, err error) {
	err = tx.Packages(func(p office.Package) bool {
		if !p.Final() {
			list = append(list, p)
		}
		return true
	})
	return list, err
}

// PackagesRefused returns the completely signed packages whose files cannot be planned because the service has withheld the
// necessary information since then or longer; the longest first.
func (tx *Tx) PackagesRefused(since time.Time) ([]office.Package, error) {
	return tx.packages(-1, func(each visit) { tx.between(bucketPackagesRefused, nil, after(since), each) })
}

// NextPackageCheck is the earliest NextCheck of all packages that are not [Package.Final]: 1970 if one is due immediately,
// the zero time if there is none.
func (tx *Tx) NextPackageCheck() (time.Time, error) { return tx.first(bucketPackagesDue) }

// PackageByDraft returns the package sent from a draft; if there are several, the newest.
func (tx *Tx) PackageByDraft(draftID string) (found office.Package, ok bool, err error) {
	prefix := draftKey(draftID)
	if prefix == nil {
		return office.Package{}, false, nil
	}
	tx.oldest(bucketPackagesByDraft, prefix, func(key, _ []byte) bool {
		if len(key) != len(prefix)+16 {
			return true
		}
		if p, err := tx.packageAt(key[len(prefix):]); tx.read(err) && p.DraftID == draftID {
			found, ok = p, true
		}
		return true
	})
	return found, ok, tx.err
}

// PackageCounts reads the counters; it does not scan.
func (tx *Tx) PackageCounts() (c PackageCounts, err error) {
	tx.counters(map[string]*int{
		"packages":          &c.Total,
		"packages.open":     &c.Open,
		"packages.declined": &c.Declined,
		"packages.executed": &c.Executed,
		"packages.saved":    &c.Saved,
	})
	return c, tx.err
}

// facets is everything derived from one record: its index entries, its share of the counters and its facts. They are
// computed from the record alone, so every change replaces old facets by new ones in the same way, and indexes and counters
// cannot drift from the records.
type facets struct {
	entries []entry
	counts  []count
	facts   []loggedFact
}

type entry struct {
	bucket     string
	key, value []byte
}

type count struct {
	name string
	n    int64
}

func (f *facets) entry(bucket string, value []byte, key ...[]byte) {
	f.entries = append(f.entries, entry{bucket, join(key...), value})
}

func (f *facets) count(name string, n int64) {
	if n != 0 {
		f.counts = append(f.counts, count{name, n})
	}
}

// refacet replaces what was derived from the old record by what is derived from the new one.
func (tx *Tx) refacet(old, new facets) error {
	for _, e := range old.entries {
		if !new.has(e, false) {
			tx.del(e.bucket, e.key)
		}
	}
	for _, e := range new.entries {
		if !old.has(e, true) {
			tx.put(e.bucket, e.key, e.value)
		}
	}
	net := map[string]int64{}
	for _, c := range old.counts {
		net[c.name] -= c.n
	}
	for _, c := range new.counts {
		net[c.name] += c.n
	}
	for name, n := range net {
		tx.add(name, n)
	}
	tx.logNew(old, new)
	return tx.err
}

func (f facets) has(e entry, sameValue bool) bool {
	for _, own := range f.entries {
		if own.bucket == e.bucket && bytes.Equal(own.key, e.key) && (!sameValue || bytes.Equal(own.value, e.value)) {
			return true
		}
	}
	return false
}

func (tx *Tx) add(name string, n int64) {
	if n != 0 {
		tx.put(bucketCounts, []byte(name), encodeCount(tx.counter(name)+n))
	}
}

func (tx *Tx) counter(name string) int64 { return decodeCount(tx.get(bucketCounts, []byte(name))) }

// counters reads several counters at once.
func (tx *Tx) counters(into map[string]*int) {
	for name, to := range into {
		*to = int(tx.counter(name))
	}
}

// Once records something that must not be done twice, such as a notification, and reports whether this is the first time.
// Record it before doing it: then a crash loses one notification rather than repeating all of them.
func (tx *Tx) Once(fact string) (first bool, err error) {
	id, err := idKey(fact)
	if err != nil {
		return false, tx.fail(fmt.Errorf("record fact: %w", err))
	}
	key := factKey(id)
	if first = tx.get(bucketOnce, key) == nil; first {
		tx.put(bucketOnce, key, noted)
	}
	return first && tx.err == nil, tx.err
}

// Told reports whether Once has recorded a fact. It changes nothing.
func (tx *Tx) Told(fact string) bool {
	id, err := idKey(fact)
	if err != nil {
		return false
	}
	return tx.get(bucketOnce, factKey(id)) != nil
}

// noted is the value of every fact: only its existence matters.
var noted = []byte{1}

// factKey is a hash of a fact: facts are kept for ever, so that nobody is told anything twice.
func factKey(fact []byte) []byte {
	sum := sha256.Sum256(fact)
	return sum[:factLength]
}

const factLength = 16 // bytes

// Sealed returns the sealed bytes stored under name, nil if there are none.
func (tx *Tx) Sealed(name string) ([]byte, error) {
	key, err := idKey(name)
	if err != nil {
		return nil, nil // nothing is ever stored under an empty name
	}
	return bytes.Clone(tx.get(bucketSealed, key)), tx.err
}

func (tx *Tx) SealedNames() (names []string, err error) {
	tx.oldest(bucketSealed, nil, func(key, _ []byte) bool {
		names = append(names, string(key))
		return true
	})
	return names, tx.err
}

// PutSealed stores sealed bytes under name; nil deletes them. The store cannot tell whether they are really sealed.
func (tx *Tx) PutSealed(name string, value []byte) error {
	key, err := idKey(name)
	if err != nil {
		return tx.fail(fmt.Errorf("keep sealed value: %w", err))
	}
	if value == nil {
		tx.del(bucketSealed, key)
	} else {
		tx.put(bucketSealed, key, bytes.Clone(value))
	}
	return tx.err
}

// GetDoc decodes the document stored under name into v (a pointer) and reports whether there is one. An unreadable one
// counts as missing: it is noted, v is unchanged, and the next PutDoc replaces it.
func (tx *Tx) GetDoc(name string, v any) (bool, error) {
	key, err := idKey(name)
	if err != nil {
		return false, tx.fail(fmt.Errorf("read document: %w", err))
	}
	value := tx.get(bucketDocs, key)
	if value == nil {
		return false, tx.err
	}
	whole := reflect.New(reflect.TypeOf(v).Elem()) // an error halfway would leave a partial document in v
	if err := json.Unmarshal(value, whole.Interface()); err != nil {
		tx.leaveOut(fmt.Errorf("document %q: %w: %v", name, ErrRecord, err))
		return false, nil
	}
	reflect.ValueOf(v).Elem().Set(whole.Elem())
	return true, nil
}

// PutDoc stores v as JSON under name; a nil v deletes the document. It is for settings and small state: every change writes
// the whole document.
func (tx *Tx) PutDoc(name string, v any) error {
	key, err := idKey(name)
	if err != nil {
		return tx.fail(fmt.Errorf("keep document: %w", err))
	}
	if v == nil {
		tx.del(bucketDocs, key)
		return tx.err
	}
	value, err := json.Marshal(v)
	if err != nil {
		return tx.fail(fmt.Errorf("encode document %q: %w", name, err))
	}
	tx.put(bucketDocs, key, value)
	return tx.err
}

// Docs returns the documents whose names begin with prefix and come after after (which may be empty), in the order of their names,
// which must not be longer than MaxID. It skips unreadable documents. Nothing may be written while they are read.
func Docs[T any](tx *Tx, prefix, after string) iter.Seq2[string, T] {
	start := []byte(prefix)
	if after != "" {
		start = append([]byte(after), 0)
	}
	return func(yield func(string, T) bool) {
		tx.between(bucketDocs, start, nil, func(key, value []byte) bool {
			if !bytes.HasPrefix(key, []byte(prefix)) {
				return false
			}
			var v T
			if err := json.Unmarshal(value, &v); err != nil {
				tx.leaveOut(fmt.Errorf("document %q: %w: %v", key, ErrRecord, err))
				return true
			}
			return yield(string(key), v)
		})
	}
}

// WithdrawalsDue returns the packages of the service in use with a pending withdrawal whose Withdrawal.NextTry is due,
// longest due first.
func (tx *Tx) WithdrawalsDue(due Due) ([]office.Package, error) {
	return tx.packages(-1, func(each visit) { tx.due(bucketWithdrawalsDue, due, each) })
}

// NextWithdrawal is the earliest Withdrawal.NextTry of all those packages: 1970 if one is due immediately, the zero time if
// there is none.
func (tx *Tx) NextWithdrawal() (time.Time, error) { return tx.first(bucketWithdrawalsDue) }

var drafts = shelf{rows: bucketDrafts, ids: bucketDraftIDs}

func draftFacets(d office.Draft, row []byte) (f facets) {
	f.entry(bucketDraftStates, nil, stateKey(d.State), row)
	if d.State == office.DraftQueued && !d.Away {
		f.entry(bucketDraftsDue, nil, stamp(d.NextTry), row)
	}
	if d.State == office.DraftSent {
		f.fact("sent "+d.PackageID, func() record.Fact { return sentFact(d) })
	}
	return f
}

func stateKey(s office.DraftState) []byte { return append([]byte(s), 0) }

// PutDraft stores a new or changed draft. An empty State becomes DraftQueued, a zero Created becomes now; Changed is set to
// now.
func (tx *Tx) PutDraft(d office.Draft) error {
	row, value := tx.find(drafts, d.ID)
	var old facets
	if value != nil {
		stored, err := decode[office.Draft](bucketDrafts, row, value)
		if err != nil {
			return tx.fail(err)
		}
		old = draftFacets(stored, row)
	}
	d.Changed = tx.now()
	return tx.putDraft(d, row, old)
}

func (tx *Tx) putDraft(d office.Draft, row []byte, old facets) error {
	tx.home(&d.Home)
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
	row = tx.place(drafts, d.ID, row, d.Created, d)
	return tx.refacet(old, draftFacets(d, row))
}

func (tx *Tx) Draft(id string) (office.Draft, bool, error) {
	row, value := tx.find(drafts, id)
	if value == nil {
		return office.Draft{}, false, tx.err
	}
	d, err := decode[office.Draft](bucketDrafts, row, value)
	return d, err == nil, err
}

// mostReplaced ends a circle, in which damaged records may replace each other.
const mostReplaced = 1000

// LatestDraft returns the draft with that id, or the last one that replaced it.
func (tx *Tx) LatestDraft(id string) (d office.Draft, known bool, err error) {
	for n := 0; id != "" && n < mostReplaced; id, n = d.ReplacedBy, n+1 {
		if d, known, err = tx.Draft(id); err != nil || !known {
			break
		}
	}
	return d, known, err
}

// Drafts returns the drafts in any of the states, or all drafts if none is given, newest first by Created.
func (tx *Tx) Drafts(states ...office.DraftState) ([]office.Draft, error) {
	var list []office.Draft
	keep := func(d office.Draft) bool { list = append(list, d); return true }
	if len(states) == 0 {
		err := each(tx, tx.in(bucketDrafts), func(row, value []byte) (office.Draft, error) { return decode[office.Draft](bucketDrafts, row, value) }, keep)
		return list, err
	}
	for i, state := range states {
		if slices.Contains(states[:i], state) {
			continue
		}
		prefix := stateKey(state)
		each(tx, func(v visit) { tx.oldest(bucketDraftStates, prefix, v) }, behind[office.Draft](tx, len(prefix), bucketDrafts), keep)
	}
	slices.SortStableFunc(list, func(a, b office.Draft) int { return b.Created.Compare(a.Created) })
	return list, tx.err
}

// DraftsDue returns the drafts in DraftQueued whose NextTry is due, longest due first. Drafts in other states are never due
// by themselves: packages/add may have been sent for them, and time does not tell what became of it.
func (tx *Tx) DraftsDue(due Due) ([]office.Draft, error) {
	return listed(tx, -1, func(each visit) { tx.due(bucketDraftsDue, due, each) }, behind[office.Draft](tx, 8, bucketDrafts))
}

// NextDraft is the earliest NextTry of all queued drafts: 1970 if one is due immediately, the zero time if none is queued.
func (tx *Tx) NextDraft() (time.Time, error) { return tx.first(bucketDraftsDue) }

// CountDrafts counts the drafts in any of the states without reading them.
func (tx *Tx) CountDrafts(states ...office.DraftState) (n int, err error) {
	for _, state := range states {
		tx.oldest(bucketDraftStates, stateKey(state), func(_, _ []byte) bool { n++; return true })
	}
	return n, tx.err
}

// maxActivities is how many lines the activity list keeps.
const maxActivities = 20_000

// AddActivity adds a line to the activity list and drops the oldest beyond maxActivities. A zero Time becomes now.
func (tx *Tx) AddActivity(a office.Activity) error {
	if a.Time.IsZero() {
		a.Time = tx.now()
	}
	inUTC(&a.Time)
	value, err := encode(a)
	if err != nil {
		return tx.fail(fmt.Errorf("encode activity: %w", err))
	}
	tx.put(bucketActivity, tx.newRow(bucketActivity, a.Time), value)
	tx.add("activity", 1)
	tx.trimActivity()
	if !tx.importing {
		tx.added = append(tx.added, a)
	}
	return tx.err
}

// Added returns the activity that the transaction has added so far, for all that share it.
func (tx *Tx) Added() []office.Activity { return tx.added }

func (tx *Tx) trimActivity() {
	over := tx.counter("activity") - maxActivities
	if over <= 0 {
		return
	}
	var drop [][]byte
	tx.oldest(bucketActivity, nil, func(key, _ []byte) bool {
		drop = append(drop, bytes.Clone(key))
		return int64(len(drop)) < over
	})
	for _, key := range drop {
		tx.del(bucketActivity, key)
	}
	tx.add("activity", -int64(len(drop)))
}

// Activities returns up to limit lines of the activity list, newest first, and the cursor of the next page.
func (tx *Tx) Activities(before office.Cursor, limit int) ([]office.Activity, office.Cursor, error) {
	return page[office.Activity](tx, bucketActivity, before, limit)
}
