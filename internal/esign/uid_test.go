package esign

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestAUUIDNamesTheSameInWhateverCaseItIsWritten has the service write them in an event as it does not in its answers.
func TestAUUIDNamesTheSameInWhateverCaseItIsWritten(t *testing.T) {
	const a = "d13a5cb5-3288-473e-8ac6-df282ec4001f"
	names := `"packageId":"A","organizationId":"A","memberId":"A","eventOwnerOrganizationId":"A","eventOwnerMemberId":"A","eventId":"A",
		"documentId":"A","revisionId":"A","signerId":"A","state":"open",
		"documents":[{"documentId":"A","revisions":[{"revisionId":"A","signerId":"A"}]}],"signers":[{"signerId":"A"}]`
	lower := "{" + strings.ReplaceAll(names, "A", a) + "}"
	upper := "{" + strings.ReplaceAll(names, "A", strings.ToUpper(a)) + "}"
	read := map[string]func(body string) any{
		"an event":  func(body string) any { e, err := ParseEvent([]byte(body)); must(t, err); return e },
		"a status":  func(body string) any { s, _ := readStatus([]byte(body)); return s },
		"a package": func(body string) any { p, _ := readAdded([]byte(body)); return p },
		"a list":    func(body string) any { p, _ := readPage([]byte("[" + body + "]")); return p },
		"a link":    func(body string) any { var g givenLink; must(t, json.Unmarshal([]byte(body), &g)); return g },
	}
	for name, of := range read {
		if got, want := of(upper), of(lower); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	// What is no UUID may mean something else in another case.
	e, err := ParseEvent([]byte(`{"packageId":"Package-1","signerId":"{D13A5CB5-3288-473E-8AC6-DF282EC4001F}"}`))
	if err != nil || e.PackageID != "Package-1" || e.SignerID[0] != '{' || e.SignerID[1] != 'D' {
		t.Errorf("%+v, %v", e, err)
	}
}
