package compose

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"countersign/internal/agent"
	"countersign/internal/store"
)

var now = time.Date(2026, 11, 21, 14, 2, 0, 0, time.FixedZone("office", 3600))

func TestFilesThatCannotBeSentSayWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty := write("good.pdf", "%PDF-"), write("empty.pdf", "")
	files := inspect([]string{good, empty, dir, filepath.Join(dir, "gone.pdf")})
	got := []string{}
	for _, f := range files {
		got = append(got, f.problem)
	}
	want := []string{"", "This file is empty.", "This is a folder. Add the files in it.", "This file is no longer there."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	again := merge(files, inspect([]string{good, write("new.pdf", "x")}))
	if len(again) != 5 || again[4].name() != "new.pdf" {
		t.Errorf("the same file is added once, a new one at the end: %v", again)
	}
}

func TestTheNameIsProposedFromTheFirstFile(t *testing.T) {
	for path, want := range map[string]string{
		"/x/Lease Sonnenweg 4.pdf": "Lease Sonnenweg 4",
		"/x/offer_2026__118.PDF":   "offer 2026 118",
		"/x/.pdf":                  "",
		"/x/Vertrag v1.2.docx":     "Vertrag v1.2",
	} {
		if got := proposedName([]file{{path: path}}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestErrorsStandBesideTheirField(t *testing.T) {
	ana := store.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	with := func(change func(*store.Signer)) store.Signer { s := ana; change(&s); return s }
	good := []file{{path: "/x/a.pdf"}}
	for name, c := range map[string]struct {
		files   []file
		name    string
		signers []store.Signer
		due     string
		want    wrong
	}{
		"fine":            {good, "A", []store.Signer{ana}, "2026-11-21", wrong{signer: []string{""}}},
		"nothing":         {nil, "", nil, "", wrong{files: "Add at least one document.", signers: "Add at least one person who signs."}},
		"bad file":        {[]file{{path: "a", problem: "x"}}, "A", []store.Signer{ana}, "", wrong{files: "Remove or replace the marked document.", signer: []string{""}}},
		"no package name": {good, "  ", []store.Signer{ana}, "", wrong{name: "Give the package a name.", signer: []string{""}}},
		"one name is enough": {good, "A", []store.Signer{with(func(s *store.Signer) { s.FirstName = "" })}, "",
			wrong{signer: []string{""}}},
		"no name": {good, "A", []store.Signer{{Email: "a@b.ch"}}, "", wrong{signer: []string{"Type the name."}}},
		"no address": {good, "A", []store.Signer{with(func(s *store.Signer) { s.Email = "" })}, "",
			wrong{signer: []string{"Type the e-mail address."}}},
		"half an address": {good, "A", []store.Signer{with(func(s *store.Signer) { s.Email = "ana@example" })}, "",
			wrong{signer: []string{"This is not an e-mail address."}}},
		"a name in the address": {good, "A", []store.Signer{with(func(s *store.Signer) { s.Email = "Ana <ana@example.com>" })}, "",
			wrong{signer: []string{"This is not an e-mail address."}}},
		"twice": {good, "A", []store.Signer{ana, with(func(s *store.Signer) { s.Email = "ANA@example.com" })}, "",
			wrong{signer: []string{"", "This address is there twice."}}},
		"yesterday": {good, "A", []store.Signer{ana}, "2026-11-20", wrong{due: "This day is over.", signer: []string{""}}},
		"no day":    {good, "A", []store.Signer{ana}, "next week", wrong{due: "Write the date as 2026-12-31.", signer: []string{""}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(c.files, agent.Draft{Name: c.name, Signers: c.signers, Due: parseDue(c.due, now.Location())}, c.due, now)
			if got.files != c.want.files || got.signers != c.want.signers || got.name != c.want.name || got.due != c.want.due ||
				!slices.Equal(got.signer, c.want.signer) && len(c.want.signer) > 0 {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestADueDayEndsAtMidnightInTheOffice(t *testing.T) {
	got := parseDue("2026-11-30", now.Location())
	if want := time.Date(2026, 11, 30, 22, 59, 59, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v", got.UTC())
	}
}

func TestMovingStaysInsideTheList(t *testing.T) {
	list := []int{1, 2, 3}
	move(list, 0, -1)
	move(list, 2, 1)
	move(list, 2, -1)
	if !slices.Equal(list, []int{1, 3, 2}) {
		t.Errorf("got %v", list)
	}
}
