package agent

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// A fresh computer learns of what others made and declined long before; it is in the list, and nobody is told.
func TestWhatWasDeclinedBeforeTheFirstSignInIsNoNews(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	row, _ := o.Package(id)
	noErr(t, o.service.Decline(id, row.Next()[0].ID, "The rent is wrong."))
	for name, known := range map[string]time.Duration{"first known long ago": -48 * time.Hour, "first known from an event just now": 0} {
		t.Run(name, func(t *testing.T) {
			fresh := o.newComputer()
			s := o.Settings()
			s.SaveTo = t.TempDir()
			noErr(t, fresh.Configure(t.Context(), s, office.Secrets{ClientSecret: sandbox.DemoClient().Secret}))
			noErr(t, fresh.SignIn(t.Context(), SignInOptions{}, visit))
			noErr(t, fresh.Data.Update(func(tx *store.Tx) error {
				return tx.PutPackage(office.Package{ID: id, Origin: office.MadeElsewhere, Created: fresh.Now().Add(known),
					Inquiry: office.Inquiry{NextCheck: fresh.Now()}})
			}))
			fresh.packages.Wake()
			fresh.eventually("it is known", func() bool {
				row, known := fresh.Package(id)
				return known && len(row.Signers) > 0 && !row.Signers[0].Declined.IsZero()
			})
			if n := fresh.count("declined"); n != 0 || fresh.toldInActivity("declined") != 0 {
				t.Errorf("told %q; the activity has %+v", fresh.notifications(), fresh.Activity(10))
			}
		})
	}
}

// TestAServiceWithoutRecordsIsAskedForThemOnce: the call is not part of the interface.
func TestAServiceWithoutRecordsIsAskedForThemOnce(t *testing.T) {
	t.Run("and says so with a page", func(t *testing.T) { asksForRecordsOnce(t, "<h1>Not Found</h1>") })
	t.Run("and says so in its own form", func(t *testing.T) { asksForRecordsOnce(t, `{"error":"not_found","message":"Not found"}`) })
}

func asksForRecordsOnce(t *testing.T, no string) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() })
	fault := sandbox.Fault{Path: "/packages/" + id, Method: "GET", Status: 404, Body: no}
	o.service.Inject(fault)
	for range 3 {
		row, _ := o.Package(id)
		before := row.Checked
		o.askNow(id)
		o.eventually("it is asked about", func() bool { row, _ := o.Package(id); return row.Checked.After(before) })
	}
	if asked := o.service.Faults()[0].Applied; asked < 1 || asked > 2 { // perhaps with and without /api/v1, see esign's http.go
		t.Errorf("asked %d times", asked)
	}
}

// received are the recipients of the one package that the service has.
func (o *testOffice) received() (list []string) {
	o.t.Helper()
	all := o.service.Packages()
	if len(all) != 1 {
		o.t.Fatalf("%d packages", len(all))
	}
	for _, r := range all[0].Recipients {
		list = append(list, r.Type+" "+r.Email)
	}
	return list
}

func copies(s *office.Settings) {
	s.CopyTo, s.BlindCopyTo = []string{"Office <office@example.com>", "JAN@example.com"}, []string{"boss@example.com"}
}

// TestADraftKeepsWhoGetsACopyOverAKill has the program end between the press and the sending.
func TestADraftKeepsWhoGetsACopyOverAKill(t *testing.T) {
	o := newOffice(t, sandbox.Options{}, copies)
	d := o.draft()
	d.Recipients = []office.Recipient{{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}}
	id, err := o.Hold(d)
	noErr(t, err)
	o.restart()
	noErr(t, o.Resolve(id, true))
	o.eventually("it is sent", func() bool { return len(o.Lines()) == 1 })
	// Jan signs, and so gets none.
	want := []string{"CC eva@example.com", "CC office@example.com", "BCC boss@example.com"}
	expect(t, o.received(), want, "the service has %q")
	row, _ := o.Package(o.Lines()[0].ID)
	if len(row.Recipients) != 3 || row.Recipients[0].DisplayName() != "Eva Klein" || !row.Recipients[2].Blind {
		t.Errorf("the package: %+v", row.Recipients)
	}
}

func TestDataThatCannotBeOpenedIsLeftAloneAndSaidSo(t *testing.T) {
	p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
	a, err := Open(t.Context(), p)
	noErr(t, err)
	if _, err := Open(t.Context(), p); !errors.Is(err, store.ErrInUse) || !strings.Contains(Message(err).String(), "already running") {
		t.Errorf("beside a running one: %v: %s", err, Message(err).String())
	}
	noErr(t, a.Close())
	inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	if _, err = Open(t.Context(), p); !errors.Is(err, store.ErrNewer) || !strings.Contains(Message(err).String(), "newer version") {
		t.Errorf("of a newer version: %v: %s", err, Message(err).String())
	}
	if aside, err := filepath.Glob(locations.State(p.DataDir) + ".*"); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

// An empty list says that there is nothing, which would be a lie about somebody's contracts.
func TestWhatCannotBeReadIsAnErrorForPeople(t *testing.T) {
	a, err := Open(t.Context(), Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"})
	noErr(t, err)
	noErr(t, a.Close()) // nothing can be read from here on
	for name, read := range map[string]func() error{
		"the status":        func() error { _, err := a.Status(); return err },
		"the packages":      func() error { _, err := a.Lines(); return err },
		"a package":         func() error { _, _, err := a.Package("p"); return err },
		"its draft":         func() error { _, _, err := a.DraftOf("p"); return err },
		"a file name":       func() error { _, err := a.PreviewName(a.Settings()); return err },
		"the drafts":        func() error { _, err := a.Drafts(); return err },
		"the people":        func() error { _, err := a.People(); return err },
		"the activity":      func() error { _, err := a.Activity(10); return err },
		"the events":        func() error { _, _, err := a.Events("", 10); return err },
		"the saved files":   func() error { _, err := a.Saved(10); return err },
		"which secrets":     func() error { _, _, err := a.HasSecrets(); return err },
		"what was entered":  func() error { _, _, err := a.FirstRun(); return err },
		"the office's file": func() error { _, err := a.Office(a.Settings()); return err },
	} {
		if m, ok := message.Of(read()); !ok || m != message.Closing() {
			t.Errorf("%s: %v", name, read())
		}
	}
}
