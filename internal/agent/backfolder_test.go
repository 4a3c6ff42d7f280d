package agent

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// What a folder sent since the backup is this office's own, and comes back to its folder, once.
func TestWhatAFolderSentSinceTheBackupComesBackToItAfterRestoring(t *testing.T) {
	o, f := sending(t)
	signed := func() int {
		names, err := filepath.Glob(filepath.Join(f.Path, "Signed", "*.pdf"))
		noErr(t, err)
		return len(names)
	}
	send := func(name string, n int) {
		t.Helper()
		o.drop(f, name, append(sampleDocument(t), name...))
		o.eventually("it is with the service", func() bool { return len(o.service.Packages()) == n })
		o.eventually("it lies in Sent", func() bool { return o.isThere(filepath.Join(f.Path, "Sent", name)) })
	}
	// The folder's packages by their names: the service lists them in no order.
	id := func(name string) string {
		t.Helper()
		for _, p := range o.service.Packages() {
			if p.Name == "Scan "+name {
				return p.PackageID
			}
		}
		t.Fatal("no package " + name)
		return ""
	}
	send("Known.pdf", 1)
	o.eventually("it is known", func() bool { return o.packageOrZero(id("Known")).ID != "" })
	noErr(t, o.backups.Make())
	send("Signed before.pdf", 2)
	noErr(t, o.service.SignAll(id("Known")))
	noErr(t, o.service.SignAll(id("Signed before")))
	o.eventually("both come back", func() bool { return signed() == 2 })
	send("Signed after.pdf", 3)
	o.loseData()
	o.open()
	o.run()
	o.eventually("everything is known again", func() bool { return o.Status().Packages.Total == 3 && o.Status().Packages.Saved == 2 })
	noErr(t, o.service.SignAll(id("Signed after")))
	o.eventually("that comes back, too", func() bool { return signed() == 3 && o.Status().Packages.Saved == 3 })
	for _, name := range []string{"Known", "Signed before", "Signed after"} {
		if p := o.packageRow(id(name)); p.Origin != office.MadeHere || p.Folder != f.ID && p.Folder != office.TagAt(p.Service, f.ID) {
			t.Errorf("%s: %+v", name, p.Package)
		}
	}
	o.eventually("nothing is on its way", func() bool { rows, err := o.HotFolders(); return err == nil && rows[0].Waiting == 0 })
	if n, m := signed(), len(o.service.Packages()); n != 3 || m != 3 {
		t.Errorf("%d came back of %d", n, m)
	}
}

// What waited to be sent when the state was lost is in the outbox afterwards, and waits for a person's word.
func TestWhatWaitedInAFolderIsInTheOutboxAfterRestoring(t *testing.T) {
	for name, lose := range map[string]func(o *testOffice){
		"from a backup": func(o *testOffice) { o.loseData() },
		"from nothing": func(o *testOffice) {
			o.loseData()
			noErr(t, os.RemoveAll(locations.Backups(o.data)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, f := sending(t)
			noErr(t, o.backups.Make())
			o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
			o.drop(f, "Lease.pdf", sampleDocument(t))
			o.eventually("it waits", func() bool { return len(o.Drafts()) == 1 && !o.isThere(filepath.Join(f.Path, "Lease.pdf")) })
			lose(o)
			o.service.Heal(0)
			o.open()
			o.run()
			o.eventually("it is in the outbox", func() bool {
				rows, err := o.HotFolders()
				return err == nil && len(o.Drafts()) == 1 && o.Drafts()[0].State == office.DraftHeld && rows[0].Waiting == 1
			})
			if d := o.Drafts()[0]; d.Problem != message.FileOfBefore("Lease.pdf") || len(o.service.Packages()) != 0 {
				t.Errorf("it says %v, and %d were sent", d.Problem, len(o.service.Packages()))
			}
			noErr(t, o.Resolve(o.Drafts()[0].ID, true))
			o.eventually("a person sends it", func() bool { return o.isThere(filepath.Join(f.Path, "Sent", "Lease.pdf")) })
		})
	}
}
