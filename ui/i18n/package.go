package i18n

import (
	"cmp"
	"slices"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/theme"
)

// Standing is what a package means to a person, whatever the service calls it.
type Standing int

// The standings.
const (
	Open   Standing = iota // somebody still has to sign
	Saving                 // signed by everyone, files not all saved
	Saved                  // signed by everyone, files saved
	Ended                  // withdrawn
	Wrong                  // expired, declined, gone, or its files cannot be saved
)

// StandingOf judges a package.
func StandingOf(row office.PackageRow) Standing {
	saved := row.Saved || row.FilesTotal > 0 && row.FilesDone >= row.FilesTotal
	return standing(row.Standing(), saved)
}

// standing is a standing in the fewer words that the window has for it.
func standing(s office.Standing, saved bool) Standing {
	switch s {
	case office.StandsDone:
		if saved {
			return Saved
		}
		return Saving
	case office.StandsWithdrawn:
		return Ended
	case office.StandsWaiting:
		return Open
	}
	return Wrong
}

func executed(row office.PackageRow) bool {
	return row.State == office.PackageExecuted || !row.Executed.IsZero()
}

// Mark is the shape of a standing.
func (s Standing) Mark() theme.Mark {
	return [...]theme.Mark{Open: theme.MarkNext, Saving: theme.MarkSigned, Saved: theme.MarkSaved, Ended: theme.MarkEnded, Wrong: theme.MarkProblem}[s]
}

// Word is the standing in a word or two.
func (s Standing) Word() string {
	switch s {
	case Saving:
		return lang.L("Signed")
	case Saved:
		return lang.L("Saved")
	case Ended:
		return lang.L("Withdrawn")
	case Wrong:
		return lang.L("Problem")
	default:
		return lang.L("Waiting")
	}
}

// Trouble says what is wrong with a package, empty when nothing is.
func Trouble(row office.PackageRow) string {
	switch {
	case !row.Problem.IsZero():
		return Message(row.Problem)
	case executed(row):
		return ""
	}
	if who := decliners(row); len(who) > 0 && !row.Gone && row.State != office.PackageExpired {
		return declined(who)
	}
	return trouble(row.Gone, row.State)
}

// decliners are the signers who declined.
func decliners(row office.PackageRow) (names []string) {
	for _, s := range row.Signers {
		if !s.Declined.IsZero() {
			names = append(names, personName(s))
		}
	}
	return names
}

func declined(names []string) string {
	if slices.Contains(names, "") {
		return lang.L("A signer declined to sign.")
	}
	return leftToRight(lang.L("{{.Who}} declined to sign.", V{"Who": Names(names)}))
}

func trouble(gone bool, state office.PackageState) string {
	switch {
	case gone:
		return lang.L("The signing service does not show this package at the moment.")
	case state == office.PackageExpired:
		return lang.L("Expired before everyone signed.")
	case state == "declined":
		return lang.L("A signer declined to sign.")
	}
	return ""
}

// Progress is "1 of 3 signed", empty while the signers are unknown.
func Progress(done, total int) string {
	if total == 0 {
		return ""
	}
	return lang.L("{{.Done}} of {{.Total}} signed", V{"Done": done, "Total": total})
}

// Title is a package's name, or a word where it has none.
func Title(name string) string {
	if name != "" {
		return name
	}
	return lang.L("Untitled package")
}

// SignerState is one signer's part in a package.
type SignerState struct {
	Mark theme.Mark
	Text string
}

// StateOf says where a signer stands: signed and when, whose turn it is, or later.
func StateOf(now time.Time, row office.PackageRow, signer office.Signer) SignerState {
	switch part, done := row.PartOf(signer); {
	case part == office.PartSigned:
		text := lang.L("signed")
		if at := row.SignedAt(signer.ID); !at.IsZero() {
			text = lang.L("signed {{.When}}", V{"When": When(now, at)})
		}
		return SignerState{theme.MarkSigned, text}
	case part == office.PartDeclined:
		return SignerState{theme.MarkProblem, lang.L("declined {{.When}}", V{"When": When(now, signer.Declined)})}
	case part == office.PartMissed:
		return SignerState{theme.MarkEnded, lang.L("did not sign")}
	case done > 0:
		return SignerState{theme.MarkNext, lang.L("{{.Done}} of {{.Total}} signed", V{"Done": done, "Total": len(row.Documents)})}
	case part == office.PartNext:
		return SignerState{theme.MarkNext, lang.L("their turn to sign")}
	}
	return SignerState{theme.MarkLater, lang.L("not their turn yet")}
}

// Moment tells one line of a package's timeline.
func Moment(row office.PackageRow, m office.Moment) string { return Message(row.Tell(m)) }

// DocumentName is a document's name, else its file's, else a word, which stands by itself.
func DocumentName(d office.Document) string {
	return cmp.Or(d.Name, d.FileName, lang.L("A document"))
}
