package packages

import (
	"context"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// What leaves the window: a file, or all of a package, on the clipboard, attached to a mail, or on paper.

// menuOfFile is what can be done with one file.
func (s *Screen) menuOfFile(path string) *fyne.Menu {
	one := []string{path}
	return fyne.NewMenu("",
		menuItem(lang.L("Open"), fynetheme.FileIcon(), func() { s.env.OpenFile(path) }),
		menuItem(lang.L("Show in folder"), fynetheme.FolderOpenIcon(), func() { s.env.ShowInFolder(path) }),
		fyne.NewMenuItemSeparator(),
		menuItem(lang.L("Copy file"), fynetheme.ContentCopyIcon(), func() { s.copyFiles(one) }),
		menuItem(lang.L("Attach to a mail…"), fynetheme.MailAttachmentIcon(), func() { s.mailFiles(one) }),
		menuItem(lang.L("Print"), fynetheme.DocumentPrintIcon(), func() { s.printFiles(one) }))
}

// menuOfFiles is what can be done with all saved files of a package at once.
func (s *Screen) menuOfFiles(paths []string) *fyne.Menu {
	return fyne.NewMenu("",
		menuItem(lang.L("Copy all files"), fynetheme.ContentCopyIcon(), func() { s.copyFiles(paths) }),
		menuItem(lang.L("Attach all files to a mail…"), fynetheme.MailAttachmentIcon(), func() { s.mailFiles(paths) }),
		menuItem(lang.L("Print all files"), fynetheme.DocumentPrintIcon(), func() { s.printFiles(paths) }),
		fyne.NewMenuItemSeparator(),
		menuItem(lang.L("Open folder"), fynetheme.FolderOpenIcon(), func() { s.env.OpenFile(filepath.Dir(paths[0])) }))
}

// pathsOf are where files are.
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

// more is a button that opens a menu, of which a tip says what it is about.
func (s *Screen) more(tip string, menu func() *fyne.Menu) *widgets.Button {
	b := widgets.NewButtonWithIcon("", fynetheme.MoreVerticalIcon(), nil)
	b.Tip = tip
	b.OnTapped = func() { widgets.OpenMenu(s.env.Window.Canvas(), menu(), b) }
	return b
}

func (s *Screen) copyFiles(paths []string) {
	s.carry(func(ctx context.Context) error { return s.env.System.CopyFiles(ctx, paths) }, func() string {
		return lang.N("{{.PluralCount}} files copied. Paste them into a mail or a folder.", len(paths))
	})
}

func (s *Screen) mailFiles(paths []string) {
	s.carry(func(ctx context.Context) error { return s.env.System.MailFiles(ctx, paths) }, nil)
}

func (s *Screen) printFiles(paths []string) {
	s.carry(func(ctx context.Context) error { return s.env.System.PrintFiles(ctx, paths) }, func() string {
		return lang.N("{{.PluralCount}} files sent to the printer.", len(paths))
	})
}

// carry does something with files beside the window, and tells the person how that went. says, which may be nil, is for where
// nothing else shows it.
func (s *Screen) carry(do func(context.Context) error, says func() string) {
	done := false
	s.env.Attempt(func(ctx context.Context) error {
		err := do(ctx)
		done = err == nil
		return err
	}, func() {
		if done && says != nil {
			s.env.Notice(says())
		}
	})
}

// fileRow is a file's line, on which the other mouse button offers what can be done with the file.
type fileRow struct {
	widget.BaseWidget
	content fyne.CanvasObject
	menu    func() *fyne.Menu
	window  fyne.Canvas
}

func (s *Screen) newFileRow(content fyne.CanvasObject, menu func() *fyne.Menu) *fileRow {
	r := &fileRow{content: content, menu: menu, window: s.env.Window.Canvas()}
	r.ExtendBaseWidget(r)
	return r
}

// AccessibilityLabel is the words in it.
func (r *fileRow) AccessibilityLabel() string { return widgets.Words(r.content) }

// AccessibilityRole is Fyne's.
func (r *fileRow) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleContainer }

// CreateRenderer is Fyne's.
func (r *fileRow) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(r.content) }

// TappedSecondary offers the menu.
func (r *fileRow) TappedSecondary(e *fyne.PointEvent) {
	widgets.OpenMenuAt(r.window, r.menu(), e.AbsolutePosition)
}

// titleOf is the tip of a file's menu.
func titleOf(l fileLine) string { return lang.L("More for {{.File}}", i18n.V{"File": l.name}) }
