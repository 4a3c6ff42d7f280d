package office

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/internal/message"
)

func TestATimeIsKeptAsItIsKnown(t *testing.T) {
	at := time.Date(2026, 11, 23, 20, 9, 0, 5, time.UTC)
	for _, want := range []When{{}, {Time: at}, {at, true}} {
		b, err := json.Marshal(HistoryEntry{Time: want, What: EntrySigned})
		if err != nil {
			t.Fatal(err)
		}
		var m HistoryEntry
		if err := json.Unmarshal(b, &m); err != nil || m.Time != want {
			t.Errorf("%+v is read from %s as %+v, %v", want, b, m.Time, err)
		}
	}
	for _, text := range []string{`"yesterday"`, `"../yesterday"`, `7`} {
		if err := json.Unmarshal([]byte(text), new(When)); err == nil {
			t.Errorf("%s is a time", text)
		}
	}
}

func TestATimeThatCannotBeIsNotBelieved(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 9, 0, 0, time.UTC)
	for said, believed := range map[time.Time]bool{
		{}: false, time.Unix(0, 0): false, firstTime.Add(-1): false, firstTime: true, now: true, now.Add(clockError): true,
		now.Add(clockError + 1): false, now.AddDate(73, 0, 0): false, now.AddDate(7973, 0, 0): false,
	} {
		want := When{Time: said}
		if !believed {
			want = When{now, true}
		}
		if got := At(said, now); got != want {
			t.Errorf("said to be at %v: %+v, want %+v", said, got, want)
		}
	}
}

func TestTheServicesWordForATimeStaysAndABoundGetsCloser(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	said, later := When{Time: noon}, When{Time: noon.Add(time.Hour)}
	by := func(hours int) When { return When{noon.Add(time.Duration(hours) * time.Hour), true} }
	for name, c := range map[string]struct{ known, heard, want When }{
		"nothing was known":       {When{}, by(1), by(1)},
		"nothing is heard":        {by(1), When{}, by(1)},
		"the service says":        {by(-1), said, said},
		"and says something else": {said, later, said},
		"what it said is known":   {said, by(-1), said},
		"learned once more":       {by(1), by(2), by(1)},
		"learned to be before":    {by(2), by(1), by(1)},
	} {
		if got := c.known.Narrowed(c.heard); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A computer that asks at 20:37 learns everything at once.
func TestWhatWasLearnedLateHadHappenedBeforeWhatIsKnown(t *testing.T) {
	clock := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	by, on := func(h, m int) When { return When{clock(h, m), true} }, func(h, m int) When { return When{Time: clock(h, m)} }
	for name, c := range map[string]struct {
		sequential bool
		executed   When
		ana, jan   When
		wants      [3]When // of sending, and of the two signatures
	}{
		"nothing but that it is so":          {false, When{}, by(20, 37), by(20, 38), [3]When{by(20, 37), by(20, 37), by(20, 38)}},
		"complete at a time":                 {false, on(20, 9), by(20, 37), by(20, 37), [3]When{by(20, 9), by(20, 9), by(20, 9)}},
		"complete by a time":                 {false, by(20, 9), by(20, 37), by(20, 37), [3]When{by(20, 9), by(20, 9), by(20, 9)}},
		"the other's event came":             {false, When{}, by(20, 37), on(19, 0), [3]When{by(19, 0), by(20, 37), on(19, 0)}},
		"in sequence, the next one's came":   {true, When{}, by(20, 37), on(19, 0), [3]When{by(19, 0), by(19, 0), on(19, 0)}},
		"in sequence, complete":              {true, on(20, 9), by(20, 37), by(20, 37), [3]When{by(20, 9), by(20, 9), by(20, 9)}},
		"the service's word, whatever it is": {true, on(18, 0), on(20, 30), on(20, 31), [3]When{by(18, 0), on(20, 30), on(20, 31)}},
	} {
		p := Package{Sequential: c.sequential, Signers: []Signer{{ID: "a"}, {ID: "j"}}}
		p.AddHistory(HistoryEntry{Time: by(20, 37), What: EntrySent})
		p.AddSignature(Signature{"d", "a"}, "", c.ana)
		p.AddSignature(Signature{"d", "j"}, "", c.jan)
		if !c.executed.IsZero() {
			p.Execute(c.executed)
		}
		stored := p.Derived()
		if got := [3]When{stored.Sent(), stored.SignedAt("a"), stored.SignedAt("j")}; got != c.wants {
			t.Errorf("%s: %v, want %v", name, got, c.wants)
		}
		if p.History[0].Time != by(20, 37) {
			t.Errorf("%s: the package itself was changed", name)
		}
	}
}

func TestOfSeveralDocumentsTheLastSignatureCounts(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	one := When{Time: noon}
	for name, c := range map[string]struct{ other, want When }{
		"signed before it":       {When{Time: noon.Add(-time.Hour)}, one},
		"by a time before it":    {When{noon.Add(-time.Hour), true}, one},
		"by the same time":       {When{noon, true}, one},
		"by a time after it":     {When{noon.Add(time.Hour), true}, When{noon.Add(time.Hour), true}},
		"signed after it":        {When{Time: noon.Add(time.Hour)}, When{Time: noon.Add(time.Hour)}},
		"signed by nobody known": {When{}, one},
	} {
		for _, order := range [][]When{{one, c.other}, {c.other, one}} {
			var p Package
			for i, at := range order {
				p.AddSignature(Signature{string(rune('d' + i)), "a"}, "", at)
			}
			if got := p.SignedAt("a"); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
	}
	if at := (Package{History: []HistoryEntry{{Time: one, What: EntrySigned}}}).SignedAt(""); !at.IsZero() {
		t.Errorf("somebody unknown signed at %v", at)
	}
}

func TestAPackageIsDueSoonFromTheMorningSoManyDaysBefore(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	due := time.Date(2026, 5, 20, 23, 59, 59, 0, zone)
	at := func(day, hour int) time.Time { return time.Date(2026, 5, day, hour, 0, 0, 0, zone) }
	line := PackageLine{State: PackageOpen, Due: due.UTC(), Created: at(1, 9)}
	for name, c := range map[string]struct {
		change func(*PackageLine)
		now    time.Time
		want   bool
	}{
		"too early":            {nil, at(17, 7), false},
		"in the morning":       {nil, at(17, 8), true},
		"on the day":           {nil, at(20, 12), true},
		"over":                 {nil, at(21, 0), false},
		"without a date":       {func(l *PackageLine) { l.Due = time.Time{} }, at(18, 9), false},
		"signed":               {func(l *PackageLine) { l.State = PackageExecuted }, at(18, 9), false},
		"withdrawn":            {func(l *PackageLine) { l.State = PackageRescinded }, at(18, 9), false},
		"a draft":              {func(l *PackageLine) { l.State = PackageDraft }, at(18, 9), false},
		"archived":             {func(l *PackageLine) { l.Archived = true }, at(18, 9), false},
		"declined":             {func(l *PackageLine) { l.Declined = true }, at(18, 9), false},
		"sent just now":        {func(l *PackageLine) { l.Created = at(19, 9) }, at(19, 10), false},
		"half of its time ago": {func(l *PackageLine) { l.Created = at(19, 9) }, at(20, 9), true},
	} {
		l := line
		if c.change != nil {
			c.change(&l)
		}
		if got := l.DueSoon(c.now, 3); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	expect(t, DaysLeft(at(17, 23), due), 3, "%d days left")
}

func TestThatEveryoneHasSignedTheOnlyDocumentIsToldOnce(t *testing.T) {
	p := Package{State: PackageExecuted, Documents: []Document{{ID: "d"}}, History: []HistoryEntry{{What: EntryDocument, Ref: "d"}, {What: EntryExecuted}}}
	expect(t, len(p.Timeline()), 1, "one document: %d lines")
	p.Documents = append(p.Documents, Document{ID: "e"})
	expect(t, len(p.Timeline()), 2, "two documents: %d lines")
}

func TestEachMomentIsToldInWords(t *testing.T) {
	p := Package{Signers: []Signer{{ID: "a", FirstName: "Ana"}, {ID: "j", FirstName: "Jan"}}, Documents: []Document{{ID: "d", Name: "Lease"}}}
	for want, m := range map[string]HistoryEntry{
		"Sent to Ana, Jan":               {What: EntrySent},
		"Ana signed":                     {What: EntrySigned, Who: "a"},
		"Ana signed Lease":               {What: EntrySigned, Who: "a", Ref: "d"},
		"Someone signed Lease":           {What: EntrySigned, Who: "gone", Ref: "d"},
		"Someone signed":                 {What: EntrySigned},
		"Everyone has signed Lease":      {What: EntryDocument, Ref: "d"},
		"Everyone has signed a document": {What: EntryDocument, Ref: "gone"},
		"Everyone has signed":            {What: EntryExecuted},
		"Jan declined to sign":           {What: EntryDeclined, Who: "j"},
		"Someone declined to sign":       {What: EntryEnded, Ref: "declined"},
		"Saved Lease - signed.pdf":       {What: EntrySaved, Ref: "2026/Lease - signed.pdf"},
		"Expired before everyone signed": {What: EntryEnded, Ref: "expired"},
		"Withdrawn":                      {What: EntryEnded, Ref: "rescinded"},
		"Closed: frozen":                 {What: EntryEnded, Ref: "frozen"},
		"reopened":                       {What: "reopened"},
	} {
		if got := message.English().Brief(p.Tell(m)); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
	expect(t, message.English().Brief((Package{}).Tell(HistoryEntry{What: EntrySent})), "Sent", "to nobody known: %q")
}

func TestAPackageThatSomebodyDeclinedIsCompletedButNotSignedByEveryone(t *testing.T) {
	p := Package{Name: "Lease", State: PackageExecuted, Signers: []Signer{{ID: "a", Declined: When{Time: time.Now()}}, {ID: "j"}}, Documents: []Document{{ID: "d", SignedBy: []string{"j"}}}}
	said := func() string {
		return p.Completed().String() + " " + p.Tell(HistoryEntry{What: EntryExecuted}).String()
	}
	expect(t, said(), "“Lease” is completed. Completed", "Ana has declined: %q")
	p.Documents[0].SignedBy = []string{"j", "a"}
	expect(t, said(), "Everyone has signed “Lease”. Everyone has signed", "Ana has signed after all: %q")
}
