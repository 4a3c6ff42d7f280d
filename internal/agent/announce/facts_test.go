package announce

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestSavedFilesAreNamedWhereTheyAreWhatWasSignedFirst(t *testing.T) {
	job := func(kind office.FileKind, target string) office.Job {
		return office.Job{Kind: kind, Folder: "/office/Signed", Target: target, State: office.JobDone}
	}
	p := office.Package{ID: "p", Name: "Lease"}
	for want, jobs := range map[string][]office.Job{
		"Saved in Signed/Lease: Lease - signed.pdf, Lease - certificate.pdf, master file.pdf.": {
			job(office.FileMaster, "Lease/master file.pdf"), job(office.FileCertificate, "Lease/Lease - certificate.pdf"), job(office.FileSigned, "Lease/Lease - signed.pdf")},
		"None of its files could be downloaded. Look for it on the signing service's website.": {{Kind: office.FileSigned, DocumentID: "../d", State: office.JobPending}},
		"“Lease.pdf” saved in Signed.":                        {job(office.FileSigned, "Lease.pdf")},
		"Saved in Signed: Lease.pdf, master file.pdf.":        {job(office.FileMaster, "2026/master file.pdf"), job(office.FileSigned, "Lease/Lease.pdf")},
		"Saved in Signed/2026/Lease: Lease.pdf, Mandate.pdf.": {job(office.FileSigned, "2026/Lease/Lease.pdf"), job(office.FileSigned, "2026/Lease/Mandate.pdf")},
	} {
		f, signed := savedFact(p, jobs), 0
		for _, j := range jobs {
			if j.Kind == office.FileSigned && j.State == office.JobDone {
				signed++
			}
		}
		expect(t, f.Files, signed, "%d files can be opened")
		expect(t, f.Body.String(), filepath.FromSlash(want), "%q, want %q", want)
	}
}

// Who signs alone is not the last of several, nor everyone.
func TestTheOneSignerOfAPackageSignedAndNothingElseIsSaid(t *testing.T) {
	ana, jan := office.Signer{ID: "ana", FirstName: "Ana", LastName: "Ruiz"}, office.Signer{ID: "jan", FirstName: "Jan", LastName: "Weber"}
	for _, c := range []struct {
		signers []office.Signer
		want    []string
	}{
		{[]office.Signer{ana}, []string{"Ana Ruiz signed “Lease”.", "Everyone has signed “Lease”. Ana Ruiz signed. 2 files saved in Signed."}},
		{[]office.Signer{jan, ana}, []string{"Ana Ruiz signed “Lease”. Everyone has signed.", "Everyone has signed “Lease”. Ana Ruiz signed last. 2 files saved in Signed."}},
	} {
		p := office.Package{ID: "p", Name: "Lease", State: office.PackageExecuted, Sequential: true, Signers: c.signers,
			Documents: []office.Document{{ID: "d", SignedBy: []string{"jan", "ana"}}}}
		f := signedFact(p, office.Signature{DocumentID: "d", SignerID: "ana"}, p.LastSigner())
		f.Latest = true
		saved := savedOf("Lease")
		saved.PackageID = p.ID
		for i, facts := range [][]office.Fact{{f}, {f, saved}} {
			var m digest
			m.add(noon, facts...)
			if got := texts(m.take(noon, true)); len(got) != 1 || got[0] != c.want[i] {
				t.Errorf("%d of %d signers: told %q, want %q", i, len(c.signers), got, c.want[i])
			}
		}
	}
}

func TestWhoWantsToHearOfTheirOwnAloneIsToldOfThatAndOfWhatMayBe(t *testing.T) {
	for _, c := range []struct {
		me, member, draft string
		want              bool
	}{{"ana", "ana", "", true}, {"ana", "jan", "sent from here", true}, {"ana", "", "", true}, {"ana", "jan", "", false}, {"", "jan", "", true}} {
		r := &Service{deps: Deps{Settings: func() office.Settings { return office.Settings{NotifySettings: office.NotifySettings{Mine: true}} }, Member: func() string { return c.me }}}
		var p office.Package
		p.MemberID, p.DraftID = c.member, c.draft
		expect(t, r.concerns(p), c.want, "told: %v, want %v")
	}
}

func TestASignatureSaysWhatIsLeftToSign(t *testing.T) {
	signers := []office.Signer{{ID: "ana", FirstName: "Ana"}, {ID: "jan", FirstName: "Jan"}, {ID: "eva", FirstName: "Eva"}}
	nameless := []office.Signer{signers[0], {ID: "jan"}, signers[2]}
	for want, p := range map[string]office.Package{
		"Next: Jan.":                  {Signers: signers, Sequential: true},
		"Next: Eva.":                  {Signers: signers, Signing: office.Signing{NextSigners: []string{"eva"}}},
		"1 of 3 signers have signed.": {Signers: signers},
		"":                            {Signers: nameless, Sequential: true},
		"Everyone has signed.":        {Signers: signers[:2], State: office.PackageExecuted},
	} {
		p.Name, p.Documents = "Lease", []office.Document{{ID: "d", Name: "Annex", SignedBy: []string{"ana"}}}
		f := signedFact(p, office.Signature{DocumentID: "d", SignerID: "ana"}, "")
		if f.Body.String() != want || !f.Document.IsZero() {
			t.Errorf("told %q of %q, want %q", f.Body, f.Document, want)
		}
	}
}

// A disk that takes nothing now keeps nothing from people, and what they were told is noted later; nothing costs no access.
func TestWhatPeopleWereToldIsNotedOnceItCanBe(t *testing.T) {
	r, err := New(looptest.Base(t, func() {}), Deps{Settings: func() office.Settings { return office.Settings{} }})
	noErr(t, err)
	accesses, full := 0, true
	r.Data.Store.Fault = func() error {
		if accesses++; full {
			return looptest.ErrFault
		}
		return nil
	}
	for _, c := range []struct {
		keys       []string
		full       bool
		want, left int
	}{{nil, false, 0, 0}, {[]string{""}, false, 0, 0}, {[]string{"a"}, true, 1, 1}, {[]string{"b"}, true, 1, 2}, {nil, false, 1, 0}, {nil, false, 0, 0}} {
		accesses, full = 0, c.full
		if r.settle(c.keys); accesses > 0 != (c.want > 0) || len(r.settled) != c.left {
			t.Errorf("%q, full %v: %d accesses, left are %q", c.keys, c.full, accesses, r.settled)
		}
	}
	full = true
	if r.Snooze(time.Now().Add(time.Hour)); !r.Snoozed().IsZero() {
		t.Error("a snooze counts that is not on disk")
	}
}

// Each thing is told once, however often it is found; another one like it is another one.
func TestEachThingThatBecomesOfAPackageIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t, nil)
		when := time.Now()
		ana, jan, eva := office.Signer{ID: "ana", FirstName: "Ana"}, office.Signer{ID: "jan", FirstName: "Jan"}, office.Signer{ID: "eva", FirstName: "Eva"}
		p := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Signers: []office.Signer{ana, jan, eva}, Documents: []office.Document{{ID: "d", Name: "Annex"}, {ID: "d2", Name: "Plan"}}}
		told := func(want ...string) {
			t.Helper()
			for range 2 {
				var titles []string
				noErr(t, x.Data.Update(func(tx *store.Tx) error {
					for _, facts := range [][]office.Fact{x.Declined(tx, p), x.Signed(tx, p, signatures(p))} {
						for i, f := range facts {
							if f.Kind == office.FactSigned && f.Last != (p.EveryoneSigned() && f.Who == facts[len(facts)-1].Who) {
								t.Errorf("%d of %d is the last one: %v", i, len(facts), f.Last)
							}
							titles = append(titles, strings.Join(strings.Fields(f.Title.String()+" "+f.Document.String()+" "+f.Body.String()), " "))
						}
					}
					return nil
				}))
				expect(t, titles, want, "told %q")
				want = nil
			}
		}
		told()
		p.Signers[0].Declined, p.Signers[0].DeclineReason = office.When{Time: when}, "Too much."
		told("Ana declined to sign “Lease”. Reason: “Too much.”")
		p.Signers[1].Declined = office.When{Time: when}
		told("Jan declined to sign “Lease”.")
		p.Signers[0].Declined = office.When{Time: when.Add(time.Hour)} // asked again
		told("Ana declined to sign “Lease”. Reason: “Too much.”")
		p.Signers[0].Declined, p.Signers[1].Declined = office.When{}, office.When{}
		p.Documents[0].SignedBy = []string{"ana"}
		told("Ana signed “Lease”. Document: “Annex”. 0 of 3 signers have signed.")
		p.Documents[0].SignedBy, p.Documents[1].SignedBy = []string{"ana", "x"}, []string{"ana"}
		told("Someone signed “Lease”. Document: “Annex”.", "Ana signed “Lease”. Document: “Plan”. 1 of 3 signers have signed.")
		all := p
		all.ID, all.Name, all.Signers = "all", "Offer", []office.Signer{ana, jan}
		all.Documents = []office.Document{{ID: "d3", SignedBy: []string{"ana"}}, {ID: "d4", SignedBy: []string{"ana", "jan"}}, {ID: "d5", SignedBy: []string{"jan"}}}
		all.State = office.PackageExecuted
		p, all = all, p
		told("Ana signed “Offer”. Everyone has signed.", "Ana signed “Offer”. Everyone has signed.", "Jan signed “Offer”. Everyone has signed.", "Jan signed “Offer”. Everyone has signed.")
		p = all
		p.Signers[2].Declined = office.When{Time: when}
		p.State = office.PackageExecuted // who had declined has signed after all
		told()
	})
}

// signatures are all that are on p.
func signatures(p office.Package) (list []office.Signature) {
	for _, d := range p.Documents {
		for _, id := range d.SignedBy {
			list = append(list, office.Signature{DocumentID: d.ID, SignerID: id})
		}
	}
	return list
}

func TestThatAPackageIsSavedIsToldOnceAllOfItIsThatCanBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t, nil)
		job := func(kind office.FileKind, target string, state office.JobState, tries int) office.Job {
			return office.Job{Kind: kind, Folder: "/office/Signed", Target: target, State: state, Tries: tries, DocumentID: "d"}
		}
		a, b := job(office.FileSigned, "a.pdf", office.JobDone, 0), job(office.FileSigned, "b.pdf", office.JobDone, 0)
		waits, late := job(office.FileCertificate, "c.pdf", office.JobPending, auxiliaryTries-1), job(office.FileCertificate, "c.pdf", office.JobPending, auxiliaryTries)
		for n, c := range []struct {
			planned bool
			jobs    []office.Job
			want    string // "" while it is not told
		}{
			{true, nil, ""}, {false, []office.Job{a}, ""}, {true, []office.Job{a}, "“a.pdf” saved in Signed."},
			{true, []office.Job{a, job(office.FileSigned, "b.pdf", office.JobPending, 99)}, ""}, {true, []office.Job{a, waits}, ""},
			{true, []office.Job{a, late}, "“a.pdf” saved in Signed. 1 more file is not ready yet."},
			{true, []office.Job{a, b, a, b}, "4 files saved in Signed."},
		} {
			p := office.Package{ID: fmt.Sprint("p", n), Name: "Lease", State: office.PackageExecuted, Saving: office.Saving{Planned: c.planned},
				Executed: office.When{Time: x.Now()}}
			for range 2 {
				var facts []office.Fact
				noErr(t, x.Data.Update(func(tx *store.Tx) error { facts = x.Saved(tx, p, c.jobs); return nil }))
				if (len(facts) == 1) != (c.want != "") || c.want != "" && (facts[0].Body.String() != c.want || facts[0].CaughtUp) {
					t.Errorf("%d: told %+v", n, facts)
				}
				c.want = ""
			}
		}
		old := office.Package{ID: "old", State: office.PackageExecuted, Saving: office.Saving{Planned: true},
			Executed: office.When{Time: x.Now().Add(-2 * office.NewFor)}}
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			facts := x.Saved(tx, old, []office.Job{a})
			if len(facts) != 1 || !facts[0].CaughtUp {
				t.Errorf("executed long ago: %+v", facts)
			}
			right := x.Now().AddDate(7, 0, 0) // by the service's clock
			x.Served.Note(right)
			old.ID, old.Executed.Time = "older", right.Add(-2*office.NewFor)
			if facts = x.Saved(tx, old, []office.Job{a}); len(facts) != 1 || !facts[0].CaughtUp {
				t.Errorf("executed long ago, by a clock that stands in the past: %+v", facts)
			}
			x.Served.Note(time.Unix(0, 0))
			elsewhere := x.Saved(tx, office.Package{ID: "elsewhere", Saving: office.Saving{Planned: true, Saved: true}, Executed: office.When{Time: x.Now()}}, nil)
			if len(elsewhere) != 1 || elsewhere[0].Body != message.SavedByOtherDesk() {
				t.Errorf("saved by another desk: %+v", elsewhere)
			}
			return nil
		}))
	})
}

// An event after a start comes before the service can be asked whose it is.
func TestASignatureWaitsForTheNamesThatTheServiceIsAskedFor(t *testing.T) {
	unnamed := office.Package{ID: "p", Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}}}
	named := unnamed
	named.Name, named.Checked, named.Signers = "Lease", time.Now(), []office.Signer{{ID: "jan", FirstName: "Jan", LastName: "Weber"}, {ID: "ana", FirstName: "Ana"}}
	nameless := unnamed
	nameless.Checked = time.Now() // of a service that says no names
	const nobody, jan = "Someone signed “Untitled package”. | ", "Jan Weber signed “Lease”. | 1 of 2 signers have signed."
	begin := func(t *testing.T) *testService {
		r := newService(t, nil)
		r.put(t, unnamed)
		r.Announce(r.found(t, unnamed, office.Signature{DocumentID: "a", SignerID: "jan"})...)
		time.Sleep(time.Minute)
		if n := r.count(""); n != 0 {
			t.Errorf("told before the service was asked: %q", r.raised)
		}
		return r
	}
	for name, c := range map[string]struct {
		answer office.Package
		want   string
	}{"which it says": {named, jan}, "which it does not say": {nameless, "Someone signed “Untitled package”. | Everyone has signed."}} {
		looptest.Bubble(t, name, func(t *testing.T) {
			r := begin(t)
			r.put(t, c.answer)
			time.Sleep(10 * time.Second)
			if n := r.count(c.want); n != 1 || len(r.raised) != 1 {
				t.Errorf("told %q, want %q", r.raised, c.want)
			}
		})
	}
	looptest.Bubble(t, "and is told without them in the end", func(t *testing.T) {
		r := begin(t)
		time.Sleep(unaskedHeld)
		r.put(t, named)
		time.Sleep(time.Minute)
		if n := r.count(nobody); n != 1 || len(r.raised) != 1 {
			t.Errorf("told %q, want %q", r.raised, nobody)
		}
	})
	looptest.Bubble(t, "for the next start when the program ends", func(t *testing.T) {
		r := begin(t)
		r.stop()
		if n := r.count(""); n != 0 {
			t.Errorf("told at the end: %q", r.raised)
		}
		next := r.again(t)
		next.put(t, named)
		time.Sleep(10 * time.Second)
		if n := next.count(jan); n != 1 || len(next.raised) != 1 {
			t.Errorf("told %q, want %q", next.raised, jan)
		}
	})
}

func TestOnePackageThatCannotBeReadKeepsNoOtherFromItsName(t *testing.T) {
	tools := looptest.Base(t, func() {})
	put := func(p office.Package) error {
		return tools.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) })
	}
	named := office.Package{ID: "p", Name: "Lease", Inquiry: office.Inquiry{Checked: time.Now()},
		Signers: []office.Signer{{ID: "jan", FirstName: "Jan"}}}
	noErr(t, errors.Join(put(office.Package{ID: "broken", Name: "To be spoilt"}), put(named)))
	looptest.Spoil(t, &tools, "To be spoilt", "packages", "package_lines")
	r, err := New(tools, Deps{Settings: func() office.Settings { return office.Settings{} }})
	noErr(t, err)
	var m digest
	for _, id := range []string{"broken", "p"} {
		m.add(time.Now(), signedFact(office.Package{ID: id}, office.Signature{DocumentID: "a", SignerID: "jan"}, ""))
	}
	r.name(&m)
	if !m.waiting[0].Unasked || m.waiting[1].Unasked || m.waiting[1].Name != "Jan" {
		t.Errorf("%+v", m.waiting)
	}
}

func TestAPackageIsReadOnceForAllItsSignaturesThatWait(t *testing.T) {
	r, err := New(looptest.Base(t, func() {}), Deps{Settings: func() office.Settings { return office.Settings{} }})
	noErr(t, err)
	p := office.Package{ID: "p"}
	noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
	work := func(facts int) float64 {
		var m digest
		for range facts {
			m.add(time.Now(), signedFact(p, office.Signature{DocumentID: "a", SignerID: "jan"}, ""))
		}
		return testing.AllocsPerRun(20, func() { r.name(&m) })
	}
	if one, many := work(1), work(100); many > 2*one {
		t.Errorf("%.0f allocations for a hundred signatures, %.0f for one", many, one)
	}
}

func (x *testService) put(t *testing.T, p office.Package) {
	t.Helper()
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
}

func TestANotificationOffersWhatCanBeDone(t *testing.T) {
	for _, c := range []struct {
		windowed, opens bool
		files           int
		about           office.Subject
		want            []office.Action
	}{
		{true, true, 1, "package/p", []office.Action{office.ActionShow, office.ActionOpen, office.ActionFolder}},
		{true, true, 2, "package/p", []office.Action{office.ActionShow, office.ActionFolder}},
		{true, true, 0, "package/p", []office.Action{office.ActionShow}},
		{true, true, 0, office.HotFolderSubject("f"), []office.Action{office.ActionShow, office.ActionFolder}},
		{true, false, 1, "package/p", []office.Action{office.ActionShow}},
		{false, true, 1, "package/p", []office.Action{office.ActionOpen, office.ActionFolder}},
	} {
		r := &Service{deps: Deps{Windowed: c.windowed, CanOpen: c.opens}}
		var got []office.Action
		for _, b := range r.buttons(notice{about: c.about, files: c.files}, message.English()) {
			got = append(got, b.Action)
			if b.Label == "" {
				t.Errorf("%s has no label", b.Action)
			}
		}
		expect(t, got, c.want, "offers %q, want %q", c.want)
	}
}

// What people do not want to hear is not told after a start either.
func TestWhatIsMutedIsNoLongerPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t, func(x *testService) { x.settings.Notify = office.NotifyExecuted })
		p := office.Package{ID: "p", Name: "Lease", Due: time.Now().Add(48 * time.Hour), Signers: []office.Signer{{ID: "ana", FirstName: "Ana"}, {ID: "x"}}, Documents: []office.Document{{ID: "d", SignedBy: []string{"ana"}}}}
		var facts []office.Fact
		noErr(t, x.Data.Update(func(tx *store.Tx) error { facts = x.Signed(tx, p, signatures(p)); return nil }))
		x.Announce(facts...)
		time.Sleep(time.Minute)
		expect(t, x.count(""), 0, "told %d")
		pending := func() (n int) {
			noErr(t, x.Data.Update(func(tx *store.Tx) error {
				names, err := tx.DocNames(docPending)
				n = len(names)
				return err
			}))
			return n
		}
		expect(t, pending(), 0, "%d are pending")
		p.Documents[0].SignedBy = nil
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			due := x.DueSoon(tx, p, time.Now())
			expired := x.Expired(tx, p)
			told := x.NewVersion(tx, "2.0", message.Message{}, true)
			seen := x.NewVersion(tx, "3.0", message.Message{}, false)
			later := x.NewVersion(tx, "3.0", message.Message{}, true)
			if len(due) != 1 || !strings.Contains(due[0].Body.String(), "Ana") || len(expired) != 1 || len(told) != 1 || len(seen)+len(later) != 0 || !x.ToldDue(tx, "p") {
				t.Errorf("%+v, %+v, %+v, %+v, %+v", due, expired, told, seen, later)
			}
			return nil
		}))
		expect(t, pending(), 3, "%d are pending")
		noErr(t, x.Data.Update(func(tx *store.Tx) error { ForgetPending(tx); return nil }))
		expect(t, pending(), 0, "%d are pending after a restore")
	})
}

func TestWhatTheDiskRefusesIsNotTakenForTold(t *testing.T) {
	p := office.Package{ID: "p", State: office.PackageOpen, Signers: []office.Signer{{ID: "a", Declined: office.When{Time: time.Unix(1, 0)}}},
		Documents: []office.Document{{ID: "d", SignedBy: []string{"a"}}}, Saving: office.Saving{Planned: true},
		Withdrawal: &office.Withdrawal{State: office.WithdrawRefused}}
	for name, do := range map[string]func(r *Service, tx *store.Tx){
		"signed":        func(r *Service, tx *store.Tx) { r.Signed(tx, p, []office.Signature{{DocumentID: "d", SignerID: "a"}}) },
		"declined":      func(r *Service, tx *store.Tx) { r.Declined(tx, p) },
		"not withdrawn": func(r *Service, tx *store.Tx) { r.NotWithdrawn(tx, p) },
		"saved": func(r *Service, tx *store.Tx) {
			r.Saved(tx, p, []office.Job{{PackageID: "p", DocumentID: "d", State: office.JobDone}})
		},
		"due":                 func(r *Service, tx *store.Tx) { r.DueSoon(tx, p, time.Now()) },
		"expired":             func(r *Service, tx *store.Tx) { r.Expired(tx, p) },
		"a new version":       func(r *Service, tx *store.Tx) { r.NewVersion(tx, "2", message.Message{}, true) },
		"one that is no news": func(r *Service, tx *store.Tx) { r.NewVersion(tx, "3", message.Message{}, false) },
		"to come":             func(r *Service, tx *store.Tx) { r.Queue(tx, office.Fact{Key: "k"}, office.Fact{Key: "l"}) },
		"not to come":         func(r *Service, tx *store.Tx) { r.Withhold(tx, []office.Fact{{Key: "k"}, {Key: "l"}}) },
		"forgotten":           func(_ *Service, tx *store.Tx) { ForgetPending(tx) },
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*Service, *data.Data) {
				tools := looptest.Base(t, func() {})
				r, err := New(tools, Deps{Settings: func() office.Settings { return office.Settings{} }})
				noErr(t, err)
				return r, tools.Data
			}, func(r *Service) error { return r.Data.Update(func(tx *store.Tx) error { do(r, tx); return nil }) })
		})
	}
}

// again is the Service of the next start, on the same data.
func (x *testService) again(t *testing.T) *testService {
	t.Helper()
	return newService(t, func(y *testService) { y.before, y.now = x, x.now })
}

// found is a fact that somebody has found, in its commit.
func (x *testService) found(t *testing.T, p office.Package, signatures ...office.Signature) []office.Fact {
	t.Helper()
	var facts []office.Fact
	noErr(t, x.Data.Update(func(tx *store.Tx) error { facts = x.Signed(tx, p, signatures); return nil }))
	return facts
}

func TestWhatWaitedWhenTheProgramWasKilledIsToldOnceByTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Name: "Lease", Signers: []office.Signer{{ID: "jan", FirstName: "Jan", LastName: "Weber"}},
			Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}, {ID: "b"}}}
		r := newService(t, nil)
		r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"}) // and killed before it was announced
		synctest.Wait()
		began := time.Now() // soon after it cannot be noted for a while
		r.Data.Store.Fault = func() error {
			if since := time.Since(began); since > 0 && since < 20*time.Second {
				return looptest.ErrFault
			}
			return nil
		}
		next := r.again(t)
		time.Sleep(time.Minute)
		expect(t, next.count("Jan Weber signed “Lease”."), 1, "told %d times")
		third := r.again(t)
		time.Sleep(time.Minute)
		if n := third.count(""); n != 0 {
			t.Errorf("told again: %q", third.raised)
		}
	})
}

// A move that fails lets the same program work on.
func TestWhatWaitsInAProgramThatWorksOnIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Documents: []office.Document{{ID: "a"}, {ID: "b"}}, Signers: []office.Signer{{ID: "jan"}, {ID: "eva"}}}
		q := office.Package{ID: "q", Name: "Offer", Inquiry: office.Inquiry{Checked: time.Now()}, Documents: p.Documents, Signers: []office.Signer{{ID: "jan", FirstName: "Jan"}, {ID: "eva"}}}
		r := newService(t, nil)
		synctest.Wait()
		var full atomic.Bool
		r.Data.Store.Fault = func() error {
			if full.Load() {
				return looptest.ErrFault
			}
			return nil
		}
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
		r.Announce(r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"})...) // waits for its names
		r.Announce(r.found(t, q, office.Signature{DocumentID: "c", SignerID: "jan"})...) // is told, which cannot be noted
		full.Store(true)
		time.Sleep(time.Minute)
		r.stop()
		full.Store(false)
		r.Resume()
		stop := looptest.Run(t, r.Run)
		time.Sleep(10 * time.Minute)
		stop()
		if r.count("Jan signed “Offer”.") != 1 || r.count("Someone signed “Untitled package”.") != 1 {
			t.Errorf("told %q", r.raised)
		}
	})
}

func TestWhatIsOwedOfAnotherServiceIsToldOnceThatIsInUseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := office.Package{ID: "p", Name: "Lease", Signers: []office.Signer{{ID: "jan", FirstName: "Jan", LastName: "Weber"}},
			Documents: []office.Document{{ID: "a", SignedBy: []string{"jan"}}, {ID: "b"}}}
		r := newService(t, nil)
		use := func(service string) {
			noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.UseService(service) }))
		}
		use("one")
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
		r.found(t, p, office.Signature{DocumentID: "a", SignerID: "jan"}) // and killed before it was announced
		for _, at := range []struct {
			service string
			told    int
		}{{"other", 0}, {"one", 1}, {"one", 0}} {
			use(at.service)
			next := r.again(t)
			time.Sleep(time.Minute)
			if n := next.count(""); n != at.told {
				t.Errorf("at %s: told %q", at.service, next.raised)
			}
		}
	})
}

func TestAPersonWhoTakesTimeForEachDocumentIsToldOfOnce(t *testing.T) {
	var m digest
	now := noon
	sign := func(document string, last bool) {
		f := signedBy("Jan", "Lease", document, false)
		f.Partial = !last
		m.add(now, f)
	}
	sign("a", false)
	expect(t, m.left(now), partialHeld, "one who does not sign the second is told of after %v")
	for _, document := range []string{"b", "c", "d"} {
		now = now.Add(8 * time.Second)
		if got := m.take(now, false); len(got) != 0 {
			t.Fatalf("told before document %s: %q", document, texts(got))
		}
		sign(document, document == "d")
	}
	if got := texts(m.take(now, false)); len(got) != 1 || got[0] != "Jan signed 4 documents in “Lease”." {
		t.Errorf("told %q", got)
	}
	// One who never ends is told of after a minute, and once more for the rest.
	told := 0
	for i := range 30 {
		sign(string(rune('e'+i)), false)
		now = now.Add(5 * time.Second)
		told += len(m.take(now, false))
	}
	expect(t, told, 2, "told %d times in two and a half minutes")
}

func TestASnoozeOutlivesARestartAndEndsThoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Int64 // by how much the clock is
		r := newService(t, func(x *testService) { x.now = func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) } })
		until := time.Now().Add(time.Hour).Round(0)
		r.Snooze(until)
		next := r.again(t)
		if got := next.Snoozed(); !got.Equal(until) {
			t.Errorf("after a restart snoozed until %v", got)
		}
		wrong.Store(int64(-5 * time.Hour))
		if got := next.Snoozed(); !got.IsZero() {
			t.Errorf("nobody is told anything until %v, and it is %v", got, next.Now())
		}
		next.Snooze(time.Time{})
		if got := r.again(t).Snoozed(); !got.IsZero() {
			t.Errorf("after it was ended, snoozed until %v", got)
		}
	})
}

var folderGone = message.WaitForFolder("Dr. Signed", 1)

func TestAProblemThatLastsIsToldOnceAndOnceMoreEachDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Health.Set(health.FolderFails, folderGone)
		r.Health.Set(health.ServiceFails, message.ServiceSilent())
		time.Sleep(health.FolderFails.After - time.Second)
		expect(t, r.count(""), 0, "told %d times before it has stood for %v", health.FolderFails.After)
		time.Sleep(2 * time.Second)
		if n := r.count("The folder “Dr. Signed” cannot be found. | 1 file is waiting until the folder is back. You can also choose another folder."); n != 1 || r.count("") != 1 {
			t.Errorf("told %d times, %d in all", n, r.count(""))
		}
		time.Sleep(problemAgain - time.Minute)
		expect(t, r.count("folder"), 1, "told %d times on the first day")
		time.Sleep(2 * time.Minute)
		expect(t, r.count("folder"), 2, "told %d times after a day")
		// One that comes and goes is one problem; one that comes back the next week is another.
		r.Health.Clear(health.FolderFails)
		time.Sleep(10 * time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(time.Hour)
		expect(t, r.count("folder"), 2, "told %d times after it came back")
		r.Health.Clear(health.FolderFails)
		time.Sleep(7 * 24 * time.Hour)
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(health.FolderFails.After + time.Second)
		expect(t, r.count("folder"), 3, "told %d times a week later")
	})
}

func TestAProblemIsToldAfterThePauseAndNotAgainAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Snooze(time.Now().Add(2 * time.Hour))
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(time.Hour)
		expect(t, r.count(""), 0, "told %d times during the pause")
		time.Sleep(time.Hour + 2*problemLook)
		expect(t, r.count("folder"), 1, "told %d times after the pause")
		told := map[string]toldProblem{"folder": {Told: time.Now()}}
		r.Health.Clear(health.FolderFails) // as after a start, when the issue is found anew
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(health.FolderFails.After)
		if facts, _ := r.problemsDue(told, time.Time{}); len(facts) != 0 {
			t.Errorf("told again after a start: %+v", facts)
		}
		// A clock that ran fast when it was told must not silence the problem for longer than a day.
		told["folder"] = toldProblem{Told: time.Now().Add(1000 * time.Hour)}
		if facts, _ := r.problemsDue(told, time.Time{}); len(facts) != 0 || time.Until(told["folder"].Told) > 0 {
			t.Errorf("%+v, noted %+v", facts, told)
		}
	})
}

// What stood when the program ended and is found again after the start has not begun with the start.
func TestAProblemStandsSinceBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := time.Now()
		first := newService(t, nil)
		first.Health.Set(health.FolderFails, folderGone)
		first.Health.Set(health.SignedOut, message.NotSignedIn())
		time.Sleep(time.Hour)
		first.stop()
		time.Sleep(8 * time.Hour)
		r := newService(t, func(x *testService) { x.before = first })
		stands := func(s health.State) (since time.Time) {
			synctest.Wait()
			for _, i := range r.Health.List() {
				if i.ID == s.ID {
					since = i.Since
				}
			}
			return since
		}
		time.Sleep(time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		if got := stands(health.FolderFails); !got.Equal(since) {
			t.Errorf("after the start it stands since %v, want %v", got, since)
		}
		r.Health.Clear(health.FolderFails)
		synctest.Wait()
		time.Sleep(time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		if got := stands(health.FolderFails); !got.Equal(time.Now()) {
			t.Errorf("one that was mended stands since %v, want now", got)
		}
		time.Sleep(foundAgain)
		r.Health.Set(health.SignedOut, message.NotSignedIn())
		if got := stands(health.SignedOut); !got.Equal(time.Now()) {
			t.Errorf("one that was not found again for long stands since %v, want now", got)
		}
	})
}

func TestNobodyIsToldOfWhatTheyDidThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Health.Set(health.NotSetUp, message.NotSetUp())
		r.Health.Set(health.SignedOut, message.NotSignedIn())
		r.Health.Set(health.AddressClosed, message.NoConnection())
		r.Health.Set(health.ServiceFails, message.ServiceSilent())
		time.Sleep(time.Hour)
		expect(t, r.count(""), 0, "told %d times")
		r.Health.Clear(health.ServiceFails)
		time.Sleep(time.Minute)
		expect(t, r.count("ngrok"), 1, "told %d times of the address alone")
	})
}

// The network goes as the computer falls asleep, and is back a moment after it woke up.
func TestWhatWentWrongForANightOfSleepIsNoNewsInTheMorning(t *testing.T) {
	t.Run("for the first time", func(t *testing.T) { sleepsOverIt(t, 10*time.Second) })
	t.Run("told the day before", func(t *testing.T) { sleepsOverIt(t, time.Hour) })
}

// sleepsOverIt has the computer sleep for a day when a problem has stood for that long.
func sleepsOverIt(t *testing.T, before time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := newService(t, func(x *testService) { x.now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) } })
		r.Health.Set(health.HotFolderFails, folderGone)
		time.Sleep(before)
		told := r.count("")
		slept.Add(int64(25 * time.Hour))
		r.Health.Set(health.ServiceFails, message.ServiceSilent()) // what else is found wanting then
		time.Sleep(time.Minute)
		if n := r.count(""); n != told {
			t.Error("it was told a minute after it woke up")
		}
		r.Health.Clear(health.ServiceFails)
		time.Sleep(health.HotFolderFails.After)
		if n := r.count(""); n != told+1 {
			t.Errorf("what stays wrong was told %d times", n-told)
		}
	})
}
