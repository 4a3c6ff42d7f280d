package i18n

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/theme"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"golang.org/x/text/unicode/bidi"
)

// Stage is what a package's state means to people, whatever the service calls it.
type Stage int

const (
	Open   Stage = iota // somebody still has to sign
	Saving              // signed by everyone, files not all saved
	Saved               // signed by everyone, files saved
	Ended               // withdrawn
	Wrong               // expired, declined, gone, or its files cannot be saved
)

func StageOf(row office.PackageRow) Stage {
	saved := row.Saved || row.FilesTotal > 0 && row.FilesDone >= row.FilesTotal
	return stage(row.Status(), saved)
}

func stage(s office.Status, saved bool) Stage {
	switch s {
	case office.StatusDone:
		if saved {
			return Saved
		}
		return Saving
	case office.StatusWithdrawn:
		return Ended
	case office.StatusWaiting:
		return Open
	}
	return Wrong
}

func (s Stage) Mark() theme.Mark {
	return [...]theme.Mark{Open: theme.MarkNext, Saving: theme.MarkSigned, Saved: theme.MarkSaved, Ended: theme.MarkEnded, Wrong: theme.MarkProblem}[s]
}

func (s Stage) Word() string {
	return [...]string{Open: lang.L("Waiting"), Saving: lang.L("Signed"), Saved: lang.L("Saved"), Ended: lang.L("Withdrawn"), Wrong: lang.L("Problem")}[s]
}

func Trouble(row office.PackageRow) string {
	switch {
	case !row.Problem.IsZero():
		return Message(row.Problem)
	case row.State == office.PackageExecuted || !row.Executed.IsZero():
		return ""
	}
	return trouble(row.Line())
}

func declined(names []string) string {
	if slices.Contains(names, "") {
		return lang.L("A signer declined to sign.")
	}
	return leftToRight(lang.L("{{.Who}} declined to sign.", V{"Who": Names(names)}))
}

func trouble(l office.PackageLine) string {
	switch {
	case declines(l):
		return declined(strings.Split(l.Decliners, "\n"))
	case l.Gone:
		return lang.L("The signing service does not show this package at the moment.")
	case l.State == office.PackageExpired:
		return lang.L("Expired before everyone signed.")
	case l.State == "declined":
		return lang.L("A signer declined to sign.")
	}
	return ""
}

func declines(l office.PackageLine) bool {
	return l.Declined && !l.Gone && l.State != office.PackageExpired
}

// Progress returns "1 of 3 signed"; empty while the signers are unknown.
func Progress(done, total int) string {
	if total == 0 {
		return ""
	}
	return lang.L("{{.Done}} of {{.Total}} signed", V{"Done": done, "Total": total})
}

// Title returns a package's name, or a word if it has none.
func Title(name string) string {
	if name != "" {
		return name
	}
	return lang.L("Untitled package")
}

// StateOf returns a signer's state: signed and when, whose turn it is, or later.
func StateOf(now time.Time, row office.PackageRow, signer office.Signer) (theme.Mark, string) {
	switch part, done := row.StatusOf(signer); {
	case part == office.SignerSigned:
		text := lang.L("signed")
		if at := row.SignedAt(signer.ID); !at.IsZero() {
			text = lang.L("signed {{.When}}", V{"When": When(now, at)})
		}
		return theme.MarkSigned, text
	case part == office.SignerDeclined:
		return theme.MarkProblem, lang.L("declined {{.When}}", V{"When": When(now, signer.Declined)})
	case part == office.SignerMissed:
		return theme.MarkEnded, lang.L("did not sign")
	case row.Withdrawal.Pending():
		return theme.MarkLater, lang.L("not signed")
	case done > 0:
		return theme.MarkNext, Progress(done, len(row.Documents))
	case part == office.SignerNext:
		return theme.MarkNext, lang.L("their turn to sign")
	}
	return theme.MarkLater, lang.L("not their turn yet")
}

// DocumentName returns a document's name, or its file's, or a word that can stand by itself.
func DocumentName(d office.Document) string {
	return cmp.Or(d.Name, d.FileName, lang.L("A document"))
}

// EventKind names the kind of an event. Kinds missing from interface.md are in service-facts.md, section 11.3; any others are called
// by the service's own word.
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

// EventState returns what became of an event, as a mark and a word.
func EventState(e office.Event) (theme.Mark, string) {
	switch e.Outcome {
	case office.EventHandled:
		return theme.MarkSigned, lang.L("processed")
	case office.EventUnprocessable:
		return theme.MarkProblem, lang.L("could not be processed")
	default:
		return theme.MarkNext, lang.L("waiting to be processed")
	}
}

// Exactly writes a date and time to the second, in the zone of now; empty if unknown.
func Exactly(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	return Day(now, t) + " " + t.Format("15:04:05")
}

// Findings returns what is wrong with settings, one sentence per field.
func Findings(found []office.FieldError) map[string]string {
	said := map[string]string{}
	for _, f := range found {
		if said[f.Field] == "" {
			said[f.Field] = Message(f.Text)
			if f.Field == office.FieldTemplate {
				said[f.Field] = Pattern(said[f.Field])
			}
		}
	}
	return said
}

// Action returns the text of an issue's button; empty if there is nothing to do.
func Action(a agent.Action) string {
	return map[agent.Action]string{
		agent.ActSignIn: lang.L("Sign in"), agent.ActSwitch: lang.L("Switch account"), agent.ActSettings: lang.L("Open settings"), agent.ActFolders: lang.L("Open settings"),
		agent.ActChooseFolder: lang.L("Choose a folder"), agent.ActUnlock: lang.L("Unlock"), agent.ActNetwork: lang.L("Open the browser"),
		agent.ActTakeEndpoint: lang.L("Report to this computer"), agent.ActBeHub: lang.L("Make this the main computer again"), agent.ActTakeBack: lang.L("Take the office back"),
		agent.ActRetry: lang.L("Try again"), agent.ActReview: lang.L("Show in Packages"), agent.ActQuit: lang.L("Quit"),
		agent.ActDismiss: lang.L("Got it"),
	}[a]
}

func StageOfLine(l office.PackageLine) Stage {
	return stage(l.Status(), l.Saved)
}

// Line describes a package's state in one short line, for the list.
func Line(l office.PackageLine) string {
	switch StageOfLine(l) {
	case Wrong:
		switch {
		case l.Problem && l.Saved && l.Astray:
			return lang.L("saved files missing or changed")
		case l.Problem && l.Saved:
			return lang.L("not what was sealed or sent")
		case l.Problem:
			return lang.L("Not all files could be saved yet.")
		}
		text := trouble(l)
		if declines(l) && l.Reason != "" {
			text += " " + lang.L("Reason: {{.Reason}}", V{"Reason": l.Reason})
		}
		return text
	case Saved:
		switch {
		case l.Astray:
			return lang.L("saved files missing or changed")
		case l.Sealed:
			return lang.L("saved, seal intact")
		}
		return lang.L("saved")
	case Ended:
		return lang.L("withdrawn")
	case Saving:
		return lang.L("completed, files not saved yet")
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

func NextOf(l office.PackageLine) []string {
	if l.Next == "" {
		return nil
	}
	return strings.Split(l.Next, "\n")
}

// PeopleOf returns the names of a package's signers, without addresses.
func PeopleOf(l office.PackageLine) (names []string) {
	for _, who := range strings.Split(l.People, "\n") {
		name, _, _ := strings.Cut(who, " <")
		names = append(names, name)
	}
	return names
}

// IsLate reports whether a waiting package is overdue, or due within days (office.Settings.SoonDays). The answer changes only at
// midnight.
func IsLate(now, due time.Time, days int) bool {
	return !due.IsZero() && office.DaysLeft(now, due) <= days
}

// Lateness says that in a word or two; empty if there is enough time or no due date.
func Lateness(now, due time.Time, days int) string {
	switch {
	case !IsLate(now, due, days):
		return ""
	case due.Before(now):
		return lang.L("overdue")
	}
	return lang.L("due soon")
}

// Due says when a package is due, and in which colour; empty if it no longer matters.
func Due(now, due time.Time, days int, stage Stage) (text string, colour fyne.ThemeColorName) {
	if due.IsZero() || stage != Open {
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

func DueDate(now, due time.Time) string {
	when := V{"When": Day(now, due)}
	if due.Before(now) {
		return lang.L("was due {{.When}}", when)
	}
	return lang.L("due {{.When}}", when)
}

// Message returns a message in the window's language, on one line. It may be called from any goroutine.
func Message(m message.Message) string { return leftToRight(Words().Text(m)) }

// Brief is Message for an entry below its package's name.
func Brief(m message.Message) string { return leftToRight(Words().Brief(m)) }

// leftToRight marks a sentence that begins with an Arabic or Hebrew name as left-to-right. Otherwise Fyne draws the space after the
// name before it.
func leftToRight(text string) string {
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.L:
			return text
		case bidi.R, bidi.AL:
			return "\u200e" + text
		}
	}
	return text
}

func Error(err error) string { return Message(agent.Message(err)) }

// Again returns the message of err unless it repeats shown, which is already on screen.
func Again(err error, shown string) string {
	if text := Error(err); text != shown {
		return text
	}
	return lang.L("That didn’t help yet.")
}

// WordsFor returns the printer for a person's language, given as "de" or "fr-CA", or Words if it is unknown or has no texts. It may
// be called from any goroutine.
func WordsFor(locale string) *message.Printer {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(locale)), "_", "-"), "-")
	if code == "" || !slices.Contains(message.Languages(), code) {
		return Words()
	}
	p, err := message.NewPrinter(code)
	if err != nil {
		return Words()
	}
	return p
}

// Words returns the printer for the window's language. It may be called from any goroutine.
func Words() *message.Printer {
	if c := chosen.Load(); c != nil {
		return c.messages
	}
	return message.English()
}

// Authority names a certificate's subject in one line.
func Authority(c *x509.Certificate) string {
	return message.OneLine(cmp.Or(c.Subject.CommonName, strings.Join(c.Subject.Organization, " "), c.Subject.String()), office.MaxName)
}

// Relying explains what trusting the certificates' subjects means, and what to compare first. At most most are listed.
func Relying(all []*x509.Certificate, most int) string {
	if len(all) == 1 {
		return lang.L("Countersign will then rely on every document that “{{.Name}}” vouches for. Compare this fingerprint with the one that your signing service publishes: {{.Fingerprint}}",
			V{"Name": Authority(all[0]), "Fingerprint": fingerprint(all[0])})
	}
	return lang.L("Countersign will then rely on every document that they vouch for. Add only what you got from your signing service or an authority itself.") +
		"\n\n" + Authorities(all, most, fingerprint)
}

// Authorities lists the certificates' subjects, each with what also says of it.
func Authorities(all []*x509.Certificate, most int, also func(*x509.Certificate) string) string {
	var lines []string
	for _, c := range all[:min(len(all), most)] {
		lines = append(lines, Authority(c))
		if also != nil {
			lines = append(lines, also(c))
		}
	}
	if more := len(all) - most; more > 0 {
		lines = append(lines, lang.N("and {{.PluralCount}} more", more))
	}
	return strings.Join(lines, "\n")
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// SealWord sums up a seal's check in a few words; empty for none. A fault is described in full.
func SealWord(s office.Seal) string {
	switch s.State {
	case "", office.SealNone:
		return ""
	case office.SealIntact:
		return lang.L("Sealed by “{{.Signer}}”", V{"Signer": s.Signer})
	case office.SealStranger:
		return lang.L("Sealed by “{{.Signer}}”, who is not known here", V{"Signer": s.Signer})
	}
	return Message(s.Text())
}

// MatchWord sums up how a document compares with what was sent; empty if not compared.
func MatchWord(m office.Match) string {
	switch m.State {
	case office.MatchSame:
		return lang.L("As sent")
	case office.MatchAdded:
		return lang.L("As sent, with signatures")
	case office.MatchRemade:
		return lang.L("Looks like what was sent")
	}
	return Message(m.Text())
}
