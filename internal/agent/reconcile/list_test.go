package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// links is a service that gives out links.
type links struct {
	status int
	said   string // where it refuses
	asked  []string
}

func (s *links) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, strings.TrimPrefix(req.URL.Path, "/api/v1"))
	if s.status != 0 {
		return answer(req, s.status, s.said)
	}
	return answer(req, http.StatusOK, `{"link":"https://sign.test/now`+req.URL.Path+`"}`)
}

func TestALinkToSignIsAskedForByAddressOrNameWhereThereAreLinks(t *testing.T) {
	h, service := hears(t), &links{}
	client := clientOf(service, token{}, "c")
	h.Session = looptest.Session{Client: client}
	noErr(t, h.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: "p", State: office.PackageOpen, Documents: []office.Document{{ID: "d", SignedBy: []string{"done"}}}, Signers: []office.Signer{
			{ID: "jan", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {FirstName: "Eva", Email: "eva@example.com"},
			{ID: "done", FirstName: "Ana", Email: "ana@example.com"}}}
		elsewhere := office.Package{ID: "elsewhere", Signers: p.Signers}
		elsewhere.Service = "https://another.test"
		return errors.Join(tx.UseService(client.Home()), tx.PutPackage(p), tx.PutPackage(elsewhere))
	}))
	for _, who := range []string{"JAN@example.com", "jan weber", "jan"} {
		if got, err := h.SignerPage(t.Context(), "p", who); err != nil || !strings.HasSuffix(got, "/packages/p/link/sign/jan") {
			t.Errorf("%s: %q, %v", who, got, err)
		}
	}
	if got, err := h.EditPage(t.Context(), "p"); err != nil || !strings.HasSuffix(got, "/packages/p/link/edit") {
		t.Errorf("the editor: %q, %v", got, err)
	}
	asked := len(service.asked)
	for _, c := range []struct {
		id, who string
		want    message.Message
	}{
		{"p", "nobody", message.NoSuchSigner("nobody")}, {"p", "eva@example.com", message.SignerNotListed()}, {"p", "done", message.NothingToSign("Ana")},
		{"none", "jan", message.NoSuchPackage("none")}, {"elsewhere", "jan", message.AtAnotherService()},
	} {
		if got, err := h.SignerPage(t.Context(), c.id, c.who); got != "" || message.For(err) != c.want {
			t.Errorf("%s of %s: %q, %v", c.who, c.id, got, err)
		}
	}
	expect(t, len(service.asked), asked, "asked %d times, %d before", asked)
	for status, want := range map[int]message.Message{http.StatusNotFound: message.NoLinks(), http.StatusForbidden: message.MayNotHaveLinks()} {
		service.status, service.said = status, `{"error":"package_not_authorized","message":"No."}`
		if status == http.StatusNotFound {
			service.said = "<h1>Not Found</h1>"
		}
		if _, err := h.SignerPage(t.Context(), "p", "jan"); message.For(err) != want || errors.Is(err, ErrNoLinks) != (status == http.StatusNotFound) {
			t.Errorf("%d: %v", status, err)
		}
	}
	h.Data.Store.Fault = func() error { return looptest.ErrFault }
	if _, err := h.SignerPage(t.Context(), "p", "jan"); !errors.Is(err, looptest.ErrFault) {
		t.Errorf("a package that cannot be read: %v", err)
	}
	h.Session = looptest.Session{}
	if _, err := h.EditPage(t.Context(), "p"); message.For(err) != message.SignInFirst() {
		t.Errorf("nobody is signed in: %v", err)
	}
}

func TestAPackageIsShownWithItsFilesInTheirOrderUntilItIsArchived(t *testing.T) {
	x := newService(t)
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: "p", State: office.PackageExecuted, Documents: []office.Document{{ID: "z"}, {ID: "a"}}}
		err := tx.PutPackage(p)
		for n, j := range []office.Job{{Kind: office.FileMaster}, {DocumentID: "a", Kind: office.FileCertificate}, {DocumentID: "a", Kind: office.FileSigned},
			{DocumentID: "z", Kind: office.FileCertificate}, {DocumentID: "z", Kind: office.FileSigned}} {
			j.PackageID, j.Folder, j.Target = "p", "/documents", fmt.Sprint(n, ".pdf")
			_, planned := tx.PlanJob(j)
			err = errors.Join(err, planned)
		}
		return err
	}))
	row, _, err := x.Package("p")
	noErr(t, err)
	var names []string
	for _, f := range row.Files {
		names = append(names, filepath.Base(f.Path))
	}
	expect(t, names, []string{"4.pdf", "2.pdf", "3.pdf", "1.pdf", "0.pdf"}, "its files are %q")
	for _, archived := range []bool{true, false} {
		noErr(t, x.Archive("p", archived))
		if p := x.now(); (p.Archived != nil) != archived {
			t.Errorf("archived %v: %+v", archived, p.Archived)
		}
	}
}

func TestWhoFollowsIsToldOfEachEventOnceItIsKnownWhatBecameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hears(t)
		event := func(id string, outcome office.Outcome) {
			noErr(t, h.Data.Update(func(tx *store.Tx) error {
				e := office.Event{ID: id, Action: esign.DocumentSigned, PackageID: "p", Received: h.Now(), Outcome: outcome,
					Body: fmt.Appendf(nil, `{"eventId":%q,"action":%q,"packageId":"p","documentId":"d","signerId":"s"}`, id, esign.DocumentSigned)}
				if outcome != office.EventPending {
					e.Handled = h.Now()
				}
				_, err := tx.AddEvent(e)
				return err
			}))
		}
		event("before", office.EventHandled)
		time.Sleep(time.Hour)
		since := h.Now()
		event("a", office.EventHandled)
		event("waits", office.EventPending)
		for _, c := range []struct {
			name  string
			since time.Time
			first []string
		}{{"since then", since, []string{"a"}}, {"from now on", time.Time{}, nil}} {
			var told []string
			name := c.name
			over := errors.New("nobody listens")
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- h.Follow(ctx, c.since, func(l office.EventLine) error {
					if told = append(told, l.ID); l.ID == "last "+name {
						return over
					}
					return nil
				})
			}()
			synctest.Wait()
			expect(t, told, c.first, name+": told first of %q")
			event("b "+name, office.EventHandled)
			for _, id := range []string{"b " + name, "waits", "unknown"} {
				h.Settled(id)
			}
			synctest.Wait()
			expect(t, told, append(c.first, "b "+name), name+": told of %q")
			if name == "from now on" {
				stop()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			event("last "+name, office.EventHandled)
			h.Settled("last " + name)
			if err := <-ended; !errors.Is(err, over) {
				t.Errorf("%s: %v", name, err)
			}
			stop()
		}
	})
}
