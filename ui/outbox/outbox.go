// Package outbox describes drafts wherever they are shown: a draft's state in words, and what a person can do with it. It decides
// nothing itself.
package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Office is what the outbox needs from the agent, where the methods are documented.
type Office interface {
	Again(ctx context.Context, draftID string) (d office.NewPackage, lost []string, err error)
	Decide(draftID string, send bool, undo time.Duration) (decided bool, err error)
	UndoDecision(draftID string) (inTime bool, err error)
	Stop(draftID string) (inTime bool, err error)
	Form() office.Form
}

// RowID returns the list row id of a draft, which never equals a package's.
func RowID(draftID string) string { return "draft " + draftID }

// State returns a draft's state as a mark and in words, none if there is no more to it than that it is not sent yet.
func State(d office.Draft) (theme.Mark, string) {
	switch { // which can still be undone
	case d.Decision.Send:
		return theme.MarkLater, lang.L("Sending…")
	case d.Decision.Pending() && d.State == office.DraftUnknown:
		return theme.MarkLater, lang.L("Marking as sent…")
	case d.Decision.Pending():
		return theme.MarkLater, lang.L("Discarding…")
	}
	switch d.State {
	case office.DraftHeld:
		switch {
		case d.Stopped:
			return theme.MarkLater, lang.L("Not sent: you cancelled it.")
		case !d.Problem.IsZero():
			return theme.MarkNext, i18n.Message(d.Problem)
		case d.Folder != "":
			return theme.MarkNext, lang.L("Waiting for your OK")
		}
		return theme.MarkLater, ""
	case office.DraftUnknown:
		if d.Away {
			return theme.MarkProblem, i18n.Message(message.OutcomeUnknownElsewhere(d.Name))
		}
		if !d.Problem.IsZero() {
			return theme.MarkProblem, i18n.Message(d.Problem)
		}
		return theme.MarkProblem, i18n.Message(message.OutcomeUnknown(d.Name))
	case office.DraftFailed:
		if !d.Problem.IsZero() {
			return theme.MarkProblem, i18n.Message(d.Problem)
		}
		return theme.MarkProblem, lang.L("The signing service did not accept the package.")
	case office.DraftAdding:
		return theme.MarkNext, lang.L("Waiting for confirmation…")
	default:
		if !d.Problem.IsZero() {
			return theme.MarkNext, i18n.Message(d.Problem) + " " + lang.L("It will be sent automatically.")
		}
		return theme.MarkNext, lang.L("waiting to be sent")
	}
}

// Halted returns why nothing is sent at all, and what to do about it; empty if nothing prevents it.
func Halted(issues []agent.Issue) string {
	for _, i := range issues {
		switch i.ID {
		case agent.IssueKeyring:
			return i18n.Message(i.Message)
		case agent.IssueSignIn:
			text, _ := i18n.Words().Lines(i.Message)
			return text + " " + lang.L("Sign in to send.")
		}
	}
	return ""
}

// Waits reports whether a draft needs nobody: it is being sent, or can still be undone.
func Waits(d office.Draft) bool {
	return d.Decision.Pending() || d.State != office.DraftUnknown && d.State != office.DraftFailed
}

// Action is something a person can do with an item on screen.
type Action struct {
	Name  string
	Icon  fyne.Resource
	Do    func()
	N     int  // how many of the items it concerns; 0 for all
	Apart bool // begins a group of a menu
}

// Partly has each action that concerns only some of all items say how many: "Withdraw (2)…".
func Partly(actions []Action, all int) []Action {
	for i, d := range actions {
		if d.N > 0 && d.N < all {
			name := strings.TrimRight(d.Name, " …")
			actions[i].Name = fmt.Sprintf("%s (%s)%s", name, i18n.Number(d.N), d.Name[len(name):])
		}
	}
	return actions
}

// Actions returns what can be done with one or more drafts, most wanted first. edit opens a draft for editing; changed is called
// when the office has finished.
func Actions(at *env.Env, o Office, drafts []office.Draft, edit func(office.Draft), changed func()) (actions []Action) {
	decide := func(drafts []office.Draft, send bool, undo time.Duration, then func(done []office.Draft)) {
		var done []office.Draft
		at.Attempt(func(context.Context) (err error) {
			done, err = async.Each(drafts, func(d office.Draft) (bool, error) { return o.Decide(d.ID, send, undo) })
			return err
		}, func() {
			if len(done) > 0 {
				then(done)
			}
			changed()
		})
	}
	var open []office.Draft // those waiting for a person
	again := true           // all of them were refused
	for _, d := range drafts {
		if !d.Decision.Pending() && (d.State == office.DraftHeld || d.State == office.DraftFailed) {
			open, again = append(open, d), again && d.State == office.DraftFailed
		}
	}
	soon := func(drafts []office.Draft, send bool, says func(names []string) string) func() {
		return func() {
			pressed := at.Now()
			decide(drafts, send, widgets.UndoTime, func(done []office.Draft) {
				var names []string
				for _, d := range done {
					names = append(names, i18n.Title(d.Name))
				}
				at.Soon(env.Undoable{Says: says(names), Since: pressed, Undone: func() {
					for _, d := range done {
						undoDecision(at, o, d.ID, send, changed)
					}
				}})
			})
		}
	}
	n := len(open)
	add := func(name string, icon fyne.Resource, do func()) {
		actions = append(actions, Action{Name: name, Icon: icon, Do: do, N: n})
	}
	if len(open) > 0 {
		name, discard := lang.L("Send"), lang.L("Discard")
		if again {
			name = lang.L("Send again")
		}
		if n > 1 { // they say it themselves
			packages := i18n.V{"Packages": lang.N("{{.PluralCount}} packages", n)}
			if name, discard, n = lang.L("Send {{.Packages}}", packages), lang.L("Discard {{.Packages}}", packages), 0; again {
				name = lang.L("Send {{.Packages}} again", packages)
			}
		}
		send := soon(open, true, Sending)
		add(name, fynetheme.MailSendIcon(), func() {
			edited := slices.IndexFunc(open, func(d office.Draft) bool { return d.ID == o.Form().Replaces })
			if edited < 0 {
				send()
				return
			}
			widgets.Ask(at.Window.Canvas(), widgets.Question{Title: lang.L("Send without your changes?"),
				Text: lang.L("“{{.Name}}” is being edited under “Send”. What you changed there is not included.", i18n.V{"Name": i18n.Title(open[edited].Name)}),
				Safe: lang.L("Continue editing"), OnSafe: at.Go.ShowCompose, Do: lang.L("Send anyway"), OnDo: send})
		})
		if len(drafts) == 1 {
			add(lang.L("Edit"), fynetheme.DocumentCreateIcon(), func() { edit(drafts[0]) })
			if again { // what was refused would be refused again
				slices.Reverse(actions)
			}
		}
		add(discard, fynetheme.DeleteIcon(), soon(open, false, func(names []string) string {
			return lang.L("Discarding: {{.What}}", i18n.V{"What": i18n.Names(names)})
		}))
	}
	if len(drafts) > 1 {
		return actions
	}
	switch d := drafts[0]; {
	case d.Decision.Pending(): // the undo bar has the button
	case d.State == office.DraftUnknown:
		add(lang.L("Send again"), fynetheme.MailSendIcon(), func() {
			widgets.Ask(at.Window.Canvas(), widgets.Question{Title: lang.L("Send it again?"), Text: lang.L("If the first attempt got through, the signers will receive the package twice."),
				Safe: lang.L("Wait"), Do: lang.L("Send again"), OnDo: func() { decide(drafts, true, 0, func([]office.Draft) {}) }})
		})
		add(lang.L("Mark as sent"), fynetheme.ConfirmIcon(), soon(drafts, false, func(names []string) string {
			return lang.L("Marking as sent: {{.What}}", i18n.V{"What": i18n.Names(names)})
		}))
	case d.State == office.DraftQueued:
		add(lang.L("Cancel sending"), fynetheme.CancelIcon(), func() { stop(at, o, d.ID, changed) })
	}
	return actions
}

// Sending says that packages are about to be sent.
func Sending(names []string) string {
	return lang.L("Sending: {{.What}}", i18n.V{"What": i18n.Names(names)})
}

func TooLate() string {
	return lang.L("Too late to cancel. The signing service already has the package.")
}

// undoDecision reverts the decision on a draft. If it is already being sent, it is stopped if there is still time.
func undoDecision(at *env.Env, o Office, id string, send bool, changed func()) {
	async.Then(at.Work, func(context.Context) (bool, error) { return o.UndoDecision(id) }, func(inTime bool, err error) {
		switch {
		case err != nil:
			at.Notice(i18n.Error(err))
		case !inTime && send:
			stop(at, o, id, changed)
			return
		}
		changed()
	})
}

// stop holds back a draft that is about to be sent, so that it can be sent later, and says so if it is too late.
func stop(at *env.Env, o Office, id string, changed func()) {
	at.InTime(func() (bool, error) { return o.Stop(id) }, TooLate(), changed)
}

// Again passes then the contents of an earlier draft, and tells the person which documents are missing or have changed.
func Again(at *env.Env, o Office, draftID string, then func(office.NewPackage)) {
	var lost []string
	env.Get(at, func(ctx context.Context) (n office.NewPackage, err error) {
		n, lost, err = o.Again(ctx, draftID)
		return n, err
	}, func(n office.NewPackage) {
		for _, name := range lost {
			at.Notice(i18n.Message(message.FileGone(name)))
		}
		then(n)
	})
}
