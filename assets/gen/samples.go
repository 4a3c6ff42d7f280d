package main

import (
	"bytes"
	"fmt"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// written is the date that all samples carry, so that generating them again gives the same bytes.
var written = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// sample is one document: paragraphs under headings, and the lines on which people sign.
type sample struct {
	from, title, place string
	parts              []part
	signatures         []string
}

// part is a heading (empty for none) with its paragraphs. page starts a new page.
type part struct {
	heading string
	text    []string
	page    bool
}

func (s sample) pdf() ([]byte, error) {
	f := fpdf.New("P", "mm", "A4", "")
	f.SetCreationDate(written)
	f.SetModificationDate(written)
	f.SetCatalogSort(true)
	f.SetTitle(s.title, true)
	f.SetAuthor(s.from, true)
	f.SetMargins(25, 22, 25)
	f.SetAutoPageBreak(true, 22)
	latin := f.UnicodeTranslatorFromDescriptor("") // the built-in fonts know Windows-1252 only
	f.SetFooterFunc(func() {
		f.SetY(-15)
		f.SetFont("Helvetica", "", 8)
		f.SetTextColor(110, 118, 128)
		f.CellFormat(0, 5, latin(fmt.Sprintf("%s · page %d", s.title, f.PageNo())), "", 0, "C", false, 0, "")
	})
	f.AddPage()
	f.SetFont("Helvetica", "", 9)
	f.SetTextColor(94, 105, 119)
	f.MultiCell(0, 5, latin(s.from), "", "L", false)
	f.Ln(8)
	f.SetFont("Times", "B", 20)
	f.SetTextColor(28, 36, 48)
	f.MultiCell(0, 9, latin(s.title), "", "L", false)
	f.Ln(2)
	f.SetFont("Helvetica", "", 9)
	f.MultiCell(0, 5, latin(s.place), "", "L", false)
	f.Ln(5)
	for _, p := range s.parts {
		if p.page {
			f.AddPage()
		}
		if p.heading != "" {
			f.SetFont("Helvetica", "B", 11)
			f.MultiCell(0, 6, latin(p.heading), "", "L", false)
			f.Ln(1)
		}
		f.SetFont("Times", "", 11)
		for _, text := range p.text {
			f.MultiCell(0, 5.4, latin(text), "", "L", false)
			f.Ln(2.2)
		}
		f.Ln(1.5)
	}
	s.sign(f, latin)
	var out bytes.Buffer
	if err := f.Output(&out); err != nil {
		return nil, fmt.Errorf("write %q: %w", s.title, err)
	}
	return out.Bytes(), nil
}

// sign draws one line for each signature, two side by side.
func (s sample) sign(f *fpdf.Fpdf, latin func(string) string) {
	y := f.GetY() + 18
	for i, who := range s.signatures {
		x := 25.0 + float64(i%2)*85
		f.Line(x, y, x+70, y)
		f.SetFont("Helvetica", "", 9)
		f.SetXY(x, y+1)
		f.CellFormat(70, 5, latin(who), "", 0, "L", false, 0, "")
		if i%2 == 1 {
			y += 24
		}
	}
}
