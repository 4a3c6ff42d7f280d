package compose

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
)

// wrong says what keeps a draft from being sent: a sentence for each field, empty where it is fine.
type wrong struct {
	files, signers, due, name string
	signer                    []wrongSigner // one for each signer
	copies                    []office.Code // one for each recipient
}

// wrongSigner says what is wrong with a signer: with the names, or else with the address. The text is empty for nothing.
type wrongSigner struct {
	text string
	name bool
}

func (w wrong) any() bool {
	return w.files+w.signers+w.due+w.name != "" || cmp.Or(w.copies...) != "" || slices.ContainsFunc(w.signer, func(s wrongSigner) bool { return s.text != "" })
}

// check judges what is typed.
func (s *Screen) check(d office.NewPackage) wrong {
	d.Recipients = s.copies.recipients(d.Signers) // with those of the settings
	return check(s.files(), d, s.separate(), s.due.Text, s.days(), s.env.Now())
}

// focusWrong puts the cursor where something is wrong first.
func (s *Screen) focusWrong(w wrong) {
	var first fyne.Focusable
	switch at := slices.IndexFunc(w.signer, func(s wrongSigner) bool { return s.text != "" }); {
	case w.files != "":
		first = s.add
	case w.name != "":
		first = s.name
	case w.signers != "":
		first = s.people[0].first
	case at >= 0 && w.signer[at].name:
		first = s.signing()[at].first
	case at >= 0:
		first = s.signing()[at].email
	case s.copies.firstWrong() != nil:
		first = s.copies.firstWrong()
	default:
		first = s.due
	}
	s.env.Window.Canvas().Focus(first)
}

// check judges what was typed. due is the text of the date field beside its meaning; each says that every document
// becomes a package of its own, with its own name.
func check(docs []*document, d office.NewPackage, each bool, due string, days day.Style, now time.Time) wrong {
	w := wrong{signer: make([]wrongSigner, len(d.Signers)), copies: office.CheckCopies(d.Recipients, d.Signers)}
	switch {
	case len(docs) == 0 && d.Template.Empty():
		w.files = lang.L("Add at least one document.")
	case slices.ContainsFunc(docs, func(f *document) bool { return !f.info.Problem.IsZero() }):
		w.files = lang.L("The marked documents cannot be sent.")
	case slices.ContainsFunc(docs, func(f *document) bool { return !f.looked }):
		w.files = lang.L("The documents are still loading. Try again in a moment.")
	}
	if strings.TrimSpace(d.Name) == "" && (len(docs) > 0 || d.Template != nil) && !each {
		w.name = lang.L("Give the package a name.")
	}
	if len(d.Signers) == 0 {
		w.signers = lang.L("Add at least one signer.")
	}
	seen := map[string]bool{}
	for i, s := range d.Signers {
		mail := strings.ToLower(s.Email)
		switch {
		case s.FirstName == "" && s.LastName == "":
			w.signer[i] = wrongSigner{lang.L("Enter a name."), true}
		case s.Email == "":
			w.signer[i] = wrongSigner{text: lang.L("Enter an e-mail address.")}
		case !office.IsAddress(s.Email):
			w.signer[i] = wrongSigner{text: lang.L("This is not an e-mail address.")}
		case seen[mail]:
			w.signer[i] = wrongSigner{text: lang.L("This e-mail address is already in the list.")}
		}
		seen[mail] = true
	}
	switch {
	case due != "" && d.Due.IsZero():
		w.due = lang.L("Enter a date, for example {{.Date}}.", i18n.V{"Date": example(days, now)})
	case office.DuePassed(d.Due, now):
		w.due = lang.L("This date has passed.")
	}
	return w
}
