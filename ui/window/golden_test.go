package window

import (
	"context"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/theme"
)

func TestTheWindowLooksAsItWasApproved(t *testing.T) {
	plain := func(*bench) {}
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen) } }
	for _, c := range []struct {
		name   string
		office *officetest.Office
		act    func(*bench)
		size   fyne.Size
		theme  string
		scale  float32
	}{
		{"packages", officetest.Busy(), plain, screentest.Big, "light", 1},
		{"packages-dark", officetest.Busy(), plain, screentest.Big, "dark", 1},
		{"packages-200", officetest.Busy(), plain, screentest.Small, "light", 2},
		{"packages-small", officetest.Busy(), plain, screentest.Small, "light", 1},
		{"packages-empty", officetest.Empty(), plain, screentest.Big, "light", 1},
		{"packages-wrong", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, screentest.Big, "light", 1},
		{"packages-wrong-dark", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, screentest.Big, "dark", 1},
		{"packages-world", officetest.World(), plain, screentest.Small, "light", 1},
		{"packages-saved", officetest.Busy(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, screentest.Big, "light", 1},
		{"packages-lost", officetest.Busy(), lost, screentest.Small, "dark", 2},
		{"send-filled", officetest.Busy(), fill, screentest.Big, "light", 1},
		{"activity", officetest.Busy(), to(showActivity), screentest.Big, "light", 1},
		{"activity-events", officetest.Busy(), events, screentest.Big, "light", 1},
		{"activity-odd-dark", officetest.Busy(), func(b *bench) { events(b); b.window.activity.ChooseEvent(5) }, screentest.Small, "dark", 1},
		{"activity-refused", officetest.Busy(), func(b *bench) { b.window.Go(showActivity); b.window.activity.ShowRefused() }, screentest.Small, "light", 1},
		{"status-wrong", officetest.Wrong(), to(showStatus), screentest.Big, "light", 1},
		{"status-dark", officetest.Busy(), said, screentest.Small, "dark", 1},
		{"activity-empty-dark", officetest.Empty(), to(showActivity), screentest.Small, "dark", 1},
		{"signing-in", officetest.Empty(), signingIn, screentest.Small, "light", 1},
		{"signing-in-said", officetest.Empty(), func(b *bench) { signingIn(b); say(b) }, screentest.Small, "light", 1},
		{"send-said-200", officetest.Wrong(), func(b *bench) { pressed(b); say(b) }, screentest.Small, "light", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.office)
			b.App.Settings().SetTheme(theme.Look{Variant: c.theme}.Theme())
			c.act(b)
			b.looks(c.name, c.size, c.scale)
		})
	}
}

func events(b *bench) {
	b.window.Go(showActivity)
	b.window.activity.ShowEvents()
}

// lost shows a saved package one of whose files is gone.
func lost(b *bench) {
	b.System.Lost = map[string]bool{b.Office.Rows[1].Files[1].Path: true}
	b.window.ShowPackage("p3")
	b.Settle()
}

// said is the status of a day on which all is well, below passing news.
func said(b *bench) {
	b.window.Go(showStatus)
	say(b)
}

func say(b *bench) {
	b.window.env.Notice("6 events were exported.")
	b.window.env.Notice("“Mandate Keller - certificate.pdf” is no longer where it was saved (/home/office/Documents/Signed).")
}

func fill(b *bench) {
	b.window.Add([]string{b.file("Lease Sonnenweg 4.pdf", 48_211), b.file("House rules.pdf", 1_204_000)})
	b.Settle()
	b.window.compose.get().Fill(office.NewPackage{Message: "Here is the lease as we discussed it on the phone.", Sequential: true,
		Signers: []office.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}, {FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}},
		Due:     time.Date(2026, 11, 30, 23, 59, 59, 0, officetest.Now.Location())})
}

// pressed is a package that is about to be sent, and can be taken back.
func pressed(b *bench) {
	fill(b)
	b.Office.Patient = true
	b.window.compose.get().Send()
	b.Until(b.window.grace.Busy)
}

func sending(b *bench) {
	half := make(chan struct{})
	b.Office.OnSend = func(ctx context.Context, _ office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		progress(office.SendState{State: office.DraftQueued, Sent: 620_000, Total: 1_252_211})
		close(half)
		<-ctx.Done()
		return office.SendState{DraftID: "d1", State: office.DraftQueued}, ctx.Err()
	}
	fill(b)
	b.window.compose.get().Send()
	<-half
	b.Run()
}

func signingIn(b *bench) {
	b.window.account.signIn("")
	b.Until(func() bool { return b.window.account.address != "" })
}
