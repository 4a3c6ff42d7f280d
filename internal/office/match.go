package office

import "countersign/internal/message"

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
