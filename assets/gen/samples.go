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

// samples are the documents that the demo sends. People and places are invented.
func samples() map[string]sample {
	return map[string]sample{"Lease Sonnenweg 4.pdf": lease(), "Offer 2026-118.pdf": offer(), "Mandate Keller.pdf": mandate()}
}

func lease() sample {
	return sample{
		from:  "Weber & Partner Immobilien AG · Bahnhofstrasse 12 · 8001 Zürich",
		title: "Lease: Sonnenweg 4, second floor",
		place: "Zürich, 2 November 2026",
		parts: []part{
			{"1. Parties", []string{
				"Landlord: Weber & Partner Immobilien AG, Bahnhofstrasse 12, 8001 Zürich, represented by Jan Weber.",
				"Tenants: Ana Ruiz and Björn Åkesson, at present Lindenhof 9, 8400 Winterthur, jointly and severally liable."}, false},
			{"2. Premises", []string{
				"Flat with 3.5 rooms on the second floor of Sonnenweg 4, 8032 Zürich, 84 square metres, with cellar compartment no. 7 and bicycle place no. 12. The premises are let as a dwelling for two persons.",
				"The inventory and the record of condition made at the handover are part of this lease."}, false},
			{"3. Term and notice", []string{
				"The lease begins on 1 January 2027 and runs for an indefinite time. Either side may end it with three months' notice to the end of March or September, for the first time on 30 September 2027.",
				"Notice is given in writing. Both tenants sign it; the landlord addresses it to each of them separately."}, false},
			{"4. Rent and payment", []string{
				"Net rent CHF 2,340.00, heating and hot water on account CHF 160.00, other running costs on account CHF 85.00; together CHF 2,585.00 a month, due in advance on the first day.",
				"Payments on account are settled once a year on 30 June. The rent is tied to the reference interest rate of 1.50 per cent and to the consumer price index of September 2026."}, false},
			{"5. Deposit", []string{
				"The tenants pay a deposit of CHF 7,020.00 into a savings account in their names at a bank in Zürich before the keys are handed over. It is released with the consent of both sides."}, false},
			{"6. Use and care", []string{
				"The tenants use the premises with care and have regard for the neighbours. Quiet hours are from 22:00 to 06:00 and from 12:00 to 13:00. Small repairs up to CHF 150.00 in each case are theirs.",
				"Changes to the premises need the landlord's written consent. A satellite dish on the façade is not allowed. Keeping a dog needs consent; cats and small animals do not."}, true},
			{"7. Subletting", []string{
				"Subletting the whole or a part needs the landlord's consent, which is refused only for the reasons named in the law."}, false},
			{"8. Keys", []string{
				"Four keys for the house and the flat, two for the letterbox and one for the cellar are handed over. A lost key is reported at once; the landlord may replace the lock at the tenants' cost."}, false},
			{"9. Handover and return", []string{
				"Handover takes place on 30 December 2026 at 14:00. On return the premises are empty, cleaned and in the condition that follows from proper use. Both sides sign a record."}, false},
			{"10. Signatures", []string{
				"This lease is signed electronically by all parties. It takes effect when the last of them has signed."}, false},
		},
		signatures: []string{"Jan Weber, for the landlord", "Ana Ruiz, tenant", "Björn Åkesson, tenant"},
	}
}

func offer() sample {
	return sample{
		from:  "Atelier Moreau Sàrl · Rue du Lac 31 · 1800 Vevey",
		title: "Offer 2026-118: office furniture",
		place: "Vevey, 2 November 2026 · for Keller Treuhand, Marktgasse 5, 3011 Bern",
		parts: []part{
			{"", []string{"Thank you for your visit on 22 October. As discussed, we offer to make and fit the following pieces in oiled oak:"}, false},
			{"Pieces", []string{
				"1. Meeting table, 240 x 110 cm, legs in blackened steel: CHF 4,850.00",
				"2. Wall of shelves, 360 x 220 cm, eight compartments, two with doors: CHF 6,120.00",
				"3. Reception desk with cable channel and lockable drawer: CHF 3,475.00",
				"4. Delivery to Bern, second floor, and fitting in one working day: CHF 780.00"}, false},
			{"Price", []string{
				"Sum CHF 15,225.00, value added tax 8.1 per cent CHF 1,233.25, total CHF 16,458.25. One third is due with the order, the rest within 30 days of fitting."}, false},
			{"Time", []string{
				"Making takes seven weeks from the order. This offer is open until 31 December 2026. Samples of wood and steel stay with you until then."}, false},
			{"Order", []string{"By signing, the customer orders the pieces above on the terms of this page."}, false},
		},
		signatures: []string{"Chloé Moreau, Atelier Moreau", "Ordered: Keller Treuhand"},
	}
}

func mandate() sample {
	return sample{
		from:  "Keller Treuhand · Marktgasse 5 · 3011 Bern",
		title: "Letter of mandate",
		place: "Bern, 2 November 2026",
		parts: []part{
			{"", []string{"Ms Irena Novák, Gerechtigkeitsgasse 40, 3011 Bern (the client) gives Keller Treuhand (the fiduciary) the following mandate:"}, false},
			{"Scope", []string{
				"Keeping the books of the client's practice from 1 January 2027, the quarterly value added tax returns, the annual accounts, and the client's private tax return in the canton of Bern.",
				"The fiduciary may ask banks, insurers and authorities for the information this work needs. It may not dispose of the client's money."}, false},
			{"Fees", []string{
				"CHF 165.00 an hour for the responsible fiduciary and CHF 110.00 for assistants, billed each quarter with a list of the hours. An estimate for 2027: CHF 7,400.00 before value added tax."}, false},
			{"Confidence and records", []string{
				"The fiduciary keeps confidential what it learns, also after the mandate ends. Records are kept for ten years and handed over on request."}, false},
			{"End", []string{"Either side may end the mandate at any time in writing. Work done until then is paid."}, false},
		},
		signatures: []string{"Irena Novák, client", "Thomas Keller, Keller Treuhand"},
	}
}
