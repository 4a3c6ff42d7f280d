// Package press reads and joins documents uploaded to the embedded service, and reserves space in them for its seal.
//
// It promises that no document can crash the service: a small file can cost the PDF library gigabytes or hours, so another
// process does the work if a program is configured. If that process is killed or crashes, the document counts as unreadable.
//
// It must not know what the documents are for.
package press

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// Press counts and joins pages, and reserves space for seals. The zero value does so in this process.
type Press struct {
	Program []string // with its first arguments; it must call Serve in a restricted process
}

// patience is how long one document may take.
const patience = 30 * time.Second

var (
	// ErrProtected means that a document needs a password.
	ErrProtected = errors.New("the document is protected by a password")
	// ErrUnreadable means that a document cannot be read.
	ErrUnreadable = errors.New("the PDF library gave up")
)

// The requests to Serve, as the first byte.
const (
	toCount = iota
	toJoin
	toSeal
)

// The results of Serve, as the first byte.
const (
	read = iota
	unreadable
	protected
)

func (p Press) Pages(document []byte) (int, error) {
	answer, err := p.ask(toCount, document)
	if err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(answer)
	if size <= 0 || n > 1<<31-1 {
		return 0, ErrUnreadable
	}
	return int(n), nil
}

func (p Press) Join(parts ...[]byte) ([]byte, error) { return p.ask(toJoin, parts...) }

// Prepare adds an empty seal to a document, as prepare does.
func (p Press) Prepare(document []byte, at time.Time) ([]byte, error) {
	return p.ask(toSeal, document, []byte(at.UTC().Format(time.RFC3339)))
}

// ask sends a request about documents to Serve.
func (p Press) ask(what byte, documents ...[]byte) ([]byte, error) {
	var request, answer bytes.Buffer
	request.WriteByte(what)
	for _, d := range documents {
		request.Write(binary.BigEndian.AppendUint64(nil, uint64(len(d))))
		request.Write(d)
	}
	if len(p.Program) == 0 {
		if err := Serve(&request, &answer); err != nil {
			return nil, err
		}
		return understood(answer.Bytes())
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Program[0], p.Program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Env = &request, &answer, []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return understood(answer.Bytes())
}

func understood(answer []byte) ([]byte, error) {
	switch {
	case len(answer) > 0 && answer[0] == read:
		return answer[1:], nil
	case len(answer) > 0 && answer[0] == protected:
		return nil, ErrProtected
	}
	return nil, ErrUnreadable
}

// Serve is the main function of a Program. It reads a request and then documents, each preceded by its length in eight
// bytes. The caller restricts the process before.
func Serve(in io.Reader, out io.Writer) error {
	var what [1]byte
	if _, err := io.ReadFull(in, what[:]); err != nil {
		return err
	}
	var documents [][]byte
	for {
		var length uint64
		err := binary.Read(in, binary.BigEndian, &length)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		document, err := io.ReadAll(io.LimitReader(in, int64(min(length, 1<<40))))
		if err != nil {
			return err
		}
		documents = append(documents, document)
	}
	var made []byte
	var err error
	switch {
	case what[0] == toCount && len(documents) == 1:
		made, err = count(documents[0])
	case what[0] == toJoin:
		made, err = join(documents)
	case what[0] == toSeal && len(documents) == 2:
		made, err = seal(documents[0], string(documents[1]))
	default:
		err = ErrUnreadable
	}
	verdict := byte(read)
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		verdict, made = protected, nil
	case err != nil:
		verdict, made = unreadable, nil
	}
	_, err = out.Write(append([]byte{verdict}, made...))
	return err
}

func count(document []byte) (answer []byte, err error) {
	err = guarded(func() error {
		pages, err := api.PageCount(bytes.NewReader(document), config())
		answer = binary.AppendUvarint(nil, uint64(max(pages, 0)))
		return err
	})
	return answer, err
}

func join(parts [][]byte) ([]byte, error) {
	readers := make([]io.ReadSeeker, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	var out bytes.Buffer
	err := guarded(func() error { return api.MergeRaw(readers, &out, false, config()) })
	return out.Bytes(), err
}

func seal(document []byte, at string) (sealed []byte, err error) {
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return nil, err
	}
	err = guarded(func() error {
		sealed, err = prepare(document, when)
		return err
	})
	return sealed, err
}

// guarded turns a panic of the PDF library into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrUnreadable, p)
		}
	}()
	return fn()
}

var noConfigDir = sync.OnceFunc(api.DisableConfigDir)

// config avoids the user's own configuration folder and is as lenient as real programs require.
func config() *model.Configuration {
	noConfigDir()
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	c.Optimize = false
	c.OptimizeBeforeWriting = false
	return c
}

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
