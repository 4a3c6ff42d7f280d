package compose

import (
	"image"
	"image/color"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/agent"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
)

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	for _, c := range []struct {
		name  string
		act   func(*testing.T, *officetest.Office) *bench
		size  fyne.Size
		theme string
		scale float32
	}{
		{"filled", lease, big, "light", 1},
		{"suggestions", suggesting, small, "light", 1},
		{"wrong", wrongEverywhere, small, "dark", 1},
		{"world", world, small, "light", 1},
		{"template", leased, big, "light", 1},
		{"copies", copied, big, "light", 1},
		{"list", listed, big, "light", 1},
		{"list-sent", sending, small, "dark", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.act(t, officetest.Busy())
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}

// leased is a package from a template, half filled in, with a file in the place of one of its documents.
func leased(t *testing.T, o *officetest.Office) *bench {
	o.Library = officetest.Templates()
	b := newBench(t, o)
	b.choose("lease")
	b.screen.people[0].fill(jan)
	b.screen.basis.originals[0].entries[0].SetText("Sonnenweg 4, 3. Stock")
	b.screen.basis.originals[1].Replace("/x/Our rules.pdf")
	b.Settle()
	b.Window.Canvas().Unfocus()
	return b
}

// page is a picture of a page: lines on a sheet.
func page() image.Image {
	img := image.NewGray(image.Rect(0, 0, 90, 127))
	for i := range img.Pix {
		x, y := i%90, i/90
		img.Pix[i] = 255
		if y > 12 && y < 110 && y%8 < 2 && x > 12 && x < 78-y%5*4 {
			img.SetGray(x, y, color.Gray{90})
		}
		if x == 0 || y == 0 || x == 89 || y == 126 {
			img.SetGray(x, y, color.Gray{190})
		}
	}
	return img
}

// told makes an office that knows some files.
func told(o *officetest.Office) *officetest.Office {
	o.Pictures = map[string]image.Image{"Lease Sonnenweg 4.pdf": page()}
	o.Infos = map[string]agent.FileInfo{
		"Lease Sonnenweg 4.pdf": {Size: 48_211, Pages: 3},
		"House rules.docx":      {Size: 1_204_000},
		"Floor plans.pdf":       {Size: 148_000_000, Pages: 112, Warning: message.FileLarge("Floor plans.pdf")},
		"Offer.pdf":             {Size: 90_211, Problem: message.FileProtected("Offer.pdf")},
		"Empty.pdf":             {Problem: message.FileEmpty("Empty.pdf")},
	}
	return o
}

func lease(t *testing.T, o *officetest.Office) *bench {
	b := newBench(t, told(o))
	b.add("Lease Sonnenweg 4.pdf", "House rules.docx", "Floor plans.pdf")
	b.screen.like(office.NewPackage{Message: "Here is the lease as we discussed it on the phone.", Sequential: true, Signers: []office.Signer{jan, ana},
		Due: time.Date(2026, 11, 30, 23, 59, 59, 0, officetest.Now.Location()), ExternalData: externalData("2026-118", nil)})
	return b
}

func suggesting(t *testing.T, o *officetest.Office) *bench {
	o.Known = []office.Signer{ana, {FirstName: "Anatol", LastName: "van Dam", Email: "a.very.long.address@subdomain.of.a.company.example.com"},
		{Email: "andere@example.com"}, jan}
	b := newBench(t, told(o))
	b.add("Lease Sonnenweg 4.pdf")
	b.Window.Canvas().Focus(b.screen.people[0].first)
	b.write("an")
	b.key(fyne.KeyDown)
	return b
}

func wrongEverywhere(t *testing.T, o *officetest.Office) *bench {
	o.Waiting = officetest.Wrong().Waiting
	b := newBench(t, told(o))
	b.add("Offer.pdf", "Empty.pdf")
	b.screen.like(office.NewPackage{Signers: []office.Signer{{FirstName: "Ana", Email: "ana@example"}}})
	b.screen.due.SetText("2026-11-01")
	b.send()
	return b
}

// copied has every kind of copy: standing, taken off, of a signer, added, and one that cannot be.
func copied(t *testing.T, o *officetest.Office) *bench {
	o.Kept = withStanding().Kept
	o.Kept.CopyTo = append(o.Kept.CopyTo, "Ana Ruiz <ana.ruiz@example.com>")
	b := newBench(t, told(o))
	b.add("Lease Sonnenweg 4.pdf")
	b.screen.like(office.NewPackage{Signers: []office.Signer{ana}, Recipients: []office.Recipient{eva, {FirstName: "Ana", Email: "Clerk@example.com"}}})
	b.screen.copies.fill([]office.Recipient{eva, {FirstName: "Ana", Email: "ANA.RUIZ@example.com"}}, nil)
	b.screen.copies.turn(boss)
	return b
}

func world(t *testing.T, o *officetest.Office) *bench {
	const name = "Μισθωτήριο κατοικίας – Договор аренды квартиры – a name that does not end where the column ends.pdf"
	told(o).Infos[name] = agent.FileInfo{}
	b := newBench(t, o)
	b.add(name)
	b.screen.like(office.NewPackage{Signers: officetest.World().Rows[0].Signers[1:4], Sequential: true})
	return b
}

// listed is a list beside a lease, with what is wrong in it.
func listed(t *testing.T, o *officetest.Office) *bench {
	b := newBench(t, told(o))
	b.add("Lease Sonnenweg 4.pdf")
	b.screen.message.SetText("Dear {name}, here is your lease.")
	o.Table = people
	o.Before = []office.Before{2: office.BeforeSame, 3: office.BeforeChanged}
	b.screen.Add([]string{"/x/Mieter Sonnenweg.csv"})
	b.Settle()
	return b
}

var people = []office.ListRow{
	{Line: 1, Cells: []string{"Name", "E-Mail", "Frist", "Wohnung", "Unser Zeichen"}},
	{Line: 2, Cells: []string{"Zoë von Müller-Lüdenscheidt zu Hohenlohe", "zoe.von.mueller-luedenscheidt@example.com", "2026-12-31", "EG links", "A-1"}},
	{Line: 3, Cells: []string{"Ana Ruiz", "ana@", "2026-12-31", "1. OG", "A-2"}},
	{Line: 4, Cells: []string{"Jan Weber", "jan@example.com", "", "2. OG", "A-3"}},
	{Line: 5, Cells: []string{"Eva Klein", "eva@example.com", "", "3. OG", "A-4"}},
	{Line: 6, Cells: []string{"Tom Berg", "tom@example.com", "soon", "#BEZUG!", ""}},
	{Line: 7, Cells: []string{"Pia Horn", "pia@example.com", "31.12.2026", "4. OG", "A-6"}},
	{Line: 8, Cells: []string{"Max Horn", "max@example.com", "31.12.2026", "5. OG", "A-7"}},
}

// sending is that list while it is sent.
func sending(t *testing.T, o *officetest.Office) *bench {
	b := listed(t, o)
	b.Tap(b.screen.lists.panel.bar.send)
	b.Settle()
	return b
}
