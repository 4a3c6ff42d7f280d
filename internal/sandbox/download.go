package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/unicode/norm"

	"countersign/internal/sandbox/press"
)

// downloadExecuted is GET /packages/{packageId}/documents/{documentId}/pdf/executed/download.
func (s *Server) downloadExecuted(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, d, err := s.executedDocument(r, who)
	if err != nil {
		return nil, err
	}
	return nil, s.serveMade(w, r, p, s.executedPath(d.DocumentID), d.Name+".pdf", s.pad.Load(), func() error { return s.writeExecuted(p, d) })
}

// downloadCAC is GET /packages/{packageId}/documents/{documentId}/pdf/cac/download.
func (s *Server) downloadCAC(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, d, err := s.executedDocument(r, who)
	if err != nil {
		return nil, err
	}
	return nil, s.serveMade(w, r, p, s.cacPath(d.DocumentID), d.Name+" - CAC.pdf", 0, func() error { return s.writeCAC(p, d) })
}

// downloadMasterFile is GET /masterfiles/{packageId}/pdf/download.
func (s *Server) downloadMasterFile(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, err
	}
	if p.State != stateExecuted {
		return nil, badRequest("package_not_executed", "The package is not signed by everyone yet.")
	}
	return nil, s.serveMade(w, r, p, s.masterPath(p.PackageID), p.Name+" - MasterFile.pdf", 0, func() error { return s.writeMaster(p) })
}

func (s *Server) executedDocument(r *http.Request, who caller) (*pack, *document, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, nil, err
	}
	d, ok := p.document(r.PathValue("documentId"))
	if !ok {
		return nil, nil, notFound("document")
	}
	if d.TimeExecuted == nil {
		return nil, nil, badRequest("document_not_executed", "The document is not signed by everyone yet.")
	}
	return p, d, nil
}

// serveMade serves a PDF, whole or in ranges, padded if padTo is larger. If the PDF is missing it is made first, one at a
// time for each package.
func (s *Server) serveMade(w http.ResponseWriter, r *http.Request, p *pack, path, name string, padTo int64, build func() error) error {
	lock := s.locks.of(p.PackageID)
	lock.Lock()
	err := ensure(path, build)
	lock.Unlock()
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a signed document: %w", err)
	}
	defer f.Close() // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("opening a signed document: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", attachment(name))
	h.Set("Cache-Control", "private, no-store")
	if padTo <= info.Size() {
		http.ServeContent(w, r, "", info.ModTime(), f)
		return nil
	}
	return sendPadded(w, f, info.Size(), padTo)
}

// attachment names a download for every browser: an ASCII version, and the full name (RFC 6266).
func attachment(name string) string {
	plain := bytes.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7E || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, []byte(name))
	return mime.FormatMediaType("attachment", map[string]string{"filename": string(plain)}) +
		"; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// PadDownloads makes every executed download at least this large, still as a PDF that opens; 0 ends it. The bytes are
// generated while being sent.
func (s *Server) PadDownloads(size int64) { s.pad.Store(max(0, size)) }

// sendPadded sends the PDF in f, comments up to the wanted size, and the end of the PDF again, because readers look for the
// cross-reference table from the end of the file.
func sendPadded(w http.ResponseWriter, f *os.File, size, want int64) error {
	end := make([]byte, min(size, 1024))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return fmt.Errorf("reading the end of a PDF: %w", err)
	}
	tail := []byte("\n%%EOF\n")
	if i := bytes.LastIndex(end, []byte("startxref")); i >= 0 {
		tail = append([]byte("\n"), end[i:]...)
	}
	want = max(want, size+int64(len(tail)))
	w.Header().Set("Content-Length", strconv.FormatInt(want, 10))
	filling := io.LimitReader(&filler{}, want-size-int64(len(tail)))
	_, _ = io.Copy(w, io.MultiReader(f, filling, bytes.NewReader(tail))) // the client has disconnected
	return nil
}

// filler generates endless lines of comment. No two in 26 are alike, so that a shifted copy is detected.
type filler struct{ left, line []byte }

func (r *filler) Read(b []byte) (n int, err error) {
	if r.line == nil {
		for i := range 26 {
			r.line = append(append(r.line, "\n%"...), bytes.Repeat([]byte{'a' + byte(i)}, 78)...)
		}
	}
	for n < len(b) {
		if len(r.left) == 0 {
			r.left = r.line
		}
		m := copy(b[n:], r.left)
		n, r.left = n+m, r.left[m:]
	}
	return n, nil
}

// The three kinds of PDF that result from signing (interface.md, downloads). They are functions of the state, so a missing
// one can be made again.

func (s *Server) executedPath(documentID string) string {
	return filepath.Join(s.dir, "signed", documentID+".executed.pdf")
}

func (s *Server) cacPath(documentID string) string {
	return filepath.Join(s.dir, "signed", documentID+".cac.pdf")
}

func (s *Server) masterPath(packageID string) string {
	return filepath.Join(s.dir, "signed", packageID+".master.pdf")
}

// writeExecuted makes the executed PDF of a document: the uploaded pages and a signature page. Pages that pdfcpu cannot join
// are attached to the signature page, and a document too large for that is delivered as it was uploaded: the document is
// executed whatever was uploaded.
func (s *Server) writeExecuted(p *pack, d *document) error {
	original := s.filePath(d.FileID)
	page, err := s.signaturePage(p, d, nil)
	if err != nil || d.Size > maxParsed {
		return os.Link(original, s.executedPath(d.DocumentID)) // neither is ever written again
	}
	in, err := os.ReadFile(original)
	if err != nil {
		return fmt.Errorf("reading the pages of %q: %w", d.Name, err)
	}
	joined, err := s.press.Join(in, page)
	if err != nil {
		s.opt.Log.Info("pages could not be joined", "document", d.DocumentID, "error", err)
		joined, err = s.signaturePage(p, d, in)
	}
	if err != nil {
		joined = in
	}
	return writeFile(s.executedPath(d.DocumentID), s.sealed(joined, *d.TimeExecuted))
}

func (s *Server) writeCAC(p *pack, d *document) error {
	page, err := s.certificate(p, d)
	if err != nil {
		return err
	}
	return writeFile(s.cacPath(d.DocumentID), s.sealed(page, *d.TimeExecuted))
}

// writeMaster joins a cover and all executed documents, leaving out what cannot be joined.
func (s *Server) writeMaster(p *pack) error {
	all, err := s.cover(p)
	if err != nil {
		return err
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		path := s.executedPath(d.DocumentID)
		if err := ensure(path, func() error { return s.writeExecuted(p, d) }); err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || info.Size() > maxParsed {
			continue
		}
		part, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the executed %q: %w", d.Name, err)
		}
		if longer, err := s.press.Join(all, press.Unsealed(part)); err == nil {
			all = longer
		}
	}
	return writeFile(s.masterPath(p.PackageID), s.sealed(all, *p.TimeExecuted))
}

// ensure calls build if the file is missing.
func ensure(path string, build func() error) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return build()
	}
	return err
}

// writeFile writes a file atomically.
func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		return fmt.Errorf("writing a signed document: %w", err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("writing a signed document: %w", err)
	}
	return nil
}

// paper writes A4 pages in a font that every reader has. It has only the letters of Latin-1.
type paper struct{ *fpdf.Fpdf }

const (
	fontName  = "Helvetica"
	pageEnd   = 270.0 // mm from the top
	textWidth = 170.0 // mm
)

func newPaper(title string, at time.Time) *paper {
	p := &paper{fpdf.New("P", "mm", "A4", "")}
	p.SetMargins(20, 20, 20)
	p.SetAutoPageBreak(true, 20)
	p.SetCreationDate(at.UTC())
	p.SetModificationDate(at.UTC())
	p.SetTitle(title, true)
	p.SetCreator("Signing service sandbox", true)
	p.AddPage()
	return p
}

// fit makes any text printable in the font, whose characters are single bytes. Missing characters become question marks.
func fit(text string) string {
	var letters []byte
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsSpace(r):
			letters = append(letters, ' ')
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Mn):
		case r <= unicode.MaxLatin1:
			letters = append(letters, byte(r))
		default:
			letters = append(letters, '?')
		}
	}
	return string(letters)
}

func (p *paper) heading(text string) {
	p.SetFont(fontName, "B", 18)
	p.SetTextColor(0x1C, 0x24, 0x30)
	p.MultiCell(textWidth, 9, fit(text), "", "L", false)
	p.Ln(2)
}

func (p *paper) line(style string, size float64, text string) {
	p.SetFont(fontName, style, size)
	p.MultiCell(textWidth, size*0.5, fit(text), "", "L", false)
}

func (p *paper) field(name, value string) {
	p.SetFont(fontName, "", 10)
	p.SetTextColor(0x5E, 0x69, 0x77)
	p.CellFormat(35, 6, name, "", 0, "L", false, 0, "")
	p.SetTextColor(0x1C, 0x24, 0x30)
	p.MultiCell(textWidth-35, 6, fit(value), "", "L", false)
}

// room starts a new page unless the current one has that much space left, in mm.
func (p *paper) room(height float64) {
	if p.GetY()+height > pageEnd {
		p.AddPage()
	}
}

func (p *paper) bytes() ([]byte, error) {
	var out bytes.Buffer
	if err := p.Output(&out); err != nil {
		return nil, fmt.Errorf("writing a PDF: %w", err)
	}
	return out.Bytes(), nil
}

// convertedPage imitates the conversion of an office file: one page that names the original.
func (s *Server) convertedPage(name string, size int64, at time.Time) ([]byte, error) {
	p := newPaper(name, at)
	p.heading(name)
	p.field("Original", name)
	p.field("Size", fmt.Sprintf("%d bytes", size))
	p.field("Converted", words(at))
	p.Ln(4)
	p.line("", 11, "This page stands for the contents of the original, which the sandbox does not lay out.")
	return p.bytes()
}

// signaturePage shows who signed a document, when and how.
func (s *Server) signaturePage(pk *pack, d *document, attached []byte) ([]byte, error) {
	p := newPaper("Signatures of "+d.Name, executedTime(d))
	p.heading("Signatures")
	p.field("Package", pk.Name)
	p.field("Document", d.Name)
	p.field("Executed", words(executedTime(d)))
	for _, f := range d.Filled {
		p.field(f.Label, f.Value)
	}
	p.Ln(4)
	for i, r := range d.Revisions {
		if sg, ok := pk.signer(r.SignerID); ok && r.TimeSigned != nil {
			p.signed(i, sg, r)
		}
	}
	if attached != nil {
		p.Ln(4)
		p.line("I", 9, "The pages of the original could not be joined with this one. The original is attached to this PDF, unchanged.")
		p.SetAttachments([]fpdf.Attachment{{Content: attached, Filename: "original.pdf", Description: fit(d.FileName)}})
	}
	return p.bytes()
}

func (p *paper) signed(i int, sg *signer, r revision) {
	p.room(42)
	p.SetDrawColor(0xD0, 0xD4, 0xDA)
	p.Line(20, p.GetY(), 190, p.GetY())
	p.Ln(3)
	p.SetTextColor(0x1C, 0x24, 0x30)
	p.line("B", 12, sg.fullName())
	p.SetTextColor(0x5E, 0x69, 0x77)
	p.line("", 9, sg.Email+" · signed "+words(*r.TimeSigned))
	p.Ln(2)
	p.SetTextColor(0x24, 0x50, 0x7A)
	if r.Signature != nil && r.Signature.Typed != "" {
		p.line("I", 20, r.Signature.Typed)
	}
	if r.Signature != nil && len(r.Signature.PNG) > 0 {
		name := fmt.Sprintf("signature-%d", i)
		info := p.RegisterImageOptionsReader(name, fpdf.ImageOptions{ImageType: "PNG"}, bytes.NewReader(r.Signature.PNG))
		if info != nil && info.Width() > 0 && info.Height() > 0 {
			scale := min(60/info.Width(), 22/info.Height())
			p.ImageOptions(name, 20, p.GetY(), info.Width()*scale, info.Height()*scale, true, fpdf.ImageOptions{ImageType: "PNG"}, 0, "")
		}
	}
	p.Ln(3)
}

// certificate is the CAC PDF of a document: its history in words.
func (s *Server) certificate(pk *pack, d *document) ([]byte, error) {
	p := newPaper("Certificate of "+d.Name, executedTime(d))
	p.heading("Certificate of completion")
	p.field("Package", pk.Name)
	p.field("Package id", pk.PackageID)
	p.field("Document", d.Name)
	p.field("Document id", d.DocumentID)
	p.field("File", fmt.Sprintf("%s, %d bytes", d.FileName, d.Size))
	p.field("Uploaded", words(d.TimeUploaded))
	if pk.TimeSent != nil {
		p.field("Sent", words(*pk.TimeSent))
	}
	for _, r := range d.Revisions {
		if sg, ok := pk.signer(r.SignerID); ok && r.TimeSigned != nil {
			p.room(14)
			p.field("Signed", sg.fullName()+", "+sg.Email+", "+words(*r.TimeSigned))
			p.field("Revision", r.RevisionID)
		}
	}
	p.field("Executed", words(executedTime(d)))
	return p.bytes()
}

// cover is the first page of a MasterFile.
func (s *Server) cover(pk *pack) ([]byte, error) {
	at := pk.TimeModified
	if pk.TimeExecuted != nil {
		at = *pk.TimeExecuted
	}
	p := newPaper(pk.Name, at)
	p.heading(pk.Name)
	p.field("Package id", pk.PackageID)
	p.field("Created", words(pk.TimeCreated))
	p.field("Executed", words(at))
	if pk.Message != "" {
		p.field("Message", pk.Message)
	}
	p.Ln(4)
	for i, d := range pk.Documents {
		p.room(8)
		p.field(fmt.Sprintf("Document %d", i+1), d.Name)
	}
	for i := range pk.Signers {
		p.room(8)
		p.field(fmt.Sprintf("Signer %d", i+1), pk.Signers[i].fullName()+", "+pk.Signers[i].Email)
	}
	return p.bytes()
}

func executedTime(d *document) time.Time {
	if d.TimeExecuted != nil {
		return *d.TimeExecuted
	}
	return d.TimeUploaded
}

func words(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") }
