package esign

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

// TestAStateHasOneFormWhateverAnswerItCameIn: how a service spells a state, and whether it says "executed" in the state
// or with the flag beside it, is nobody's business beyond this package.
func TestAStateHasOneFormWhateverAnswerItCameIn(t *testing.T) {
	shapes := map[string]func(t *testing.T, fields string) Status{
		"status": func(t *testing.T, fields string) Status {
			c, _ := api(t, answering(200, `{"packageId":"p-1",`+fields+`}`))
			s, err := c.Status(context.Background(), "p-1")
			must(t, err)
			return s
		},
		"the full record": func(t *testing.T, fields string) Status {
			c, _ := api(t, answering(200, `{"package":{"packageId":"p-1",`+fields+`}}`))
			s, err := c.Status(context.Background(), "p-1")
			must(t, err)
			return s
		},
		"list": func(t *testing.T, fields string) Status {
			c, _ := api(t, answering(200, `{"items":[{"packageId":"p-1",`+fields+`}],"total":1}`))
			page, err := c.List(context.Background(), ListQuery{})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v %v", page, err)
			}
			return page.Items[0]
		},
		"add": func(t *testing.T, fields string) Status {
			c, _ := api(t, answering(200, `{"packageId":"p-1","package":{"packageId":"p-1",`+fields+`}}`))
			added, err := c.AddPackage(context.Background(), NewPackage{Name: "Lease"})
			if err != nil || added.Status == nil {
				t.Fatalf("%+v %v", added, err)
			}
			return *added.Status
		},
	}
	for fields, want := range map[string]State{
		`"state":"executed"`:                         Executed,
		`"state":"Executed"`:                         Executed,
		`"state":" EXECUTED\n"`:                      Executed,
		`"state":"open","isExecuted":true`:           Executed,
		`"state":"Expired","isExecuted":"True"`:      Executed,
		`"state":"rescinded","isExecuted":1`:         Executed,
		`"state":null,"isExecuted":true`:             Executed,
		`"isExecuted":true`:                          Executed,
		`"state":"executed","isExecuted":false`:      Executed,
		`"state":"Open","isExecuted":null`:           "open",
		`"state":"EXPIRED"`:                          "expired",
		`"state":" Rescinded"`:                       "rescinded",
		`"state":"Draft","isExecuted":"no"`:          "draft",
		`"state":"Brand New"`:                        "brand new",
		`"state":7`:                                  "7",
		`"state":{"word":"open"},"isExecuted":false`: "",
	} {
		if !json.Valid([]byte("{" + fields + "}")) {
			t.Fatalf("%s is no JSON", fields)
		}
		for shape, read := range shapes {
			t.Run(fmt.Sprint(shape, " ", fields), func(t *testing.T) {
				if s := read(t, fields+`,"documents":[{"documentId":"d-1","isExecuted":false}]`); s.State != want || s.Documents[0].Executed != (want == Executed) {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}
