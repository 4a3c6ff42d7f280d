// Package evidence writes proof about a package for somebody without this program: a report for people, as PDF and as text,
// and a ZIP that contains everything the report mentions and the checksums of all files.
//
// It promises:
//   - A bundle contains what it was given, byte for byte, and its last file, Sums, lists all others in the format of
//     sha256sum.
//   - Names in a bundle are plain and distinct, whatever the originals were called.
//
// It must not know what is proven, nor in which language.
package evidence

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"countersign/internal/office/filename"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
)

// Sums is the name of the file that lists all others.
const Sums = "SHA256SUMS"

// Bundle is a ZIP being written. After a read or write error it writes nothing more; Close returns the first error.
type Bundle struct {
	zip   *zip.Writer
	err   error
	made  time.Time
	sums  bytes.Buffer
	taken map[string]bool // names in lower case
}

// NewBundle begins a ZIP; made is the date of all its files.
func NewBundle(w io.Writer, made time.Time) *Bundle {
	return &Bundle{zip: zip.NewWriter(w), made: made, taken: map[string]bool{}}
}

// Add adds a file to a folder of the bundle, "" for its top, and returns its name there and its hexadecimal SHA-256.
func (b *Bundle) Add(folder, name string, content io.Reader) (as, sum string) {
	as = b.free(path.Join(folder, filename.File(name)))
	hash := sha256.New()
	b.write(as, io.TeeReader(content, hash))
	sum = hex.EncodeToString(hash.Sum(nil))
	fmt.Fprintf(&b.sums, "%s  %s\n", sum, as)
	return as, sum
}

func (b *Bundle) write(name string, content io.Reader) {
	if b.err != nil {
		return
	}
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.made})
	if err == nil {
		_, err = io.Copy(w, content)
	}
	b.err = err
}

// free is a name that no file in the bundle has, even ignoring case.
func (b *Bundle) free(name string) (as string) {
	as = name
	for n := 2; b.taken[strings.ToLower(as)]; n++ {
		as = filename.Numbered(name, n)
	}
	b.taken[strings.ToLower(as)] = true
	return as
}

// Close adds the checksums and ends the ZIP.
func (b *Bundle) Close() error {
	b.write(Sums, &b.sums)
	return cmp.Or(b.err, b.zip.Close())
}

// Report is the readable part of a proof, in the reader's language.
type Report struct {
	Title    string
	Subtitle string
	Made     time.Time
	Parts    []Part
}

// Part is a section of a Report.
type Part struct {
	Title string
	Lines []Line
}

// Line is a labelled value, a paragraph if it has no label, or a command in a fixed-width font.
type Line struct {
	Label, Value string
	Command      bool
}

// Add adds a line, unless value is empty.
func (p *Part) Add(label, value string) {
	if value != "" {
		p.Lines = append(p.Lines, Line{Label: label, Value: value})
	}
}

// Text writes the report as plain text.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.Title, r.Subtitle)
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "\n\n%s\n\n", p.Title)
		for _, l := range p.Lines {
			switch {
			case l.Command:
				fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(l.Value, "\n", "\n    "))
			case l.Label == "":
				fmt.Fprintf(&b, "%s\n", l.Value)
			default:
				fmt.Fprintf(&b, "%s: %s\n", l.Label, l.Value)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The dimensions of a page of the report, in millimetres.
const (
	margin     = 20
	width      = 210 - 2*margin
	labelWidth = 46
	lineHeight = 4.6
)

func (r Report) PDF(w io.Writer) error {
	f := fpdf.New("P", "mm", "A4", "")
	for style, font := range map[string][]byte{"": goregular.TTF, "B": gobold.TTF} {
		f.AddUTF8FontFromBytes("go", style, font)
	}
	f.AddUTF8FontFromBytes("mono", "", gomono.TTF)
	f.SetTitle(printable(r.Title), true)
	f.SetCreator("Countersign", true)
	f.SetCreationDate(r.Made)
	f.SetModificationDate(r.Made)
	f.SetMargins(margin, margin, margin)
	f.SetAutoPageBreak(true, margin)
	f.AliasNbPages("{pages}")
	f.SetFooterFunc(func() {
		f.SetY(-14)
		f.SetFont("go", "", 8)
		f.SetTextColor(120, 120, 120)
		f.CellFormat(width, 5, fmt.Sprintf("%d / {pages}", f.PageNo()), "", 0, "R", false, 0, "")
	})
	f.AddPage()
	paragraph := func(style string, size, height float64, gray int, text string) {
		f.SetFont("go", style, size)
		f.SetTextColor(gray, gray, gray)
		f.MultiCell(width, height, printable(text), "", "L", false)
	}
	paragraph("B", 18, 8.5, 20, r.Title)
	f.Ln(1.5)
	paragraph("", 9.5, lineHeight, 110, r.Subtitle)
	for _, p := range r.Parts {
		f.Ln(6)
		if f.GetY() > 297-margin-25 { // no heading alone at the foot of a page
			f.AddPage()
		}
		paragraph("B", 12, 6.5, 20, p.Title)
		f.SetDrawColor(205, 205, 205)
		f.Line(margin, f.GetY()+0.6, margin+width, f.GetY()+0.6)
		f.Ln(2.4)
		for _, l := range p.Lines {
			r.line(f, l)
		}
	}
	return f.Output(w)
}

// printable removes what the PDF's fonts do not support: characters above U+FFFF, such as most emojis.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff {
			return '\ufffd'
		}
		return r
	}, text)
}

func (r Report) line(f *fpdf.Fpdf, l Line) {
	if f.GetY() > 297-margin-2*lineHeight { // keeps a label and the beginning of its value on one page
		f.AddPage()
	}
	page, top, indent := f.PageNo(), f.GetY(), float64(margin)
	bottom := top
	if l.Label != "" {
		f.SetFont("go", "", 8.5)
		f.SetTextColor(110, 110, 110)
		f.MultiCell(labelWidth-3, lineHeight, printable(l.Label), "", "L", false)
		bottom = f.GetY()
		f.SetY(top)
		indent += labelWidth
	}
	f.SetFont("go", "", 9.5)
	if l.Command {
		f.SetFont("mono", "", 8)
		indent += 4
	}
	f.SetTextColor(20, 20, 20)
	f.SetLeftMargin(indent)
	f.SetX(indent)
	f.MultiCell(margin+width-indent, lineHeight, printable(l.Value), "", "L", false)
	f.SetLeftMargin(margin)
	if f.PageNo() == page {
		f.SetY(max(f.GetY(), bottom))
	}
	f.Ln(0.8)
}
