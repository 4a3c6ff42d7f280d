package office

import "countersign/internal/message"

// MatchState is what may be said of whether a saved document is what was sent; package compare compares.
type MatchState string

const (
	MatchNone    MatchState = "none"    // nothing was sent from here that it could be compared with
	MatchSame    MatchState = "same"    // it is
	MatchAdded   MatchState = "added"   // it is, apart from what signing added
	MatchChanged MatchState = "changed" // something that was there is not as it was
	MatchRemade  MatchState = "remade"  // its words are; it was made anew, so that no more can be said
	MatchUnread  MatchState = "unread"  // it cannot be compared
)

// Match is what is known of whether a saved document is what was sent. The zero value is nothing: they were not compared.
type Match struct {
	State MatchState `json:"state,omitempty"`
	Why   MatchWhy   `json:"why,omitempty"`
	Page  int        `json:"page,omitempty"` // of the first change, counted from 1 as it was sent; 0 for a page that was not sent
	Was   string     `json:"was,omitempty"`  // its words, there ...
	Now   string     `json:"now,omitempty"`  // ... and here; or what signing added
}

// MatchWhy is why a document cannot be compared, or what kind of page is the change.
type MatchWhy string

const (
	WhyConverted MatchWhy = "converted" // the service made a PDF of what was sent
	WhyNotKept   MatchWhy = "not-kept"  // what was sent is no longer there
	WhyPassword  MatchWhy = "password"
	WhyLarge     MatchWhy = "large"
	WhyDamaged   MatchWhy = "damaged"
	WhyMissing   MatchWhy = "missing" // the page is not there
)

// Text is the one line; nothing for a document of which there is nothing to say.
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

// Wrong reports whether a saved file is not to be relied on.
func (s SavedFile) Wrong() bool { return s.Seal.Wrong() || s.Match.State == MatchChanged }

func (s SavedFile) Fault() message.Message {
	if s.Seal.Wrong() {
		return s.Seal.Text()
	}
	return s.Match.Text()
}
