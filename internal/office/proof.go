package office

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/message"
)

// SealState is the state of a document's digital seal; package seal determines it.
type SealState string

const (
	SealNone     SealState = "none"     // it has none
	SealIntact   SealState = "intact"   // by a trusted signer, unchanged since
	SealStranger SealState = "stranger" // by a signer unknown to this computer, unchanged since
	SealFilled   SealState = "filled"   // by a trusted signer who allowed filling in fields, and nothing else has changed
	SealRevoked  SealState = "revoked"  // like intact, but the certificate had been revoked
	SealStamped  SealState = "stamped"  // only by a time-stamping authority, unchanged since
	SealChanged  SealState = "changed"  // something was added after sealing
	SealBroken   SealState = "broken"   // it differs from what was sealed, or the seal is not genuine
	SealUnjudged SealState = "unjudged" // it cannot be checked
)

// Seal is what is known about a document's digital seal. The zero value means that the document has not been examined.
type Seal struct {
	State   SealState `json:"state,omitempty"`
	Signer  string    `json:"signer,omitempty"`  // the name in the signer's certificate
	Issuer  string    `json:"issuer,omitempty"`  // who issued that certificate
	At      time.Time `json:"at,omitzero"`       // when it was sealed
	Stamped string    `json:"stamped,omitempty"` // the authority that confirms the time; without one the time is from the signer's clock
	Vouched bool      `json:"vouched,omitempty"` // the document contains the issuer's statement that the certificate was not revoked
	SHA256  string    `json:"sha256,omitempty"`  // of the document, in hex
	Doubted bool      `json:"doubted,omitempty"` // the office's trusted authorities have changed since: it must be examined again
	Read    bool      `json:"read,omitempty"`    // somebody has seen the warning not to rely on the document, see SavedFile.Wrong
}

// Due reports whether the document must be examined.
func (s Seal) Due() bool { return s.State == "" || s.Doubted }

// Wrong reports whether the document differs from what was sealed.
func (s Seal) Wrong() bool {
	return s.State == SealChanged || s.State == SealBroken || s.State == SealRevoked
}

// AllSealed reports whether all seals of a package's files are intact and no file is missing, or differs from what was sent. Files that
// come without a seal are ignored.
func AllSealed(jobs []Job) (all bool) {
	for _, j := range jobs {
		if j.Wrong() || !j.Astray.IsZero() || j.Seal.Due() || j.Seal.State != SealIntact && j.Seal.State != SealNone {
			return false
		}
		all = all || j.Seal.State == SealIntact
	}
	return all
}

// Text is the state in one line; empty for a document that has not been examined.
func (s Seal) Text() message.Message {
	date := s.At.Local().Format(time.DateOnly)
	switch s.State {
	case SealNone:
		return message.SealNone()
	case SealIntact:
		if s.At.IsZero() {
			return message.SealIntactUndated(s.Signer)
		}
		return message.SealIntact(s.Signer, date)
	case SealStranger:
		if s.At.IsZero() {
			return message.SealStrangerUndated(s.Signer)
		}
		return message.SealStranger(s.Signer, date)
	case SealFilled:
		return message.SealFilled(s.Signer)
	case SealRevoked:
		return message.SealRevoked(s.Signer)
	case SealStamped:
		return message.SealStamped(s.Signer, date)
	case SealChanged:
		return message.SealChanged(s.Signer)
	case SealBroken:
		return message.SealBroken()
	case SealUnjudged:
		return message.SealUnjudged()
	}
	return message.Message{}
}

// Revocation says what is known about a revocation of the certificate, where that matters.
func (s Seal) Revocation() message.Message {
	switch {
	case s.Vouched:
		return message.CertificateNotRevoked()
	case s.State == SealIntact || s.State == SealFilled || s.State == SealStranger:
		return message.RevocationUnknown()
	}
	return message.Message{}
}

// MatchState is the result of comparing a saved document with what was sent; package compare compares them.
type MatchState string

const (
	MatchNone    MatchState = "none"    // nothing to compare it with was sent from here
	MatchSame    MatchState = "same"    // it is identical
	MatchAdded   MatchState = "added"   // identical except for what signing added
	MatchChanged MatchState = "changed" // something that was sent has changed
	MatchRemade  MatchState = "remade"  // the text is identical, but the file was regenerated, so nothing more can be said
	MatchUnread  MatchState = "unread"  // it cannot be compared
)

// Match is the result of comparing a saved document with what was sent. The zero value means that they were not compared.
type Match struct {
	State MatchState `json:"state,omitempty"`
	Why   MatchWhy   `json:"why,omitempty"`
	Page  int        `json:"page,omitempty"` // page of the first change, counted from 1 in what was sent; 0 for a page that was not sent
	Was   string     `json:"was,omitempty"`  // the text there as sent ...
	Now   string     `json:"now,omitempty"`  // ... and as saved; or what signing added
	More  int        `json:"more,omitempty"` // how many other places have changed
}

// MatchWhy is why a document cannot be compared, or what kind of page has changed.
type MatchWhy string

const (
	WhyConverted MatchWhy = "converted" // the service converted what was sent to PDF
	WhyNotKept   MatchWhy = "not-kept"  // what was sent no longer exists here
	WhyPassword  MatchWhy = "password"
	WhyLarge     MatchWhy = "large"
	WhyDamaged   MatchWhy = "damaged"
	WhyMissing   MatchWhy = "missing" // the page is missing
)

// Text is the result in one line; empty if there is nothing to say.
func (m Match) Text() message.Message {
	switch m.State {
	case MatchSame:
		return message.MatchSame()
	case MatchAdded:
		if m.Now != "" {
			return message.MatchAddedWords(m.Now)
		}
		return message.MatchAdded()
	case MatchRemade:
		if m.Now != "" {
			return message.MatchRemadeWords(m.Now)
		}
		return message.MatchRemade()
	case MatchChanged:
		if m.More > 0 {
			return message.Then(m.change(), message.MatchMore(m.More))
		}
		return m.change()
	case MatchUnread:
		switch m.Why {
		case WhyConverted:
			return message.MatchConverted()
		case WhyNotKept:
			return message.MatchNotKept()
		case WhyPassword:
			return message.MatchProtected()
		case WhyLarge:
			return message.MatchTooLarge()
		}
		return message.MatchUnread()
	}
	return message.Message{}
}

func (m Match) change() message.Message {
	switch {
	case m.Page == 0:
		return message.MatchPageStrange()
	case m.Why == WhyMissing:
		return message.MatchPageMissing(m.Page)
	case m.Was != "" && m.Now != "":
		return message.MatchBecame(m.Page, m.Was, m.Now)
	case m.Was != "":
		return message.MatchGone(m.Page, m.Was)
	case m.Now != "":
		return message.MatchNew(m.Page, m.Now)
	}
	return message.MatchChanged(m.Page)
}

// Wrong reports whether a saved file must not be relied on.
func (s SavedFile) Wrong() bool { return s.Seal.Wrong() || s.Match.State == MatchChanged }

func (s SavedFile) Fault() message.Message {
	if s.Seal.Wrong() {
		return s.Seal.Text()
	}
	return s.Match.Text()
}

// Record describes the current end of the record; see package record.
type Record struct {
	Size      int64     `json:"size"` // number of facts
	Line      string    `json:"line"` // short code for all of them, for use in a letter
	Head      string    `json:"head,omitempty"`
	Stamped   int64     `json:"stamped,omitempty"`    // the first so many facts existed ...
	StampedAt time.Time `json:"stamped_at,omitzero"`  // ... at that time ...
	StampedBy string    `json:"stamped_by,omitempty"` // ... according to this authority
}

// Knowledge is what the record knows about a file.
type Knowledge string

const (
	KnownSaved   Knowledge = "saved"   // byte for byte what was saved
	KnownSent    Knowledge = "sent"    // byte for byte what was sent
	KnownDiffers Knowledge = "differs" // it has the name of a saved document, but other bytes
	Unknown      Knowledge = "unknown"
)

// Verified is what is known about any file.
type Verified struct {
	Path      string          `json:"path"`
	Known     Knowledge       `json:"known"`
	PackageID string          `json:"package_id,omitempty"`
	Package   string          `json:"package,omitempty"` // the package's name
	Also      []string        `json:"also,omitempty"`    // names of other packages with which it was sent
	At        time.Time       `json:"at,omitzero"`       // when it was saved or sent
	Seal      Seal            `json:"seal"`
	Match     Match           `json:"match,omitzero"`   // for a saved document
	Problem   message.Message `json:"problem,omitzero"` // why the file could not be read
}

// Wrong reports whether a person should look at the file.
func (v Verified) Wrong() bool {
	return v.Known == KnownDiffers || v.Seal.Wrong() || v.Seal.State == SealUnjudged || v.Match.State == MatchChanged || !v.Problem.IsZero()
}

func (v Verified) Text() message.Message {
	if !v.Problem.IsZero() {
		return v.Problem
	}
	date := v.At.Local().Format(time.DateOnly)
	known := message.VerifyForeign()
	switch v.Known {
	case Unknown:
		if v.Seal.State == "" {
			known = message.VerifyNotPDF()
		}
	case KnownSaved:
		known = message.VerifySaved(v.Package, date)
	case KnownSent:
		known = message.VerifySent(v.Package, date)
	case KnownDiffers:
		known = message.VerifyDiffers(v.Package)
	}
	if len(v.Also) > 0 {
		known = message.Then(known, message.VerifyAlso(counted(v.Also)))
	}
	if v.Match.State == MatchChanged {
		known = message.Then(known, v.Match.Text())
	}
	return message.Then(known, v.Seal.Text())
}

// counted are names with how often each is there.
func counted(names []string) (list []string) {
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	for _, name := range names {
		if n := times[name]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// maxRetention is the longest period, in years.
const maxRetention = 100

// Retention says how many years the papers of signed packages are kept. It deletes nothing: people are only shown what may
// be deleted.
type Retention struct {
	Years int            // for everything without a rule of its own; 0 for ever
	Of    map[string]int // by the folded name of a template or a watched folder
}

// ParseRetention reads a rule as people write it: "10; Lease: 30; Scans: 6". ok is false for anything else.
func ParseRetention(text string) (r Retention, ok bool) {
	r.Of = map[string]int{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, number := "", part
		if i := strings.LastIndexByte(part, ':'); i >= 0 {
			name, number = Fold(strings.TrimSpace(part[:i])), strings.TrimSpace(part[i+1:])
		}
		years, err := strconv.Atoi(number)
		_, again := r.Of[name]
		if err != nil || years < 1 || years > maxRetention || again || name == "" && (r.Years > 0 || number != part) {
			return Retention{}, false
		}
		if name == "" {
			r.Years = years
		} else {
			r.Of[name] = years
		}
	}
	return r, true
}

// Until is when papers signed at that time may be deleted, zero for never: at the end of the year, so many years after the
// year of the signature. If several names have rules, the longest period counts.
func (r Retention) Until(signed time.Time, names ...string) time.Time {
	years := 0
	for _, name := range names {
		years = max(years, r.Of[Fold(name)])
	}
	if years == 0 {
		years = r.Years
	}
	return endOf(signed, years)
}

// Latest is Until for papers whose names are unknown: the longest period of any rule counts.
func (r Retention) Latest(signed time.Time) time.Time {
	if r.Years == 0 {
		return time.Time{}
	}
	return endOf(signed, max(r.Years, slices.Max(append(slices.Collect(maps.Values(r.Of)), 0))))
}

func endOf(signed time.Time, years int) time.Time {
	if years == 0 || signed.IsZero() {
		return time.Time{}
	}
	return time.Date(signed.Year()+years+1, 1, 1, 0, 0, 0, 0, signed.Location())
}
