package i18n

import (
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"countersign/assets"
	"countersign/internal/office"

	"fyne.io/fyne/v2/lang"
)

var update = flag.Bool("update", false, "add missing texts to en.json; plural forms are then to be written by hand")

const english = "../../assets/translations/en.json"

// texts collects what the code under ui says: the keys of lang.L, lang.X and lang.N; plural says which are the latter.
func texts(t *testing.T) (plural map[string]bool) {
	t.Helper()
	plural = map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if pkg, isName := fun0(fun, ok); !isName || pkg != "lang" || !strings.Contains("LNX", fun.Sel.Name) {
				return true
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				key, err := strconv.Unquote(text.Value)
				must(t, err)
				plural[key] = fun.Sel.Name == "N"
				checkValues(t, path, key, call)
			} else if fun.Sel.Name != "X" {
				t.Errorf("%s: a text that is not written out cannot be translated", path)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, month := range strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec") {
		plural["month."+month] = false
	}
	for _, day := range strings.Fields("Mon Tue Wed Thu Fri Sat Sun") {
		plural["weekday."+day] = false
	}
	for _, name := range office.Placeholders() {
		plural["placeholder."+strings.Trim(name, "{}")] = false
	}
	plural["language.code"] = false
	for _, key := range fynes(t) {
		if _, ours := plural[key]; !ours {
			plural[key] = false
		}
	}
	return plural
}

// checkValues fails the test where a text is not given the values that stand in it, by their names.
func checkValues(t *testing.T, path, key string, call *ast.CallExpr) {
	t.Helper()
	if len(call.Args) < 2 {
		return
	}
	values, written := call.Args[len(call.Args)-1].(*ast.CompositeLit)
	if !written {
		return
	}
	var given []string
	for _, e := range values.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.BasicLit); ok {
				hole := "{{." + strings.Trim(name.Value, `"`) + "}}"
				given = append(given, hole)
				if isWord(pair.Value) {
					checkPlace(t, path, key, hole)
				}
			}
		}
	}
	slices.Sort(given)
	if !strings.Contains(key, " ") { // the name of a text, such as date.weekday
		return
	}
	if wanted := holes(key); strings.Join(given, " ") != wanted {
		t.Errorf("%s: %q is given %v", path, key, given)
	}
}

// isWord says whether a value is, or can be, a text of ours. It is in the nominative, as labels are.
func isWord(value ast.Expr) (found bool) {
	ast.Inspect(value, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			found = found || slices.Contains(saysWords, fun.Name)
		case *ast.SelectorExpr:
			pkg, _ := fun0(fun, true)
			found = found || pkg == "lang" || pkg == "i18n" && slices.Contains(saysWords, fun.Sel.Name)
		}
		return true
	})
	return found
}

// saysWords are the functions of the window that return a text of ours, or one where there is no name.
var saysWords = []string{"Name", "Title", "DocumentName", "Action", "Word", "Documents", "People", "packages", "pages", "signerName"}

// changes are the words of each language that a word in the nominative cannot follow.
var changes = map[string]*regexp.Regexp{
	"de": regexp.MustCompile(`(?i)(^|\PL)(von|vom|mit|bei|beim|zu|zum|zur|aus|nach|seit|wegen|trotz|der|die|das|dem|den|des|ein|eine|einem|einen|einer|eines) $`),
	"fr": regexp.MustCompile(`(?i)(^|\PL)(de|du|des|que|le|la|les|un|une|d’|qu’|l’) ?$`),
	"es": regexp.MustCompile(`(?i)(^|\PL)(del|al|el|la|los|las|un|una) $`),
}

// checkPlace fails the test where a word of ours stands in a place for which some language has another form of it. A
// count with its noun is the same in the nominative and the accusative; any other word stands first, behind a colon, or
// in quotation marks.
func checkPlace(t *testing.T, path, key, hole string) {
	t.Helper()
	counts := slices.Contains([]string{"{{.Documents}}", "{{.People}}", "{{.Packages}}"}, hole)
	for _, code := range Languages() {
		for _, text := range windowTexts(t, code)[key] {
			before, _, _ := strings.Cut(text, hole)
			if alone := before == "" || strings.HasSuffix(before, ": ") || strings.ContainsAny(strings.TrimSpace(before), "“„«"); alone {
				continue
			}
			if !counts || changes[code] != nil && changes[code].MatchString(before) {
				t.Errorf("%s: in %s, %q has a word in the place of %s that wants another form there", path, code, text, hole)
			}
		}
	}
}

// fynes are the texts of Fyne's own widgets. Fyne would say them in the system's language, whatever was chosen.
func fynes(t *testing.T) (keys []string) {
	t.Helper()
	fyne, err := build.Import("fyne.io/fyne/v2/lang", ".", build.FindOnly)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(fyne.Dir, "translations", "base.en.json"))
	must(t, err)
	texts := map[string]any{}
	must(t, json.Unmarshal(data, &texts))
	return slices.Collect(maps.Keys(texts))
}

func fun0(fun *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	name, ok := fun.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return name.Name, true
}

func TestEveryTextHasItsEnglish(t *testing.T) {
	data, err := assets.Translations.ReadFile("translations/en.json")
	must(t, err)
	have := map[string]any{}
	must(t, json.Unmarshal(data, &have))
	used := texts(t)
	for key, isPlural := range used {
		value, ok := have[key]
		if !ok && *update {
			have[key] = strings.TrimPrefix(strings.TrimPrefix(key, "month."), "weekday.")
			if isPlural {
				have[key] = map[string]string{"one": "WRITE " + key, "other": key}
			}
			continue
		}
		if !ok {
			t.Errorf("en.json lacks %q; run with -update", key)
		}
		if _, isMap := value.(map[string]any); ok && isMap != isPlural {
			t.Errorf("en.json: %q must have plural forms: %v", key, isPlural)
		}
	}
	for key := range have {
		if _, ok := used[key]; ok {
			continue
		}
		if *update {
			delete(have, key)
		} else {
			t.Errorf("en.json has %q, which nobody says any more", key)
		}
	}
	if *update {
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		must(t, enc.Encode(have))
		must(t, os.WriteFile(english, []byte(out.String()), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What is left out is a word of its own in German, and the ellipsis stays on the line of the one before it.
func TestGermanEllipsesStandApart(t *testing.T) {
	for _, path := range []string{"../../assets/translations/de.json", "../../assets/messages/de.json"} {
		text, err := os.ReadFile(path)
		must(t, err)
		var texts map[string]any
		must(t, json.Unmarshal(text, &texts))
		for key, said := range texts {
			if regexp.MustCompile(`[^\s\x{a0}]…`).MatchString(fmt.Sprint(said)) {
				t.Errorf("%s: %q says %q", path, key, said)
			}
		}
	}
}

// inEach runs a test in each language.
func inEach(t *testing.T, test func(t *testing.T)) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	hook()
	for _, code := range Languages() {
		c, err := load(code)
		must(t, err)
		chosen.Store(c)
		t.Run(code, test)
	}
}

func TestNamePatternsAreShownAndTakenInEveryLanguage(t *testing.T) {
	all := strings.Join(office.Placeholders(), "/")
	shown := map[string]string{}
	inEach(t, func(t *testing.T) {
		shown[Code()] = Pattern(all)
		for _, typed := range []string{Pattern(all), strings.ToUpper(Pattern(all)), all, strings.ReplaceAll(Pattern(all), "{", "{ ")} {
			if got := CanonicalPattern(typed); got != all {
				t.Errorf("%q is taken as %q", typed, got)
			}
		}
		for _, other := range []string{"{packge}", "Pakete {", "}", "{}", "{{package}", "{date"} {
			if got := CanonicalPattern(other); got != other && other != "{{package}" {
				t.Errorf("%q became %q", other, got)
			}
		}
	})
	inEach(t, func(t *testing.T) { // a language may be changed while a pattern is typed
		for code, typed := range shown {
			if got := CanonicalPattern(typed); got != all {
				t.Errorf("what was typed in %s, %q, is taken as %q", code, typed, got)
			}
		}
	})
	if got := shown["de"]; got != "{Datum}/{Monat}/{Jahr}/{Paket}/{Dokument}/{Person}/{Zeichen}/{Art}" {
		t.Errorf("German: %q", got)
	}
}

func TestAPlaceholderOfOneLanguageIsNoOtherInAnother(t *testing.T) {
	names := map[string]string{}
	for _, code := range Languages() {
		of := placeholdersOf(code)
		if len(of) != len(office.Placeholders()) {
			t.Errorf("%s has %d placeholders: %v", code, len(of), of)
		}
		for canonical, name := range of {
			name = strings.ToLower(name)
			if other := names[name]; other != "" && other != canonical || strings.ContainsAny(name, "{}/ ") {
				t.Errorf("%s: {%s} is {%s} and {%s}", code, name, canonical, other)
			}
			names[name] = canonical
			for _, english := range office.Placeholders() {
				if english = strings.Trim(english, "{}"); english == name && english != canonical {
					t.Errorf("%s: {%s} is another placeholder in English", code, name)
				}
			}
		}
	}
}

func TestWhatIsWrongWithAPatternNamesThePlaceholdersOfTheLanguage(t *testing.T) {
	inEach(t, func(t *testing.T) {
		s := office.DefaultSettings()
		s.NameTemplate = CanonicalPattern("{packge}")
		got := Findings(s.Check())[office.FieldTemplate]
		for _, name := range strings.Fields(Placeholders()) {
			if !strings.Contains(got, name) {
				t.Errorf("%q does not name %s", got, name)
			}
		}
		if !strings.Contains(got, "{packge}") || strings.Count(got, "{") != 1+len(office.Placeholders()) {
			t.Errorf("said: %q", got)
		}
	})
}

// notWords are texts under ui that look like words and are the same in every language, or are not for people.
var notWords = []string{
	"Countersign", "Countersign: ", "Countersign\n", // its name
	"openid profile offline_access organization", // scopes, interface.md
	"English", "Français", "Deutsch", "Español", // what languages are called by those who speak them
	"Desktop", "Documents", "Downloads", "Signed", // folders on the disk
	"as it was",         // a mark that nobody sees
	"DisableAnimations", // a setting of Fyne
}

// notWindow are folders under ui whose texts are for tests or for other programs, or what people type.
var notWindow = []string{"autostart", "day", "displaytest", "drop", "officetest", "screentest", "system", "testdata"}

// wordy is a text that people would read: two words, or one that begins with a capital.
var wordy = regexp.MustCompile(`\p{L}{2,}[,;:.]? \p{L}|^\P{L}*\p{Lu}\p{Ll}+`)

// TestNoTextIsHardCoded looks at every text in the code of the window: what looks like words must go through Fyne's
// lang, which is where it is translated.
func TestNoTextIsHardCoded(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(notWindow, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.CaseClause:
				if c, ok := n.(*ast.CaseClause); ok {
					for _, s := range c.Body { // what is compared with is not shown
						ast.Inspect(s, func(n ast.Node) bool { return looked(t, fset, n) })
					}
				}
				return false
			default:
				return looked(t, fset, n)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoErrorIsShownAsTheLogHasIt: what people are told of an error is its message; its text has its causes, for the log.
func TestNoErrorIsShownAsTheLogHasIt(t *testing.T) {
	shown := regexp.MustCompile(`\b(err|e|cause)\.Error\(\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "system" || d.Name() == "testdata") { // what the system says is a reason in a message
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.ToSlash(path) == "../run.go" { // which has no window
			return nil
		}
		src, err := os.ReadFile(path)
		if at := shown.FindIndex(src); at != nil {
			t.Errorf("%s shows the text of an error; use i18n.Error", path)
		}
		return err
	})
	must(t, err)
}

// looked complains about a text that looks like words, and says whether to look further below n.
func looked(t *testing.T, fset *token.FileSet, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !spoken(n)
	case *ast.KeyValueExpr: // the name of a value, or of a field
		ast.Inspect(n.Value, func(n ast.Node) bool { return looked(t, fset, n) })
		return false
	case *ast.BinaryExpr: // what is compared with is not shown
		return n.Op != token.EQL && n.Op != token.NEQ
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		if err == nil && n.Kind == token.STRING && wordy.MatchString(text) && !slices.Contains(notWords, text) {
			t.Errorf("%s: %q is hard-coded; say it with lang.L", fset.Position(n.Pos()), text)
		}
	}
	return true
}

// spoken says whether a call translates its text, or shows it to nobody: the log, a wrapped error, a panic, the time.
func spoken(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok {
		return name.Name == "panic"
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, _ := fun0(fun, ok)
	switch pkg + "." + fun.Sel.Name {
	case "lang.L", "lang.N", "lang.X", "errors.New", "fmt.Errorf", "fyne.LogError", "slog.Error", "slog.Warn", "slog.Info", "slog.Debug", "time.Parse":
		return true
	}
	return fun.Sel.Name == "Format"
}

// glossary are the terms of the trade, the same on every screen. A translation of a text with the English word has one
// of the words beside it.
//
// German addresses people with Sie, French with vous, Spanish with usted or with nobody. A package is an envelope in
// French, where dossier is a folder already.
var glossary = []struct{ english, de, fr, es string }{
	{`\bpackages?\b`, `Paket`, `nveloppe|envoi|Envoi`, `aquete|Enviados`},
	{`\bdocuments?\b`, `okument`, `ocument`, `ocumento`},
	{`\bsigners?\b`, `nterzeichnende|Person|alle\b|[Jj]emand|wer unterschreibt`, `ignataire`, `irmante`},
	{`\b[Ss]igning service\b`, `ignaturdienst`, `ervice de signature`, `ervicio de firma`},
	{`\bfolders?\b`, `[Oo]rdner`, `ossier`, `arpeta`},
	{`\bkeyring\b`, `Schlüsselbund`, `trousseau`, `depósito`},
	{`\bnotifications?\b`, `enachrichtigung`, `otification`, `otificaci`},
	{`\bpublic address\b`, `öffentliche`, `adresse publique|qui n’est pas ouverte`, `dirección pública`},
	{`\breturn address\b`, `ückkehradresse`, `dresse de retour`, `irección de retorno`},
	{`\bclient ID\b`, `Client-ID`, `dentifiant client`, `dentificador`},
	{`\bclient secret\b`, `Client-Secret`, `ecret client`, `ecreto de cliente`},
	{`\bin Settings\b`, `Einstellungen`, `réglages`, `Ajustes`},
}

// written are all texts of a language in all their forms, those of the window by key, and those of messages by
// their English.
func written(t *testing.T, code string) (window map[string]map[string]string, book map[string]string) {
	t.Helper()
	book = map[string]string{}
	english := messages(t, "en")
	for id, forms := range messages(t, code) {
		for form, text := range forms {
			book[english[id][form]] += text + "\n"
		}
	}
	return windowTexts(t, code), book
}

// windowTexts are those of the window in all their forms, by key.
func windowTexts(t *testing.T, code string) map[string]map[string]string {
	t.Helper()
	return allForms(t, assets.Translations, "translations/"+code+".json")
}

// messages are the words of a language in all their forms, by id; see package message, whose tests find what is missing.
func messages(t *testing.T, code string) map[string]map[string]string {
	t.Helper()
	return allForms(t, assets.Messages, "messages/"+code+".json")
}

// allForms reads a file of texts; one without plural forms has the form "other" alone.
func allForms(t *testing.T, fs embed.FS, path string) map[string]map[string]string {
	t.Helper()
	data, err := fs.ReadFile(path)
	must(t, err)
	raw, all := map[string]any{}, map[string]map[string]string{}
	must(t, json.Unmarshal(data, &raw))
	for id, value := range raw {
		all[id] = map[string]string{}
		if forms, many := value.(map[string]any); many {
			for form, text := range forms {
				all[id][form] = text.(string)
			}
		} else {
			all[id]["other"] = value.(string)
		}
	}
	return all
}

// placeholder is where a value stands in a text.
var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// count is the number in a text that has plural forms.
const count = "{{.PluralCount}}"

// holes are the values of a text, each once.
func holes(text string) string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

func TestEveryLanguageHasEveryText(t *testing.T) {
	english, _ := written(t, "en")
	for _, code := range Languages()[1:] {
		texts, _ := written(t, code)
		for key, forms := range english {
			if len(texts[key]) == 0 {
				t.Errorf("%s.json lacks %q", code, key)
				continue
			}
			if len(texts[key]) != len(forms) {
				t.Errorf("%s.json: %q has other plural forms than in English", code, key)
			}
			for form, text := range texts[key] {
				values := forms[form]
				if len(forms) > 1 && strings.Contains(text, count) {
					values += count // "once" is a number too: see TestEveryCountSaysItsNumber
				}
				if strings.TrimSpace(text) == "" || holes(text) != holes(values) {
					t.Errorf("%s.json: %q has other values than %q", code, text, forms[form])
				}
			}
		}
		for key := range texts {
			if len(english[key]) == 0 {
				t.Errorf("%s.json has %q, which nobody says any more", code, key)
			}
		}
	}
}

// TestEveryCountSaysItsNumber renders each text that counts with numbers from every plural form there is: French has one
// form for 0 and 1, so that a 1 written out would stand there for nothing at all. A word such as "once" is for 1 alone.
func TestEveryCountSaysItsNumber(t *testing.T) {
	inEach(t, func(t *testing.T) {
		for key, forms := range windowTexts(t, Code()) {
			if len(forms) < 2 {
				continue
			}
			for _, n := range []int{0, 1, 2, 5, 1_000_000} {
				text := lang.N(key, n)
				if strings.Contains(text, "{{") || strings.Contains(text, "no value") {
					t.Errorf("%s: %d of %q: %q", Code(), n, key, text)
				}
				if once := n == 1 && !strings.ContainsFunc(text, unicode.IsDigit); !once && !strings.Contains(text, Number(n)) {
					t.Errorf("%s: %d of %q does not say the number: %q", Code(), n, key, text)
				}
			}
			for _, text := range forms {
				if strings.ContainsFunc(text, unicode.IsDigit) {
					t.Errorf("%s: %q has a number written out", Code(), text)
				}
			}
		}
	})
}

// TestWholeNumbersAreGroupedInEveryText gives every value of every text a million: a count stands in many texts that have
// no plural forms, such as "3 of 12 signed".
func TestWholeNumbersAreGroupedInEveryText(t *testing.T) {
	inEach(t, func(t *testing.T) {
		for key, forms := range windowTexts(t, Code()) {
			found := placeholder.FindAllStringSubmatch(forms["other"], -1)
			values := V{}
			for _, hole := range found {
				values[hole[1]] = 1_000_000
			}
			if got := lang.X(key, key, values); strings.Count(got, Number(1_000_000)) != len(found) {
				t.Errorf("%s: %q says %q of a million", Code(), key, got)
			}
		}
	})
}

func TestTheTermsOfTheTradeAreTheSameEverywhere(t *testing.T) {
	for i, code := range []string{"de", "fr", "es"} {
		texts, book := written(t, code)
		all := maps.Clone(book)
		for key, forms := range texts {
			for _, text := range forms {
				all[key] += text + "\n"
			}
		}
		for key, text := range all {
			for _, term := range glossary {
				want := []string{term.de, term.fr, term.es}[i]
				if regexp.MustCompile(term.english).MatchString(key) && !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("%s: %q does not say %q as the glossary has it", code, text, key)
				}
			}
		}
	}
}

// informal are words that address a person as a friend would, or that were left in English.
var informal = map[string]*regexp.Regexp{
	"de": regexp.MustCompile(`(?i)(^|\PL)(du|dein\pL*|dir|dich|bitte|the|and|your)(\PL|$)|!`),
	"fr": regexp.MustCompile(`(?i)(^|\PL)(tu|ton|ta|tes|toi|the|and|your)(\PL|$)|[^\x{a0}][;:?!](\s|$)|'`),
	"es": regexp.MustCompile(`(?i)(^|\PL)(tú|tu|tus|ti|contigo|vosotros|the|and|your)(\PL|$)`),
}

func TestPeopleAreAddressedFormally(t *testing.T) {
	for _, code := range Languages()[1:] {
		texts, book := written(t, code)
		for key, text := range book {
			if found := informal[code].FindString(text); found != "" {
				t.Errorf("%s: %q in %q (%s)", code, found, text, key)
			}
		}
		for key, forms := range texts {
			for _, text := range forms {
				if found := informal[code].FindString(text); found != "" && !strings.Contains(text, "Your Authtoken") {
					t.Errorf("%s: %q in %q (%s)", code, found, text, key)
				}
			}
		}
	}
}

func TestDatesAndNumbersFollowTheLanguage(t *testing.T) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	hook()
	at := time.Date(2026, 3, 3, 9, 14, 0, 0, now.Location())
	for code, want := range map[string][]string{
		"en": {"Tue 3 Mar", "3 Mar 09:14", "3 Mar 2025", "5 min", "2.4 MB", "840 KB", "50,000", "1 document", "2 documents"},
		"de": {"Di, 3. März", "3. März 09:14", "3. März 2025", "5\u00a0Min.", "2,4\u00a0MB", "840\u00a0KB", "50.000", "1 Dokument", "2 Dokumente"},
		"fr": {"mar. 3 mars", "3 mars 09:14", "3 mars 2025", "5\u00a0min", "2,4\u00a0Mo", "840\u00a0Ko", "50\u00a0000", "1 document", "2 documents"},
		"es": {"mar 3 mar", "3 mar 09:14", "3 mar 2025", "5\u00a0min", "2,4\u00a0MB", "840\u00a0KB", "50.000", "1 documento", "2 documentos"},
	} {
		c, err := load(code)
		must(t, err)
		chosen.Store(c)
		got := []string{Day(now, at), Clock(now, at), Age(now, at.AddDate(-1, 0, 0)), Age(now, now.Add(-5*time.Minute)),
			Size(2_400_000), Size(840_000), Number(50_000), Documents(1), Documents(2)}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", code, got, want)
		}
	}
}

func TestALanguageIsChosenAndLeftAgain(t *testing.T) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	for _, code := range append(Languages(), "", "tlh") {
		Use(code)
		want := map[string]string{"de": "2 Personen", "fr": "2 personnes", "es": "2 personas"}[code]
		if want == "" {
			want = "2 people"
		}
		if got := People(2); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
