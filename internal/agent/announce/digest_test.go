package announce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func signedBy(who, packageID, document string, complete bool) office.Fact {
	f := office.Fact{Kind: office.FactSigned, PackageID: packageID,
		SignedFact: office.SignedFact{Who: who, Name: who, Last: complete, Latest: complete, Document: message.AboutDocument(document)}, Called: packageID,
		Title: message.Signed(who, packageID)}
	if complete {
		f.Body = message.EveryoneHasSigned()
	}
	return f
}

func savedOf(packageID string) office.Fact {
	return office.Fact{Kind: office.FactSaved, PackageID: packageID, Title: message.EveryoneSigned(packageID), Body: message.FilesSaved(2, "Signed")}
}

func texts(notices []notice) (all []string) {
	for _, n := range notices {
		all = append(all, message.Then(n.title, n.body).String())
	}
	return all
}

func TestOneNotificationForOneSignerAndPackageInAMoment(t *testing.T) {
	var m digest
	m.add(noon, signedBy("Jan", "Lease", "a", false), signedBy("Jan", "Lease", "b", false), signedBy("Jan", "Offer", "c", false),
		signedBy("Ana", "Lease", "a", false), signedBy("Jan", "Lease", "d", false))
	want := []string{"Jan signed 3 documents in “Lease”.", "Jan signed “Offer”. Document: “c”.", "Ana signed “Lease”. Document: “a”."}
	expect(t, texts(m.take(noon, false)), want, "told %q")
	if got := m.take(noon.Add(time.Hour), true); len(got) != 0 {
		t.Errorf("told again: %q", texts(got))
	}
}

// The events of the signatures may come after that of the executed package, when everyone has signed by each of them.
func TestASignatureBesideTheOneThatIsToldWithTheFilesIsToldToo(t *testing.T) {
	var m digest
	m.add(noon, signedBy("Jan", "Lease", "a", true), signedBy("Ana", "Lease", "a", true), savedOf("Lease"))
	want := []string{"Jan signed “Lease”. Document: “a”.", "Everyone has signed “Lease”. Ana signed last. 2 files saved in Signed."}
	expect(t, texts(m.take(noon, false)), want, "told %q")
}

// One status may tell of all signatures at once. The last one waits for the files.
func TestThatEveryoneHasSignedIsToldOnceForOneStatus(t *testing.T) {
	var all []office.Fact
	for _, who := range []string{"Jan", "Ana", "Bo"} {
		f := signedBy(who, "Lease", "a", true)
		f.Last, f.Latest = who == "Bo", false
		all = append(all, f)
	}
	for name, saved := range map[string]bool{"with the files": true, "before the files": false} {
		var m digest
		m.add(noon, all...)
		got := texts(m.take(noon, false))
		if saved {
			m.add(noon, savedOf("Lease"))
		}
		got = append(got, texts(m.take(noon.Add(lastHeld), false))...)
		if len(got) != 3 || strings.Count(strings.Join(got, " "), "Everyone has signed") != 1 || !strings.HasPrefix(got[2], "Everyone") && saved {
			t.Errorf("%s: told %q", name, got)
		}
	}
}

// TestWhoSignedLastIsNotGuessedByWhoWasHeardOfLast has Jan sign after Ana, of whom is heard later.
func TestWhoSignedLastIsNotGuessedByWhoWasHeardOfLast(t *testing.T) {
	ana := signedBy("Ana", "Lease", "a", true)
	ana.Latest = false
	jan := signedBy("Jan", "Lease", "a", true)
	jan.Last = false
	for name, c := range map[string]struct{ heard, want []string }{
		"nobody knows":     {[]string{"ana"}, []string{"Everyone has signed “Lease”. Ana signed. 2 files saved in Signed."}},
		"somebody does":    {[]string{"jan", "ana"}, []string{"Ana signed “Lease”. Document: “a”.", "Everyone has signed “Lease”. Jan signed last. 2 files saved in Signed."}},
		"the other way on": {[]string{"ana", "jan"}, []string{"Ana signed “Lease”. Document: “a”.", "Everyone has signed “Lease”. Jan signed last. 2 files saved in Signed."}},
	} {
		var m digest
		for _, who := range c.heard {
			m.add(noon, map[string]office.Fact{"ana": ana, "jan": jan}[who])
		}
		if got := m.take(noon, false); len(got) != 0 {
			t.Errorf("%s: told before its files: %q", name, texts(got))
		}
		m.add(noon, savedOf("Lease"))
		if got := texts(m.take(noon, false)); !slices.Equal(got, c.want) {
			t.Errorf("%s: told %q", name, got)
		}
	}
}

// The event of a signature may be handled while its package is just told to be saved.
func TestASignatureThatComesWithTheFilesIsToldWithThem(t *testing.T) {
	jan := signedBy("Jan", "Lease", "a", true)
	jan.Filed = true
	var m digest
	m.add(noon, savedOf("Lease"), jan)
	want := []string{"Everyone has signed “Lease”. Jan signed last. 2 files saved in Signed."}
	expect(t, texts(m.take(noon, false)), want, "told %q")
	m.add(noon, jan) // and when people were told of the files, there is nothing to wait for
	if got := texts(m.take(noon, false)); len(got) != 1 {
		t.Errorf("told after the files: %q", got)
	}
}

func TestALastSignatureWhoseFilesDoNotComeIsToldByItself(t *testing.T) {
	var m digest
	m.add(noon, signedBy("Jan", "Lease", "a", true))
	later := noon.Add(m.left(noon))
	if got := m.take(later, false); later.Sub(noon) != lastHeld || len(got) != 1 || !strings.Contains(got[0].body.String(), "Everyone has signed.") {
		t.Errorf("after %v: %q", later.Sub(noon), texts(got))
	}
	later, saved := later.Add(time.Hour), savedOf("Lease") // when the disk is full, the files come long after
	saved.Called, saved.Files = "Lease", 2
	m.add(later, saved)
	expect(t, texts(m.take(later, false)), []string{"“Lease” is saved. 2 files saved in Signed."}, "that everyone has signed was told; told %q")
}

// TestACrowdBecomesASummary has 35 packages signed one after the other within half a minute.
func TestACrowdBecomesASummary(t *testing.T) {
	var m digest
	var got []notice
	now := noon
	until := func(end time.Time) {
		for left := m.left(now); now.Add(left).Before(end); left = m.left(now) {
			now = now.Add(left)
			got = append(got, m.take(now, false)...)
		}
		now = end
	}
	for i := range 35 {
		name := fmt.Sprintf("P%d", i)
		m.add(now, signedBy("Ana", name, "a", false))
		got = append(got, m.take(now, false)...)
		until(now.Add(300 * time.Millisecond))
		m.add(now, signedBy("Jan", name, "a", true), savedOf(name))
		got = append(got, m.take(now, false)...)
		until(now.Add(300 * time.Millisecond))
	}
	until(now.Add(time.Minute))
	if len(got) > momentMany+1 {
		t.Errorf("%d notifications: %q", len(got), texts(got))
	}
	last := got[len(got)-1]
	if !strings.HasSuffix(last.title.String(), "packages changed") || !strings.Contains(last.body.String(), "And ") {
		t.Errorf("the summary: %+v", last)
	}
	if len(m.waiting) != 0 || m.left(now) != time.Hour {
		t.Errorf("%d facts were never told", len(m.waiting))
	}
}

func TestWhatWaitsForANameIsToldThoughOthersWereToldMeanwhile(t *testing.T) {
	var m digest
	nameless := signedBy("", "P", "a", false)
	nameless.Unasked = true
	m.add(noon, nameless, savedOf("Q"))
	now := noon.Add(time.Minute)
	if got := m.take(now, false); len(got) != 1 || len(m.waiting) != 1 {
		t.Errorf("told %q, %d wait", texts(got), len(m.waiting))
	}
	m.waiting[0].Unasked = false
	if got := m.take(now.Add(time.Minute), false); len(got) != 1 || len(m.waiting) != 0 {
		t.Errorf("told %q then, %d wait", texts(got), len(m.waiting))
	}
}

func TestAPressOnASummaryShowsWhatItIsAbout(t *testing.T) {
	facts := func(packages, each int) (list []office.Fact) {
		for p := range packages {
			for range each {
				list = append(list, savedOf(fmt.Sprint("p", p)))
			}
		}
		return list
	}
	ids := []string{"p0", "p1", "p2", "p3"}
	for want, list := range map[office.Subject][]office.Fact{
		facts(1, 1)[0].About(): facts(1, 5), office.PackagesSubject(ids): facts(4, 3), office.PackagesSubject(ids[:2]): facts(2, 3),
	} {
		n := summary(list, false)
		if n.about != want || strings.Contains(n.body.String(), message.AndMore(1).String()) != (want == office.PackagesSubject(ids)) {
			t.Errorf("it shows %q, want %q: %q", n.about, want, n.body)
		}
	}
	mixed := summary([]office.Fact{signedBy("Ana", "A", "a", false), savedOf("B"), signedBy("Jan", "C", "a", false), signedBy("Eva", "D", "a", false)}, false)
	if body := mixed.body.String(); !strings.HasPrefix(body, savedOf("B").Title.String()) || strings.Contains(body, "Eva") || !strings.Contains(body, "Jan") {
		t.Errorf("what is finished comes first, and three are named: %q", body)
	}
	failed := office.Fact{PackageID: "A", Kind: office.FactProblem, Title: message.NotWithdrawn("A")}
	if body := summary([]office.Fact{failed, signedBy("Ana", "A", "a", false), savedOf("B")}, false).body.String(); !strings.HasPrefix(body, failed.Title.String()) {
		t.Errorf("what needs somebody comes first: %q", body)
	}
	expect(t, summary(facts(31, 1), true).about, office.ActivitySubject, "more than a desktop keeps: %q")
}

// Thirteen packages are signed by two people each; meanwhile something else goes wrong.
func TestTheNumbersOfASummaryFitEachOther(t *testing.T) {
	var m digest
	for i := range 13 {
		for _, who := range []string{"Ana", "Jan"} {
			f := signedBy(who, fmt.Sprint("P", i), "a", false)
			f.CaughtUp, f.Last = true, false
			m.add(noon, f)
		}
	}
	m.add(noon, office.Fact{Kind: office.FactProblem, ProblemID: "signin", Title: message.SignedOut()})
	want := []string{message.SignedOut().String(), "13 packages changed while you were away " +
		"Jan signed “P0”. Jan signed “P1”. Jan signed “P2”. And 10 more."}
	got := texts(m.take(noon.Add(time.Hour), false))
	for i, text := range got {
		got[i] = strings.Join(strings.Fields(text), " ")
	}
	expect(t, got, want, "told %q")
}

func TestFewNotificationsAreNotDelayedByACrowdLongPast(t *testing.T) {
	var m digest
	for i := range momentMany {
		m.add(noon, signedBy("Ana", fmt.Sprint(i), "a", false))
	}
	if got := m.take(noon, false); len(got) != momentMany {
		t.Errorf("told %q", texts(got))
	}
	later := noon.Add(momentLength)
	m.add(later, signedBy("Jan", "Lease", "a", false))
	if got := m.take(later, false); len(got) != 1 {
		t.Errorf("told %q", texts(got))
	}
}

func TestWhatHasNoNameIsToldToo(t *testing.T) {
	var m digest
	m.add(noon, office.Fact{Title: message.Stopped()}, office.Fact{Title: message.Unexpected()}, office.Fact{Kind: office.FactProblem, PackageID: "problem folder", Title: message.WaitForFolder("Signed", 1)})
	if got := m.take(noon, false); len(got) != 3 {
		t.Errorf("told %q", texts(got))
	}
}

// Hundreds of facts a second are nothing to look through all of them for.
func TestOneMoreOfACrowdCostsNoLookAtTheOthers(t *testing.T) {
	var m digest
	for i := range 1000 {
		m.add(noon, signedBy("Jan", fmt.Sprint("Lease ", i), "a", false))
	}
	if got := m.take(noon, false); len(got) != 0 {
		t.Fatalf("told %q", texts(got))
	}
	more := signedBy("Ana", "Offer", "a", false)
	m.waiting = slices.Grow(m.waiting, 200)
	if allocated := testing.AllocsPerRun(100, func() {
		m.add(noon, more)
		if got, left := m.take(noon, false), m.left(noon); len(got) != 0 || left != momentSettle {
			t.Errorf("told %q, more in %v", texts(got), left)
		}
	}); allocated > 0 {
		t.Errorf("one more allocates %v times", allocated)
	}
	if got := texts(m.take(noon.Add(momentSettle), false)); len(got) != 1 || !strings.HasPrefix(got[0], "1,001 packages") {
		t.Errorf("in the end it says %q", got)
	}
}
