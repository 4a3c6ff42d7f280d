package agent

import (
	"strings"
	"testing"

	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// TestEverySignatureOnAPackageMadeElsewhereIsTold has two people sign before the first event arrives: the status that is asked for
// the name of one knows of both.
func TestEverySignatureOnAPackageMadeElsewhereIsTold(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Hold()
	client, _ := o.account.Online()
	file, err := client.Upload(t.Context(), uploadOf(o.sample()))
	noErr(t, err)
	added, err := client.AddPackage(t.Context(), esign.NewPackage{
		Name: "Lease", Documents: []esign.NewDocument{{FileID: file.ID, FileName: "Contract.pdf", Name: "Contract"}},
		Signers: []esign.NewSigner{
			{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}, {FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"},
			{FirstName: "Zoë", LastName: "Keller", Email: "zoe@example.com"},
		},
	})
	noErr(t, err)
	for _, s := range o.at(added.PackageID).Signers[:2] {
		noErr(t, o.service.Sign(added.PackageID, s.SignerID))
	}
	noErr(t, o.service.Release(""))
	for _, who := range []string{"Ana Ruiz", "Jan Weber"} {
		o.eventually(who+" is told of", func() bool { return o.count(who+" signed “Lease”.") == 1 })
	}
}

// TestEventsInAnyOrderMakeNobodySignForSomebodyElse has three people sign one after the other, of whom the service tells no more than
// ids.
func TestEventsInAnyOrderMakeNobodySignForSomebodyElse(t *testing.T) {
	order := map[string]int{"Ana": 1, "Jan": 2, "Zoë"[:3]: 3, "Som": 0}
	for _, bare := range []bool{false, true} {
		for _, release := range []string{"fifo", "reverse", "random"} {
			t.Run(map[bool]string{false: "full ", true: "bare "}[bare]+release, func(t *testing.T) {
				t.Parallel()
				o := newOfficeWith(t, quick, sandbox.Options{Bare: bare})
				o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
				o.service.Hold()
				d := o.draft()
				d.Signers = append(d.Signers, office.Signer{FirstName: "Zoë", LastName: "Keller", Email: "zoe@example.com"})
				state, err := o.Send(t.Context(), d, nil)
				if err != nil || state.State != office.DraftSent {
					t.Fatalf("send: %+v, %v", state, err)
				}
				noErr(t, o.service.SignAll(state.PackageID))
				noErr(t, o.service.Release(release))
				o.eventually("everything has arrived", func() bool {
					e := o.Status().Events
					return e.Received >= 5 && e.Pending == 0 && saved(o, state.PackageID)
				})
				p := o.packageOrZero(state.PackageID)
				o.stop()
				for i, said := range o.notifications() {
					if strings.Contains(said, " signed last.") && !strings.Contains(said, "Zoë Keller signed last.") {
						t.Errorf("told: %s", said)
					}
					if who, next, found := strings.Cut(said, " Next: "); found && order[who[:3]] >= order[next[:3]] {
						t.Errorf("told: %s", said)
					}
					if strings.Contains(said, " of 3 signers") {
						t.Errorf("told in sequence, after %d others: %s", i, said)
					}
				}
				for i, s := range o.at(state.PackageID).Signers {
					if id := p.Signers[i].ID; id != "" && id != s.SignerID {
						t.Errorf("%s is taken for somebody else", p.Signers[i].FirstName)
					}
				}
			})
		}
	}
}

// The status says no more than ids, and the list, which says more, does not work: the full record knows the names.
func TestFilesOfAPackageMadeElsewhereAreCalledByItsName(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{Bare: true})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Inject(sandbox.Fault{Path: "/packages/list", Status: 500})
	o.service.Hold()
	id := o.foreign("Lease")
	signAll(o, id)
	noErr(t, o.service.Release(""))
	o.eventually("saved", func() bool { return saved(o, id) })
	if got := o.files(); len(got) != 1 || got[0] != "Lease - Contract.pdf" {
		t.Errorf("files: %q", got)
	}
	o.eventually("told", func() bool { return o.count("Everyone has signed “Lease”.") == 1 })
}
