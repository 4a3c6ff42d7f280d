package office

import (
	"time"

	"countersign/internal/message"
)

// DueDays is how many days before its due date people are told of a package, unless the office chooses otherwise; NoDueDays
// stands for never, as 0 is not chosen.
const (
	DueDays       = 3
	NoDueDays     = -1
	maxRemindDays = 365
)

// DueDaysFrom is the setting for a number that a person types, of whom 0 means never.
func DueDaysFrom(days int) int {
	if days <= 0 {
		return days + NoDueDays
	}
	return days
}

// SoonDays is how many days before its due date a package counts as due soon: as many as people are told before. Where they are
// never told it does on the day itself.
func (s Settings) SoonDays() int { return max(0, s.Normal().DueDays) }

// remindHour is when, on that day, somebody is there to see it.
const remindHour = 8

// Waits reports whether somebody is still to sign and nobody has put the package away.
func (l PackageLine) Waits() bool {
	return l.Standing() == StandsWaiting && !l.State.Unsent() && !l.Archived
}

// DueSoon reports whether people are to be told at now that a package is due and not signed: from the morning so many days
// before on, until it is over. One that was sent later than that has half of its time first.
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

// DuePassed reports whether a package that is due then would be over before anybody can sign it.
func DuePassed(due, now time.Time) bool { return !due.IsZero() && !due.After(now) }

// DueText says when a package that waits is due.
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

// DaysLeft is how many midnights lie between now and due.
func DaysLeft(now, due time.Time) int {
	day := func(t time.Time) time.Time {
		year, month, day := t.In(now.Location()).Date()
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	return int(day(due).Sub(day(now)) / (24 * time.Hour))
}
