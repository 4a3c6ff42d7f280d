package press

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// SealSpace is the maximum size of a seal, in bytes.
const SealSpace = 12 << 10

// emptyRange is the placeholder for the byte range that a seal covers; Fill replaces it.
var emptyRange = "/ByteRange [" + strings.Repeat(" ", 48) + "]"

var lastTable = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`)

// sealMark is a comment that separates a document from its seal.
const sealMark = "\n%Seal\n"

// Unsealed is a document as it was before sealing.
func Unsealed(document []byte) []byte {
	if at := bytes.LastIndex(document, []byte(sealMark)); at >= 0 {
		return document[:at]
	}
	return document
}

// prepare appends an empty, invisible seal with that time to a document, as an incremental update, as PAdES requires (ETSI
// EN 319 142-1, 5.3; ISO 32000-1, 12.8). A document that needs a password is not sealed.
func prepare(document []byte, at time.Time) ([]byte, error) {
	ctx, err := pdfcpu.Read(bytes.NewReader(document), config())
	if err != nil {
		return nil, err
	}
	m := lastTable.FindSubmatch(document)
	if ctx.Encrypt != nil || m == nil {
		return nil, ErrUnreadable
	}
	catalog, err := ctx.Catalog()
	if err != nil {
		return nil, err
	}
	if err := ctx.EnsurePageCount(); err != nil {
		return nil, err
	}
	page, pageRef, _, err := ctx.PageDict(1, false)
	if err != nil || page == nil {
		return nil, ErrUnreadable
	}
	next := max(*ctx.Size, ctx.MaxObjNr+1)
	seal, widget := *types.NewIndirectRef(next, 0), *types.NewIndirectRef(next+1, 0)

	form := types.Dict{}
	if old, err := ctx.DereferenceDict(catalog["AcroForm"]); err == nil && old != nil {
		form = old.Clone().(types.Dict)
	}
	fields, _ := ctx.DereferenceArray(form["Fields"])
	form["Fields"], form["SigFlags"] = append(slices.Clone(fields), widget), types.Integer(3)
	catalog = catalog.Clone().(types.Dict)
	catalog["AcroForm"] = form
	annotations, _ := ctx.DereferenceArray(page["Annots"])
	page = page.Clone().(types.Dict)
	page["Annots"] = append(slices.Clone(annotations), widget)

	u := update{base: len(document)}
	u.out.WriteString(sealMark)
	u.object(ctx.Root.ObjectNumber.Value(), catalog.PDFString())
	u.object(pageRef.ObjectNumber.Value(), page.PDFString())
	u.object(next, fmt.Sprintf("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached/M(%s)\n%s\n/Contents <%s>>>",
		at.UTC().Format("D:20060102150405Z"), emptyRange, strings.Repeat("0", 2*SealSpace)))
	u.object(next+1, fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(Seal%d)/F 132/Rect[0 0 0 0]/P %s/V %s>>", next, pageRef.PDFString(), seal.PDFString()))
	trailer := fmt.Sprintf("/Root %s/Prev %s", ctx.Root.PDFString(), m[1])
	if ctx.Info != nil {
		trailer += "/Info " + ctx.Info.PDFString()
	}
	if ctx.ID != nil {
		trailer += "/ID " + ctx.ID.PDFString()
	}
	u.table(next+2, trailer, ctx.Read.UsingXRefStreams)
	return append(bytes.Clone(document), u.out.Bytes()...), nil
}

// update is an incremental update of a document (ISO 32000-1, 7.5.6).
type update struct {
	base    int
	out     bytes.Buffer
	objects [][2]int // number and offset
}

func (u *update) object(number int, text string) {
	u.objects = append(u.objects, [2]int{number, u.base + u.out.Len()})
	fmt.Fprintf(&u.out, "%d 0 obj\n%s\nendobj\n", number, text)
}

// table writes the cross-reference in the document's own form; size is the first unused object number.
func (u *update) table(size int, trailer string, asStream bool) {
	start := u.base + u.out.Len()
	slices.SortFunc(u.objects, func(a, b [2]int) int { return a[0] - b[0] })
	if asStream {
		var index, rows bytes.Buffer
		for _, o := range append(u.objects, [2]int{size, start}) {
			fmt.Fprintf(&index, "%d 1 ", o[0])
			rows.Write(binary.BigEndian.AppendUint64([]byte{1}, uint64(o[1])))
		}
		fmt.Fprintf(&u.out, "%d 0 obj\n<</Type/XRef/W[1 8 0]/Index[%s]/Size %d%s/Length %d>>\nstream\n", size, index.Bytes(), size+1, trailer, rows.Len())
		u.out.Write(rows.Bytes())
		u.out.WriteString("\nendstream\nendobj\n")
	} else {
		u.out.WriteString("xref\n")
		for _, o := range u.objects {
			fmt.Fprintf(&u.out, "%d 1\n%010d 00000 n \n", o[0], o[1])
		}
		fmt.Fprintf(&u.out, "trailer\n<</Size %d%s>>\n", size, trailer)
	}
	fmt.Fprintf(&u.out, "startxref\n%d\n%%%%EOF\n", start)
}

// Fill puts a seal into a document with an empty one: the result of sign for the bytes around it.
func Fill(prepared []byte, sign func(covered ...[]byte) ([]byte, error)) ([]byte, error) {
	at := bytes.LastIndex(prepared, []byte(emptyRange))
	if at < 0 {
		return nil, ErrUnreadable
	}
	start := at + bytes.IndexByte(prepared[at:], '<')
	end := start + 2*SealSpace + 2
	filled := bytes.Clone(prepared)
	copy(filled[at+len("/ByteRange ["):], "0 "+strconv.Itoa(start)+" "+strconv.Itoa(end)+" "+strconv.Itoa(len(filled)-end))
	seal, err := sign(filled[:start], filled[end:])
	if err != nil {
		return nil, err
	}
	if len(seal) > SealSpace {
		return nil, fmt.Errorf("a seal of %d bytes is too large", len(seal))
	}
	hex.Encode(filled[start+1:], seal)
	return filled, nil
}
