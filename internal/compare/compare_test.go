package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/preview"
	"countersign/internal/sandbox/press"
	"countersign/internal/trytest"

	"codeberg.org/go-pdf/fpdf"
	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

var noErr = trytest.NoErr

func start(t testing.TB) pdfium.Pdfium {
	engine, stop, err := preview.Start(t.Context())
	noErr(t, err)
	t.Cleanup(func() { noErr(t, stop()) })
	return engine
}

var words = strings.Fields(`The tenant pays the landlord a rent of EUR 5,200 each month in advance on the 3rd working day and a deposit of three months
	within 14 days of signing this lease Repairs up to EUR 150 each are the tenant's own and heating costs of 2.40 per square metre are added`)

// contract is an invented document of three pages: prose, a table with lines and shaded cells, and a place to sign.
func contract(t testing.TB, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 0))
	p := fpdf.New("P", "pt", "A4", "")
	p.SetCompression(seed%2 == 0)
	font := []string{"Helvetica", "Times", "Courier"}[seed%3]
	for n := range 3 {
		p.AddPage()
		p.SetFont(font, "B", 16)
		p.Text(60, 60, fmt.Sprintf("Lease no. %d, page %d of 3", 100+seed, n+1))
		p.SetFont(font, "", 11)
		if n == 0 {
			p.Text(60, 90, "Price in EUR:")
			p.Text(150, 90, "5,200.00")
		}
		for i := range 12 {
			var line []string
			for range 8 {
				line = append(line, words[rnd.IntN(len(words))])
			}
			p.Text(60, 120+float64(i)*16, strings.Join(line, " "))
		}
		p.SetFillColor(230, 230, 230)
		for i := range 5 {
			p.Rect(60, 340+float64(i)*20, 220, 20, []string{"D", "FD"}[i%2])
			p.Text(66, 354+float64(i)*20, fmt.Sprintf("Item %d", i+1))
			p.Text(200, 354+float64(i)*20, fmt.Sprintf("%d.%02d", 10+rnd.IntN(90), rnd.IntN(100)))
		}
		if n == 2 {
			p.Text(60, 700, "Place, date: ______________________")
			p.Text(60, 760, "Signature:")
			p.Line(120, 762, 320, 762)
		}
	}
	var b bytes.Buffer
	noErr(t, p.Output(&b))
	return b.Bytes()
}

func made(b []byte, err error) func(testing.TB) []byte {
	return func(t testing.TB) []byte { t.Helper(); noErr(t, err); return b }
}

// certificate is a page that a service adds.
func certificate(t testing.TB) []byte {
	p := fpdf.New("P", "pt", "A4", "")
	p.AddPage()
	p.SetFont("Helvetica", "", 12)
	p.Text(60, 80, "Certificate of completion: Ana Ruiz signed on 2026-03-02")
	var b bytes.Buffer
	noErr(t, p.Output(&b))
	return b.Bytes()
}

// signature is a hand-drawn signature on the line, with a date.
const signature = "0.1 0.2 0.6 RG 1.2 w 130 85 m 160 140 200 60 300 95 c S 0 g BT /Fx 10 Tf 140 144 Td (Bonn, 2026-03-02) Tj ET"

func compared(engine pdfium.Pdfium, back, sent []byte) Result {
	return Compare(engine, bytes.Clone(sent), bytes.Clone(back), time.Minute)
}

func TestWhatSigningAddsIsToldFromWhatItMustNotChange(t *testing.T) {
	engine := start(t)
	for seed := range uint64(3) {
		sent, cert := contract(t, seed), certificate(t)
		price := func(ops string) func(testing.TB) []byte { return made(overlay(sent, 1, ops)) } // at 150, 842-90=752
		signed := made(overlay(sent, 3, signature))(t)
		var optimized bytes.Buffer
		noErr(t, api.Optimize(bytes.NewReader(sent), &optimized, config()))
		for _, c := range []struct {
			name string
			back func(testing.TB) []byte
			want State
			says string // kind, was and now of one of the places
		}{
			{"the very same", made(sent, nil), Same, ""},
			{"an update behind it", made(press.Press{}.Prepare(sent, time.Unix(1.7e9, 0))), Same, ""},
			{"written anew", made(optimized.Bytes(), nil), Same, ""},
			{"a signature and a date", made(signed, nil), Added, "added  Bonn, 2026-03-02"},
			{"a page behind it", made(joined(sent, cert)), Added, "page  Certificate of completion: Ana Ruiz signed on 2026-03-02"},
			{"a page before it and a signature", made(joined(cert, signed)), Added, "added  Bonn, 2026-03-02"},
			{"a date on the dotted line", made(overlay(sent, 3, "BT /Fx 10 Tf 160 143 Td (2 March) Tj ET")), Added, "added  2 March"},
			{"a tick in a shaded cell", made(overlay(sent, 1, "0 G 1 w 140 472 m 144 468 l 152 478 l S")), Added, ""},

			{"another digit", made(retype(sent, 1, true, int(seed)*7)), Changed, "altered"},
			{"another letter", made(retype(sent, 2, false, int(seed)*31)), Changed, "altered"},
			{"another price in a box", price("1 g 148 748 80 14 re f 0 g BT /Fx 11 Tf 150 752 Td (9,250.00) Tj ET"), Changed, "altered 5,200.00 9,250.00"},
			{"a box over the price", price("1 g 148 748 80 14 re f"), Changed, "altered 5,200.00"},
			{"a black one", price("0 g 148 748 80 14 re f"), Changed, "altered 5,200.00"},
			{"the price struck out", price("0 G 0.6 w 150 755.5 m 200 755.5 l S"), Changed, "altered 5,200.00"},
			{"a digit drawn before it", price("0 G 1 w 148.5 752 m 148.5 760 l S"), Changed, "altered"},
			{"white on white", price("1 g BT /Fx 11 Tf 320 600 Td (EUR 9,250.00) Tj ET"), Changed, "hidden  EUR 9,250.00"},
			{"a stamp with another price", made(stamp(sent, 1, 400, 740, "EUR 9,250.00")), Changed, "note  EUR 9,250.00"},
			{"a page exchanged", made(joined(made(pages(sent, 1))(t), cert, made(pages(sent, 3))(t))), Changed, ""},
			{"a page missing", made(pages(sent, 1, 3)), Changed, "missing"},
			{"pages in another order", made(pages(sent, 1, 3, 2)), Changed, ""},
			{"a page between them", made(joined(made(pages(sent, 1))(t), cert, made(pages(sent, 2, 3))(t))), Changed, "inserted"},
			{"a page turned", made(edit(sent, 2, func(_ *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
				page["Rotate"] = types.Integer(180)
				return nil
			})), Changed, "size"},
			{"moved a little", made(shifted(sent, 1, 0.3)), Remade, "remade"},
			{"cut a little", made(edit(sent, 1, func(_ *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
				page["CropBox"] = types.NewNumberArray(0, 0, 595, 841.6)
				return nil
			})), Remade, "remade"},
			{"moved a little, and words", made(overlay(made(shifted(sent, 1, 0.1))(t), 1, "BT /Fx 11 Tf 320 300 Td (EUR 99,000 more) Tj ET")), Remade, "added  EUR 99,000 more"},
			{"moved a little, and a box over the price", made(overlay(made(shifted(sent, 1, 0.1))(t), 1, "1 g 148 748 80 14 re f")), Changed, "altered 5,200.00"},
			{"a little smaller", made(shifted(sent, 0.999, 0.2)), Remade, "remade"},
			{"a little smaller, and a box over the price", made(overlay(made(shifted(sent, 0.999, 0.2))(t), 1, "1 g 146 746 84 18 re f")), Changed, "altered 5,200.00"},
			{"a layer that is off", made(layer(sent, "1 g 148 748 80 14 re f", true)), Changed, "does  L"},
			{"a layer that is only printed", made(layer(sent, "1 g 148 748 80 14 re f", false)), Changed, "altered 5,200.00"},
			{"a link that is only printed", made(annotated(sent, types.Dict{"Subtype": types.Name("Link"), "F": types.Integer(36)})), Changed, "altered 5,200.00"},
			{"a field that is only printed", made(annotated(sent, types.Dict{"Subtype": types.Name("Widget"), "F": types.Integer(36), "FT": types.Name("Tx"),
				"T": types.StringLiteral("x"), "V": types.StringLiteral("9,250")})), Changed, "note  x 9,250"},
			{"a link to elsewhere", made(annotated(sent, types.Dict{"Subtype": types.Name("Link"), "F": types.Integer(4), "AP": nil,
				"A": types.Dict{"S": types.Name("URI"), "URI": types.StringLiteral("https://elsewhere.example")}})), Changed, "note  https://elsewhere.example"},
			{"a script", made(edit(sent, 1, func(ctx *model.Context, _ types.Dict, _ *model.InheritedPageAttrs) error {
				root, err := ctx.Catalog()
				root["OpenAction"] = types.Dict{"S": types.Name("JavaScript"), "JS": types.StringLiteral("app.alert(1)")}
				return err
			})), Changed, "does  app.alert(1)"},
			{"a script in a stream of objects", made(edit(sent, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
				ctx.WriteObjectStream, ctx.WriteXRefStream = true, true
				ref, err := ctx.IndRefForNewObject(types.Dict{"S": types.Name("JavaScript"), "JS": types.StringLiteral("app.alert(2)")})
				page["AA"] = types.Dict{"O": *ref}
				return err
			})), Changed, "does  app.alert(2)"},
			{"a form beside the pages", made(edit(sent, 1, func(ctx *model.Context, _ types.Dict, _ *model.InheritedPageAttrs) error {
				root, err := ctx.Catalog()
				root["AcroForm"] = types.Dict{"Fields": types.Array{}, "XFA": types.StringLiteral("<xdp/>")}
				return err
			})), Changed, "does"},
			{"a note that opens", made(annotated(sent, types.Dict{"Subtype": types.Name("Popup"), "F": types.Integer(36), "Contents": types.StringLiteral("9,250")})), Changed, "note  9,250"},
			{"another unit", made(edit(sent, 1, func(_ *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
				page["UserUnit"] = types.Float(1.5)
				return nil
			})), Changed, "size"},
			{"a page cut", made(edit(sent, 2, func(_ *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
				page["MediaBox"] = types.NewNumberArray(0, 400, 595, 842)
				return nil
			})), Changed, "size"},
		} {
			r := compared(engine, c.back(t), sent)
			said := slices.ContainsFunc(r.Places, func(p Place) bool {
				return strings.HasPrefix(fmt.Sprintf("%s %s %s", p.Kind, p.Was, p.Now), c.says)
			})
			if r.State != c.want || c.says != "" && !said {
				t.Errorf("%d, %s: %s, %+v", seed, c.name, r.State, r.Places)
			}
		}
	}
}

func TestFaintAndLargeAndMissingLettersAreProtected(t *testing.T) {
	engine := start(t)
	plain := contract(t, 1)
	faint := made(overlay(plain, 1, "0.95 g BT /Fx 11 Tf 320 600 Td (EUR 5,200) Tj ET"))(t)
	large := made(overlay(plain, 1, "BT /Fx 150 Tf 320 480 Td (EF) Tj ET"))(t)
	missing := made(overlay(plain, 1, "BT /Fx 24 Tf 320 600 Td (100\\201) Tj ET"))(t)
	var plan bytes.Buffer
	p := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: 2384, Ht: 3370}})
	p.AddPage()
	p.SetFont("Helvetica", "", 6)
	for i := range 400 {
		p.Text(60+float64(i%20)*100, 60+float64(i/20)*160, fmt.Sprintf("wall %d: 2.40 m", i))
	}
	noErr(t, p.Output(&plan))
	for _, c := range []struct {
		name       string
		sent, back []byte
		want       State
	}{
		{"another faint figure", faint, made(overlay(plain, 1, "0.95 g BT /Fx 11 Tf 320 600 Td (EUR 9,200) Tj ET"))(t), Changed},
		{"a faint figure struck out", faint, made(overlay(faint, 1, "0 G 0.6 w 320 604 m 380 604 l S"))(t), Changed},
		{"a faint box over words", plain, made(overlay(plain, 1, "0.98 g 100 560 300 60 re f"))(t), Changed},
		{"a line beside a large letter", large, made(overlay(large, 1, "4 w 312 480 m 312 590 l S"))(t), Changed},
		{"a line behind a missing letter", missing, made(overlay(missing, 1, "1.6 w 372 600 m 372 617 l S"))(t), Changed},
		{"a letter behind a missing letter", missing, made(overlay(missing, 1, "BT /Fx 24 Tf 369 600 Td (1) Tj ET"))(t), Changed},
		{"a figure of a large plan", plan.Bytes(), made(retype(plan.Bytes(), 1, true, 700))(t), Changed},
		{"a signature on it", plan.Bytes(), made(overlay(plan.Bytes(), 1, "1 0 0 1 1100 1640 cm "+signature))(t), Added},
	} {
		if r := compared(engine, c.back, c.sent); r.State != c.want {
			t.Errorf("%s: %s, %+v", c.name, r.State, r.Places)
		}
	}
}

func TestNothingIsAddedToWordsOfAnyDirection(t *testing.T) {
	engine := start(t)
	plain := contract(t, 1)
	page := func(width, height float64, text string) []byte {
		p := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width, Ht: height}})
		p.AddPage()
		p.SetFont("Helvetica", "", 24)
		p.Text(20, 40, text)
		var b bytes.Buffer
		noErr(t, p.Output(&b))
		return b.Bytes()
	}
	turned := func(sent []byte) []byte {
		return made(edit(sent, 1, func(_ *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
			page["Rotate"] = types.Integer(90)
			return nil
		}))(t)
	}
	tiny, behind := "0.6 g BT /Fx 4.8 Tf 320 600 Td (41) Tj ET", "0 g BT /Fx 6 Tf 316.2 600 Td (1) Tj ET"
	tilted := "0.7071 0.7071 -0.7071 0.7071 360 560 cm 0.9 g BT /Fx 12 Tf 0 0 Td (5,200) Tj ET"
	upright := "0 1 -1 0 360 560 cm BT /Fx 12 Tf 0 0 Td (5,200) Tj ET"
	word, empty := page(420, 60, "Lease-no.5200-of-2026-Bonn"), page(595, 842, "")
	for _, c := range []struct {
		name       string
		sent, back []byte // operators to draw, or documents
		want       State
	}{
		{"a digit before a tiny number", []byte(tiny), []byte(tiny + " " + behind), Changed},
		{"a name below a draft's mark", []byte("0.7 0.7 -0.7 0.7 160 300 cm 0.9 g BT /Fx 150 Tf 0 0 Td (DRAFT) Tj ET"), nil, Added},
		{"a tilted number struck out", []byte(tilted), []byte(tilted + " 0.5 w -2 4 m 34 4 l S"), Changed},
		{"a digit before it", []byte(tilted), []byte(tilted + " 0 g BT /Fx 12 Tf -8 0 Td (1) Tj ET"), Changed},
		{"a digit before an upright number", []byte(upright), []byte(upright + " BT /Fx 12 Tf -7 0 Td (1) Tj ET"), Changed},
		{"a digit of invisible words", []byte("3 Tr BT /Fx 12 Tf 360 600 Td (5,200) Tj ET"), []byte("3 Tr BT /Fx 12 Tf 360 600 Td (5,900) Tj ET"), Changed},
		{"invisible words removed", []byte("3 Tr BT /Fx 12 Tf 360 600 Td (5,200) Tj ET"), []byte(" "), Remade},
		{"a page of a single word that moved", word, made(shifted(made(retype(word, 1, true, 1))(t), 1, 0.5))(t), Changed},
		{"an empty page filled", empty, plain, Changed},
		{"an empty page signed", empty, made(overlay(empty, 1, signature))(t), Added},
	} {
		for _, turn := range []bool{false, true} {
			sent, back := c.sent, c.back
			if !bytes.HasPrefix(sent, []byte("%PDF")) {
				sent = made(overlay(plain, 1, string(c.sent)))(t)
				if back = made(overlay(plain, 1, string(c.back)))(t); c.back == nil {
					back = made(overlay(sent, 1, "1 0 0 1 238 342 cm 0.4 0 0 0.4 0 0 cm "+signature))(t)
				}
			}
			if turn {
				sent, back = turned(sent), turned(back)
			}
			if r := compared(engine, back, sent); r.State != c.want {
				t.Errorf("%s, %v: %s, %+v", c.name, turn, r.State, r.Places)
			}
		}
	}
}

func TestAChangedNumberIsToldWithoutTheCommaOfItsSentence(t *testing.T) {
	for _, c := range [][4]string{{"2,340.00,", "2,940.00,", "2,340.00", "2,940.00"}, {"5,", "5.", "5,", "5."}, {"5,", "", "5,", ""}} {
		var r Result
		r.add(Place{Kind: KindAltered, Was: c[0], Now: c[1]})
		if p := r.Places[0]; p.Was != c[2] || p.Now != c[3] {
			t.Errorf("%q became %q, told as %q and %q", c[0], c[1], p.Was, p.Now)
		}
	}
}

func TestOnlyPagesWithoutADifferenceAreCalledTheSame(t *testing.T) {
	engine := start(t)
	sent, cert := contract(t, 1), certificate(t)
	same := func(back []byte, want string) {
		t.Helper()
		if r := compared(engine, back, sent); pairsOf(r.Same) != want {
			t.Errorf("the same: %s, want %s, of %+v", pairsOf(r.Same), want, r.Places)
		}
	}
	same(sent, "1/1 2/2 3/3")
	same(made(joined(cert, sent))(t), "1/2 2/3 3/4")
	same(made(joined(cert, made(pages(sent, 1, 3))(t)))(t), "1/2 3/3")
	same(made(overlay(sent, 1, "BT /Fx 11 Tf 320 300 Td (signed) Tj ET"))(t), "2/2 3/3")

	// One with more differences than are listed.
	many := func(head string) []byte {
		p := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: 120, Ht: 120}})
		p.SetFont("Helvetica", "", 10)
		for n := range maxPlaces + 2 {
			p.AddPage()
			p.Text(10, 80, fmt.Sprintf("Page %d", n+1))
			p.Text(10, 20, head)
		}
		var b bytes.Buffer
		noErr(t, p.Output(&b))
		return b.Bytes()
	}
	if r := compared(engine, many("Envelope 7"), many("")); r.State != Added || len(r.Same) > 0 {
		t.Errorf("a head on each page: %s, the same: %v", r.State, r.Same)
	}
}

func pairsOf(places []Place) string {
	var all []string
	for _, p := range places {
		all = append(all, fmt.Sprintf("%d/%d", p.Page, p.Back))
	}
	return strings.Join(all, " ")
}

// form is a document with two fields, one of them filled.
func form(t testing.TB, name, price string) []byte {
	return made(edit(contract(t, 0), 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		font := types.Dict{"Fx": types.Dict{"Type": types.Name("Font"), "Subtype": types.Name("Type1"), "BaseFont": types.Name("Helvetica")}}
		var fields types.Array
		for i, f := range []struct{ name, value string }{{"name", name}, {"price", price}} {
			ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("Annot"), "Subtype": types.Name("Widget"), "FT": types.Name("Tx"), "T": types.StringLiteral(f.name),
				"V": types.StringLiteral(f.value), "DA": types.StringLiteral("/Fx 10 Tf 0 g"), "F": types.Integer(4), "Rect": types.NewNumberArray(320, 600-40*float64(i), 460, 620-40*float64(i))})
			if err != nil {
				return err
			}
			fields = append(fields, *ref)
		}
		page["Annots"] = fields
		root, err := ctx.Catalog()
		if err != nil {
			return err
		}
		root["AcroForm"] = types.Dict{"Fields": fields, "NeedAppearances": types.Boolean(true), "DR": types.Dict{"Font": font}, "DA": types.StringLiteral("/Fx 10 Tf 0 g")}
		return nil
	}))(t)
}

func TestEmptyFieldsMayBeFilledAndOthersMayNotChange(t *testing.T) {
	engine := start(t)
	sent := form(t, "", "5,200")
	if r := compared(engine, form(t, "Ana Ruiz", "5,200"), sent); r.State != Added {
		t.Errorf("filled: %+v", r)
	}
	r := compared(engine, form(t, "", "9,250"), sent)
	if r.State != Changed || !slices.ContainsFunc(r.Places, func(p Place) bool { return p.Kind == KindField && p.Was == "5,200" && p.Now == "9,250" }) {
		t.Errorf("changed: %+v", r)
	}
}

func TestPeopleSignAcrossWhatIsPrintedInAFieldForThat(t *testing.T) {
	engine := start(t)
	plain := contract(t, 1)
	field := made(edit(plain, 3, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("Annot"), "Subtype": types.Name("Widget"), "FT": types.Name("Sig"), "T": types.StringLiteral("S"), "F": types.Integer(4), "Rect": types.NewNumberArray(50, 70, 320, 140)})
		if err != nil {
			return err
		}
		page["Annots"] = types.Array{*ref}
		root, err := ctx.Catalog()
		root["AcroForm"] = types.Dict{"Fields": types.Array{*ref}}
		return err
	}))(t)
	for name, c := range map[string]struct {
		sent []byte
		ops  string
		want State
	}{
		"in a field":             {field, "1 w 56 80 m 100 120 160 70 300 100 c S", Added},
		"where there is none":    {plain, "1 w 56 80 m 100 120 160 70 300 100 c S", Changed},
		"and out of it":          {field, "1 w 56 80 m 100 120 160 70 300 160 c S 1 w 60 144 m 120 144 l S", Changed},
		"what is there is blank": {field, "1 g 56 78 80 14 re f", Changed},
	} {
		if r := compared(engine, made(overlay(c.sent, 3, c.ops))(t), c.sent); r.State != c.want {
			t.Errorf("%s: %s, %+v", name, r.State, r.Places)
		}
	}
}

func TestWhatWasThereIsNoChangeOnceWrittenAnew(t *testing.T) {
	engine := start(t)
	plain := contract(t, 1)
	for name, sent := range map[string][]byte{
		"a layer": made(layer(plain, "1 g 148 748 80 14 re f", false))(t),
		"a field": made(annotated(plain, types.Dict{"Subtype": types.Name("Widget"), "F": types.Integer(36), "FT": types.Name("Tx"), "T": types.StringLiteral("x"), "DA": types.StringLiteral("/Helv 0 Tf")}))(t),
		"a link": made(annotated(plain, types.Dict{"Subtype": types.Name("Link"), "F": types.Integer(4),
			"A": types.Dict{"S": types.Name("Launch"), "F": types.StringLiteral("other.pdf")}}))(t),
	} {
		var anew bytes.Buffer
		noErr(t, api.Optimize(bytes.NewReader(sent), &anew, config()))
		if r := compared(engine, anew.Bytes(), sent); r.State != Same {
			t.Errorf("%s: %+v", name, r)
		}
		if r := compared(engine, made(press.Press{}.Prepare(sent, time.Unix(1.7e9, 0)))(t), sent); r.State != Same {
			t.Errorf("%s, with an update: %+v", name, r)
		}
	}
}

func TestWhatCannotBeComparedSaysWhy(t *testing.T) {
	engine := start(t)
	sent := contract(t, 0)
	locked := fpdf.New("P", "pt", "A4", "")
	locked.SetProtection(0, "secret", "owner")
	locked.AddPage()
	var b bytes.Buffer
	noErr(t, locked.Output(&b))
	for name, c := range map[string]struct {
		engine   pdfium.Pdfium
		back     []byte
		patience time.Duration
		want     Why
	}{
		"a password":        {engine, b.Bytes(), time.Minute, WhyPassword},
		"damaged":           {engine, []byte("%PDF-1.7 and nothing else"), time.Minute, WhyDamaged},
		"it takes too long": {stuck{}, sent, time.Millisecond, WhyLarge},
	} {
		r := Compare(c.engine, bytes.Clone(sent), bytes.Clone(c.back), c.patience)
		if r.State != Unread || r.Why != c.want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// stuck never answers.
type stuck struct{ pdfium.Pdfium }

func (stuck) OpenDocument(*requests.OpenDocument) (*responses.OpenDocument, error) { select {} }

// The manipulations that tests make, with a different library from the one that compares.

func config() *model.Configuration {
	api.DisableConfigDir()
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	c.Optimize, c.OptimizeBeforeWriting = false, false
	return c
}

// edit rewrites a document with a page changed by do.
func edit(document []byte, number int, do func(ctx *model.Context, page types.Dict, inherited *model.InheritedPageAttrs) error) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	ctx, err := pdfcpu.Read(bytes.NewReader(document), config())
	if err != nil {
		return nil, err
	}
	if err := ctx.EnsurePageCount(); err != nil {
		return nil, err
	}
	page, _, inherited, err := ctx.PageDict(number, false)
	if err != nil {
		return nil, err
	}
	if err := do(ctx, page, inherited); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = api.WriteContext(ctx, &b)
	return b.Bytes(), err
}

func newStream(ctx *model.Context, content string) (types.IndirectRef, error) {
	s, err := ctx.NewStreamDictForBuf([]byte(content))
	if err != nil {
		return types.IndirectRef{}, err
	}
	if err := s.Encode(); err != nil {
		return types.IndirectRef{}, err
	}
	ref, err := ctx.IndRefForNewObject(*s)
	if err != nil {
		return types.IndirectRef{}, err
	}
	return *ref, nil
}

// overlay draws over a page. /Fx is Helvetica.
func overlay(document []byte, number int, ops string) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, inherited *model.InheritedPageAttrs) error {
		before, err := newStream(ctx, "q\n")
		if err != nil {
			return err
		}
		after, err := newStream(ctx, "\nQ\nq\n"+ops+"\nQ\n")
		if err != nil {
			return err
		}
		contents := types.Array{before}
		if old, ok := page["Contents"]; ok {
			if list, err := ctx.DereferenceArray(old); err == nil && list != nil {
				contents = append(contents, list...)
			} else {
				contents = append(contents, old)
			}
		}
		page["Contents"] = append(contents, after)
		resources := types.Dict{}
		if own, err := ctx.DereferenceDict(page["Resources"]); err == nil && own != nil {
			resources = own.Clone().(types.Dict)
		} else if inherited != nil && inherited.Resources != nil {
			resources = inherited.Resources.Clone().(types.Dict)
		}
		fonts := types.Dict{}
		if own, err := ctx.DereferenceDict(resources["Font"]); err == nil && own != nil {
			fonts = own.Clone().(types.Dict)
		}
		fonts["Fx"] = types.Dict{"Type": types.Name("Font"), "Subtype": types.Name("Type1"), "BaseFont": types.Name("Helvetica"), "Encoding": types.Name("WinAnsiEncoding")}
		resources["Font"] = fonts
		page["Resources"] = resources
		return nil
	})
}

// stamp puts a stamp with a text over a page.
func stamp(document []byte, number int, x, y float64, text string) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		s, err := ctx.NewStreamDictForBuf([]byte("BT /Fx 12 Tf 2 4 Td (" + text + ") Tj ET"))
		if err != nil {
			return err
		}
		s.Dict["Type"], s.Dict["Subtype"], s.Dict["BBox"] = types.Name("XObject"), types.Name("Form"), types.NewNumberArray(0, 0, 80, 16)
		s.Dict["Resources"] = types.Dict{"Font": types.Dict{"Fx": types.Dict{"Type": types.Name("Font"), "Subtype": types.Name("Type1"), "BaseFont": types.Name("Helvetica")}}}
		if err := s.Encode(); err != nil {
			return err
		}
		look, err := ctx.IndRefForNewObject(*s)
		if err != nil {
			return err
		}
		ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("Annot"), "Subtype": types.Name("Stamp"), "F": types.Integer(4),
			"Contents": types.StringLiteral(text), "Rect": types.NewNumberArray(x, y, x+80, y+16), "AP": types.Dict{"N": *look}})
		if err != nil {
			return err
		}
		list, _ := ctx.DereferenceArray(page["Annots"])
		page["Annots"] = append(slices.Clone(list), *ref)
		return nil
	})
}

// layer draws over the first page, in a layer that is off or only printed.
func layer(document []byte, ops string, off bool) ([]byte, error) {
	b, err := overlay(document, 1, "/OC /Lx BDC "+ops+" EMC")
	if err != nil {
		return nil, err
	}
	return edit(b, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("OCG"), "Name": types.StringLiteral("L"), "Usage": types.Dict{
			"Print": types.Dict{"PrintState": types.Name("ON")}, "View": types.Dict{"ViewState": types.Name("OFF")}}})
		if err != nil {
			return err
		}
		resources, err := ctx.DereferenceDict(page["Resources"])
		if err != nil {
			return err
		}
		resources["Properties"] = types.Dict{"Lx": *ref}
		root, err := ctx.Catalog()
		if err != nil {
			return err
		}
		groups, automatic := types.Array{*ref}, types.Array{}
		for _, event := range []types.Name{"Print", "View"} {
			automatic = append(automatic, types.Dict{"Event": event, "OCGs": groups, "Category": types.Array{event}})
		}
		usual := types.Dict{"AS": automatic}
		if off {
			usual = types.Dict{"OFF": groups}
		}
		root["OCProperties"] = types.Dict{"OCGs": groups, "D": usual}
		return nil
	})
}

// annotated puts an annotation over the price.
func annotated(document []byte, more types.Dict) ([]byte, error) {
	return edit(document, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		look, err := newStream(ctx, "1 g 0 0 80 16 re f")
		if err != nil {
			return err
		}
		drawn, _, err := ctx.DereferenceStreamDict(look)
		if err != nil {
			return err
		}
		drawn.Dict["Subtype"], drawn.Dict["BBox"] = types.Name("Form"), types.NewNumberArray(0, 0, 80, 16)
		d := types.Dict{"Type": types.Name("Annot"), "Rect": types.NewNumberArray(148, 748, 228, 764), "AP": types.Dict{"N": look}}
		maps.Copy(d, more)
		ref, err := ctx.IndRefForNewObject(d)
		if err != nil {
			return err
		}
		page["Annots"] = types.Array{*ref}
		root, err := ctx.Catalog()
		if more["Subtype"] == types.Name("Widget") {
			root["AcroForm"] = types.Dict{"Fields": types.Array{*ref}}
		}
		return err
	})
}

// shifted moves everything on the first page to the right, scaled by scale.
func shifted(document []byte, scale, by float64) ([]byte, error) {
	return edit(document, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		content, err := ctx.PageContent(page, 1)
		if err != nil {
			return err
		}
		ref, err := newStream(ctx, fmt.Sprintf("q %.4f 0 0 %.4f %.2f 0 cm\n%s\nQ\n", scale, scale, by, content))
		page["Contents"] = ref
		return err
	})
}

var (
	errNothing = errors.New("there is nothing to change")
	shown      = regexp.MustCompile(`\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]{4,}>`)
	digit      = regexp.MustCompile(`[0-9]`)
	lower      = regexp.MustCompile(`[a-z]`)
)

// retype changes one character of a page's drawn text: a digit, a letter or, if the text uses codes, one code to another of
// the same text. which selects the character.
func retype(document []byte, number int, digits bool, which int) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		content, err := ctx.PageContent(page, number)
		if err != nil {
			return err
		}
		class := lower
		if digits {
			class = digit
		}
		type place struct {
			at int
			by string
		}
		var places []place
		for _, m := range shown.FindAllIndex(content, -1) {
			s := content[m[0]:m[1]]
			if s[0] == '(' && !bytes.ContainsRune(s, '\\') {
				for _, d := range class.FindAllIndex(s, -1) {
					c := s[d[0]]
					next := c + 1
					if c == '9' || c == 'z' {
						next = c - 1
					}
					places = append(places, place{m[0] + d[0], string(next)})
				}
			}
			if s[0] == '<' && !digits {
				codes := strings.Fields(strings.Trim(string(s), "<>"))
				if len(codes) == 1 && len(codes[0])%4 == 0 && len(codes[0]) >= 8 {
					for i := 4; i < len(codes[0]); i += 4 {
						if codes[0][i:i+4] != codes[0][i-4:i] && s[1] != ' ' {
							places = append(places, place{m[0] + 1 + i, codes[0][i-4 : i]})
						}
					}
				}
			}
		}
		if len(places) == 0 {
			return errNothing
		}
		p := places[which%len(places)]
		copy(content[p.at:], p.by)
		ref, err := newStream(ctx, string(content))
		page["Contents"] = ref
		return err
	})
}

// pages makes a document of some pages of a document, in that order.
func pages(document []byte, numbers ...int) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var b bytes.Buffer
	err = api.Collect(bytes.NewReader(document), &b, strings.Split(strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]"), ","), config())
	return b.Bytes(), err
}

func joined(documents ...[]byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var in []io.ReadSeeker
	for _, d := range documents {
		in = append(in, bytes.NewReader(d))
	}
	var b bytes.Buffer
	err = api.MergeRaw(in, &b, false, config())
	return b.Bytes(), err
}
