package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parsers are packages that read whole documents, pictures or archives: there, a few bytes from outside can become
// gigabytes.
var parsers = []string{
	"github.com/pdfcpu/", "github.com/klippa-app/", "github.com/tetratelabs/", "codeberg.org/go-pdf/",
	"image/gif", "image/jpeg", "image/png", "golang.org/x/image/", "archive/", "compress/", "encoding/gob", "encoding/xml",
}

// ownData are the packages besides preview that may import some of them, because they only read this program's own data.
var ownData = map[string][]string{
	"assets/gen": {"codeberg.org/go-pdf/fpdf", "golang.org/x/image/bmp", "golang.org/x/image/vector", "image/png", "encoding/xml"}, // draws icons and samples, writes templates
	// What it reads was sealed by one of our offices, is streamed to the disk, and is no longer than its list says.
	"internal/agent/transfer": {"compress/flate", "compress/gzip"},
	"internal/store":          {"compress/flate"},                                                                                                                                                        // lines that it packed itself
	"internal/esign":          {"compress/gzip"},                                                                                                                                                         // a document that comes packed: it streams to the disk like any of unknown length
	"internal/evidence":       {"archive/zip", "codeberg.org/go-pdf/fpdf", "golang.org/x/image/font/gofont/gobold", "golang.org/x/image/font/gofont/gomono", "golang.org/x/image/font/gofont/goregular"}, // writes reports
	"internal/e2e/harness":    {"image/png"},                                                                                                                                                             // looks at the window
	"internal/notify":         {"golang.org/x/image/draw", "image/png"},                                                                                                                                  // the program's icon
	"internal/release":        {"archive/tar", "archive/zip", "compress/gzip"},                                                                                                                           // writes packages
	"ui/screentest":           {"image/png"},                                                                                                                                                             // reads the tests' pictures
	"ui/autostart":            {"encoding/xml"},                                                                                                                                                          // writes a text with markup
}

func TestDocumentsFromOutsideAreReadInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "internal/preview" || name == "internal/seal" || name == "internal/compare" || strings.HasPrefix(name, "internal/sandbox") { // seal and compare read in preview's process; the sandbox stands for a third party's service
			continue
		}
		for _, i := range p.Imports {
			parses := slices.ContainsFunc(parsers, func(prefix string) bool { return strings.HasPrefix(i, prefix) })
			if parses && !slices.Contains(ownData[name], i) {
				t.Errorf("%s reads with %s; only internal/preview reads what comes from outside", name, i)
			}
		}
	}
}

// fyneLoaders load a picture through Fyne itself, from a file or an address, in this process.
var fyneLoaders = regexp.MustCompile(`\b(NewImageFrom(File|URI|Reader)|LoadResourceFrom\w+|NewRasterFromImage\w*|SetIconFromFile)\(|\bimage\.Decode`)

func TestTheWindowLoadsNoPictures(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, f))
		if os.IsNotExist(err) {
			continue // removed, but not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := fyneLoaders.Find(b); m != nil {
			t.Errorf("%s: %s reads a picture", f, m)
		}
	}
}
