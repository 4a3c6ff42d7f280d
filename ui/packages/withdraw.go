package packages

import (
	"context"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// withdrawPatience is how long the person waits for the result of a withdrawal, which then continues in the background.
const withdrawPatience = 20 * time.Second

// canWithdraw reports whether the package can still be withdrawn.
func canWithdraw(row office.PackageRow) bool {
	return row.State.CanBeWithdrawn() && !row.Away && !row.Gone && !row.Withdrawal.Pending()
}

// askWithdrawal asks for the message of a withdrawal, which begins after some seconds to undo. first, which may be nil, is called once
// the person has answered, and starts the withdrawal.
func (s *Screen) askWithdrawal(list []listed, first func(withdraw func())) {
	name := list[0].line.Name
	var ids, names []string
	for _, r := range list {
		ids, names = append(ids, r.line.ID), append(names, i18n.Title(r.line.Name))
	}
	var pop *widgets.PopUp
	words := widgets.NewEntry("")
	words.MultiLine, words.Wrapping = true, fyne.TextWrapWord
	words.SetMinRowsVisible(3)
	field := widgets.NewField(lang.L("Message to the signers"), words, "")
	notify := widgets.NewCheck(lang.L("Notify the signers"), func(on bool) { widgets.Enable(words, on) })
	notify.SetChecked(true)
	title, text, do := lang.L("Withdraw “{{.Package}}”?", i18n.V{"Package": i18n.Title(name)}), lang.L("No one will be able to sign it."), lang.L("Withdraw")
	if len(ids) > 1 {
		title, text = lang.N("Withdraw {{.PluralCount}} packages?", len(ids)), lang.L("No one will be able to sign them.")
	}
	if first != nil {
		title, do = lang.L("Correct “{{.Package}}”?", i18n.V{"Package": i18n.Title(name)}), lang.L("Withdraw and correct")
		text = lang.L("It will be withdrawn, and no one will be able to sign it. Send opens with the same documents and signers. The corrected package is sent only after this one is withdrawn.")
	}
	withdraw := func() {
		pop.Close()
		n := office.NewWithdrawal{Packages: ids, Message: words.Text, Quiet: !notify.Checked, Patience: withdrawPatience}
		if n.Quiet { // nobody is notified
			n.Message = ""
		}
		start := func() { s.withdraw(n, names) }
		if first != nil {
			first(start)
		} else {
			start()
		}
	}
	words.OnShortcut = func(shortcut fyne.Shortcut) bool {
		if !keys.Send.Are(shortcut) {
			return false
		}
		withdraw()
		return true
	}
	leave := widgets.NewButton(lang.L("Cancel"), func() { pop.Close() })
	button := widgets.NewButton(do, withdraw)
	button.Importance = widget.DangerImportance
	prose := widgets.NewParagraph(text)
	prose.Colour = theme.Text
	rows := widgets.Stack(10)
	s.retell = func() {
		for i, r := range list {
			if place, still := s.all.places[r.line.ID]; still {
				list[i] = s.all.listed(place)
			}
		}
		widgets.Remake(rows, s.briefly(list, mostAsked))
	}
	s.retell()
	content := widgets.Pad(20, widgets.Stack(14, widgets.NewFullHeading(title), prose, rows,
		widgets.Outdent(notify), field, widgets.Row(8, layout.NewSpacer(), leave, button)))
	pop = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(460, 0), words, func() { s.retell = nil })
}

// withdraw withdraws packages after some seconds to undo, and reports the result.
func (s *Screen) withdraw(n office.NewWithdrawal, names []string) {
	undone, pressed := false, s.env.Now()
	n.Undo, n.Patience = widgets.UndoTime, n.Patience+widgets.UndoTime
	n.Stored = func() {
		s.env.Work.Do(func() {
			s.env.Soon(env.Undoable{
				Says: lang.L("Withdrawing: {{.What}}", i18n.V{"What": i18n.Names(names)}),
				Undone: func() {
					undone = true
					for _, id := range n.Packages {
						s.keepPackage(id)
					}
				},
				Since: pressed,
			})
		})
	}
	async.Then(s.env.Work, func(ctx context.Context) ([]office.Withdrawn, error) { return s.office.Withdraw(ctx, n) },
		func(list []office.Withdrawn, err error) {
			s.Reload()
			if !undone {
				s.env.Notice(howWithdrawn(list, names[0], err))
			}
		})
}

// howWithdrawn sums up the result of withdrawing packages.
func howWithdrawn(list []office.Withdrawn, name string, err error) string {
	if err != nil {
		return i18n.Error(err)
	}
	missed := slices.DeleteFunc(slices.Clone(list), func(x office.Withdrawn) bool { return x.State == office.WithdrawDone })
	switch {
	case len(missed) == 0 && len(list) == 1:
		return lang.L("“{{.Package}}” is withdrawn.", i18n.V{"Package": i18n.Title(name)})
	case len(missed) == 0:
		return lang.N("{{.PluralCount}} packages are withdrawn.", len(list))
	case len(missed) > 1:
		return lang.L("{{.Done}} of {{.Packages}} packages are withdrawn. Each of the others says what keeps it.", i18n.V{"Done": len(list) - len(missed), "Packages": len(list)})
	}
	x := missed[0]
	if x.Pending() {
		return lang.L("“{{.Package}}” will be withdrawn as soon as the signing service answers.", i18n.V{"Package": i18n.Title(x.Name)})
	}
	return i18n.Message(message.Then(message.NotWithdrawn(x.Name), x.Problem))
}

// withdrawalOf describes a package's withdrawal; nil if there is nothing to say.
func (s *Screen) withdrawalOf(p record) fyne.CanvasObject {
	w := p.row.Withdrawal
	switch {
	case w == nil && canWithdraw(p.row) && !s.office.CanWithdraw():
		return widgets.NewProse(i18n.Message(message.CannotWithdrawHere()))
	case w == nil:
		return nil
	case w.Pending():
		return s.pendingWithdrawal(p.row)
	case w.State == office.WithdrawDone:
		return wordsOf(w)
	case w.State == office.WithdrawUnknown && p.row.State.CanBeWithdrawn():
		return warning(i18n.Message(w.Problem))
	case (w.State == office.WithdrawRefused || w.State == office.WithdrawUnknown) && !p.row.State.CanBeWithdrawn():
		return nil // the package ended in another way
	}
	return warning(i18n.Message(message.Then(message.NotWithdrawn(p.row.Name), w.Problem)))
}

// pendingWithdrawal shows a withdrawal in progress, which can be cancelled until the service knows of it.
func (s *Screen) pendingWithdrawal(row office.PackageRow) fyne.CanvasObject {
	w := row.Withdrawal
	box := widgets.Stack(8)
	if !w.Problem.IsZero() || w.Tries > 0 {
		note := widgets.NewParagraph(i18n.Message(message.Then(w.Problem, message.WillBeWithdrawn())))
		note.Colour = theme.Waiting
		box.Add(widgets.Across(widget.NewIcon(theme.MarkNext.Resource()), note, nil))
	}
	switch {
	case w.State == office.WithdrawWanted && s.env.Now().Sub(w.Asked) > widgets.UndoTime: // until then, the undo bar offers it
		keep := widgets.NewButton(lang.L("Do not withdraw"), nil)
		keep.OnTapped = func() { keep.Disable(); s.keepPackage(row.ID) }
		box.Add(widgets.Flow(8, keep))
	case w.Tries > 0:
		leave := widgets.NewButton(lang.L("Stop waiting"), nil)
		leave.OnTapped = func() {
			leave.Disable()
			s.env.Attempt(func(context.Context) error { return s.office.LetWithdrawalGo(row.ID) }, s.Reload)
		}
		box.Add(widgets.Flow(8, leave))
	}
	if words := wordsOf(w); words != nil {
		box.Add(words)
	}
	return box
}

// keepPackage cancels a withdrawal, and says so if it is too late.
func (s *Screen) keepPackage(id string) {
	s.env.InTime(func() (bool, error) { return s.office.KeepPackage(id) }, lang.L("Too late: the signing service was already asked to withdraw it."), s.Reload)
}

// wordsOf shows a withdrawal's message; nil for none. The history names who withdrew.
func wordsOf(w *office.Withdrawal) fyne.CanvasObject {
	box := widgets.Stack(2)
	if w.Message != "" && !w.Quiet {
		box.Add(widgets.NewProse(lang.L("Withdrawal message: {{.Text}}", i18n.V{"Text": w.Message})))
	}
	if w.Wished() && w.Quiet {
		box.Add(widgets.NewProse(lang.L("The signers were not notified.")))
	}
	if len(box.Objects) == 0 {
		return nil
	}
	return box
}

func (s *Screen) menuOfFile(row office.PackageRow, path string) *fyne.Menu {
	one := []string{path}
	return fyne.NewMenu("",
		menuItem(lang.L("Open"), fynetheme.FileIcon(), func() { s.env.OpenFile(path) }),
		menuItem(lang.L("Show in folder"), fynetheme.FolderOpenIcon(), func() { s.env.ShowInFolder(path) }),
		fyne.NewMenuItemSeparator(),
		menuItem(lang.L("Copy file"), fynetheme.ContentCopyIcon(), func() { s.copyFiles(one) }),
		menuItem(lang.L("Attach to a mail…"), fynetheme.MailAttachmentIcon(), func() { s.mailFiles(row, one) }),
		menuItem(lang.L("Print"), fynetheme.DocumentPrintIcon(), func() { s.printFiles(one) }))
}

func pathsOf(files []office.File) (paths []string) {
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

func menuItem(name string, icon fyne.Resource, do func()) *fyne.MenuItem {
	item := fyne.NewMenuItem(name, do)
	item.Icon = icon
	return item
}

func (s *Screen) copyFiles(paths []string) {
	s.env.Do(func(ctx context.Context) error { return s.env.System.CopyFiles(ctx, paths) }, func() {
		s.env.Notice(lang.N("{{.PluralCount}} files copied. Paste them into a mail or a folder.", len(paths)))
	})
}

// mailFiles opens a mail with files of a package, addressed to the signers and those who visibly get a copy.
func (s *Screen) mailFiles(row office.PackageRow, paths []string) {
	mail := system.Mail{Subject: row.DisplayName(), Files: paths}
	for _, signer := range row.Signers {
		mail.To = append(mail.To, signer.Email)
	}
	for _, r := range row.Recipients {
		if !r.Blind {
			mail.To = append(mail.To, r.Email)
		}
	}
	s.env.Attempt(func(ctx context.Context) error { return s.env.System.MailFiles(ctx, mail) }, nil)
}

func (s *Screen) printFiles(paths []string) {
	s.env.Do(func(ctx context.Context) error { return s.env.System.PrintFiles(ctx, paths) }, func() {
		s.env.Notice(lang.N("{{.PluralCount}} files sent to the printer.", len(paths)))
	})
}

// copiesTo lists the recipients who get a copy without signing.
func copiesTo(recipients []office.Recipient) fyne.CanvasObject {
	list := widgets.Stack(8)
	for _, r := range recipients {
		kind := lang.L("CC")
		if r.Blind {
			kind = lang.L("BCC")
		}
		how := widgets.NewCaption(kind).Whole()
		icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MailComposeIcon(), theme.Secondary))
		list.Add(widgets.Across(icon, widgets.Aside(150, whoIs(r.Person(), ""), how), nil))
	}
	return widgets.Part(lang.L("Copies"), 0, widgets.AtMost(rowWidth, list))
}
