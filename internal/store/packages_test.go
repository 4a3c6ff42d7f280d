package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

func putPackages(t *testing.T, s *Store, all ...office.Package) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		for _, p := range all {
			tx.PutPackage(p)
		}
		return nil
	})
}

func pack(t *testing.T, s *Store, id string) office.Package {
	t.Helper()
	return read(t, s, func(tx *Tx) (office.Package, error) { p, _, err := tx.Package(id); return p, err })
}

func packageIDs(all []office.Package) string {
	return names(all, func(p office.Package) string { return p.ID })
}

func TestAPackageComesBackAsItWasPutInUTC(t *testing.T) {
	s := newTest(t)
	in := func(zone *time.Location) office.Package {
		at := func(hours int) time.Time { return at0(time.Duration(hours) * time.Hour).In(zone) }
		return office.Package{
			ID: "p", Name: "Müller \u202e & Söhne", Origin: office.MadeHere, Source: office.Source{DraftID: "d", ExternalData: []byte(`null`)}, State: "open", Sequential: true,
			Signers:   []office.Signer{{ID: "s1", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}},
			Documents: []office.Document{{ID: "d1", SignedBy: []string{"s1"}}}, Signing: office.Signing{NextSigners: []string{"s1"}},
			Created: at(0), Due: at(1), Executed: office.When{Time: at(2)}, Inquiry: office.Inquiry{Checked: at(3), Heard: at(4), NextCheck: at(5)},
			Saving: office.Saving{Refused: at(6)}, Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, Asked: at(7), NextTry: at(8)},
			History: []office.HistoryEntry{{Time: office.When{Time: at(9)}, What: "sent"}},
		}
	}
	putPackages(t, s, in(time.FixedZone("", 3600)))
	want := in(time.UTC).Derived()
	expect(t, pack(t, s, "p"), want, "got  %+v\nwant %+v", want)
	expect(t, pack(t, s, "other"), office.Package{}, "an unknown package: %+v")
}

func TestAStoredStateHasOneFormHoweverItWasSpelled(t *testing.T) {
	s := newTest(t)
	putPackages(t, s, office.Package{ID: "p", State: " Executed", Created: day})
	line := must(decodeLine(encodeLine(office.PackageLine{ID: "q", State: "Rescinded"})))
	expect(t, line.State, office.PackageRescinded, "a line: %q")
	expect(t, pack(t, s, "p").State, office.PackageExecuted, "a package: %q")
	expect(t, read(t, s, (*Tx).PackageCounts), PackageCounts{Total: 1, Executed: 1}, "%+v")
}

// Nobody can complete a package that somebody declined, and what was archived is nothing that anybody waits for.
func TestADeclinedOrArchivedPackageIsNotCountedAsWaiting(t *testing.T) {
	s := newTest(t)
	jan := []office.Signer{{ID: "j", Declined: office.When{Time: day}}}
	archived := office.Package{ID: "archived", State: "open", Signers: jan, Created: day}
	archived.Archive(true)
	quiet := office.Package{ID: "archived while it waits", State: "open", Created: day}
	quiet.Archive(true)
	putPackages(t, s, quiet,
		office.Package{ID: "waits", State: "open", Created: day},
		office.Package{ID: "declined", State: "open", Signers: jan, Created: day},
		office.Package{ID: "told by the state", State: "declined", Created: day},
		office.Package{ID: "signed in the end", State: "executed", Signers: jan, Created: day},
		office.Package{ID: "expired", State: "expired", Signers: jan, Created: day},
		office.Package{ID: "gone", State: "open", Inquiry: office.Inquiry{Gone: true}, Signers: jan, Created: day}, archived)
	expect(t, read(t, s, (*Tx).PackageCounts), PackageCounts{Total: 8, Open: 1, Declined: 2, Executed: 1}, "%+v")
	putPackages(t, s, office.Package{ID: "declined", State: "open", Created: day}) // a person who is asked again no longer counts as declined
	expect(t, read(t, s, (*Tx).PackageCounts), PackageCounts{Total: 8, Open: 2, Declined: 1, Executed: 1}, "after one is asked again: %+v")
}

func TestOnlyPackagesThatAreNotFinalAreAskedAbout(t *testing.T) {
	s := newTest(t)
	planned, gone := office.Saving{Planned: true}, office.Inquiry{Gone: true}
	var want []string
	for i, c := range []struct {
		p     office.Package
		final bool
	}{
		{office.Package{State: "open"}, false},
		{office.Package{State: ""}, false},
		{office.Package{State: "something-new"}, false},
		{office.Package{State: "executed"}, false},
		{office.Package{State: "Executed", Saving: planned}, true},
		{office.Package{State: "expired"}, true},
		{office.Package{State: "rescinded"}, true},
		{office.Package{State: "open", Inquiry: gone}, false},
		{office.Package{State: "executed", Inquiry: gone}, false},
		{office.Package{State: "executed", Inquiry: gone, Saving: planned}, true},
	} {
		c.p.ID = fmt.Sprint("p", i)
		c.p.NextCheck = at0(-time.Duration(i) * time.Minute) // later ones are longer overdue
		putPackages(t, s, c.p)
		if !c.final {
			want = append([]string{c.p.ID}, want...)
		}
	}
	all := strings.Join(want, " ")
	expect(t, packageIDs(read(t, s, (*Tx).AllOpen)), all, "all open: %s, want %s", all)
	var lines []string
	view(t, s, func(tx *Tx) error { return tx.OpenLines(func(l office.PackageLine) { lines = append(lines, l.ID) }) })
	expect(t, lines, want, "lines of those that are open: %q")
	expect(t, read(t, s, (*Tx).PackageCounts), PackageCounts{Total: 10, Open: 4, Executed: 4}, "%+v")
}

func TestEachListHoldsWhatItIsForInItsOrder(t *testing.T) {
	s := newTest(t)
	minutes := func(n int) time.Time { return at0(time.Duration(n) * time.Minute) }
	for i, p := range []office.Package{ // by their NextCheck, Refused, draft, and withdrawal
		{ID: "b", Inquiry: office.Inquiry{NextCheck: minutes(60)}, Saving: office.Saving{Refused: minutes(-120)}, Source: office.Source{DraftID: "d"}},
		{ID: "c", Inquiry: office.Inquiry{NextCheck: day}, Source: office.Source{DraftID: "d\x00"}, Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, NextTry: minutes(-60)}},
		{ID: "long", State: "executed", Inquiry: office.Inquiry{NextCheck: minutes(-60)}, Saving: office.Saving{Refused: minutes(-120)}},
		{ID: "short", State: "executed", Inquiry: office.Inquiry{NextCheck: minutes(180)}, Saving: office.Saving{Refused: minutes(-1)}},
		{ID: "planned", State: "executed", Saving: office.Saving{Planned: true, Refused: minutes(-120)}},
		{ID: "w", Inquiry: office.Inquiry{NextCheck: minutes(240)}, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted, NextTry: minutes(60)}},
	} {
		p.Created = minutes(i)
		putPackages(t, s, p)
		p.Name = "a change does not move it"
		putPackages(t, s, p)
	}
	for i, j := range []office.Job{
		{PackageID: "late", NextTry: minutes(60)},
		{PackageID: "soon", NextTry: day, Refused: minutes(-1)},
		{PackageID: "sooner", NextTry: minutes(-60), Refused: minutes(-180)},
		{PackageID: "done1", State: office.JobDone, Refused: minutes(-180), SavedFile: office.SavedFile{Done: minutes(1)}},
		{PackageID: "done2", State: office.JobDone, SavedFile: office.SavedFile{Done: minutes(2)}},
		{PackageID: "broken", State: office.JobDone, SavedFile: office.SavedFile{Done: minutes(-1), Seal: office.Seal{State: office.SealBroken}}},
		{PackageID: "read", State: office.JobDone, SavedFile: office.SavedFile{Done: minutes(-2), Seal: office.Seal{State: office.SealBroken, Read: true}}},
		{PackageID: "bad", State: office.JobFailed, NextTry: minutes(-1)},
	} {
		j.Kind, j.Folder, j.Target = office.FileSigned, "/f", fmt.Sprint(i)
		plan(t, s, j)
	}
	for i, state := range []office.DraftState{"", office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled} {
		d := office.Draft{ID: fmt.Sprint(i), State: state, Created: minutes(i), Delivery: office.Delivery{NextTry: minutes(-i)}}
		update(t, s, func(tx *Tx) error { return tx.PutDraft(d) })
	}
	packages := func(list []office.Package, err error) (string, error) { return packageIDs(list), err }
	jobs := func(list []office.Job, err error) (string, error) {
		return names(list, func(j office.Job) string { return j.PackageID }), err
	}
	drafts := func(list []office.Draft, err error) (string, error) {
		return names(list, func(d office.Draft) string { return d.ID }), err
	}
	next := func(at time.Time, err error) (string, error) { return at.Sub(day).String(), err }
	one := func(p office.Package, ok bool, err error) (string, error) { return fmt.Sprint(p.ID, " ", ok), err }
	few := func(limit int) func(tx *Tx) (string, error) {
		return func(tx *Tx) (string, error) {
			var got []office.Package
			err := tx.Packages(func(p office.Package) bool { got = append(got, p); return len(got) < limit })
			return packages(got, err)
		}
	}
	for _, c := range []struct {
		list, want string
		read       func(tx *Tx) (string, error)
	}{
		{"all packages, newest first", "w planned short long c b", few(10)},
		{"the first two", "w planned", few(2)},
		{"unfinished packages", "w short long c b", func(tx *Tx) (string, error) { return packages(tx.Unfinished()) }},
		{"open packages by their next check", "long c b short w", func(tx *Tx) (string, error) { return packages(tx.AllOpen()) }},
		{"packages that are due", "long c", func(tx *Tx) (string, error) { return packages(tx.PackagesDue(Due{Now: day}, 9)) }},
		{"the one longest due", "long", func(tx *Tx) (string, error) { return packages(tx.PackagesDue(Due{Now: day}, 1)) }},
		{"due a second early", "long", func(tx *Tx) (string, error) { return packages(tx.PackagesDue(Due{Now: at0(-time.Second)}, 9)) }},
		{"due, and set by a wrong clock", "long c w", func(tx *Tx) (string, error) { return packages(tx.PackagesDue(Due{day, 200 * time.Minute}, 9)) }},
		{"the next check", "-1h0m0s", func(tx *Tx) (string, error) { return next(tx.NextPackageCheck()) }},
		{"withheld for an hour", "long", func(tx *Tx) (string, error) { return packages(tx.PackagesRefused(minutes(-60))) }},
		{"withheld", "long short", func(tx *Tx) (string, error) { return packages(tx.PackagesRefused(day)) }},
		{"withheld for four hours", "", func(tx *Tx) (string, error) { return packages(tx.PackagesRefused(minutes(-240))) }},
		{"withdrawals", "c", func(tx *Tx) (string, error) { return packages(tx.WithdrawalsDue(Due{Now: day})) }},
		{"the next withdrawal", "-1h0m0s", func(tx *Tx) (string, error) { return next(tx.NextWithdrawal()) }},
		{"of draft d", "b true", func(tx *Tx) (string, error) { return one(tx.PackageByDraft("d")) }},
		{"of draft d and a zero", "c true", func(tx *Tx) (string, error) { return one(tx.PackageByDraft("d\x00")) }},
		{"of no draft", " false", func(tx *Tx) (string, error) { return one(tx.PackageByDraft("")) }},
		{"of another draft", " false", func(tx *Tx) (string, error) { return one(tx.PackageByDraft("x")) }},
		{"the first known of some", "c true", func(tx *Tx) (string, error) { return one(tx.FirstPackage([]string{"x", "c", "b"})) }},
		{"jobs that are due", "sooner bad soon", func(tx *Tx) (string, error) { return jobs(tx.JobsDue(Due{Now: day}, 9, nil)) }},
		{"the job longest due", "sooner", func(tx *Tx) (string, error) { return jobs(tx.JobsDue(Due{Now: day}, 1, nil)) }},
		{"due jobs but one", "sooner soon", func(tx *Tx) (string, error) {
			return jobs(tx.JobsDue(Due{Now: day}, 9, func(key string) bool { return strings.HasPrefix(key, "bad/") }))
		}},
		{"pending jobs", "sooner bad soon late", func(tx *Tx) (string, error) { return jobs(tx.PendingJobs()) }},
		{"unfinished jobs", "bad late soon sooner", func(tx *Tx) (string, error) { return jobs(tx.UnfinishedJobs()) }},
		{"jobs refused for an hour", "sooner", func(tx *Tx) (string, error) { return jobs(tx.JobsRefused(minutes(-60))) }},
		{"refused jobs", "sooner soon", func(tx *Tx) (string, error) { return jobs(tx.JobsRefused(day)) }},
		{"saved files", "done2 done1 broken read", func(tx *Tx) (string, error) { return jobs(tx.RecentSaved(9)) }},
		{"the last saved file", "done2", func(tx *Tx) (string, error) { return jobs(tx.RecentSaved(1)) }},
		{"files to examine", "done2 done1", func(tx *Tx) (string, error) { return jobs(tx.JobsToExamine(9, func(office.Job) bool { return false })) }},
		{"the last of them", "done2", func(tx *Tx) (string, error) { return jobs(tx.JobsToExamine(1, func(office.Job) bool { return false })) }},
		{"but one", "done1", func(tx *Tx) (string, error) {
			return jobs(tx.JobsToExamine(9, func(j office.Job) bool { return j.PackageID == "done2" }))
		}},
		{"files that differ", "broken", func(tx *Tx) (string, error) { return jobs(tx.JobsWrong()) }},
		{"some files", "broken done1", func(tx *Tx) (string, error) {
			return jobs(tx.JobsAfter("bad/", 2, func(j office.Job) bool { return j.PackageID > "broke" }))
		}},
		{"failed jobs", "bad", func(tx *Tx) (string, error) { return jobs(tx.FailedJobs()) }},
		{"jobs of a package", "soon", func(tx *Tx) (string, error) { return jobs(tx.JobsOf("soon")) }},
		{"jobs of none", "", func(tx *Tx) (string, error) { return jobs(tx.JobsOf("soo")) }},
		{"counted jobs", "{4 3 1}", func(tx *Tx) (string, error) { c, err := tx.JobCounts(); return fmt.Sprint(c), err }},
		{"the next job", "-1h0m0s", func(tx *Tx) (string, error) { return next(tx.NextJob()) }},
		{"drafts", "6 5 4 3 2 1 0", func(tx *Tx) (string, error) { return drafts(tx.Drafts()) }},
		{"drafts by state", "5 1 0", func(tx *Tx) (string, error) {
			return drafts(tx.Drafts(office.DraftQueued, office.DraftFailed, office.DraftQueued))
		}},
		{"drafts that are due", "1 0", func(tx *Tx) (string, error) { return drafts(tx.DraftsDue(Due{Now: day})) }},
		{"due a second early", "1", func(tx *Tx) (string, error) { return drafts(tx.DraftsDue(Due{Now: at0(-time.Second)})) }},
		{"counted drafts", "3", func(tx *Tx) (string, error) {
			n, err := tx.CountDrafts(office.DraftQueued, office.DraftFailed)
			return fmt.Sprint(n), err
		}},
		{"the next draft", "-1m0s", func(tx *Tx) (string, error) { return next(tx.NextDraft()) }},
	} {
		expect(t, read(t, s, c.read), c.want, c.list+": %q, want %q", c.want)
	}
	update(t, s, func(tx *Tx) error {
		d, _, err := tx.Draft("1")
		d.State, d.PackageID = office.DraftSent, "p"
		return errors.Join(err, tx.PutDraft(d), tx.PutPackage(office.Package{ID: "b"}))
	})
	view(t, s, func(tx *Tx) error {
		sent, _ := drafts(tx.Drafts(office.DraftSent))
		expect(t, sent, "4 1", "sent: %s")
		of, _ := one(tx.PackageByDraft("d"))
		expect(t, of, " false", "the link was taken back, but draft d still leads to %q")
		return nil
	})
	expect(t, read(t, newTest(t), (*Tx).NextPackageCheck), time.Time{}, "nothing to check, but next is %v")
}

func TestTheLatestOfReplacedDraftsIsFoundEvenInACircle(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		for id, by := range map[string]string{"a": "b", "b": "c", "c": "", "round": "about", "about": "round"} {
			tx.PutDraft(office.Draft{ID: id, State: office.DraftCancelled, Created: at0(0), Delivery: office.Delivery{ReplacedBy: by}})
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		if d, known, err := tx.LatestDraft("a"); d.ID != "c" || !known || err != nil {
			t.Errorf("the latest is %q, %v, %v", d.ID, known, err)
		}
		_, known, err := tx.LatestDraft("round") // and ends
		if !known || err != nil {
			t.Errorf("of a circle: %v, %v", known, err)
		}
		return nil
	})
}

func TestTheActivityListKeepsItsNewestLines(t *testing.T) {
	s := newTest(t)
	const extra = 25
	line := func(i int) string { return message.PackageSent(fmt.Sprint(i)).String() }
	update(t, s, func(tx *Tx) error {
		for i := range maxActivities + extra {
			tx.AddActivity(office.Activity{Time: at0(time.Duration(i) * time.Second), Kind: "saved", Text: message.PackageSent(fmt.Sprint(i))})
		}
		return nil
	})
	all := read(t, s, func(tx *Tx) ([]office.Activity, error) {
		l, _, err := tx.Activities("", maxActivities+1)
		return l, err
	})
	if len(all) != maxActivities || all[0].Text.String() != line(maxActivities+extra-1) || all[maxActivities-1].Text.String() != line(extra) {
		t.Errorf("%d lines from %v to %v", len(all), all[0], all[len(all)-1])
	}
}

func TestSealedValuesAreKeptReplacedAndForgotten(t *testing.T) {
	s := newTest(t)
	value := []byte("sealed")
	update(t, s, func(tx *Tx) error {
		tx.PutSealed("token", value)
		clear(value) // the store must have its own copy
		return tx.PutSealed("empty", []byte{})
	})
	get := func(name string) string {
		var got []byte
		ok := false
		view(t, s, func(tx *Tx) (err error) { got, err = tx.Sealed(name); ok = got != nil; return err })
		return fmt.Sprintf("%s %v", got, ok) // used after the transaction
	}
	for name, want := range map[string]string{"token": "sealed true", "empty": " true", "none": " false", "": " false"} {
		expect(t, get(name), want, name+": %q, want %q", want)
	}
	update(t, s, func(tx *Tx) error { return tx.PutSealed("token", nil) })
	expect(t, get("token"), " false", "forgotten: %q")
}

func TestADocumentComesBackAndOneThatCannotBeReadIsNone(t *testing.T) {
	s := newTest(t)
	type settings struct{ Folder string }
	put := func(v any) { update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", v) }) }
	wants := func(what, folder string) { // "" for none
		t.Helper()
		got := settings{"/before"}
		ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) })
		if ok != (folder != "") || got.Folder != cmp.Or(folder, "/before") {
			t.Errorf("%s: %v %+v", what, ok, got)
		}
	}
	put(settings{"/f"})
	wants("written", "/f")
	for name, value := range map[string]string{"another type": `7`, "cut": `{"Folder":"/g`, "half of another": `{"Folder":"/g","More":[],"Folder":{}}`, "no JSON": "\x00"} {
		update(t, s, func(tx *Tx) error { tx.put(bucketDocs, []byte("settings"), []byte(value)); return nil })
		wants(name, "")
	}
	if s.Unreadable() == 0 {
		t.Error("nobody can know of it")
	}
	put(settings{"/h"})
	wants("written anew", "/h")
	put(nil)
	wants("deleted", "")
}

func TestEveryErrorIsOnePlainSentence(t *testing.T) {
	said := map[string]bool{}
	for _, err := range []error{ErrInUse, ErrNewer, &CorruptError{Path: "/x/state.db", Reason: "page 7"}} {
		s := message.For(fmt.Errorf("wrapped: %w", err)).String()
		if !strings.HasSuffix(s, ".") || strings.Contains(s, "wrapped") || strings.Contains(s, "page 7") || said[s] {
			t.Errorf("%v: %q", err, s)
		}
		said[s] = true
	}
	for _, err := range []error{ErrInUse, ErrNewer, ErrCorrupt, ErrClosed, ErrTargetTaken, fs.ErrPermission} {
		expect(t, OfOneRecord(err), err == ErrTargetTaken, "%[2]v is about one record: %[1]v", err)
	}
}

// What another service's packages, drafts and files were due for, they are due for again when it is back.
func TestNothingOfAnotherServiceIsDue(t *testing.T) {
	s := newTest(t)
	use := func(service, add string, want string) {
		t.Helper()
		update(t, s, func(tx *Tx) error { return tx.UseService(service) })
		if add != "" {
			putPackages(t, s, office.Package{ID: add, Inquiry: office.Inquiry{NextCheck: day}, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted, NextTry: day}},
				office.Package{ID: add + " over", State: "executed", Saving: office.Saving{Refused: day}})
			plan(t, s, office.Job{PackageID: add, Kind: office.FileSigned, Folder: "/f", Target: add, NextTry: day, Refused: day})
			update(t, s, func(tx *Tx) error { return tx.PutDraft(office.Draft{ID: add, Delivery: office.Delivery{NextTry: day}}) })
		}
		view(t, s, func(tx *Tx) error {
			due := Due{Now: day}
			packages, _ := tx.PackagesDue(due, 9)
			withheld, _ := tx.PackagesRefused(day)
			withdrawals, _ := tx.WithdrawalsDue(due)
			jobs, _ := tx.JobsDue(due, 9, nil)
			refused, _ := tx.JobsRefused(day)
			drafts, _ := tx.DraftsDue(due)
			got := fmt.Sprint(len(packages), len(withheld), len(withdrawals), len(jobs), len(refused), len(drafts))
			expect(t, got, want, "of "+service+" are due %s, want %s", want)
			return nil
		})
	}
	use("", "before", "2 1 1 1 1 1")
	use("one", "", "2 1 1 1 1 1")
	use("two", "", "0 0 0 0 0 0")
	use("two", "its own", "2 1 1 1 1 1")
	use("one", "more", "4 2 2 2 2 2")
	use("two", "", "2 1 1 1 1 1")
}

func plan(t *testing.T, s *Store, j office.Job) (planned bool) {
	t.Helper()
	update(t, s, func(tx *Tx) (err error) { planned, err = tx.PlanJob(j); return err })
	return planned
}

func putJob(t *testing.T, s *Store, j office.Job) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.PutJob(j) })
}

func isReserved(t *testing.T, s *Store, folder, target string) bool {
	t.Helper()
	return read(t, s, func(tx *Tx) (bool, error) {
		_, taken, err := tx.JobAt(folder, target)
		if is, _ := tx.IsTaken(folder, target); is != taken {
			t.Errorf("%s in %s is taken: %v and %v", target, folder, is, taken)
		}
		return taken, err
	})
}

func TestTwoJobsNeverShareAName(t *testing.T) {
	s := newTest(t)
	plan(t, s, office.Job{PackageID: "p", Kind: "masterfile", Folder: "/home/office", Target: "2026/Größe Café.pdf"})
	for name, want := range map[[2]string]bool{
		{"/home/office", "2026/Größe Café.pdf"}:             true,
		{"/home/office", "2026/GRÖSSE CAFÉ.PDF"}:            true,
		{"/home/office", "2026/gro\u0308ße cafe\u0301.pdf"}: true,
		{"/home/office/", "2026//Größe Café.pdf"}:           true,
		{"/home/office", `2026\Größe Café.pdf`}:             true,
		{"/home/./office", "2026/Größe Café.pdf. "}:         true,
		{"/home/office", "2026/Größe Cafe.pdf"}:             false,
		{"/home/other", "2026/Größe Café.pdf"}:              false,
		{"/home/office", "2026 Größe Café.pdf"}:             false,
	} {
		expect(t, isReserved(t, s, name[0], name[1]), want, "%[2]q is taken: %[1]v", name)
		err := s.Update(func(tx *Tx) error {
			_, err := tx.PlanJob(office.Job{PackageID: "q", DocumentID: name[0] + name[1], Kind: "masterfile", Folder: name[0], Target: name[1]})
			return err
		})
		if errors.Is(err, ErrTargetTaken) != want || err != nil && !want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestANewNameMovesTheReservation(t *testing.T) {
	s := newTest(t)
	a := office.Job{PackageID: "a", Kind: "cac", Folder: "/f", Target: "one.pdf", State: office.JobPending, Planned: day}
	b := office.Job{PackageID: "b", Kind: "cac", Folder: "/f", Target: "two.pdf", State: office.JobPending, Planned: day}
	plan(t, s, a)
	plan(t, s, b)
	a.Target = "TWO.pdf"
	refused(t, s, ErrTargetTaken, func(tx *Tx) error { return tx.PutJob(a) })
	a.Target = "three.pdf"
	putJob(t, s, a)
	a.Target = "THREE.pdf" // its own name in different case
	putJob(t, s, a)
	b.State = office.JobFailed // it keeps its name nonetheless
	putJob(t, s, b)
	for name, want := range map[string]bool{"one.pdf": false, "two.pdf": true, "three.pdf": true} {
		expect(t, isReserved(t, s, "/f", name), want, name+" taken: %v")
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.PutJob(office.Job{PackageID: "x", Kind: "cac"}) })
}

func TestWhateverTheIdentifiersAreTwoJobsAreTwo(t *testing.T) {
	s := newTest(t)
	long := strings.Repeat("a", 10_000)
	ids := []string{"a", "a/b", "/", "a/", "b/c", "..", "%", "%2F", "a\x00b", "\n", long, long + "b", office.KeyPart("a/b")[1:]}
	n := 0
	for _, pkg := range ids {
		for _, doc := range append(ids, "") {
			n++
			plan(t, s, office.Job{PackageID: pkg, DocumentID: doc, Kind: "executed", Folder: "/f", Target: fmt.Sprint(n)})
		}
	}
	if c := read(t, s, (*Tx).JobCounts); c.Pending != n {
		t.Errorf("%d jobs", c.Pending)
	}
	for _, pkg := range ids {
		for _, j := range read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.JobsOf(pkg) }) {
			expect(t, j.PackageID, pkg, "a job of %.20q is among those of %.20q", pkg)
		}
	}
	for _, j := range []office.Job{{PackageID: "", Kind: "k"}, {PackageID: "a", Kind: ""}, {PackageID: "a", DocumentID: "\xff", Kind: "k"}} {
		refused(t, s, ErrBadID, func(tx *Tx) error { _, err := tx.PlanJob(j); return err })
	}
}

func TestTheListOfWhatWasSavedDoesNotGrow(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		for i := range 2 * mostRecent {
			tx.PlanJob(office.Job{PackageID: fmt.Sprint(i), Kind: "executed", Folder: "/f", Target: fmt.Sprint(i), State: office.JobDone,
				SavedFile: office.SavedFile{Done: at0(time.Duration(i) * time.Second)}})
		}
		return nil
	})
	saved := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(2 * mostRecent) })
	if len(saved) != mostRecent || !saved[0].Done.Equal(at0((2*mostRecent-1)*time.Second)) {
		t.Errorf("%d files, the newest of %v", len(saved), saved[0].Done)
	}
}
