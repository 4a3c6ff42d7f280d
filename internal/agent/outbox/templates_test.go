package outbox

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What is not in the whole list is forgotten by those that were used, so what is not whole must not be taken for it.
func TestAListIsWholeOnlyWhenTheServiceGivesAsManyAsItSays(t *testing.T) {
	const a, b = `{"templateId":"a","name":"Lease"}`, `{"templateId":"b","name":"Offer"}`
	for name, c := range map[string]struct {
		pages []string // the last one again and again
		given int
		whole bool
	}{
		"all in one":                      {[]string{`{"items":[` + a + `,` + b + `],"total":2}`}, 2, true},
		"page by page":                    {[]string{`{"items":[` + a + `],"total":2}`, `{"items":[` + b + `],"total":2}`}, 2, true},
		"until nothing more comes":        {[]string{`{"items":[` + a + `]}`, `{"items":[]}`}, 1, true},
		"none":                            {[]string{`{"items":[],"total":0}`}, 0, true},
		"none of five":                    {[]string{`{"items":[],"total":5}`}, 0, false},
		"one of five, and then none":      {[]string{`{"items":[` + a + `],"total":5}`, `{"items":[],"total":5}`}, 1, false},
		"the same page, whatever is said": {[]string{`{"items":[` + a + `,` + b + `]}`}, 2, true},
		"the same of three for ever":      {[]string{`{"items":[` + a + `,` + b + `],"total":3}`}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.pages[min(asked, len(c.pages)-1)])
				asked++
			}))
			defer server.Close()
			client := esign.NewClient(esign.Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c"}, looptest.Token{})
			all, whole, err := readTemplates(t.Context(), client, "")
			if err != nil || len(all) != c.given || whole != c.whole {
				t.Errorf("%d templates, whole: %v, %v", len(all), whole, err)
			}
		})
	}
}

// listing is a service for templates, which answers as is said.
func listing(t *testing.T, answer func(asked string) (status int, body string)) *testService {
	t.Helper()
	x := newService(t, accept)
	x.end() // templates need no loop
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked, _ := io.ReadAll(q.Body)
		status, body := answer(q.URL.RawQuery + string(asked))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	client := esign.NewClient(esign.Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c"}, looptest.Token{})
	x.Base.Session, x.deps.Home = looptest.Session{Client: client}, client.Home
	return x
}

func TestTemplatesUsedLastComeFirst(t *testing.T) {
	const a, b, c = `{"templateId":"a","name":"Lease"}`, `{"templateId":"b","name":"engagement"}`, `{"templateId":"c","name":"Offer"}`
	list, total := a+","+b+","+c, 3
	var asked string
	x := listing(t, func(q string) (int, string) {
		asked = q
		return http.StatusOK, fmt.Sprintf(`{"items":[%s],"total":%d}`, list, total)
	})
	names := func(search string) (names []string) {
		t.Helper()
		all := must(x.Templates(t.Context(), search))
		for _, x := range all {
			names = append(names, x.Name)
		}
		return names
	}
	use := func(id, name string) {
		t.Helper()
		d := office.Draft{Template: &office.Template{ID: id, Name: name}}
		d.Service = x.deps.Home()
		noErr(t, x.Data.Update(func(tx *store.Tx) error { x.noteTemplate(tx, d); return nil }))
	}
	used := func(most int) (ids []string) {
		t.Helper()
		all := must(x.UsedTemplates(most))
		for _, u := range all {
			ids = append(ids, u.ID)
		}
		return ids
	}
	expect(t, names(""), []string{"engagement", "Lease", "Offer"}, "before any was used: %q")
	use("c", "Offer")
	use("a", "Lease")
	use("c", "Offer")
	expect(t, used(9), []string{"c", "a"}, "used here: %q")
	expect(t, used(1), []string{"c"}, "used last: %q")
	expect(t, names(""), []string{"Offer", "Lease", "engagement"}, "after some were used: %q")
	total = 4
	list = a
	names("")
	expect(t, used(9), []string{"c", "a"}, "after a list that was not whole: %q")
	total = 1
	if names("off ice*"); !strings.Contains(asked, "off* ice*") {
		t.Errorf("asked for %q", asked)
	}
	expect(t, used(9), []string{"c", "a"}, "after a list that was searched: %q")
	names("")
	expect(t, used(9), []string{"a"}, "after one is no more: %q")
	for n := range maxUsed + 1 {
		use(fmt.Sprint(n), "many")
	}
	expect(t, len(used(2*maxUsed)), maxUsed, "%d are remembered")
	noErr(t, x.Data.Update(func(tx *store.Tx) error { x.noteTemplate(tx, office.Draft{}); return nil }))
	expect(t, len(used(2*maxUsed)), maxUsed, "%d are remembered after one without a template")
}

// A service may have no such call. It is told once, and is no trouble of the service.
func TestAServiceMayHaveNoTemplatesOrGiveLessThanItIsAskedFor(t *testing.T) {
	answer := func(string) (int, string) { return http.StatusNotFound, "404 page not found" }
	x := listing(t, func(q string) (int, string) { return answer(q) })
	signals := 0
	x.Base.Signal = func(c office.Change) {
		if c == office.StatusChanged {
			signals++
		}
	}
	try := func(when string, want message.Message, offered bool, signalled int) {
		t.Helper()
		list, err := x.Templates(t.Context(), "")
		if message.For(err) != want || err == nil && len(list) != 1 || x.TemplatesOffered() != offered || signals != signalled {
			t.Errorf("%s: %d, %v, offered %v, signalled %d times", when, len(list), err, x.TemplatesOffered(), signals)
		}
	}
	expect(t, x.TemplatesOffered(), true, "offered, though nobody has asked yet: %v")
	try("it has none", message.TemplatesNotOffered(), false, 1)
	try("it has none, again", message.TemplatesNotOffered(), false, 1)
	one := func(string) (int, string) {
		return http.StatusOK, `{"items":[{"templateId":"a","name":"Lease"}],"total":1}`
	}
	answer = one
	try("it has some after all", message.Message{}, true, 2)
	try("it has some", message.Message{}, true, 2)
	answer = func(q string) (int, string) {
		switch no := `{"error":"refused","message":"No."}`; {
		case strings.Contains(q, `"allMembers":true`):
			return http.StatusForbidden, no
		case strings.Contains(q, "last_used"), strings.Contains(q, `"take"`):
			return http.StatusBadRequest, no
		}
		return one(q)
	}
	try("it gives the caller's own, in its own order and number", message.Message{}, true, 2)
	answer = func(string) (int, string) {
		return http.StatusForbidden, `{"error":"access_denied","message":"No."}`
	}
	if list, err := x.Templates(t.Context(), ""); err == nil {
		t.Errorf("it gives nobody any: %+v", list)
	}
	x.Base.Session = looptest.Session{}
	try("nobody is signed in", message.SignInFirst(), true, 2)
}

func TestAFileIsJudgedBeforeItIsADocument(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		noErr(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for path, want := range map[string]message.Message{
		at("Lease.pdf", "%PDF-1.7"): {}, at("empty.pdf", ""): message.FileEmpty("empty.pdf"), dir: message.FileIsFolder(filepath.Base(dir)),
		filepath.Join(dir, "gone.pdf"):            message.FileMayNotBeRead("gone.pdf"),
		at("office"+office.OwnEnding, "sealed"):   message.FileOfCountersign("office" + office.OwnEnding),
		filepath.Join(at("file", "x"), "Own.pdf"): message.FileMayNotBeRead("Own.pdf"),
		at("setup.exe", "MZ"):                     message.FileType("setup.exe"),
	} {
		list, err := openDocuments(office.NewPackage{Files: []string{path}})
		if message.For(err) != want || (len(list) == 1) != want.IsZero() {
			t.Errorf("%s: %d documents, %v", path, len(list), err)
		}
		list.close()
	}
	if _, err := openDocuments(office.NewPackage{Files: []string{os.DevNull}}); runtime.GOOS != "windows" && message.For(err) != message.FileMayNotBeRead("null") {
		t.Errorf("a device, of which whoever opens a pipe would wait for the other end: %v", err)
	}
}
