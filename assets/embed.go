// Package assets holds the files that travel inside the program: icons, state marks, translations, the words of messages,
// the demo's sample documents and the page that the browser shows after a sign-in. But for the pages of the sandbox,
// which stands alone, it is the only place with go:embed. It promises that every name it offers exists (its tests read
// each one) and knows nothing of what the files are used for.
//
// Icons and samples are drawn by gen; `go generate ./assets` writes them again, byte for byte.
package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
)

//go:generate go run ./gen

// Translations holds translations/LANGUAGE.json as Fyne's lang package reads them. All are complete.
//
//go:embed translations
var Translations embed.FS

// Messages holds messages/LANGUAGE.json: the words of each message, by its id. See package message. All are complete.
//
//go:embed messages
var Messages embed.FS

//go:embed docs
var docs embed.FS

// Doc returns a page of the manual as Markdown: admin, develop, interface, service-facts or changes. ok is false for another one.
func Doc(topic string) (text []byte, ok bool) {
	text, err := docs.ReadFile("docs/" + topic + ".md")
	return text, err == nil
}

//go:embed icons icon.svg marks
var pictures embed.FS

//go:embed samples
var samples embed.FS

//go:embed services.json
var services []byte

// Services returns the presets of signing services as JSON: a list of objects with name, auth_url, base_url and
// signature_header. The first is the neutral one of the interface, the last are those for trying out; the hosts are from
// service-facts.md, 1, that their sign-in lies on the same host is inferred there.
func Services() []byte { return services }

//go:embed web/return.html
var returnPage string

var returnTemplate = template.Must(template.New("return").Parse(returnPage))

// forgetCode takes the sign-in's code out of the browser's address bar and history.
const forgetCode = `history.replaceState(null, "", location.pathname)`

// ReturnPolicy is the Content-Security-Policy of the page that WriteReturn writes: its own styles, its one script, and
// nothing else.
var ReturnPolicy = func() string {
	script := sha256.Sum256([]byte(forgetCode))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(script[:]) + "'"
}()

// Tray is a state that the tray icon shows.
type Tray string

// The states of the tray, from quiet to loud.
const (
	TrayFine      Tray = "fine"
	TrayWorking   Tray = "working"
	TrayAttention Tray = "attention"
)

// Icon returns the program's icon as a PNG of size x size pixels; sizes are 512, 256, 128, 64, 48, 32 and 22.
func Icon(size int) ([]byte, error) { return pictures.ReadFile(fmt.Sprintf("icons/icon-%d.png", size)) }

// TrayIcon returns the tray icon for a state as a PNG; sizes are 22, 44 and 64.
func TrayIcon(state Tray, size int) ([]byte, error) {
	return pictures.ReadFile(fmt.Sprintf("icons/tray-%s-%d.png", state, size))
}

// Mark returns one of the one-coloured state marks as SVG: signed, next, later, ended, note, problem, saved or drop.
func Mark(name string) ([]byte, error) { return pictures.ReadFile("marks/" + name + ".svg") }

// Samples returns the demo's documents, PDF files in the root of the file system.
func Samples() fs.FS {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		panic(err) // the path is a constant and valid
	}
	return sub
}

// Return says what the browser shows when a sign-in comes back. The texts are in Language, a code for HTML or "".
type Return struct {
	OK                  bool
	Language            string
	Heading, Text, Next string // a line each: how it went, the detail, what to do now
}

// WriteReturn writes the page for r as HTML, to be sent under ReturnPolicy. The page loads nothing from elsewhere, and all
// texts are escaped.
func WriteReturn(w io.Writer, r Return) error {
	page := struct {
		Return
		Script template.JS
	}{r, forgetCode}
	if err := returnTemplate.Execute(w, page); err != nil {
		return fmt.Errorf("write the sign-in page: %w", err)
	}
	return nil
}
