package office

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/message"
)

// When is the time at which something happened, according to the service. If the service did not say, it is the time by
// which it had happened: when this computer learned of it, or an earlier bound. The zero When is unknown.
type When struct {
	time.Time
	By bool // at this time or earlier
}

// OrNull is a time that is null in JSON while unknown.
type OrNull struct{ time.Time }

func (t OrNull) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.Time.MarshalJSON()
}

// At is when something happened that the service reported: said, or if that is no possible time of it, by now.
func At(said, now time.Time) When {
	if said.Before(firstTime) || said.After(now.Add(clockError)) {
		return When{now, true}
	}
	return When{said, false}
}

// firstTime is before anything that a service reports (the clocks of tests begin in 2000), and clockError is how far its clock may
// be ahead.
var firstTime = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)

const clockError = 48 * time.Hour

// Narrowed is the more exact of two values for one time: the service's own time wins, otherwise the earlier bound.
func (w When) Narrowed(x When) When {
	switch {
	case w.IsZero(), w.By && !x.IsZero() && (!x.By || x.Before(w.Time)):
		return x
	}
	return w
}

// openStart precedes a time by which something had happened: an interval without a known start (ISO 8601-2, 4.4).
const openStart = "../"

// MarshalJSON writes the time as one string.
func (w When) MarshalJSON() ([]byte, error) {
	b, err := w.Time.MarshalJSON()
	if err != nil || !w.By {
		return b, err
	}
	return append([]byte(`"`+openStart), b[1:]...), nil
}

func (w *When) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	text, w.By = strings.CutPrefix(text, openStart)
	return w.Time.UnmarshalText([]byte(text))
}

func (p Package) Made() When { return When{p.Created, p.Met} }

// Sent is when the package was sent to its signers, or made if that is unknown.
func (p Package) Sent() When {
	if at := p.when(EntrySent); !at.IsZero() {
		return at
	}
	return p.Made()
}

// Ended is when the package could no longer be signed; zero while it can.
func (p Package) Ended() When { return p.when(EntryEnded) }

// when is the last time at which something happened.
func (p Package) when(what string) (at When) {
	for _, m := range p.History {
		if m.What == what {
			at = m.Time
		}
	}
	return at
}

// SignedAt is when a signer of p last signed; zero if unknown.
func (p Package) SignedAt(signerID string) (at When) {
	for _, m := range p.History {
		if later := m.Time.After(at.Time) || m.Time.Equal(at.Time) && at.By; m.What == EntrySigned && m.Who == signerID && signerID != "" && later {
			at = m.Time
		}
	}
	return at
}

// narrowed is the timeline in which each time that is only a bound is tightened by later steps: a package is sent before
// anybody signs, in sequence each signs before the next, and nobody signs what everybody has signed.
func (p Package) narrowed() []HistoryEntry {
	list := append([]HistoryEntry(nil), p.History...)
	for again := true; again; {
		again = false
		for i, m := range list {
			if !m.Time.By {
				continue
			}
			for _, x := range list {
				if p.precedes(list[i], x) {
					list[i].Time.Time, again = x.Time.Time, true
				}
			}
		}
	}
	return list
}

// CorrectBounds corrects bounds from a wrong clock: a bound that lies before the service's time of something that must have
// come first. Such a step had happened by now.
func (p *Package) CorrectBounds(now time.Time) {
	p.History = slices.Clone(p.History)
	for i, m := range p.History {
		wrong := func(x HistoryEntry) bool { return !x.Time.By && m.Time.Before(x.Time.Time) && p.leads(x, m) }
		if !m.Time.By || !m.Time.Before(now) || !slices.ContainsFunc(p.History, wrong) {
			continue
		}
		p.History[i].Time.Time = now
		if m.What == EntryExecuted {
			p.Executed.Time = now
		}
	}
}

// precedes reports whether m, though its time is later, cannot have happened after x.
func (p Package) precedes(m, x HistoryEntry) bool {
	return !x.Time.IsZero() && m.Time.After(x.Time.Time) && p.leads(m, x)
}

// leads reports whether m cannot have happened after x, whatever their times say.
func (p Package) leads(m, x HistoryEntry) bool {
	switch {
	case m.What == EntrySent:
		return x.What == EntrySigned || x.What == EntryDocument || x.What == EntryExecuted
	case m.What == EntrySigned && x.What == EntrySigned:
		before, behind := p.SignerIndex(m.Who), p.SignerIndex(x.Who)
		return p.Sequential && m.Ref == x.Ref && before >= 0 && before < behind
	case m.What == EntrySigned:
		return x.What == EntryExecuted || x.What == EntryDocument && m.Ref == x.Ref
	}
	return m.What == EntryDocument && x.What == EntryExecuted
}

// DueDays is how many days before the due date people are reminded, unless the office chooses otherwise. NoDueDays means
// never, because 0 means not chosen.
const (
	DueDays       = 3
	NoDueDays     = -1
	maxRemindDays = 365
)

// DueDaysFrom is the setting for a number that a person types, where 0 means never.
func DueDaysFrom(days int) int {
	if days <= 0 {
		return days + NoDueDays
	}
	return days
}

// SoonDays is how many days before its due date a package counts as due soon: as many as the reminder is set to, or only the
// day itself if there is no reminder.
func (s Settings) SoonDays() int { return max(0, s.Normal().DueDays) }

// remindHour is the hour of the reminder, when somebody is likely to be there.
const remindHour = 8

// Waits reports whether somebody still has to sign and the package is not archived.
func (l PackageLine) Waits() bool {
	return l.Status() == StatusWaiting && !l.State.Unsent() && !l.Archived
}

// DueSoon reports whether to remind people at now that a package is due and not signed: from the morning so many days before
// the due date until that date. If it was sent after that morning, the reminder waits until half of its time has passed.
func (l PackageLine) DueSoon(now time.Time, days int) bool {
	if l.Due.IsZero() || !l.Waits() || !now.Before(l.Due) {
		return false
	}
	year, month, day := l.Due.In(now.Location()).Date()
	from := time.Date(year, month, day-days, remindHour, 0, 0, 0, now.Location())
	if l.Created.After(from) && l.Created.Before(l.Due) {
		from = l.Created.Add(l.Due.Sub(l.Created) / 2)
	}
	return !now.Before(from)
}

// DuePassed reports whether due has passed already, so that nobody could sign.
func DuePassed(due, now time.Time) bool { return !due.IsZero() && !due.After(now) }

// DueText says when a waiting package is due.
func DueText(called string, now, due time.Time) message.Message {
	switch days := DaysLeft(now, due); {
	case days <= 0:
		return message.DueToday(called)
	case days == 1:
		return message.DueTomorrow(called)
	default:
		return message.DueIn(called, days)
	}
}

// DaysLeft is the number of midnights between now and due.
func DaysLeft(now, due time.Time) int {
	day := func(t time.Time) time.Time {
		year, month, day := t.In(now.Location()).Date()
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	return int(day(due).Sub(day(now)) / (24 * time.Hour))
}

// HistoryEntry is one line of a package's timeline.
type HistoryEntry struct {
	Time When   `json:"time"`
	What string `json:"what"`          // sent, signed, document_executed, executed, saved, ...
	Who  string `json:"who,omitempty"` // signerId
	Ref  string `json:"ref,omitempty"` // documentId, file name, ...
}

const (
	EntrySent     = "sent"
	EntrySigned   = "signed"
	EntryDocument = "document_executed"
	EntryExecuted = "executed"
	EntrySaved    = "saved"
	EntryAgain    = "saved_again" // somebody had a file saved once more
	EntryChanged  = "changed"     // a check found a saved file changed ...
	EntryMissing  = "missing"     // ... or no longer there
	EntryDeclined = "declined"
	EntryLetter   = "letter" // a letter to the signer in Ref, begun in the mail program
	EntryWished   = "wished" // withdrawal asked for, by Ref
	EntryEnded    = "ended"  // expired, rescinded
)

// AddHistory adds a line to the timeline. If the same thing is there already, only its time is made more exact.
func (p *Package) AddHistory(m HistoryEntry) {
	i := slices.IndexFunc(p.History, m.same)
	if i < 0 {
		p.History = append(p.History, m)
		return
	}
	if at := p.History[i].Time.Narrowed(m.Time); at != p.History[i].Time {
		p.History = slices.Clone(p.History)
		p.History[i].Time = at
	}
}

// same reports whether x is the same thing, ignoring the time. What can happen again is another one each time.
func (m HistoryEntry) same(x HistoryEntry) bool {
	switch m.What {
	case EntryAgain, EntryChanged, EntryMissing, EntryLetter:
		return false
	}
	return x.What == m.What && x.Who == m.Who && x.Ref == m.Ref
}

// Timeline is the history without what another line says, too: that everyone has signed the only document.
func (p Package) Timeline() []HistoryEntry {
	return slices.DeleteFunc(slices.Clone(p.History), func(m HistoryEntry) bool {
		return m.What == EntryDocument && p.State == PackageExecuted && len(p.Documents) == 1
	})
}

// Tell is one line of the timeline in words.
func (p Package) Tell(m HistoryEntry) message.Message {
	who, document := p.SignerName(m.Who), p.DocumentName(m.Ref)
	switch m.What {
	case EntrySent:
		return p.TellSent()
	case EntrySigned:
		switch {
		case who == "" && document == "":
			return message.HistorySomeone()
		case who == "":
			return message.HistorySomeoneSignedDocument(document)
		case document == "":
			return message.HistorySigned(who)
		}
		return message.HistorySignedDocument(who, document)
	case EntryDocument:
		if document == "" {
			return message.HistoryDocument()
		}
		return message.HistoryDocumentCalled(document)
	case EntryExecuted:
		if p.SomeoneDeclined() {
			return message.HistoryCompleted()
		}
		return message.HistoryExecuted()
	case EntryDeclined:
		if who == "" {
			return message.HistorySomeoneDeclined()
		}
		return message.HistoryDeclined(who)
	case EntrySaved:
		return message.HistorySaved(path.Base(m.Ref))
	case EntryAgain:
		return message.HistorySavedAgain(path.Base(m.Ref))
	case EntryChanged:
		return message.HistoryFileChanged(path.Base(m.Ref))
	case EntryMissing:
		return message.HistoryFileMissing(path.Base(m.Ref))
	case EntryLetter:
		return message.HistoryLetter(m.Ref)
	case EntryWished:
		if m.Ref == "" {
			return message.HistorySomeoneWished()
		}
		return message.HistoryWished(m.Ref)
	case EntryEnded:
		return closed(m.Ref)
	}
	return message.HistoryOther(m.What)
}

// Completed says that p is executed, which does not mean that people who declined have signed.
func (p Package) Completed() message.Message {
	if p.SomeoneDeclined() {
		return message.Completed(p.DisplayName())
	}
	return message.EveryoneSigned(p.DisplayName())
}

// closed says how a package ended without everyone signing; state is the service's word.
func closed(state string) message.Message {
	switch PackageState(state) {
	case PackageExpired:
		return message.HistoryExpired()
	case PackageRescinded:
		return message.HistoryWithdrawn()
	case "declined":
		return message.HistorySomeoneDeclined()
	}
	return message.HistoryClosed(state)
}

// mostNamed is how many signers TellSent names.
const mostNamed = 3

// TellSent says that p was sent, and to whom.
func (p Package) TellSent() message.Message {
	var names []string
	for _, s := range p.Signers {
		names = append(names, s.DisplayName())
	}
	switch n := len(names); {
	case n == 0:
		return message.PackageSent(p.DisplayName())
	case n > mostNamed:
		return message.SentTo(p.DisplayName(), n)
	}
	return message.PackageSentTo(p.DisplayName(), names)
}

var (
	// inFigures matches two or three numbers: "2026-12-31", "31. 12. 2026", "1.3.", "3/1".
	inFigures = regexp.MustCompile(`^(\d{1,4})\s?([./ -])\s?(\d{1,2})(?:\s?[./ -]\s?(\d{4}|\d{2}))?\.?$`)

	// inWords matches a day as English writes it: "31 Dec 2026", "December 31".
	inWords = regexp.MustCompile(`^(?:(\d{1,2}) )?(\pL{3,9})(?: (\d{1,2}))?(?:,? (\d{4}))?$`)

	// fromToday matches a number of days from today.
	fromToday = regexp.MustCompile(`^([+-]\d{1,4})$`)
)

// ReadDay returns the first moment, in the time zone of now, of the day that a text means. A day without a year is the next
// one after today if years is 1, the last one before today if it is -1; "+14" is so many days from today. order says how to
// read dates in figures, "mdy" or "dmy"; if it is empty, an ambiguous date is no day.
func ReadDay(text string, now time.Time, order string, years int) (day time.Time, ok bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	text = strings.Join(strings.Fields(text), " ")
	if found := fromToday.FindStringSubmatch(text); found != nil {
		return today.AddDate(0, 0, value(found[1])), true
	}
	if found := inWords.FindStringSubmatch(text); found != nil {
		return date(value(found[4]), month(found[2]), value(found[1]+found[3]), today, years) // naming two days is invalid
	}
	found := inFigures.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	first, second, third := value(found[1]), value(found[3]), value(found[4])
	if len(found[1]) > 2 {
		return date(first, second, third, today, years) // year first, as in ISO 8601
	}
	d, m := first, second
	switch {
	case order == "dmy", found[2] == ".": // people who write points put the day first
	case order == "" && d <= 12 && m <= 12 && d != m:
		return time.Time{}, false
	default:
		d, m = m, d
	}
	if m > 12 {
		d, m = m, d // 31/12 can only be read one way
	}
	if 0 < third && third < 100 {
		third += today.Year() / 100 * 100
	}
	return date(third, m, d, today, years)
}

// month is the number of the month whose English name begins with word; 0 if there is none.
func month(word string) int {
	for m := time.January; m <= time.December; m++ {
		if len(word) <= len(m.String()) && strings.EqualFold(word, m.String()[:len(word)]) {
			return int(m)
		}
	}
	return 0
}

func value(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // no digits, or more than any date has
	}
	return n
}

// date returns a valid day of a plausible year. If year is 0, it returns the nearest such day from today in the direction of
// years; for 29 February that may be years away.
func date(year, month, d int, today time.Time, years int) (time.Time, bool) {
	if year != 0 {
		day := time.Date(year, time.Month(month), d, 0, 0, 0, 0, today.Location())
		return day, year >= 2000 && day.Year() == year && int(day.Month()) == month && day.Day() == d
	}
	for n := range 9 {
		if day, ok := date(today.Year()+n*years, month, d, today, years); ok && day.Compare(today)*years >= 0 {
			return day, true
		}
	}
	return time.Time{}, false
}
