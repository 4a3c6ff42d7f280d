package i18n

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// speakers are the packages whose English sentences the window shows.
var speakers = []string{"../../internal/agent", "../../internal/agent/announce", "../../internal/agent/webhook", "../../internal/agent/data", "../../internal/agent/loop", "../../internal/office", "../../internal/esign", "../../internal/tunnel", "../../internal/archive",
	"../../internal/secret", "../../internal/store", "../../internal/single", "../../internal/notify", "../system"}

// hole stands for a value in a sentence of the source.
const hole = "{{}}"

// said collects what a package says to people: every text that begins like a sentence, with a capital, a value or
// "ngrok", and ends like one. Texts that are put together with + or by fmt are taken together, a value is a hole. The
// log, wrapped errors and panics begin small and do not count.
func said(t *testing.T, dir string, add func(sentence, where string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds no code (%v)", dir, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, found := flat(e)
			if !found {
				return true
			}
			for _, part := range split(text) {
				wrapped := strings.HasPrefix(part, hole+": ") // an error in front of its cause, for the log
				if part = strings.TrimSpace(part); !wrapped && sentence.MatchString(part) {
					add(part, fset.Position(n.Pos()).String())
				}
			}
			_, whole := n.(*ast.BinaryExpr)
			return !whole
		})
	}
}

// sentence is what counts as one: see said. A hole behind the full stop is a code in brackets.
var sentence = regexp.MustCompile(`^(\p{Lu}|ngrok |\{\{\}\}).*\p{L}.*(\.|: \{\{\}\})(\{\{\}\})?$`)

var verb = regexp.MustCompile(`"%s"|%[a-z]`)

// flat is the text of a literal or of several joined by +, with holes for what is not written out.
func flat(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return verb.ReplaceAllString(text, hole), err == nil
	case *ast.ParenExpr:
		return flat(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, some := flat(e.X)
		right, more := flat(e.Y)
		if !some && !more {
			return "", false
		}
		if !some {
			left = hole
		}
		if !more {
			right = hole
		}
		return left + right, true
	}
	return "", false
}

// asSaid are sentences whose values are words themselves, or come with a number, as they come out.
var asSaid = map[string][]string{
	"The {{}} address is missing.":               {"The sign-in address is missing.", "The service address is missing."},
	"The {{}} address is not a web address.":     {"The sign-in address is not a web address.", "The service address is not a web address."},
	"The {{}} address must start with https://.": {"The sign-in address must start with https://.", "The service address must start with https://."},
	"The {{}} address must not contain a user name, a question mark or a number sign.": {
		"The sign-in address must not contain a user name, a question mark or a number sign.",
		"The service address must not contain a user name, a question mark or a number sign."},
	"The signing service gave a {{}} that cannot be used.": {"The signing service gave a package id that cannot be used.",
		"The signing service gave a document id that cannot be used.", "The signing service gave a signer id that cannot be used."},

	"{{}} signed {{}}.":         {"Ana Ruiz signed “Lease”.", "Someone signed “Lease”."},
	"{{}} signed {{}} in {{}}.": {"Ana Ruiz signed “a.pdf” in “Lease”.", "Someone signed “a.pdf” in “Lease”."},
	"Sent {{}} to {{}}.":        {"Sent “Lease” to 1 person.", "Sent “Lease” to 3 people."},
	"{{}} It will be sent automatically as soon as possible.": {"It will be sent automatically as soon as possible."},
	"{{}} and will be saved when there is room.": {"1 file is waiting and will be saved when there is room.",
		"3 files are waiting and will be saved when there is room."},
	"{{}} until the folder is back.": {"1 file is waiting until the folder is back.", "3 files are waiting until the folder is back."},
	"{{}} to be saved.":              {"1 file is waiting to be saved.", "3 files are waiting to be saved."},
	"{{}} could not be saved.":       {"1 file could not be saved.", "3 files could not be saved."},
	"The signing service has not provided {{}} for two weeks.": {"The signing service has not provided it for two weeks.",
		"The signing service has not provided them for two weeks."},
	"Try again, or download {{}} from the signing service's website.": {"Try again, or download it from the signing service's website.",
		"Try again, or download them from the signing service's website."},
	"Signed out on this computer, but at the service {{}}.": {"Signed out on this computer, but at the service its address for events could not be deleted.",
		"Signed out on this computer, but at the service its address for events could not be deleted and the sign-in could not be revoked.",
		"Signed out on this computer, but at the service the events for another computer were turned off until someone takes them back there.",
		"Signed out on this computer, but at the service the sign-in could not be revoked, because its key is gone and its address for events could not be deleted, because its key is gone."},
	"To continue, {{}}.": {"To continue, sign in.", "To continue, enter the client secret in Settings, enter the ngrok authtoken in Settings, sign in."},

	"Another computer is using {{}}.":                {"Another computer is using the address a.b.", "Another computer is using the address of your ngrok account."},
	"Your ngrok account is not allowed to use {{}}.": {"Your ngrok account is not allowed to use the address a.b.", "Your ngrok account is not allowed to use the address of your ngrok account."},
	"ngrok closed {{}}.":                             {"ngrok closed the address a.b.", "ngrok closed the address of your ngrok account."},
	"There is no connection to {{}}.":                {"There is no connection to ngrok.", "There is no connection to ngrok (a.b:443)."},
	"The connection to {{}} is not secure.":          {"The connection to ngrok is not secure.", "The connection to ngrok (a.b:443) is not secure."},
}

// notForPeople are texts that look like sentences and that the window never shows, and why.
var notForPeople = map[string]string{"As discussed.": "a person's own message in the made-up office"}

// alsoSaid are texts that the window shows although they do not look like sentences: a title, a name, the end of a
// sentence that is made elsewhere, and the errors of package system, which begin small.
var alsoSaid = []string{
	"3 packages changed while you were away", "1 package changed while you were away", "3 packages changed", "1 package changed",
	"3 documents signed.", "Document: Lease.", "Untitled package",
	"3 files are waiting to be saved.", "1 file is waiting to be saved.",
	"This computer does not say whether Countersign starts by itself: x.", "This computer does not let Countersign change what starts by itself: x.",
	"This is not a web address that can be opened.", "\"a.pdf\" is no longer where it was saved (/home).",
	"No browser could be opened.", "The browser may not have opened.", "\"a.pdf\" could not be opened: this computer has no program for it.",
	"The folder of \"a.pdf\" could not be opened: this computer has no program for it.",
}

// samples are what a sentence of the source comes out as.
func samples(sentence string) []string {
	if list, ok := asSaid[sentence]; ok {
		return list
	}
	if end := "." + hole; strings.HasSuffix(sentence, end) {
		sentence = strings.TrimSuffix(sentence, hole)
	}
	out := ""
	for i, piece := range strings.Split(sentence, hole) {
		if i > 0 {
			out += fmt.Sprintf("%d", i)
		}
		out += piece
	}
	return []string{out}
}

func TestEverySentenceForPeopleIsInThePhrasebook(t *testing.T) {
	books := map[string]*book{}
	for _, code := range Languages()[1:] {
		b, err := loadBook(code)
		if err != nil {
			t.Fatal(err)
		}
		books[code] = b
	}
	used := map[string]bool{}
	check := func(text, where string) {
		for code, b := range books {
			english, ok := b.known(text)
			if !ok {
				t.Errorf("%s: sentences/%s.json lacks %q", where, code, text)
			}
			for _, e := range english {
				used[e] = true
			}
		}
	}
	for _, dir := range speakers {
		said(t, dir, func(sentence, where string) {
			if notForPeople[sentence] != "" {
				return
			}
			for _, text := range samples(sentence) {
				check(text, where)
			}
		})
	}
	for _, text := range alsoSaid {
		check(text, "alsoSaid")
	}
	said(t, "../officetest", func(sentence, where string) { // the made-up office says what the agent says
		if notForPeople[sentence] == "" {
			check(sentence, where)
		}
	})
	for code, b := range books {
		for english := range b.exact {
			if !used[english] && english != strings.TrimSpace(and) {
				t.Errorf("sentences/%s.json has %q, which nobody says any more", code, english)
			}
		}
		for _, p := range b.patterns {
			if !used[p.english] {
				t.Errorf("sentences/%s.json has %q, which nobody says any more", code, p.english)
			}
		}
	}
}

// known says whether a sentence is in the book, with all phrases in it, and which of its keys that took.
func (b *book) known(text string) (english []string, ok bool) {
	folded, _, _ := fold(text)
	folded = strings.TrimSpace(folded)
	if _, ok := b.exact[folded]; ok {
		return []string{folded}, true
	}
	for _, p := range b.patterns {
		complete := true
		english = []string{p.english}
		_, ok := p.say(folded, func(phrase string) string {
			for _, piece := range regexp.MustCompile(`(?:, | and )`).Split(strings.ReplaceAll(phrase, ", because", "; because"), -1) {
				piece = strings.ReplaceAll(piece, "; because", ", because")
				_, there := b.exact[piece]
				complete = complete && there
				english = append(english, piece)
			}
			return phrase
		})
		if ok {
			return english, complete
		}
	}
	return nil, false
}
