package words

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
var speakers = []string{"../../internal/agent", "../../internal/esign", "../../internal/tunnel", "../../internal/archive",
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
				if part = strings.TrimSpace(part); sentence.MatchString(part) {
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
	"The {{}} {{}}.": {"The sign-in address is missing.", "The service address is missing.",
		"The sign-in address \"x\" is not a web address.", "The service address \"x\" is not a web address.",
		"The sign-in address \"x\" must begin with https://.", "The service address \"x\" must begin with https://."},
	"The public address {{}}.": {"The public address is missing.", "The public address \"x\" is not a web address.",
		"The public address \"x\" must begin with https://."},
	"The {{}} address is missing.":               {"The authorization address is missing.", "The API address is missing."},
	"The {{}} address is not a web address.":     {"The authorization address is not a web address.", "The API address is not a web address."},
	"The {{}} address must start with https://.": {"The authorization address must start with https://.", "The API address must start with https://."},
	"The {{}} address must not contain a user name, a question mark or a number sign.": {
		"The authorization address must not contain a user name, a question mark or a number sign.",
		"The API address must not contain a user name, a question mark or a number sign."},
	"The signing service gave a {{}} that cannot be used.": {"The signing service gave a package id that cannot be used.",
		"The signing service gave a document id that cannot be used.", "The signing service gave a signer id that cannot be used."},

	"{{}} signed {{}}.":         {"Ana Ruiz signed “Lease”.", "Somebody signed “Lease”."},
	"{{}} signed {{}} in {{}}.": {"Ana Ruiz signed “a.pdf” in “Lease”.", "Somebody signed “a.pdf” in “Lease”."},
	"Sent {{}} to {{}}.":        {"Sent “Lease” to 1 person.", "Sent “Lease” to 3 people."},
	"{{}} It is kept and goes out as soon as that is possible; do not send it again.": {
		"It is kept and goes out as soon as that is possible; do not send it again."},
	"{{}} and will be saved when there is room.": {"1 document waits and will be saved when there is room.",
		"3 documents wait and will be saved when there is room."},
	"{{}} and will be saved when it is back; or choose another folder.": {
		"1 document waits and will be saved when it is back; or choose another folder.",
		"3 documents wait and will be saved when it is back; or choose another folder."},
	"{{}}; change its permissions or choose another folder.": {"1 document waits; change its permissions or choose another folder.",
		"3 documents wait; change its permissions or choose another folder."},
	"{{}} could not be saved: the service did not give {{}} for two weeks.": {
		"1 document could not be saved: the service did not give it for two weeks.",
		"3 documents could not be saved: the service did not give them for two weeks."},
	"Try again, or fetch {{}} from the service's own pages.": {"Try again, or fetch it from the service's own pages.",
		"Try again, or fetch them from the service's own pages."},
	"Signed out on this computer, but at the service {{}}.": {"Signed out on this computer, but at the service its endpoint could not be deleted.",
		"Signed out on this computer, but at the service its endpoint could not be deleted and the sign-in could not be revoked.",
		"Signed out on this computer, but at the service the sign-in could not be revoked, because its key is gone and its endpoint could not be deleted, because its key is gone."},
	"To go on, {{}}; documents and packages are not affected.": {"To go on, sign in; documents and packages are not affected.",
		"To go on, enter the client secret in Settings, enter the ngrok authtoken in Settings, sign in; documents and packages are not affected."},

	"Another computer is using {{}}.":      {"Another computer is using the address a.b.", "Another computer is using the address of your ngrok account."},
	"Your ngrok account may not use {{}}.": {"Your ngrok account may not use the address a.b.", "Your ngrok account may not use the address of your ngrok account."},
	"ngrok closed {{}}.":                   {"ngrok closed the address a.b.", "ngrok closed the address of your ngrok account."},
	"There is no connection to {{}}.":      {"There is no connection to ngrok.", "There is no connection to ngrok (a.b:443)."},
	"The connection to {{}} is not private: the network opens encrypted connections, or the certificate file is the wrong one.": {
		"The connection to ngrok is not private: the network opens encrypted connections, or the certificate file is the wrong one.",
		"The connection to ngrok (a.b:443) is not private: the network opens encrypted connections, or the certificate file is the wrong one."},
}

// notForPeople are texts that look like sentences and that the window never shows, and why.
var notForPeople = map[string]string{"As discussed.": "a person's own message in the made-up office"}

// alsoSaid are texts that the window shows although they do not look like sentences: a title, a name, the end of a
// sentence that is made elsewhere, and the errors of package system, which begin small.
var alsoSaid = []string{
	"3 packages moved on while you were away", "A package made elsewhere", "3 documents wait.", "1 document waits.",
	"This computer does not say whether Countersign starts by itself: x.", "This computer does not let Countersign change what starts by itself: x.",
	"This is not a web address that can be opened.", "\"a.pdf\" is no longer where it was saved (/home).",
	"The browser could not be opened: this computer has no program for it.", "\"a.pdf\" could not be opened: this computer has no program for it.",
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
