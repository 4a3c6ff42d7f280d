package i18n

import (
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/theme"
)

// StandingOfLine judges a package by what a list knows of it.
func StandingOfLine(l office.PackageLine) Standing {
	return standing(l.Standing(), l.Saved)
}

// Line says where a package stands in one short line, for the list.
func Line(l office.PackageLine) string {
	switch StandingOfLine(l) {
	case Wrong:
		if l.Problem {
			return lang.L("Not all files could be saved yet.")
		}
		if l.Declined && !l.Gone && l.State != office.PackageExpired {
			text := declined(strings.Split(l.Decliners, ", "))
			if l.Reason != "" {
				text += " " + lang.L("Reason: {{.Reason}}", V{"Reason": l.Reason})
			}
			return text
		}
		return trouble(l.Gone, l.State)
	case Saved:
		return lang.L("saved")
	case Ended:
		return lang.L("withdrawn")
	case Saving:
		return lang.L("fully signed, files not saved yet")
	}
	switch {
	case l.Withdrawing:
		return lang.L("being withdrawn")
	case l.State.Unsent():
		return lang.L("not sent yet")
	case l.Next != "":
		return lang.L("waiting for {{.Who}}", V{"Who": Names(NextOf(l))})
	default:
		return lang.L("waiting")
	}
}

// NextOf are the names of those whose turn it is.
func NextOf(l office.PackageLine) []string {
	if l.Next == "" {
		return nil
	}
	return strings.Split(l.Next, ", ")
}

// IsLate says whether a package that waits is overdue, or due within days, as many as the office is told before
// (office.Settings.SoonDays). What it says of one changes at midnight alone.
func IsLate(now, due time.Time, days int) bool {
	return !due.IsZero() && office.DaysLeft(now, due) <= days
}

// Lateness is that in a word or two, empty for a package that has time or no due date.
func Lateness(now, due time.Time, days int) string {
	switch {
	case !IsLate(now, due, days):
		return ""
	case due.Before(now):
		return lang.L("overdue")
	}
	return lang.L("due soon")
}

// Due says until when a package is to be signed and in which colour, empty when it no longer matters.
func Due(now, due time.Time, days int, standing Standing) (text string, colour fyne.ThemeColorName) {
	if due.IsZero() || standing != Open {
		return "", theme.Secondary
	}
	switch text = DueDate(now, due); {
	case due.Before(now):
		return text, theme.Attention
	case IsLate(now, due, days):
		return text, theme.Waiting
	default:
		return text, theme.Secondary
	}
}

// DueDate says when a package is due, or was.
func DueDate(now, due time.Time) string {
	when := V{"When": Day(now, due)}
	if due.Before(now) {
		return lang.L("was due {{.When}}", when)
	}
	return lang.L("due {{.When}}", when)
}
