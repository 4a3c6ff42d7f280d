package i18n

import (
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/theme"
)

// EventKind says what kind of event it is. Kinds that interface.md does not name are in service-facts.md, section 11.3;
// the service may have more, which are called by their own word.
func EventKind(e office.Event) string {
	switch e.Action {
	case "document_signed":
		return lang.L("Document signed")
	case "document_executed":
		return lang.L("Document fully signed")
	case "package_executed":
		return lang.L("Package fully signed")
	case "package_add":
		return lang.L("Package created")
	case "package_sent", "package_send":
		return lang.L("Package sent")
	case "package_rescinded":
		return lang.L("Package withdrawn")
	case "":
		return lang.L("Unreadable event")
	}
	return e.Action
}

// EventState says what became of an event, as a shape and a word.
func EventState(e office.Event) (theme.Mark, string) {
	switch e.Outcome {
	case office.EventHandled:
		return theme.MarkSigned, lang.L("processed")
	case office.EventOdd:
		return theme.MarkProblem, lang.L("could not be processed")
	default:
		return theme.MarkNext, lang.L("waiting to be processed")
	}
}

// Exactly is a moment to the second, with its date, in the zone of now; empty when it is not known.
func Exactly(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	return Day(now, t) + " " + t.Format("15:04:05")
}
