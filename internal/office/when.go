package office

import (
	"encoding/json"
	"strings"
	"time"
)

// When is the time at which something happened, as the service said. Where it did not say, it is the time by which it had
// happened: when this computer learned of it, or sooner where something else bounds it. The zero When is not known.
type When struct {
	time.Time
	By bool // at this time or before
}

// At is when something happened that the service told of: said, or by now where that is zero.
func At(said, now time.Time) When {
	if said.IsZero() {
		return When{now, true}
	}
	return When{said, false}
}

// Narrowed is the more exact of what is known of one time: the service's word, which stays, else the earlier bound.
func (w When) Narrowed(x When) When {
	switch {
	case w.IsZero(), w.By && !x.IsZero() && (!x.By || x.Before(w.Time)):
		return x
	}
	return w
}

// openStart stands before a time by which something had happened: an interval without a known start (ISO 8601-2, 4.4).
const openStart = "../"

// MarshalJSON writes the time as one text.
func (w When) MarshalJSON() ([]byte, error) {
	b, err := w.Time.MarshalJSON()
	if err != nil || !w.By {
		return b, err
	}
	return append([]byte(`"`+openStart), b[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *When) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	text, w.By = strings.CutPrefix(text, openStart)
	return w.Time.UnmarshalText([]byte(text))
}

// Made is when the package was made; by when, where the service did not say.
func (p Package) Made() When { return When{p.Created, p.Met} }

// Sent is when the package was sent to those who sign; where nothing is known of that, when it was made.
func (p Package) Sent() When {
	if at := p.when(MomentSent); !at.IsZero() {
		return at
	}
	return p.Made()
}

// Ended is when nobody could sign the package any more; zero while somebody can.
func (p Package) Ended() When { return p.when(MomentEnded) }

// when is the last time at which something happened.
func (p Package) when(what string) (at When) {
	for _, m := range p.Timeline {
		if m.What == what {
			at = m.Time
		}
	}
	return at
}

// SignedAt is when a signer of p signed last; zero when that is not known.
func (p Package) SignedAt(signerID string) (at When) {
	for _, m := range p.Timeline {
		if later := m.Time.After(at.Time) || m.Time.Equal(at.Time) && at.By; m.What == MomentSigned && m.Who == signerID && signerID != "" && later {
			at = m.Time
		}
	}
	return at
}

// narrowed is the timeline in which each time that the service did not say is bounded by what cannot have been before it: a
// package is sent before anybody signs, in sequence each signs before the next, and nobody signs what everybody has signed.
func (p Package) narrowed() []Moment {
	list := append([]Moment(nil), p.Timeline...)
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

// precedes reports whether m, though its time is later, cannot have happened after x.
func (p Package) precedes(m, x Moment) bool {
	switch {
	case x.Time.IsZero() || !m.Time.After(x.Time.Time):
		return false
	case m.What == MomentSent:
		return x.What == MomentSigned || x.What == MomentDocument || x.What == MomentExecuted
	case m.What == MomentSigned && x.What == MomentSigned:
		before, behind := p.SignerIndex(m.Who), p.SignerIndex(x.Who)
		return p.Sequential && m.Ref == x.Ref && before >= 0 && before < behind
	case m.What == MomentSigned:
		return x.What == MomentExecuted || x.What == MomentDocument && m.Ref == x.Ref
	}
	return m.What == MomentDocument && x.What == MomentExecuted
}
