package compare

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// document is a document opened in PDFium.
type document struct {
	engine pdfium.Pdfium
	ref    references.FPDF_DOCUMENT
	form   references.FPDF_FORMHANDLE
	data   *data // nil if it could not be read
}

// layered reports whether some content may be shown but not printed, or vice versa.
func (d *document) layered() bool { return d.data == nil || len(d.data.layers) > 0 }

// openDocument opens a document. Nothing in its forms is executed: this PDFium has no scripts, and the callbacks do nothing.
func openDocument(engine pdfium.Pdfium, b []byte) *document {
	opened := ask(engine.OpenDocument, requests.OpenDocument{File: &b})
	form := ask(engine.FPDFDOC_InitFormFillEnvironment, requests.FPDFDOC_InitFormFillEnvironment{Document: opened.Document, FormFillInfo: structs.FPDF_FORMFILLINFO{
		FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
		FFI_SetCursor:          func(enums.FXCT) {},
		FFI_SetTimer:           func(int, func(int)) int { return 0 },
		FFI_KillTimer:          func(int) {},
		FFI_GetLocalTime:       func() structs.FPDF_SYSTEMTIME { return structs.FPDF_SYSTEMTIME{} },
		FFI_GetPage:            func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE { return nil },
		FFI_GetRotation:        func(references.FPDF_PAGE) enums.FPDF_PAGE_ROTATION { return enums.FPDF_PAGE_ROTATION_NONE },
		FFI_ExecuteNamedAction: func(string) {},
	}})
	return &document{engine, opened.Document, form.FormHandle, readData(b)}
}

func (d *document) close() {
	_, _ = d.engine.FPDFDOC_ExitFormFillEnvironment(&requests.FPDFDOC_ExitFormFillEnvironment{FormHandle: d.form})
	_, _ = d.engine.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: d.ref})
}

// sheet is what is known about a page before it is rendered.
type sheet struct {
	document *document
	index    int
	w, h     float64 // in points, as displayed
	unit     float64 // size of its user unit
	text     string
	words    []string // sorted
}

func (d *document) sheets() (list []sheet) {
	for i := range ask(d.engine.FPDF_GetPageCount, requests.FPDF_GetPageCount{Document: d.ref}).PageCount {
		if i == maxPages {
			check(errLarge)
		}
		list = append(list, d.sheet(i))
	}
	return list
}

func (d *document) sheet(i int) sheet {
	p := d.open(i)
	defer p.close()
	s := sheet{document: d, index: i, w: p.w, h: p.h, unit: d.data.unit(i)}
	if p.chars > maxChars {
		check(errLarge)
	}
	if p.chars > 0 {
		s.words = strings.Fields(ask(d.engine.FPDFText_GetText, requests.FPDFText_GetText{TextPage: p.text, Count: p.chars}).Text)
		s.text = strings.Join(s.words, " ")
		slices.Sort(s.words)
	}
	return s
}

type page struct {
	*document
	ref   references.FPDF_PAGE
	text  references.FPDF_TEXTPAGE
	chars int
	w, h  float64
}

// page is a reference to the page, for requests.
func (p *page) page() requests.Page { return requests.Page{ByReference: &p.ref} }

// open opens page i. Close it before opening another page of the same document.
func (d *document) open(i int) *page {
	p := &page{document: d, ref: ask(d.engine.FPDF_LoadPage, requests.FPDF_LoadPage{Document: d.ref, Index: i}).Page}
	size := ask(d.engine.GetPageSize, requests.GetPageSize{Page: p.page()})
	p.w, p.h = size.Width, size.Height
	ask(d.engine.FORM_OnAfterLoadPage, requests.FORM_OnAfterLoadPage{Page: p.page(), FormHandle: d.form})
	p.text = ask(d.engine.FPDFText_LoadPage, requests.FPDFText_LoadPage{Page: p.page()}).TextPage
	p.chars = max(ask(d.engine.FPDFText_CountChars, requests.FPDFText_CountChars{TextPage: p.text}).Count, 0)
	return p
}

// close closes the page. A page that failed to open is released with its document.
func (p *page) close() {
	_, _ = p.engine.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: p.text})
	_, _ = p.engine.FORM_OnBeforeClosePage(&requests.FORM_OnBeforeClosePage{Page: p.page(), FormHandle: p.form})
	_, _ = p.engine.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: p.ref})
}

// strip is a horizontal strip of a page's picture.
type strip struct{ w, top, h, all int } // pixels; all is the height of the page

// picture renders a strip of a page, four bytes a pixel: with bare without notes and fields, with printing as it is printed.
func (p *page) picture(s strip, bare, printing bool) []byte {
	bitmap := ask(p.engine.FPDFBitmap_Create, requests.FPDFBitmap_Create{Width: s.w, Height: s.h}).Bitmap
	defer func() { _, _ = p.engine.FPDFBitmap_Destroy(&requests.FPDFBitmap_Destroy{Bitmap: bitmap}) }()
	ask(p.engine.FPDFBitmap_FillRect, requests.FPDFBitmap_FillRect{Bitmap: bitmap, Width: s.w, Height: s.h, Color: 0xFFFFFFFF})
	flags := enums.FPDF_RENDER_FLAG_ANNOT
	if bare {
		flags = 0
	}
	if printing {
		flags |= enums.FPDF_RENDER_FLAG_PRINTING
	}
	ask(p.engine.FPDF_RenderPageBitmap, requests.FPDF_RenderPageBitmap{Bitmap: bitmap, Page: p.page(), StartY: -s.top, SizeX: s.w, SizeY: s.all, Flags: flags})
	if !bare {
		ask(p.engine.FPDF_FFLDraw, requests.FPDF_FFLDraw{FormHandle: p.form, Bitmap: bitmap, Page: p.page(), StartY: -s.top, SizeX: s.w, SizeY: s.all, Flags: flags})
	}
	return slices.Clone(ask(p.engine.FPDFBitmap_GetBuffer, requests.FPDFBitmap_GetBuffer{Bitmap: bitmap}).Buffer)
}

// moveTo makes a page show the same area as the other one, whose letters are shifted by x and y points.
func (p *page) moveTo(other *page, x, y float64) {
	of := ask(p.engine.FPDF_GetPageBoundingBox, requests.FPDF_GetPageBoundingBox{Page: other.page()})
	left, right, bottom, top := of.Rect.Left-float32(x), of.Rect.Right-float32(x), of.Rect.Bottom-float32(y), of.Rect.Top-float32(y)
	// go-pdfium 1.18 reads eight bytes at each of these four-byte numbers, so the last one needs padding after it.
	var box struct {
		media requests.FPDFPage_SetMediaBox
		crop  requests.FPDFPage_SetCropBox
		_     [8]byte
	}
	box.media = requests.FPDFPage_SetMediaBox{Page: p.page(), Left: left, Right: right, Bottom: bottom, Top: top}
	box.crop = requests.FPDFPage_SetCropBox{Page: p.page(), Left: left, Right: right, Bottom: bottom, Top: top}
	_, err := p.engine.FPDFPage_SetMediaBox(&box.media)
	check(err)
	_, err = p.engine.FPDFPage_SetCropBox(&box.crop)
	check(err)
}

// rect is a rectangle in a picture, in pixels, excluding the right and lower edges.
type rect struct{ x0, y0, x1, y1 int }

func (r rect) within(w, h int) rect {
	return rect{min(max(r.x0, 0), w), min(max(r.y0, 0), h), min(max(r.x1, 0), w), min(max(r.y1, 0), h)}
}

// device converts page coordinates to pixels.
type device struct{ x, y, ax, ay, bx, by float64 }

// finer is the factor by which PDFium's resolution is increased for coordinates, because it returns whole pixels.
const finer = 64

func (p *page) device(s strip) device {
	at := func(x, y float64) (float64, float64) {
		d := ask(p.engine.FPDF_PageToDevice, requests.FPDF_PageToDevice{Page: p.page(), SizeX: s.w * finer, SizeY: s.all * finer, PageX: x, PageY: y})
		return float64(d.DeviceX) / finer, float64(d.DeviceY)/finer - float64(s.top)
	}
	const far = 500
	x, y := at(0, 0)
	ax, ay := at(far, 0)
	bx, by := at(0, far)
	return device{x, y, (ax - x) / far, (ay - y) / far, (bx - x) / far, (by - y) / far}
}

func (d device) rect(left, top, right, bottom float64) rect {
	x0, y0 := d.x+d.ax*left+d.bx*bottom, d.y+d.ay*left+d.by*bottom
	x1, y1 := d.x+d.ax*right+d.bx*top, d.y+d.ay*right+d.by*top
	floor := func(x float64) int { return int(math.Floor(min(max(x, -1e6), 1e6))) }
	return rect{floor(min(x0, x1)), floor(min(y0, y1)), floor(max(x0, x1)) + 1, floor(max(y0, y1)) + 1}
}

type letter struct {
	r    rune
	word int // index of its word
	at   rect

	left, bottom  float64 // its corner, in points
	level, tilted bool    // how it is read in the picture
}

// height is its height in pixels, as it is read.
func (l letter) height() int {
	if l.level {
		return l.at.y1 - l.at.y0
	}
	return l.at.x1 - l.at.x0
}

// beside is the area of a letter and of those next to it in a word of a given height.
func (l letter) beside(height int) rect {
	aside := (height + 2) / 3
	if l.level {
		return rect{l.at.x0 - aside, l.at.y0, l.at.x1 + aside, l.at.y1}
	}
	return rect{l.at.x0, l.at.y0 - aside, l.at.x1, l.at.y1 + aside}
}

// letters are a page's letters other than white space, in document order.
func (p *page) letters(d device) (list []letter) {
	word := 0
	for i := range p.chars {
		r := rune(ask(p.engine.FPDFText_GetUnicode, requests.FPDFText_GetUnicode{TextPage: p.text, Index: i}).Unicode)
		if r == 0 || unicode.IsSpace(r) || unicode.IsControl(r) {
			word++
			continue
		}
		box, err := p.engine.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: p.text, Index: i})
		if err != nil {
			continue // it has no box
		}
		angle := 0.0
		if turned, err := p.engine.FPDFText_GetCharAngle(&requests.FPDFText_GetCharAngle{TextPage: p.text, Index: i}); err == nil {
			angle = float64(turned.CharAngle)
		}
		const slope = 0.25 // how far from level or upright writing may be
		sin, cos := math.Sincos(angle)
		dx, dy := math.Abs(d.ax*cos+d.bx*sin), math.Abs(d.ay*cos+d.by*sin)
		list = append(list, letter{r, word, d.rect(box.Left, box.Top, box.Right, box.Bottom), box.Left, box.Bottom, dy < slope*dx, dy >= slope*dx && dx >= slope*dy})
	}
	return list
}

// note is something that lies over a page: a note, a stamp, a field.
type note struct {
	kind        enums.FPDF_ANNOTATION_SUBTYPE
	name, value string // of a field; otherwise name is its text
	at          rect
	undrawn     bool // it has no appearance of its own
	signature   bool // it is a signature field
	flags       enums.FPDF_ANNOT_FLAG
	leads       string // where it leads outside the document: an address or a file
}

// shows are the flags that determine where a note is visible.
const shows = enums.FPDF_ANNOT_FLAG_INVISIBLE | enums.FPDF_ANNOT_FLAG_HIDDEN | enums.FPDF_ANNOT_FLAG_PRINT | enums.FPDF_ANNOT_FLAG_NOVIEW

// open reports whether its appearance may change: an empty field is there to be filled, and if a note has no appearance of
// its own, PDFium generates one in some documents and not in others.
func (n note) open() bool { return n.undrawn || n.field() && n.value == "" }

func (n note) field() bool { return n.kind == enums.FPDF_ANNOT_SUBTYPE_WIDGET }

// markup reports whether it is a visible mark on the page, rather than a link or a field.
func (n note) markup() bool { return n.kind != enums.FPDF_ANNOT_SUBTYPE_LINK && !n.field() }

// maxNotes is the maximum number of notes examined on a page.
const maxNotes = 2000

func (p *page) notes(d device) (list []note) {
	count := ask(p.engine.FPDFPage_GetAnnotCount, requests.FPDFPage_GetAnnotCount{Page: p.page()}).Count
	if count > maxNotes {
		check(errLarge)
	}
	for i := range count {
		got, err := p.engine.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: p.page(), Index: i})
		if err != nil {
			continue // an empty entry
		}
		a := got.Annotation
		var n note
		if kind, err := p.engine.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a}); err == nil {
			n.kind = kind.Subtype
		}
		if at, err := p.engine.FPDFAnnot_GetRect(&requests.FPDFAnnot_GetRect{Annotation: a}); err == nil {
			n.at = d.rect(float64(at.Rect.Left), float64(at.Rect.Top), float64(at.Rect.Right), float64(at.Rect.Bottom))
		}
		if n.field() {
			n.name, n.value, n.signature = p.fieldOf(a)
		} else if drawn, err := p.engine.FPDFAnnot_HasKey(&requests.FPDFAnnot_HasKey{Annotation: a, Key: "AP"}); err == nil {
			n.undrawn = !drawn.HasKey
		}
		if text, err := p.engine.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: a, Key: "Contents"}); err == nil && !n.field() {
			n.name = text.Value
		}
		if flags, err := p.engine.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: a}); err == nil {
			n.flags = flags.Flags & shows
		}
		if n.kind == enums.FPDF_ANNOT_SUBTYPE_LINK {
			n.leads = p.leads(a)
		}
		list = append(list, n)
		_, _ = p.engine.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a})
	}
	return list
}

// leads is where a link leads outside the document.
func (p *page) leads(a references.FPDF_ANNOTATION) string {
	link, err := p.engine.FPDFAnnot_GetLink(&requests.FPDFAnnot_GetLink{Annotation: a})
	if err != nil {
		return ""
	}
	action, err := p.engine.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: link.Link})
	if err != nil || action.Action == nil {
		return ""
	}
	if to, err := p.engine.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: p.document.ref, Action: *action.Action}); err == nil && to.URIPath != nil {
		return *to.URIPath
	}
	if to, err := p.engine.FPDFAction_GetFilePath(&requests.FPDFAction_GetFilePath{Action: *action.Action}); err == nil && to.FilePath != nil {
		return *to.FilePath
	}
	return ""
}

// fieldOf is a field's name and value (none for a button that is off), and whether it is a signature field. What a button stands for
// is what is drawn beside it: programs that write the document anew spell its hidden name in other ways.
func (p *page) fieldOf(a references.FPDF_ANNOTATION) (name, value string, signature bool) {
	if n, err := p.engine.FPDFAnnot_GetFormFieldName(&requests.FPDFAnnot_GetFormFieldName{FormHandle: p.form, Annotation: a}); err == nil {
		name = n.FormFieldName
	}
	kind, err := p.engine.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: p.form, Annotation: a})
	if err != nil || kind.FormFieldType == enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON {
		return name, "", false
	}
	switch kind.FormFieldType {
	case enums.FPDF_FORMFIELD_TYPE_CHECKBOX, enums.FPDF_FORMFIELD_TYPE_RADIOBUTTON:
		on, err := p.engine.FPDFAnnot_IsChecked(&requests.FPDFAnnot_IsChecked{FormHandle: p.form, Annotation: a})
		if err != nil || !on.IsChecked {
			return name, "", false
		}
		return name, "✓", false
	}
	if v, err := p.engine.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: p.form, Annotation: a}); err == nil {
		value = strings.TrimSpace(v.FormFieldValue)
	}
	return name, value, kind.FormFieldType == enums.FPDF_FORMFIELD_TYPE_SIGNATURE
}

// data is what a document does that pictures do not show. The keys identify it, the values are for people.
type data struct {
	actions map[string]string // scripts, and anything else that runs, sends or fetches when the document is opened, printed or clicked
	layers  map[string]string // content that is shown only at some times, or only by some programs
	units   []float64         // of each page, in points
}

// readData reads the data of a document; nil if it cannot be parsed.
func readData(document []byte) (d *data) {
	defer func() {
		if recover() != nil { // panicked on an unusual value
			d = nil
		}
	}()
	api.DisableConfigDir()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	ctx, err := pdfcpu.Read(bytes.NewReader(document), conf)
	if err != nil {
		return nil
	}
	root, err := ctx.Catalog()
	if err != nil {
		return nil
	}
	d = &data{actions: map[string]string{}, layers: map[string]string{}}
	for number, entry := range ctx.Table {
		if entry != nil && !entry.Free && entry.Generation != nil {
			o, _ := ctx.Dereference(*types.NewIndirectRef(number, *entry.Generation)) // only this reads objects in object streams
			d.findActions(ctx, o, 0)
		}
	}
	d.findLayers(ctx, root)
	_ = ctx.EnsurePageCount() // without it there are only no units
	form, _ := ctx.DereferenceDict(root["AcroForm"])
	for what, o := range map[string]types.Object{"a form beside the pages": form["XFA"], "documents in place of the pages": root["Collection"]} {
		if o != nil {
			d.layers[what+canon(ctx, o, 0)] = ""
		}
	}
	for i := range min(ctx.PageCount, maxPages) {
		page, _, _, _ := ctx.PageDict(i+1, false)
		unit, err := ctx.DereferenceNumber(page["UserUnit"])
		if err != nil {
			unit = 1
		}
		d.units = append(d.units, unit)
	}
	return d
}

func (d *data) unit(page int) float64 {
	if d == nil || page >= len(d.units) {
		return 1
	}
	return d.units[page]
}

// deepest is the maximum depth to which objects are searched.
const deepest = 12

// findActions finds the actions in an object; objects it refers to are searched on their own. Links are reported with their
// pages.
func (d *data) findActions(ctx *model.Context, o types.Object, depth int) {
	if depth > deepest {
		return
	}
	switch o := o.(type) {
	case types.StreamDict:
		d.findActions(ctx, o.Dict, depth)
	case types.Array:
		for _, x := range o {
			d.findActions(ctx, x, depth+1)
		}
	case types.Dict:
		for _, x := range o {
			d.findActions(ctx, x, depth+1)
		}
		if other := o["Alternates"]; other != nil { // pictures printed instead of this one
			d.layers[canon(ctx, other, 0)] = ""
		}
		kind, _ := ctx.Dereference(o["S"])
		switch name, _ := kind.(types.Name); name {
		case "JavaScript", "Launch", "SubmitForm", "ImportData", "GoToR", "GoToE", "SetOCGState", "Hide", "Rendition", "RichMediaExecute":
			words := canon(ctx, o["JS"], 0)
			if words == "" {
				words = canon(ctx, o["F"], 0)
			}
			d.actions[canon(ctx, o, 0)] = words
		}
	}
}

// findLayers finds the layers and the conditions under which they are shown.
func (d *data) findLayers(ctx *model.Context, root types.Dict) {
	of, _ := ctx.DereferenceDict(root["OCProperties"])
	usual, _ := ctx.DereferenceDict(of["D"])
	groups, _ := ctx.DereferenceArray(of["OCGs"])
	automatic, _ := ctx.DereferenceArray(usual["AS"])
	lists := map[string]types.Object{"ON": usual["ON"], "OFF": usual["OFF"]}
	for _, o := range automatic {
		a, _ := ctx.DereferenceDict(o)
		lists["AS "+canon(ctx, a["Event"], 0)] = a["OCGs"]
	}
	for _, g := range groups {
		key := canon(ctx, g, 0) + " " + canon(ctx, usual["BaseState"], 0)
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if list, _ := ctx.DereferenceArray(lists[name]); slices.Contains(list, g) {
				key += " " + name
			}
		}
		group, _ := ctx.DereferenceDict(g)
		d.layers[key] = canon(ctx, group["Name"], 0)
	}
}

// canon writes an object in a canonical form that is the same in every file. It includes the objects that it refers to, but
// not its parent.
func canon(ctx *model.Context, o types.Object, depth int) string {
	if depth > deepest {
		return ""
	}
	o, _ = ctx.Dereference(o)
	switch o := o.(type) {
	case nil:
		return ""
	case types.StringLiteral:
		s, _ := types.StringLiteralToString(o)
		return s
	case types.HexLiteral:
		s, _ := types.HexLiteralToString(o)
		return s
	case types.StreamDict:
		if o.Decode() != nil {
			return string(o.Raw)
		}
		return string(o.Content)
	case types.Array:
		var parts []string
		for _, x := range o {
			parts = append(parts, canon(ctx, x, depth+1))
		}
		return fmt.Sprintf("%q", parts)
	case types.Dict:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(o)) {
			x, _ := ctx.Dereference(o[key])
			_, far := x.(types.Dict)
			if far && slices.Contains([]string{"P", "Parent", "Next", "AN", "D", "AP"}, key) || key == "Kids" || key == "Annots" {
				continue
			}
			parts = append(parts, key+" "+canon(ctx, x, depth+1))
		}
		return fmt.Sprintf("%q", parts)
	default:
		return o.PDFString()
	}
}

// compareData finds what a document does that the one sent did not.
func compareData(sent, back *data) (places []Place) {
	if sent == nil || back == nil { // unknown
		return []Place{{Kind: KindRemade, Page: 1, Back: 1}}
	}
	find := func(was, now map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if _, there := was[key]; !there {
				places = append(places, Place{Kind: KindDoes, Page: 1, Back: 1, Now: short(strings.ToValidUTF8(now[key], ""))})
			}
		}
	}
	find(sent.actions, back.actions)
	find(sent.layers, back.layers)
	return places
}
