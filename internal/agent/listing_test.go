package agent

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/listing"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// TestPackagesAreFoundWhateverTheListIsLike: a package made elsewhere whose event never came is found, and so is the one of
// a draft whose answer was lost, however the service orders, cuts and moves its list.
func TestPackagesAreFoundWhateverTheListIsLike(t *testing.T) {
	for name, habits := range map[string]sandbox.ListHabits{
		"oldest first, short pages": {Order: "oldest", MostTake: 3},
		"by name, short pages":      {Order: "name", MostTake: 4},
		"items come in":             {MostTake: 5, Shift: 2},
		"items go away":             {Order: "oldest", MostTake: 8, Shift: -4},
		"one a page":                {Order: "oldest", MostTake: 1},
		"another order each time":   {Order: "random", MostTake: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
			client, _ := o.account.Online()
			path := o.sample()
			for i := range 14 {
				o.foreignBy(client, path, fmt.Sprintf("Old %02d", i))
			}
			o.packages.Sweep("test")
			o.eventually("all are known", func() bool { return o.Status().Packages.Total == 14 })
			o.service.SetListHabits(habits)
			id := o.foreignBy(client, path, "Old 07 and a half")
			signAll(o, id)
			o.service.Inject(sandbox.Fault{Method: "POST", Path: "/packages/add", Times: 1, LoseAnswer: true})
			state, err := o.Send(t.Context(), o.draft(), nil)
			if err != nil || state.State != office.DraftUnknown && state.State != office.DraftSent {
				t.Fatalf("send: %+v, %v", state, err)
			}
			o.eventually("both are found", func() bool {
				o.packages.Sweep("test")
				o.outbox.Wake()
				return saved(o, id) && o.draftIs(office.DraftSent)
			})
			if n := len(o.service.Packages()); n != 16 {
				t.Errorf("%d packages", n)
			}
		})
	}
}

func TestAListThatCannotBePagedIsReadAsFarAsItGoes(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.Tunnel = office.TunnelNone })
	o.eventually("the list was read", func() bool { return calls(o.service, "POST /packages/list") > 0 })
	o.service.SetListHabits(sandbox.ListHabits{MostTake: 2, NoSkip: true})
	o.colleague(t, 3)
	began := calls(o.service, "POST /packages/list")
	o.packages.Sweep("test")
	o.eventually("the newest are found", func() bool { return o.Status().Packages.Saved >= 2 })
	if n := calls(o.service, "POST /packages/list") - began; n > 2*(listing.ListStale+1) {
		t.Errorf("the list was read %d times", n)
	}
	o.service.SetListHabits(sandbox.ListHabits{})
	o.packages.Sweep("test")
	o.eventually("and the rest once it can be", func() bool { return o.Status().Packages.Saved == 3 })
}

func TestAListThatDoesNotSayWhenSomethingWasFinishedHidesNothingThatIsNew(t *testing.T) {
	for name, times := range map[string]string{"no times": "", "when it was made alone": `,"timeCreated":"1999-12-01T10:00:00Z"`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				items := ""
				add := func(id string) {
					mu.Lock()
					defer mu.Unlock()
					if items != "" {
						items += ","
					}
					items += `{"packageId":"` + id + `","state":"executed"` + times + `}`
				}
				add("old")
				a, c, stop := quietOffice(t, 0, func(p *Params) {
					service := p.HTTP.Transport.(*canned)
					service.say = func(path string) string {
						switch {
						case strings.HasSuffix(path, "/packages/list"):
							mu.Lock()
							defer mu.Unlock()
							return `{"items":[` + items + `]}`
						case strings.HasSuffix(path, "/status"):
							return `{"state":"executed","documents":[{"documentId":"d"}]}`
						case strings.HasSuffix(path, "/download"):
							return "%PDF-1.7\n" + path + "\n%%EOF\n"
						}
						return ""
					}
				})
				defer stop()
				time.Sleep(2 * time.Hour)
				add("new")
				time.Sleep((7*24 + 12) * time.Hour)
				if c.count("/packages/new/status") == 0 || must(a.Status()).Packages.Saved != 1 {
					t.Error("what was finished later, without an event, is not saved")
				}
				if c.count("/packages/old/status") != 0 {
					t.Error("what was finished before the sign-in was asked for")
				}
			})
		})
	}
}
