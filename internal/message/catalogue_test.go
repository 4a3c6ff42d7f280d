package message

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"countersign/assets"
)

// entry is a message of the catalogue, made by its function.
type entry struct {
	fn   string
	id   string
	args []Arg // with made-up values
}

// samples makes up a value for each kind of argument.
var samples = map[string]func(name string) Arg{
	"Text":    func(name string) Arg { return Text(name, "text of "+name) },
	"Said":    func(name string) Arg { return Said(name, "said of "+name) },
	"Name":    func(name string) Arg { return Name(name, "name of "+name) },
	"Package": func(name string) Arg { return Package(name, "") },
	"Names":   func(name string) Arg { return Names(name, []string{"one of " + name, "two of " + name}) },
	"Count":   func(name string) Arg { return Count(name, 7) },
	"Number":  func(name string) Arg { return Number(name, 8) },
	"Day":     func(name string) Arg { return Day(name, "2026-11-02") },
	"Bytes":   func(name string) Arg { return Bytes(name, 9_000_000) },
}

var (
	function = regexp.MustCompile(`func (\w+)\([^)]*\) Message\s+\{\s*return of\("([^"]+)"(.*)\)`)
	argument = regexp.MustCompile(`(\w+)\("(\w+)", \w+\)`)
)

// catalogue reads the generated functions.
func catalogue(t *testing.T) (all []entry) {
	t.Helper()
	src := must(os.ReadFile("catalogue.go"))
	for _, f := range function.FindAllStringSubmatch(string(src), -1) {
		e := entry{fn: f[1], id: f[2]}
		for _, a := range argument.FindAllStringSubmatch(f[3], -1) {
			e.args = append(e.args, samples[a[1]](a[2]))
		}
		all = append(all, e)
	}
	if n := strings.Count(string(src), "\nfunc "); n == 0 || n != len(all) {
		t.Fatalf("%d functions, %d of them read", n, len(all))
	}
	return all
}

// wordsOf are the texts of a language by id and plural form; a message without plural forms has only "other".
func wordsOf(t *testing.T, code string) map[string]map[string]string {
	t.Helper()
	data := must(assets.Messages.ReadFile("messages/" + code + ".json"))
	raw := map[string]json.RawMessage{}
	noErr(t, json.Unmarshal(data, &raw))
	all := map[string]map[string]string{}
	for id, r := range raw {
		var one string
		forms := map[string]string{}
		if json.Unmarshal(r, &one) == nil {
			forms["other"] = one
		} else if err := json.Unmarshal(r, &forms); err != nil {
			t.Fatal(err)
		}
		delete(forms, "description") // for translators
		all[id] = forms
	}
	return all
}

// languages are the codes of assets/messages.
func languages(t *testing.T) (codes []string) {
	t.Helper()
	err := fs.WalkDir(assets.Messages, "messages", func(path string, d fs.DirEntry, err error) error {
		if code, ok := strings.CutSuffix(d.Name(), ".json"); ok {
			codes = append(codes, code)
		}
		return err
	})
	if err != nil || len(codes) < 4 {
		t.Fatal(codes, err)
	}
	return codes
}

var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// holes are the distinct arguments in a text, sorted.
func holes(text string) (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// forms are the texts around arguments, with their placeholders.
var forms = map[string][]string{quoted: {"Name"}, megabytes: {"N"}, untitled: {}, unknown: {"ID"}, day: {"Day", "Month", "Year"},
	"form.created": {}, "form.changed": {"Title"}, "form.lost": {"Title"}, "form.renamed": {"Path", "Title"},
	"form.sent": {}, "form.sent-names": {"Names"}, "form.sent-to": {"N"}, "form.withdrew": {"Who"}, "form.saying": {"Text"}} // of Brief

func init() {
	for n := 1; n <= 12; n++ {
		forms[month+strconv.Itoa(n)] = []string{}
	}
}

func TestEveryMessageHasItsWordsAndArgumentsInEveryLanguage(t *testing.T) {
	all := catalogue(t)
	wanted, counts := maps.Clone(forms), map[string]bool{"form.sent-to": true}
	for _, e := range all {
		names := []string{}
		for _, a := range e.args {
			names = append(names, a.name)
			if a.value.Count != nil {
				if counts[e.id] {
					t.Errorf("%s counts two things", e.fn)
				}
				counts[e.id] = true
			}
		}
		slices.Sort(names)
		wanted[e.id] = names
	}
	for _, code := range languages(t) {
		have := wordsOf(t, code)
		for id, names := range wanted {
			if len(have[id]) == 0 {
				t.Errorf("%s.json has no words for %q", code, id)
			}
			if _, plural := have[id]["one"]; plural != counts[id] && len(have[id]) > 0 {
				t.Errorf("%s.json: %q has plural forms: %v, but counts: %v", code, id, plural, counts[id])
			}
			for form, text := range have[id] {
				if !slices.Contains([]string{"one", "other"}, form) || strings.TrimSpace(text) == "" {
					t.Errorf("%s.json: %q has the form %q: %q", code, id, form, text)
				}
				if got := holes(text); !slices.Equal(got, names) {
					t.Errorf("%s.json: %q says %v, and has %v", code, id, names, got)
				}
				if strings.Contains(placeholder.ReplaceAllString(text, ""), "{{") {
					t.Errorf("%s.json: %q has a value that is none: %q", code, id, text)
				}
			}
		}
		for id := range have {
			if _, used := wanted[id]; !used {
				t.Errorf("%s.json has words for %q, which is in no catalogue", code, id)
			}
		}
	}
}

// TestEveryMessageIsWhole: combining parts of sentences works in one language at most. So each line is a whole sentence or a
// title, alike in all languages; the first of several sentences has its own line, and a cause ends the line.
func TestEveryMessageIsWhole(t *testing.T) {
	english := wordsOf(t, "en")
	for _, code := range languages(t) {
		for id, texts := range wordsOf(t, code) {
			if _, ok := forms[id]; ok {
				continue
			}
			for form, text := range texts {
				same := english[id][form]
				if strings.Count(text, "\n") != strings.Count(same, "\n") {
					t.Errorf("%s.json: %q has other lines than in English", code, id)
				}
				for i, line := range strings.Split(text, "\n") {
					if i == 0 && sentenceEnd.MatchString(line) {
						t.Errorf("%s.json: %q begins with more than a headline: %q", code, id, line)
					}
					if line != strings.TrimSpace(line) || strings.Contains(line, "  ") {
						t.Errorf("%s.json: %q has spaces at an end: %q", code, id, line)
					}
					if lines := strings.Split(same, "\n"); i < len(lines) && ends(line) != ends(lines[i]) {
						t.Errorf("%s.json: %q ends otherwise than %q", code, line, lines[i])
					}
					if strings.Contains(text, "\n") && !ends(line) && !strings.HasSuffix(line, "}}") {
						t.Errorf("%s.json: %q is followed by another line and ends as none", code, line)
					}
				}
			}
		}
	}
}

// sentenceEnd matches the boundary of two sentences.
var sentenceEnd = regexp.MustCompile(`[.!?] \p{Lu}`)

func ends(line string) bool { return strings.HasSuffix(line, ".") }

func TestEveryMessageIsRenderedWithItsArguments(t *testing.T) {
	for _, code := range languages(t) {
		p := must(NewPrinter(code))
		for _, e := range catalogue(t) {
			for _, n := range []int64{0, 1, 2, 5, 1_000_000} {
				m := e.with(n)
				text := p.Text(m)
				if text == "" || strings.Contains(text, "{{") || strings.Contains(text, "\n") || strings.Contains(text, "<no value>") || strings.Contains(text, e.id) {
					t.Errorf("%s: %s is %q", code, e.fn, text)
				}
				for _, a := range e.args {
					if a.value.Count != nil {
						a.value.Count = &n
					}
					if v := p.value(a.value); !strings.Contains(text, v) {
						t.Errorf("%s: %s leaves out %s, %q: %q", code, e.fn, a.name, v, text)
					}
				}
			}
		}
	}
}

// with is the message with its count set to n.
func (e entry) with(n int64) Message {
	args := slices.Clone(e.args)
	for i, a := range args {
		if a.value.Count != nil {
			args[i].value.Count = &n
		}
	}
	return of(e.id, args...)
}

// TestEveryMessageIsTold: a message that is no longer used needs no text.
func TestEveryMessageIsTold(t *testing.T) {
	used := map[string]bool{}
	told := regexp.MustCompile(`\bmessage\.(\w+)`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "officetest" || d.Name() == ".git" || d.Name() == "build") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range told.FindAllSubmatch(src, -1) {
			used[string(m[1])] = true
		}
		return err
	})
	noErr(t, err)
	for _, e := range catalogue(t) {
		if !used[e.fn] && e.fn != "Unexpected" { // used by For
			t.Errorf("nobody tells %s", e.fn)
		}
	}
}
