package office

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
