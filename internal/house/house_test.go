package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"countersign/internal/fasttest"
	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

const (
	root   = "../.."
	module = "countersign"
)

// goPackage is the output of `go list -json` for a package.
type goPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
}

// goList runs go list from the top.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	return out
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out := goList(t, "-json=ImportPath,Dir,GoFiles,Imports,Deps,TestImports,XTestImports", "./...")
	var list []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// tracked are the files in git, as slashed paths from the top. If git cannot read this tree, because it was exported or has
// another owner, they are all files except build output.
func tracked(t *testing.T) (files []string) {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	}
	t.Log("git does not know this tree; taking what is there")
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (path == ".git" || path == "build"):
			return fs.SkipDir
		case !e.IsDir():
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A binary that slips into a commit stays in every clone for ever.
func TestNothingBuiltIsKept(t *testing.T) {
	const most = 1 << 20
	for _, f := range tracked(t) {
		info, err := os.Lstat(filepath.Join(root, f))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", f, info.Size(), most)
		}
	}
}

func TestTheTopLevelIsTheAgreedOne(t *testing.T) {
	agreed := []string{"go.mod", "go.sum", "main.go", "ui", "internal", "assets", "FyneApp.toml", "Makefile", "README.md"}
	seen := map[string]bool{}
	for _, f := range tracked(t) {
		top, _, _ := strings.Cut(f, "/")
		seen[top] = true
	}
	for top := range seen {
		if !strings.HasPrefix(top, ".") && !slices.Contains(agreed, top) {
			t.Errorf("%s lies beside the agreed top level", top)
		}
	}
	for _, want := range agreed {
		if !seen[want] {
			t.Errorf("%s is missing from the top level", want)
		}
	}
}

func TestMainIsUnderSixtyLines(t *testing.T) {
	b := must(os.ReadFile(filepath.Join(root, "main.go")))
	if n := bytes.Count(b, []byte("\n")); n >= 60 {
		t.Errorf("main.go has %d lines", n)
	}
}

func TestNothingBelowInternalImportsFyne(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/internal/") {
			continue
		}
		for _, d := range p.Deps {
			if strings.HasPrefix(d, "fyne.io/") {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}

// The server program is built without a C compiler, for any system: C code would be missing from it or, if a package has a
// worse alternative without C, that would be in it.
func TestTheServersProgramLinksNoC(t *testing.T) {
	for _, system := range []string{"linux", "windows", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "-f", `{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}`, "./internal/server")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=1")
		if out, err := cmd.Output(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: with C are %s (%v)", system, out, err)
		}
	}
}

// Fyne's driver is C code that takes minutes to compile, and the race detector would need it compiled a second time.
func TestWhatLinksTheDriverIsTestedWithoutTheRaceDetector(t *testing.T) {
	makefile := must(os.ReadFile(filepath.Join(root, "Makefile")))
	plain := regexp.MustCompile(`(?m)^PLAIN := (.*)$`).FindSubmatch(makefile)
	if plain == nil {
		t.Fatal("the Makefile names no PLAIN packages")
	}
	list := exec.Command("go", append([]string{"list"}, strings.Fields(string(plain[1]))...)...)
	list.Dir = root
	spared := must(list.Output())
	cmd := exec.Command("go", "list", "-test", "-f", `{{if not .ForTest}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}`, "./...")
	cmd.Dir = root
	out := must(cmd.Output())
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		if len(names) == 0 || !slices.ContainsFunc(names[1:], func(d string) bool { return strings.HasPrefix(d, "github.com/go-gl/") }) {
			continue
		}
		if of := strings.TrimSuffix(names[0], ".test"); !slices.Contains(strings.Fields(string(spared)), of) {
			t.Errorf("%s links Fyne's driver and is not among the Makefile's PLAIN", of)
		}
	}
}

// allowed says which of our packages a package may import. Packages that are not listed may import none. Leaves import no
// other leaf; private, disk and sessionbus are below them, because they do what the system's own calls should do: files
// private to their owner, names that survive a power failure, connections that obey their context. So is message, the texts
// for people, which everything below internal/ may import.
var allowed = map[string][]string{
	"":                             {"internal/cli", "internal/agent", "ui", "ui/autostart", "ui/system", "ui/i18n", "ui/opengl"},
	"internal/server":              {"internal/cli", "ui/system"},
	"internal/cli":                 {"internal/cli/terminal", "internal/policy", "internal/disk", "internal/office", "internal/agent", "internal/demo", "internal/sandbox", "internal/sandbox/press", "internal/single", "internal/notify", "internal/secret", "internal/store", "internal/compare", "internal/preview", "internal/seal", "internal/table", "internal/locations", "internal/private", "assets"},
	"internal/cli/terminal":        {},
	"internal/demo":                {"internal/office", "internal/agent", "internal/sandbox", "internal/secret", "internal/store", "assets"},
	"internal/office/settingstest": {"internal/office"},
	"internal/agent/data":          {"internal/disk", "internal/agent/health", "internal/message", "internal/office", "internal/store"},
	"internal/agent/loop":          {"internal/agent/data", "internal/agent/health", "internal/message", "internal/office", "internal/store", "internal/esign"},
	"internal/agent/loop/looptest": {"internal/agent/data", "internal/agent/health", "internal/agent/loop", "internal/esign", "internal/office", "internal/store", "internal/trytest"},
	"internal/agent/health":        {},
	"internal/agent/transfer":      {"internal/agent/data", "internal/agent/health", "internal/agent/loop", "internal/disk", "internal/message", "internal/office", "internal/office/filename", "internal/private", "internal/safe", "internal/store"},
	"internal/agent/account":       {"internal/agent/data", "internal/agent/health", "internal/agent/issuer", "internal/agent/loop", "internal/esign", "internal/office", "internal/proxy", "internal/secret", "internal/store", "internal/tunnel", "assets"},
	"internal/agent/desks":         {"internal/agent/data", "internal/agent/health", "internal/agent/issuer", "internal/agent/loop", "internal/desk", "internal/hub", "internal/nearby", "internal/office", "internal/safe", "internal/secret", "internal/store"},
	"internal/nearby":              {},
	"internal/hub":                 {},
	"internal/desk":                {},
	"internal/agent/webhook":       {"internal/agent/data", "internal/agent/health", "internal/agent/issuer", "internal/agent/loop", "internal/esign", "internal/inbox", "internal/office", "internal/secret", "internal/store", "internal/tunnel"},
	"internal/agent/issuer":        {"internal/esign", "internal/office"},
	"internal/message":             {"assets"},
	"internal/agent":               {"internal/record", "internal/disk", "internal/private", "internal/safe", "internal/office", "internal/esign", "internal/tunnel", "internal/inbox", "internal/store", "internal/secret", "internal/archive", "internal/compare", "internal/preview", "internal/table", "internal/locations", "internal/update", "internal/policy", "internal/proxy", "assets"},
	"internal/agent/announce":      {"internal/agent/data", "internal/agent/loop", "internal/agent/health", "internal/office", "internal/store"},
	"internal/agent/outbox":        {"internal/disk", "internal/agent/apply", "internal/agent/data", "internal/agent/loop", "internal/agent/health", "internal/office", "internal/store", "internal/archive", "internal/esign", "internal/preview", "internal/locations"},
	"internal/agent/bulk":          {"internal/disk", "internal/agent/data", "internal/agent/loop", "internal/office", "internal/preview", "internal/store", "internal/table"},
	"internal/agent/dropped":       {"internal/disk", "internal/locations", "internal/office", "internal/office/filename", "internal/private"},
	"internal/agent/network":       {"internal/agent/health", "internal/agent/issuer", "internal/agent/loop", "internal/esign", "internal/office", "internal/proxy", "internal/tunnel"},
	"internal/agent/withdraw":      {"internal/agent/data", "internal/agent/health", "internal/agent/loop", "internal/office", "internal/store", "internal/esign"},
	"internal/agent/hotfolder":     {"internal/disk", "internal/agent/data", "internal/agent/health", "internal/agent/loop", "internal/archive", "internal/office", "internal/office/filename", "internal/store"},
	"internal/agent/updates":       {"internal/agent/data", "internal/agent/loop", "internal/office", "internal/store", "internal/update"},
	"internal/update":              {"internal/private"},
	"internal/policy":              {"internal/disk"},
	"internal/agent/form":          {"internal/agent/data", "internal/agent/loop", "internal/office", "internal/store"},
	"internal/agent/apply":         {"internal/office", "internal/esign"},
	"internal/agent/reconcile":     {"internal/agent/apply", "internal/agent/data", "internal/agent/loop", "internal/agent/health", "internal/esign", "internal/office", "internal/store"},
	"internal/agent/download":      {"internal/agent/apply", "internal/disk", "internal/agent/data", "internal/agent/loop", "internal/agent/health", "internal/office", "internal/office/filename", "internal/esign", "internal/store", "internal/archive"},
	"internal/agent/proof":         {"internal/record", "internal/disk", "internal/evidence", "internal/private", "internal/agent/data", "internal/agent/health", "internal/agent/loop", "internal/archive", "internal/office", "internal/compare", "internal/preview", "internal/seal", "internal/store"},
	"internal/inbox":               {"internal/esign"},
	"internal/sandbox":             {"internal/sandbox/press"},
	"internal/sandbox/press":       {},
	"internal/disk":                {},
	"internal/esign":               {"internal/office"},
	"internal/proxy":               {"internal/sessionbus"},
	"internal/proxy/proxytest":     {},
	"internal/store":               {"internal/disk", "internal/office", "internal/office/filename", "internal/private", "internal/record"},
	"internal/record":              {},
	"internal/secret":              {"internal/disk", "internal/private"},
	"internal/locations":           {"internal/disk", "internal/private"},
	"internal/office":              {"internal/office/filename"},
	"internal/office/filename":     {},
	"internal/private":             {"internal/disk"},
	"internal/archive":             {"internal/disk", "internal/office/filename"},
	"internal/notify":              {"internal/disk", "internal/office", "internal/private", "internal/sessionbus"},
	"internal/sessionbus":          {},
	"internal/sessionbus/bustest":  {"internal/fasttest"},
	"internal/safe":                {},
	"internal/single":              {},
	"internal/preview":             {"internal/disk"},
	"internal/table":               {"internal/office"},
	"internal/seal":                {"internal/office"},
	"internal/compare":             {},
	"internal/evidence":            {"internal/office/filename"},
	"internal/release":             {"internal/cli", "internal/update"},
	"internal/tunnel":              {},
	"internal/tunnel/ngroktest":    {},
	"internal/house":               {},
	"internal/house/mutate":        {},
	"internal/fasttest":            {},
	"internal/trytest":             {},
	"internal/e2e":                 {},
	"internal/sim":                 {},
	"internal/e2e/harness":         {"internal/tunnel/ngroktest", "internal/e2e/portaltest", "internal/fasttest", "internal/sessionbus/bustest", "ui/displaytest"},
	"internal/e2e/portaltest":      {},
	"internal/e2e/powercut":        {"internal/fasttest"},
	"internal/e2e/smalldisk":       {},
	"assets":                       {},
	"assets/gen":                   {"internal/office"},
}

func TestLayersPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "ui" || strings.HasPrefix(name, "ui/") {
			checkUI(t, name, p)
			continue
		}
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is not in the plan of the house", name)
			continue
		}
		for _, i := range p.Imports {
			other, ours := strings.CutPrefix(i, module+"/")
			room := name == "internal/agent" && strings.HasPrefix(other, "internal/agent/") // which it creates and connects
			if ours && !room && other != "internal/message" && !slices.Contains(may, other) {
				t.Errorf("%s must not import %s", name, other)
			}
		}
	}
}

// checkUI: the UI talks to the agent, and knows the office's records and messages; it uses nothing else below internal/,
// except that its part for the system uses package disk and the session bus, and its part for dropped files cleans names as
// the office does.
func checkUI(t *testing.T, name string, p goPackage) {
	for _, i := range p.Imports {
		other, ours := strings.CutPrefix(i, module+"/internal/")
		system := (name == "ui/system" || name == "ui/autostart") && (other == "disk" || other == "sessionbus")
		drops := name == "ui/drop" && other == "office/filename"
		aids := name == "ui/displaytest" && other == "fasttest"
		if ours && other != "agent" && other != "office" && other != "message" && !system && !drops && !aids {
			t.Errorf("%s must not import internal/%s", name, other)
		}
	}
}

func TestTheSandboxIsAnIndependentReading(t *testing.T) {
	for _, p := range packages(t) {
		const own = module + "/internal/sandbox"
		if !strings.HasPrefix(p.ImportPath, own) {
			continue
		}
		for _, i := range slices.Concat(p.Imports, p.Deps, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(i, module+"/") && !strings.HasPrefix(i, own) {
				t.Errorf("%s depends on %s", p.ImportPath, i)
			}
		}
	}
}

func TestEveryPackageAndFileKeepsItsShape(t *testing.T) {
	for _, p := range packages(t) {
		documented := false
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			src := must(os.ReadFile(path))
			f := must(parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments))
			documented = documented || documents(f)
			if m := leftToDo.Find(src); m != nil && !strings.HasSuffix(p.ImportPath, "/house") {
				t.Errorf("%s leaves something to do: %s", path, m)
			}
		}
		if len(p.GoFiles) > 0 && !documented {
			t.Errorf("%s does not say what it is for", p.ImportPath)
		}
	}
}

var leftToDo = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// documents reports whether f has a real package comment.
func documents(f *ast.File) bool { return f.Doc != nil && len(f.Doc.Text()) > 60 }

// Code that only tests reach belongs in test files, except what exists for tests (packages called ...test, the harness, the
// powercut and small disks, the controls of the embedded service, the list of health states), structures of other systems,
// and what encoding/json finds only by reflection.
var forTests = regexp.MustCompile(`(test|harness|powercut|smalldisk)/|^internal/notify/toast\.go|` +
	`^internal/(sandbox/control|agent/health/registry)\.go|^ui/(autostart/forms|system/takeover|drop/descriptor)\.go|` +
	`^internal/proxy/list\.go|func: (DropSilent|Issue\.UnmarshalJSON)$`)

func TestEverythingIsCalled(t *testing.T) {
	fasttest.Slow(t)
	cmd := exec.Command("go", "tool", "deadcode", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOGC=400") // a third less time, for 5 GB of memory
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !forTests.MatchString(line) {
			t.Errorf("nothing but tests calls %s", line)
		}
	}
}
