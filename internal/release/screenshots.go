package main

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/image/bmp"
	scale "golang.org/x/image/draw"
)

// screenshot is a picture of the window for software centres. It is one of the window's tests, so that it shows what people get.
type screenshot struct {
	test, name string            // the picture in ui/window/testdata, and what it shows
	captions   map[string]string // by language
}

var screenshots = []screenshot{
	{"packages-saved.png", "packages", map[string]string{
		"en": "What was sent, who has signed, and what was saved",
		"de": "Was gesendet, unterschrieben und gespeichert wurde",
		"fr": "Ce qui a été envoyé, signé et enregistré",
		"es": "Lo que se envió, se firmó y se guardó",
	}},
	{"send-filled.png", "send", map[string]string{
		"en": "Files, signers, a message: ready to send",
		"de": "Dateien, Unterzeichner, eine Nachricht: bereit zum Senden",
		"fr": "Fichiers, signataires, message : prêt à envoyer",
		"es": "Archivos, firmantes, un mensaje: listo para enviar",
	}},
	{"packages-dark.png", "dark", map[string]string{
		"en": "The window in the dark, as the desktop likes it",
		"de": "Das Fenster im Dunkeln, wie der Desktop es mag",
		"fr": "La fenêtre en mode sombre, au goût du bureau",
		"es": "La ventana en modo oscuro, como la prefiere el escritorio",
	}},
}

// shown is a screenshot as the description for software centres names it.
type shown struct {
	file, Address string
	Captions      map[string]string
}

// shown are the screenshots at the address where the release will lie; none without one, for software centres load pictures from
// nowhere else.
func (p product) shown() (list []shown) {
	if p.announced.address == "" {
		return nil
	}
	folder := p.announced.address[:strings.LastIndex(p.announced.address, "/")+1]
	for _, s := range screenshots {
		list = append(list, shown{filepath.Join(p.root, "ui", "window", "testdata", s.test), folder + "countersign-" + p.version + "-" + s.name + ".png", s.captions})
	}
	return list
}

// publishScreenshots puts the screenshots where the description says that they are: beside the rest of the release.
func (p product) publishScreenshots() (err error) {
	for _, s := range p.shown() {
		err = errors.Join(err, copyFile(s.file, filepath.Join(p.out, path.Base(s.Address))))
	}
	return err
}

// metainfo is the description for software centres (AppStream).
func (p product) metainfo() ([]byte, error) {
	changes, err := p.changes()
	if err != nil {
		return nil, err
	}
	kind := "stable"
	if strings.ContainsAny(p.packageVersion(), "~+") {
		kind = "development"
	}
	return p.form("linux/ch.countersign.app.metainfo.xml", map[string]any{
		"Version": p.packageVersion(), "Date": p.made.Format("2006-01-02"), "Kind": kind, "Changes": changes,
		"Homepage": p.announced.page, "Screenshots": p.shown(), "Languages": []string{"en", "de", "fr", "es"},
	})
}

// The pictures on the installer's pages, in pixels at twice the size of NSIS's forms, for screens of today. They are drawn from the
// icon, on the colours of the window (Paper and Ink in ui/theme).
var (
	welcomeSize = image.Pt(2*164, 2*314)
	headSize    = image.Pt(2*150, 2*57)
	paper       = color.NRGBA{0xFA, 0xF9, 0xF6, 0xFF}
	ink         = color.NRGBA{0x24, 0x50, 0x7A, 0xFF}
)

// installerPictures writes into dir the picture of the first and last page, and that of the head of the others, without transparency
// and of 24 bits, as NSIS wants them.
func (p product) installerPictures(dir string) error {
	file, err := os.ReadFile(filepath.Join(p.root, "assets", "icons", "icon-512.png"))
	if err != nil {
		return err
	}
	icon, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	welcome := image.NewNRGBA(image.Rectangle{Max: welcomeSize})
	fill(welcome, welcome.Bounds(), paper)
	fill(welcome, image.Rect(0, 0, 12, welcomeSize.Y), ink)
	put(welcome, icon, image.Rect(64, 96, 64+212, 96+212))
	head := image.NewNRGBA(image.Rectangle{Max: headSize})
	fill(head, head.Bounds(), color.White)
	put(head, icon, image.Rect(headSize.X-106, 8, headSize.X-8, 8+98))
	var first, other bytes.Buffer
	return errors.Join(bmp.Encode(&first, welcome), bmp.Encode(&other, head),
		write(filepath.Join(dir, "welcome.bmp"), first.Bytes()), write(filepath.Join(dir, "head.bmp"), other.Bytes()))
}

func fill(on draw.Image, where image.Rectangle, with color.Color) {
	draw.Draw(on, where, image.NewUniform(with), image.Point{}, draw.Src)
}

func put(on draw.Image, what image.Image, where image.Rectangle) {
	scale.CatmullRom.Scale(on, where, what, what.Bounds(), scale.Over, nil)
}
