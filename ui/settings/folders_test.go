package settings

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// sending is an office with two folders that send.
func sending() *officetest.Office {
	o := officetest.Busy()
	o.Folders = []office.HotFolderRow{
		{HotFolder: office.HotFolder{ID: "scans", Path: "/home/office/Scans", Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}, Ask: true}, Waiting: 3},
		{HotFolder: office.HotFolder{ID: "leases", Path: "/mnt/share/Leases to sign", Name: "Lease {document}", DueDays: 14, Sequential: true,
			Signers: []office.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {Email: "office@example.com"}}}, Problem: message.SendFolderAway("Leases to sign")},
	}
	return o
}

func foldersShown(t *testing.T, o *officetest.Office) (*screentest.Bench, *Screen) {
	t.Helper()
	b, s := shown(t, o)
	s.tabs.Choose(tabFolders)
	b.Settle()
	return b, s
}

// buttons are the buttons in an object, in their order.
func buttons(o fyne.CanvasObject) (list []*widgets.Button) {
	switch x := o.(type) {
	case *widgets.Button:
		list = append(list, x)
	case *fyne.Container:
		for _, o := range x.Objects {
			list = append(list, buttons(o)...)
		}
	}
	return list
}

func press(t *testing.T, b *screentest.Bench, s *Screen, text string) {
	t.Helper()
	for _, button := range buttons(s.folders.list) {
		if button.Text == text {
			button.OnTapped()
			b.Settle()
			return
		}
	}
	t.Fatalf("there is no button %q", text)
}

func TestAFolderIsAddedAndChanged(t *testing.T) {
	b, s := foldersShown(t, officetest.Busy())
	s.folders.add.OnTapped()
	p := s.folders.form
	p.folder.SetText("/home/office/Scans")
	p.signers.SetText("Ana Ruiz <ana@example.com>\njan@example.com")
	p.due.SetText("14")
	p.order.Choose(1)
	p.ask.Choose(1)
	p.save.OnTapped()
	b.Settle()
	rows, _ := b.Office.HotFolders()
	if len(rows) != 1 {
		t.Fatalf("there are %+v", rows)
	}
	f := rows[0]
	if f.Ask || !f.Sequential || f.DueDays != 14 || len(f.Signers) != 2 || f.Signers[0].FirstName != "Ana" {
		t.Errorf("kept %+v", f)
	}
	if p.content.Visible() {
		t.Error("the form is still there")
	}
	press(t, b, s, "Edit")
	if p.signers.Text != "Ana Ruiz <ana@example.com>\njan@example.com" || p.due.Text != "14" || p.ask.Chosen != 1 {
		t.Errorf("the form shows %q, %q, %d", p.signers.Text, p.due.Text, p.ask.Chosen)
	}
	p.due.SetText("")
	p.save.OnTapped()
	b.Settle()
	if rows, _ := b.Office.HotFolders(); len(rows) != 1 || rows[0].DueDays != 0 || rows[0].ID != f.ID {
		t.Errorf("changed into %+v", rows)
	}
}

func TestWhatIsWrongWithAFolderIsSaidBesideIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *folderForm)
		field  string
	}{
		"no folder":       {func(p *folderForm) { p.folder.SetText("") }, office.FieldHotPath},
		"nobody":          {func(p *folderForm) { p.signers.SetText("") }, office.FieldHotSigners},
		"no address":      {func(p *folderForm) { p.signers.SetText("Ana Ruiz") }, office.FieldHotSigners},
		"twice":           {func(p *folderForm) { p.signers.SetText("ana@example.com\nANA@example.com") }, office.FieldHotSigners},
		"no number":       {func(p *folderForm) { p.due.SetText("soon") }, office.FieldHotDue},
		"too many days":   {func(p *folderForm) { p.due.SetText("4000") }, office.FieldHotDue},
		"no placeholder":  {func(p *folderForm) { p.name.SetText("{client}") }, office.FieldHotName},
		"an open bracket": {func(p *folderForm) { p.name.SetText("{document") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := foldersShown(t, officetest.Busy())
			s.folders.add.OnTapped()
			p := s.folders.form
			p.folder.SetText("/home/office/Scans")
			p.signers.SetText("Ana Ruiz <ana@example.com>")
			c.change(p)
			p.save.OnTapped()
			b.Settle()
			for key, field := range p.fields {
				if field.IsWrong() != (key == c.field) {
					t.Errorf("%s says %q", key, field.Said())
				}
			}
			if rows, _ := b.Office.HotFolders(); (len(rows) == 0) != (c.field != "") {
				t.Errorf("kept %+v", rows)
			}
		})
	}
}

func TestAFolderPausesIsTestedAndIsRemoved(t *testing.T) {
	b, s := foldersShown(t, sending())
	press(t, b, s, "Pause")
	if rows, _ := b.Office.HotFolders(); !rows[0].Paused {
		t.Error("it goes on")
	}
	press(t, b, s, "Resume")
	if rows, _ := b.Office.HotFolders(); rows[0].Paused {
		t.Error("it pauses for ever")
	}
	press(t, b, s, "Test")
	if m := s.folders.answers["scans"]; !strings.HasPrefix(m.String(), "The folder works.") {
		t.Errorf("it says %q", m)
	}
	press(t, b, s, "Pause")
	if m, said := s.folders.answers["scans"]; said {
		t.Errorf("of the folder before it still says %q", m)
	}
	press(t, b, s, "Open")
	press(t, b, s, "Remove")
	if rows, _ := b.Office.HotFolders(); len(rows) != 2 {
		t.Error("it was removed without a question")
	}
	for _, o := range test.LaidOutObjects(b.Window.Canvas().Overlays().Top()) {
		if button, is := o.(*widgets.Button); is && button.Text == "Remove" {
			button.OnTapped()
			break
		}
	}
	b.Settle()
	if rows, _ := b.Office.HotFolders(); len(rows) != 1 || rows[0].ID != "leases" {
		t.Errorf("left are %+v", rows)
	}
}

func TestAFolderOfAnotherAccountIsConfirmed(t *testing.T) {
	o := sending()
	o.Folders[0].Confirm, o.Folders[0].Problem = true, message.SendFolderOtherAccountAs("max@example.com")
	b, s := foldersShown(t, o)
	if said := screentest.Text(s.folders.list); !strings.Contains(said, "it sends as max@example.com now.") {
		t.Errorf("it says %s", said)
	}
	press(t, b, s, "Confirm")
	if rows, _ := b.Office.HotFolders(); rows[0].Confirm {
		t.Error("it still rests")
	}
	for _, button := range buttons(s.folders.list) {
		if button.Text == "Confirm" {
			t.Error("it can be confirmed twice")
		}
	}
}

func TestTheFocusStaysOnTheButtonThatWasPressed(t *testing.T) {
	b, s := foldersShown(t, sending())
	for at, text := range []string{"Open", "Edit", "Pause", "Test"} {
		if text == "Edit" {
			continue // which leads to the form
		}
		b.Window.Canvas().Focus(s.folders.deeds["scans"][at])
		press(t, b, s, text)
		if b.Window.Canvas().Focused() != fyne.Focusable(s.folders.deeds["scans"][at]) {
			t.Errorf("after %s %T has the focus", text, b.Window.Canvas().Focused())
		}
	}
	b.Window.Canvas().Focus(s.folders.deeds["scans"][4])
	_, err := b.Office.RemoveHotFolder("scans")
	if err != nil {
		t.Fatal(err)
	}
	s.folders.reload()
	b.Settle()
	if b.Window.Canvas().Focused() != fyne.Focusable(s.folders.add) {
		t.Errorf("once the folder is gone %T has the focus", b.Window.Canvas().Focused())
	}
}

func TestFoldersLookRight(t *testing.T) {
	for _, c := range []struct {
		name, variant, language string
		office                  func() *officetest.Office
		form                    bool
	}{
		{"folders-empty", "light", "en", officetest.Busy, false},
		{"folders", "light", "en", sending, false},
		{"folders-dark", "dark", "en", sending, false},
		{"folders-form", "light", "en", sending, true},
		{"de-folders", "light", "de", sending, false},
		{"de-folders-form", "light", "de", sending, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			i18n.Use(c.language)
			t.Cleanup(func() { i18n.Use("en") })
			b, s := foldersShown(t, c.office())
			if c.form {
				s.folders.edit(s.folders.rows[1].HotFolder)
				s.folders.form.wrong(map[string]string{office.FieldHotPath: i18n.Message(message.SendFolderOverlaps("Scans"))})
				b.Settle()
			}
			b.Looks(c.name, c.variant, screentest.Small, 1)
		})
	}
}
