package packages

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// savedPackage shows a package whose files are saved, and returns the paths.
func savedPackage(t *testing.T) (b *bench, paths []string) {
	t.Helper()
	b = newBench(t, officetest.Busy())
	for _, row := range b.Office.Rows {
		if row.FilesDone > 1 && row.FilesDone == row.FilesTotal {
			b.screen.Show(row.ID)
			b.Settle()
			return b, pathsOf(b.screen.record.saved())
		}
	}
	t.Fatal("no package has files")
	return nil, nil
}

// item is what a menu offers under a name.
func itemOf(t *testing.T, m *fyne.Menu, name string) *fyne.MenuItem {
	t.Helper()
	at := slices.IndexFunc(m.Items, func(i *fyne.MenuItem) bool { return i.Label == name })
	if at < 0 {
		t.Fatalf("there is no %q", name)
	}
	return m.Items[at]
}

func TestFilesLeaveTheWindow(t *testing.T) {
	b, paths := savedPackage(t)
	one, all := b.screen.menuOfFile(paths[0]), b.screen.menuOfFiles(paths)
	every := strings.Join(paths, " ")
	for _, c := range []struct {
		menu *fyne.Menu
		name string
		want string
		says string
	}{
		{one, "Open", "file " + paths[0], ""},
		{one, "Show in folder", "folder of " + paths[0], ""},
		{one, "Copy file", "copied " + paths[0], "1 file copied."},
		{one, "Attach to a mail…", "mailed " + paths[0], ""},
		{one, "Print", "printed " + paths[0], "1 file sent to the printer."},
		{all, "Copy all files", "copied " + every, "files copied."},
		{all, "Attach all files to a mail…", "mailed " + every, ""},
		{all, "Print all files", "printed " + every, "files sent to the printer."},
	} {
		b.System.Opened, b.Notices = nil, nil
		itemOf(t, c.menu, c.name).Action()
		b.Settle()
		if !slices.Equal(b.System.Opened, []string{c.want}) || !strings.Contains(strings.Join(b.Notices, " "), c.says) || c.says == "" && len(b.Notices) > 0 {
			t.Errorf("%s: did %q, said %q", c.name, b.System.Opened, b.Notices)
		}
	}
	b.System.NoPrinter = message.Error(message.NotPrinted("x.pdf"), nil)
	b.Notices = nil
	itemOf(t, one, "Print").Action()
	b.Settle()
	if len(b.Notices) != 1 || !strings.Contains(b.Notices[0], "could not be printed") {
		t.Errorf("without a printer it says %q", b.Notices)
	}
}

// menus are the buttons that open one, in the order in which they are drawn.
func (b *bench) menus() (list []*widgets.Button) {
	for _, o := range test.LaidOutObjects(b.screen.detail) {
		if button, ok := o.(*widgets.Button); ok && button.Visible() && button.Icon == fynetheme.MoreVerticalIcon() {
			list = append(list, button)
		}
	}
	return list
}

func TestTheMenusOfFilesOpenByKeysAndByTheOtherMouseButton(t *testing.T) {
	b, paths := savedPackage(t)
	menus := b.menus()
	if len(menus) < len(paths)+1 {
		t.Fatalf("%d menus for %d files and the package", len(menus), len(paths))
	}
	canvas := b.Env.Window.Canvas()
	canvas.Focus(menus[0])
	menus[0].TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	open := canvas.Focused()
	if _, ok := open.(*widget.PopUpMenu); !ok {
		t.Fatalf("Enter opens no menu: the focus is at %T", open)
	}
	b.System.Opened = nil
	open.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	open.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	b.Settle()
	if len(b.System.Opened) != 1 || !strings.HasPrefix(b.System.Opened[0], "copied ") {
		t.Errorf("the first entry did %q", b.System.Opened)
	}
	row := b.screen.newFileRow(widget.NewLabel(""), func() *fyne.Menu { return b.screen.menuOfFile(paths[0]) })
	row.TappedSecondary(&fyne.PointEvent{})
	if canvas.Overlays().Top() == nil {
		t.Error("the other mouse button opens no menu")
	}
}
